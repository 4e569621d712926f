//! What an agent can say, in one form for all of them.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::agent::Agent;

/// What happens at the agent's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A conversation begins or is taken up again.
    SessionStart,
    /// A conversation ends.
    SessionEnd,
    /// A prompt begins a turn.
    TurnStart,
    /// The agent goes on with a turn by itself, since something it left in the background is over.
    TurnResumed,
    /// The agent has answered a prompt.
    TurnEnd,
    /// A tool is about to run.
    BeforeTool,
    /// A tool has run, well or not.
    AfterTool,
    /// Something that is of no interest here.
    Other,
}

impl EventKind {
    /// The word logs and JSON use.
    pub const fn word(self) -> &'static str {
        match self {
            Self::SessionStart => "session-start",
            Self::SessionEnd => "session-end",
            Self::TurnStart => "turn-start",
            Self::TurnResumed => "turn-resumed",
            Self::TurnEnd => "turn-end",
            Self::BeforeTool => "before-tool",
            Self::AfterTool => "after-tool",
            Self::Other => "other",
        }
    }
}

/// What kind of tool it is, as far as its name tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolClass {
    /// It only looks. Known by name: whatever is not known may change files.
    Read,
    /// It writes files it names.
    Edit,
    /// It runs a command line or a program.
    Shell,
    /// It lets another agent work.
    Agent,
    /// It is a tool of a server the user added.
    Mcp,
    /// Nobody knows.
    Unknown,
}

impl ToolClass {
    /// May it change files?
    pub const fn may_change_files(self) -> bool {
        !matches!(self, Self::Read)
    }

    /// The word logs and JSON use.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Edit => "edit",
            Self::Shell => "shell",
            Self::Agent => "agent",
            Self::Mcp => "mcp",
            Self::Unknown => "unknown",
        }
    }
}

/// What a tool says it writes into a file: this text instead of that one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writes {
    /// The file, as the agent wrote it.
    pub path: PathBuf,
    /// What it replaces; the whole file, if that is not said.
    pub old: Option<String>,
    /// What it puts there.
    pub new: String,
    /// Does it replace all places with the old text?
    pub all: bool,
}

/// A tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolUse {
    /// The tool, by the name the agent has for it.
    pub name: String,
    /// What kind of tool it is.
    pub class: ToolClass,
    /// The agent's own id of the call.
    pub call: Option<String>,
    /// The command line, for tools that run one.
    pub command: Option<String>,
    /// The files it names, as the agent wrote them.
    pub paths: Vec<PathBuf>,
    /// What it says it writes into them, in its order; nothing where the agent says that otherwise than others do.
    pub writes: Vec<Writes>,
    /// Where it will run or look for relative paths, if it says so.
    pub directory: Option<PathBuf>,
    /// Does it go on in the background after it has answered?
    pub in_background: bool,
    /// After it has run: did it fail, as far as the name of the event says?
    pub failed: bool,
    /// After it has run: the code its command exited with, if the agent says so.
    pub exit_code: Option<u64>,
    /// After it has run: how long that took, if the agent says so. What it waited for a person before that is not in
    /// it, except where the agent asks within the tool.
    pub duration: Option<Duration>,
}

/// What an agent said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Who says it: not always the one whose hook it is, since agents read each other's configurations.
    pub agent: Agent,
    /// What happens.
    pub kind: EventKind,
    /// The conversation, which a person leads.
    pub session: Option<String>,
    /// For the agent of an agent: which one it is within the conversation, or what its own conversation with the agent is called.
    pub sub_agent: Option<String>,
    /// The prompt within the conversation.
    pub turn: Option<String>,
    /// The beginning of the prompt, where it is said.
    pub prompt: Option<String>,
    /// The tool call, before and after one.
    pub tool: Option<ToolUse>,
    /// Directories that the agent says are its projects, the surest first: they do not move when the agent
    /// changes its directory.
    pub roots: Vec<PathBuf>,
    /// Where the agent is just now, which need not be the project.
    pub directory: Option<PathBuf>,
}

impl Event {
    /// By what the end of a tool call finds its beginning, and the same call told by another hook is known: the
    /// agent's own id of it, or else what the agent says of it, which it says each time. `None` without a tool.
    ///
    /// Where an agent has no ids, two equal calls have the same key.
    pub fn call_key(&self) -> Option<String> {
        let tool = self.tool.as_ref()?;
        if let Some(call) = &tool.call {
            return Some(call.clone());
        }
        let mut parts = Parts(Sha256::new());
        parts.add_text(self.session.as_deref());
        tool.add_to(&mut parts);
        Some(format!("~{:032x}", parts.finish()))
    }
}

impl ToolUse {
    fn add_to(&self, parts: &mut Parts) {
        parts.add(self.class.word().as_bytes());
        // The same tool has another name in another agent's form: `create` is `Write` there.
        if !matches!(self.class, ToolClass::Read | ToolClass::Edit | ToolClass::Shell) {
            parts.add(self.name.as_bytes());
        }
        parts.add_text(self.command.as_deref());
        for path in &self.paths {
            parts.add(path.as_os_str().as_encoded_bytes());
        }
    }
}

/// What a key is made of, each with its length, so that no two lists of parts look alike.
struct Parts(Sha256);

impl Parts {
    fn add(&mut self, part: &[u8]) {
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
    }

    /// Nothing is another thing than an empty text.
    fn add_text(&mut self, text: Option<&str>) {
        match text {
            Some(text) => self.add(text.as_bytes()),
            None => self.0.update(u64::MAX.to_le_bytes()),
        }
    }

    fn finish(self) -> u128 {
        let mut sum = [0; 16];
        sum.copy_from_slice(&self.0.finalize()[..16]);
        u128::from_be_bytes(sum)
    }
}

/// What surrounds a call besides its payload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The event's name from the command line.
    pub event: Option<String>,
    /// Those of [`variables`](crate::variables) that are set and not empty.
    pub variables: Vec<(&'static str, OsString)>,
    /// The directory the hook was started in.
    pub directory: Option<PathBuf>,
    /// A payload given as the last argument instead of standard input: how Codex calls its `notify` program.
    pub argument: Option<String>,
}

impl Surroundings {
    /// A variable's value.
    pub fn variable(&self, name: &str) -> Option<&OsString> {
        let found = self.variables.iter().find(|(known, _)| *known == name)?;
        Some(&found.1)
    }
}
