//! The door: all that can be done with a project, and five verbs with defaults for whoever only wants these.
//!
//! Every verb has a full form that takes options and progress: [`Project::save_with`], [`Project::restore_with`],
//! [`Project::undo_with`], [`Project::redo_with`]. Checkpoints made here are those of the command line.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use herma_core::{EngineOptions, Project};
//!
//! let (home, work) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! let notes = work.path().join("notes.txt");
//! std::fs::write(&notes, "mine")?;
//!
//! let project = Project::open_with(work.path(), EngineOptions::at(home.path()))?;
//! let before = project.save("before")?;
//! std::fs::write(&notes, "an agent's")?;
//!
//! project.restore(&before.checkpoint)?;
//! assert_eq!(std::fs::read(&notes)?, b"mine");
//! project.undo()?;
//! assert_eq!(std::fs::read(&notes)?, b"an agent's");
//! project.redo()?;
//! assert_eq!(std::fs::read(&notes)?, b"mine");
//! assert_eq!(project.timeline()?.last().map(|oldest| oldest.id), Some(before.checkpoint.id));
//! # Ok(())
//! # }
//! ```

use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bstr::BString;
use herma_fs::process::BootMoment;
use herma_records::checkpoint::RestoreOptions;
use herma_records::checkpoint::address::Spec;
use herma_records::checkpoint::receipt::read_receipt;
use herma_records::checkpoint::{Checkpoint, DamagedCheckpoint, Facts, Listed};
use herma_records::clock::{Clock, Timestamp};
use herma_records::step::marks::Turn;
use herma_records::step::{Step, StepKind, StepStart};
use herma_records::undo::UndoRecord;
use herma_store::id::{ObjectId, ProjectId};
use herma_store::path::RelPath;
use herma_worktree::receipt::Receipt;
use herma_worktree::rules::{Rule, Rules};
use herma_worktree::scan::judge::Judge;

use crate::blame::Blame;
use crate::can_undo::{self, CanUndo, Command};
use crate::copies::promote;
use crate::copies::{OpenCopy, OpenedCopy, Promote, PromotePlan, Promoted};
use crate::engine::operation::Operation;
use crate::engine::{Engine, EngineOptions, KnownProject, NoProgress, Progress, Project};
use crate::error::{Error, Result};
use crate::past::UnreadPast;
use crate::past::find::{FoundPaths, NamesAsked};
use crate::past::grep::{self, FoundContent, FoundPrompt, LinesAsked};
use crate::past::look::{PastEntry, Whereabouts};
use crate::projects::adopt::Adopted;
use crate::purge;
use crate::purge::{PurgePlan, PurgeRequest, Purged};
use crate::restore::Plan;
use crate::restore::interrupted::Interrupted;
use crate::restore::run::Restored;
use crate::rows::{RowChanges, Rows};
use crate::save::{SaveOptions, Saved};
use crate::steps::calls::{BegunCall, Call};
use crate::steps::choose::session_meant;
use crate::steps::list::ListedStep;
use crate::steps::recording::{BegunStep, EndedStep, Whose};
use crate::steps::{CallEnd, Ran, StepChoice};
use crate::timeline::compare::{Comparison, State};
use crate::timeline::contents::NamedEntry;
use crate::timeline::file_history::FileHistory;
use crate::timeline::labels;
use crate::timeline::session_changes::SessionChanges;
use crate::types::asked::WhichStep;
use crate::types::settings::Settings;
use crate::undo::Undone;
use crate::undo::last::{NextMove, UndoLast};
use crate::undo::notice::Notice;
use crate::undo::plan::{StepsUndone, UndoPlan, UndoSteps};
use crate::undo::preview::Preview;

impl EngineOptions {
    /// The defaults with Herma's home at `home`: the system's clock, default settings. `config.yaml` is not read, and no
    /// directory counts as the user's own, which is never a project.
    pub fn at(home: impl Into<PathBuf>) -> Self {
        let clock = Arc::new(SystemClock);
        Self { home: home.into(), user_home: None, clock, settings: Settings::default() }
    }

