//! Does a command print without end? What it prints into a file may become too large to be saved.

use super::shell::Item;
use super::shell::Node;
use super::shell::Script;
use super::shell::Simple;
use super::word::Word;

const DEVICES: [&[u8]; 4] = [b"/dev/zero", b"/dev/urandom", b"/dev/random", b"/dev/full"];

/// Programs that run another one, whose name is among their arguments.
#[rustfmt::skip]
const STARTERS: [&[u8]; 17] = [
    b"nice", b"ionice", b"chrt", b"stdbuf", b"time", b"nohup", b"setsid", b"builtin", b"command", b"exec", b"timeout",
    b"env", b"sh", b"bash", b"dash", b"ash", b"ksh",
];

/// Is there something in a pipeline that does not end by itself?
pub(super) fn is_endless(item: &Item) -> bool {
    item.pipeline.iter().any(node)
}

fn node(found: &Node) -> bool {
    match found {
        Node::Simple(found) => simple(found),
        Node::Group { script, inputs, .. } => any_of(script) || inputs.iter().any(names_device),
    }
}

fn any_of(script: &Script) -> bool {
    script.items.iter().any(is_endless)
}

fn simple(found: &Simple) -> bool {
    if found.substitutions.iter().any(any_of) || found.inputs.iter().any(names_device) {
        return true;
    }
    let Some(first) = found.words.first() else {
        return false;
    };
    let name = first.text.rsplit(|byte| *byte == b'/').next();
    let name = name.unwrap_or_default();
    // It prints nothing: how much it writes is known from its arguments.
    let is_silent = name == b"dd" && found.words.iter().any(|word| word.text.starts_with(b"of="));
    let starts_yes = STARTERS.contains(&name) && found.words.iter().any(|word| holds(word, b"yes"));
    name == b"yes" || starts_yes || (!is_silent && found.words.iter().any(names_device))
}

fn names_device(word: &Word) -> bool {
    DEVICES.iter().any(|device| holds(word, device))
}

fn holds(word: &Word, text: &[u8]) -> bool {
    word.text.windows(text.len()).any(|part| part == text)
}
