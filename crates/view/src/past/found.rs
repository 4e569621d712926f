//! What a search in all states found: lines, prompts, and where a content was.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::io::Write;
use std::path::Path;

use herma_core::{FoundContent, FoundLine, FoundPrompt, ObjectId, Stay, Whereabouts};
use herma_store::path::escape;

use super::{by, interval, stay_json, unread_json};
use crate::json::{PathJson, ProjectJson, Serialize, list, object, text};
use crate::listing::{counted, wrapped, write_columns};
use crate::style::{Label, Style};
use crate::time::at;
use crate::{here, time};

/// What was shown already.
#[derive(Default)]
pub struct Shown {
    /// So many contents.
    pub contents: usize,
    /// So many had only lines that were shown already.
    pub repeated: usize,
    lines: HashSet<u64>,
    hasher: RandomState,
}

impl Shown {
    /// Prints the lines that were not shown yet, or only where they are.
    pub fn write(
        &mut self,
        out: &mut dyn Write,
        style: &Style,
        found: &FoundContent,
        only_place: bool,
    ) -> io::Result<()> {
        let Some(stay) = found.stays.first() else { return Ok(()) };
        let mut is_new =
            |line: &FoundLine| self.lines.insert(self.hasher.hash_one((&stay.path, &line.text)));
        let lines: Vec<&FoundLine> = found.lines.iter().filter(|line| is_new(line)).collect();
        if lines.is_empty() && !found.is_binary && found.more_lines == 0 {
            self.repeated += 1;
            return Ok(());
        }
        self.contents += 1;
        writeln!(out, "{}", heading(style, found, stay))?;
        if only_place {
            return Ok(());
        }
        if found.is_binary {
            writeln!(out, "    (binary)")?;
        }
        for line in lines {
            let number = style.theme.paint(Label::Faint, &format!("{:>5}:", line.number));
            let cut = if line.is_cut { "…" } else { "" };
            writeln!(out, "{number} {}{cut}", tabs_kept(&line.text))?;
        }
        if found.more_lines > 0 {
            writeln!(out, "      and {}", counted(found.more_lines, "more line"))?;
        }
        Ok(())
    }
}

/// Text for a terminal, which obeys no control character of it but tabs.
fn tabs_kept(text: &[u8]) -> String {
    let parts: Vec<String> = text.split(|byte| *byte == b'\t').map(escape).collect();
    parts.join("\t")
}

/// `src/cart.py  3–17  gone since 18 claude "clean the repo"`
fn heading(style: &Style, found: &FoundContent, stay: &Stay) -> String {
    let path = style.theme.paint(Label::Name, &here::path(&stay.path));
    let when = style.theme.paint(Label::Number, &interval(stay));
    let fate = match &stay.gone {
        Some(change) => format!("  gone since {}", by(change)),
        None => format!("  from {}", by(&stay.came)),
    };
    let others = match found.stays.len() + found.more_stays {
        1 => String::new(),
        many => format!("  and {}", counted(many - 1, "more place")),
    };
    format!("{path}  {when}{fate}{others}")
}

/// A content with lines that match.
pub fn found_json(found: &FoundContent) -> impl Serialize + use<> {
    let line = |line: &FoundLine| {
        let (shown, text_bytes) = text(&line.text);
        object! {
            number: line.number,
            text: shown,
            #[serde(flatten)]
            text_bytes: text_bytes.map(|text_bytes| object! { text_bytes }),
            is_cut: line.is_cut,
        }
    };
    object! {
        content: found.content.to_hex(),
        stays: list(found.stays.iter().map(stay_json)),
        more_stays: found.more_stays,
        lines: list(found.lines.iter().map(line)),
        more_lines: found.more_lines,
        is_binary: found.is_binary,
    }
}

/// A prompt or command in lines as wide as there is room.
pub fn prompt_in_words(one: &FoundPrompt, room: Option<usize>) -> String {
    let what = if one.is_command { "ran" } else { "was asked" };
    let agent = escape(one.agent.as_bytes());
    let title = format!("{:<5} {agent} {what}: ", one.id.to_string());
    let words = one.text.split_whitespace().collect::<Vec<_>>().join(" ");
    wrapped(&title, &escape(words.as_bytes()), room)
}

/// A prompt or command that matches.
pub fn prompt_json(one: &FoundPrompt) -> impl Serialize + use<> {
    object! {
        id: one.id,
        kind: if one.is_command { "command" } else { "prompt" },
        agent: one.agent.clone(),
        text: one.text.clone(),
        seconds: one.time,
        time: one.time.and_then(|seconds| time::rfc3339(at(seconds))),
    }
}

/// Where the content of a file was, as programs read it.
pub fn whereabouts_json(
    project: ProjectJson,
    file: &Path,
    (content, found): (&ObjectId, &Whereabouts),
) -> impl Serialize + use<> {
    object! {
        schema: "herma.has/1",
        project,
        #[serde(flatten)]
        path: PathJson::of(file),
        content: content.to_hex(),
        stays: list(found.stays.iter().map(stay_json)),
        more_stays: found.more,
        unread: list(found.unread.iter().map(unread_json)),
    }
}

/// Prints the names a content had, and from when to when.
pub fn write_whereabouts(
    out: &mut dyn Write,
    style: &Style,
    found: &Whereabouts,
) -> io::Result<()> {
    let row = |stay: &Stay| {
        let fate = match &stay.gone {
            Some(change) => format!("gone since {}", by(change)),
            None => format!("from {}", by(&stay.came)),
        };
        [here::path(&stay.path), interval(stay), fate]
    };
    let rows: Vec<[String; 3]> = found.stays.iter().map(row).collect();
    write_columns(out, style, [Label::Name, Label::Number, Label::Faint], &rows)
}
