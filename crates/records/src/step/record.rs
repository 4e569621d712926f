//! A step as a file: one JSON object, replaced as a whole.
//!
//! Records are for people and for attribution; what they quote from outside is cut to a bearable length,
//! and what cannot be read is a step nobody knows of.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use herma_store::RelPath;

use super::{Step, StepStart};

/// Names and ids longer than this are cut.
const MAX_NAME: usize = 300;
/// Of a prompt, the beginning is enough to recognise it.
const MAX_PROMPT: usize = 300;
const MAX_COMMAND: usize = 2000;
const MAX_PATHS: usize = 50;
/// A tool that edits more than so many bytes of paths counts as one that may change anything.
const MAX_EDITS: usize = 64 << 10;
/// No record is larger.
pub const MAX_RECORD: u64 = 1 << 18;

impl StepStart {
    /// The same, with everything cut to what a record holds. Cutting before looking something up finds
    /// what was recorded, however long it was.
    #[must_use]
    pub fn cut(mut self) -> Self {
        let facts = self.facts.texts_mut().map(|(_, text)| text);
        for name in facts.into_iter().chain([&mut self.call, &mut self.sub_agent]).flatten() {
            excerpt(name, MAX_NAME);
        }
        if let Some(prompt) = &mut self.prompt {
            excerpt(prompt, MAX_PROMPT);
        }
        if let Some(command) = &mut self.command {
            excerpt(command, MAX_COMMAND);
        }
        for list in [&mut self.paths, &mut self.also_in] {
            list.truncate(MAX_PATHS);
            for path in list {
                excerpt(path, MAX_COMMAND);
            }
        }
        let bytes = |paths: &Vec<RelPath>| paths.iter().map(|path| path.as_bytes().len()).sum();
        self.edits = self.edits.filter(|edits| MAX_EDITS > bytes(edits));
        self
    }
}

/// Cuts a name as [`StepStart::cut`] does.
pub fn cut_name(name: &str) -> String {
    let mut name = name.to_owned();
    excerpt(&mut name, MAX_NAME);
    name
}

/// Cuts a prompt as [`StepStart::cut`] does.
pub(crate) fn cut_prompt(prompt: &str) -> String {
    let mut prompt = prompt.to_owned();
    excerpt(&mut prompt, MAX_PROMPT);
    prompt
}

fn excerpt(text: &mut String, limit: usize) {
    if text.len() > limit {
        let is_end = |at: &usize| text.is_char_boundary(*at);
        let end = (0..=limit).rev().find(is_end).unwrap_or(0);
        text.truncate(end);
    }
}

/// A step as it is written.
pub fn encode(step: &Step) -> Vec<u8> {
    crate::encode(&Step { start: step.start.clone().cut(), ..step.clone() })
}

/// What a newer version noted otherwise costs only that.
pub(super) fn unless_newer<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(
    from: D,
) -> Result<T, D::Error> {
    let value = Option::<Value>::deserialize(from)?;
    Ok(value.and_then(|value| serde_json::from_value(value).ok()).unwrap_or_default())
}

/// The step that was written so, if it is one.
pub fn decode(bytes: &[u8]) -> Option<Step> {
    let mut step: Step = serde_json::from_slice(bytes).ok()?;
    step.start = step.start.cut();
    step.start.within = step.start.within.filter(|outer| *outer < step.handle);
    Some(step)
}

#[cfg(test)]
pub(crate) mod tests {
    use herma_store::ObjectId;
    use herma_worktree::reason::Reason;

    use super::*;
    use crate::Version;
    use crate::checkpoint::Facts;
    use crate::checkpoint::RestoreOptions;
    use crate::step::outside::{LeftOutThen, Outside, OutsideChange, OutsideWhat, Sighting};
    use crate::step::{Background, Moment, StepEnd, StepKind, StepRules, Undid, UndoneAs};

