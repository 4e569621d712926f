//! What an interrupted command that moved files left to do to a conversation.

use herma_core::{Project, Spec, UndoRecord};
use herma_sessions::rewind::{Arrival, Due, Ends, Intent};
use herma_store::ObjectId;

use crate::command_error::Result;

/// What an interrupted command left to do.
pub(crate) enum Pending {
    /// Nothing.
    Nothing,
    /// Its files are on their way; the conversation was not touched yet.
    Files(Intent),
    /// Its files have arrived; this is due to the conversation.
    Due(Intent, Due),
}

/// When a command began that moved the files of a project and not its conversation yet.
pub(crate) fn unfinished(project: &Project) -> Option<i64> {
    // Who cannot look cannot say; the commands that move files do.
    let files = super::directory(project.home()).ok()??;
    let ends = Ends::look(&files, project.id().as_str()).ok()??;
    match pending(project, &ends).ok()? {
        Pending::Due(intent, due) if due.is_about_messages() => Some(intent.started),
        _ => None,
    }
}

pub(crate) fn pending(project: &Project, ends: &Ends) -> Result<Pending> {
    let Some(intent) = ends.intent()? else { return Ok(Pending::Nothing) };
    if intent.due.is_none() {
        if project.is_half_way()? {
            return Ok(Pending::Files(intent));
        }
        let record = project.undo_record()?;
        // Otherwise no file was changed, or somebody else moved them since.
        if record.moves != intent.moves.wrapping_add(1) {
            return Ok(Pending::Nothing);
        }
        let arrival = arrival(project, &record);
        return Ok(match ends.due(&intent, &arrival)? {
            Some(due) => Pending::Due(intent, due),
            None => Pending::Nothing,
        });
    }
    Ok(match intent.due.clone() {
        Some(due) => Pending::Due(intent, due),
        None => Pending::Nothing,
    })
}

/// Where the files have arrived, and what they left.
pub(crate) fn arrival(project: &Project, record: &UndoRecord) -> Arrival {
    let left = record.left.map(ObjectId::to_hex);
    let find = |id: &String| project.find(&Spec::Id(id.clone())).ok();
    let found = left.as_ref().and_then(find);
    Arrival {
        at: record.position.map(ObjectId::to_hex),
        alone: found.is_some_and(|found| record.is_current((found.tree, found.modes))),
        left,
    }
}
