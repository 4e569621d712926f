//! A step as a file: one JSON object, replaced as a whole.
//!
//! Records are for people and for attribution; what they quote from outside is cut to a bearable length,
//! and what cannot be read is a step nobody knows of.

use herma_store::{ObjectId, RelPath};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Moment, Step, StepEnd, StepKind, StepRules, StepStart};
use crate::records::step::outside::Outside;
use crate::types::asked::RestoreOptions;
use crate::types::checkpoint::Facts;

const VERSION: u32 = 1;
/// Names and ids longer than this are cut.
const MAX_NAME: usize = 300;
/// Of a prompt, the beginning is enough to recognise it.
const MAX_PROMPT: usize = 300;
const MAX_COMMAND: usize = 2000;
const MAX_PATHS: usize = 50;
/// No record is larger.
pub(crate) const MAX_RECORD: u64 = 1 << 18;

#[derive(Serialize, Deserialize)]
struct Form {
    version: u32,
    number: u64,
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    paths: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    within: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sub_agent: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    also_in: Vec<String>,
    before: MomentForm,
    state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<MomentForm>,
    started: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    late: bool,
    /// Bytes, because a path need not be text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    only: Vec<Vec<u8>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    keep: Vec<Vec<u8>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    watched: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    outside: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rules: Option<RulesForm>,
}

#[derive(Serialize, Deserialize)]
struct RulesForm {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    exclude: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    include: Vec<String>,
    /// Bytes, because a pattern need not be text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    info_exclude: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
struct MomentForm {
    checkpoint: String,
    sequence: u64,
    next_step: u64,
}

impl From<&Moment> for MomentForm {
    fn from(moment: &Moment) -> Self {
        Self {
            checkpoint: moment.checkpoint.to_hex(),
            sequence: moment.sequence,
            next_step: moment.next_step,
        }
    }
}

impl MomentForm {
    fn read(&self) -> Option<Moment> {
        Some(Moment {
            checkpoint: ObjectId::from_hex(self.checkpoint.as_bytes())?,
            sequence: self.sequence,
            next_step: self.next_step,
        })
    }
}

impl StepStart {
    /// The same, with everything cut to what a record holds. Cutting before looking something up finds
    /// what was recorded, however long it was.
    #[must_use]
    pub(crate) fn cut(mut self) -> Self {
        let facts = &mut self.facts;
        for name in [
            &mut facts.agent,
            &mut facts.session,
            &mut facts.turn,
            &mut facts.tool,
            &mut self.call,
            &mut self.sub_agent,
        ]
        .into_iter()
        .flatten()
        {
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
        self
    }
}

/// Cuts a name as [`StepStart::cut`] does.
pub(crate) fn cut_name(name: &str) -> String {
    let mut name = name.to_owned();
    excerpt(&mut name, MAX_NAME);
    name
}

/// Cuts a prompt as [`StepStart::cut`] does.
pub(super) fn cut_prompt(prompt: &str) -> String {
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

/// Writes a step.
pub(crate) fn encode(step: &Step) -> Vec<u8> {
    let StepStart { facts, call, command, paths, prompt, within, sub_agent, also_in } =
        step.start.clone().cut();
    let bytes = |list: &[RelPath]| list.iter().map(|p| p.as_bytes().to_vec()).collect();
    let form = Form {
        version: VERSION,
        number: step.number,
        kind: step.kind.word().to_owned(),
        agent: facts.agent,
        session: facts.session,
        turn: facts.turn,
        tool: facts.tool,
        call,
        command,
        paths,
        prompt,
        within,
        sub_agent,
        also_in,
        before: MomentForm::from(&step.before),
        state: step.end.word().to_owned(),
        after: step.end.moment().map(MomentForm::from),
        started: step.started,
        ended: step.ended,
        owner: step.owner.clone(),
        late: step.late,
        only: bytes(&step.part.paths),
        keep: bytes(&step.part.keep),
        watched: (!step.watched.is_empty()).then(|| to_value(&step.watched)),
        outside: (step.outside != Outside::default()).then(|| to_value(&step.outside)),
        rules: step.rules.clone().map(|rules| RulesForm {
            exclude: rules.exclude,
            include: rules.include,
            info_exclude: rules.info_exclude,
        }),
    };
    serde_json::to_vec(&form).expect("strings and numbers always serialise")
}

fn to_value(noted: &impl Serialize) -> Value {
    serde_json::to_value(noted).expect("strings and numbers always serialise")
}

/// What was noted beside a step. What a newer version notes in another way is not known here; the step still is.
fn noted<T: DeserializeOwned + Default>(value: Option<Value>) -> T {
    let read = value.and_then(|value| serde_json::from_value(value).ok());
    read.unwrap_or_default()
}

/// Reads a step; `None` if these bytes are not one.
pub(crate) fn decode(bytes: &[u8]) -> Option<Step> {
    let form: Form = serde_json::from_slice(bytes).ok()?;
    (form.version == VERSION).then_some(())?;
    let after = match &form.after {
        Some(after) => Some(after.read()?),
        None => None,
    };
    let end = match (form.state.as_str(), after) {
        ("open", None) => StepEnd::Open,
        ("unchanged", Some(moment)) => StepEnd::Unchanged(moment),
        ("changed", Some(moment)) => StepEnd::Changed(moment),
        ("unknown", Some(moment)) => StepEnd::Unknown(moment),
        _ => return None,
    };
    let paths = |list: Vec<Vec<u8>>| {
        let paths: Result<Vec<_>, _> = list.into_iter().map(RelPath::new).collect();
        paths.ok()
    };
    // A step is part of an earlier one or of none.
    let within = form.within.filter(|outer| *outer < form.number);
    let start = StepStart {
        facts: Facts {
            agent: form.agent,
            session: form.session,
            turn: form.turn,
            tool: form.tool,
            transcript: None,
        },
        call: form.call,
        command: form.command,
        paths: form.paths,
        prompt: form.prompt,
        within,
        sub_agent: form.sub_agent,
        also_in: form.also_in,
    };
    Some(Step {
        number: form.number,
        kind: StepKind::from_word(&form.kind)?,
        start: start.cut(),
        before: form.before.read()?,
        end,
        part: RestoreOptions { paths: paths(form.only)?, keep: paths(form.keep)? },
        started: form.started,
        ended: form.ended,
        owner: form.owner,
        late: form.late,
        watched: noted(form.watched),
        outside: noted(form.outside),
        rules: form.rules.map(|rules| StepRules {
            exclude: rules.exclude,
            include: rules.include,
            info_exclude: rules.info_exclude,
        }),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use herma_worktree::reason::Reason;

    use super::*;
    use crate::records::step::outside::{LeftOutThen, OutsideChange, OutsideWhat, Sighting};

    pub(crate) fn step() -> Step {
        let moment = |sequence| Moment { checkpoint: ObjectId::EMPTY_TREE, sequence, next_step: 7 };
        Step {
            number: 6,
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
            late: true,
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
