//! What a hostile review of the program found, each as a test.

use herma_core::engine::{NoProgress, Progress, Stage};
use herma_core::restore::{KeptWhy, RestoreOptions};
use herma_core::types::settings::Settings;
use herma_core::{Error, SaveOptions, Spec, State};

use super::child;
use super::project::TestProject;

/// Does something at the moment a stage begins.
pub(super) struct When<F: Fn() + Sync>(pub Stage, pub F);

impl<F: Fn() + Sync> Progress for When<F> {
    fn stage(&self, stage: Stage) {
        if stage == self.0 {
            (self.1)();
        }
    }

    fn files(&self, _done: u64, _total: Option<u64>) {}
}

/// Restores, and edits at the moment the first file is about to change.
pub(super) fn restore_while(
    p: &TestProject,
    spec: &str,
    edit: impl Fn() + Sync,
) -> Vec<(String, KeptWhy)> {
    restore_when(p, spec, Stage::Restoring, edit)
}

/// Restores, and edits at the moment a stage begins.
pub(super) fn restore_when(
    p: &TestProject,
    spec: &str,
    stage: Stage,
    edit: impl Fn() + Sync,
) -> Vec<(String, KeptWhy)> {
    let project = p.project();
    let target = project.find(&Spec::parse(spec).unwrap()).unwrap();
    let restored =
        project.restore_with(&target, &RestoreOptions::default(), &When(stage, edit)).unwrap();
    let kept = restored.kept.into_iter();
    kept.map(|kept| (kept.path.to_string(), kept.why)).collect()
}

/// Writes as many bytes as are there, and puts the time of the file back.
fn rewrite_with_old_time(p: &TestProject, path: &str, content: &str) {
    use std::io::Write;
    let mut file = std::fs::OpenOptions::new().write(true).open(p.path(path)).unwrap();
    let time = file.metadata().unwrap().modified().unwrap();
    file.write_all(content.as_bytes()).unwrap();
    file.set_modified(time).unwrap();
}

#[test]
pub(super) fn an_edit_whose_time_was_put_back_survives_a_restore() {
    let p = TestProject::new();
    p.write("changed", "1111\n");
    p.save("first");
    p.write("changed", "2222\n");
    p.write("new", "aaaa\n");
    p.save("second");
    let kept = restore_while(&p, "@-1", || {
        rewrite_with_old_time(&p, "changed", "EDIT\n");
        rewrite_with_old_time(&p, "new", "EDIT\n");
    });
    let why = KeptWhy::ChangedMeanwhile;
    assert_eq!(kept, [("changed".to_owned(), why), ("new".to_owned(), why)]);
    assert_eq!((p.read("changed"), p.read("new")), ("EDIT\n".into(), "EDIT\n".into()));
}

#[test]
pub(super) fn a_mode_set_while_a_restore_runs_survives_it() {
    let p = TestProject::new();
    p.write("a", "1\n");
    p.save("first");
    p.write("a", "2\n");
    p.save("second");
    let kept = restore_while(&p, "@-1", || p.chmod("a", 0o751));
    assert_eq!(kept, [("a".to_owned(), KeptWhy::ChangedMeanwhile)]);
    assert_eq!((p.read("a").as_str(), p.mode("a")), ("2\n", 0o751));
}

#[test]
fn two_names_of_one_file_are_both_brought_back() {
    let p = TestProject::new();
    p.write("a", "old\n");
    p.write("b", "old\n");
    p.save("first");
    p.write("a", "new\n");
    p.remove("b");
    std::fs::hard_link(p.path("a"), p.path("b")).unwrap();
    let restored = p.restore("@");
    assert!(restored.kept.is_empty(), "{:?}", restored.kept);
    assert_eq!((p.read("a"), p.read("b")), ("old\n".into(), "old\n".into()));
}

/// Flips a bit in the middle of every pack.
fn damage_packs(p: &TestProject) {
    for entry in std::fs::read_dir(p.store().join("objects/pack")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "pack") {
            let mut bytes = std::fs::read(&path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 64;
            std::fs::remove_file(&path).unwrap();
            std::fs::write(&path, bytes).unwrap();
        }
    }
}

