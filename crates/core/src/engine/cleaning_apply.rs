//! Applying a plan: project by project, under the project's lock, looking at everything once more.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::time::Duration;

use herma_fs::Dir;

use super::Engine;
use super::cleaning::Cleaned;
use super::facts::identity_of;
use super::facts::project_facts;
use super::facts::write_identity;
use super::history_cuts::cut;
use super::interrupted::own_state;
use super::open::OpenStore;
use super::purge_refs::lock_project;
use crate::collect::into_error;
use crate::collect::mark::Walk;
use crate::error::Error;
use crate::history::History;
use crate::id::ObjectId;
use crate::id::ProjectId;
use crate::retention::CheckpointFacts;
use crate::retention::Dropped;
use crate::retention::Note;
use crate::retention::Plan;
use crate::retention::Presence;
use crate::retention::ProjectFacts;
use crate::retention::Rule;
use crate::steps::Step;
use crate::steps::log;
use crate::steps::log::StepLog;
use crate::steps::marks;
use crate::store::objects::ObjectError;
use crate::store::roll;

/// How long an unattended cleaning waits for a project that is being saved.
const UNATTENDED_WAIT: Duration = Duration::from_secs(2);

impl Engine {
    /// Applies a plan. What cannot be done is noted, and the rest goes on.
    pub(super) fn apply(
        &self,
        store: &OpenStore,
        plan: &Plan,
        attended: bool,
        cleaned: &mut Cleaned,
    ) {
        let mut by_project: BTreeMap<ProjectId, Vec<Dropped>> = BTreeMap::new();
        for dropped in &plan.drops {
            by_project
                .entry(dropped.project.clone())
                .or_default()
                .push(dropped.clone());
        }
        // A deleted project may have lost its last checkpoint before.
        for forgotten in &plan.forgotten {
            by_project.entry(forgotten.id.clone()).or_default();
        }
        for (project, drops) in by_project {
            match self.apply_to(store, &project, &drops, attended) {
                Ok((dropped, is_left)) => {
                    cleaned.dropped.extend(dropped);
                    if !is_left {
                        cleaned.forgotten.push(project);
                    }
                }
                Err(e) => cleaned
                    .errors
                    .push(format!("project {project}: {}", in_words(&e))),
            }
        }
    }

    /// Drops checkpoints of one project; says which, and whether the project still has any.
    fn apply_to(
        &self,
        store: &OpenStore,
        project: &ProjectId,
        drops: &[Dropped],
        attended: bool,
    ) -> Result<(Vec<Dropped>, bool), Error> {
        let wait = if attended {
            self.options.settings.lock_wait
        } else {
            UNATTENDED_WAIT
        };
        let _lock = lock_project(&store.dirs, project, wait)?;
        // Time has passed since the plan was made: somebody may have pinned one, or mounted a volume.
        let now = project_facts(store, project.clone())?;
        let is_still = |dropped: &&Dropped| {
            let found = now
                .checkpoints
                .iter()
                .find(|c| c.sequence == dropped.sequence);
            let found = found.filter(|c| c.id == dropped.id);
            let is_newest = now.last_resort().any(|c| c.id == dropped.id);
            let may = match dropped.rule {
                Rule::Orphan => now.presence.is_gone(),
                _ => !is_newest,
            };
            may && found.is_some_and(|c| !(c.pinned || c.named || c.in_use))
        };
        let mut drops: Vec<Dropped> = drops.iter().filter(is_still).cloned().collect();
        if drops.iter().any(|dropped| dropped.rule != Rule::Orphan) {
            keep_a_whole_one(store, &now, &mut drops)?;
        }
        // One that never had any goes only if it was deleted: it may be about to get its first.
        let is_empty = now.checkpoints.is_empty();
        let is_left = drops.len() < now.checkpoints.len() || (is_empty && !now.presence.is_gone());
        if !drops.is_empty() {
            let history = History::load(&store.dirs, &store.objects, project)?;
            let sequences = drops.iter().map(|dropped| dropped.sequence).collect();
            cut(store, project, &history, &sequences)?;
        }
        if !is_left {
            forget(store, project)?;
        }
        Ok((drops, is_left))
    }
}

/// If nothing that would be left can be restored, keeps the newest checkpoint that can. It takes reading
/// files, so it is done only when one or two would be left.
fn keep_a_whole_one(
    store: &OpenStore,
    project: &ProjectFacts,
    drops: &mut Vec<Dropped>,
) -> Result<(), Error> {
    let goes = |c: &&CheckpointFacts| drops.iter().any(|dropped| dropped.id == c.id);
    let (going, staying): (Vec<_>, Vec<_>) = project.checkpoints.iter().partition(goes);
    if going.is_empty() || staying.len() > 2 {
        return Ok(());
    }
    for checkpoint in staying.iter().rev() {
        if is_whole(store, checkpoint.id)? {
            return Ok(());
        }
    }
    for checkpoint in going.iter().rev() {
        if is_whole(store, checkpoint.id)? {
            drops.retain(|dropped| dropped.id != checkpoint.id);
            return Ok(());
        }
    }
    Ok(())
}

/// Can every object of a checkpoint be read?
fn is_whole(store: &OpenStore, id: ObjectId) -> Result<bool, Error> {
    let go_on = |_| true;
    let mut walk = Walk::new(&store.objects, BTreeSet::new(), &go_on);
    walk.checkpoint(id).map_err(into_error)?;
    if !walk.unreadable().is_empty() {
        return Ok(false);
    }
    for wanted in walk.order() {
        match store.objects.is_whole(&wanted.id) {
            Ok(()) => {}
            Err(ObjectError::Fs(e)) => return Err(e.into()),
            Err(_) => return Ok(false),
        }
    }
    Ok(true)
}

