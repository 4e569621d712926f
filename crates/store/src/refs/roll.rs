//! The roll: which refs a project has, written down a second time.
//!
//! Refs keep checkpoints alive, so one that was lost must not look like one that was dropped. Beside a project's
//! other state stands a list of its refs. Creating a ref adds a line once the ref is on disk; deleting one takes
//! its line out, durably, before it goes. So after any crash there are at least the refs that are on the roll,
//! and a name on it that is no ref any more was lost. The caller holds the project's lock.
//!
//! A line that was lost or damaged proves nothing, and costs nothing but that proof: the next collection writes
//! the roll anew.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use herma_fs::Dir;
use herma_fs::publish::{Durability, write_file};
use xxhash_rust::xxh3::xxh3_64;

use crate::error::StoreError;
use crate::layout::StoreDirs;
use crate::refs::name;
use crate::refs::scheme::{is_extra, mirror_ref};
use crate::{ObjectId, ProjectId};

/// Its name in a project's own directory.
pub const FILE: &str = "roll";

/// About half a million refs.
const MAX_SIZE: u64 = 64 << 20;

/// Where the refs are that a roll names. Receipts are not on it: their checkpoints tell of them.
pub const PREFIXES: [&str; 3] = ["refs/herma/", "refs/herma-names/", "refs/herma-pins/"];

/// The refs a project had when it was last looked at, and what they named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roll {
    /// The refs it lists, by name.
    pub refs: BTreeMap<String, ObjectId>,
    /// How many lines say so: a ref that was moved has several.
    lines: usize,
}

impl Roll {
    /// Reads the roll of a project; `None` if there is none that can be read.
    pub fn read(dirs: &StoreDirs, project: &ProjectId) -> Option<Self> {
        let state = dirs.herma()?.projects.open_dir(project.as_str()).ok()?;
        let bytes = state.read_opt(FILE, MAX_SIZE).ok()??;
        Some(Self::parse(&bytes, project))
    }

    /// The refs that lines of this project name. Of several lines with one name the last counts.
    pub(crate) fn parse(bytes: &[u8], project: &ProjectId) -> Self {
        let mut roll = Self::default();
        for (name, id) in bytes.split(|byte| *byte == b'\n').filter_map(parse_line) {
            if project_of(&name).as_ref() == Some(project) || name == mirror_ref(project) {
                roll.refs.insert(name, id);
                roll.lines += 1;
            }
        }
        roll
    }

    fn render(&self) -> String {
        self.refs.iter().map(|(name, id)| line(name, *id)).collect()
    }

    fn write(&self, dirs: &StoreDirs, state: &Dir) -> Result<(), StoreError> {
        let tmp = &dirs.for_writing()?.tmp;
        let text = self.render();
        Ok(write_file(tmp, state, FILE, text.as_bytes(), Durability::Synced)?)
    }

    /// The refs a project has now.
    fn present(dirs: &StoreDirs, project: &ProjectId) -> Result<Self, StoreError> {
        let mut roll = Self::default();
        for prefix in PREFIXES {
            let listing = dirs.refs().list(&format!("{prefix}{project}"))?;
            let named = listing.refs.into_iter();
            roll.refs.extend(named.filter(|(name, _)| project_of(name).is_some()));
        }
        // A name or a pin alone is what a killed dropping left over.
        let is_own = |name: &str| name.starts_with(PREFIXES[0]);
        let own = roll.refs.iter().filter(|(name, _)| is_own(name));
        let checkpoints: BTreeSet<ObjectId> = own.map(|(_, id)| *id).collect();
        roll.refs.retain(|name, id| is_own(name) || checkpoints.contains(id));
        if roll.refs.is_empty() {
            // Only Hermes has saved it.
            let mirror = mirror_ref(project);
            let named = dirs.refs().read(&mirror).ok().flatten();
            roll.refs.extend(named.map(|id| (mirror, id)));
        }
        roll.lines = roll.refs.len();
        Ok(roll)
    }
}

