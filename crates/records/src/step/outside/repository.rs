//! Where a git repository stands: `HEAD`, branches, stash and tags, read from its files and never by running git.
//!
//! Remote-tracking branches are not looked at, for what a fetch brings can be fetched again; nor is the index, which
//! `git status` writes; nor are branches that are checked out in other worktrees, where others are at work.

use std::collections::{BTreeMap, BTreeSet};

use bstr::{BString, ByteSlice};
use herma_fs::{Dir, FileKind};
use herma_store::path::{escape, join};
use herma_worktree::tracked::git_dir::{GitDir, git_dir};
use serde::{Deserialize, Serialize};

const MAX_HEAD_BYTES: u64 = 2048;
const MAX_REF_BYTES: u64 = 1024;
const MAX_PACKED_REFS_BYTES: u64 = 16 << 20;
/// So many loose refs are read of all repositories of a project together.
const MAX_LOOSE_REFS: usize = 2000;
/// So many branches are remembered by name.
const MAX_BRANCHES: usize = 400;
const MAX_REF_DEPTH: usize = 16;
const MAX_WORKTREES: usize = 64;
/// More changes than these are counted.
const NAMED: usize = 5;

const BRANCHES: &str = "refs/heads/";
const TAGS: &str = "refs/tags/";
const STASH: &str = "refs/stash";

/// How much may still be read.
pub(crate) struct Bounds {
    loose: usize,
    branches: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { loose: MAX_LOOSE_REFS, branches: MAX_BRANCHES }
    }
}

/// A repository as it was when somebody looked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Repository {
    /// The directory its `.git` is in; empty for the project's own.
    #[serde(with = "super::text")]
    above: BString,
    head: String,
    /// What each branch names; empty if there are too many.
    branches: BTreeMap<String, String>,
    /// The branches that are checked out in other worktrees.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    elsewhere: BTreeSet<String>,
    /// A sum of all branches, tags and the stash: equal if nothing is different. `None` if not all could be read.
    sums: Option<Sums>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Sums {
    branches: u64,
    tags: u64,
    stash: u64,
    /// Of the list of tables, where refs are not files.
    tables: u64,
}

impl Repository {
    /// The repository whose `.git` is in this directory of the project; `None` if there is none that can be read.
    pub(crate) fn at(root: &Dir, above: BString, bounds: &mut Bounds) -> Option<Self> {
        let place = root.open_beneath(&above).ok()?;
        let is_plain = place.stat_opt(".git").ok()??.kind == FileKind::Directory;
        // Only the project's own may be somewhere else: what is nested could name any place.
        if !is_plain && !above.is_empty() {
            return None;
        }
        let git = git_dir(&place).ok()??;
        let head = git.dir().read_opt("HEAD", MAX_HEAD_BYTES).ok()??;
        let head = String::from_utf8_lossy(head.trim_ascii()).into_owned();
        let refs = Refs::read(&git, &head, bounds);
        let sums = refs.as_ref().map(Refs::sums);
        let refs = refs.unwrap_or_default();
        let (mut branches, elsewhere) = (refs.branches, refs.elsewhere);
        if branches.len() > bounds.branches {
            branches.clear();
        }
        bounds.branches -= branches.len();
        Some(Self { above, head, branches, elsewhere, sums })
    }

    pub(crate) fn above(&self) -> &BString {
        &self.above
    }

    /// Where its `.git` is.
    pub(crate) fn path(&self) -> BString {
        join(&self.above, b".git").into()
    }

    /// What is different now, in words.
    pub(crate) fn changes(&self, now: &Self) -> Vec<String> {
        let mut words = Vec::new();
        if self.head != now.head {
            let (from, to) = (where_to(&self.head), where_to(&now.head));
            words.push(format!("HEAD moved from {from} to {to}"));
        }
        let (Some(before), Some(after)) = (self.sums, now.sums) else { return words };
        if before.branches != after.branches {
            words.extend(self.branches_changed(now));
        }
        if before.stash != after.stash {
            let what = if after.stash == 0 { "dropped" } else { "changed" };
            words.push(format!("the stash {what}"));
        }
        if before.tags != after.tags {
            words.push("tags changed".to_owned());
        }
        if before.tables != after.tables {
            words.push("branches or tags changed".to_owned());
        }
        words
    }

    fn branches_changed(&self, now: &Self) -> Vec<String> {
        let is_counted = self.elsewhere == now.elsewhere;
        if is_counted && self.branches.is_empty() != now.branches.is_empty() {
            return vec!["branches changed".to_owned()];
        }
        // A branch is not gone because somebody else works on it by now, and not new because nobody does any more.
        let is_others =
            |name: &String| self.elsewhere.contains(name) || now.elsewhere.contains(name);
        let mut words = Vec::new();
        for (name, was) in self.branches.iter().filter(|(name, _)| !is_others(name)) {
            let shown = escape(name.as_bytes());
            match now.branches.get(name) {
                None => words.push(format!("branch {shown} deleted")),
                Some(is) if is != was => {
                    let (was, is) = (short(was), short(is));
                    words.push(format!("branch {shown} moved from {was} to {is}"));
                }
                Some(_) => {}
            }
        }
        let is_new = |name: &&String| !self.branches.contains_key(*name) && !is_others(name);
        let new = now.branches.keys().filter(is_new);
        words.extend(new.map(|name| format!("branch {} created", escape(name.as_bytes()))));
        match words.len() {
            // There are too many to remember them by name.
            0 if is_counted => vec!["branches changed".to_owned()],
            0..=NAMED => words,
            many => vec![format!("{many} branches changed")],
        }
    }
}

