//! What changed while a step was under way and is not, or not surely, its doing.
//!
//! A tool that edits files changes those that it names. An agent that tells how long a tool ran tells when it began: what
//! changed before that, while somebody was asked for permission, a person did. A file's change time says when it was; of one that
//! is gone, the time of its directory does, if nothing changed there since. A file that became exactly what a tool said it would
//! write is surely its doing, whoever was at work beside it.

use herma_diff::{Became, Replacement, StoreSide, became, compare};
use herma_records::step::Step;
use herma_store::{ObjectId, RelPath};

use crate::engine::operation::Operation;
use crate::error::Result;

/// What an agent says of the end of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallEnd {
    /// The tool has run.
    Ran(Ran),
    /// It certainly changed nothing: it was over, as far as files go, when it began. Nobody looks; what others changed meanwhile is
    /// found by the next one who does, and is not the call's.
    OnlyRead,
    /// It never ran, as others than the agent's hooks say.
    Refused,
    /// It goes on in the background: what it does from here on is not told from what others do.
    GoesOn,
}

/// What is known of the work of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    /// It ran from this time on, by the clock of file times, in nanoseconds since 1970. It may have begun later.
    pub since: Option<i64>,
    /// Did it fail, as far as the agent says?
    pub failed: bool,
    /// Was it a check, and did it pass, as whoever ran it says? Then the state is marked, if it is the same as before.
    pub passed: bool,
    /// What it says it wrote into files, in its order.
    pub wrote: Vec<(RelPath, Replacement)>,
}

/// Paths of more bytes than this are not noted one by one.
const MAX_NOTED_BYTES: usize = 64 << 10;

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
            let path = change.path.as_bytes();
            let is_since = since.map_or(Some(true), |since| root.has_changed_since(path, since));
            if is_since == Some(false) || !step.may_have_changed(&change.path) {
                step.not_its.push(change.path);
                continue;
            }
            let own = ran.wrote.iter().filter(|(path, _)| *path == change.path);
            match became(&side, &change, own.map(|(_, replacement)| replacement))? {
                Became::Nothing if ran.failed => {
                    step.not_its.push(change.path);
                    continue;
                }
                Became::Exactly if !ran.failed => step.surely.push(change.path),
                Became::Perhaps if is_since.is_some() && !ran.failed => {}
                _ => step.unclear.push(change.path),
            }
            is_idle = false;
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