    /// The defaults of whoever runs the program: Herma's home is `$HERMES_HOME`, or else `~/.hermes`, and `$HOME` is never a
    /// project.
    pub fn of_user() -> Result<Self> {
        let set =
            |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let user_home = set("HOME");
        let in_home = || user_home.as_ref().map(|home| home.join(".hermes"));
        let home = set("HERMES_HOME").or_else(in_home).ok_or(Error::NoHome)?;
        Ok(Self { user_home, ..Self::at(home) })
    }
}

impl Project {
    /// The project `path` belongs to, with [`EngineOptions::of_user`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, EngineOptions::of_user()?)
    }

    /// The project `path` belongs to.
    pub fn open_with(path: impl AsRef<Path>, options: EngineOptions) -> Result<Self> {
        let engine = Engine::new(options);
        let root = engine.find_root(path.as_ref())?;
        engine.project(&root)
    }

    /// Saves the project as a checkpoint, unless the newest one has the same state.
    pub fn save(&self, reason: impl Into<BString>) -> Result<Saved> {
        let options = SaveOptions { reason: reason.into(), ..SaveOptions::default() };
        self.save_with(&options, &NoProgress)
    }

    /// Brings a checkpoint's state back, after saving the current one.
    pub fn restore(&self, target: &Checkpoint) -> Result<Restored> {
        self.restore_with(target, &RestoreOptions::default(), &NoProgress)
    }

    /// Undoes what was newest and is not undone: the last prompt with all it changed, say, but nothing edited by hand.
    pub fn undo(&self) -> Result<Undone> {
        self.undo_with(&NoProgress, false)
    }

    /// Repeats what was undone.
    pub fn redo(&self) -> Result<Undone> {
        self.redo_with(&NoProgress, false)
    }
}

/// # The project
impl Project {
    /// Its directory, canonical.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Its id.
    pub fn id(&self) -> &ProjectId {
        &self.id
    }

    /// Herma's home, where its checkpoints are.
    pub fn home(&self) -> &Path {
        &self.engine.options.home
    }

    /// The path of a file inside this project, taken literally: nothing is resolved but the directory
    /// the project is in.
    pub fn rel_path(&self, argument: &Path) -> Result<RelPath> {
        rel_path(&self.root, argument)
    }
}

/// # Saving
impl Project {
    /// Saves the project, unless nothing changed since the newest checkpoint.
    pub fn save_with(&self, options: &SaveOptions, progress: &dyn Progress) -> Result<Saved> {
        if let Some(name) = &options.name {
            labels::check(name)?;
        }
        self.locked(progress)?.save_with(options)
    }

    /// Saves the project for somebody who has waited since `received`. `None` if somebody else's save shows
    /// the same state.
    pub fn save_since(
        &self,
        options: &SaveOptions,
        received: &BootMoment,
        progress: &dyn Progress,
    ) -> Result<Option<Saved>> {
        self.locked(progress)?.save_since(options, received)
    }

    /// The first rule that leaves something out of the project's root, for whoever finds nothing saved.
    pub fn first_rule(&self) -> Result<Option<Rule>> {
        let rules = Rules::new(&self.settings().excludes);
        Ok(Judge::new(self.open_root()?, &rules).first_rule())
    }

    /// Its checkpoints, the newest first.
    pub fn timeline(&self) -> Result<Vec<Checkpoint>> {
        self.if_stored(Operation::timeline)
    }

