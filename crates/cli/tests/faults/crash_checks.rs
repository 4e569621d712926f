//! What must hold after a power cut. Looked at inside this process: thousands of states are.

use herma_core::engine::NoProgress;
use herma_core::restore::RestoreOptions;
use herma_core::{Checkpoint, Engine, Error, Project, SaveOptions, VerifyOptions};
use herma_store::layout::HERMES_EXCLUDES;
use herma_testkit::Tree;
use herma_testkit::tree::diff;

use super::power_cut::{Checked, Cut, need};
use super::scene::{Action, Scene, Transaction, without_temporary};
use super::unsound;

/// Git looks at one state in so many.
const GIT_LOOKS: usize = 50;

/// Turns an error of the engine into words.
fn works<T>(what: &str, done: Result<T, Error>) -> Result<T, String> {
    done.map_err(|error| format!("{what}: {error}"))
}

fn same(expected: &Tree, found: &Tree, what: &str) -> Checked {
    need(expected == found, || format!("{what}:\n{}", diff(expected, found)))
}

/// Everything that must hold after a power cut in the middle of a scene's command.
pub(super) fn check(scene: &Scene, engine: &Engine, cut: Cut) -> Checked {
    let path = scene.project();
    let open = works("the project", engine.project(path.path()))?;
    if matches!(scene.action, Action::Mend) {
        check_mend(engine, cut)?;
    }
    check_for_hermes(scene)?;
    check_store(engine)?;
    let listed = works("list", open.timeline())?;
    check_listed(scene, &listed, cut)?;
    match scene.action {
        Action::Save => {
            same(&scene.present, &path.tree(), "a save changes no file")?;
            let known = scene.saved.len();
            need(listed.len() <= known + 1, || "too many".to_owned())?;
            need(!cut.is_acknowledged || listed.len() > known, || {
                "an acknowledged checkpoint is lost".to_owned()
            })?;
            if let (true, Some(name)) = (cut.is_acknowledged, scene.name()) {
                let names = &listed[0].names;
                need(names.iter().any(|n| n == name), || {
                    format!("an acknowledged name is lost: {names:?}")
                })?;
            }
            if listed.len() > known {
                check_restores(scene, &open, &listed[0], &scene.present)?;
            }
        }
        Action::Restore(transaction) => check_restore(scene, &open, transaction, cut)?,
        Action::Drop => {
            need(!(cut.is_acknowledged && is_listed(&listed, &scene.saved[0].0)), || {
                "dropped, but still there".to_owned()
            })?;
        }
        Action::Mark => {
            let is_marked = |c: &Checkpoint| c.pinned || !c.names.is_empty();
            let marked = listed.iter().filter(|c| is_marked(c)).count();
            need(marked == 1 || (marked == 0 && !cut.is_acknowledged), || {
                format!("{marked} marks")
            })?;
        }
        Action::Clean(may_go) => {
            let left = scene.saved.len() - may_go;
            // It says what it is about to do before it does it.
            need(!cut.is_over || listed.len() == left, || {
                format!("{} are left of {left}", listed.len())
            })?;
        }
        // Ids change with a purge; `crash::a_purge` looks at what stays.
        Action::Mend | Action::Purge => {}
    }
    check_usable(scene, engine, &open, cut)
}

fn is_listed(listed: &[Checkpoint], id: &str) -> bool {
    listed.iter().any(|checkpoint| checkpoint.id.to_hex() == id)
}

/// Every byte of every checkpoint can be read.
pub(super) fn check_store(engine: &Engine) -> Checked {
    let options = VerifyOptions { read_data: true, ..VerifyOptions::default() };
    let verified = works("verify", engine.verify(&options, &NoProgress))?;
    need(verified.is_whole(), || format!("damaged: {verified:?}"))
}

/// A store that is complete has what Hermes goes by, whole: without it, Hermes saves secrets.
fn check_for_hermes(scene: &Scene) -> Checked {
    let read = |name: &str| std::fs::read_to_string(scene.env.store().join(name));
    if read("herma/format").is_err() {
        return Ok(());
    }
    let excludes = read("info/exclude").unwrap_or_default();
    need(excludes.lines().eq(HERMES_EXCLUDES.iter().copied()), || {
        format!("Hermes's excludes are damaged: {excludes:?}")
    })?;
    let (config, head) = (read("config"), read("HEAD"));
    need(
        config.as_ref().is_ok_and(|c| c.ends_with("auto = false\n"))
            && head.as_ref().is_ok_and(|h| h == "ref: refs/heads/master\n"),
        || format!("no repository: {config:?}, {head:?}"),
    )
}

