//! One test for each line that keeps a restore, an undo, a save or a step honest, and that every other test did without.
//!
//! `docs/data/harmful-changes.tsv` says what they guard against.

use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use herma_core::engine::{NoProgress, Progress, Stage};
use herma_core::error::ErrorKind;
use herma_core::restore::{KeptWhy, RestoreError, RestoreOptions};
use herma_core::steps::{Step, StepEnd, StepId, StepStart};
use herma_core::types::checkpoint::Facts;
use herma_core::{Call, Error, ObjectId, RelPath, SaveOptions, Settings, Undone, WhichStep};
use herma_fs::process::BootMoment;
use herma_testkit::bounded::Done;
use herma_worktree::reason::Reason;

use super::project::{TestProject, engine};
use super::steps::of_steps;

/// Leaves a restore half done: its journal says that it was on its way to the newest checkpoint.
pub fn interrupt(p: &TestProject) {
    let newest = p.find("@").id;
    interrupt_between(p, newest, newest);
}

/// Leaves a restore half done that was on its way from one checkpoint to another.
fn interrupt_between(p: &TestProject, safety: ObjectId, target: ObjectId) {
    interrupt_at(p, safety, target, 1);
}

/// The same for one that began then.
pub fn interrupt_at(p: &TestProject, safety: ObjectId, target: ObjectId, started: i64) {
    let id = p.project().id().clone();
    let own = p.store().join("herma/projects").join(id.as_str());
    let text = format!(
        r#"{{"version":1,"token":1,"safety":"{safety}","target":"{target}","paths":[],"keep":[],"started":{started},"by":"restore","undo":{{"version":1,"past":[],"future":[],"moves":0}}}}"#
    );
    std::fs::write(own.join("journal"), text).unwrap();
}

#[test]
fn steps_are_not_undone_from_a_half_done_restore() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    let step = p.step("claude", || p.write("a.txt", "two\n"));
    let plan = p.plan_undo_steps(&of_steps(&[step]));
    interrupt(&p);
    let project = p.project();
    let planned = project.plan_undo_steps(&of_steps(&[step]), &NoProgress);
    assert!(matches!(planned, Err(Error::RestoreUnfinished)), "{planned:?}");
    let taken = project.undo_as_planned(plan, &NoProgress);
    assert!(matches!(taken, Err(Error::RestoreUnfinished)), "{taken:?}");
    assert_eq!(p.read("a.txt"), "two\n");
}

#[test]
fn a_new_restore_leaves_nothing_to_redo() {
    let p = TestProject::new();
    for text in ["one\n", "two\n", "three\n"] {
        p.write("a.txt", text);
        p.save(text);
    }
    let [third, second, first] = ["@", "@-1", "@-2"].map(|spec| p.find(spec).id.to_hex());
    p.restore(&second);
    p.undo().unwrap();
    assert_eq!(p.read("a.txt"), "three\n");
    p.restore(&first);
    let refused = p.redo();
    assert!(matches!(refused, Err(Error::NothingToRedo)), "{refused:?}");
    assert_eq!(p.read("a.txt"), "one\n");
    p.undo().unwrap();
    assert_eq!(p.read("a.txt"), "three\n", "{third}");
}

#[test]
fn where_no_steps_are_known_an_undo_of_changes_goes_to_the_newest_save_and_not_past_it() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    p.save("first");
    p.write("a.txt", "three\n");
    p.save("second");
    p.write("a.txt", "four\n");
    p.undo().unwrap();
    assert_eq!(p.read("a.txt"), "three\n", "what was saved last");
}

#[test]
fn an_undo_of_a_restore_leaves_what_was_edited_since() {
    let p = TestProject::new();
    for text in ["one\n", "two\n"] {
        p.write("a.txt", text);
        p.write("b.txt", text);
        p.save(text);
    }
    p.restore("@-1");
    p.write("a.txt", "three\n");
    let undone = p.undo().unwrap();
    let Undone::Steps(_, Some(taken)) = undone else { panic!("{undone:?}") };
    let conflicts: Vec<_> = taken.plan.reversed.conflicts.iter().map(|c| &c.path).collect();
    assert_eq!(conflicts, [&RelPath::new("a.txt").unwrap()]);
    assert_eq!((p.read("a.txt"), p.read("b.txt")), ("three\n".to_owned(), "two\n".to_owned()));
}

