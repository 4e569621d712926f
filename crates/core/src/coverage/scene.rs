//! One program at work: what it does to a path, by what is there.

use bstr::BString;

use super::What;
use super::Why;
use super::answer::IDENTITY_NOT_KEPT;
use super::answer::Ledger;
use super::answer::last_name;
use super::places::Found;
use super::places::LastLink;
use super::places::Place;
use super::places::resolve;
use crate::snapshot::reason::Reason;

const ROOT_NOT_KEPT: &str =
    "checkpoints hold what is in the project's directory, not the directory";

/// One program at work in one directory.
pub(crate) struct Scene<'l, 'g> {
    pub(crate) ledger: &'l mut Ledger<'g>,
    /// Where it runs, absolute; `None` if that is not known.
    pub(crate) directory: Option<BString>,
    /// What it is called in the answer.
    pub(crate) program: BString,
    /// How many programs it was started through.
    pub(crate) depth: usize,
}

impl Scene<'_, '_> {
    /// It may change any file.
    pub(crate) fn unknown(&mut self, why: &'static str) {
        self.ledger.is_unknown = true;
        let what = What::Program(self.program.clone());
        self.ledger.add(what, Why::Unknown(why));
    }

    /// It changes something that is no file.
    pub(crate) fn elsewhere(&mut self, why: &'static str) {
        let what = What::Program(self.program.clone());
        self.ledger.add(what, Why::OutsideFiles(why));
    }

    /// It changes the repository it runs in.
    pub(crate) fn git_directory(&mut self) {
        match self.place(b".git", LastLink::Itself) {
            Some(Place::Outside(path)) => self.outside(&path),
            _ => self.ledger.add_path(b".git", Why::GitDirectory),
        }
    }

    /// It may write any file of the repository it runs in, also one that is ignored.
    pub(crate) fn fills_repository(&mut self) {
        match self.place(b".", LastLink::Followed) {
            Some(Place::Outside(path)) => self.outside(&path),
            Some(Place::Inside { .. }) => {
                let root = self.ledger.ground.root().to_vec();
                self.writes_below(&root);
                if self.ledger.ground.look(b".git") == Found::Nothing {
                    self.unknown("its repository may reach beyond the project");
                }
            }
            None => {}
        }
    }

    /// It changes something about a file that no checkpoint keeps.
    pub(crate) fn not_kept(&mut self, path: &[u8], why: &'static str) {
        match self.place(path, LastLink::Followed) {
            None => {}
            Some(Place::Outside(path)) => self.outside(&path),
            Some(Place::Inside { path, .. }) => self.ledger.add_path(&path, Why::NotKept(why)),
        }
    }

    /// It changes the mode of what is at a path, which may be the root.
    pub(crate) fn changes_root_mode(&mut self, path: &[u8]) {
        let ground = self.ledger.ground;
        if let Some(Place::Inside { path, .. }) = self.place(path, LastLink::Followed)
            && path.is_empty()
            && ground.lost(&path).identity
        {
            let what = What::Path(ground.root().into());
            self.ledger.add(what, Why::NotKept(IDENTITY_NOT_KEPT));
        }
    }

    /// Where a path leads. An unknown present directory makes everything relative unknown.
    pub(crate) fn place(&mut self, path: &[u8], last: LastLink) -> Option<Place> {
        let directory = match &self.directory {
            Some(directory) => directory.clone(),
            None if path.first() == Some(&b'/') => "/".into(),
            None => {
                self.unknown("the directory it runs in is known only when it runs");
                return None;
            }
        };
        let resolved = resolve(self.ledger.ground, &directory, path, last);
        if matches!(resolved.place, Place::Inside { .. }) {
            self.ledger.order.goes(resolved.links);
        }
        Some(resolved.place)
    }

    /// Is there a directory of the project, or a link to one?
    pub(crate) fn is_directory(&mut self, path: &[u8]) -> bool {
        let place = self.place(path, LastLink::Followed);
        matches!(
            place,
            Some(Place::Inside {
                found: Found::Directory,
                ..
            })
        )
    }

    fn outside(&mut self, path: &[u8]) {
        let harmless = matches!(
            path,
            b"/dev/null" | b"/dev/stdout" | b"/dev/stderr" | b"/dev/tty" | b"/dev/zero"
        ) || path.starts_with(b"/dev/fd/");
        if !harmless {
            self.ledger.add(What::Path(path.into()), Why::Outside);
        }
    }