    /// The timeline as people read it: prompts, restores, saves and edits by hand, the newest first, so many at most. With
    /// `look` also what is not saved yet, if that can be told.
    pub fn rows(
        &self,
        choice: &StepChoice,
        most: usize,
        look: Option<&dyn Progress>,
    ) -> Result<Rows> {
        let operation = match self.reading(look.unwrap_or(&NoProgress)) {
            Err(Error::NoStore(_)) => return Ok(Rows::default()),
            operation => operation?,
        };
        let mut rows = operation.rows(choice, most)?;
        if let (Some(_), Some(newest)) = (look, rows.listed.checkpoints.first().cloned()) {
            let newest = State::Checkpoint(Box::new(newest));
            let found = operation.changes(&newest, &State::Present, &[], false);
            let unsaved = found.and_then(|found| RowChanges::of(&found)).ok();
            rows.unsaved = unsaved.map(|changes| changes.within(&choice.paths));
        }
        Ok(rows)
    }

    /// The state before a checkpoint: where its step began, or else the checkpoint before it. `None` for the oldest.
    pub fn before(&self, checkpoint: &Checkpoint) -> Result<Option<Checkpoint>> {
        self.if_stored(|operation| operation.before(checkpoint.number))
    }

    /// The newest checkpoints, so many at most, and what is damaged. Reads those and no others.
    pub fn list_newest(&self, most: usize) -> Result<Listed> {
        self.if_stored(|operation| operation.list_newest(most))
    }

    /// The checkpoint a person named.
    pub fn find(&self, spec: &Spec) -> Result<Checkpoint> {
        self.reading(&NoProgress)?.find(spec)
    }

    /// What a checkpoint captured and what it did not. Empty for checkpoints Hermes made.
    pub fn receipt(&self, checkpoint: &Checkpoint) -> Result<Receipt> {
        Ok(read_receipt(&self.reading(&NoProgress)?.store.objects, checkpoint)?)
    }

    /// Checkpoints of this project that cannot be read, newest first. They are missing from the list; the
    /// others keep their numbers.
    pub fn damaged(&self) -> Result<Vec<DamagedCheckpoint>> {
        self.if_stored(Operation::damaged)
    }

    /// Which ids of checkpoints became which, because something was purged from them.
    pub fn rewritten(&self) -> Result<BTreeMap<ObjectId, ObjectId>> {
        self.if_stored(|operation| operation.store.rewritten(&self.id))
    }

    /// Gives a checkpoint a name.
    pub fn name(&self, checkpoint: &Checkpoint, name: &str) -> Result<()> {
        self.locked(&NoProgress)?.name(checkpoint, name)
    }

    /// Takes a name away.
    pub fn unname(&self, name: &str) -> Result<()> {
        self.reading(&NoProgress)?;
        self.locked(&NoProgress)?.unname(name)
    }

    /// Keeps a checkpoint, whatever cleaning does.
    pub fn pin(&self, checkpoint: &Checkpoint) -> Result<()> {
        self.locked(&NoProgress)?.pin(checkpoint)
    }

    /// Lets cleaning decide about a checkpoint again.
    pub fn unpin(&self, checkpoint: &Checkpoint) -> Result<()> {
        self.locked(&NoProgress)?.unpin(checkpoint)
    }

    /// Forgets a checkpoint. No other checkpoint changes its id, its time or its place in the order.
    ///
    /// Its objects stay until collection finds that nothing needs them.
    pub fn drop_checkpoint(&self, checkpoint: &Checkpoint) -> Result<()> {
        self.writing(&NoProgress)?.store.dirs.use_reserve()?;
        self.locked(&NoProgress)?.drop_checkpoint(checkpoint)
    }

    /// Forgets a checkpoint that need not be readable.
    pub fn drop_named(&self, spec: &Spec) -> Result<()> {
        self.reading(&NoProgress)?;
        self.writing(&NoProgress)?.store.dirs.use_reserve()?;
        self.locked(&NoProgress)?.drop_named(spec)
    }
}

/// # Going back
impl Project {
    /// What restoring a checkpoint would do. Nothing is written anywhere.
    pub fn plan_restore(
        &self,
        target: &Checkpoint,
        options: &RestoreOptions,
        progress: &dyn Progress,
    ) -> Result<Plan> {
        self.reading(progress)?.plan_restore(target, options)
    }