/// Notes since when a project is missing; one that is back is not.
pub(super) fn note_missing(
    store: &OpenStore,
    project: &ProjectFacts,
    now: f64,
) -> Result<(), Error> {
    let since = project.missing_since.filter(|since| *since <= now);
    let wanted = match project.presence {
        Presence::Gone | Presence::GoneWithParents => Some(since.unwrap_or(now)),
        Presence::Live => None,
        // Whatever was known of it may still be right.
        Presence::OutOfReach(_) | Presence::Unknown => return Ok(()),
    };
    if wanted == project.missing_since {
        return Ok(());
    }
    let _lock = lock_project(&store.dirs, &project.id, UNATTENDED_WAIT)?;
    let mut identity = identity_of(store, &project.id);
    identity.set_missing_since(wanted);
    write_identity(store, &project.id, &identity)
}

/// Puts a time right that cannot be: it would keep a project from ever being cleaned up, or have it
/// cleaned up too early.
pub(super) fn put_right(store: &OpenStore, note: &Note, now: f64) -> Result<(), Error> {
    let (Note::FutureTouch { project } | Note::EarlyTouch { project, .. }) = note else {
        return Ok(());
    };
    let _lock = lock_project(&store.dirs, project, UNATTENDED_WAIT)?;
    let mut identity = identity_of(store, project);
    identity.set_last_touch(now);
    write_identity(store, project, &identity)
}

/// Forgets steps of which both checkpoints are gone. One that is under way is remembered as long as somebody
/// may still end it.
pub(super) fn forget_steps(store: &OpenStore, project: &ProjectId, now: i64) -> Result<(), Error> {
    let has_steps = |state: &Dir| state.stat_opt(log::DIR).map(|found| found.is_some());
    match own_state(store, project)? {
        Some(state) if has_steps(&state)? => {}
        _ => return Ok(()),
    }
    let _lock = lock_project(&store.dirs, project, Duration::ZERO)?;
    let Some(state) = own_state(store, project)? else {
        return Ok(());
    };
    let history = History::load(&store.dirs, &store.objects, project)?;
    let is_gone = |step: &Step| {
        let before = history.contains(&step.before.checkpoint);
        match step.end.moment() {
            Some(after) => !before && !history.contains(&after.checkpoint),
            None => !before && now > step.given_up_at(),
        }
    };
    StepLog::open(&state)?.forget(is_gone)?;
    Ok(())
}

/// An error with everything that led to it.
pub(super) fn in_words(error: &Error) -> String {
    let mut words = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        words.push_str(": ");
        words.push_str(&cause.to_string());
        source = cause.source();
    }
    words
}

/// Removes what the store knows about a project that has no checkpoint left. Its lock file stays: somebody
/// may be about to lock it.
fn forget(store: &OpenStore, project: &ProjectId) -> Result<(), Error> {
    let remove = |dir: &Dir, name: &str| match dir.remove_file(name) {
        Err(e) if !e.is_not_found() => Err(Error::from(e)),
        _ => Ok(()),
    };
    if let Ok(dir) = store.dirs.store().open_dir("projects") {
        remove(&dir, &format!("{project}.json"))?;
    }
    if let Ok(dir) = store.dirs.store().open_dir("indexes") {
        remove(&dir, project.as_str())?;
    }
    if let Ok(dir) = store
        .dirs
        .for_writing()?
        .projects
        .open_dir(project.as_str())
    {
        for name in [
            "stat-cache",
            "undo",
            "journal",
            "rewritten",
            roll::FILE,
            super::unsettled::FILE,
            marks::FILE,
        ] {
            remove(&dir, name)?;
        }
        match dir.remove_tree(log::DIR) {
            Err(e) if !e.is_not_found() => return Err(e.into()),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::EngineOptions;
    use crate::Settings;
    use crate::clock::FixedClock;
    use crate::clock::Timestamp;
    use crate::engine::CleanRequest;
    use crate::engine::NoProgress;
    use crate::engine::SaveOptions;
    use crate::retention::Limits;

    #[test]
    fn what_was_pinned_after_the_plan_was_made_stays() {
        let place = tempfile::tempdir().unwrap();
        let time = Timestamp {
            seconds: 1_700_000_000,
            nanos: 0,
            offset_minutes: 0,
        };
        let engine = Engine::new(EngineOptions {
            home: place.path().join("home"),
            user_home: None,
            clock: Arc::new(FixedClock(time)),
            settings: Settings::default(),
        });
        let root = place.path().join("work/project");
        std::fs::create_dir_all(&root).unwrap();
        let project = engine.project(&root).unwrap();
        for number in 0..4 {
            std::fs::write(root.join("a"), number.to_string()).unwrap();
            project.save(&SaveOptions::default(), &NoProgress).unwrap();
        }
        let request = CleanRequest {
            limits: Limits {
                max_snapshots: Some(1),
                ..Limits::default()
            },
            attended: true,
            clock_is_right: true,
        };
        let (_, plan) = engine.plan_cleaning(&request, &NoProgress).unwrap();
        assert_eq!(plan.drops.len(), 3);
        let pinned = project.list().unwrap().remove(2);
        project.pin(&pinned).unwrap();
        let store = engine.open_for_writing().unwrap();
        let mut cleaned = Cleaned::default();
        engine.apply(&store, &plan, true, &mut cleaned);
        assert_eq!((cleaned.dropped.len(), cleaned.errors.len()), (2, 0));
        assert!(project.list().unwrap().iter().any(|c| c.id == pinned.id));
    }
}
