//! The files of a store that are neither objects nor refs, each damaged in every way: it is noticed, nothing that was
//! saved is lost, and a repair makes the store as good as it was.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use herma_core::engine::NoProgress;
use herma_core::error::ErrorKind;
use herma_core::purge::PurgeRequest;
use herma_core::{Error, ObjectId, RelPath, VerifyOptions};
use herma_store::gc::Thoroughness;
use herma_testkit::Bounded;

use super::project::TestProject;

/// Steps, a pin, a name, a dropped checkpoint, a purge and a restore.
fn scene() -> TestProject {
    let p = TestProject::new();
    for number in 1..=5 {
        p.write("a", format!("{number}"));
        p.write("secret", format!("{number}"));
        p.save(&format!("save {number}"));
    }
    let project = p.project();
    project.drop_checkpoint(&p.find("@-2")).unwrap();
    p.engine.collect(Thoroughness::Full, false, &NoProgress).unwrap();
    project.pin(&p.find("@-3")).unwrap();
    project.name(&p.find("@-2"), "mine").unwrap();
    let request =
        PurgeRequest { paths: vec![RelPath::new("secret").unwrap()], ..PurgeRequest::default() };
    project.purge(&request, &NoProgress).unwrap();
    p.remove("secret");
    p.restore("@-3");
    p.write("a", "after the restore");
    p.save("last");
    let state = p.store().join("herma/projects").join(project.id().as_str());
    assert!(state.join("undo").exists() && state.join("rewritten").exists());
    p
}

const DAMAGE: [&str; 8] = [
    "removed",
    "emptied",
    "cut short",
    "a byte changed",
    "garbage",
    "a directory",
    "a link",
    "a pipe",
];

fn damage(path: &Path, how: &str) -> bool {
    let bytes = std::fs::read(path).unwrap_or_default();
    let changed = |bytes: &[u8]| {
        let mut changed = bytes.to_vec();
        let middle = changed.len() / 2;
        if let Some(byte) = changed.get_mut(middle) {
            *byte ^= 0x80;
        }
        changed
    };
    let new = match how {
        "removed" => None,
        "emptied" => Some(Vec::new()),
        "cut short" => Some(bytes[..bytes.len() / 2].to_vec()),
        "a byte changed" => Some(changed(&bytes)),
        "garbage" => Some(b"\xff\0[}\x01 nothing\n".repeat(20)),
        _ => Some(b"x".to_vec()),
    };
    if new.as_deref() == Some(&bytes[..]) {
        return false;
    }
    let _ = std::fs::remove_file(path);
    match (how, new) {
        ("a directory", _) => std::fs::create_dir(path).unwrap(),
        ("a link", _) => std::os::unix::fs::symlink("/etc/hostname", path).unwrap(),
        ("a pipe", _) => {
            let mut mkfifo = std::process::Command::new("mkfifo");
            let made = herma_testkit::Bounded::bounded_status(mkfifo.arg(path)).unwrap();
            assert!(made.success() && path.symlink_metadata().unwrap().file_type().is_fifo());
        }
        (_, Some(bytes)) => std::fs::write(path, bytes).unwrap(),
        (_, None) => {}
    }
    true
}

fn ids(p: &TestProject) -> Result<Vec<ObjectId>, Error> {
    let list = p.engine.project(&p.root)?.timeline()?;
    Ok(list.into_iter().map(|c| c.id).collect())
}

/// The files in question: those of the store, and those of the project's own state.
fn files(p: &TestProject) -> Vec<PathBuf> {
    let own = format!("herma/projects/{}", p.project().id());
    let of_store = [
        "HEAD",
        "config",
        "packed-refs",
        "shallow",
        "info/exclude",
        "herma/format",
        "herma/lock",
        "herma/gate",
        "herma/collect",
        "herma/sweep",
        "herma/cleaning",
        "herma/purging",
    ];
    let of_project = [
        "lock",
        "stat-cache",
        "journal",
        "undo",
        "purge",
        "rewritten",
        "roll",
        "turns",
        "look",
        "steps/00000001",
        "steps/next-checkpoint",
        "unsettled",
    ];
    let of_store = of_store.iter().map(|name| p.store().join(name));
    let of_project = of_project.iter().map(|name| p.store().join(&own).join(name));
    of_store.chain(of_project).collect()
}

