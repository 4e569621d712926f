//! Where a path of a command line leads, going by the project as a save would find it.

use bstr::BString;
use herma_fs::FileKind;

use crate::snapshot::reason::Reason;

/// More links than this in one path are a circle.
const MOST_LINKS: usize = 40;
/// The kernel takes no longer path.
const LONGEST: usize = 4095;

/// The project as a save would find it now. Paths are relative to its root, without a trailing slash;
/// the empty one is the root.
pub(crate) trait Ground {
    /// The root, absolute and without links.
    fn root(&self) -> &[u8];

    /// The user's home directory.
    fn home(&self) -> Option<&[u8]>;

    /// What is at a path. No link on the way is followed.
    fn look(&self, path: &[u8]) -> Found;

    /// The names in a directory that belongs to the project, left out ones included.
    fn names(&self, directory: &[u8]) -> Vec<BString>;

    /// Calls `each` for everything left out at or below a path.
    fn left_out_below(&self, path: &[u8], each: &mut dyn FnMut(&[u8], Reason));

    /// Calls `each` with the path of everything saved below a directory, until it returns `false`.
    fn saved_below(&self, directory: &[u8], each: &mut dyn FnMut(&[u8]) -> bool);

    /// Why the rules would leave out a file or directory made at this path, if they would.
    fn rule(&self, path: &[u8], is_dir: bool) -> Option<Reason>;

    /// What of the file or directory at a path would not come back with it.
    fn lost(&self, path: &[u8]) -> Lost;

    /// Calls `each` for everything saved below a directory that would not come back whole.
    fn lost_below(&self, directory: &[u8], each: &mut dyn FnMut(&[u8], Lost));

    /// A larger file is not saved.
    fn largest_file(&self) -> Option<u64>;

    /// The size of the file at a path.
    fn size(&self, path: &[u8]) -> Option<u64>;

    /// What is on disk at a path, whether it is saved or not. No link on the way is followed.
    fn kind(&self, path: &[u8]) -> Option<FileKind>;

    /// The content of the file at a path, whether it is saved or not; `None` if it is longer than `limit`
    /// or cannot be read. No link is followed.
    fn read(&self, path: &[u8], limit: u64) -> Option<Vec<u8>>;
}

/// What is at a path of the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing; it would be new.
    Nothing,
    /// A file that is saved.
    File,
    /// A link that is saved, and where it leads.
    Link(BString),
    /// A directory of the project.
    Directory,
    /// It, or a directory it is in, is left out.
    LeftOut(Reason),
}

/// What a checkpoint does not keep of a file or directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lost {
    /// It has other names, which would be other files afterwards.
    pub(crate) other_names: bool,
    /// It has a setuid or setgid bit.
    pub(crate) identity: bool,
}

/// Where a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Into the project.
    Inside { path: BString, found: Found },
    /// Elsewhere; the path is absolute.
    Outside(BString),
}

/// A path, followed to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resolved {
    pub(crate) place: Place,
    /// The links of the project followed on the way.
    pub(crate) links: Vec<BString>,
}

/// Is the last component of a path followed if it is a link?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LastLink {
    Followed,
    Itself,
}

/// The absolute form of a path inside the project.
pub(crate) fn absolute(ground: &dyn Ground, path: &[u8]) -> BString {
    let mut absolute = ground.root().to_vec();
    if !path.is_empty() {
        absolute.push(b'/');
        absolute.extend_from_slice(path);
    }
    absolute.into()
}

/// Follows a path as the kernel would. `directory` is absolute and without links.
pub(crate) fn resolve(
    ground: &dyn Ground,
    directory: &[u8],
    text: &[u8],
    last: LastLink,
) -> Resolved {
    let mut walk = Walk {
        ground,
        here: if text.first() == Some(&b'/') {
            Vec::new()
        } else {
            directory.strip_suffix(b"/").unwrap_or(directory).to_vec()
        },
        pending: Vec::new(),
        links: Vec::new(),
    };
    walk.push(text);
    // A path that ends in a slash names what a link leads to.
    let follows = last == LastLink::Followed || text.ends_with(b"/");
    let place = if text.len() > LONGEST {
        Place::Outside(text.into())
    } else {
        walk.run(follows)
    };
    Resolved {
        place,
        links: walk.links,
    }
}

struct Walk<'g> {
    ground: &'g dyn Ground,
    /// Where it is, absolute; empty is the root of the file system.
    here: Vec<u8>,
    /// The components still to come, the next one last.
    pending: Vec<BString>,
    links: Vec<BString>,
}

impl Walk<'_> {
    fn push(&mut self, path: &[u8]) {
        let components = path.split(|byte| *byte == b'/').rev();
        let components = components.filter(|name| !matches!(*name, b"" | b"."));
        self.pending.extend(components.map(BString::from));
    }

    /// The path inside the project, if that is where it is.
    fn inside(&self) -> Option<&[u8]> {
        let rest = self.here.strip_prefix(self.ground.root())?;
        match rest {
            [] => Some(rest),
            [b'/', rest @ ..] => Some(rest),
            _ => None,
        }
    }

    /// Is the project below here? The way to it is known to have no links.
    fn is_above(&self) -> bool {
        let rest = self.ground.root().strip_prefix(self.here.as_slice());
        rest.is_some_and(|rest| rest.first() == Some(&b'/'))
    }

    fn run(&mut self, follows: bool) -> Place {
        while let Some(name) = self.pending.pop() {
            if name == ".." {
                if self.is_uncertain() {
                    break;
                }
                let end = self.here.iter().rposition(|byte| *byte == b'/');
                self.here.truncate(end.unwrap_or(0));
                continue;
            }
            let parent = self.here.len();
            self.here.push(b'/');
            self.here.extend_from_slice(&name);
            let Some(path) = self.inside() else { continue };
            let is_last = self.pending.is_empty();
            if let Found::Link(target) = self.ground.look(path)
                && (!is_last || follows)
            {
                let link = path.into();
                self.links.push(link);
                if self.links.len() > MOST_LINKS || target.len() > LONGEST {
                    break;
                }
                let is_absolute = target.first() == Some(&b'/');
                self.here.truncate(if is_absolute { 0 } else { parent });
                self.push(&target);
            }
        }
        self.place()
    }

    /// Would `..` lead somewhere that cannot be told from here?
    fn is_uncertain(&self) -> bool {
        match self.inside() {
            Some(path) => matches!(self.ground.look(path), Found::LeftOut(_)),
            None => !self.is_above() && !self.here.is_empty(),
        }
    }

    fn place(&self) -> Place {
        match self.inside() {
            Some(path) => Place::Inside {
                path: path.into(),
                found: self.ground.look(path),
            },
            None if self.here.is_empty() => Place::Outside("/".into()),
            None => Place::Outside(self.here.clone().into()),
        }
    }
}
