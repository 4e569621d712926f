//! Saves and restores while somebody swaps a directory of the project for a link to the outside.
//!
//! Shared by the binary that uses `openat2` and the one that does without.

use herma_core::restore::RestoreOptions;
use herma_core::store::object::Kind;
use herma_core::store::object::id_of;
use herma_testkit::attack::SymlinkSwapper;
use herma_testkit::tree::Tree;
use herma_testkit::tree::assert_same;

use super::project::TestProject;

/// So many swaps are tried, at least, and so many operations.
const SWAPS: u64 = 10_000;
const OPERATIONS: usize = 30;

const STOLEN: &str = "only outside\n";

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

/// Does `work` while `v/src` is being swapped. Returns the number of swaps; `None` if there can be none.
fn under_attack(p: &TestProject, work: impl FnOnce()) -> Option<u64> {
    let swapper = SymlinkSwapper::start(&p.path("v/src"), &p.base().join("outside"))?;
    work();
    Some(swapper.finish())
}

/// Nothing from outside enters a checkpoint, whatever the scan finds at the moment it looks.
pub fn save() {
    let p = project();
    let outside = Tree::read(p.base().join("outside"));
    let (mut swaps, mut operations) = (0, 0);
    while operations < OPERATIONS || swaps < SWAPS {
        p.write("tick", operations.to_string());
        let attack = under_attack(&p, || assert!(p.save("under attack").is_new));
        let Some(count) = attack else { return };
        swaps += count;
        operations += 1;
    }
    let stolen = id_of(Kind::Blob, STOLEN.as_bytes()).unwrap().to_hex();
    p.repository().git(["cat-file", "-e", &stolen]).code(1);
    let now = Tree::read(p.base().join("outside"));
    assert_same(&outside, &now, "the outside");
    p.write("tick", "quiet again");
    let saved = p.save("quiet");
    let stored = p.repository().tree(&saved.checkpoint.id.to_hex());
    assert_same(&p.tree().as_git(), &stored, "no swap is remembered");
    p.fsck();
}

/// Nothing outside is written, removed or given another mode, whatever a restore has to do inside.
pub fn restore() {
    let p = project();
    let full = format!("id:{}", p.save("full").checkpoint.id);
    let before = p.tree();
    p.remove("v/src/sub");
    p.remove("v/src/a.txt");
    p.write("v/src/b.txt", "changed\n");
    p.write("v/src/new/e.txt", "new\n");
    p.chmod("v/src", 0o700);
    let changed = format!("id:{}", p.save("changed").checkpoint.id);
    let outside = Tree::read(p.base().join("outside"));
    let (mut swaps, mut operations, mut done) = (0, 0, 0);
    while operations < OPERATIONS || swaps < SWAPS {
        let (from, to) = match operations % 2 {
            0 => (&changed, &full),
            _ => (&full, &changed),
        };
        p.restore(from);
        // Stopping half way is fine: the journal knows, and the next restore goes on from there.
        let attack = under_attack(&p, || {
            let result = p.restore_with(to, &RestoreOptions::default());
            done += usize::from(result.is_ok());
        });
        let Some(count) = attack else { return };
        let now = Tree::read(p.base().join("outside"));
        assert_same(&outside, &now, "the outside");
        swaps += count;
        operations += 1;
    }
    assert!(done > 0, "some restores succeed under attack");
    p.restore(&full);
    assert_same(&before, &p.tree(), "exactly as it was, once it is quiet");
    p.fsck();
}
