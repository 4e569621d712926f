//! The `hooks` object that most agents have in a JSON file: ours put in, taken out, and looked at.
//!
//! ```json
//! {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "…", "timeout": 20}]}]}}
//! ```
//!
//! Ours are known by their command line, never by their place. They are appended, replaced where they stand
//! when they say something else than they should, and removed without a trace of them. Every edit is checked:
//! what the file says besides ours must be the same as before, and ours must be exactly what was wanted.

mod check;
mod find;

use serde_json::Value as Data;

use super::command::{FoundCommand, HookCommand};
use super::error::InstallError;
use super::json;
use super::json::{Dialect, Document, Item, Json, Layout, Node};
use super::target::{Edited, Found, HookFile, Note};
use crate::agent::Agent;

/// How an agent writes an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A group with a matcher and a list of commands.
    Groups,
    /// The command itself.
    Flat {
        /// The name entries have there.
        name: Option<&'static str>,
    },
    /// The command itself, under the name of the shell, with the event's name in it.
    Copilot,
}

/// The hooks of one agent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HooksJson {
    pub(crate) agent: Agent,
    pub(crate) dialect: Dialect,
    pub(crate) shape: Shape,
    /// The names of the events to be told of.
    pub(crate) events: &'static str,
    /// How long one may take, in the unit of the agent.
    pub(crate) timeout: fn(&str) -> u64,
    /// Which tools one is about; `None` if about all.
    pub(crate) matcher: fn(&str) -> Option<&'static str>,
    /// The value of `version` that the file must have.
    pub(crate) version: Option<u64>,
    /// Does the agent know entries by their place?
    pub(crate) keeps_positions: bool,
    /// Is no event answered? So it was in earlier versions.
    pub(crate) is_silent: bool,
}

impl HooksJson {
    /// What most of them have in common with Claude Code.
    pub(crate) const fn like_claude(agent: Agent) -> Self {
        Self {
            agent,
            dialect: Dialect::Strict,
            shape: Shape::Groups,
            events: "SessionStart UserPromptSubmit PreToolUse PostToolUse PostToolUseFailure Stop \
                     SessionEnd",
            timeout: |_| 20,
            matcher: |_| None,
            version: None,
            keeps_positions: false,
            is_silent: false,
        }
    }

    /// As it is written now, and as earlier versions wrote it.
    pub(crate) fn forms(&self) -> [Self; 2] {
        [*self, Self { is_silent: true, ..*self }]
    }

    fn line(&self, event: &str, command: &HookCommand) -> Json {
        let named = (self.shape == Shape::Copilot).then_some(event);
        Json::Text(if !self.is_silent && self.agent.wants_reply(event) {
            command.answering_line(self.agent, named)
        } else {
            command.line(self.agent, named)
        })
    }

    pub(crate) fn events(&self) -> impl Iterator<Item = &'static str> {
        self.events.split(' ')
    }
}

/// Ours in a file.
struct Ours {
    event: String,
    found: FoundCommand,
    /// Where the entry is: places from the root.
    path: Vec<usize>,
    /// The entry, for comparing it with what is wanted; `None` if it stands among others in a group.
    data: Option<Data>,
    /// Does something follow it in its list?
    is_followed: bool,
}

impl HookFile for HooksJson {
    fn install(
        &self,
        before: Option<&[u8]>,
        command: &HookCommand,
    ) -> Result<Edited, InstallError> {
        let Some(before) = before else {
            let text = self.fresh(command) + "\n";
            return Ok(Edited::to(text));
        };
        let text = json::text_of(before)?;
        if is_blank(text) {
            return Ok(Edited::to(format!("{text}{}", self.fresh(command))));
        }
        let old = self.read(text.to_owned())?;
        // Written anew, so that it is known as nothing but ours when it is to go.
        if let Some((blank, end)) = self.around_fresh(text, &self.ours(&old.root)) {
            return Ok(Edited::to(format!("{blank}{}{end}", self.fresh(command))));
        }
        let mut new = old.clone();
        let mut notes = Vec::new();
        self.remove_unwanted(&mut new, &mut notes)?;
        self.ensure_version(&mut new)?;
        for event in self.events() {
            self.ensure(&mut new, event, command)?;
        }
        self.verify(&old, &new, Some(command))?;
        Ok(Edited::to(new.text).with_notes(notes))
    }

