//! Which names a ref may have: git's own rules, and below `refs/`.

use crate::error::StoreError;

/// File systems hold names up to this length, and `.lock` must fit behind the last one.
const MAX_COMPONENT: usize = 250;

/// Longer names would not fit a path beside the store's own.
const MAX_NAME: usize = 1024;

/// Checks a name given by a caller.
pub(crate) fn check(name: &str) -> Result<(), StoreError> {
    if is_valid(name.as_bytes()) { Ok(()) } else { Err(StoreError::BadRefName(name.to_owned())) }
}

/// May a ref of this store have this name?
pub(crate) fn is_valid(name: &[u8]) -> bool {
    name.starts_with(b"refs/")
        && name.len() <= MAX_NAME
        && name.split(|b| *b == b'/').all(|component| component.len() <= MAX_COMPONENT)
        && is_git_ref(name)
}

/// The rules of `git check-ref-format`.
fn is_git_ref(name: &[u8]) -> bool {
    let forbidden = |byte: &u8| byte.is_ascii_control() || b" ~^:?*[\\".contains(byte);
    let has_pair = |pair: &[u8]| name.windows(2).any(|window| window == pair);
    let component_is_valid = |component: &[u8]| {
        !component.is_empty() && component[0] != b'.' && !component.ends_with(b".lock")
    };
    name.contains(&b'/')
        && !name.ends_with(b".")
        && !name.iter().any(forbidden)
        && !has_pair(b"..")
        && !has_pair(b"@{")
        && name.split(|b| *b == b'/').all(component_is_valid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Fresh, git_output};

    #[test]
    fn the_rules_are_gits() {
        let fresh = Fresh::new();
        let names = [
            "refs/heads/a",
            "refs/herma/0123456789abcdef/000001",
            "refs/a",
            "a",
            "@",
            "refs/@",
            "/a/b",
            "refs//a",
            "refs/a/",
            "refs/.a",
            "refs/a.",
            "refs/a.lock",
            "refs/a.lock/b",
            "refs/a..b",
            "refs/a b",
            "refs/a~",
            "refs/a^",
            "refs/a:b",
            "refs/a?",
            "refs/a*",
            "refs/a[",
            "refs/a]",
            "refs/a\\b",
            "refs/a@{b",
            "refs/a@b",
            "refs/{a",
            "refs/a\x7f",
            "refs/a\u{1}",
            "refs/-a",
            "refs/ä",
            "refs/a.b",
            "refs/a./b",
            "refs/./a",
            "refs/../a",
            "refs/lock",
            "refs/a.LOCK",
            "refs/.lock",
            "refs/a\tb",
            "refs/\"a'",
        ];
        for name in names {
            let git = git_output(&fresh.store(), &["check-ref-format", name], b"").status.success();
            assert_eq!(is_git_ref(name.as_bytes()), git, "{name:?}");
        }
    }

    #[test]
    fn names_outside_refs_and_endless_names_are_refused() {
        assert!(check("heads/a").is_err());
        assert!(check("").is_err());
        assert!(check(&format!("refs/{}", "a".repeat(251))).is_err());
        assert!(check(&format!("refs/{}", "a/".repeat(600) + "b")).is_err());
        assert!(check("refs/hermes/0123456789abcdef").is_ok());
    }
}