#[test]
fn an_undo_undoes_later_work_that_led_to_where_an_earlier_undo_had_led() {
    let p = TestProject::new();
    p.write("a.txt", "A\n");
    p.save("first");
    let step = p.begin("claude", "bash");
    p.write("n.txt", "x\n");
    p.end(step);
    p.undo().unwrap();
    assert!(!p.exists("n.txt"));
    p.write("thesis.txt", "by hand\n");
    let step = p.begin("claude", "bash");
    p.remove("thesis.txt");
    p.end(step);
    p.undo().unwrap();
    assert_eq!(p.read("thesis.txt"), "by hand\n");
    assert!(!p.exists("n.txt"));
    p.redo().unwrap();
    assert!(!p.exists("thesis.txt"));
    let refused = p.redo();
    assert!(matches!(refused, Err(Error::NothingToRedo)), "{refused:?}");
    p.undo().unwrap();
    assert_eq!(p.read("thesis.txt"), "by hand\n");
    let refused = p.undo();
    assert!(matches!(refused, Err(Error::NothingToUndo)), "what is by hand stays: {refused:?}");
}

#[test]
fn an_undo_of_a_step_goes_to_the_hand_edit_and_no_further() {
    let p = TestProject::new();
    for text in ["v0\n", "v1\n", "v2\n"] {
        p.write("f.txt", text);
        p.save(text);
    }
    p.undo().unwrap();
    assert_eq!(p.read("f.txt"), "v1\n");
    p.write("f.txt", "by hand\n");
    let step = p.begin("claude", "bash");
    p.write("f.txt", "v1\n");
    p.end(step);
    p.undo().unwrap();
    assert_eq!(p.read("f.txt"), "by hand\n");
    let refused = p.undo();
    assert!(matches!(refused, Err(Error::NothingToUndo)), "{refused:?}");
}

/// What was undone is no state to go back to.
#[test]
fn an_undo_of_saved_work_goes_to_where_the_undo_before_it_led() {
    let p = TestProject::new();
    for text in ["one\n", "two\n"] {
        p.write("a.txt", text);
        p.save(text);
    }
    p.undo().unwrap();
    p.save("nothing happened");
    p.write("a.txt", "three\n");
    p.save("three");
    p.undo().unwrap();
    assert_eq!(p.read("a.txt"), "one\n");
}

/// A checkpoint that says nothing new is nothing that happened.
#[test]
fn a_save_between_two_undos_does_not_turn_the_second_into_a_redo() {
    let p = TestProject::new();
    for text in ["one\n", "two\n", "three\n"] {
        p.write("a.txt", text);
        p.save(text);
    }
    p.undo().unwrap();
    p.save("as it is");
    p.undo().unwrap();
    assert_eq!(p.read("a.txt"), "one\n");
    p.save("as it is");
    p.redo().unwrap();
    p.redo().unwrap();
    assert_eq!(p.read("a.txt"), "three\n");
}

/// The newest checkpoint of that time is gone, and what came before it is still not what happened since.
#[test]
fn an_undo_goes_on_backwards_though_the_state_it_left_was_dropped() {
    let p = TestProject::new();
    for text in ["one\n", "two\n", "three\n", "four\n"] {
        p.write("a.txt", text);
        p.save(text);
    }
    p.undo().unwrap();
    p.project().drop_checkpoint(&p.find("@")).unwrap();
    p.undo().unwrap();
    assert_eq!(p.read("a.txt"), "two\n");
}

