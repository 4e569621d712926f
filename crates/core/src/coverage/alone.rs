//! What a program may change, going by its name and arguments alone: no project is looked at.
//!
//! The same table of programs answers as for [`super::CanUndo`], on a ground where every file a command names
//! is there and may change. Git is taken for a program that runs nothing but itself.

use bstr::BString;
use herma_fs::FileKind;

use super::Why;
use super::answer::Ledger;
use super::places::Found;
use super::places::Ground;
use super::places::Lost;
use super::programs;
use super::scene::Scene;
use crate::snapshot::reason::Reason;

/// Where a program runs that runs nowhere.
const ROOT: &[u8] = b"/project";

/// What a program may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touches {
    /// Nothing.
    Nothing,
    /// Files, and it is known how.
    Files,
    /// Any file: what it does with these arguments is not known.
    Anything,
    /// What is no file here: another machine, a database, the system.
    Elsewhere,
}

/// What a program with these arguments may change. The first one is its name; `None` stands for what only the
/// shell knows.
pub fn touches(arguments: &[Option<BString>]) -> Touches {
    judge(|scene| programs::effects(scene, arguments))
}

/// What writing to a path changes: nothing, if it is `/dev/null` or the terminal.
pub fn touches_by_writing(path: &[u8]) -> Touches {
    judge(|scene| scene.writes(path))
}

/// May this variable be set without changing what well-known programs do?
pub fn may_be_set(name: &[u8]) -> bool {
    programs::is_harmless_variable(name)
}

fn judge(work: impl FnOnce(&mut Scene<'_, '_>)) -> Touches {
    let mut ledger = Ledger::new(&Nowhere);
    work(&mut Scene {
        ledger: &mut ledger,
        directory: Some(ROOT.into()),
        program: BString::default(),
        depth: 0,
    });
    if ledger.is_empty() && !ledger.is_unknown {
        return Touches::Nothing;
    }
    if ledger.is_unknown {
        return Touches::Anything;
    }
    let is_elsewhere = |why: Why| matches!(why, Why::OutsideFiles(_));
    let found = ledger.finish();
    let only_elsewhere = found.uncovered.iter().all(|one| is_elsewhere(one.why));
    if found.changes.is_empty() && only_elsewhere {
        Touches::Elsewhere
    } else {
        Touches::Files
    }
}

/// What of a text for a shell could be taken back, with no project to look at.
#[cfg(fuzzing)]
pub(crate) fn can_undo(text: &[u8]) -> super::CanUndo {
    let mut ledger = Ledger::new(&Nowhere);
    super::run(&super::Command::Shell(text.into()), ROOT, &mut ledger);
    ledger.finish()
}

/// A project in which everything is a file that is saved.
struct Nowhere;

impl Ground for Nowhere {
    fn root(&self) -> &[u8] {
        ROOT
    }

    fn home(&self) -> Option<&[u8]> {
        None
    }

    fn look(&self, path: &[u8]) -> Found {
        match path {
            b"" => Found::Directory,
            b".git" => Found::LeftOut(Reason::Excluded),
            _ => Found::File,
        }
    }

    fn names(&self, _: &[u8]) -> Vec<BString> {
        Vec::new()
    }

    fn left_out_below(&self, _: &[u8], _: &mut dyn FnMut(&[u8], Reason)) {}

    fn saved_below(&self, _: &[u8], _: &mut dyn FnMut(&[u8]) -> bool) {}

    fn rule(&self, _: &[u8], _: bool) -> Option<Reason> {
        None
    }

    fn lost(&self, _: &[u8]) -> Lost {
        Lost::default()
    }

    fn lost_below(&self, _: &[u8], _: &mut dyn FnMut(&[u8], Lost)) {}

    fn largest_file(&self) -> Option<u64> {
        None
    }

    fn size(&self, _: &[u8]) -> Option<u64> {
        None
    }

    fn kind(&self, path: &[u8]) -> Option<FileKind> {
        (path == b".git").then_some(FileKind::Directory)
    }

    fn read(&self, _: &[u8], _: u64) -> Option<Vec<u8>> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coverage::options::Argument;

    fn of(line: &str) -> Touches {
        let words: Vec<Argument> = line.split(' ').map(|word| Some(word.into())).collect();
        touches(&words)
    }

    #[test]
    fn programs_are_judged_without_a_project() {
        for line in [
            "cat a b",
            "git status",
            "git log -p",
            "find . -name x",
            "sed -n 1p a",
        ] {
            assert_eq!(of(line), Touches::Nothing, "{line}");
        }
        for line in [
            "rm a",
            "rm -rf .",
            "mv a b",
            "find . -delete",
            "git stash",
            "git clean -fd",
            "git reset --hard",
            "sed -i s/a/b/ f",
            "tee f",
            "touch a",
            "mkdir d",
            "rm ../x",
        ] {
            assert_eq!(of(line), Touches::Files, "{line}");
        }
        assert_eq!(of("make clean"), Touches::Anything);
        assert_eq!(of("kubectl delete pod x"), Touches::Elsewhere);
        assert_eq!(touches(&[None]), Touches::Anything);
    }

    #[test]
    fn writing_to_no_file_changes_nothing() {
        for path in ["/dev/null", "/dev/stderr", "/dev/tty", "/dev/fd/3"] {
            assert_eq!(
                touches_by_writing(path.as_bytes()),
                Touches::Nothing,
                "{path}"
            );
        }
        for path in ["f", "/tmp/f", "/dev/sda", "../f", ""] {
            assert_eq!(
                touches_by_writing(path.as_bytes()),
                Touches::Files,
                "{path}"
            );
        }
    }
}