    /// It writes into the file at a path, or makes it.
    pub(crate) fn writes(&mut self, path: &[u8]) {
        match self.place(path, LastLink::Followed) {
            None => {}
            Some(Place::Outside(path)) => self.outside(&path),
            Some(Place::Inside { path, found }) => self.ledger.change(&path, &found, false),
        }
    }

    /// It writes a file that becomes this large at most; `None` if that is not known. One that is too large
    /// cannot be saved before an undo, so what was there before does not come back by itself.
    pub(crate) fn writes_so_much(&mut self, path: &[u8], size: Option<u64>) {
        self.writes(path);
        let fits = match (self.ledger.ground.largest_file(), size) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(most), Some(size)) => size <= most,
        };
        if !fits && let Some(Place::Inside { path, .. }) = self.place(path, LastLink::Followed) {
            self.ledger.add_path(&path, Why::LeftOut(Reason::TooLarge));
        }
    }

    /// It writes what it, or the pipeline it is in, prints.
    pub(crate) fn writes_output(&mut self, path: &[u8]) {
        if self.ledger.is_endless {
            self.writes_so_much(path, None);
        } else {
            self.writes(path);
        }
    }

    /// It makes a file, link or directory at a path, in place of what is there.
    pub(crate) fn makes(&mut self, path: &[u8], is_dir: bool) {
        match self.place(path, LastLink::Itself) {
            None => {}
            Some(Place::Outside(path)) => self.outside(&path),
            Some(Place::Inside { path, found }) => self.ledger.change(&path, &found, is_dir),
        }
    }

    /// It removes or replaces what is at a path, with everything below it.
    pub(crate) fn replaces(&mut self, path: &[u8]) {
        let ends_here = last_name(path) == b".";
        match self.place(path, LastLink::Itself) {
            None => {}
            Some(Place::Outside(path)) => {
                let root = self.ledger.ground.root();
                let holds_project = root.starts_with(&path) || path == "/";
                self.outside(&path);
                if holds_project {
                    self.ledger.left_out_below(b"");
                }
            }
            Some(Place::Inside { path, found }) => {
                if path.is_empty() && !ends_here {
                    let root = self.ledger.ground.root().into();
                    self.ledger
                        .add(What::Path(root), Why::NotKept(ROOT_NOT_KEPT));
                }
                if found == Found::Directory {
                    self.ledger.left_out_below(&path);
                    self.ledger.lose_below(&path);
                }
                if found != Found::Nothing {
                    self.ledger.change(&path, &found, false);
                }
            }
        }
    }

    /// It changes files below a directory in place.
    pub(crate) fn writes_below(&mut self, path: &[u8]) {
        match self.place(path, LastLink::Followed) {
            None => {}
            Some(Place::Outside(path)) => self.outside(&path),
            Some(Place::Inside { path, found }) => {
                if found == Found::Directory {
                    self.ledger.left_out_below(&path);
                    self.ledger.lose_below(&path);
                }
                self.ledger.change(&path, &found, true);
            }
        }
    }

    /// It removes what git does not track below a directory; what git ignores too, if `ignored`.
    pub(crate) fn cleans(&mut self, path: &[u8], ignored: bool) {
        let Some(Place::Inside { path, .. }) = self.place(path, LastLink::Followed) else {
            return self.unknown("which files it removes is known only when it runs");
        };
        let ground = self.ledger.ground;
        let ledger = &mut *self.ledger;
        ground.left_out_below(&path, &mut |path, reason| {
            let is_git = last_name(path) == b".git";
            if !is_git && (ignored || reason != Reason::Ignored) {
                ledger.add_path(path, Why::LeftOut(reason));
            }
        });
        ledger.lose_below(&path);
        ledger.change(&path, &Found::Directory, true);
    }

    /// It writes files below a directory whose names are not known.
    pub(crate) fn fills(&mut self, path: &[u8]) {
        self.writes_below(path);
        let what = What::Program(self.program.clone());
        let why = "which files it writes is known only when it runs";
        self.ledger.add(what, Why::Unknown(why));
    }

    /// Where something called `name` comes to, if it goes to `target`, or into it if that is a directory.
    /// `None` if that is outside, which is noted.
    fn destination(&mut self, name: &[u8], target: &[u8]) -> Option<Vec<u8>> {
        match self.place(target, LastLink::Followed)? {
            Place::Outside(path) => {
                self.outside(&path);
                None
            }
            Place::Inside {
                found: Found::Directory,
                ..
            } if !matches!(name, b"." | b".." | b"") => Some([target, b"/", name].concat()),
            Place::Inside { .. } => Some(target.to_vec()),
        }
    }

    /// It copies or moves `source` to `target`, or into it if that is a directory.
    pub(crate) fn lands(&mut self, source: &[u8], target: &[u8], how: Landing) {
        let target = if how.into_directory {
            let name = last_name(trim_slashes(source));
            let Some(target) = self.destination(name, target) else {
                return;
            };
            target
        } else {
            target.to_vec()
        };
        if !how.with_tree {
            return self.lands_as_file(source, &target, how);
        }
        match self.place(source, LastLink::Itself) {
            Some(Place::Inside {
                path,
                found: Found::Directory,
            }) => self.lands_as_tree(&path, &target),
            Some(Place::Inside {
                found: Found::File | Found::Nothing,
                ..
            }) => self.lands_as_file(source, &target, how),
            Some(Place::Inside {
                found: Found::Link(_),
                ..
            }) => {
                self.makes(&target, false);
                self.note_link(&target);
            }
            _ => self.fills(&target),
        }
    }

    /// It makes a link to `target` at `path`, or in it if that is a directory.
    pub(crate) fn lands_as_link(&mut self, target: &[u8], path: &[u8], how: Linking) {
        let path = if how.into_directory {
            let name = last_name(trim_slashes(target));
            let Some(path) = self.destination(name, path) else {
                return;
            };
            path
        } else {
            path.to_vec()
        };
        self.makes(&path, false);
        if how.symbolic {
            return self.note_link(&path);
        }
        // Whatever changes one name of a file changes the other.
        self.writes(target);
        if let Some(Place::Inside {
            found: Found::Link(_),
            ..
        }) = self.place(target, LastLink::Itself)
        {
            self.note_link(&path);
        }
    }

    /// A link comes to this path.
    fn note_link(&mut self, path: &[u8]) {
        if let Some(Place::Inside { path, .. }) = self.place(path, LastLink::Itself) {
            self.ledger.order.makes_link(&path);
        }
    }

    fn lands_as_file(&mut self, source: &[u8], target: &[u8], how: Landing) {
        let from = self.place(source, LastLink::Followed);
        let too_large = Found::LeftOut(Reason::TooLarge);
        if matches!(&from, Some(Place::Outside(device)) if device.starts_with(b"/dev/") && device != "/dev/null")
        {
            return self.writes_so_much(target, None);
        }
        if let Some(Place::Inside { found, .. }) = from
            && found == too_large
            && let Some(Place::Inside { path, .. }) = self.place(target, LastLink::Followed)
        {
            return self.ledger.change(&path, &too_large, false);
        }
        if how.replaces {
            self.makes(target, false);
        } else {
            self.writes(target);
        }
    }

    /// Every name of a tree is judged at the place it comes to.
    fn lands_as_tree(&mut self, source: &[u8], target: &[u8]) {
        let place = self.place(target, LastLink::Followed);
        let (path, found) = match place {
            None => return,
            Some(Place::Outside(path)) => return self.outside(&path),
            Some(Place::Inside { path, found }) => (path, found),
        };
        let is_new = found == Found::Nothing;
        self.ledger.change(&path, &found, true);
        let ground = self.ledger.ground;
        let moved = |from: &[u8]| {
            let rest = &from[source.len()..];
            let rest = rest.strip_prefix(b"/").unwrap_or(rest);
            if path.is_empty() {
                rest.to_vec()
            } else {
                [&path, &b"/"[..], rest].concat()
            }
        };
        ground.left_out_below(source, &mut |from, reason| {
            self.ledger.add_path(&moved(from), Why::LeftOut(reason));
        });
        let mut is_complete = true;
        let ledger = &mut *self.ledger;
        ground.saved_below(source, &mut |from| {
            is_complete = ledger.names_to_match > 0;
            if is_complete {
                ledger.names_to_match -= 1;
                ledger.lands_at(&moved(from), &ground.look(from), is_new);
            }
            is_complete
        });
        if !is_complete {
            self.unknown("it copies more files than are looked at beforehand");
        }
    }
}

/// How files come to a place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Landing {
    /// Into the target, if that is a directory?
    pub(crate) into_directory: bool,
    /// Directories with everything below them?
    pub(crate) with_tree: bool,
    /// Taking the place of a link instead of writing where it leads?
    pub(crate) replaces: bool,
}

/// How a link comes to a place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Linking {
    /// Into the place, if that is a directory?
    pub(crate) into_directory: bool,
    /// A symbolic link, or another name of the same file?
    pub(crate) symbolic: bool,
}

fn trim_slashes(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|byte| *byte != b'/');
    &path[..end.map_or(0, |end| end + 1)]
}