    /// Brings a checkpoint back. The present state is saved first.
    pub fn restore_with(
        &self,
        target: &Checkpoint,
        options: &RestoreOptions,
        progress: &dyn Progress,
    ) -> Result<Restored> {
        self.locked(progress)?.restore_with(target, options)
    }

    /// A restore of this project that was interrupted, if there is one.
    pub fn interrupted(&self) -> Result<Option<Interrupted>> {
        if !self.may_have_journal()? {
            return Ok(None);
        }
        self.if_stored(Operation::interrupted)
    }

    /// What finishing an interrupted restore would do: with `all` also to what was changed since. Nothing is written anywhere.
    pub fn plan_continue(&self, all: bool, progress: &dyn Progress) -> Result<Plan> {
        self.reading(progress)?.plan_continue(all)
    }

    /// Finishes an interrupted restore. What was changed since stays as it is.
    pub fn continue_restore(&self, progress: &dyn Progress) -> Result<Restored> {
        self.locked(progress)?.continue_restore(false)
    }

    /// The same over what was changed since.
    pub fn continue_restore_over_all(&self, progress: &dyn Progress) -> Result<Restored> {
        self.locked(progress)?.continue_restore(true)
    }

    /// Undoes what was newest and is not undone, or says what that would do.
    pub fn undo_with(&self, progress: &dyn Progress, dry_run: bool) -> Result<Undone> {
        self.carry_out(self.plan_undo(&UndoLast::default(), progress)?, progress, dry_run)
    }

    /// Repeats what was undone last, or says what that would do.
    pub fn redo_with(&self, progress: &dyn Progress, dry_run: bool) -> Result<Undone> {
        self.carry_out(self.plan_redo(progress)?, progress, dry_run)
    }

    /// Does what [`Self::plan_undo`] or [`Self::plan_redo`] planned, or says what that would do.
    pub fn carry_out(
        &self,
        next: NextMove,
        progress: &dyn Progress,
        dry_run: bool,
    ) -> Result<Undone> {
        match next {
            NextMove::States(by, _) if dry_run => self.reading(progress)?.plan_move(by),
            NextMove::Again(moved) if dry_run => self.reading(progress)?.plan_again(&moved),
            NextMove::Steps(planned) if dry_run => Ok(Undone::Steps(planned, None)),
            next => self.locked(progress)?.make_next(next),
        }
    }

    /// Where undo and redo stand, for what is to go along with the files.
    pub fn undo_record(&self) -> Result<UndoRecord> {
        self.if_stored(Operation::undo_record)
    }

    /// Is a restore of this project on its way, under way now or interrupted?
    pub fn is_half_way(&self) -> Result<bool> {
        self.if_stored(Operation::is_half_way)
    }
}

/// # Undo and redo
impl Project {
    /// What an undo would undo next. It is done with [`Self::carry_out`].
    pub fn plan_undo(&self, asked: &UndoLast, progress: &dyn Progress) -> Result<NextMove> {
        self.reading(&NoProgress)?;
        self.writing(progress)?.plan_undo(asked)
    }

    /// What a redo would bring back next. It is done with [`Self::carry_out`].
    pub fn plan_redo(&self, progress: &dyn Progress) -> Result<NextMove> {
        self.reading(&NoProgress)?;
        self.writing(progress)?.plan_redo()
    }
}

/// # Undoing single steps
impl Project {
    /// Works out what undoing would do. Nothing is changed.
    pub fn plan_undo_steps(&self, asked: &UndoSteps, progress: &dyn Progress) -> Result<UndoPlan> {
        self.reading(&NoProgress)?;
        self.writing(progress)?.plan_undo_steps(asked)
    }

    /// What carrying out a plan would change. Refused for an exact restore, which is compared like two checkpoints.
    pub fn preview(&self, plan: &UndoPlan) -> Result<Preview> {
        self.reading(&NoProgress)?.preview(plan)
    }

    /// Works out what undoing does, and does it. The present is saved first.
    pub fn undo_steps(&self, asked: &UndoSteps, progress: &dyn Progress) -> Result<StepsUndone> {
        self.reading(&NoProgress)?;
        self.locked(progress)?.undo_steps(asked)
    }

