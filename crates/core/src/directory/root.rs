//! From any path to the directory that is the project.
//!
//! Every command and every agent goes through here, so that a file, its directory and the working
//! directory of a terminal all lead to the same project.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use bstr::ByteSlice;
use herma_fs::{FileKind, Stat, stat_path};

use super::refuse::{check_breadth, spellings};

/// A directory with one of these is a project.
pub(crate) const MARKERS: [&str; 9] = [
    ".git",
    "pyproject.toml",
    "package.json",
    "Cargo.toml",
    "go.mod",
    "Makefile",
    "pom.xml",
    ".hg",
    "Gemfile",
];

/// Why no project could be found for a path.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    /// The path is empty.
    #[error("the path is empty")]
    Empty,
    /// The path contains a NUL byte, which no file name can.
    #[error("the path contains a NUL byte")]
    Nul,
    /// `~` was given and nobody said where the home directory is.
    #[error("the home directory is not known")]
    NoHome,
    /// `~name`: only the user's own `~` is resolved.
    #[error("{} cannot be resolved: only ~ itself can", .0.display())]
    OtherHome(PathBuf),
    /// Nothing on the way to the path exists.
    #[error("no directory exists on the way to {}", .0.display())]
    NoDirectory(PathBuf),
    /// The system refused.
    #[error(transparent)]
    Io(#[from] herma_fs::Error),
}

/// The project `start` belongs to, as a canonical path.
///
/// `start` may be a file, a directory, or not exist; then its nearest existing directory counts. The
/// project is the nearest directory with a marker, itself included, on the same file system and mount and
/// below the user's home; without one it is the directory itself. Whether it may be saved is for
/// [`check_root`](super::check_root) to say.
pub fn find_root(start: &Path, user_home: Option<&Path>) -> Result<PathBuf, RootError> {
    let directory = existing_directory(&resolve_tilde(start, user_home)?)?;
    let homes = spellings(user_home);
    let place = |stat: Stat| (stat.dev, stat.mount);
    let device = stat_path(&directory)?.map(place);
    for candidate in directory.ancestors() {
        // What is above a directory that is too broad is broader still.
        if check_breadth(candidate, &homes).is_err() {
            break;
        }
        // An ancestor we may not look at ends the search, it does not fail it.
        if stat_path(candidate).ok().flatten().map(place) != device {
            break;
        }
        if has_marker(candidate) {
            return Ok(candidate.to_owned());
        }
    }
    Ok(directory)
}

/// Does a directory contain something that marks a project?
pub fn has_marker(directory: &Path) -> bool {
    MARKERS.iter().any(|marker| matches!(stat_path(&directory.join(marker)), Ok(Some(_))))
}

fn resolve_tilde(start: &Path, user_home: Option<&Path>) -> Result<PathBuf, RootError> {
    let bytes = start.as_os_str().as_bytes();
    if bytes.is_empty() {
        return Err(RootError::Empty);
    }
    if bytes.contains(&0) {
        return Err(RootError::Nul);
    }
    let Some(rest) = bytes.strip_prefix(b"~") else { return Ok(start.to_owned()) };
    if rest.is_empty() || rest[0] == b'/' {
        let home = user_home.ok_or(RootError::NoHome)?;
        let below = rest.trim_start_with(|c| c == '/');
        return Ok(home.join(OsStr::from_bytes(below)));
    }
    // A file may really be called so.
    match stat_path(start)? {
        Some(_) => Ok(start.to_owned()),
        None => Err(RootError::OtherHome(start.to_owned())),
    }
}

