//! Litter: files in the store by which nothing can be read, and which may still hold what somebody saved.
//!
//! A kill between two renames leaves half a pack, a killed git its temporary files, and a repair sets aside
//! what it replaced. A usual collection lets all of this grow old first. A purge does not: it has looked that
//! everything alive can be read elsewhere, and what it removed must not be left in any file.

use std::collections::HashSet;
use std::ffi::CString;
use std::path::PathBuf;
use std::time::Duration;

use herma_fs::{Dir, FileKind, Stat};

use super::trash;
use super::trash::Trash;
use crate::ObjectId;
use crate::gc::GcError;
use crate::layout::StoreDirs;

const SECOND: i64 = 1_000_000_000;

/// Halves of packs stay for so long in a usual collection, in nanoseconds: a git, which does not know our
/// locks, puts a pack into place before its index.
const HALF_GRACE: i64 = 3600 * SECOND;

/// The same in a purge. A git needs no more than a moment between the two renames, and a rename changes the
/// time that this is counted from.
const HALF_MOMENT: i64 = SECOND * 3 / 10;

/// What a git killed long ago left unfinished, in nanoseconds.
const UNFINISHED_GRACE: i64 = 24 * 3600 * SECOND;

/// The same in a purge: a git at work that loses such a file says so and loses nothing else.
const UNFINISHED_MOMENT: i64 = 60 * SECOND;

/// What files of a pack end with.
const PACK_ENDS: [&str; 5] = ["pack", "idx", "rev", "bitmap", "mtimes"];

/// What kind of litter a file is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A pack without its index, or what belongs to a pack that is not there.
    Half,
    /// What a git began to write beside the packs.
    Unfinished,
    /// The same, for an object in a file of its own.
    UnfinishedLoose,
    /// What a repair replaced: packs, indexes and objects.
    SetAside,
}

impl Kind {
    fn is_due(self, stat: &Stat, now: i64, at_once: bool) -> bool {
        // A time in the future says that the clock was set back.
        let past = |since: i64, least: i64| !(0..least).contains(&now.saturating_sub(since));
        match (self, at_once) {
            (Self::Half, true) => past(stat.ctime.max(stat.mtime), HALF_MOMENT),
            (Self::Half, false) => now.saturating_sub(stat.mtime) > HALF_GRACE,
            (Self::Unfinished | Self::UnfinishedLoose, true) => past(stat.mtime, UNFINISHED_MOMENT),
            (Self::Unfinished, false) => now.saturating_sub(stat.mtime) > UNFINISHED_GRACE,
            (Self::SetAside, at_once) => at_once,
            (Self::UnfinishedLoose, false) => false,
        }
    }
}

/// One file of litter.
struct Found {
    name: CString,
    kind: Kind,
    stat: Stat,
}

/// A directory with litter.
struct Place {
    /// Where it is, beginning at the store's own directory.
    path: String,
    dir: Dir,
    found: Vec<Found>,
}

/// Everything there is.
pub struct Litter {
    places: Vec<Place>,
    /// Directories of the trash that are not empty.
    trashed: Vec<PathBuf>,
}

impl Litter {
    /// Looks for all of it.
    pub fn look(dirs: &StoreDirs) -> Result<Self, GcError> {
        let mut places = Vec::new();
        let objects = dirs.objects();
        for entry in objects.entries()? {
            let Ok(name) = entry.name.to_str() else { continue };
            if is_fan(name)
                && let Ok(fan) = objects.open_dir(name)
            {
                let path = format!("store/objects/{name}");
                places.extend(Place::look(fan, path, |name, _| {
                    name.starts_with("tmp_obj_").then_some(Kind::UnfinishedLoose)
                })?);
            }
        }
        if let Ok(packs) = objects.open_dir("pack") {
            places.extend(Place::look(packs, "store/objects/pack".to_owned(), in_packs)?);
        }
        let herma = dirs.herma();
        if let Some(aside) = herma.and_then(|herma| herma.dir.open_dir("set-aside").ok()) {
            let path = "store/herma/set-aside".to_owned();
            places.extend(Place::look(aside, path, |name, _| {
                holds_objects(name).then_some(Kind::SetAside)
            })?);
        }
        Ok(Self { places, trashed: trash::paths(dirs)? })
    }

