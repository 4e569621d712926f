//! Saves, restores and removals while somebody swaps something in the project for a link to the outside.
//!
//! Shared by the binary that uses `openat2` and the one that does without. With `HERMA_FAULT_FULL=1` each
//! attack is kept up for a million swaps.

use herma_core::restore::RestoreOptions;
use herma_store::object::{Kind, id_of};
use herma_testkit::attack::SymlinkSwapper;
use herma_testkit::faults;
use herma_testkit::tree::{Tree, assert_same};

use super::project::TestProject;

/// So many operations are tried at least.
const OPERATIONS: usize = 30;

const STOLEN: &str = "only outside\n";

/// What is swapped, and for what outside.
#[derive(Clone, Copy, Debug)]
pub enum Victim {
    /// A directory with everything in it.
    Directory,
    /// One file.
    File,
}

impl Victim {
    const fn path(self) -> &'static str {
        match self {
            Self::Directory => "v/src",
            Self::File => "v/src/a.txt",
        }
    }

    const fn outside(self) -> &'static str {
        match self {
            Self::Directory => "outside",
            Self::File => "outside/a.txt",
        }
    }
}

/// An attack that goes on for a number of operations.
struct Attack {
    victim: Victim,
    swaps: u64,
    operations: usize,
    is_possible: bool,
}

impl Attack {
    const fn on(victim: Victim) -> Self {
        Self { victim, swaps: 0, operations: 0, is_possible: true }
    }

    fn goes_on(&self) -> bool {
        let fewest = if faults::is_full() { 1_000_000 } else { 10_000 };
        self.is_possible && (self.operations < OPERATIONS || self.swaps < fewest)
    }

    /// Does `work` while the victim is being swapped.
    fn during(&mut self, p: &TestProject, work: impl FnOnce()) {
        let (victim, outside) = (self.victim.path(), self.victim.outside());
        let swapper = SymlinkSwapper::start(&p.path(victim), &p.base().join(outside));
        self.is_possible = swapper.is_some();
        work();
        self.swaps += swapper.map_or(0, SymlinkSwapper::finish);
        self.operations += 1;
    }

    fn tell(&self, what: &str) {
        #[allow(clippy::print_stderr, reason = "the figures of a full run")]
        {
            let (operations, swaps) = (self.operations, self.swaps);
            eprintln!("{what}, {:?}: {operations} under {swaps} swaps", self.victim);
        }
    }
}

/// A project whose directory `v/src` can be attacked, and a directory outside with the same names.
fn project() -> TestProject {
    let p = TestProject::new();
    for name in ["a.txt", "b.txt", "sub/c.txt", "sub/deep/d.txt"] {
        p.write(&format!("v/src/{name}"), "inside\n");
        let at = p.base().join("outside").join(name);
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        std::fs::write(at, STOLEN).unwrap();
    }
    p
}

/// Nothing from outside is in the store.
fn assert_nothing_stolen(p: &TestProject) {
    let stolen = id_of(Kind::Blob, STOLEN.as_bytes()).unwrap().to_hex();
    p.repository().git(["cat-file", "-e", &stolen]).code(1);
}

/// Nothing from outside enters a checkpoint, whatever the scan finds at the moment it looks.
pub fn save(victim: Victim) {
    let p = project();
    let outside = Tree::read(p.base().join("outside"));
    let mut attack = Attack::on(victim);
    while attack.goes_on() {
        p.write("tick", attack.operations.to_string());
        attack.during(&p, || assert!(p.save("under attack").is_new));
    }
    attack.tell("saves");
    assert_nothing_stolen(&p);
    let now = Tree::read(p.base().join("outside"));
    assert_same(&outside, &now, "the outside");
    p.write("tick", "quiet again");
    let saved = p.save("quiet");
    let stored = p.repository().tree(&saved.checkpoint.id.to_hex());
    assert_same(&p.tree().as_git(), &stored, "no swap is remembered");
    p.fsck_but_dangling();
}

/// Nothing outside is written, removed or given another mode, whatever a restore has to do inside.
pub fn restore(victim: Victim) {
    let p = project();
    let full = format!("id:{}", p.save("full").checkpoint.id);
    p.remove("v/src/sub");
    if matches!(victim, Victim::Directory) {
        p.remove("v/src/a.txt");
    } else {
        p.write("v/src/a.txt", "changed\n");
    }
    p.write("v/src/b.txt", "changed\n");
    p.write("v/src/new/e.txt", "new\n");
    p.chmod("v/src", 0o700);
    let changed = format!("id:{}", p.save("changed").checkpoint.id);
    restore_under_attack(&p, victim, [&full, &changed], "restores");
}

/// Nothing outside is removed when files of the same names have to go inside.
pub fn remove(victim: Victim) {
    let p = project();
    let full = format!("id:{}", p.save("full").checkpoint.id);
    p.remove("v/src/sub");
    p.remove("v/src/a.txt");
    p.remove("v/src/b.txt");
    p.write("v/src/other.txt", "stays\n");
    let fewer = format!("id:{}", p.save("fewer").checkpoint.id);
    p.restore(&full);
    let outside = Tree::read(p.base().join("outside"));
    let mut attack = Attack::on(victim);
    while attack.goes_on() {
        p.restore(&full);
        attack.during(&p, || {
            // Stopping half way is fine.
            let _ = p.restore_with(&fewer, &RestoreOptions::default());
        });
        let now = Tree::read(p.base().join("outside"));
        assert_same(&outside, &now, "the outside");
    }
    attack.tell("removals");
    p.restore(&fewer);
    assert!(p.exists("v/src/other.txt") && !p.exists("v/src/a.txt"));
    assert_nothing_stolen(&p);
    p.fsck_but_dangling();
}

/// Goes from one checkpoint to the other and back.
fn restore_under_attack(p: &TestProject, victim: Victim, ends: [&str; 2], what: &str) {
    let outside = Tree::read(p.base().join("outside"));
    p.restore(ends[0]);
    let before = p.tree();
    let mut attack = Attack::on(victim);
    let mut done = 0;
    while attack.goes_on() {
        let turn = attack.operations % 2;
        p.restore(ends[1 - turn]);
        // Stopping half way is fine: the journal knows, and the next restore goes on from there.
        attack.during(p, || {
            let result = p.restore_with(ends[turn], &RestoreOptions::default());
            done += usize::from(result.is_ok());
        });
        let now = Tree::read(p.base().join("outside"));
        assert_same(&outside, &now, "the outside");
    }
    attack.tell(what);
    assert!(done > 0 || !attack.is_possible, "some succeed under attack");
    p.restore(ends[0]);
    assert_same(&before, &p.tree(), "exactly as it was, once it is quiet");
    assert_nothing_stolen(p);
    p.fsck_but_dangling();
}
