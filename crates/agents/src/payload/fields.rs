//! The fields that are kept of a payload, of all agents together: which agent it is shows only at the end. Here are
//! those that several agents have; the file of each agent has its own.
//!
//! Everything else is skipped while it is read. Contents of files are not kept.

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
    /// A patch, of which only the names of its files are kept.
    Patch,
}

/// A field that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) key: &'static str,
    /// What its strings are, single or in a list.
    pub(crate) text: Text,
    /// What is kept of its objects, single or in a list, and for which place.
    pub(crate) inside: Option<(Option<Place>, &'static [Field])>,
}

const fn field(text: Text, key: &'static str) -> Field {
    Field { key, text, inside: None }
}

pub(crate) const fn value(key: &'static str) -> Field {
    field(Text::Value, key)
}

pub(crate) const fn id(key: &'static str) -> Field {
    field(Text::Id, key)
}

pub(crate) const fn prompt(key: &'static str) -> Field {
    field(Text::Prompt, key)
}

pub(crate) const fn path(key: &'static str) -> Field {
    field(Text::Path, key)
}

pub(crate) const fn command(key: &'static str) -> Field {
    field(Text::Command, key)
}

const fn patch(key: &'static str) -> Field {
    field(Text::Patch, key)
}

/// An object with a place of its own.
pub(crate) const fn object(key: &'static str, place: Place, fields: &'static [Field]) -> Field {
    Field { key, text: Text::Value, inside: Some((Some(place), fields)) }
}

impl Field {
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
pub(crate) static ARGUMENTS: [Field; 34] = [
    path("file_path"),
    path("filePath"),
    path("path"),
    path("notebook_path"),
    path("absolute_path"),
    path("target_file"),
    path("target_notebook"),
    path("file"),
    path("old_path"),
    path("new_path"),
    path("paths").of(&EDITED),
    path("file_paths"),
    path("files").of(&EDITED),
    value("edits").of(&EDITED),
    value("operations").of(&EDITED),
    command("command"),
    command("commands").of(&COMMANDS),
    command("cmd"),
    path("workdir"),
    path("working_dir"),
    path("workingDirectory"),
    path("working_directory"),
    path("cwd"),
    path("dir_path"),
    path("directory"),
    value("run_in_background"),
    value("is_background"),
    value("isBackground"),
    value("background"),
    value("detach"),
    id("mode"),
    patch("patch"),
    patch("patchText"),
    patch("input"),
];

#[cfg(test)]
impl Field {
    /// Every field that is kept of a value of this one, with the object it is in.
    pub(crate) fn all_inside(&self) -> Vec<(Place, &'static str)> {
        let Some((Some(place), fields)) = self.inside else { return Vec::new() };
        let own = fields.iter().map(|field| (place, field.key));
        own.chain(fields.iter().flat_map(Self::all_inside)).collect()
    }
}

/// A file in a list of them.
pub(crate) static EDITED: [Field; 3] = [path("file_path"), path("filePath"), path("path")];

/// A command in a list of them.
static COMMANDS: [Field; 1] = [command("command")];

/// The outermost value, with the fields that several agents have and those that only one has.
pub(crate) fn outermost(own: Vec<Field>) -> Field {
    let mut fields = own;
    fields.extend(COMMON);
    object("", TOP, fields.leak())
}

static COMMON: [Field; 16] = [
    id("hook_event_name"),
    object("event", "event", &EVENT).or(Text::Id),
    id("session_id"),
    id("parent_session_id"),
    id("agent_id"),
    id("prompt_id"),
    path("cwd"),
    prompt("prompt"),
    id("tool_name"),
    id("tool"),
    id("tool_use_id"),
    id("tool_call_id"),
    object("tool_input", "tool_input", &ARGUMENTS),
    object("params", "params", &[object("arguments", "params.arguments", &MCP)]),
    id("permission_mode"),
    value("timestamp"),
];

/// An event of OpenCode's bus, where others have a name.
pub(crate) static EVENT: [Field; 2] =
    [id("type"), object("properties", "event.properties", &PROPERTIES)];

static PROPERTIES: [Field; 2] = [
    id("sessionID"),
    object("info", "event.properties.info", &[id("id"), id("parentID"), path("directory")]),
];

/// The arguments that a hook of the kind `mcp_tool` is configured to give to a tool of ours.
static MCP: [Field; 7] =
    [id("event"), id("tool"), id("session"), id("prompt"), id("turn"), id("id"), path("cwd")];
