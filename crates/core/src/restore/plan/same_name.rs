//! Names that differ here and are one name on the project's file system.
//!
//! A checkpoint may come from a file system that tells `README` from `readme`, or two ways to write `é`, while the
//! one it is brought back to does not: there the second file would silently replace the first. So before anything
//! is written, new names that could be one with another name of their directory are looked at, and if they are, the
//! restore is refused. Nearly always there are none, and this asks the file system nothing.

use herma_store::path::split;
use std::collections::{BTreeMap, BTreeSet};

use herma_fs::{Dir, Errno};
use herma_store::RelPath;
use herma_worktree::stat_cache::StatCache;
use unicode_normalization::UnicodeNormalization;

use crate::error::{Error, RestoreError, Result};
use crate::restore::Plan;

/// What is made to see which names are one, and removed at once. It has a letter with two cases and one that
/// can be written in two ways.
const PROBE: &str = ".herma-A\u{e9}.tmp";

/// Names of one directory that could be one.
struct Alike<'p> {
    directory: &'p [u8],
    /// Those that are there, as the present was seen.
    present: Vec<Vec<u8>>,
    /// Those that the plan makes.
    new: Vec<&'p [u8]>,
}

/// What a file system does not tell apart.
#[derive(Clone, Copy)]
struct Blind {
    to_case: bool,
    to_form: bool,
}

/// How two names are told apart that are both still to be made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asking {
    /// With a file that is made and removed again.
    ByTrying,
    /// Not at all: nothing may be written.
    ByLooking,
}

/// Fails if the plan would make a file or directory whose name is another one's here.
pub(crate) fn check(root: &Dir, plan: &Plan, present: &StatCache, asking: Asking) -> Result<()> {
    let made = names_made(plan);
    let mut paths = Vec::new();
    for alike in find_alike(&made, present) {
        paths.extend(collision(root, &alike, asking)?);
    }
    if paths.is_empty() {
        return Ok(());
    }
    Err(RestoreError::OneName { paths }.into())
}

/// Every name the plan makes, by the path of its directory; those of directories on the way count as well.
fn names_made(plan: &Plan) -> BTreeMap<&[u8], BTreeSet<&[u8]>> {
    let mut made: BTreeMap<&[u8], BTreeSet<&[u8]>> = BTreeMap::new();
    for action in plan.actions.iter().filter(|action| action.kind.creates()) {
        let mut path = action.path.as_bytes();
        while !path.is_empty() {
            let (directory, name) = split(path);
            // Whoever put it there went on to the root.
            if !made.entry(directory).or_default().insert(name) {
                break;
            }
            path = directory;
        }
    }
    made
}

/// The names that could be one with another of their directory.
fn find_alike<'p>(
    made: &BTreeMap<&'p [u8], BTreeSet<&'p [u8]>>,
    present: &StatCache,
) -> Vec<Alike<'p>> {
    let blind = Blind { to_case: true, to_form: true };
    let mut found = Vec::new();
    for (directory, names) in made {
        let there = names_in(present, directory);
        let mut groups: BTreeMap<Vec<u8>, Alike<'p>> = BTreeMap::new();
        for name in names.iter().filter(|name| !there.contains(**name)) {
            let group = groups.entry(blind.key(name)).or_insert_with(|| Alike {
                directory,
                present: Vec::new(),
                new: Vec::new(),
            });
            group.new.push(name);
        }
        for name in there {
            if let Some(group) = groups.get_mut(&blind.key(&name)) {
                group.present.push(name);
            }
        }
        let alike = groups.into_values();
        found.extend(alike.filter(|group| group.present.len() + group.new.len() > 1));
    }
    found
}

/// The names of a directory, as the present was seen.
fn names_in(present: &StatCache, directory: &[u8]) -> BTreeSet<Vec<u8>> {
    let dir = present.dir_at(directory);
    let entries = dir.and_then(|dir| present.entries(dir));
    let names = entries.into_iter().flatten().flatten();
    names.filter_map(|entry| Some(present.name(&entry)?.to_bytes().to_vec())).collect()
}

/// Asks the file system whether these are one; names all of them if so.
fn collision(root: &Dir, alike: &Alike<'_>, asking: Asking) -> Result<Vec<RelPath>> {
    let directory =
        RelPath::new(alike.directory).expect("what a path of the plan lies in is a path");
    let dir = nearest(root, &directory)?;
    let mut one: BTreeSet<&[u8]> = BTreeSet::new();
    for name in &alike.new {
        // Nothing of that name was listed: if there is something, it is listed under another one.
        if !alike.present.is_empty() && dir.stat_opt(*name)?.is_some() {
            one.insert(name);
            one.extend(alike.present.iter().map(Vec::as_slice));
        }
    }
    if alike.new.len() > 1 && asking == Asking::ByTrying {
        let blind = Blind::near(root, directory.clone())?;
        let mut by_key: BTreeMap<Vec<u8>, Vec<&[u8]>> = BTreeMap::new();
        for name in &alike.new {
            by_key.entry(blind.key(name)).or_default().push(name);
        }
        let same = by_key.into_values().filter(|names| names.len() > 1);
        one.extend(same.flatten());
    }
    let paths = one.into_iter().map(|name| directory.join(name));
    Ok(paths.collect())
}