#[test]
fn a_save_that_reads_everything_does_not_rely_on_damaged_objects() {
    let p = TestProject::new();
    let numbers: Vec<String> = (0..3000).map(|n| (n * 7919 % 10007).to_string()).collect();
    let content = numbers.join(
        "
",
    );
    p.write("a", &content);
    p.save("first");
    damage_packs(&p);
    p.write("b", "new\n");
    let options = SaveOptions { reason: "second".into(), rehash: true, ..SaveOptions::default() };
    let saved = p.project().save_with(&options, &NoProgress).unwrap();
    assert!(saved.is_new);
    p.remove("a");
    p.restore(&format!("id:{}", saved.checkpoint.id));
    assert_eq!(p.read("a"), content);
}

#[test]
fn a_rehash_stores_again_what_is_damaged_though_nothing_changed() {
    let p = TestProject::new();
    let numbers: Vec<String> = (0..3000).map(|n| (n * 7919 % 10007).to_string()).collect();
    let content = numbers.join("\n");
    p.write("a", &content);
    p.save("first");
    damage_packs(&p);
    let options = SaveOptions { rehash: true, ..SaveOptions::default() };
    let saved = p.project().save_with(&options, &NoProgress).unwrap();
    assert!(!saved.is_new);
    assert_eq!(saved.lost.files, 1);
    let again = p.project().save_with(&options, &NoProgress).unwrap();
    assert_eq!(again.lost.files, 0);
    // What is left out is none of the state, and a list of it that is new is no damage.
    std::fs::File::create(p.path("large")).unwrap().set_len(1 << 40).unwrap();
    let plain = p.save("plain");
    assert!(!plain.is_new && plain.notes.is_empty(), "{:?}", plain.notes);
    p.remove("a");
    p.restore(&format!("id:{}", saved.checkpoint.id));
    assert_eq!(p.read("a"), content);
}

#[test]
fn a_file_too_large_to_be_read_at_once_is_saved_without_a_warning() {
    let p = TestProject::with(Settings { max_file_size: None, ..Settings::default() });
    p.write("a", "1\n");
    p.save("first");
    let file = std::fs::File::create(p.path("zero")).unwrap();
    file.set_len((64 << 20) + 1).unwrap();
    let saved = p.save("second");
    assert!(saved.is_new && saved.notes.is_empty(), "{:?}", saved.notes);
    let changes = saved.checkpoint.changes.unwrap();
    assert_eq!((changes.files, changes.lines_known), (1, false));
}

#[test]
fn a_checkpoint_that_cannot_be_read_can_be_dropped() {
    let p = TestProject::new();
    p.write("a", "1\n");
    p.save("first");
    for entry in std::fs::read_dir(p.store().join("objects/pack")).unwrap() {
        std::fs::remove_file(entry.unwrap().path()).unwrap();
    }
    p.write("b", "2\n");
    let second = p.save("second");
    assert_eq!(p.list().len(), 1, "the readable one");
    p.project().drop_named(&Spec::Back(1)).unwrap();
    p.remove("a");
    p.restore(&format!("id:{}", second.checkpoint.id));
    assert_eq!(p.read("a"), "1\n", "a save never relies on a store that lost its objects");
    p.fsck_but_dangling();
}

#[test]
fn what_an_interrupted_restore_needs_cannot_be_dropped() {
    let p = TestProject::new();
    p.write("a", "1\n");
    let first = p.save("first").checkpoint;
    p.write("a", "2\n");
    let second = p.save("second").checkpoint;
    let project = p.project();
    let state = p.store().join("herma/projects").join(project.id().as_str());
    let state = herma_fs::Dir::open(&state).unwrap();
    let journal = herma_records::journal::Journal {
        version: herma_records::Version,
        token: 1,
        safety: second.id,
        target: first.id,
        options: RestoreOptions::default(),
        started: 0,
        by: herma_records::undo::Move::Restore,
        undid: None,
        undo: herma_records::undo::UndoRecord::default(),
    };
    journal.write(&state, &state).unwrap();
    for checkpoint in [&first, &second] {
        let refused = project.drop_checkpoint(checkpoint);
        assert!(matches!(refused, Err(Error::NeededByInterrupted { .. })), "{refused:?}");
    }
    assert_eq!(p.list().len(), 2);
}