    /// Carries out a plan that somebody saw. The present is saved first. Refused if files changed since it was made.
    pub fn undo_as_planned(&self, plan: UndoPlan, progress: &dyn Progress) -> Result<StepsUndone> {
        self.locked(progress)?.undo_as_planned(plan)
    }

    /// Is work of agents remembered? Without looking at the files.
    pub fn has_work(&self) -> Result<bool> {
        self.if_stored(Operation::has_work)
    }

    /// Would a checkpoint taken now bring back everything `command`, started in `directory`, can change?
    ///
    /// Nothing is run and nothing is written. The project is scanned, which is as fast as a save in which
    /// nothing changed once there is a checkpoint.
    pub fn can_undo(
        &self,
        command: &Command,
        directory: &RelPath,
        progress: &dyn Progress,
    ) -> Result<CanUndo> {
        can_undo::can_undo(self, command, directory, progress)
    }
}

/// # What agents did
impl Project {
    /// Saves the project before a tool call and notes that the call has begun.
    pub fn begin_step(
        &self,
        kind: StepKind,
        start: StepStart,
        progress: &dyn Progress,
    ) -> Result<BegunStep> {
        self.locked(progress)?.begin_step(kind, start)
    }

    /// Saves the project after a tool call, unless nothing changed, and notes that the call has ended.
    pub fn end_step(&self, which: &WhichStep, progress: &dyn Progress) -> Result<EndedStep> {
        self.locked(progress)?.end_step(which, &Ran::default())
    }

    /// Notes what an agent says of the end of a tool call, and saves the project if the tool may have changed it.
    pub fn end_call(
        &self,
        which: &WhichStep,
        end: CallEnd,
        progress: &dyn Progress,
    ) -> Result<EndedStep> {
        self.locked(progress)?.end_call(which, end)
    }

    /// Notes that a tool call has ended in a way nobody can tell: it goes on in the background, or the one
    /// who was to say it is gone. Nothing is saved.
    pub fn end_step_unknown(&self, which: &WhichStep) -> Result<EndedStep> {
        self.locked(&NoProgress)?.end_step_unknown(which)
    }

    /// Saves the project before a tool call, unless that was done for it meanwhile, and notes that the call has
    /// begun, unless that was told already.
    pub fn begin_call(&self, call: Call<'_>, progress: &dyn Progress) -> Result<BegunCall> {
        self.locked(progress)?.begin_call(call)
    }

    /// Notes that the save before a step was finished only after the step had begun.
    pub fn note_late(&self, handle: i64) -> Result<()> {
        self.locked(&NoProgress)?.amend(handle, |step| step.late = true)
    }

    /// Notes that the tool of a step that is under way edits these files, if it is one of which that is said.
    pub fn note_edits(&self, handle: i64, edits: &[RelPath]) -> Result<()> {
        self.locked(&NoProgress)?.amend(handle, |step| {
            step.start.edits.iter_mut().for_each(|known| known.extend_from_slice(edits));
        })
    }

    /// Forgets a call that somebody else tells of, too.
    pub fn forget_call(&self, handle: i64) -> Result<()> {
        self.locked(&NoProgress)?.forget_call(handle)
    }

    /// The steps that began last, the newest first, as they are on record.
    pub fn recent_steps(&self) -> Result<Vec<Step>> {
        self.if_stored(Operation::recent_steps)
    }

    /// The steps that are under way, oldest first.
    pub fn open_steps(&self) -> Result<Vec<Step>> {
        self.if_stored(Operation::open_steps)
    }

    /// Is any step of this project on record?
    pub fn has_steps(&self) -> Result<bool> {
        self.if_stored(Operation::has_steps)
    }

    /// The session somebody means by the beginning of its id, or the last one if none is named.
    pub fn session_meant(&self, named: Option<&str>) -> Result<Option<String>> {
        let meant = |operation: &Operation<'_>| session_meant(&operation.all_steps()?, named);
        Ok(self.if_stored(meant)?.or_else(|| named.map(str::to_owned)))
    }