/// Does a directory not let anything be made in it?
fn is_refusal(error: &Error) -> bool {
    matches!(error, Error::Fs(e) if matches!(e.errno(), Some(Errno::ACCESS | Errno::PERM)))
}

/// The directory itself, or the deepest above it that is there: new ones treat names as the one they are made in.
fn nearest(root: &Dir, directory: &RelPath) -> Result<Dir> {
    let mut path = directory.clone();
    loop {
        if path.is_root() {
            return Ok(root.try_clone()?);
        }
        match root.open_beneath(path.as_bytes()) {
            Ok(dir) => return Ok(dir),
            Err(_) => path = path.split().map_or_else(RelPath::root, |(above, _)| above),
        }
    }
}

impl Blind {
    /// In the nearest directory above that lets a file be made: one that is read-only now is opened up only when its content is
    /// written. New directories treat names as those they are made in, so they are mostly alike.
    fn near(root: &Dir, mut path: RelPath) -> Result<Self> {
        loop {
            let probed = nearest(root, &path).and_then(|dir| Self::of(&dir));
            let is_refused = probed.as_ref().is_err_and(is_refusal);
            match path.split().filter(|_| is_refused) {
                Some((above, _)) => path = above,
                None => return probed,
            }
        }
    }

    /// Makes a file, looks for it under other names, and removes it.
    fn of(dir: &Dir) -> Result<Self> {
        match dir.create_new(PROBE) {
            // One that is there was left by a restore that was killed here.
            Err(e) if !e.is_exists() => return Err(e.into()),
            _ => {}
        }
        let decomposed: String = PROBE.nfd().collect();
        let looks = [PROBE.to_lowercase(), decomposed].map(|name| dir.stat_opt(name.as_str()));
        // It must not stay in the project because one attempt failed.
        dir.remove_file(PROBE).or_else(|_| dir.remove_file(PROBE))?;
        let [other_case, other_form] = looks;
        Ok(Self { to_case: other_case?.is_some(), to_form: other_form?.is_some() })
    }

    /// What names that are one here have in common.
    fn key(self, name: &[u8]) -> Vec<u8> {
        let Ok(text) = std::str::from_utf8(name) else { return name.to_vec() };
        if name.is_ascii() {
            return if self.to_case { name.to_ascii_lowercase() } else { name.to_vec() };
        }
        let formed: String = if self.to_form { text.nfd().collect() } else { text.to_owned() };
        if self.to_case {
            // Twice, because a letter may have no lower case but be one with another's upper case.
            formed.to_uppercase().to_lowercase().into_bytes()
        } else {
            formed.into_bytes()
        }
    }
}

#[cfg(test)]
mod tests {
    use herma_worktree::present::{Recent, ScanOptions, ScanSettings, scan};
    use herma_worktree::rules::ExcludeSettings;
    use herma_worktree::saved::NothingSaved;
    use herma_worktree::sink::HashOnly;

    use super::*;

    fn key(name: &str) -> Vec<u8> {
        let blind = Blind { to_case: true, to_form: true };
        blind.key(name.as_bytes())
    }

    #[test]
    fn names_that_some_file_system_takes_for_one_are_alike() {
        assert_eq!(key("README"), key("readme"));
        assert_eq!(key("Caf\u{e9}"), key("cafe\u{301}"));
        assert_eq!(key("\u{17f}"), key("S"), "a long s");
        assert_ne!(key("cafe"), key("caf\u{e9}"));
    }

    #[test]
    fn new_names_are_held_against_each_other_and_against_those_that_are_there() {
        let place = tempfile::tempdir().unwrap();
        let root = &Dir::open(place.path()).unwrap();
        let sub = root.ensure_dir("sub", 0o755).unwrap();
        for name in ["readme", "other"] {
            sub.create_new(name).unwrap();
        }
        let excludes = &ExcludeSettings::default();
        let settings =
            ScanSettings { max_file_size: None, excludes, threads: 1, quick_check_from: 0 };
        let options = ScanOptions {
            root,
            settings,
            cache: None,
            saved: &NothingSaved,
            rehash: false,
            only_in: None,
            recent: Recent::default(),
            held: None,
            cancelled: &|_| false,
        };
        let present = scan(options, &HashOnly).unwrap();
        let names = BTreeSet::from([&b"README"[..], b"new", b"other"]);
        let found = find_alike(&BTreeMap::from([(&b"sub"[..], names)]), &present.cache);
        let found: Vec<_> =
            found.iter().map(|alike| (&alike.present[..], &alike.new[..])).collect();
        assert_eq!(found, [(&[b"readme".to_vec()][..], &[&b"README"[..]][..])]);
    }

    #[test]
    fn a_local_disk_is_not_blind_and_keeps_nothing_of_the_question() {
        let place = tempfile::tempdir().unwrap();
        let dir = Dir::open(place.path()).unwrap();
        for _ in 0..2 {
            let blind = Blind::of(&dir).unwrap();
            assert!(!blind.to_case && !blind.to_form);
            assert!(dir.entries().unwrap().is_empty());
            // As a killed restore leaves it.
            dir.create_new(PROBE).unwrap();
        }
    }
}
