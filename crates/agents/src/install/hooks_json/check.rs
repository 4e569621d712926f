//! Checking a file before an edit, and the edit before it is written.

use serde_json::Value as Data;

use super::{HooksJson, Shape, is_key, shape};
use crate::install::command::HookCommand;
use crate::install::error::InstallError;
use crate::install::json::{Document, Item};

impl HooksJson {
    /// Reads a text and checks that what we need of it has the shape it must have.
    pub(super) fn read(&self, text: String) -> Result<Document, InstallError> {
        let document = Document::read(text, self.dialect)?;
        let root = &document.root;
        let members = root.members().ok_or_else(|| shape("the file is no object"))?;
        refuse_duplicates(members, &["hooks", "version"])?;
        let Some(hooks) = root.get("hooks") else { return Ok(document) };
        let events = hooks.members().ok_or_else(|| shape("`hooks` is no object"))?;
        let names: Vec<&str> = self.events().collect();
        refuse_duplicates(events, &names)?;
        for event in events {
            let name = event.key.as_deref().unwrap_or_default();
            if event.node.elements().is_none() && names.contains(&name) {
                return Err(shape(&format!("`hooks.{name}` is no array")));
            }
        }
        Ok(document)
    }

    /// The same as before besides ours, and ours exactly as wanted.
    pub(super) fn verify(
        &self,
        old: &Document,
        new: &Document,
        command: Option<&HookCommand>,
    ) -> Result<(), InstallError> {
        let wanted = command.map_or(0, |_| self.events().count());
        let ours = self.ours(&new.root);
        let right = ours.len() == wanted
            && ours.iter().all(|one| Some(&one.found.command) == command)
            && self.without_ours(&old.data) == self.without_ours(&new.data);
        if right { Ok(()) } else { Err(InstallError::Unsure) }
    }

    /// What a file says besides ours. Lists that hold nothing say nothing.
    fn without_ours(&self, data: &Data) -> Data {
        let mut data = data.clone();
        let Some(root) = data.as_object_mut() else { return data };
        if let Some(Data::Object(hooks)) = root.get_mut("hooks") {
            for list in hooks.values_mut().filter_map(Data::as_array_mut) {
                list.retain_mut(|entry| !self.strip(entry));
            }
            hooks.retain(|_, list| list.as_array().is_none_or(|list| !list.is_empty()));
        }
        root.retain(|key, value| {
            let is_empty = value.as_object().is_some_and(serde_json::Map::is_empty);
            let is_version = self.version.is_some() && key == "version";
            !(is_version || key == "hooks" && is_empty)
        });
        data
    }

    /// Takes ours out of an entry; tells whether nothing else is left of it.
    fn strip(&self, entry: &mut Data) -> bool {
        let is_ours = |handler: &Data| {
            let line = handler.get("command").or_else(|| handler.get("bash"));
            let line = line.and_then(Data::as_str);
            let is_inert = self.keeps_positions && line == Some(":");
            is_inert || line.is_some_and(|line| HookCommand::recognise(line, self.agent).is_some())
        };
        match entry.get_mut("hooks").and_then(Data::as_array_mut) {
            Some(handlers) if self.shape == Shape::Groups => {
                let had_some = !handlers.is_empty();
                handlers.retain(|handler| !is_ours(handler));
                handlers.is_empty() && (had_some || self.keeps_positions)
            }
            _ => self.shape != Shape::Groups && is_ours(entry),
        }
    }
}

fn refuse_duplicates(members: &[Item], keys: &[&str]) -> Result<(), InstallError> {
    for key in keys {
        if members.iter().filter(|item| is_key(item, key)).count() > 1 {
            return Err(shape(&format!("`{key}` is there twice")));
        }
    }
    Ok(())
}
