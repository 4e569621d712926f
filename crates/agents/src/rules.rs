//! How the payloads of one agent are read.
//!
//! Agents say the same things under different names, so an agent is a table: where its payloads have the
//! session, what it calls the beginning of a turn, which of its tools only look. The tables are in the agents' own
//! files; this is what applies them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::agent::Agent;
use crate::event::{Event, EventKind, Surroundings, ToolClass, ToolUse};
use crate::payload::fields::{
    BACKGROUND, DIRECTORIES, EXIT_CODE, Field, Place, REPLACES_ALL, RESULT, TOP,
};
use crate::payload::{MAX_COMMAND_BYTES, MAX_ID_BYTES, PATCHED, Payload, Spot, cut};

/// The arguments that name files.
const FILES: &str = "file_path filePath path notebook_path absolute_path target_file target_notebook file \
                     old_path new_path paths file_paths files edits operations";

/// The names of arguments that are looked at.
#[cfg(test)]
pub(crate) fn argument_names() -> impl Iterator<Item = &'static str> {
    [FILES, DIRECTORIES, BACKGROUND].into_iter().flat_map(|names| names.split(' '))
}

/// A tool that is said to have run for longer has not.
const MAX_DURATION: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How the payloads of one agent are read.
pub(crate) struct Rules {
    /// What happens, by the agent's names for it.
    pub(crate) events: &'static [(EventKind, &'static str)],
    /// The same, of an agent that has more than the common ones.
    pub(crate) more_events: &'static [(EventKind, &'static str)],
    /// Tools that are not named, by the event that says that they run.
    pub(crate) implied_tools: &'static [(&'static str, &'static str)],
    /// Events of servers' tools alone, which are named there as the server names them: like anything.
    pub(crate) mcp_events: &'static [&'static str],
    /// Where the event is named.
    pub(crate) event: &'static [Spot],
    pub(crate) session: &'static [Spot],
    pub(crate) session_variable: Option<&'static str>,
    pub(crate) parent_session: &'static [Spot],
    pub(crate) sub_agent: &'static [Spot],
    /// A field that only the agent of an agent has, where `agent` alone does not tell.
    pub(crate) sub_agent_if: Option<Spot>,
    pub(crate) turn: &'static [Spot],
    pub(crate) prompt: &'static [Spot],
    /// Is a prompt one that nobody typed? Then it begins no turn, and the last one goes on.
    pub(crate) is_untyped: fn(&str) -> bool,
    pub(crate) call: &'static [Spot],
    pub(crate) tool: &'static [Spot],
    /// Where the end of a tool says for how many milliseconds it ran.
    pub(crate) duration: &'static [Spot],
    /// The objects that may hold the arguments of a tool.
    pub(crate) arguments: &'static [Place],
    pub(crate) directory: &'static [Spot],
    pub(crate) roots: &'static [Spot],
    /// Variables that name the project, surer than any field.
    pub(crate) root_variables: &'static [&'static str],
    /// Is the directory the project while no tool runs?
    pub(crate) starts_in_root: bool,
    /// What its tools are, by their names.
    pub(crate) tools: &'static [(ToolClass, &'static str)],
    /// The class of tools that are known by how their names begin.
    pub(crate) class_by_shape: fn(&str) -> Option<ToolClass>,
    /// Fields that no other agent has, or means the same by.
    pub(crate) fields: &'static [Field],
    /// Variables that say something else.
    pub(crate) variables: &'static [&'static str],
    /// Can nobody else have sent this?
    pub(crate) known_by: fn(&Payload) -> bool,
}

impl Rules {
    /// The form that most agents took from Claude Code.
    pub(crate) const COMMON: Self = Self {
        events: &[
            (EventKind::SessionStart, "SessionStart"),
            (EventKind::SessionEnd, "SessionEnd"),
            (EventKind::TurnStart, "UserPromptSubmit"),
            (EventKind::TurnEnd, "Stop StopFailure"),
            (EventKind::BeforeTool, "PreToolUse"),
            (EventKind::AfterTool, "PostToolUse PostToolUseFailure"),
        ],
        more_events: &[],
        implied_tools: &[],
        mcp_events: &[],
        event: &[(TOP, "hook_event_name"), ("params.arguments", "event")],
        session: &[(TOP, "session_id"), ("params.arguments", "session")],
        session_variable: None,
        parent_session: &[(TOP, "parent_session_id")],
        sub_agent: &[(TOP, "agent_id")],
        sub_agent_if: None,
        turn: &[],
        prompt: &[(TOP, "prompt")],
        is_untyped: |_| false,
        call: &[(TOP, "tool_use_id"), (TOP, "tool_call_id"), ("params.arguments", "id")],
        tool: &[(TOP, "tool_name"), ("params.arguments", "tool")],
        duration: &[],
        arguments: &["tool_input"],
        directory: &[(TOP, "cwd"), ("params.arguments", "cwd")],
        roots: &[],
        root_variables: &[],
        starts_in_root: false,
        tools: &[],
        class_by_shape: mcp_tool,
        fields: &[],
        variables: &[],
        known_by: |_| false,
    };

