//! What an agent is told of its work that was undone: numbers, tools, prompts and paths, never what is in a file.

use herma_core::steps::Step;
use herma_core::{FileNow, HowNow, Notice, RelPath};
use herma_store::path::escape;

/// An agent reads no more than so many characters of it.
const MAX_CHARACTERS: usize = 1200;
/// Of one path so many are shown: of those of a tree one knows, the ends differ.
const MAX_PATH: usize = 90;
const MAX_PROMPT: usize = 40;
const MAX_TOOL: usize = 30;

const HEAD: &str = "Note by Herma, which can undo changes in this project: your earlier work is not all as you left it.";
const TAIL: &str =
    "Read files again before you rely on them, and do not repeat what was undone unless asked to.";

/// The notice, in plain text.
pub fn notice_text(notice: &Notice) -> String {
    let files = |is_meant: &dyn Fn(&FileNow) -> bool| -> Vec<String> {
        let meant = notice.files.iter().filter(|(_, now)| is_meant(now));
        meant.map(|(path, _)| shown_path(path)).collect()
    };
    let lists = [
        ("Undone: ", steps_in_words(&notice.undone)),
        ("Undone in part: ", steps_in_words(&notice.in_part)),
        ("Brought back: ", steps_in_words(&notice.back)),
        ("No longer as you wrote them: ", files(&|now| now.how == HowNow::Differs)),
        ("Gone: ", files(&|now| now.how == HowNow::Gone)),
        ("There again: ", files(&|now| now.how == HowNow::There)),
        ("Edits by hand stay in: ", files(&|now| now.by_hand)),
    ];
    let lists: Vec<_> = lists.into_iter().filter(|(_, items)| !items.is_empty()).collect();
    let titles: usize = lists.iter().map(|(title, _)| title.len() + ".\n".len()).sum();
    let room = MAX_CHARACTERS - HEAD.len() - TAIL.len() - 2 - titles;
    let room = room / lists.len().max(1);
    let mut text = format!("{HEAD}\n");
    for (title, items) in lists {
        text = format!("{text}{title}{}.\n", listed(&items, room));
    }
    text + TAIL
}

/// Steps with their tools, each prompt before its first one.
fn steps_in_words(steps: &[Step]) -> Vec<String> {
    let mut last = None;
    let words = steps.iter().map(|step| {
        let tool = step.start.facts.tool.as_deref().map(|tool| cut(tool, MAX_TOOL));
        let tool = tool.map(|tool| format!(" {tool}")).unwrap_or_default();
        let turn = (&step.start.facts.session, &step.start.facts.turn, &step.start.prompt);
        let prompt = step.start.prompt.as_ref().filter(|_| last != Some(turn));
        last = Some(turn);
        let prompt = prompt.and_then(|prompt| prompt.trim().lines().next());
        let prompt = prompt.map(|line| format!("prompt \"{}\": ", cut(line, MAX_PROMPT)));
        format!("{}{}{tool}", prompt.unwrap_or_default(), step.id())
    });
    words.collect()
}

/// As many of these as there is room for, and how many more there are.
fn listed(items: &[String], room: usize) -> String {
    let more = |count: usize| format!("{count} more");
    let mut text = String::new();
    for (index, item) in items.iter().enumerate() {
        let left = items.len() - index - 1;
        let behind = if left > 0 { ", and ".len() + more(left).len() } else { 0 };
        if characters(&text) + ", ".len() + characters(item) + behind > room {
            let and = if index > 0 { " and " } else { "" };
            return format!("{text}{and}{}", more(items.len() - index));
        }
        let comma = if index > 0 { ", " } else { "" };
        text = format!("{text}{comma}{item}");
    }
    text
}

/// A name that could be read as words, or as a mark of the conversation, stands in quotes.
fn shown_path(path: &RelPath) -> String {
    let text = escape(path.as_bytes());
    let is_plain = |c: char| c.is_alphanumeric() || "._-/+@~".contains(c);
    if !text.chars().all(is_plain) {
        let text = text.replace('"', "\\\"").replace('<', "\\x3c").replace('>', "\\x3e");
        return format!("\"{}\"", shortened(&text));
    }
    shortened(&text)
}

fn shortened(text: &str) -> String {
    let surplus = characters(text).saturating_sub(MAX_PATH);
    if surplus == 0 {
        return text.to_owned();
    }
    let end: String = text.chars().skip(surplus + 1).collect();
    format!("…{end}")
}

fn cut(text: &str, most: usize) -> String {
    let text = escape(text.as_bytes());
    if characters(&text) <= most {
        return text;
    }
    let kept: String = text.chars().take(most - 1).collect();
    format!("{kept}…")
}

fn characters(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn step(handle: i64, tool: &str, turn: &str, prompt: &str) -> Step {
        let mut step = Step::default();
        (step.handle, step.number) = (handle, Some(handle as u64));
        step.start.facts.tool = Some(tool.to_owned());
        step.start.facts.turn = Some(turn.to_owned());
        step.start.prompt = Some(prompt.to_owned());
        step
    }

    fn file(path: &str, how: HowNow, by_hand: bool) -> (RelPath, FileNow) {
        (RelPath::new(path.as_bytes()).unwrap(), FileNow { how, by_hand })
    }

    #[test]
    fn prompts_stand_before_their_first_steps() {
        let notice = Notice {
            undone: vec![
                step(12, "Edit", "1", "clean the repo\nand more"),
                step(13, "Bash", "1", "clean the repo\nand more"),
                step(15, "Write", "2", "docs"),
            ],
            files: BTreeMap::from([
                file("a.txt", HowNow::Differs, true),
                file("b.txt", HowNow::Gone, false),
                file("c.txt", HowNow::There, false),
            ]),
            ..Notice::default()
        };
        let expected = format!(
            "{HEAD}\nUndone: prompt \"clean the repo\": 12 Edit, 13 Bash, prompt \"docs\": 15 Write.\n\
             No longer as you wrote them: a.txt.\nGone: b.txt.\nThere again: c.txt.\n\
             Edits by hand stay in: a.txt.\n{TAIL}"
        );
        assert_eq!(notice_text(&notice), expected);
    }

    #[test]
    fn it_is_never_longer_than_an_agent_is_to_read() {
        let many = |from: i64| {
            let hostile = "\u{1b}[31mü\n\u{200b}".repeat(50);
            let steps = (from..from + 500).map(|n| step(n, &hostile, &n.to_string(), &hostile));
            steps.collect::<Vec<Step>>()
        };
        let long = |n: usize| format!("{n}/{}", "ü\u{200b}/".repeat(1000) + "end");
        let files = (0..900).map(|n| {
            let how = [HowNow::Gone, HowNow::There, HowNow::Differs][n % 3];
            file(&long(n), how, n % 2 == 0)
        });
        let notice = Notice {
            undone: many(1_000_000_000_000),
            in_part: many(2),
            back: many(3),
            files: files.collect(),
            moves: 1,
        };
        let text = notice_text(&notice);
        assert!(characters(&text) <= MAX_CHARACTERS, "{}: {text}", characters(&text));
        assert!(!text.contains('\u{1b}') && text.contains("end") && text.contains(" more"));
        assert!(text.ends_with(TAIL), "{text}");
    }
}