    /// The chosen steps, newest first. A project nobody has heard of has none.
    pub fn steps(&self, choice: &StepChoice) -> Result<Vec<ListedStep>> {
        Ok(self.newest_steps(choice, usize::MAX, true)?.0)
    }

    /// The newest of the chosen steps, so many at most, newest first. Those that changed nothing are passed over unless they
    /// are wanted, and their number is told.
    pub fn newest_steps(
        &self,
        choice: &StepChoice,
        most: usize,
        with_idle: bool,
    ) -> Result<(Vec<ListedStep>, usize)> {
        self.if_stored(|operation| operation.newest_steps(choice, most, with_idle))
    }

    /// Notes that a user prompt begins a turn of a session, and that what was still open in the session is
    /// over, however it ended; but not what agents of the agent do, who may be at work in the background.
    pub fn begin_turn(&self, session: &str, facts: &Facts, prompt: Option<&str>) -> Result<Turn> {
        self.locked(&NoProgress)?.begin_turn(session, facts, prompt)
    }

    /// Notes that an agent goes on with the turn of a session by itself, and what it calls it from here on. `None` if no turn
    /// of it was noted.
    pub fn resume_turn(&self, session: &str, name: Option<&str>) -> Result<Option<Turn>> {
        self.locked(&NoProgress)?.resume_turn(session, name)
    }

    /// Notes that the turn of a session is over, and with it what was still open in the session, as
    /// [`Self::begin_turn`] has it. `None` if no turn of it was noted.
    pub fn end_turn(&self, session: &str) -> Result<Option<Turn>> {
        self.locked(&NoProgress)?.end_turn(session, Whose::OfAgent)
    }

    /// Notes that a session is over, and with it everything that was still open in it.
    pub fn end_session(&self, session: &str) -> Result<Option<Turn>> {
        self.locked(&NoProgress)?.end_turn(session, Whose::All)
    }

    /// Notes that an agent of the agent has done its work, and that its calls are over. The turn goes on.
    pub fn end_sub_agent(&self, session: &str, sub_agent: &str) -> Result<()> {
        self.locked(&NoProgress)?.give_up_after_a_look(session, Whose::Of(sub_agent))
    }

    /// What a session does not know yet: which of its steps were undone or brought back since it was told, as last saved.
    /// `None` if nothing was moved since.
    pub fn notice(&self, session: &str) -> Result<Option<Notice>> {
        self.if_stored(|operation| operation.notice(session))
    }

    /// Notes that a session was told of what [`Self::notice`] found.
    pub fn note_told(&self, session: &str, notice: &Notice) -> Result<()> {
        self.locked(&NoProgress)?.note_told(session, notice.moves)
    }

    /// The turn that was noted last, of whatever session.
    pub fn last_turn(&self) -> Result<Option<Turn>> {
        self.if_stored(Operation::last_turn)
    }

    /// The turn of a session that was noted last.
    pub fn turn(&self, session: &str) -> Result<Option<Turn>> {
        self.if_stored(|operation| operation.turn(session))
    }
}

/// # What changed
impl Project {
    /// The same, for somebody who waits and may stop it while the files are looked at.
    pub fn changes(
        &self,
        from: &State,
        to: &State,
        scope: &[RelPath],
        renames: bool,
        progress: &dyn Progress,
    ) -> Result<Comparison> {
        self.reading(progress)?.changes(from, to, scope, renames)
    }

    /// Compares what is at one path of a state with what is at another path of another one: two files, or two directories.
    pub fn changes_of_paths(
        &self,
        old: (&Checkpoint, &RelPath),
        new: (&Checkpoint, &RelPath),
    ) -> Result<Comparison> {
        self.reading(&NoProgress)?.changes_of_paths(old, new)
    }