#[test]
fn restores_are_undone_one_by_one_and_the_work_between_them_stays() {
    let p = TestProject::new();
    for text in ["one\n", "two\n"] {
        p.write("a.txt", text);
        p.save(text);
    }
    let [second, first] = ["@", "@-1"].map(|spec| p.find(spec).id.to_hex());
    p.restore(&first);
    p.write("b.txt", "by hand\n");
    p.save("by hand");
    p.restore(&second);
    assert!(!p.exists("b.txt"));
    p.undo().unwrap();
    assert_eq!((p.read("a.txt"), p.read("b.txt")), ("one\n".to_owned(), "by hand\n".to_owned()));
    p.undo().unwrap();
    assert_eq!((p.read("a.txt"), p.read("b.txt")), ("two\n".to_owned(), "by hand\n".to_owned()));
    let refused = p.undo();
    assert!(matches!(refused, Err(Error::NothingToUndo)), "{refused:?}");
    p.redo().unwrap();
    assert_eq!((p.read("a.txt"), p.read("b.txt")), ("one\n".to_owned(), "by hand\n".to_owned()));
    p.redo().unwrap();
    assert_eq!((p.read("a.txt"), p.exists("b.txt")), ("two\n".to_owned(), false));
}

#[test]
fn nothing_is_redone_over_what_changed_since_the_undo() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    p.save("first");
    p.write("a.txt", "two\n");
    p.restore("@");
    p.undo().unwrap();
    p.write("a.txt", "three\n");
    let redone = p.redo().unwrap();
    let Undone::Steps(_, Some(taken)) = redone else { panic!("{redone:?}") };
    assert_eq!(taken.plan.reversed.conflicts.len(), 1);
    assert_eq!(p.read("a.txt"), "three\n");
    p.write("a.txt", "two\n");
    p.redo().unwrap();
    assert_eq!(p.read("a.txt"), "one\n", "it can still be redone");
}

#[test]
fn several_undos_are_redone_in_the_opposite_order() {
    let p = TestProject::new();
    for text in ["one\n", "two\n", "three\n"] {
        p.write("a.txt", text);
        p.save(text);
    }
    p.undo().unwrap();
    p.undo().unwrap();
    assert_eq!(p.read("a.txt"), "one\n");
    p.redo().unwrap();
    assert_eq!(p.read("a.txt"), "two\n");
    p.redo().unwrap();
    assert_eq!(p.read("a.txt"), "three\n");
}

/// The checkpoint has a file where now a directory is ignored, in which somebody has taken the name.
#[test]
fn a_name_taken_in_an_ignored_directory_is_not_overwritten() {
    let p = TestProject::new();
    p.write("made/a.txt", "saved\n");
    p.write("made/b.txt", "saved\n");
    p.save("first");
    p.remove("made/b.txt");
    p.write("made/a.txt", "never saved\n");
    p.write(".gitignore", "made/\n");
    let plan =
        p.project().plan_restore(&p.find("@"), &RestoreOptions::default(), &NoProgress).unwrap();
    let actions: Vec<String> = plan.actions.iter().map(|a| a.path.to_string()).collect();
    assert!(!actions.contains(&"made/a.txt".to_owned()), "{actions:?}");
    assert!(actions.contains(&"made/b.txt".to_owned()), "a free name may be taken");
    let kept: Vec<_> = plan.kept.iter().map(|k| (k.path.to_string(), k.why)).collect();
    let why = KeptWhy::NotSaved(Reason::Ignored);
    assert!(kept.contains(&("made/a.txt".to_owned(), why)), "{kept:?}");
    p.restore("@");
    assert_eq!(p.read("made/a.txt"), "never saved\n");
    assert_eq!(p.read("made/b.txt"), "saved\n");
}

#[test]
fn a_file_that_no_checkpoint_holds_is_not_replaced_by_an_older_one() {
    let p = TestProject::new();
    p.write("a.txt", "saved\n");
    p.save("first");
    p.write("a.txt", "never saved\n");
    p.write(".gitignore", "a.txt\n");
    let restored = p.restore("@");
    let planned: Vec<String> = restored.plan.actions.iter().map(|a| a.path.to_string()).collect();
    assert!(!planned.contains(&"a.txt".to_owned()), "{planned:?}");
    assert_eq!(p.read("a.txt"), "never saved\n");
}

/// The older checkpoint left the file out, so it says nothing about whether it was there.
#[test]
fn a_file_that_the_checkpoint_left_out_is_not_removed() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    p.write("data.bin", "there all the time\n");
    p.write(".gitignore", "data.bin\n");
    p.save("left out");
    p.write(".gitignore", "");
    p.save("held");
    p.restore("@-1");
    assert_eq!(p.read("data.bin"), "there all the time\n");
}

