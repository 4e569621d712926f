//! What changed while a step was under way and is not, or not surely, its doing.
//!
//! A tool that edits files changes those that it names. An agent that tells how long a tool ran tells when it began: what
//! changed before that, while somebody was asked for permission, a person did. A file's change time says when it was; of one that
//! is gone, the time of its directory does, if nothing changed there since. A file that became exactly what a tool said it would
//! write is surely its doing, whoever was at work beside it.

use herma_diff::{Change, Replacement, Side, StoreSide, compare, follows};
use herma_fs::Dir;
use herma_store::{ObjectId, RelPath};

use crate::engine::operation::Operation;
use crate::error::Result;
use crate::records::step::Step;

/// What an agent says of the end of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallEnd {
    /// The tool has run.
    Ran(Ran),
    /// It certainly changed nothing: it was over, as far as files go, when it began. Nobody looks; what others changed meanwhile is
    /// found by the next one who does, and is not the call's.
    OnlyRead,
    /// It goes on in the background: what it does from here on is not told from what others do.
    GoesOn,
}

/// What is known of the work of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    /// It ran from this time on, by the clock of file times, in nanoseconds since 1970. It may have begun later.
    pub since: Option<i64>,
    /// What it says it wrote into files, in its order.
    pub wrote: Vec<(RelPath, Replacement)>,
}

/// Paths of more bytes than this are not noted one by one.
const MAX_NOTED_BYTES: usize = 64 << 10;

/// Larger files are not compared with what a tool says it wrote.
const MAX_COMPARED_BYTES: u64 = 1 << 20;

/// When something changed, compared with the beginning of a tool's work.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    Before,
    Since,
    Unknown,
}

impl Operation<'_> {
    /// Notes what changed between these trees that the step did not do, or not surely. Did it do anything?
    pub(crate) fn note_share(
        &self,
        step: &mut Step,
        [before, after]: [ObjectId; 2],
        ran: &Ran,
    ) -> Result<bool> {
        // Nobody had the time to do anything by hand before the tool began.
        let began = step.started.saturating_add(1).saturating_mul(1_000_000_000);
        let since = ran.since.filter(|since| *since > began);
        if since.is_none() && step.start.edits.is_none() {
            return Ok(true);
        }
        let mut is_idle = true;
        let side = StoreSide::new(&self.store.objects);
        let root = self.open_root()?;
        for change in compare(Some((&side, before)), Some((&side, after)), &[])? {
            let when = since.map_or(When::Since, |since| changed_when(&root, &change.path, since));
            if when == When::Before || !step.may_have_changed(&change.path) {
                step.not_its.push(change.path);
                continue;
            }
            is_idle = false;
            if is_result(&side, &change, ran)? {
                step.surely.push(change.path);
            } else if when == When::Unknown {
                step.unclear.push(change.path);
            }
        }
        let noted = step.not_its.iter().chain(&step.unclear).chain(&step.surely);
        if noted.map(|path| path.as_bytes().len()).sum::<usize>() > MAX_NOTED_BYTES {
            step.not_its.clear();
            step.surely.clear();
            step.unclear = vec![RelPath::root()];
        }
        Ok(!is_idle)
    }
}

/// Did a file become exactly what the tool said it would write?
fn is_result(side: &StoreSide<'_>, change: &Change, ran: &Ran) -> Result<bool> {
    let own = ran.wrote.iter().filter(|(path, _)| *path == change.path);
    let own: Vec<&Replacement> = own.map(|(_, replacement)| replacement).collect();
    let Some(new) = change.new.filter(|_| !own.is_empty()) else { return Ok(false) };
    if change.old.is_some_and(|old| old.mode != new.mode) {
        return Ok(false);
    }
    let text = |id| side.content(&change.path, &id, MAX_COMPARED_BYTES);
    let before = change.old.map_or(Ok(Some(Vec::new())), |old| text(old.id))?;
    let both = before.zip(text(new.id)?);
    Ok(both.is_some_and(|(before, after)| follows(&before, &own, &after)))
}

/// Did what is, or was, at a path change before this time or since?
fn changed_when(root: &Dir, path: &RelPath, since: i64) -> When {
    let Some((parent, name)) = path.split() else { return When::Unknown };
    let Ok(directory) = root.open_beneath(parent.as_bytes()) else { return When::Unknown };
    match directory.stat(name) {
        Ok(stat) if stat.ctime < since => When::Before,
        Ok(_) => When::Since,
        Err(error) if error.is_not_found() => match directory.stat_self() {
            Ok(stat) if stat.ctime < since => When::Before,
            _ => When::Unknown,
        },
        Err(_) => When::Unknown,
    }
}
