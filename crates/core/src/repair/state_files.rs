//! The files of a project's own state: which of them cannot be read, and taking those out of the way.
//!
//! All of them are records of what was done; none holds a file's content. Each counts as missing when it cannot
//! be read, so that no save fails for it, and is told of here: a journal that is not understood may belong to a
//! restore that was never finished.

use herma_fs::publish::{Durability, write_file};
use herma_fs::{Dir, FileKind};
use herma_records::journal::Journal;
use herma_records::order::Order;
use herma_records::purge::PurgeRecord;
use herma_records::step::{log, marks, record as step_record};
use herma_records::undo::UndoRecord;
use herma_records::{journal, order, purge as record};
use herma_store::ProjectId;
use herma_store::layout::plain_file::{read_plain, what_stands_there};
use herma_store::refs::roll;

use crate::engine::open::{OpenStore, own_state};
use crate::error::Result;
use crate::repair::lost_refs::known_ids;
use crate::repair::verify::DamagedRecord;
use crate::repair::{Repair, RepairedFile};
use crate::save::unsettled;

/// No such file is larger.
const MAX_SIZE: u64 = 256 << 20;

/// What is wrong with the content of a file.
type Problem = fn(&[u8]) -> Option<&'static str>;

/// Files that hold records, and what is wrong with one.
const RECORDS: [(&str, Problem); 5] = [
    (journal::FILE, |bytes| {
        let is_read = Journal::parse(bytes).is_some();
        (!is_read).then_some("it cannot be read; a restore may be half done")
    }),
    ("undo", |bytes| {
        let is_read = UndoRecord::parse(bytes).is_some();
        (!is_read).then_some("it cannot be read; what was restored last cannot be undone")
    }),
    (order::FILE, |bytes| {
        let is_read = Order::parse(bytes).is_some();
        (!is_read).then_some("it cannot be read; what was taken over from elsewhere counts as new")
    }),
    ("purge", |bytes| {
        let is_read = PurgeRecord::parse(bytes).is_some();
        (!is_read).then_some("it cannot be read; a purge may be half done")
    }),
    (record::REWRITTEN, |bytes| {
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let is_read = lines.count() == record::parse_rewritten(bytes).len();
        (!is_read).then_some("a line is not a pair of ids")
    }),
];

/// Files of which only the kind matters: caches, marks and locks.
const OTHERS: [&str; 6] = ["lock", "stat-cache", roll::FILE, unsettled::FILE, marks::FILE, "look"];

/// A file of a project's state that cannot be used.
struct Unusable {
    /// The directory it is in.
    dir: Dir,
    name: String,
    /// Where it is, relative to the store.
    file: String,
    what: String,
}

/// The quick look of `doctor`, and of every check of the whole store.
pub(crate) fn damaged_state(
    store: &OpenStore,
    only: Option<&ProjectId>,
) -> Result<Vec<DamagedRecord>> {
    let found = unusable(store, only)?.into_iter();
    Ok(found.map(|one| DamagedRecord { file: one.file, what: one.what }).collect())
}

fn unusable(store: &OpenStore, only: Option<&ProjectId>) -> Result<Vec<Unusable>> {
    let mut found = Vec::new();
    let Some(herma) = store.dirs.herma() else { return Ok(found) };
    for project in known_ids(store)? {
        if only.is_some_and(|only| *only != project) {
            continue;
        }
        let place = format!("herma/projects/{project}");
        match herma.projects.stat_opt(project.as_str())? {
            None => {}
            Some(stat) if stat.kind == FileKind::Directory => {
                let state = herma.projects.open_dir(project.as_str())?;
                look(store, &state, &place, &mut found)?;
            }
            Some(_) => found.push(Unusable {
                dir: herma.projects.try_clone()?,
                name: project.to_string(),
                file: place,
                what: "it is no directory".to_owned(),
            }),
        }
    }
    Ok(found)
}

