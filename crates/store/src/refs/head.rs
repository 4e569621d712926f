//! Where the `HEAD` of some other repository stands.

use herma_fs::Dir;

use crate::ObjectId;
use crate::error::StoreError;
use crate::refs::packed::PackedRefs;
use crate::refs::{Loose, name, read_loose};

/// `HEAD` holds an id or the name of a ref.
const MAX_HEAD: u64 = 2048;

/// What `HEAD` of a repository holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head {
    /// The name of a ref, usually of a branch.
    Ref(String),
    /// A commit.
    Commit(ObjectId),
}

/// The commit that `HEAD` of a repository names; `None` if its branch has none yet.
pub fn read_head(repository: &Dir) -> Result<Option<ObjectId>, StoreError> {
    match head(repository)? {
        Head::Commit(id) => Ok(Some(id)),
        Head::Ref(name) => commit_of(repository, &name),
    }
}

/// What `HEAD` holds.
pub fn head(repository: &Dir) -> Result<Head, StoreError> {
    let bytes = repository.read("HEAD", MAX_HEAD)?;
    parse(&bytes).ok_or_else(|| StoreError::damaged_file("HEAD", "it names no branch"))
}

/// What a `HEAD` of this content holds.
pub(crate) fn parse(bytes: &[u8]) -> Option<Head> {
    let text = bytes.trim_ascii_end();
    if let Some(id) = ObjectId::from_hex(text) {
        return Some(Head::Commit(id));
    }
    text.strip_prefix(b"ref:")
        .and_then(|name| std::str::from_utf8(name.trim_ascii_start()).ok())
        .filter(|name| name::is_valid(name.as_bytes()))
        .map(|name| Head::Ref(name.to_owned()))
}

/// The commit a ref names; `None` if there is no such ref.
pub fn commit_of(repository: &Dir, name: &str) -> Result<Option<ObjectId>, StoreError> {
    let (parent, leaf) = name.rsplit_once('/').unwrap_or(("", name));
    let loose = match repository.open_beneath(parent.as_bytes()) {
        Ok(dir) => read_loose(&dir, leaf)?,
        Err(e) if e.is_not_found() => Loose::Absent,
        Err(e) => return Err(e.into()),
    };
    match loose {
        Loose::Is(id) => Ok(Some(id)),
        Loose::Absent => Ok(PackedRefs::read(repository)?.get(name)),
        Loose::Broken => Err(StoreError::damaged_file(name, "it does not hold an object id")),
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use super::*;

    #[test]
    fn a_head_leads_to_its_branch_loose_or_packed() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open(temp.path()).unwrap();
        let write = |name: &str, text: &str| std::fs::write(temp.path().join(name), text).unwrap();
        let id = ObjectId::EMPTY_TREE;
        write("HEAD", "ref: refs/heads/main\n");
        assert_eq!(read_head(&dir).unwrap(), None, "not even the directory is there");
        std::fs::create_dir_all(temp.path().join("refs/heads")).unwrap();
        assert_eq!(read_head(&dir).unwrap(), None);
        write("packed-refs", &format!("{id} refs/heads/main\n"));
        assert_eq!(read_head(&dir).unwrap(), Some(id));
        write("HEAD", &format!("{id}\n"));
        assert_eq!(read_head(&dir).unwrap(), Some(id));
        write("HEAD", "ref: refs/heads/main");
        write("refs/heads/main", "torn");
        assert!(read_head(&dir).is_err());
    }

    #[test]
    fn a_head_leads_nowhere_else() {
        let temp = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let dir = Dir::open(temp.path()).unwrap();
        let id = ObjectId::EMPTY_TREE.to_hex();
        std::fs::write(outside.path().join("main"), &id).unwrap();
        std::fs::create_dir(temp.path().join("refs")).unwrap();
        std::os::unix::fs::symlink(outside.path(), temp.path().join("refs/heads")).unwrap();
        for head in [
            "ref: refs/heads/main",
            "ref: ../main",
            "ref: /etc/passwd",
            "ref: refs/../../x",
            "",
            "ref:",
        ] {
            std::fs::write(temp.path().join("HEAD"), head).unwrap();
            assert!(read_head(&dir).is_err(), "{head}");
        }
    }
}
