//! The refs of Herma: how each is named.
//!
//! `refs/herma/<project>/<number>` names a checkpoint, `<number>.extra` beside it what its receipt and modes are kept by;
//! `refs/hermes/<project>` is the newest for Hermes and `git log`. People's names and pins have refs of their own; a mark beside the
//! pins says that a check passed there.

use std::collections::HashSet;

use crate::id::ProjectId;
use crate::{StoreDirs, StoreError};

/// Numbers above this are no place in an order of saving, and there must be one after the last.
pub const MAX_NUMBER: u64 = 1 << 48;

/// How the refs of receipts and modes end.
pub const EXTRA: &str = ".extra";

/// Is this the name of the ref of a checkpoint's receipt and modes?
pub fn is_extra(name: &str) -> bool {
    name.starts_with("refs/herma/") && name.ends_with(EXTRA)
}

/// The ref of a checkpoint.
pub fn checkpoint_ref(project: &ProjectId, number: u64) -> String {
    format!("refs/herma/{project}/{number:08}")
}

/// The ref that keeps a checkpoint's receipt and modes reachable.
pub fn extra_ref(project: &ProjectId, number: u64) -> String {
    format!("refs/herma/{project}/{number:08}{EXTRA}")
}

/// Refs of receipts and modes whose checkpoint is gone: a process was killed while it dropped one, or before
/// it had made one exist. The caller holds the project's lock.
pub fn stray_extras(dirs: &StoreDirs, project: &ProjectId) -> Result<Vec<String>, StoreError> {
    let names: Vec<String> = {
        let listing = dirs.refs().list(&format!("refs/herma/{project}"))?;
        let broken = listing.broken.into_iter();
        listing.refs.into_iter().map(|(name, _)| name).chain(broken).collect()
    };
    let known: HashSet<&str> = names.iter().map(String::as_str).collect();
    let stray = |name: &&String| name.strip_suffix(EXTRA).is_some_and(|n| !known.contains(n));
    Ok(names.iter().filter(stray).cloned().collect())
}

/// The ref Hermes reads.
pub fn mirror_ref(project: &ProjectId) -> String {
    format!("refs/hermes/{project}")
}

/// The ref of a name. Slashes are encoded, so that `a` and `a/b` can both be names.
pub fn name_ref(project: &ProjectId, name: &str) -> String {
    format!("refs/herma-names/{project}/{}", name.replace('%', "%25").replace('/', "%2f"))
}

/// The name that the last component of its ref stands for.
pub fn name_of(leaf: &str) -> String {
    leaf.replace("%2f", "/").replace("%25", "%")
}

/// The ref of a pin.
pub fn pin_ref(project: &ProjectId, number: u64) -> String {
    format!("refs/herma-pins/{project}/{number:08}")
}

/// How the refs of green marks end, beside pins.
pub const GREEN: &str = ".green";

/// The ref that says that a check passed in the state of a checkpoint.
pub fn green_ref(project: &ProjectId, number: u64) -> String {
    format!("{}{GREEN}", pin_ref(project, number))
}

/// The last component of a ref below a prefix, if it is directly below.
pub fn leaf<'r>(name: &'r str, prefix: &str) -> Option<&'r str> {
    name.strip_prefix(prefix)?.strip_prefix('/').filter(|leaf| !leaf.contains('/'))
}

/// The number in the last component of a ref, if it is written as [`checkpoint_ref`] writes it.
pub fn number_of(leaf: &str) -> Option<u64> {
    let number = leaf.parse().ok().filter(|number| *number <= MAX_NUMBER)?;
    (format!("{number:08}") == leaf).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ObjectId;
    use crate::testing::Fresh;

    #[test]
    fn names_of_refs_are_those_that_stores_have() {
        let project = ProjectId::parse(b"0123456789abcdef").unwrap();
        let name = checkpoint_ref(&project, 7);
        assert_eq!(name, "refs/herma/0123456789abcdef/00000007");
        assert_eq!(mirror_ref(&project), "refs/hermes/0123456789abcdef");
        assert_eq!(leaf(&name, "refs/herma/0123456789abcdef"), Some("00000007"));
        assert_eq!([leaf(&name, "refs/herma"), leaf(&name, "refs/her")], [None; 2]);
        assert_eq!(number_of("00000007"), Some(7));
        assert_eq!(["7", "0000007x", "+0000007"].map(number_of), [None; 3]);
    }

    #[test]
    fn a_receipt_without_its_checkpoint_is_stray() {
        let fresh = Fresh::new();
        let project = ProjectId::parse(b"0123456789abcdef").unwrap();
        let tree = fresh.git(&["mktree"]);
        let id = fresh.git(&["commit-tree", "-m", "one", tree.trim()]);
        let id = ObjectId::from_hex(id.trim().as_bytes()).unwrap();
        let (one, its, stray) =
            (checkpoint_ref(&project, 1), extra_ref(&project, 1), extra_ref(&project, 2));
        fresh.dirs.refs().create(&[(&one, id), (&its, id), (&stray, id)]).unwrap();
        assert_eq!(stray_extras(&fresh.dirs, &project).unwrap(), [stray]);
    }
}
