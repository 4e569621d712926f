//! Directories that are never a project: too broad to go back in time, or Herma's own.

use std::path::{Component, Path, PathBuf};

use herma_fs::FileKind;

/// Directories of the system and of all users. What is in them is not one project.
#[rustfmt::skip]
const SYSTEM: [&str; 29] = [
    "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib32", "/lib64", "/libx32", "/media", "/mnt",
    "/opt", "/proc", "/root", "/run", "/sbin", "/srv", "/sys", "/tmp", "/usr", "/var", "/var/tmp",
    "/Users", "/System", "/Library", "/Applications", "/Volumes", "/private", "/private/tmp",
];

/// Why a directory cannot be a project.
#[derive(Debug, thiserror::Error)]
pub enum RootRefused {
    /// It is `/`.
    #[error("/ is the whole file system, not a project")]
    FileSystemRoot,
    /// It is the user's home directory.
    #[error("{} is your home directory, not a project", .0.display())]
    Home(PathBuf),
    /// The user's home directory is inside.
    #[error("{} contains your home directory", .0.display())]
    ContainsHome(PathBuf),
    /// It belongs to the system or to all users.
    #[error("{} is a directory of the system, not a project", .0.display())]
    System(PathBuf),
    /// It is the directory Herma keeps its settings and its store in.
    #[error("{} is where Herma keeps its own data", .0.display())]
    IsHermaHome(PathBuf),
    /// It is the store, or inside it.
    #[error("{} is inside the checkpoint store", .0.display())]
    InsideStore(PathBuf),
    /// The store is inside: each checkpoint would contain all earlier ones.
    #[error("{} contains the checkpoint store", .0.display())]
    ContainsStore(PathBuf),
    /// It is a `.git`, or inside one: what git keeps is never saved.
    #[error("{} is part of a git repository's own data, which is never saved", .0.display())]
    InsideGit(PathBuf),
    /// It is a file or something else.
    #[error("{} is not a directory", .0.display())]
    NotADirectory(PathBuf),
    /// It was a directory of its own, and is a symlink or behind one now.
    #[error("{} leads to another directory than it did", .0.display())]
    LeadsElsewhere(PathBuf),
    /// Nothing is there.
    #[error("{} does not exist", .0.display())]
    Missing(PathBuf),
    /// The system would not say.
    #[error(transparent)]
    Io(#[from] herma_fs::Error),
}

impl RootRefused {
    /// The directory that was refused, unless the system could not even say what it is.
    pub fn directory(&self) -> Option<&Path> {
        match self {
            Self::FileSystemRoot => Some(Path::new("/")),
            Self::Home(path)
            | Self::ContainsHome(path)
            | Self::System(path)
            | Self::IsHermaHome(path)
            | Self::InsideStore(path)
            | Self::ContainsStore(path)
            | Self::InsideGit(path)
            | Self::NotADirectory(path)
            | Self::LeadsElsewhere(path)
            | Self::Missing(path) => Some(path),
            Self::Io(_) => None,
        }
    }
}

/// Checks that the canonical path `root` may be a project; `base` is where the store is.
pub fn check_root(
    root: &Path,
    user_home: Option<&Path>,
    herma_home: &Path,
    base: &Path,
) -> Result<(), RootRefused> {
    match herma_fs::stat_path(root)?.map(|stat| stat.kind) {
        None => return Err(RootRefused::Missing(root.to_owned())),
        Some(FileKind::Directory) => {}
        Some(_) => return Err(RootRefused::NotADirectory(root.to_owned())),
    }
    check_place(root, user_home, herma_home, base)
}

/// The same of a place where a directory is still to be made.
pub(crate) fn check_place(
    root: &Path,
    user_home: Option<&Path>,
    herma_home: &Path,
    base: &Path,
) -> Result<(), RootRefused> {
    check_breadth(root, &spellings(user_home))?;
    if root.components().any(|name| name.as_os_str() == ".git") {
        return Err(RootRefused::InsideGit(root.to_owned()));
    }
    check_store(root, herma_home, base)
}

/// Refuses what is too broad; `homes` are the spellings of the user's home directory.
pub(super) fn check_breadth(root: &Path, homes: &[PathBuf]) -> Result<(), RootRefused> {
    if root == Path::new("/") {
        return Err(RootRefused::FileSystemRoot);
    }
    if homes.iter().any(|home| home == root) {
        return Err(RootRefused::Home(root.to_owned()));
    }
    if homes.iter().any(|home| home.starts_with(root)) {
        return Err(RootRefused::ContainsHome(root.to_owned()));
    }
    if SYSTEM.iter().any(|system| root == Path::new(system)) {
        return Err(RootRefused::System(root.to_owned()));
    }
    Ok(())
}

fn check_store(root: &Path, herma_home: &Path, base: &Path) -> Result<(), RootRefused> {
    if spellings(Some(herma_home)).iter().any(|home| home == root) {
        return Err(RootRefused::IsHermaHome(root.to_owned()));
    }
    for store in spellings(Some(base)) {
        if root.starts_with(&store) {
            return Err(RootRefused::InsideStore(root.to_owned()));
        }
        if store.starts_with(root) {
            return Err(RootRefused::ContainsStore(root.to_owned()));
        }
    }
    Ok(())
}

/// A directory as it was given and as it is: a home reached through a link is the same home.
///
/// One that cannot be resolved is compared as given, and only such a one if it goes up on its way: what it begins with
/// tells nothing. A relative or empty path names nothing.
pub(super) fn spellings(path: Option<&Path>) -> Vec<PathBuf> {
    let Some(path) = path.filter(|path| path.is_absolute()) else { return Vec::new() };
    let goes_up = path.components().any(|name| name == Component::ParentDir);
    match herma_fs::dir::canonicalize(path) {
        Err(_) => vec![path.to_owned()],
        Ok(canonical) if canonical == path || goes_up => vec![canonical],
        Ok(canonical) => vec![path.to_owned(), canonical],
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use super::*;

    fn place() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap();
        for name in
            ["home/me/project", "home/me/.hermes/checkpoints/store", "home/me/.hermes/skills"]
        {
            std::fs::create_dir_all(path.join(name)).unwrap();
        }
        (dir, path)
    }

    /// With the store where it usually is.
    fn check_root_at(root: &Path, home: Option<&Path>, herma: &Path) -> Result<(), RootRefused> {
        check_root(root, home, herma, &herma.join("checkpoints"))
    }

    #[test]
    fn a_home_beside_the_project_may_be_named_by_way_of_it() {
        let (_dir, path) = place();
        let root = path.join("home/me/project");
        for home in ["project/../.hermes", "project/.././project/../.hermes"] {
            let herma = path.join("home/me").join(home);
            check_root_at(&root, None, &herma).unwrap();
        }
        let inside = path.join("home/me/.hermes/../project");
        std::fs::create_dir_all(inside.join("checkpoints")).unwrap();
        let refused = check_root(&root, None, &path, &inside.join("checkpoints"));
        assert!(matches!(refused, Err(RootRefused::ContainsStore(_))));
    }

    #[test]
    fn a_store_outside_herma_s_home_is_not_captured_either() {
        let (_dir, path) = place();
        let (me, base) = (path.join("home/me"), path.join("home/me/project/base"));
        let check = |root: &Path| check_root(root, None, &me.join(".hermes"), &base);
        std::fs::create_dir_all(&base).unwrap();
        let refused = check(&me.join("project"));
        assert!(matches!(refused, Err(RootRefused::ContainsStore(_))));
        assert!(matches!(check(&base), Err(RootRefused::InsideStore(_))));
    }

    #[test]
    fn an_ordinary_project_is_accepted() {
        let (_dir, path) = place();
        let me = path.join("home/me");
        check_root_at(&me.join("project"), Some(&me), &me.join(".hermes")).unwrap();
        check_root_at(&me.join(".hermes/skills"), Some(&me), &me.join(".hermes")).unwrap();
        check_root_at(&me.join("project"), None, Path::new("/nowhere/at/all")).unwrap();
    }

    #[test]
    fn directories_of_the_system_are_too_broad() {
        let home = Path::new("/home/someone");
        let check = |root: &str| check_breadth(Path::new(root), &[home.to_owned()]);
        assert!(matches!(check("/"), Err(RootRefused::FileSystemRoot)));
        assert!(matches!(check("/home/someone"), Err(RootRefused::Home(_))));
        assert!(matches!(check("/home"), Err(RootRefused::ContainsHome(_))));
        for root in ["/etc", "/tmp", "/usr", "/var/tmp", "/root", "/Users", "/private/tmp"] {
            assert!(matches!(check(root), Err(RootRefused::System(_))), "{root}");
        }
        for root in ["/etc/nginx", "/tmp/work", "/srv/app", "/home/someone/x", "/home/other"] {
            assert!(check(root).is_ok(), "{root}");
        }
    }

    #[test]
    fn a_linked_home_no_longer_defeats_the_guard() {
        let (_dir, path) = place();
        let link = path.join("linked-home");
        std::os::unix::fs::symlink(path.join("home/me"), &link).unwrap();
        let refused = check_root_at(&path.join("home/me"), Some(&link), &link.join(".hermes"));
        assert!(matches!(refused, Err(RootRefused::Home(_))));
        let refused = check_root_at(&path.join("home"), Some(&link), &link.join(".hermes"));
        assert!(matches!(refused, Err(RootRefused::ContainsHome(_))));
    }

    #[test]
    fn the_store_is_never_captured_inside_itself() {
        let (_dir, path) = place();
        let herma = path.join("home/me/.hermes");
        let check = |root: &Path| check_root_at(root, None, &herma);
        assert!(matches!(check(&herma), Err(RootRefused::IsHermaHome(_))));
        let store = herma.join("checkpoints");
        assert!(matches!(check(&store), Err(RootRefused::InsideStore(_))));
        assert!(matches!(check(&store.join("store")), Err(RootRefused::InsideStore(_))));
        assert!(matches!(check(&path.join("home")), Err(RootRefused::ContainsStore(_))));

        let elsewhere = path.join("elsewhere");
        std::fs::create_dir_all(elsewhere.join("data")).unwrap();
        let linked = path.join("linked");
        std::fs::create_dir_all(&linked).unwrap();
        std::os::unix::fs::symlink(elsewhere.join("data"), linked.join("checkpoints")).unwrap();
        let refused = check_root_at(&elsewhere, None, &linked);
        assert!(matches!(refused, Err(RootRefused::ContainsStore(_))), "a linked store counts");
    }

    #[test]
    fn what_git_keeps_is_no_project() {
        let (_dir, path) = place();
        std::fs::create_dir_all(path.join("home/me/project/.git/hooks")).unwrap();
        std::fs::create_dir_all(path.join("home/me/project/.github")).unwrap();
        let check = |name: &str| {
            let root = path.join("home/me/project").join(name);
            check_root(&root, None, Path::new("/nowhere"), Path::new("/nowhere/checkpoints"))
        };
        for name in [".git", ".git/hooks"] {
            assert!(matches!(check(name), Err(RootRefused::InsideGit(_))), "{name}");
        }
        check(".github").unwrap();
    }

    #[test]
    fn what_is_no_directory_is_refused() {
        let (_dir, path) = place();
        std::fs::write(path.join("file"), "").unwrap();
        let check = |name: &str| check_root_at(&path.join(name), None, Path::new("/nowhere"));
        assert!(matches!(check("file"), Err(RootRefused::NotADirectory(_))));
        assert!(matches!(check("none"), Err(RootRefused::Missing(_))));
        assert!(matches!(check("nul\0"), Err(RootRefused::Io(_))));
        assert!(check("none").unwrap_err().to_string().ends_with("none does not exist"));
    }
}