    fn uninstall(&self, before: &[u8]) -> Result<Edited, InstallError> {
        let text = json::text_of(before)?;
        if is_blank(text) {
            return Ok(Edited::to(text.to_owned()));
        }
        let old = self.read(text.to_owned())?;
        let ours = self.ours(&old.root);
        match self.around_fresh(text, &ours) {
            _ if ours.is_empty() => return Ok(Edited::to(text.to_owned())),
            Some((_, "\n")) => return Ok(Edited::removed()),
            Some((blank, _)) => return Ok(Edited::to(blank.to_owned())),
            None => {}
        }
        let mut new = old.clone();
        let mut notes = Vec::new();
        let was_empty = self.has_our_version(&new);
        // The last that was put in is the first to go, so that each step finds the text as it left it.
        while let Some(last) = self.last_of(&new.root) {
            new = self.take_out(&new, &last, &mut notes)?;
        }
        if was_empty && new.root.items().len() == 1 {
            new = self.read(json::remove(&new.text, &new.root, &[0]))?;
        }
        self.verify(&old, &new, None)?;
        Ok(Edited::to(new.text).with_notes(notes))
    }

    fn look(&self, bytes: &[u8]) -> Result<Found, InstallError> {
        Ok(Found::of(self.commands(bytes)?, self.events()))
    }
}

impl HooksJson {
    /// Our commands in a file, by event.
    pub(crate) fn commands(
        &self,
        bytes: &[u8],
    ) -> Result<Vec<(String, FoundCommand)>, InstallError> {
        let text = json::text_of(bytes)?;
        if is_blank(text) {
            return Ok(Vec::new());
        }
        let ours = self.ours(&self.read(text.to_owned())?.root).into_iter();
        Ok(ours.map(|one| (one.event, one.found)).collect())
    }

    /// The whole text of a file that has nothing but ours, without the last line end.
    pub(crate) fn fresh(&self, command: &HookCommand) -> String {
        let version = self.version.map(|version| ("version", Json::Number(version)));
        let hooks = ("hooks", self.all_hooks(command));
        Json::object(version.into_iter().chain([hooks])).render(&Layout::own(), "")
    }