/// A garbled `config` or `herma/format` made everything unusable; a truncated journal was not noticed.
#[test]
fn no_damaged_file_of_a_store_makes_it_unusable_and_a_repair_mends_each() {
    let p = scene();
    let before = ids(&p).unwrap();
    let whole = p.base().join("whole");
    copy(&p.store(), &whole);
    for path in files(&p) {
        for how in DAMAGE {
            std::fs::remove_dir_all(p.store()).unwrap();
            copy(&whole, &p.store());
            p.write("a", "after the restore");
            let what = format!("{}: {how}", path.strip_prefix(p.store()).unwrap().display());
            if how == "removed" && !path.exists() || !damage(&path, how) {
                continue;
            }
            // Whatever answers, answers with what there is, or that something is damaged.
            match ids(&p) {
                Ok(found) => assert_eq!(found, before, "{what}"),
                Err(e) => assert_eq!(e.kind(), ErrorKind::Damaged, "{what}: {e}"),
            }
            if let Err(e) = p.engine.collect(Thoroughness::Quick, false, &NoProgress) {
                assert_eq!(e.kind(), ErrorKind::Damaged, "{what}: {e}");
            }
            let repaired = p.engine.repair(&NoProgress);
            let repaired = repaired.unwrap_or_else(|e| panic!("{what}: {e:?}"));
            assert!(repaired.after.is_whole(), "{what}: {:?}", repaired.after);
            assert_eq!(ids(&p).unwrap(), before, "{what}");
            p.write("a", "another");
            p.save("after the repair");
            p.restore("@-1");
            assert_eq!(p.read("a"), "after the restore", "{what}");
            let collected = p.engine.collect(Thoroughness::Quick, false, &NoProgress);
            let cleaned = collected.unwrap_or_else(|e| panic!("{what}: {e}"));
            assert_eq!(cleaned.collected.damaged, [""; 0], "{what}");
            if !what.starts_with("herma/") {
                p.fsck_but_dangling();
            }
        }
    }
}

fn copy(from: &Path, to: &Path) {
    let mut command = std::process::Command::new("cp");
    assert!(command.arg("-a").arg(from).arg(to).bounded_status().unwrap().success());
}

#[test]
fn where_history_ends_is_said_again_when_that_was_lost() {
    let p = TestProject::new();
    for number in 1..=4 {
        p.write("a", format!("{number}"));
        p.save(&format!("save {number}"));
    }
    p.project().drop_checkpoint(&p.find("@-2")).unwrap();
    p.engine.collect(Thoroughness::Full, false, &NoProgress).unwrap();
    std::fs::remove_file(p.store().join("shallow")).unwrap();
    remove_trash(&p);
    let found = p.engine.verify_quickly().unwrap();
    assert_eq!(found.metadata[0].file, "shallow", "{found:?}");
    let repaired = p.engine.repair(&NoProgress).unwrap();
    assert!(repaired.after.is_whole(), "{:?}", repaired.after);
    p.fsck();
    let cleaned = p.engine.collect(Thoroughness::Full, false, &NoProgress).unwrap();
    assert_eq!(cleaned.collected.damaged, [""; 0]);
}

fn remove_trash(p: &TestProject) {
    for entry in std::fs::read_dir(p.store().join("herma/trash")).unwrap() {
        std::fs::remove_dir_all(entry.unwrap().path()).unwrap();
    }
}