#[test]
fn a_directory_with_something_that_no_checkpoint_holds_does_not_give_way_to_a_file() {
    let p = TestProject::new();
    p.write("name", "a file\n");
    p.write(".gitignore", "*.secret\n");
    p.save("first");
    p.remove("name");
    p.write("name/a.txt", "saved\n");
    p.write("name/x.secret", "never saved\n");
    let restored = p.restore("@");
    assert_eq!(p.read("name/x.secret"), "never saved\n");
    let why = KeptWhy::InTheWay(Reason::Ignored);
    assert!(restored.kept.iter().any(|kept| kept.why == why), "{restored:?}");
}

#[test]
fn a_changed_info_exclude_judges_names_anew() {
    let p = TestProject::new();
    p.git_in("", &["init", "-q"]);
    p.write("a.txt", "one\n");
    p.write("notes.txt", "mine\n");
    p.save("first");
    p.write(".git/info/exclude", "notes.txt\n");
    p.write("a.txt", "two\n");
    p.save("second");
    assert_eq!(p.left_out().get("notes.txt"), Some(&Reason::Ignored));
    p.write(".git/info/exclude", "");
    p.write("a.txt", "three\n");
    p.save("third");
    assert_eq!(p.left_out().get("notes.txt"), None, "and back");
}

#[test]
fn a_changed_hermaignore_judges_names_anew_where_it_is_and_below() {
    let p = TestProject::new();
    p.write("sub/a.txt", "one\n");
    p.write("sub/deep/notes.txt", "mine\n");
    p.write("sub/.hermaignore", "nothing\n");
    p.save("first");
    p.write("sub/.hermaignore", "notes.txt\n");
    p.save("second");
    let left = p.left_out();
    assert_eq!(left.get("sub/deep/notes.txt"), Some(&Reason::Excluded));
    p.remove("sub/.hermaignore");
    p.save("third");
    assert!(p.left_out().is_empty(), "and back");
}

#[test]
fn a_changed_size_limit_judges_files_anew() {
    let p = TestProject::new();
    p.write("large.bin", vec![b'x'; 5000]);
    p.write("a.txt", "one\n");
    p.save("first");
    let settings = |bytes| Settings { max_file_size: Some(bytes), ..Settings::default() };
    for (limit, expected) in [(1000, Some(&Reason::TooLarge)), (9000, None)] {
        let engine = engine(&p.home(), None, settings(limit));
        let project = engine.project(&p.root).unwrap();
        project.save_with(&SaveOptions::default(), &NoProgress).unwrap();
        assert_eq!(p.left_out().get("large.bin"), expected, "{limit}");
    }
}

/// What hooks tell of a call of this session.
fn call(p: &TestProject, session: &str, id: &str) -> (StepId, bool) {
    let start = StepStart {
        facts: Facts { session: Some(session.to_owned()), ..Facts::default() },
        call: Some(id.to_owned()),
        ..StepStart::default()
    };
    let call = Call::new(start, BootMoment::now());
    let begun = p.project().begin_call(call, &NoProgress).unwrap();
    (begun.step.id(), begun.repeated)
}

#[test]
fn the_same_call_id_in_two_sessions_is_two_calls() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    let (first, _) = call(&p, "s-1", "call-1");
    let (second, repeated) = call(&p, "s-2", "call-1");
    assert!(second != first && !repeated);
    assert_eq!(call(&p, "s-1", "call-1"), (first, true), "told twice");
}

#[test]
fn a_turn_that_ends_leaves_calls_of_other_sessions_open() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    let (mine, _) = call(&p, "s-1", "call-1");
    let (other, _) = call(&p, "s-2", "call-2");
    p.project().end_turn("s-1").unwrap();
    let open: Vec<StepId> = p.project().open_steps().unwrap().iter().map(Step::id).collect();
    assert_eq!(open, [other], "and {mine} is over");
    p.project().end_session("s-1").unwrap();
    p.project().begin_turn("s-1", &Facts::default(), None).unwrap();
    assert_eq!(p.project().open_steps().unwrap().len(), 1);
}