    /// What is around ours in a file that has nothing else: the line end we gave it, or the blanks it was.
    fn around_fresh<'t>(&self, text: &'t str, ours: &[Ours]) -> Option<(&'t str, &'t str)> {
        let command = &ours.first()?.found.command;
        self.forms().iter().find_map(|form| {
            let fresh = form.fresh(command);
            if text.strip_suffix('\n') == Some(&fresh) {
                return Some(("", "\n"));
            }
            let blank = text.strip_suffix(&fresh)?;
            is_blank(blank).then_some((blank, ""))
        })
    }

    fn all_hooks(&self, command: &HookCommand) -> Json {
        let list = |event| Json::Array(vec![self.entry(event, command)]);
        Json::object(self.events().map(|event| (event, list(event))))
    }

    /// The entry of an event.
    fn entry(&self, event: &str, command: &HookCommand) -> Json {
        let timeout = Json::Number((self.timeout)(event));
        match self.shape {
            Shape::Groups => {
                let matcher =
                    (self.matcher)(event).map(|text| ("matcher", Json::Text(text.to_owned())));
                let handler = Json::object([
                    ("type", Json::Text("command".to_owned())),
                    ("command", self.line(event, command)),
                    ("timeout", timeout),
                ]);
                let handlers = ("hooks", Json::Array(vec![handler]));
                Json::object(matcher.into_iter().chain([handlers]))
            }
            Shape::Flat { name } => {
                let name = name.map(|name| ("name", Json::Text(name.to_owned())));
                let rest = [("command", self.line(event, command)), ("timeout", timeout)];
                Json::object(name.into_iter().chain(rest))
            }
            Shape::Copilot => Json::object([
                ("type", Json::Text("command".to_owned())),
                ("bash", self.line(event, command)),
                ("timeoutSec", timeout),
            ]),
        }
    }

    /// The one to be removed first.
    fn last_of(&self, root: &Node) -> Option<Ours> {
        let order = |ours: &Ours| {
            let wanted = self.events().position(|event| event == ours.event);
            (wanted.map_or(0, |place| place + 1), ours.path.clone())
        };
        self.ours(root).into_iter().max_by_key(order)
    }

    /// Takes one of ours out, or makes it inert where the place of what follows counts.
    fn take_out(
        &self,
        document: &Document,
        ours: &Ours,
        notes: &mut Vec<Note>,
    ) -> Result<Document, InstallError> {
        let text = if self.keeps_positions && ours.is_followed {
            let inert = match ours.data {
                Some(_) => Json::object([("hooks", Json::Array(Vec::new()))]),
                None => Json::object([
                    ("type", Json::Text("command".to_owned())),
                    ("command", Json::Text(":".to_owned())),
                ]),
            };
            notes.push(Note::PlaceKept(ours.event.clone()));
            let node = json::node_at(&document.root, &ours.path);
            let span = node.map(|node| node.span.clone()).unwrap_or_default();
            json::replace(&document.text, &document.root, &span, &inert)
        } else {
            json::remove(&document.text, &document.root, &ours.path)
        };
        self.read(text)
    }

    /// Takes out what is at events that are not wanted, and more than one at the same event.
    fn remove_unwanted(
        &self,
        document: &mut Document,
        notes: &mut Vec<Note>,
    ) -> Result<(), InstallError> {
        loop {
            let ours = self.ours(&document.root);
            let unwanted = ours.iter().enumerate().find(|(at, one)| {
                let is_wanted = self.events().any(|event| event == one.event);
                let is_second = ours[..*at].iter().any(|other| other.event == one.event);
                !is_wanted || is_second
            });
            let Some((_, unwanted)) = unwanted else { return Ok(()) };
            *document = self.take_out(document, unwanted, notes)?;
        }
    }

    fn ensure_version(&self, document: &mut Document) -> Result<(), InstallError> {
        let Some(version) = self.version else { return Ok(()) };
        if document.root.items().is_empty() {
            let (text, root) = (&document.text, &document.root);
            let text = json::append(text, root, root, Some("version"), &Json::Number(version));
            *document = self.read(text)?;
        }
        match document.data.get("version") {
            Some(Data::Number(_)) => Ok(()),
            Some(_) => Err(shape("`version` is no number")),
            None => Err(shape("`version` is missing, without which the agent cannot read it")),
        }
    }

    /// Did we put the version into an empty object? The space in front of the bracket says so.
    fn has_our_version(&self, document: &Document) -> bool {
        let root = &document.root;
        let is_first = root.items().first().is_some_and(|item| is_key(item, "version"));
        let was_empty = json::root_was_empty(&document.text, root);
        self.version.is_some() && is_first && root.items().len() == 2 && was_empty
    }

    /// Makes one event's entry what it should be.
    fn ensure(
        &self,
        document: &mut Document,
        event: &str,
        command: &HookCommand,
    ) -> Result<(), InstallError> {
        let wanted = self.entry(event, command);
        let (text, root) = (&document.text, &document.root);
        let mut ours = self.ours(root).into_iter();
        let text = if let Some(present) = ours.find(|one| one.event == event) {
            let Some(node) = json::node_at(root, &present.path) else { return Ok(()) };
            match &present.data {
                Some(data) if *data == wanted.data() => return Ok(()),
                Some(_) => json::replace(text, root, &node.span, &wanted),
                None => Self::replace_line(document, node, &self.line(event, command)),
            }
        } else {
            match root.get("hooks") {
                None => json::append(text, root, root, Some("hooks"), &self.all_hooks(command)),
                Some(hooks) => {
                    if let Some(list) = hooks.get(event) {
                        json::append(text, root, list, None, &wanted)
                    } else {
                        let list = Json::Array(vec![wanted]);
                        json::append(text, root, hooks, Some(event), &list)
                    }
                }
            }
        };
        *document = self.read(text)?;
        Ok(())
    }

    /// Ours in a group with others: only the command line is ours there.
    fn replace_line(document: &Document, handler: &Node, line: &Json) -> String {
        match handler.get("command") {
            Some(node) => json::replace(&document.text, &document.root, &node.span, line),
            None => document.text.clone(),
        }
    }
}

fn is_key(item: &Item, key: &str) -> bool {
    item.key.as_deref() == Some(key)
}

/// Nothing but what JSON takes for space: other space would make the file one that nobody can read.
fn is_blank(text: &str) -> bool {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
}

fn shape(what: &str) -> InstallError {
    InstallError::Shape(what.to_owned())
}
