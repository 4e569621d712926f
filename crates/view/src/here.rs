//! Paths as somebody types them who is in this directory.
//!
//! What people read names every file of a project through [`path`], so that what is printed in a directory can be typed there. What
//! programs read, JSON and patches, names files from the project's root; where they read, nobody [`stand`]s anywhere.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use herma_core::RelPath;
use herma_store::path::escape;

/// A project's root, and a directory; both absolute.
#[derive(Default)]
struct Here {
    root: PathBuf,
    directory: PathBuf,
}

thread_local! {
    static HERE: RefCell<Here> = RefCell::default();
}

/// From now on paths of the project at `root` are named as from `directory`.
pub fn stand(root: &Path, directory: &Path) {
    let here = Here { root: root.to_owned(), directory: directory.to_owned() };
    HERE.with(|place| place.replace(here));
}

/// A path in the project, as a terminal may see it.
pub fn path(path: &RelPath) -> String {
    if path.is_root() { from_here(b".") } else { from_here(path.as_bytes()) }
}

/// The same of one that is only known as bytes.
pub fn from_here(path: &[u8]) -> String {
    escape(&bytes(path))
}

/// The bytes of the path from here.
pub fn bytes(path: &[u8]) -> Cow<'_, [u8]> {
    HERE.with_borrow(|here| {
        if here.root == here.directory || path.starts_with(b"/") {
            return Cow::Borrowed(path);
        }
        let way = way(&here.directory, &here.root.join(OsStr::from_bytes(path)));
        let mut way = way.into_os_string().into_encoded_bytes();
        // Where it ends in `/`, that says what it is.
        way.extend(path.ends_with(b"/").then_some(b'/'));
        Cow::Owned(way)
    })
}

/// How something is called here that is called so from the root, if it is there: patches name files that way.
pub fn called_from_root(path: &str) -> Option<String> {
    let is_there = |here: &Here| {
        here.root != here.directory && here.root.join(path).symlink_metadata().is_ok()
    };
    HERE.with_borrow(is_there).then(|| from_here(path.as_bytes()))
}

/// A path or a name as a terminal may see it.
pub fn shown(name: impl AsRef<OsStr>) -> String {
    escape(name.as_ref().as_encoded_bytes())
}

/// A word as a shell takes it.
pub fn quote(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./,:=+@%^".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// The way from one absolute path to another.
pub fn way(from: &Path, to: &Path) -> PathBuf {
    let shared = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(shared).map(|_| OsStr::new(".."));
    let way: PathBuf = up.chain(to.components().skip(shared).map(Component::as_os_str)).collect();
    if way.as_os_str().is_empty() { PathBuf::from(".") } else { way }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_named_from_where_somebody_is() {
        let named = |path: &str| from_here(path.as_bytes());
        assert_eq!(named("a/b.py"), "a/b.py");
        stand(Path::new("/p"), Path::new("/p/packages/api"));
        assert_eq!(named("packages/api/x.py"), "x.py");
        assert_eq!(named("packages/web/x.py"), "../web/x.py");
        assert_eq!(named("packages/apis/x.py"), "../apis/x.py");
        assert_eq!(named("packages/api/node_modules/"), "node_modules/");
        assert_eq!(named("packages/api"), ".");
        assert_eq!(named("."), "../..");
        assert_eq!(named("/etc/hosts"), "/etc/hosts");
        stand(Path::new("/p"), Path::new("/q"));
        assert_eq!(named("a"), "../p/a");
    }
}