fn look(store: &OpenStore, state: &Dir, place: &str, found: &mut Vec<Unusable>) -> Result<()> {
    let mut note = |dir: &Dir, below: &str, name: &str, what: String| -> Result<()> {
        found.push(Unusable {
            dir: dir.try_clone()?,
            name: name.to_owned(),
            file: format!("{place}/{below}{name}"),
            what,
        });
        Ok(())
    };
    for (name, problem) in RECORDS {
        match read_plain(state, name, name, MAX_SIZE) {
            Ok(Some(bytes)) => {
                if let Some(what) = problem(&bytes) {
                    let before = before_restore(store, name, &bytes);
                    note(state, "", name, format!("{what}{before}"))?;
                }
            }
            Ok(None) => {}
            Err(herma_store::StoreError::DamagedFile { what, .. }) => note(state, "", name, what)?,
            Err(e) => return Err(e.into()),
        }
    }
    for name in OTHERS {
        if let Some(what) = what_stands_there(state, name) {
            note(state, "", name, what)?;
        }
    }
    let steps = log::DIR.to_string_lossy();
    match state.stat_opt(log::DIR)?.map(|stat| stat.kind) {
        None => {}
        Some(FileKind::Directory) => {
            let dir = state.open_dir(log::DIR)?;
            for entry in dir.entries()? {
                let Some(number) = log::number_of(entry.name.to_bytes()) else { continue };
                let name = log::name_of(number);
                if let Some(what) = what_stands_there(&dir, &name) {
                    note(&dir, &format!("{steps}/"), &name, what)?;
                } else if !is_step(&dir, &name, number)? {
                    let what = "it is no record of a step".to_owned();
                    note(&dir, &format!("{steps}/"), &name, what)?;
                }
            }
        }
        Some(_) => note(state, "", &steps, "it is no directory".to_owned())?,
    }
    Ok(())
}

/// Where the state before a restore is whose journal cannot be read, as far as that can still be told.
fn before_restore(store: &OpenStore, file: &str, bytes: &[u8]) -> String {
    let safety = Some(bytes).filter(|_| file == journal::FILE);
    let safety = safety.and_then(Journal::safety_in);
    let safety = safety.filter(|id| store.objects.read_commit(id).is_ok());
    safety.map_or_else(String::new, |id| {
        format!(": `herma restore id:{id}` brings back the state before it")
    })
}

fn is_step(dir: &Dir, name: &str, number: i64) -> Result<bool> {
    match dir.read_opt(name, step_record::MAX_RECORD) {
        Err(e) if e.errno() == Some(herma_fs::Errno::FBIG) => Ok(false),
        // One that is gone since it was listed is none that cannot be used.
        read => Ok(read?.is_none_or(|bytes| {
            step_record::decode(&bytes).is_some_and(|step| step.handle == number)
        })),
    }
}

impl Repair<'_> {
    /// Sets files of projects' own state aside that cannot be read. What can be read of a list is written again.
    pub(super) fn repair_state(&mut self) -> Result<()> {
        // Locks come first: without them nothing else can be locked.
        let is_lock = |one: &Unusable| {
            one.name == "lock" || one.file.ends_with(&format!("projects/{}", one.name))
        };
        let found = unusable(&self.store, None)?;
        let (locks, others): (Vec<_>, Vec<_>) = found.into_iter().partition(is_lock);
        for one in locks {
            self.take(one)?;
        }
        let wait = self.engine.options.settings.lock_wait;
        for project in known_ids(&self.store)? {
            let prefix = format!("herma/projects/{project}/");
            if !others.iter().any(|one| one.file.starts_with(&prefix)) {
                continue;
            }
            let _lock = self.store.dirs.lock_project(&project, wait)?;
            // Again under the lock: they are written under it.
            for one in unusable(&self.store, Some(&project))? {
                let is_list = one.name == record::REWRITTEN;
                self.take(one)?;
                if is_list && let Some(state) = own_state(&self.store, &project)? {
                    rewrite_list(&self.store, &state, self.done.files.last())?;
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, one: Unusable) -> Result<()> {
        let Unusable { dir, name, file, what } = one;
        let label = file.trim_start_matches("herma/projects/").replace('/', "+");
        let set_aside = Some(self.set_aside.take_as(&dir, &name, &label)?);
        self.done.files.push(RepairedFile { file, what, set_aside });
        Ok(())
    }
}

fn rewrite_list(store: &OpenStore, state: &Dir, of: Option<&RepairedFile>) -> Result<()> {
    let aside = of.and_then(|of| of.set_aside.as_deref());
    let name = aside.and_then(|path| path.strip_prefix("herma/set-aside/"));
    let herma = store.dirs.for_writing()?;
    let dir = herma.dir.open_dir("set-aside")?;
    let bytes = name.and_then(|name| dir.read_opt(name, MAX_SIZE).ok().flatten());
    let pairs = record::parse_rewritten(&bytes.unwrap_or_default());
    let text = record::render_rewritten(&pairs);
    let synced = Durability::Synced;
    Ok(write_file(&herma.tmp, state, record::REWRITTEN, text.as_bytes(), synced)?)
}