    /// Compares what was before the chosen steps with what they made of it, within `scope` if that is not
    /// empty. What others did in between is not part of it.
    pub fn session_changes(
        &self,
        choice: &StepChoice,
        scope: &[RelPath],
        renames: bool,
        progress: &dyn Progress,
    ) -> Result<SessionChanges> {
        self.reading(progress)?.session_changes(choice, scope, renames)
    }

    /// What a directory holds in a checkpoint, sorted as git does; nothing if it is none there.
    pub fn entries_at(
        &self,
        checkpoint: &Checkpoint,
        directory: &RelPath,
    ) -> Result<Vec<NamedEntry>> {
        self.reading(&NoProgress)?.entries_at(checkpoint, directory)
    }

    /// Has a checkpoint something at this path?
    pub fn has(&self, checkpoint: &Checkpoint, path: &RelPath) -> Result<bool> {
        self.reading(&NoProgress)?.has(checkpoint, path)
    }

    /// The newest checkpoint that has something at this path.
    pub fn newest_with(&self, path: &RelPath) -> Result<Option<Checkpoint>> {
        self.if_stored(|operation| operation.newest_with(path))
    }

    /// The first of these paths that is neither on disk nor in any checkpoint, nor was left out of one: nobody ever had it.
    pub fn first_unknown(&self, paths: &[RelPath]) -> Result<Option<RelPath>> {
        self.if_stored(|operation| operation.first_unknown(paths))
    }

    /// The versions of a file, the newest first, and who made each.
    pub fn history(&self, path: &RelPath, progress: &dyn Progress) -> Result<FileHistory> {
        self.reading(progress)?.history(path)
    }

    /// Says for each line of a file, as it is now, who put it there.
    pub fn blame(&self, path: &RelPath, progress: &dyn Progress) -> Result<Blame> {
        self.reading(progress)?.blame(path)
    }
}

/// # The past
impl Project {
    /// Files and directories of all times, by their names.
    pub fn find_names(&self, asked: &NamesAsked, progress: &dyn Progress) -> Result<FoundPaths> {
        match self.reading(progress) {
            Err(Error::NoStore(_)) => Ok(FoundPaths::default()),
            operation => operation?.find_names(asked),
        }
    }

    /// Looks for lines in everything that was saved, each distinct content once, and tells of them, those that were there last first,
    /// until `tell` breaks off. Returns what could not be read.
    pub fn grep(
        &self,
        asked: &LinesAsked,
        progress: &dyn Progress,
        tell: &mut dyn FnMut(FoundContent) -> ControlFlow<()>,
    ) -> Result<Vec<UnreadPast>> {
        grep::grep(self, asked, progress, tell)
    }

    /// Looks for lines in what people asked and agents ran, the newest first.
    pub fn grep_prompts(&self, asked: &LinesAsked) -> Result<Vec<FoundPrompt>> {
        self.if_stored(|operation| operation.grep_prompts(asked))
    }

    /// Where and when a content with this id was.
    pub fn whereabouts(&self, content: &ObjectId, progress: &dyn Progress) -> Result<Whereabouts> {
        match self.reading(progress) {
            Err(Error::NoStore(_)) => Ok(Whereabouts::default()),
            operation => operation?.whereabouts(content),
        }
    }

    /// What is at a path of a state; for a directory, also what is in it, as git sorts it. `None` if nothing is there.
    pub fn look_at(
        &self,
        checkpoint: &Checkpoint,
        path: &RelPath,
    ) -> Result<Option<(PastEntry, Vec<PastEntry>)>> {
        self.reading(&NoProgress)?.look_at(checkpoint, path)
    }

    /// Passes a content on piece by piece, and returns its length. If that fails, what was passed on may be wrong.
    pub fn stream(
        &self,
        content: &ObjectId,
        sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<u64> {
        self.reading(&NoProgress)?.stream(content, sink)
    }
}

/// # Copies of old states
impl Project {
    /// Makes a copy of an old state: a project of its own, with that state as its first row. Nothing of this project changes.
    pub fn open_copy(&self, asked: &OpenCopy, progress: &dyn Progress) -> Result<OpenedCopy> {
        self.reading(progress)?;
        self.writing(progress)?.open_copy(asked)
    }