#[test]
fn the_end_of_a_turn_is_not_the_end_of_what_agents_of_the_agent_do() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    let start = StepStart {
        facts: Facts { session: Some("s-1".to_owned()), ..Facts::default() },
        sub_agent: Some("helper".to_owned()),
        ..StepStart::default()
    };
    let step = p.begin_as(start);
    p.project().end_turn("s-1").unwrap();
    assert_eq!(p.project().open_steps().unwrap().len(), 1, "step {step}");
    p.project().end_session("s-1").unwrap();
    assert!(p.project().open_steps().unwrap().is_empty());
}

#[test]
fn a_look_from_before_an_interrupted_restore_is_not_shared() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    let waiting = BootMoment::now();
    call(&p, "s-1", "call-1");
    interrupt(&p);
    p.write("a.txt", "left by the restore\n");
    let call = Call::new(StepStart::default(), waiting);
    let begun = p.project().begin_call(call, &NoProgress).unwrap();
    assert!(begun.saved.is_some_and(|saved| saved.is_new));
}

#[test]
fn a_step_whose_end_nobody_can_tell_is_not_called_unchanged() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    let (step, _) = call(&p, "s-1", "call-1");
    let which = WhichStep::Id(step);
    let ended = p.project().end_step_unknown(&which).unwrap();
    assert!(matches!(ended.step.end, StepEnd::Unknown(_)), "{ended:?}");
    assert!(ended.saved.is_none());
}

/// A killed save made the ref of its receipt, and the checkpoint never came to be: its number goes to another.
#[test]
fn a_receipt_that_a_killed_save_left_does_not_keep_its_number_from_the_next() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    p.save("first");
    let id = p.project().id().clone();
    let refs = p.store().join("refs/herma").join(id.as_str());
    let mut names: Vec<_> = std::fs::read_dir(&refs)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let extra = names.iter().find(|name| name.contains(".extra")).unwrap();
    let next = extra.replace('1', "2");
    assert_ne!(*extra, next, "{names:?}");
    std::fs::copy(refs.join(extra), refs.join(&next)).unwrap();
    p.write("a.txt", "two\n");
    p.chmod("a.txt", 0o600);
    p.save("second");
    let newest = p.find("@");
    assert!(!newest.receipt_damaged && newest.extra.is_some());
    let receipt = std::fs::read_to_string(refs.join(&next)).unwrap();
    assert_eq!(receipt.trim(), newest.extra.unwrap().to_hex());
}

/// Somebody never stops writing to a file that the restore would remove: no save holds it.
#[test]
fn a_file_that_could_not_be_saved_is_not_removed() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    let first = p.save("first").checkpoint.id.to_hex();
    let done = AtomicBool::new(false);
    let refused = std::thread::scope(|scope| {
        p.write("busy.bin", vec![0; 8 << 20]);
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let file = std::fs::File::options().write(true).open(p.path("busy.bin"));
                let written = file.and_then(|file| file.write_all_at(b"x", 0));
                // An attempt in which the writer got no turn removes it.
                let is_gone = |e: &std::io::Error| e.kind() == std::io::ErrorKind::NotFound;
                assert!(written.as_ref().err().is_none_or(is_gone), "{written:?}");
            }
        });
        let _done = Done(&done);
        // On a crowded machine the writer may get no turn during an attempt.
        (0..10).find_map(|attempt| {
            p.write("busy.bin", vec![attempt; 8 << 20]);
            let listed = p.list().len();
            match p.restore_with(&first, &RestoreOptions::default()) {
                Err(Error::Restore(RestoreError::Unsafe { paths })) => {
                    (p.list().len() == listed).then_some(paths)
                }
                Err(e) => panic!("{e}"),
                Ok(_) => None,
            }
        })
    });
    let refused = refused.expect("a file under change is noticed");
    assert_eq!(refused[0].as_bytes(), b"busy.bin");
    assert!(p.exists("busy.bin"));
}