/// The canonical path of the nearest directory that exists: the path itself or one on the way to it.
fn existing_directory(path: &Path) -> Result<PathBuf, RootError> {
    let mut wanted = path;
    let canonical = loop {
        match herma_fs::dir::canonicalize(wanted) {
            Ok(canonical) => break canonical,
            // Something on the way is a file, or `..` follows what does not exist.
            Err(e) if e.is_not_found() || e.errno() == Some(herma_fs::Errno::NOTDIR) => {
                wanted = match wanted.parent() {
                    Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
                    Some(parent) => parent,
                    None => return Err(RootError::NoDirectory(path.to_owned())),
                };
            }
            Err(e) => return Err(e.into()),
        }
    };
    for candidate in canonical.ancestors() {
        if stat_path(candidate)?.is_some_and(|stat| stat.kind == FileKind::Directory) {
            return Ok(candidate.to_owned());
        }
    }
    Err(RootError::NoDirectory(path.to_owned()))
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use super::*;

    struct Place {
        _dir: tempfile::TempDir,
        path: PathBuf,
    }

    fn place(files: &[&str]) -> Place {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap();
        for file in files {
            std::fs::create_dir_all(path.join(file).parent().unwrap()).unwrap();
            std::fs::write(path.join(file), "").unwrap();
        }
        Place { _dir: dir, path }
    }

    impl Place {
        #[track_caller]
        fn expect(&self, start: &str, home: &str, root: &str) {
            let found = find_root(&self.path.join(start), Some(&self.path.join(home))).unwrap();
            assert_eq!(found, self.path.join(root), "from {start}");
        }
    }

    #[test]
    fn a_file_its_directory_and_the_root_are_one_project() {
        let place = place(&["me/repo/.git/HEAD", "me/repo/src/deep/a.rs", "me/repo/sub/go.mod"]);
        for start in ["me/repo", "me/repo/src", "me/repo/src/deep", "me/repo/src/deep/a.rs"] {
            place.expect(start, "me", "me/repo");
        }
        place.expect("me/repo/sub", "me", "me/repo/sub");
    }

    #[test]
    fn what_does_not_exist_belongs_where_it_would_be_created() {
        let place = place(&["me/repo/Cargo.toml", "me/repo/file"]);
        for start in ["me/repo/new/dir/x.rs", "me/repo/file/x", "me/repo/no/../x", "me/repo/no/.."]
        {
            place.expect(start, "me", "me/repo");
        }
        std::os::unix::fs::symlink("nowhere", place.path.join("me/repo/dangling")).unwrap();
        place.expect("me/repo/dangling", "me", "me/repo");
    }

    #[test]
    fn a_dotfiles_repository_in_the_home_no_longer_swallows_every_file() {
        let place = place(&["me/.git/HEAD", "me/notes/a.txt", "me/b.txt", "Makefile"]);
        place.expect("me/notes/a.txt", "me", "me/notes");
        place.expect("me/notes", "me", "me/notes");
        place.expect("me/b.txt", "me", "me");
        std::os::unix::fs::symlink(place.path.join("me"), place.path.join("link")).unwrap();
        place.expect("me/notes", "link", "me/notes");
        place.expect("link/notes", "me", "me/notes");
    }

    #[test]
    fn without_a_marker_the_directory_itself_is_the_project() {
        let place = place(&["me/plain/a.txt"]);
        place.expect("me/plain", "me", "me/plain");
        place.expect("me/plain/a.txt", "me", "me/plain");
    }

    #[test]
    fn the_search_stops_at_another_file_system() {
        // /proc is always another file system than /, and neither may be taken.
        if stat_path(Path::new("/proc/self")).unwrap().is_some() {
            let found = find_root(Path::new("/proc/sys/kernel"), None).unwrap();
            assert_eq!(found, Path::new("/proc/sys/kernel"));
        }
    }

    #[test]
    fn strange_paths_are_errors_and_never_panics() {
        let find = |start: &str| find_root(Path::new(start), Some(Path::new("/")));
        assert!(matches!(find(""), Err(RootError::Empty)));
        assert!(matches!(find("a\0b"), Err(RootError::Nul)));
        assert!(matches!(find("~nosuchuser/x"), Err(RootError::OtherHome(_))));
        assert!(matches!(find_root(Path::new("~/x"), None), Err(RootError::NoHome)));
        assert!(matches!(find(&"x".repeat(5000)), Err(RootError::Io(_))));
    }

    #[test]
    fn the_tilde_is_the_home_given() {
        let place = place(&["me/repo/Makefile"]);
        let home = place.path.join("me");
        assert_eq!(find_root(Path::new("~/repo/x"), Some(&home)).unwrap(), home.join("repo"));
        assert_eq!(find_root(Path::new("~"), Some(&home)).unwrap(), home);
    }
}
