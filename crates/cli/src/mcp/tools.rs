//! The tools, as an agent sees them: what each is for, what it takes, and whether it changes anything.

use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use super::hook;
use crate::serve::Session;

/// A tool that is a method of `herma serve`.
pub(super) struct Tool {
    name: &'static str,
    method: &'static str,
    title: &'static str,
    description: &'static str,
    /// Does it leave everything as it is?
    reads_only: bool,
    /// Does it change files of the project?
    changes_files: bool,
    properties: fn() -> Value,
    required: &'static [&'static str],
    /// Puts an answer into a sentence.
    sentence: fn(&Value) -> String,
}

const TOOLS: [Tool; 6] = [
    Tool {
        name: "herma_list",
        method: "list",
        title: "List checkpoints",
        description: "Lists the saved states (checkpoints) of the project, newest first. Number 1 is the newest.",
        reads_only: true,
        changes_files: false,
        properties: || {
            json!({
                "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "How many; 100 unless said otherwise"},
                "offset": {"type": "integer", "minimum": 0, "description": "How many newer ones to skip"},
            })
        },
        required: &[],
        sentence: |answer| {
            let count = answer["checkpoints"].as_array().map_or(0, Vec::len);
            let more = if answer["more"] == true {
                " There are more."
            } else {
                ""
            };
            format!("{count} checkpoints.{more}")
        },
    },
    Tool {
        name: "herma_diff",
        method: "diff",
        title: "Show what changed",
        description: "Shows what changed since a checkpoint, or between two, as a patch. Without arguments: since the newest checkpoint.",
        reads_only: true,
        changes_files: false,
        properties: || {
            json!({
                "from": checkpoint("The older state; the newest checkpoint unless said otherwise"),
                "to": checkpoint("The newer state; the present files unless said otherwise"),
                "paths": paths("Only these files and directories"),
                "patch": {"type": "boolean", "description": "Also the changed lines; true unless said otherwise"},
                "max_bytes": {"type": "integer", "minimum": 0, "description": "How much of the patch; 32768 unless said otherwise"},
            })
        },
        required: &[],
        sentence: |answer| {
            let patch = answer["patch"].as_str().unwrap_or_default();
            let cut = if answer["patch_truncated"] == true {
                "\n(the patch goes on)"
            } else {
                ""
            };
            format!("{} files differ.\n{patch}{cut}", answer["total"])
        },
    },
    Tool {
        name: "herma_plan_restore",
        method: "plan_restore",
        title: "Preview going back",
        description: "Says what herma_restore would do with the same arguments, and does nothing.",
        reads_only: true,
        changes_files: false,
        properties: restoring,
        required: &["checkpoint"],
        sentence: |answer| {
            let count = |name: &str| answer[name].as_array().map_or(0, Vec::len);
            let changes = count("actions") + count("changes");
            format!(
                "{changes} changes, {} files kept. Nothing was changed.",
                count("kept")
            )
        },
    },
    Tool {
        name: "herma_restore",
        method: "restore",
        title: "Go back to a checkpoint",
        description: "Puts files back as they were at a checkpoint. What agents did since is taken back, what a person edited is kept unless `all` is true. The present state is saved first; herma_undo takes this back.",
        reads_only: false,
        changes_files: true,
        properties: restoring,
        required: &["checkpoint"],
        sentence: moved,
    },
    Tool {
        name: "herma_undo",
        method: "undo",
        title: "Undo",
        description: "Takes back the given steps; without any, the latest changes since the last checkpoint, or the last restore. The present state is saved first.",
        reads_only: false,
        changes_files: true,
        properties: || {
            json!({
                "steps": {"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 1, "description": "Numbers of steps"},
                "dry_run": {"type": "boolean", "description": "Only say what would be done"},
            })
        },
        required: &[],
        sentence: moved,
    },
    Tool {
        name: "herma_save",
        method: "save",
        title: "Save a checkpoint",
        description: "Saves the project as a checkpoint, to which herma_restore can go back. If nothing changed since the newest one, that one is named.",
        reads_only: false,
        changes_files: false,
        properties: || {
            json!({
                "reason": {"type": "string", "description": "Why, in a few words"},
                "name": {"type": "string", "description": "A name for it; named checkpoints are never cleaned up"},
            })
        },
        required: &[],
        sentence: |answer| {
            let id = answer["checkpoint"]["id"].as_str().unwrap_or_default();
            let id = id.get(..8).unwrap_or_default();
            if answer["is_new"] == true {
                format!("Saved checkpoint {id}: {} files.", answer["files"])
            } else {
                format!("Nothing changed since checkpoint {id}.")
            }
        },
    },
];

fn checkpoint(description: &str) -> Value {
    json!({
        "type": ["string", "integer"],
        "description": format!("{description}. A number from herma_list, the beginning of an id, a name, or @-2"),
    })
}

fn paths(description: &str) -> Value {
    json!({"type": "array", "items": {"type": "string"}, "description": description})
}

fn restoring() -> Value {
    let mut only = paths("Only these files and directories; everything unless said otherwise");
    only["minItems"] = 1.into();
    json!({
        "checkpoint": checkpoint("The state to go back to"),
        "paths": only,
        "keep": paths("Files and directories to leave as they are"),
        "all": {"type": "boolean", "description": "Take back everything that changed since, whoever changed it"},
    })
}

/// What came of putting files back.
fn moved(answer: &Value) -> String {
    if answer["dry_run"] == true {
        return "Nothing was changed.".to_owned();
    }
    let count = |name: &str| answer[name].as_u64().unwrap_or(0);
    let kept = answer["kept"].as_array().map_or(0, Vec::len);
    format!(
        "{} files written, {} deleted, {kept} kept. herma_undo brings back the state from before.",
        count("written"),
        count("removed"),
    )
}

/// The tool of this name.
pub(super) fn find(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

/// All tools, as `tools/list` has them.
pub(super) fn all() -> Vec<Value> {
    let tools = TOOLS.iter().map(Tool::describe);
    tools.chain(std::iter::once(hook::describe())).collect()
}

impl Tool {
    fn describe(&self) -> Value {
        let mut properties = (self.properties)();
        properties["root"] = json!({
            "type": "string",
            "description": "The project's directory, as an absolute path; the one the server was started in unless said otherwise",
        });
        json!({
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": {
                "type": "object",
                "properties": properties,
                "required": self.required,
                "additionalProperties": false,
            },
            "annotations": {
                "title": self.title,
                "readOnlyHint": self.reads_only,
                "destructiveHint": self.changes_files,
                "idempotentHint": self.reads_only,
                "openWorldHint": false,
            },
        })
    }

    /// Calls it. A failure is a result, too: the agent is to read it.
    pub(super) fn call(&self, session: &mut Session, mut arguments: Map<String, Value>) -> Value {
        if self.method == "diff" {
            arguments.entry("patch").or_insert(true.into());
            arguments.entry("max_bytes").or_insert(32_768.into());
        }
        match session.ask(self.method, &arguments) {
            Ok(answer) => {
                let sentence = (self.sentence)(&answer);
                let mut text = vec![block(&sentence)];
                let mut rest = answer.clone();
                // It is in the text above, where it can be read.
                if let Some(fields) = rest.as_object_mut() {
                    fields.remove("patch");
                }
                text.push(block(&rest.to_string()));
                json!({"content": text, "structuredContent": answer, "isError": false})
            }
            Err(error) => {
                let mut text = error.message;
                let body = error.data.as_ref().map(|data| &data["error"]);
                let state = body.and_then(|body| body["state"].as_str());
                let hints = body.and_then(|body| body["hints"].as_array());
                let hints = hints.into_iter().flatten().filter_map(Value::as_str);
                for more in state.into_iter().chain(hints) {
                    text.push('\n');
                    text.push_str(more);
                }
                json!({"content": [block(&text)], "isError": true})
            }
        }
    }
}

/// A piece of text.
pub(super) fn block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tools_that_change_files_are_called_destructive() {
        for tool in all() {
            let name = tool["name"].as_str().unwrap();
            let hints = &tool["annotations"];
            let changes = matches!(name, "herma_restore" | "herma_undo");
            assert_eq!(hints["destructiveHint"], changes, "{name}");
            let reads = matches!(name, "herma_list" | "herma_diff" | "herma_plan_restore");
            assert_eq!(hints["readOnlyHint"], reads, "{name}");
            assert_eq!(tool["inputSchema"]["type"], "object", "{name}");
        }
    }
}
