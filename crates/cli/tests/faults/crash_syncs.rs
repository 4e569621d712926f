//! Is each sync needed? One at a time is forgotten, and some power cut must then lose or damage something: so
//! these tests can fail, and nobody waits for a disk in vain.

use herma_testkit::crash::{Journal, Op};
use herma_testkit::faults;

use super::crash_checks::check;
use super::power_cut::{Cut, Lot, Recorded};
use super::scene::Scene;
use super::step_scenes::engine;

/// So many power cuts without a failure count as proof that a sync is not needed.
const FULL: usize = 10_000;
/// In every change's run fewer have to do.
const FEW: usize = 1_000;

/// A sync that can be forgotten (`#1`: the first of several of the same), and why it is made all the same.
type Spared = (&'static str, &'static str);

/// Forgets each sync of a command and draws power cuts until something is lost. Those in `spared` lose nothing
/// alone, but all of them together do.
#[track_caller]
fn forget_each(name: &str, scene: &Scene, spared: &[Spared]) {
    scene.reset();
    let engine = engine(&scene.env.home());
    let check = |cut: Cut| check(scene, &engine, cut);
    let Some(recorded) = Recorded::of(&scene.faults(), scene.env.root(), &check) else {
        return;
    };
    let project = engine.project(scene.project().path());
    let id = project.expect("a project").id().to_string();
    let journal = &recorded.journal;
    let about = |sync: usize| {
        let about = journal.about(sync).replace(&id, "<project>");
        let store = about.strip_prefix("/hermes/checkpoints/store/");
        store.map_or(about.clone(), str::to_owned)
    };
    // A scan writes back the files it reads, so that later stores through a memory map show.
    let syncs = journal.syncs().into_iter();
    let syncs = syncs.filter(|sync| !matches!(journal.steps()[*sync].op, Op::SyncData(_)));
    let is_spared = |sync: &usize| {
        let what = about(*sync);
        let before = journal.syncs().into_iter().take_while(|other| other < sync);
        let number = 1 + before.filter(|other| about(*other) == what).count();
        let numbered = format!("{what}#{number}");
        spared.iter().any(|(s, _)| *s == what || *s == numbered) || is_repeated(journal, *sync)
    };
    let (superfluous, single): (Vec<usize>, Vec<usize>) = syncs.partition(is_spared);
    let mut unneeded = Vec::new();
    for forgotten in single.chunks(1).chain([&superfluous[..]]) {
        let Some(last) = forgotten.last() else {
            continue;
        };
        let first = forgotten[0] + 1;
        let lot = Lot { first, forgotten };
        let drawn = recorded.draw(if faults::is_full() { FULL } else { FEW }, 1, &lot);
        let (what, states) = (about(*last), drawn.states);
        if let Some(failure) = drawn.failures.first() {
            eprintln!("{name}, without {forgotten:?} ({what}), state {states}: {failure:.150}");
        } else {
            eprintln!("{name}, without {forgotten:?} ({what}): nothing in {states} states");
            unneeded.push(what);
        }
    }
    eprintln!("{name}: {} syncs are needed", single.len() - unneeded.len());
    assert!(unneeded.is_empty(), "{name}: {unneeded:#?}");
}

/// Is a directory of the project synced again before the journal closes? A restore syncs those it writes to as it goes,
/// and all of them at the end, after the last removal.
fn is_repeated(journal: &Journal, sync: usize) -> bool {
    let steps = journal.steps();
    let mut later = steps[sync + 1..].iter();
    journal.about(sync).starts_with("/work/project") && later.any(|step| step.op == steps[sync].op)
}

/// What a save syncs besides.
const OF_SAVE: [Spared; 4] = [
    ("projects", "refs tell of a project without a record, too"),
    ("refs", "again, in case a killed process made what is in it"),
    ("refs/herma-names", "again, in case a killed process made what is in it"),
    ("refs/herma", "again, in case a killed process made what is in it"),
];

/// What making a store syncs besides: all its directories, in case a killed process made them.
const OF_MAKING: [Spared; 10] = [
    ("herma/lock", "it is empty"),
    ("herma", "again after the format file"),
    ("herma/tmp", "empty, or what is in it is of no use any more"),
    ("herma/trash", "empty"),
    ("herma/projects", "what is in it is made again"),
    ("objects/pack#1", "empty"),
    ("objects/info", "empty"),
    ("refs/heads", "empty"),
    ("info", "again: the excludes are synced with it when they are written"),
    ("indexes", "empty"),
];

#[test]
fn of_a_save() {
    forget_each("save", &Scene::second_save(), &OF_SAVE);
}

#[test]
fn of_a_first_save() {
    if faults::is_full() {
        let spared = [&OF_SAVE[..], &OF_MAKING[..]].concat();
        forget_each("first save", &Scene::first_save(), &spared);
    }
}

#[test]
fn of_a_restore() {
    if faults::is_full() {
        forget_each("restore", &Scene::restore(), &OF_SAVE);
    }
}
