//! Finding ours in a file.

use super::{HooksJson, Ours, Shape, is_key};
use crate::install::command::HookCommand;
use crate::install::json::Node;

impl HooksJson {
    /// Everything of ours, in the order of the file.
    pub(super) fn ours(&self, root: &Node) -> Vec<Ours> {
        let mut ours = Vec::new();
        let members = root.members().unwrap_or_default();
        let hooks = members.iter().position(|item| is_key(item, "hooks"));
        let Some(at_hooks) = hooks else { return ours };
        for (at_event, event) in members[at_hooks].node.items().iter().enumerate() {
            let name = event.key.clone().unwrap_or_default();
            let elements = event.node.elements().unwrap_or_default();
            for (place, element) in elements.iter().enumerate() {
                let path = vec![at_hooks, at_event, place];
                let is_followed = place + 1 < elements.len();
                self.ours_in(&name, &element.node, path, is_followed, &mut ours);
            }
        }
        ours
    }

    fn ours_in(
        &self,
        event: &str,
        element: &Node,
        path: Vec<usize>,
        is_followed: bool,
        ours: &mut Vec<Ours>,
    ) {
        let line_key = if self.shape == Shape::Copilot { "bash" } else { "command" };
        let recognise =
            |node: &Node| HookCommand::recognise(node.get(line_key)?.text()?, self.agent);
        let mut add = |found, path, data, is_followed| {
            ours.push(Ours { event: event.to_owned(), found, path, data, is_followed });
        };
        if self.shape != Shape::Groups {
            if let Some(found) = recognise(element) {
                add(found, path, Some(element.data()), is_followed);
            }
            return;
        }
        let at_handlers = element.items().iter().position(|item| is_key(item, "hooks"));
        let Some(at_handlers) = at_handlers else { return };
        let handlers = element.items()[at_handlers].node.items();
        if let [only] = handlers {
            if let Some(found) = recognise(&only.node) {
                add(found, path, Some(element.data()), is_followed);
            }
            return;
        }
        for (place, handler) in handlers.iter().enumerate() {
            if let Some(found) = recognise(&handler.node) {
                let path = path.iter().copied().chain([at_handlers, place]).collect();
                add(found, path, None, place + 1 < handlers.len());
            }
        }
    }
}
