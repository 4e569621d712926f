//! The fields that are kept of a payload, of all agents together: which agent it is shows only at the end. Here are
//! those that several agents have; the file of each agent has its own.
//!
//! Everything else is skipped while it is read. What a tool writes is kept until the call has been noted, and never stored.

/// An object of a payload that fields are taken from, by its path.
pub(crate) type Place = &'static str;

/// The outermost object.
pub(crate) const TOP: Place = "";

/// What a string in a field is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Text {
    /// Nothing to be kept, but numbers and truth values are.
    Value,
    /// A name or an id.
    Id,
    /// What the user wrote.
    Prompt,
    /// A file or a directory.
    Path,
    /// A command line, perhaps with a patch in it.
    Command,
    /// A patch.
    Patch,
    /// What is to be replaced in a file.
    Old,
    /// What takes its place.
    New,
    /// What a file is to hold.
    Content,
}

/// Fields that are kept, all in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    /// Their names.
    pub(crate) keys: &'static str,
    /// What their strings are, single or in a list.
    pub(crate) text: Text,
    /// What is kept of their objects, single or in a list, and for which place.
    pub(crate) inside: Option<(Option<Place>, &'static [Field])>,
}

const fn field(text: Text, keys: &'static str) -> Field {
    Field { keys, text, inside: None }
}

pub(crate) const fn value(keys: &'static str) -> Field {
    field(Text::Value, keys)
}

pub(crate) const fn id(keys: &'static str) -> Field {
    field(Text::Id, keys)
}

pub(crate) const fn prompt(keys: &'static str) -> Field {
    field(Text::Prompt, keys)
}

pub(crate) const fn path(keys: &'static str) -> Field {
    field(Text::Path, keys)
}

pub(crate) const fn command(keys: &'static str) -> Field {
    field(Text::Command, keys)
}

const fn patch(keys: &'static str) -> Field {
    field(Text::Patch, keys)
}

const fn old(keys: &'static str) -> Field {
    field(Text::Old, keys)
}

const fn new(keys: &'static str) -> Field {
    field(Text::New, keys)
}

/// An object with a place of its own.
pub(crate) const fn object(key: &'static str, place: Place, fields: &'static [Field]) -> Field {
    Field { keys: key, text: Text::Value, inside: Some((Some(place), fields)) }
}

impl Field {
    pub(crate) fn keys(&self) -> impl Iterator<Item = &'static str> {
        self.keys.split(' ')
    }

    /// The same with objects in it, whose fields count as fields of the object around.
    pub(crate) const fn of(mut self, fields: &'static [Field]) -> Self {
        self.inside = Some((None, fields));
        self
    }

    const fn or(mut self, text: Text) -> Self {
        self.text = text;
        self
    }
}

/// The arguments of a tool call, whoever's tool it is. Agents differ in which of these they use, not in what
/// they mean by them.
pub(crate) static ARGUMENTS: [Field; 13] = [
    path(
        "file_path filePath path notebook_path absolute_path target_file target_notebook file old_path \
         new_path file_paths",
    ),
    path("paths files").of(&EDITED),
    value("edits operations").of(&EDITED),
    command("command cmd"),
    command("commands").of(&COMMANDS),
    path(DIRECTORIES),
    value(BACKGROUND),
    id("mode"),
    patch("patch patchText input"),
    old(OLD),
    new(NEW),
    field(Text::Content, "content contents file_text"),
    value(REPLACES_ALL),
];

const OLD: &str = "old_string oldString old_str oldText old_text";
const NEW: &str = "new_string newString new_str newText new_text";

/// The arguments that replace a text wherever it is.
pub(crate) const REPLACES_ALL: &str = "replace_all replaceAll";

/// The arguments that say where a tool works.
pub(crate) const DIRECTORIES: &str =
    "workdir working_dir workingDirectory working_directory cwd dir_path directory";

/// The arguments that send a tool to the background.
pub(crate) const BACKGROUND: &str =
    "run_in_background is_background isBackground background detach";

#[cfg(test)]
impl Field {
    /// Every field that is kept of a value of this one, with the object it is in.
    pub(crate) fn all_inside(&self) -> Vec<(Place, &'static str)> {
        let Some((Some(place), fields)) = self.inside else { return Vec::new() };
        let own = fields.iter().flat_map(|field| field.keys().map(move |key| (place, key)));
        own.chain(fields.iter().flat_map(Self::all_inside)).collect()
    }
}

/// A file in a list of them.
pub(crate) static EDITED: [Field; 3] = [path("file_path filePath path"), old(OLD), new(NEW)];

/// A command in a list of them.
static COMMANDS: [Field; 1] = [command("command")];

/// The outermost value, with the fields that several agents have and those that only one has.
pub(crate) fn outermost(own: Vec<Field>) -> Field {
    let mut fields = own;
    fields.extend(COMMON);
    object("", TOP, fields.leak())
}

static COMMON: [Field; 11] = [
    id("hook_event_name"),
    object("event", "event", &EVENT).or(Text::Id),
    id("session_id parent_session_id agent_id prompt_id"),
    path("cwd"),
    // Some give it in parts.
    prompt("prompt").of(&[prompt("text")]),
    id("tool_name tool tool_use_id tool_call_id"),
    object("tool_input", "tool_input", &ARGUMENTS),
    object("params", "params", &[object("arguments", "params.arguments", &MCP)]),
    id("permission_mode"),
    value("timestamp duration_ms"),
    object("tool_response tool_output", RESULT, &ENDED),
];

/// What came of a call, where an agent says more of it than a text.
pub(crate) const RESULT: Place = "result";

/// The code a command exited with.
pub(crate) static ENDED: [Field; 1] = [value(EXIT_CODE)];

pub(crate) const EXIT_CODE: &str = "exit_code returncode";

/// An event of OpenCode's bus, where others have a name.
pub(crate) static EVENT: [Field; 2] =
    [id("type"), object("properties", "event.properties", &PROPERTIES)];

static PROPERTIES: [Field; 2] = [
    id("sessionID"),
    object("info", "event.properties.info", &[id("id parentID"), path("directory")]),
];

/// The arguments that a hook of the kind `mcp_tool` is configured to give to a tool of ours.
static MCP: [Field; 2] = [id("event tool session prompt turn id"), path("cwd")];