/// Each of these is told of by `verify`, and by what `doctor` looks at.
#[test]
fn damaged_records_configuration_and_locks_are_noticed() {
    for (file, how) in [
        ("config", "garbage"),
        ("config", "removed"),
        ("HEAD", "emptied"),
        ("herma/format", "emptied"),
        ("herma/gate", "a directory"),
        ("herma/lock", "a pipe"),
        ("herma/projects/PROJECT/journal", "garbage"),
        ("herma/projects/PROJECT/undo", "cut short"),
        ("herma/projects/PROJECT/lock", "a link"),
        ("herma/projects/PROJECT/steps/00000001", "cut short"),
    ] {
        let p = scene();
        let file = file.replace("PROJECT", p.project().id().as_str());
        damage(&p.store().join(&file), how);
        for found in
            [p.engine.verify(&VerifyOptions::default(), &NoProgress), p.engine.verify_quickly()]
        {
            match found {
                Ok(found) => {
                    let named = found.metadata.iter().any(|record| record.file == file);
                    // A step may be lost with the power: it is told of, and no damage.
                    let is_step = file.contains("/steps/");
                    assert!(named, "{file}: {how}: {found:?}");
                    assert_eq!(found.is_whole(), is_step, "{file}: {how}: {found:?}");
                }
                Err(e) => assert_eq!(e.kind(), ErrorKind::Damaged, "{file}: {how}: {e}"),
            }
        }
    }
}

/// What was set aside is still there, byte for byte.
#[test]
fn a_repair_throws_nothing_away() {
    let p = scene();
    let config = b"[core]\n\tbare = tr\xff\n[user]\n\tname = Me\n";
    std::fs::write(p.store().join("config"), config).unwrap();
    std::fs::write(p.store().join("herma/format"), "nonsense").unwrap();
    let refused = ids(&p).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Damaged);
    let repaired = p.engine.repair(&NoProgress).unwrap();
    let kept = |file: &str| {
        let one = repaired.files.iter().find(|one| one.file == file).unwrap();
        std::fs::read(p.store().join(one.set_aside.as_ref().unwrap())).unwrap()
    };
    assert_eq!(kept("config"), config);
    assert_eq!(kept("herma/format"), b"nonsense");
    p.fsck_but_dangling();
}

/// A store of a later Herma, or with a feature of git that somebody asked for, is not overwritten.
#[test]
fn a_repair_leaves_a_store_alone_that_it_does_not_understand() {
    let p = scene();
    let format = p.store().join("herma/format");
    std::fs::write(&format, "herma-store 4\n").unwrap();
    assert!(p.engine.repair(&NoProgress).is_err());
    assert_eq!(std::fs::read_to_string(&format).unwrap(), "herma-store 4\n");
    std::fs::write(&format, "herma-store 1\n").unwrap();
    let config = p.store().join("config");
    let mut text = std::fs::read_to_string(&config).unwrap();
    text.push_str("[extensions]\n\trefStorage = reftable\n");
    std::fs::write(&config, &text).unwrap();
    assert!(p.engine.repair(&NoProgress).is_err());
    assert_eq!(std::fs::read_to_string(&config).unwrap(), text);
}

/// It was only said that a restore may be half done.
#[test]
fn a_damaged_journal_is_named_with_the_checkpoint_of_the_state_before() {
    let p = TestProject::new();
    p.write("a", "before");
    let safety = p.save("before").checkpoint.id;
    let state = p.store().join("herma/projects");
    let journal = state.join(p.project().id().as_str()).join("journal");
    let text = format!("{{\"versi\u{7f}n\":1,\"token\":7,\"safety\":\"{safety}\",\"target\"");
    std::fs::write(&journal, text).unwrap();
    let named = format!("`herma restore id:{safety}`");
    for found in
        [p.engine.verify(&VerifyOptions::default(), &NoProgress), p.engine.verify_quickly()]
    {
        let found = found.unwrap();
        assert!(found.metadata[0].what.contains(&named), "{found:?}");
    }
    let repaired = p.engine.repair(&NoProgress).unwrap();
    assert!(repaired.files[0].what.contains(&named), "{repaired:?}");
    // One that nobody saved is not named.
    std::fs::write(&journal, format!("{{\"safety\":\"{}\"", "7".repeat(40))).unwrap();
    let found = p.engine.verify_quickly().unwrap();
    assert!(!found.metadata[0].what.contains("id:"), "{found:?}");
}