    /// What an agent said.
    pub(crate) fn event(
        &self,
        agent: Agent,
        payload: &Payload,
        surroundings: &Surroundings,
    ) -> Event {
        let name = self.event_name(payload, surroundings);
        let tool = self.tool(payload, name.as_deref());
        let prompt = payload.first(self.prompt);
        let is_untyped = prompt.as_deref().is_some_and(self.is_untyped);
        let kind = match &name {
            Some(name) if is_untyped && self.kind(name) == EventKind::TurnStart => {
                EventKind::TurnResumed
            }
            Some(name) => self.kind(name),
            // Without a name, whatever saves the most.
            None if tool.is_some() => EventKind::BeforeTool,
            None => EventKind::TurnStart,
        };
        let in_tool = matches!(kind, EventKind::BeforeTool | EventKind::AfterTool);
        let directory = self.directory(payload);
        let mut roots = self.roots(payload, surroundings);
        if let Some(start) = directory.as_ref().filter(|_| self.starts_in_root && !in_tool) {
            add_root(&mut roots, start);
        }
        let (own, parent) =
            (self.session(payload, surroundings), payload.first(self.parent_session));
        Event {
            agent,
            kind,
            session: parent.clone().or_else(|| own.clone()),
            sub_agent: self.sub_agent(payload).or_else(|| own.filter(|_| parent.is_some())),
            turn: payload.first(self.turn),
            prompt: prompt.filter(|_| !in_tool && kind != EventKind::TurnResumed),
            tool: tool.filter(|_| in_tool),
            roots,
            directory: directory.or_else(|| surroundings.directory.clone()),
        }
    }

    /// What can be said without a payload: a turn begins.
    pub(crate) fn without_payload(&self, agent: Agent, surroundings: &Surroundings) -> Event {
        let nothing = Payload::default();
        Event {
            kind: EventKind::TurnStart,
            tool: None,
            ..self.event(agent, &nothing, surroundings)
        }
    }

    /// The event's name: what the payload says, else what the command line says.
    fn event_name(&self, payload: &Payload, surroundings: &Surroundings) -> Option<String> {
        let in_payload = payload.first(self.event);
        let name = in_payload.or_else(|| surroundings.event.clone())?;
        let name = name.strip_prefix("mcp:").unwrap_or(&name);
        Some(name.to_owned()).filter(|name| !name.is_empty())
    }

    /// What an event is, by the agent's name for it.
    pub(crate) fn kind(&self, name: &str) -> EventKind {
        let mut all = self.events.iter().chain(self.more_events);
        let known = all.find(|(_, names)| names.split(' ').any(|known| same_name(known, name)));
        known.map_or(EventKind::Other, |(kind, _)| *kind)
    }

    fn session(&self, payload: &Payload, surroundings: &Surroundings) -> Option<String> {
        payload.first(self.session).or_else(|| {
            let value = surroundings.variable(self.session_variable?)?.to_str()?;
            Some(cut(value, MAX_ID_BYTES).to_owned())
        })
    }

    fn sub_agent(&self, payload: &Payload) -> Option<String> {
        let is_sub_agent = self.sub_agent_if.is_none_or(|spot| payload.text(spot).is_some());
        payload.first(self.sub_agent).filter(|_| is_sub_agent)
    }

    fn directory(&self, payload: &Payload) -> Option<PathBuf> {
        let said = payload.first(self.directory).map(PathBuf::from);
        said.filter(|directory| directory.is_absolute())
    }