/// What was acknowledged before is listed, in its order.
fn check_listed(scene: &Scene, listed: &[Checkpoint], cut: Cut) -> Checked {
    let may_go = match scene.action {
        Action::Drop => 1,
        Action::Clean(may_go) => may_go,
        _ => 0,
    };
    for (at, (id, _)) in scene.saved.iter().enumerate() {
        let may_be_gone = at < may_go;
        need(may_be_gone || is_listed(listed, id), || {
            format!("{id} is not listed any more ({cut:?})")
        })?;
    }
    let of_listed = listed.iter().rev().map(|c| c.id.to_hex());
    let known: Vec<String> =
        of_listed.filter(|id| scene.saved.iter().any(|(saved, _)| saved == id)).collect();
    let mut before = scene.saved.iter().map(|(id, _)| id);
    need(known.iter().all(|id| before.any(|b| b == id)), || format!("out of order: {known:?}"))
}

fn check_restores(scene: &Scene, open: &Project, checkpoint: &Checkpoint, tree: &Tree) -> Checked {
    let done = open.restore_with(checkpoint, &RestoreOptions::default(), &NoProgress);
    works("restore", done)?;
    same(tree, &scene.project().tree(), "restored")
}

/// The project is at one end, at the other, or known to be in between; then both ways are open.
fn check_restore(scene: &Scene, open: &Project, transaction: Transaction, cut: Cut) -> Checked {
    let (from, to) = ((transaction.from)(), (transaction.to)());
    let (end, other_end) = if transaction.is_undone { (&from, &to) } else { (&to, &from) };
    let (now, temporary) = without_temporary(scene.project().tree());
    let then = |done: Result<(), Error>, expected: &Tree, what: &str| {
        works(what, done)?;
        same(expected, &scene.project().tree(), what)
    };
    let interrupted = works("interrupted", open.interrupted())?.is_some();
    if cut.is_acknowledged {
        need(!interrupted, || "done, but unfinished".to_owned())?;
        same(end, &now, "after a success")?;
    }
    let undo = || open.undo_with(&NoProgress, false).map(drop);
    let redo = || open.redo_with(&NoProgress, false).map(drop);
    if interrupted && cut.number.is_multiple_of(2) {
        let finish = open.continue_restore(&NoProgress).map(drop);
        return then(finish, &to, "finished");
    }
    if interrupted {
        then(undo(), &from, "reversed")?;
        return then(redo(), &to, "reversed, then redone");
    }
    need(temporary == 0, || "temporary files without a journal".to_owned())?;
    need(now == from || now == to, || format!("at neither end:\n{}", diff(&from, &now)))?;
    if now != *end {
        return Ok(());
    }
    match transaction.other_way {
        "redo" => then(redo(), other_end, "done, then back"),
        _ => then(undo(), other_end, "done, then back"),
    }
}

/// A repair that did not get to its end is made again.
fn check_mend(engine: &Engine, cut: Cut) -> Checked {
    if cut.is_acknowledged {
        return Ok(());
    }
    works("repair", engine.repair(&NoProgress)).map(drop)
}

/// The next save works, nothing lies about, and an older checkpoint can be restored.
fn check_usable(scene: &Scene, engine: &Engine, open: &Project, cut: Cut) -> Checked {
    scene.project().write("after.txt", "after the power cut\n");
    let saved = works("the next save", open.save_with(&SaveOptions::default(), &NoProgress))?;
    need(saved.is_new, || "the next save saved nothing".to_owned())?;
    let mut litter = scene.litter();
    // A lock that lost its temporary name waits until somebody wants it.
    litter.retain(|path| path.parent().is_some_and(|dir| dir.ends_with("herma/tmp")));
    need(litter.is_empty(), || format!("left behind: {litter:?}"))?;
    let listed = works("list", open.timeline())?;
    let mut known = scene.saved.iter().rev();
    let restored = known.find_map(|(id, tree)| {
        let found = listed.iter().find(|c| c.id.to_hex() == *id)?;
        Some((found, tree))
    });
    if let Some((checkpoint, tree)) = restored {
        check_restores(scene, open, checkpoint, tree)?;
    }
    check_store(engine)?;
    if cut.number.is_multiple_of(GIT_LOOKS) && herma_testkit::git::available() {
        let said = unsound(&scene.env.repository());
        need(said.is_empty(), || format!("git fsck says: {}", said.join("\n")))?;
    }
    Ok(())
}