/// Writes the roll anew, if it does not say what there is. Whoever calls this has seen that nothing on it was lost.
pub fn renew(dirs: &StoreDirs, project: &ProjectId) -> Result<(), StoreError> {
    let Ok(state) = dirs.for_writing()?.projects.open_dir(project.as_str()) else { return Ok(()) };
    let present = Roll::present(dirs, project)?;
    match Roll::read(dirs, project) {
        Some(roll) if roll.refs == present.refs && roll.lines <= 2 * roll.refs.len() + 64 => Ok(()),
        _ => present.write(dirs, &state),
    }
}

/// Adds the checkpoints that the disk has heard of by now and that are not on the roll yet.
pub fn catch_up(dirs: &StoreDirs, project: &ProjectId) -> Result<(), StoreError> {
    let known = Roll::read(dirs, project).unwrap_or_default().refs;
    let prefix = format!("{}{project}", PREFIXES[0]);
    let found = dirs.refs().list_known(&prefix, &|name| !is_extra(name), &known)?.refs;
    let new = found.iter().filter(|(name, _)| !known.contains_key(name));
    let new: Vec<(&str, ObjectId)> = new.map(|(name, id)| (name.as_str(), *id)).collect();
    enter(dirs, &new);
    Ok(())
}

/// Adds refs that are on disk. A ref that cannot be noted is there all the same.
pub(crate) fn enter(dirs: &StoreDirs, refs: &[(&str, ObjectId)]) {
    let mut lines: BTreeMap<ProjectId, String> = BTreeMap::new();
    for (name, id) in refs {
        if let Some(project) = project_of(name) {
            lines.entry(project).or_default().push_str(&line(name, *id));
        }
    }
    for (project, text) in lines {
        // What is not noted only proves nothing.
        let _ = append(dirs, &project, &text);
    }
}

fn append(dirs: &StoreDirs, project: &ProjectId, text: &str) -> Result<(), StoreError> {
    let state = dirs.for_writing()?.projects.open_dir(project.as_str())?;
    if state.stat_opt(FILE)?.is_none() {
        // The first time, those that are there already are noted, too.
        return Roll::present(dirs, project)?.write(dirs, &state);
    }
    let mut file = state.open_append(FILE)?;
    file.write_all(text.as_bytes()).map_err(StoreError::Source)
}

/// Takes refs out that are about to be deleted.
pub fn strike<'n>(
    dirs: &StoreDirs,
    names: impl Iterator<Item = &'n str>,
) -> Result<(), StoreError> {
    let mut going: BTreeMap<ProjectId, Vec<&str>> = BTreeMap::new();
    for name in names {
        if let Some(project) = project_of(name) {
            going.entry(project).or_default().push(name);
        }
    }
    for (project, names) in going {
        let Ok(state) = dirs.for_writing()?.projects.open_dir(project.as_str()) else { continue };
        let mut roll = match Roll::read(dirs, &project) {
            Some(roll) => roll,
            // Refs that a fast save made are not on one yet: without it, what is dropped would look lost once no ref is left.
            None if state.stat_opt(FILE)?.is_none() => Roll::present(dirs, &project)?,
            None => continue,
        };
        let before = roll.refs.len();
        roll.refs.retain(|name, _| !names.contains(&name.as_str()));
        if roll.refs.len() == before {
            continue;
        }
        match roll.write(dirs, &state) {
            // Where there is no room, none at all is better than one that names what is gone.
            Err(StoreError::Fs(e)) if e.is_full() => {
                state.remove_if_there(FILE)?;
                state.sync()?;
            }
            written => written?,
        }
    }
    Ok(())
}

/// The project a ref belongs to, if its roll has it.
fn project_of(name: &str) -> Option<ProjectId> {
    let rest = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix))?;
    let (project, _) = rest.split_once('/')?;
    (!is_extra(name)).then(|| ProjectId::parse(project.as_bytes()))?
}

fn line(name: &str, id: ObjectId) -> String {
    let text = format!("{id} {name}");
    format!("{text} {:08x}\n", check(&text))
}

fn check(text: &str) -> u32 {
    xxh3_64(text.as_bytes()) as u32
}