    /// Is there nothing?
    pub fn is_empty(&self) -> bool {
        self.places.is_empty() && self.trashed.is_empty()
    }

    /// May a file be the only copy of something? What is in the trash has been read when it was replaced.
    pub fn may_be_needed(&self) -> bool {
        let mut found = self.places.iter().flat_map(|place| &place.found);
        found.any(|found| matches!(found.kind, Kind::Half | Kind::SetAside))
    }

    /// How long it takes until a pack without an index cannot be one that a git is just putting into place.
    pub fn moment(&self) -> Duration {
        let now = herma_fs::process::file_clock();
        let found = self.places.iter().flat_map(|place| &place.found);
        let young = found.filter(|f| f.kind == Kind::Half && !f.kind.is_due(&f.stat, now, true));
        let rest = young.map(|f| HALF_MOMENT - now.saturating_sub(f.stat.ctime.max(f.stat.mtime)));
        let longest = rest.max().map(|rest| rest.clamp(1, HALF_MOMENT));
        // Clocks of files tick slowly.
        longest.map_or(Duration::ZERO, |rest| {
            Duration::from_nanos(rest.unsigned_abs()) + Duration::from_millis(20)
        })
    }

    /// The files and directories, beginning at the store's own directory.
    pub fn paths(&self) -> Vec<PathBuf> {
        let files = self.places.iter().flat_map(|place| {
            let names = place.found.iter().map(|found| found.name.to_string_lossy());
            names.map(|name| PathBuf::from(format!("{}/{name}", place.path)))
        });
        files.chain(self.trashed.iter().cloned()).collect()
    }
}

impl Place {
    /// Looks into one directory; `None` if nothing is there.
    fn look(
        dir: Dir,
        path: String,
        kind_of: impl Fn(&str, &HashSet<&[u8]>) -> Option<Kind>,
    ) -> Result<Option<Self>, GcError> {
        let entries = dir.entries()?;
        let names: HashSet<&[u8]> = entries.iter().map(|e| e.name.to_bytes()).collect();
        let mut found = Vec::new();
        for entry in &entries {
            let kind = entry.name.to_str().ok().and_then(|n| kind_of(n, &names));
            let Some(kind) = kind else { continue };
            if let Some(stat) = dir.stat_opt(entry.name.as_c_str())?
                && stat.kind == FileKind::File
            {
                let name = entry.name.clone();
                found.push(Found { name, kind, stat });
            }
        }
        Ok((!found.is_empty()).then_some(Self { path, dir, found }))
    }
}

/// What a file beside the packs is.
fn in_packs(name: &str, names: &HashSet<&[u8]>) -> Option<Kind> {
    let lacks = |stem: &str, part: &str| !names.contains(format!("{stem}.{part}").as_bytes());
    match name.rsplit_once('.') {
        Some((stem, "pack")) => lacks(stem, "idx").then_some(Kind::Half),
        Some((stem, "idx" | "rev" | "bitmap" | "mtimes")) => {
            lacks(stem, "pack").then_some(Kind::Half)
        }
        _ => name.starts_with("tmp_").then_some(Kind::Unfinished),
    }
}

/// Can a file that was set aside hold objects? Refs and records do not.
pub fn holds_objects(name: &str) -> bool {
    let is_of_pack = |end: &str| PACK_ENDS.contains(&end);
    let last = name.rsplit('-').next().unwrap_or(name);
    name.rsplit_once('.').is_some_and(|(_, end)| is_of_pack(end))
        || ObjectId::from_hex(last.as_bytes()).is_some()
}

fn is_fan(name: &str) -> bool {
    name.len() == 2 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Takes litter away: what is old, or everything but what a git may be writing at this moment. The caller has
/// the store for itself, and all that is alive has been found elsewhere.
pub fn remove(dirs: &StoreDirs, trash: &mut Trash<'_>, at_once: bool) -> Result<(), GcError> {
    let now = herma_fs::process::file_clock();
    for place in Litter::look(dirs)?.places {
        for found in &place.found {
            if found.kind.is_due(&found.stat, now, at_once) {
                trash.put(&place.dir, &found.name, &found.name)?;
            }
        }
    }
    Ok(())
}
