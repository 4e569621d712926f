//! Small projects for tests, and what a save of them would be.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use herma_diff::DiffError;
use herma_diff::merge::Labels;
use herma_diff::testing::{Files, Memory};
use herma_fs::Dir;
use herma_store::object::{EntryMode, Kind, id_of};
use herma_store::{ObjectId, RelPath};
use herma_worktree::lists::UsualModes;
use herma_worktree::modes::Modes;
use herma_worktree::present::{ScanOptions, ScanSettings, scan};
use herma_worktree::reason::Reason;
use herma_worktree::rules::ExcludeSettings;
use herma_worktree::saved::NothingSaved;
use herma_worktree::sink::HashOnly;

use super::{Conflicts, Content, Outcome, Request, Reversed, Run, StateView, reverse, write_state};

pub(crate) fn path(path: &str) -> RelPath {
    RelPath::new(path).unwrap()
}

/// What a project directory holds. As in a real one, a directory stays when its files go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct World {
    pub(crate) files: BTreeMap<String, (EntryMode, Vec<u8>, u32)>,
    pub(crate) directories: BTreeMap<String, u32>,
    /// Files that are there and never saved.
    left_out: BTreeSet<String>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            files: BTreeMap::new(),
            directories: BTreeMap::from([(String::new(), 0o755)]),
            left_out: BTreeSet::new(),
        }
    }

    pub(crate) fn file(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        let full_mode = self.files.get(path).map_or(0o644, |file| file.2);
        let mode = if full_mode & 0o100 == 0 { EntryMode::File } else { EntryMode::Executable };
        self.put(path, mode, content.as_ref(), full_mode)
    }

    pub(crate) fn link(self, path: &str, target: &str) -> Self {
        self.put(path, EntryMode::Symlink, target.as_bytes(), 0)
    }

    pub(crate) fn nested(self, path: &str, commit: u8) -> Self {
        self.put(path, EntryMode::Nested, &[commit; 20], 0)
    }

    pub(crate) fn directory(mut self, path: &str) -> Self {
        self.make_directories(&format!("{path}/x"));
        self
    }

    pub(crate) fn left_out(mut self, path: &str) -> Self {
        self.make_directories(path);
        self.left_out.insert(path.to_owned());
        self
    }

    /// Sets the mode of a file or directory.
    pub(crate) fn mode(mut self, path: &str, mode: u32) -> Self {
        if let Some(file) = self.files.get_mut(path) {
            file.0 = if mode & 0o100 == 0 { EntryMode::File } else { EntryMode::Executable };
            file.2 = mode;
        } else {
            *self.directories.get_mut(path).unwrap() = mode;
        }
        self
    }

    /// Removes a file, or a directory with all that is in it.
    pub(crate) fn remove(mut self, path: &str) -> Self {
        let below = format!("{path}/");
        let stays = |name: &String| name != path && !name.starts_with(&below);
        self.files.retain(|name, _| stays(name));
        self.directories.retain(|name, _| stays(name));
        self
    }

    pub(crate) fn rename(mut self, from: &str, to: &str) -> Self {
        let (mode, content, full_mode) = self.files.remove(from).unwrap();
        self.put(to, mode, &content, full_mode)
    }

    /// Like a rename, of a file that making room for its new name may have removed.
    pub(crate) fn moved(self, from: &str, to: &str) -> Self {
        if self.files.contains_key(from) { self.rename(from, to) } else { self }
    }

    fn put(mut self, path: &str, mode: EntryMode, content: &[u8], full_mode: u32) -> Self {
        self.make_directories(path);
        let file = (mode, content.to_vec(), full_mode);
        self.files.insert(path.to_owned(), file);
        self
    }

    fn make_directories(&mut self, path: &str) {
        for (at, _) in path.match_indices('/') {
            self.directories.entry(path[..at].to_owned()).or_insert(0o755);
        }
    }

    /// The project after a reversal; `known` has the contents of all states.
    fn after(&self, reversed: &Reversed, known: &BTreeMap<ObjectId, Vec<u8>>) -> Self {
        let mut world = self.clone();
        for (path, outcome) in &reversed.changes {
            let name = String::from_utf8(path.as_bytes().to_vec()).unwrap();
            world.files.remove(&name);
            match outcome {
                Outcome::Gone => {
                    world.directories.remove(&name);
                }
                Outcome::Directory { full_mode } => {
                    world.directories.insert(name, *full_mode);
                }
                Outcome::File { mode, content, full_mode } => {
                    world.directories.remove(&name);
                    let content = match content {
                        Content::Stored(id) | Content::Present(id) => known[id].clone(),
                        Content::Merged(bytes) => bytes.to_vec(),
                    };
                    world.files.insert(name, (*mode, content, *full_mode));
                }
            }
        }
        world.check();
        world
    }

    /// Is it a project that can exist?
    fn check(&self) {
        let all = self.files.keys().chain(self.directories.keys());
        for name in all.chain(&self.left_out) {
            assert!(
                !(self.files.contains_key(name) && self.directories.contains_key(name)),
                "{name} is a file and a directory"
            );
            for (at, _) in name.match_indices('/') {
                assert!(self.directories.contains_key(&name[..at]), "{name} is nowhere");
            }
        }
    }

    /// The ids of a save of this project: it is made on disk and scanned.
    #[allow(clippy::disallowed_methods)]
    pub(crate) fn saved(&self) -> (ObjectId, Option<ObjectId>) {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        let set = |path: &Path, mode: u32| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        for name in self.directories.keys().skip(1) {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        for (name, (mode, content, full_mode)) in &self.files {
            let file = root.join(name);
            if *mode == EntryMode::Symlink {
                let target = std::str::from_utf8(content).unwrap();
                std::os::unix::fs::symlink(target, file).unwrap();
            } else {
                std::fs::write(&file, content).unwrap();
                set(&file, *full_mode);
            }
        }
        for name in &self.left_out {
            std::fs::write(root.join(name), "not saved").unwrap();
        }
        for (name, mode) in self.directories.iter().rev() {
            set(&root.join(name), *mode);
        }
        let exclude = self.left_out.iter().map(|name| format!("/{name}")).collect();
        let excludes = ExcludeSettings { builtin: false, exclude, ..ExcludeSettings::default() };
        let options = ScanOptions {
            root: &Dir::open(root).unwrap(),
            settings: ScanSettings {
                max_file_size: None,
                excludes: &excludes,
                threads: 1,
                quick_check_from: 200,
            },
            cache: None,
            saved: &NothingSaved,
            rehash: false,
            only_in: None,
            recent: herma_worktree::present::Recent::default(),
            held: None,
            cancelled: &|_| false,
        };
        let present = scan(options, &HashOnly).unwrap();
        (present.tree, present.modes)
    }
}

