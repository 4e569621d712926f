//! Where files are by now that were somewhere else after a run.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};

use herma_diff::renames::detect;
use herma_diff::{Change, DiffError, RenameOptions, compare};
use herma_store::RelPath;

use super::overlay::{CurrentSide, Overlay};
use super::view::Reader;

/// The moves from a state to the result so far. They are looked for when the first file is missing:
/// most undos miss none.
pub(crate) struct Moves<'s, 'a> {
    base: &'s Reader<'a>,
    overlay: &'s Overlay<'a>,
    found: OnceCell<HashMap<RelPath, RelPath>>,
}

impl<'s, 'a> Moves<'s, 'a> {
    pub(crate) fn new(base: &'s Reader<'a>, overlay: &'s Overlay<'a>) -> Self {
        Self { base, overlay, found: OnceCell::new() }
    }

    /// Where the file is that was at `path`.
    pub(crate) fn of(&self, path: &RelPath) -> Result<Option<RelPath>, DiffError> {
        if let Some(found) = self.found.get() {
            return Ok(found.get(path).cloned());
        }
        let found = self.find()?;
        Ok(self.found.get_or_init(|| found).get(path).cloned())
    }

    fn find(&self) -> Result<HashMap<RelPath, RelPath>, DiffError> {
        let (base, present) = (&self.base.view, &self.overlay.present.view);
        let changes =
            compare(Some((base.side, base.tree)), Some((present.side, present.tree)), &[])?;
        let mut changes: BTreeMap<RelPath, Change> =
            changes.into_iter().map(|change| (change.path.clone(), change)).collect();
        for (path, entry) in &self.overlay.files {
            let old = self.base.file(path)?.map(|entry| entry.state);
            let new = entry.as_ref().map(|entry| entry.state);
            if old == new {
                changes.remove(path);
            } else {
                let change = Change { path: path.clone(), old, new, from: None };
                changes.insert(path.clone(), change);
            }
        }
        let current = CurrentSide { present: present.side, files: &self.overlay.files };
        let is_said =
            |c: &Change| base.left_out(&c.path).is_none() && present.left_out(&c.path).is_none();
        let changes = changes.into_values().filter(is_said).collect();
        let detected = detect(changes, base.side, &current, &RenameOptions::default())?;
        let moved = detected.changes.into_iter().filter_map(|change| {
            let from = change.from?;
            Some((from.path, change.path))
        });
        Ok(moved.collect())
    }
}