#[test]
fn a_file_that_git_tracks_by_now_is_saved_although_it_is_ignored() {
    let p = TestProject::new();
    p.git_in("", &["init", "-q"]);
    p.write(".gitignore", "data.txt\n");
    p.write("data.txt", "mine\n");
    p.save("first");
    assert_eq!(p.left_out().get("data.txt"), Some(&Reason::Ignored));
    p.git_in("", &["add", "-f", "data.txt"]);
    p.save("second");
    assert_eq!(p.left_out().get("data.txt"), None);
}

#[test]
fn an_interrupted_restore_is_undone_first_and_can_be_redone() {
    let p = TestProject::new();
    for text in ["one\n", "two\n"] {
        p.write("a.txt", text);
        p.save(text);
    }
    interrupt_between(&p, p.find("@").id, p.find("@-1").id);
    p.write("a.txt", "one\n");
    p.undo().unwrap();
    assert_eq!(p.read("a.txt"), "two\n", "as before the restore");
    assert!(p.project().interrupted().unwrap().is_none());
    p.redo().unwrap();
    assert_eq!(p.read("a.txt"), "one\n", "what it set out to do");
}

#[test]
fn what_is_to_be_kept_is_kept() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    p.write("b.txt", "one\n");
    p.save("first");
    p.write("a.txt", "two\n");
    p.write("b.txt", "two\n");
    let options =
        RestoreOptions { keep: vec![RelPath::new("b.txt").unwrap()], ..RestoreOptions::default() };
    p.restore_with("@", &options).unwrap();
    assert_eq!((p.read("a.txt"), p.read("b.txt")), ("one\n".into(), "two\n".into()));
}

struct Cancelled;

impl Progress for Cancelled {
    fn stage(&self, _: Stage) {}

    fn files(&self, _: u64, _: Option<u64>) {}

    fn is_cancelled(&self) -> bool {
        true
    }
}

/// Wants to stop at the first or second question after everything was looked at.
struct StopsLate {
    is_saving: AtomicBool,
    questions: AtomicUsize,
    patience: usize,
}

impl Progress for StopsLate {
    fn stage(&self, stage: Stage) {
        self.is_saving.store(stage == Stage::Saving, Ordering::SeqCst);
    }

    fn files(&self, _: u64, _: Option<u64>) {}

    fn is_cancelled(&self) -> bool {
        let is_saving = self.is_saving.load(Ordering::SeqCst);
        is_saving && self.questions.fetch_add(1, Ordering::SeqCst) >= self.patience
    }
}

#[test]
fn a_save_that_is_stopped_late_makes_no_checkpoint() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    let save = |patience| {
        let (is_saving, questions) = (AtomicBool::new(false), AtomicUsize::new(0));
        let stops = StopsLate { is_saving, questions, patience };
        p.project().save_with(&SaveOptions::default(), &stops)
    };
    let count = || p.project().list_newest(9).unwrap().count;
    for patience in [0, 1] {
        let stopped = save(patience).unwrap_err();
        assert_eq!(stopped.kind(), ErrorKind::Cancelled, "{stopped}");
        assert_eq!(count(), 0, "{patience}");
    }
    save(2).unwrap();
    assert_eq!(count(), 1);
}

#[test]
fn a_call_whose_end_could_not_be_saved_is_over_all_the_same() {
    let p = TestProject::new();
    p.write("a.txt", "one\n");
    let (step, _) = call(&p, "s-1", "call-1");
    p.write("a.txt", "two\n");
    let ended = p.project().end_step(&WhichStep::Id(step), &Cancelled);
    assert!(ended.is_err(), "{ended:?}");
    assert!(p.project().open_steps().unwrap().is_empty());
}

#[test]
fn an_undo_does_not_pass_over_a_checkpoint_that_cannot_be_read() {
    let p = TestProject::new();
    for content in ["one\n", "two\n", "three\n"] {
        p.write("a", content);
        p.save(content.trim());
    }
    let pack = super::upkeep::pack_with(&p, &p.find("@-1").id.to_hex());
    std::fs::remove_file(pack).unwrap();
    let failed = p.undo().unwrap_err();
    assert_eq!(failed.kind(), ErrorKind::Damaged, "{failed}");
    assert_eq!(p.read("a"), "three\n");
    p.restore("@-2");
    assert_eq!(p.read("a"), "one\n");
}