#[test]
fn a_ref_of_hermes_that_a_power_cut_emptied_is_healed() {
    let p = TestProject::new();
    p.write("a", "1\n");
    p.save("first");
    let mirror = p.store().join("refs/hermes").join(p.project().id().as_str());
    std::fs::write(&mirror, "").unwrap();
    p.write("a", "2\n");
    let saved = p.save("second");
    assert_eq!(saved.notes, Vec::<String>::new());
    let healed = std::fs::read_to_string(&mirror).unwrap();
    assert_eq!(healed.trim(), saved.checkpoint.id.to_hex());
    p.fsck();
}

#[test]
fn a_comparison_names_what_it_could_not_read() {
    let test = "engine::reviewed::a_comparison_names_what_it_could_not_read";
    if child::is_run_as_nobody(test) {
        return;
    }
    let p = TestProject::new();
    for path in ["plain", "closed/file", "gone/file"] {
        p.write(path, "content\n");
    }
    p.save("first");
    p.remove("gone");
    for (mode, unreadable) in [(0o644, &["closed"][..]), (0o000, &["closed"]), (0o755, &[])] {
        p.chmod("closed", mode);
        let project = p.project();
        let first = project.find(&Spec::parse("@").unwrap()).unwrap();
        let from = State::Checkpoint(Box::new(first));
        let found = project.changes(&from, &State::Present, &[], true, &NoProgress).unwrap();
        let named: Vec<String> = found.unreadable.iter().map(ToString::to_string).collect();
        assert_eq!(named, unreadable, "{mode:o}");
        assert_eq!(found.changes.len(), 1 + unreadable.len());
    }
}

/// The pack that was published last.
fn newest_pack(p: &TestProject) -> std::path::PathBuf {
    let files = std::fs::read_dir(p.store().join("objects/pack")).unwrap();
    let packs = files
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "pack"));
    let changed = |path: &std::path::PathBuf| path.metadata().unwrap().modified().unwrap();
    packs.max_by_key(changed).unwrap()
}

#[test]
fn a_pack_that_may_not_be_opened_hides_its_own_checkpoint_and_no_other() {
    use std::os::unix::fs::PermissionsExt;
    let test =
        "engine::reviewed::a_pack_that_may_not_be_opened_hides_its_own_checkpoint_and_no_other";
    if child::is_run_as_nobody(test) {
        return;
    }
    let p = TestProject::new();
    for content in ["one\n", "two\n"] {
        p.write("file", content);
        p.save(content.trim());
        // Packs are told apart by their times below.
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let pack = newest_pack(&p);
    let chmod = |mode| {
        std::fs::set_permissions(&pack, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    chmod(0o000);
    let listed = p.project().timeline().unwrap();
    let reasons: Vec<String> = listed.iter().map(|c| c.reason.to_string()).collect();
    assert_eq!(reasons, ["one"]);
    let hidden = p.project().damaged().unwrap();
    assert_eq!(hidden.len(), 1);
    assert!(hidden[0].what.contains("denied"), "{}", hidden[0].what);
    // What it holds is saved again before it is replaced.
    p.restore("@-1");
    assert_eq!(p.read("file"), "one\n");
    p.undo().unwrap();
    assert_eq!(p.read("file"), "two\n");
    p.write("file", "three\n");
    p.save("three");
    chmod(0o600);
    assert_eq!(p.project().damaged().unwrap().len(), 0);
    p.restore("@");
    assert_eq!(p.read("file"), "three\n");
}

/// The same restore within a second of the last was not noted, and its work was taken for a person's.
#[test]
fn the_same_restore_again_in_the_same_second_is_noted_again() {
    struct Standing;
    impl herma_core::Clock for Standing {
        fn now(&self) -> herma_core::types::clock::Timestamp {
            herma_core::types::clock::Timestamp {
                seconds: 1_700_000_000,
                nanos: 0,
                offset_minutes: 0,
            }
        }
    }
    let mut p = TestProject::new();
    let clock = std::sync::Arc::new(Standing);
    p.engine = super::project::engine_with_clock(&p.home(), None, Settings::default(), clock);
    p.write("a.txt", "one\n");
    p.save("one");
    p.write("a.txt", "two\n");
    p.save("two");
    for _ in 0..2 {
        p.restore("@-1");
        p.undo().unwrap();
    }
    let steps = p.project().steps(&herma_core::steps::StepChoice::default()).unwrap();
    assert_eq!(steps.len(), 4, "{steps:?}");
}