    fn roots(&self, payload: &Payload, surroundings: &Surroundings) -> Vec<PathBuf> {
        let mut roots = Vec::new();
        for variable in self.root_variables {
            if let Some(value) = surroundings.variable(variable) {
                add_root(&mut roots, Path::new(value));
            }
        }
        for spot in self.roots {
            for root in payload.texts(*spot) {
                add_root(&mut roots, Path::new(root));
            }
        }
        roots
    }

    fn tool(&self, payload: &Payload, event: Option<&str>) -> Option<ToolUse> {
        let implied = || {
            let event = event?;
            let (_, tool) = self.implied_tools.iter().find(|(known, _)| same_name(known, event))?;
            Some((*tool).to_owned())
        };
        let name = payload.first(self.tool).or_else(implied)?;
        let is_event = |known: &&str| event.is_some_and(|event| same_name(known, event));
        let class =
            if self.mcp_events.iter().any(is_event) { ToolClass::Mcp } else { self.class(&name) };
        let mut places = self.arguments.iter().copied();
        let place = places.find(|place| payload.has_place(place)).unwrap_or("tool_input");
        let paths = payload.paths(place, FILES.split(' ').chain([PATCHED]));
        let all = REPLACES_ALL.split(' ').any(|name| payload.says_yes((place, name)));
        let runs_commands = !matches!(class, ToolClass::Read | ToolClass::Edit);
        Some(ToolUse {
            class,
            call: payload.first(self.call),
            command: command(payload, place).filter(|_| runs_commands),
            writes: payload.written.in_files(place, &paths, all),
            paths,
            directory: payload.paths(place, DIRECTORIES.split(' ')).into_iter().next(),
            in_background: in_background(payload, place),
            failed: event.is_some_and(|event| event.to_ascii_lowercase().ends_with("failure")),
            exit_code: EXIT_CODE.split(' ').find_map(|name| payload.number((RESULT, name))),
            duration: self.duration(payload),
            name,
        })
    }

    fn duration(&self, payload: &Payload) -> Option<Duration> {
        let milliseconds = self.duration.iter().find_map(|spot| payload.number(*spot))?;
        Some(Duration::from_millis(milliseconds)).filter(|duration| *duration <= MAX_DURATION)
    }

    /// What kind of tool it is. What is not known may change files.
    pub(crate) fn class(&self, name: &str) -> ToolClass {
        let mut tools = self.tools.iter();
        let known = tools.find(|(_, names)| names.split(' ').any(|known| known == name));
        known
            .map(|(class, _)| *class)
            .or_else(|| (self.class_by_shape)(name))
            .unwrap_or(ToolClass::Unknown)
    }
}

/// Tools of servers, by the names that most agents give them.
pub(crate) fn mcp_tool(name: &str) -> Option<ToolClass> {
    let prefixes = ["mcp__", "mcp_", "MCP:", "mcp:"];
    let is_one = prefixes.iter().any(|prefix| name.starts_with(prefix));
    is_one.then_some(ToolClass::Mcp)
}

/// Tools of servers, where their names are `server__tool`.
pub(crate) fn server_tool(name: &str) -> Option<ToolClass> {
    let by_prefix = mcp_tool(name);
    by_prefix.or_else(|| name.contains("__").then_some(ToolClass::Mcp))
}

/// Agents write their own events in more than one way, and so do people.
fn same_name(known: &str, name: &str) -> bool {
    let plain = |name: &str| {
        let bytes: Vec<u8> = name.bytes().filter(|byte| !matches!(byte, b'_' | b'-')).collect();
        bytes.to_ascii_lowercase()
    };
    known == name || (name.len() <= 2 * known.len() && plain(known) == plain(name))
}

/// Nobody's project is the whole machine: agents say `/` where they have none.
fn add_root(roots: &mut Vec<PathBuf>, root: &Path) {
    let usable = root.is_absolute() && root.parent().is_some();
    if usable && !roots.iter().any(|known| known == root) {
        roots.push(root.to_owned());
    }
}

fn command(payload: &Payload, place: Place) -> Option<String> {
    let line = |name, between: &str| {
        let parts = payload.texts((place, name));
        (!parts.is_empty()).then(|| parts.join(between))
    };
    let command =
        line("command", " ").or_else(|| line("commands", "\n")).or_else(|| line("cmd", " "))?;
    Some(cut(&command, MAX_COMMAND_BYTES).to_owned())
}

fn in_background(payload: &Payload, place: Place) -> bool {
    BACKGROUND.split(' ').any(|name| payload.says_yes((place, name)))
        || payload.text((place, "mode")) == Some("async")
}