/// Where a `HEAD` leads: a branch, or the beginning of an id.
fn where_to(head: &str) -> String {
    let name = head.strip_prefix("ref:").map(str::trim_start);
    match name {
        Some(name) => escape(name.strip_prefix(BRANCHES).unwrap_or(name).as_bytes()),
        None => short(head),
    }
}

fn short(id: &str) -> String {
    escape(id.chars().take(7).collect::<String>().as_bytes())
}

/// The refs of a repository, loose before packed.
#[derive(Default)]
struct Refs {
    branches: BTreeMap<String, String>,
    elsewhere: BTreeSet<String>,
    tags: BTreeMap<String, String>,
    stash: Option<String>,
    tables: Option<Vec<u8>>,
}

impl Refs {
    /// Reads them; `None` if there are too many, or one cannot be read.
    fn read(git: &GitDir, head: &str, bounds: &mut Bounds) -> Option<Self> {
        let shared = git.shared();
        let mut refs = Self::default();
        if let Some(packed) = shared.read_opt("packed-refs", MAX_PACKED_REFS_BYTES).ok()? {
            for line in packed.lines() {
                let text = std::str::from_utf8(line).unwrap_or_default();
                if let Some((id, name)) = text.split_once(' ') {
                    refs.note(name, id);
                }
            }
        }
        for (place, prefix) in [(&b"refs/heads"[..], BRANCHES), (b"refs/tags", TAGS)] {
            match shared.open_beneath(place) {
                Ok(dir) => refs.read_loose(&dir, prefix, 0, bounds)?,
                Err(e) if e.is_not_found() => {}
                Err(_) => return None,
            }
        }
        if let Ok(dir) = shared.open_beneath(b"refs")
            && let Some(stash) = dir.read_opt("stash", MAX_REF_BYTES).ok()?
        {
            refs.note(STASH, &String::from_utf8_lossy(stash.trim_ascii()));
        }
        if let Ok(dir) = shared.open_beneath(b"reftable") {
            refs.tables = dir.read_opt("tables.list", MAX_PACKED_REFS_BYTES).ok()?;
        }
        let own = head.strip_prefix("ref:").map(str::trim_start);
        if git.is_linked() {
            // Others work on the other branches.
            refs.branches
                .retain(|name, _| own.is_some_and(|own| own.strip_prefix(BRANCHES) == Some(name)));
            (refs.tags, refs.stash, refs.tables) = Default::default();
        } else {
            refs.elsewhere = checked_out_elsewhere(shared);
            for name in &refs.elsewhere {
                refs.branches.remove(name);
            }
        }
        Some(refs)
    }

    fn read_loose(
        &mut self,
        dir: &Dir,
        prefix: &str,
        depth: usize,
        bounds: &mut Bounds,
    ) -> Option<()> {
        for entry in dir.entries().ok()? {
            let name = std::str::from_utf8(entry.name.to_bytes()).ok()?;
            bounds.loose = bounds.loose.checked_sub(1)?;
            match entry.kind {
                FileKind::Directory if depth < MAX_REF_DEPTH => {
                    let below = dir.open_dir(name).ok()?;
                    self.read_loose(&below, &format!("{prefix}{name}/"), depth + 1, bounds)?;
                }
                FileKind::File if !name.as_bytes().ends_with(b".lock") => {
                    // One that goes while we read is one that goes.
                    if let Some(value) = dir.read_opt(name, MAX_REF_BYTES).ok()? {
                        let value = String::from_utf8_lossy(value.trim_ascii()).into_owned();
                        self.note(&format!("{prefix}{name}"), &value);
                    }
                }
                _ => {}
            }
        }
        Some(())
    }

    fn note(&mut self, name: &str, value: &str) {
        if let Some(branch) = name.strip_prefix(BRANCHES) {
            self.branches.insert(branch.to_owned(), value.to_owned());
        } else if let Some(tag) = name.strip_prefix(TAGS) {
            self.tags.insert(tag.to_owned(), value.to_owned());
        } else if name == STASH {
            self.stash = Some(value.to_owned());
        }
    }

    fn sums(&self) -> Sums {
        let of_map = |map: &BTreeMap<String, String>| {
            let pairs = map.iter().flat_map(|(name, value)| [name, "\0", value, "\0"]);
            sum(pairs.collect::<String>().as_bytes())
        };
        Sums {
            branches: of_map(&self.branches),
            tags: of_map(&self.tags),
            stash: self.stash.as_ref().map_or(0, |stash| sum(stash.as_bytes())),
            tables: self.tables.as_ref().map_or(0, |tables| sum(tables)),
        }
    }
}

/// Never 0, which stands for nothing.
fn sum(bytes: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(bytes) | 1
}

/// The branches that linked worktrees have checked out.
fn checked_out_elsewhere(shared: &Dir) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let Ok(worktrees) = shared.open_beneath(b"worktrees") else { return found };
    for entry in worktrees.entries().unwrap_or_default().into_iter().take(MAX_WORKTREES) {
        let Ok(dir) = worktrees.open_dir(&*entry.name) else { continue };
        let head = dir.read_opt("HEAD", MAX_HEAD_BYTES).ok().flatten();
        let head = head.map(|head| String::from_utf8_lossy(head.trim_ascii()).into_owned());
        let branch = head.as_deref().and_then(|head| head.strip_prefix("ref:"));
        let branch = branch.and_then(|name| name.trim_start().strip_prefix(BRANCHES));
        found.extend(branch.map(str::to_owned));
    }
    found
}