/// A world as a saved state.
pub(crate) struct State {
    side: Memory,
    tree: ObjectId,
    pub(crate) modes: Modes,
    pub(crate) left_out: BTreeMap<Vec<u8>, Reason>,
}

impl State {
    pub(crate) fn of(world: &World) -> Self {
        world.check();
        let files = world.files.iter();
        let entries = files.fold(Files::new(), |files, (name, (mode, content, _))| {
            files.entry(name, *mode, content)
        });
        let (side, tree) = Memory::of(&entries);
        let usual = UsualModes::below(world.directories[""]);
        let mut modes = Modes { usual, ..Modes::default() };
        for (name, (mode, _, full_mode)) in &world.files {
            let is_file = matches!(mode, EntryMode::File | EntryMode::Executable);
            if is_file && *full_mode != usual.file(*mode == EntryMode::Executable) {
                modes.files.insert(path(name), *full_mode);
            }
        }
        for (name, mode) in &world.directories {
            let below = format!("{name}/");
            let is_empty = !name.is_empty() && !world.files.keys().any(|f| f.starts_with(&below));
            if is_empty || *mode != usual.directory() {
                modes.directories.insert(path(name), *mode);
            }
        }
        let left_out = world.left_out.iter();
        let left_out = left_out.map(|name| (name.clone().into_bytes(), Reason::Excluded));
        Self { side, tree, modes, left_out: left_out.collect() }
    }

