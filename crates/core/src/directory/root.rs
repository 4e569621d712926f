//! From any path to the directory that is the project.
//!
//! Every command and every agent goes through here, so that a file, its directory and the working
//! directory of a terminal all lead to the same project. History decides before markers do: the packages of a
//! monorepo have a marker each, but where the whole of it is saved, they are parts of it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use bstr::ByteSlice;
use herma_fs::{FileKind, Stat, stat_path};

use super::refuse::{check_breadth, spellings};

/// What the top of a git repository has, be it a worktree or a submodule.
const REPOSITORY: &str = ".git";

/// A directory with one of these is a project.
pub(crate) const MARKERS: [&str; 9] = [
    REPOSITORY,
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
/// project is the nearest directory with checkpoints, itself included, else the nearest with a marker, else
/// the directory itself. The search ends at a git repository, which is no part of the project around it, at the
/// edge of the file system or mount, and below the user's home. Whether the project may be saved is for
/// [`check_root`](super::check_root) to say.
pub fn find_root(
    start: &Path,
    user_home: Option<&Path>,
    has_checkpoints: impl Fn(&Path) -> bool,
) -> Result<PathBuf, RootError> {
    let directory = existing_directory(&resolve_tilde(start, user_home)?)?;
    // Most calls come from the top of a repository: for them nobody has to look into the store.
    if is_repository(&directory) {
        return Ok(directory);
    }
    let candidates = candidates(&directory, user_home)?;
    let saved = candidates.iter().find(|candidate| has_checkpoints(candidate));
    let found = saved.or_else(|| candidates.iter().find(|candidate| has_marker(candidate)));
    Ok(found.map_or(&*directory, |found| *found).to_owned())
}

/// The directories that may be the project of one, nearest first: itself and those around it, as far as the search goes.
fn candidates<'a>(
    directory: &'a Path,
    user_home: Option<&Path>,
) -> Result<Vec<&'a Path>, RootError> {
    let homes = spellings(user_home);
    let place = |stat: Stat| (stat.dev, stat.mount);
    let device = stat_path(directory)?.map(place);
    let mut candidates = Vec::new();
    for candidate in directory.ancestors() {
        // What is above a directory that is too broad is broader still.
        if check_breadth(candidate, &homes).is_err() {
            break;
        }
        // An ancestor we may not look at ends the search, it does not fail it.
        if stat_path(candidate).ok().flatten().map(place) != device {
            break;
        }
        candidates.push(candidate);
        if is_repository(candidate) {
            break;
        }
    }
    Ok(candidates)
}

fn is_repository(directory: &Path) -> bool {
    matches!(stat_path(&directory.join(REPOSITORY)), Ok(Some(_)))
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
            self.expect_with(&[], start, home, root);
        }

        /// The same where these directories have checkpoints.
        #[track_caller]
        fn expect_with(&self, saved: &[&str], start: &str, home: &str, root: &str) {
            let has_checkpoints =
                |dir: &Path| saved.iter().any(|saved| self.path.join(saved) == dir);
            let (start, home) = (self.path.join(start), self.path.join(home));
            let found = find_root(&start, Some(&home), has_checkpoints).unwrap();
            assert_eq!(found, self.path.join(root), "from {}", start.display());
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
    fn a_package_belongs_to_the_monorepo_that_is_saved() {
        let place = place(&[
            "me/mono/.git/HEAD",
            "me/mono/packages/api/package.json",
            "me/mono/packages/api/src/a.ts",
            "me/mono/packages/web/package.json",
            "me/mono/vendor/lib/.git/HEAD",
            "me/mono/vendor/lib/Makefile",
        ]);
        let saved = &["me/mono"][..];
        for start in ["me/mono/packages/api", "me/mono/packages/api/src", "me/mono/packages"] {
            place.expect_with(saved, start, "me", "me/mono");
        }
        // A package that was saved by itself stays a project of its own.
        let both = &["me/mono", "me/mono/packages/api"][..];
        place.expect_with(both, "me/mono/packages/api/src", "me", "me/mono/packages/api");
        place.expect_with(both, "me/mono/packages/web", "me", "me/mono");
        // No checkpoint of the project around it has what is in a repository.
        place.expect_with(saved, "me/mono/vendor/lib", "me", "me/mono/vendor/lib");
        place.expect_with(&["me"], "me/mono/packages", "", "me/mono");
        // Where nothing is saved, the nearest marker decides.
        place.expect("me/mono/packages/api/src", "me", "me/mono/packages/api");
    }

    #[test]
    fn a_saved_directory_is_a_project_without_any_marker() {
        let place = place(&["me/repo/.git/HEAD", "me/repo/notes/deep/a.txt", "me/b/c/x"]);
        place.expect_with(&["me/repo/notes"], "me/repo/notes", "me", "me/repo/notes");
        place.expect_with(&["me/repo/notes"], "me/repo/notes/deep", "me", "me/repo/notes");
        place.expect_with(&["me/b"], "me/b/c/x", "me", "me/b");
        // A home that was saved by somebody is still no project.
        place.expect_with(&["me"], "me/b/c", "me", "me/b/c");
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
            let found = find_root(Path::new("/proc/sys/kernel"), None, |_| false).unwrap();
            assert_eq!(found, Path::new("/proc/sys/kernel"));
        }
    }

    #[test]
    fn strange_paths_are_errors_and_never_panics() {
        let find_from = |start: &str, home| find_root(Path::new(start), home, |_| false);
        let find = |start: &str| find_from(start, Some(Path::new("/")));
        assert!(matches!(find(""), Err(RootError::Empty)));
        assert!(matches!(find("a\0b"), Err(RootError::Nul)));
        assert!(matches!(find("~nosuchuser/x"), Err(RootError::OtherHome(_))));
        assert!(matches!(find_from("~/x", None), Err(RootError::NoHome)));
        assert!(matches!(find(&"x".repeat(5000)), Err(RootError::Io(_))));
    }

    #[test]
    fn the_tilde_is_the_home_given() {
        let place = place(&["me/repo/Makefile"]);
        let home = place.path.join("me");
        let find = |start: &str| find_root(Path::new(start), Some(&home), |_| false).unwrap();
        assert_eq!((find("~/repo/x"), find("~")), (home.join("repo"), home.clone()));
    }
}
