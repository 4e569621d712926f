//! Where a path of a command line leads, going by the project as a save would find it.

use bstr::BString;

/// More links than this in one path are a circle.
const MAX_LINKS: usize = 40;
/// The kernel takes no longer path.
const MAX_PATH_BYTES: usize = 4095;

/// The project as a save would find it now. Paths are relative to its root, without a trailing slash;
/// the empty one is the root.
pub trait ProjectFiles {
    /// The root, absolute and without links.
    fn root(&self) -> &[u8];

    /// The user's home directory.
    fn home(&self) -> Option<&[u8]>;

    /// What is at a path. No link on the way is followed.
    fn entry(&self, path: &[u8]) -> PathEntry;

    /// The names in a directory that belongs to the project, left out ones included.
    fn names(&self, directory: &[u8]) -> Vec<BString>;

    /// The size of the file at a path.
    fn size(&self, path: &[u8]) -> Option<u64>;
}

/// What is at a path of the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathEntry {
    /// Nothing; it would be new.
    Nothing,
    /// A file that is saved.
    File,
    /// A link that is saved, and where it leads.
    Link(BString),
    /// A directory of the project.
    Directory,
    /// It, or a directory it is in, is left out.
    LeftOut,
}

/// Where a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResolvedPath {
    /// Into the project: the path from its root, and what is there.
    Inside(BString, PathEntry),
    /// Elsewhere; the path is absolute.
    Outside(BString),
}

impl ResolvedPath {
    /// The path, absolute.
    pub fn absolute(self, files: &dyn ProjectFiles) -> BString {
        match self {
            Self::Inside(path, _) if path.is_empty() => files.root().into(),
            Self::Inside(path, _) => [files.root(), b"/", &path].concat().into(),
            Self::Outside(path) => path,
        }
    }
}

/// Is the last component of a path followed if it is a link?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastLink {
    /// Where it leads is meant.
    Followed,
    /// The link is meant.
    Itself,
}

/// The last component of a path.
pub fn last_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

/// Follows a path as the kernel would: where it leads, and the links of the project on the way. `directory` is absolute
/// and without links.
pub fn resolve(
    files: &dyn ProjectFiles,
    directory: &[u8],
    text: &[u8],
    last: LastLink,
) -> (ResolvedPath, Vec<BString>) {
    if text.len() > MAX_PATH_BYTES {
        return (ResolvedPath::Outside(text.into()), Vec::new());
    }
    let mut way = Way {
        files,
        here: if text.first() == Some(&b'/') {
            Vec::new()
        } else {
            directory.strip_suffix(b"/").unwrap_or(directory).to_vec()
        },
        pending: Vec::new(),
        links: Vec::new(),
    };
    way.push(text);
    // A path that ends in a slash names what a link leads to.
    way.run(last == LastLink::Followed || text.ends_with(b"/"));
    (way.end(), way.links)
}

struct Way<'f> {
    files: &'f dyn ProjectFiles,
    /// Where it is, absolute; empty is the root of the file system.
    here: Vec<u8>,
    /// The components still to come, the next one last.
    pending: Vec<BString>,
    links: Vec<BString>,
}

impl Way<'_> {
    fn push(&mut self, path: &[u8]) {
        let components = path.split(|byte| *byte == b'/').rev();
        let components = components.filter(|name| !matches!(*name, b"" | b"."));
        self.pending.extend(components.map(BString::from));
    }

    /// The path inside the project, if that is where it is.
    fn inside(&self) -> Option<&[u8]> {
        let rest = self.here.strip_prefix(self.files.root())?;
        match rest {
            [] => Some(rest),
            [b'/', rest @ ..] => Some(rest),
            _ => None,
        }
    }

    /// Is the project below here? The way to it is known to have no links.
    fn is_above(&self) -> bool {
        let rest = self.files.root().strip_prefix(self.here.as_slice());
        rest.is_some_and(|rest| rest.first() == Some(&b'/'))
    }

    fn run(&mut self, follows: bool) {
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
            if let PathEntry::Link(target) = self.files.entry(path)
                && (!is_last || follows)
            {
                let link = path.into();
                self.links.push(link);
                if self.links.len() > MAX_LINKS || target.len() > MAX_PATH_BYTES {
                    break;
                }
                let is_absolute = target.first() == Some(&b'/');
                self.here.truncate(if is_absolute { 0 } else { parent });
                self.push(&target);
            }
        }
    }

    /// Would `..` lead somewhere that cannot be told from here?
    fn is_uncertain(&self) -> bool {
        match self.inside() {
            Some(path) => matches!(self.files.entry(path), PathEntry::LeftOut),
            None => !self.is_above() && !self.here.is_empty(),
        }
    }

    fn end(&self) -> ResolvedPath {
        match self.inside() {
            Some(path) => ResolvedPath::Inside(path.into(), self.files.entry(path)),
            None if self.here.is_empty() => ResolvedPath::Outside("/".into()),
            None => ResolvedPath::Outside(self.here.clone().into()),
        }
    }
}