    /// As Hermes saved it: without modes and empty directories.
    pub(crate) fn of_hermes(world: &World) -> Self {
        let mut state = Self::of(world);
        state.modes = Modes::unknown(world.directories[""]);
        state
    }

    pub(crate) fn view(&self) -> StateView<'_> {
        StateView {
            tree: self.tree,
            modes: &self.modes,
            side: &self.side,
            left_out: &self.left_out,
        }
    }
}

pub(crate) const LABELS: Labels<'static> = Labels { ours: "now", theirs: "before" };

/// What to undo, and how.
pub(crate) struct Undo<'w> {
    pub(crate) present: &'w World,
    /// The states before and after each run, newest first.
    pub(crate) runs: Vec<(&'w World, &'w World)>,
    pub(crate) conflicts: Conflicts,
    pub(crate) scope: Vec<RelPath>,
}

impl<'w> Undo<'w> {
    pub(crate) fn of(from: &'w World, to: &'w World, present: &'w World) -> Self {
        Self::of_runs(&[(from, to)], present)
    }

    /// Runs as pairs of states, newest first.
    pub(crate) fn of_runs(runs: &[(&'w World, &'w World)], present: &'w World) -> Self {
        Self { present, runs: runs.to_vec(), conflicts: Conflicts::Leave, scope: Vec::new() }
    }

    pub(crate) fn with(mut self, conflicts: Conflicts) -> Self {
        self.conflicts = conflicts;
        self
    }

    pub(crate) fn within(mut self, scope: &[&str]) -> Self {
        self.scope = scope.iter().map(|name| path(name)).collect();
        self
    }

    /// Undoes it. The objects written must be those of a save of the result.
    pub(crate) fn run(&self) -> (World, Reversed) {
        let reversed = self.run_without_saving();
        let worlds = self.runs.iter().flat_map(|(from, to)| [*from, *to]);
        let result = result(self.present, &reversed, worlds);
        (result, reversed)
    }

    pub(crate) fn run_without_saving(&self) -> Reversed {
        let states: Vec<(State, State)> =
            self.runs.iter().map(|(from, to)| (State::of(from), State::of(to))).collect();
        let runs: Vec<Run<'_>> =
            states.iter().map(|(from, to)| Run { from: from.view(), to: to.view() }).collect();
        let present = State::of(self.present);
        reverse(&Request {
            present: present.view(),
            runs: &runs,
            scope: &self.scope,
            conflicts: self.conflicts,
            labels: LABELS,
        })
        .unwrap()
    }
}

/// The project after a reversal. The objects written for it must be those of a save of it.
pub(crate) fn result<'w>(
    present: &World,
    reversed: &Reversed,
    worlds: impl IntoIterator<Item = &'w World>,
) -> World {
    let mut known = contents(present);
    worlds.into_iter().for_each(|world| known.append(&mut contents(world)));
    let result = present.after(reversed, &known);
    let state = State::of(present);
    let add = |kind, data: &[u8]| Ok::<_, DiffError>(id_of(kind, data).unwrap());
    let written = write_state(&state.view(), reversed, &add).unwrap();
    let is_nested = |file: &(EntryMode, Vec<u8>, u32)| file.0 == EntryMode::Nested;
    if !result.files.values().any(is_nested) {
        assert_eq!(written, result.saved(), "{result:?}");
    }
    result
}

fn contents(world: &World) -> BTreeMap<ObjectId, Vec<u8>> {
    let files = world.files.values();
    let item = |(mode, content, _): &(EntryMode, Vec<u8>, u32)| match mode {
        EntryMode::Nested => (ObjectId::from_slice(content).unwrap(), content.clone()),
        _ => (id_of(Kind::Blob, content).unwrap(), content.clone()),
    };
    files.map(item).collect()
}