fn parse_line(line: &[u8]) -> Option<(String, ObjectId)> {
    let line = std::str::from_utf8(line).ok()?;
    let (text, sum) = line.rsplit_once(' ')?;
    let (id, name) = text.split_once(' ')?;
    (sum == format!("{:08x}", check(text)) && name::is_valid(name.as_bytes())).then_some(())?;
    Some((name.to_owned(), ObjectId::from_hex(id.as_bytes())?))
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::testing::Fresh;

    const PROJECT: &str = "0123456789abcdef";

    fn on_roll(fresh: &Fresh) -> Vec<String> {
        let project = ProjectId::parse(PROJECT.as_bytes()).unwrap();
        let roll = Roll::read(&fresh.dirs, &project).unwrap_or_default();
        roll.refs.into_keys().collect()
    }

    #[test]
    fn the_roll_names_what_was_created_and_not_what_was_deleted() {
        let fresh = Fresh::new();
        let project = ProjectId::parse(PROJECT.as_bytes()).unwrap();
        let _lock = fresh.dirs.lock_project(&project, Duration::ZERO).unwrap();
        let names: Vec<String> = [
            "refs/herma/0123456789abcdef/00000001",
            "refs/herma/0123456789abcdef/00000002",
            "refs/herma-names/0123456789abcdef/a",
            "refs/herma-pins/0123456789abcdef/00000001",
        ]
        .map(str::to_owned)
        .into();
        let refs = fresh.dirs.refs();
        for name in &names {
            refs.create(&[(name, ObjectId::EMPTY_TREE)]).unwrap();
        }
        let receipt = format!("{}.extra", names[0]);
        refs.create(&[(&receipt, ObjectId::EMPTY_TREE)]).unwrap();
        assert_eq!(on_roll(&fresh).len(), 4);
        refs.delete(&names[3], ObjectId::EMPTY_TREE).unwrap();
        refs.delete_all(&[(names[0].clone(), ObjectId::EMPTY_TREE)]).unwrap();
        assert_eq!(on_roll(&fresh), [names[2].clone(), names[1].clone()]);
    }

    #[test]
    fn a_roll_is_written_anew_once_most_of_its_lines_say_nothing_new() {
        let fresh = Fresh::new();
        let project = ProjectId::parse(PROJECT.as_bytes()).unwrap();
        let _lock = fresh.dirs.lock_project(&project, Duration::ZERO).unwrap();
        let name = format!("refs/herma/{PROJECT}/00000001");
        fresh.dirs.refs().create(&[(&name, ObjectId::EMPTY_TREE)]).unwrap();
        let lines = || Roll::read(&fresh.dirs, &project).unwrap().lines;
        for (more, expected) in [(65, 66), (1, 1)] {
            for _ in 0..more {
                enter(&fresh.dirs, &[(&name, ObjectId::EMPTY_TREE)]);
            }
            renew(&fresh.dirs, &project).unwrap();
            assert_eq!(lines(), expected);
        }
    }

    #[test]
    fn a_roll_that_cannot_be_written_is_left_as_it_is_unless_the_disk_is_full() {
        let fresh = Fresh::new();
        let project = ProjectId::parse(PROJECT.as_bytes()).unwrap();
        let _lock = fresh.dirs.lock_project(&project, Duration::ZERO).unwrap();
        let names = [1, 2].map(|n| format!("refs/herma/{PROJECT}/{n:08}"));
        for name in &names {
            fresh.dirs.refs().create(&[(name, ObjectId::EMPTY_TREE)]).unwrap();
        }
        std::fs::remove_dir_all(fresh.store().join("herma/tmp")).unwrap();
        strike(&fresh.dirs, [names[0].as_str()].into_iter()).unwrap_err();
        assert_eq!(on_roll(&fresh), names);
    }

    #[test]
    fn a_line_with_a_wrong_byte_says_nothing_and_the_others_do() {
        let project = ProjectId::parse(PROJECT.as_bytes()).unwrap();
        let names = [1, 2].map(|n| format!("refs/herma/{PROJECT}/{n:08}"));
        let text: String = names.iter().map(|name| line(name, ObjectId::EMPTY_TREE)).collect();
        for at in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1;
            let roll = Roll::parse(&bytes, &project);
            for (name, id) in &roll.refs {
                assert!(names.contains(name) && *id == ObjectId::EMPTY_TREE, "{at}");
            }
            // The byte between two lines may cost both.
            assert!(!roll.refs.is_empty() || at == text.len() / 2 - 1, "{at}");
        }
    }
}