    /// What bringing in what was changed in a copy would do. What is there is saved in the copy; nothing of this project changes.
    pub fn plan_promote(&self, asked: &Promote, progress: &dyn Progress) -> Result<PromotePlan> {
        let ends = promote::ends(self, asked, progress)?;
        self.writing(progress)?.plan_promote(asked, ends)
    }

    /// The present beside what that plan makes of it.
    pub fn preview_promote(&self, plan: &PromotePlan) -> Result<Preview> {
        self.reading(&NoProgress)?.preview_of(&plan.seen, &plan.reversed)
    }

    /// Brings in what was changed in a copy, as one change over the present. Both are saved first.
    pub fn promote(&self, asked: &Promote, progress: &dyn Progress) -> Result<Promoted> {
        let ends = promote::ends(self, asked, progress)?;
        self.locked(progress)?.promote(asked, ends)
    }

    /// Brings this project, which is a copy, to a state of the one it was made of. What is there is saved first; files that
    /// differ are written, and get the present time.
    pub fn visit(&self, checkpoint: &Checkpoint, progress: &dyn Progress) -> Result<Restored> {
        self.locked(progress)?.visit(checkpoint)
    }
}

/// # All that was saved
impl Project {
    /// What a purge would find and do. Nothing is changed.
    pub fn plan_purge(&self, request: &PurgeRequest, progress: &dyn Progress) -> Result<PurgePlan> {
        purge::run::check(request)?;
        self.reading(progress)?.plan_purge(request)
    }

    /// Takes files out of every checkpoint of this project, and their contents out of the store.
    pub fn purge(&self, request: &PurgeRequest, progress: &dyn Progress) -> Result<Purged> {
        purge::run::check(request)?;
        purge::run::purge(self, request, progress)
    }

    /// Gone projects that may be this directory. If it is recorded which directory a project was, and that
    /// is this one, then it is that project and no other. Else those count of which most top-level names
    /// are here, unless their own directory is known to be elsewhere.
    pub fn adoptable(&self) -> Result<Vec<KnownProject>> {
        self.if_stored(Operation::adoptable)
    }

    /// Takes over the checkpoints of a project that was moved or renamed to here. They keep their ids,
    /// times and order, and come before any this directory already has.
    pub fn adopt(&self, from: &KnownProject) -> Result<Adopted> {
        self.locked(&NoProgress)?.adopt(from)
    }
}

/// The path of a file inside this project, taken literally: nothing is resolved but the directory
/// the project is in.
fn rel_path(root: &Path, argument: &Path) -> Result<RelPath> {
    let outside = || Error::PathOutside { path: argument.to_owned(), root: root.to_owned() };
    let clean = lexically_clean(argument);
    let inside = if let Ok(inside) = clean.strip_prefix(root) {
        inside.to_owned()
    } else {
        // The argument may lead to the root through a symlink; only its directories are resolved.
        let (Some(parent), Some(name)) = (clean.parent(), clean.file_name()) else {
            return Err(outside());
        };
        let resolved = herma_fs::dir::canonicalize(parent)?.join(name);
        resolved.strip_prefix(root).map_err(|_| outside())?.to_owned()
    };
    RelPath::new(inside.as_os_str().as_bytes())
        .map_err(|source| Error::BadPath { path: argument.to_owned(), source })
}

/// Removes `.` and resolves `..` by the text alone.
fn lexically_clean(path: &Path) -> std::path::PathBuf {
    use std::path::Component;
    let mut clean = std::path::PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    clean
}

/// The system's clock, in UTC.
#[derive(Clone, Copy, Debug)]
struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let now = jiff::Timestamp::now();
        let nanos = now.subsec_nanosecond().unsigned_abs();
        Timestamp { seconds: now.as_second(), nanos, offset_minutes: 0 }
    }
}