    pub(crate) fn step() -> Step {
        let moment = |place| Moment { checkpoint: ObjectId::EMPTY_TREE, place, next_step: 7 };
        Step {
            version: Version,
            handle: 6,
            number: Some(17),
            kind: StepKind::Tool,
            start: StepStart {
                facts: Facts {
                    agent: Some("claude".into()),
                    session: Some("s-1".into()),
                    turn: Some("2".into()),
                    tool: Some("Bash".into()),
                    transcript: None,
                },
                call: Some("toolu_1".into()),
                command: Some("sed -i s/a/b/ \u{1b}[31m *".into()),
                paths: vec!["src/a.rs".into()],
                edits: Some(vec![RelPath::new(b"src/\xfe".to_vec()).unwrap()]),
                prompt: Some("make it ünique".into()),
                within: Some(2),
                sub_agent: Some("agent-7".into()),
                also_in: vec!["/p/.claude/worktrees/w1".into()],
            },
            before: moment(3),
            end: StepEnd::Changed(moment(4)),
            part: RestoreOptions {
                paths: vec![RelPath::new(b"a/\xff".to_vec()).unwrap()],
                keep: Vec::new(),
            },
            started: 1,
            ended: Some(2),
            owner: Some("tmp-0-0-0-0-0".into()),
            not_its: vec![RelPath::new("by/hand").unwrap()],
            unclear: vec![RelPath::root()],
            surely: vec![RelPath::new("edited").unwrap()],
            inferred: true,
            background: Some(Background::Until(moment(9))),
            late: true,
            moves_before: Some(3),
            undid: Some(Undid {
                steps: vec![4],
                left: vec![5],
                part: vec![3],
                how: UndoneAs::Last,
            }),
            watched: Sighting::default(),
            outside: Outside {
                changes: vec![OutsideChange {
                    path: b"d\xff\n\xc3\xbc".into(),
                    what: OutsideWhat::Removed(Reason::TooLarge),
                }],
                more: 2,
                unseen: 0,
                unsaid: vec![LeftOutThen { path: b"e\xff".into(), reason: Reason::Ignored }],
            },
            rules: Some(StepRules {
                exclude: vec!["*.log".into()],
                include: Vec::new(),
                info_exclude: b"\xff*\n".to_vec(),
            }),
        }
    }

    #[test]
    fn what_a_newer_version_notes_of_the_outside_costs_only_that() {
        let text = String::from_utf8(encode(&step())).unwrap();
        let newer = text.replace("\"removed\"", "\"rearranged\"");
        assert_ne!(newer, text);
        let read = decode(newer.as_bytes()).unwrap();
        let expected = Step { outside: Outside::default(), ..step() };
        assert_eq!(read, expected);
    }

    #[test]
    fn a_step_reads_as_it_was_written() {
        let all = [
            step(),
            Step { end: StepEnd::Open, ended: None, ..step() },
            Step { start: StepStart::default(), ..step() },
        ];
        for step in all {
            assert_eq!(decode(&encode(&step)), Some(step));
        }
    }

    #[test]
    fn a_conversation_is_cut_to_its_beginning() {
        let mut long = step();
        long.start.prompt = Some("ü".repeat(1 << 20));
        long.start.command = Some("x".repeat(1 << 20));
        long.start.paths = vec!["y".repeat(1 << 20); 100];
        let bytes = encode(&long);
        assert!((bytes.len() as u64) < MAX_RECORD);
        let read = decode(&bytes).unwrap();
        assert_eq!(read.start, long.start.cut());
        assert_eq!(read.start.prompt.unwrap().len(), MAX_PROMPT);
    }

    #[test]
    fn what_is_not_a_step_is_none() {
        let text = String::from_utf8(encode(&step())).unwrap();
        let bad = [
            String::new(),
            "{}".to_owned(),
            text.replace("\"version\":1", "\"version\":2"),
            text.replace("\"changed\"", "\"open\""),
            text.replace("\"changed\"", "\"sideways\""),
            text.replace("\"tool\",\"agent\"", "\"trick\",\"agent\""),
            text.replace("4b825dc", "xyz"),
            text[..text.len() - 1].to_owned(),
        ];
        for bad in bad {
            assert_eq!(decode(bad.as_bytes()), None, "{bad}");
        }
        let inside_itself = text.replace("\"within\":2", "\"within\":6");
        assert_eq!(decode(inside_itself.as_bytes()).unwrap().start.within, None);
    }
}
