//! What is not worth a word when it changes or goes.

use bstr::ByteSlice;
use herma_worktree::reason::Reason;

/// Is something left out for this reason watched at all? What comes and goes by nature, or is in the checkpoint after all,
/// is not.
pub(crate) fn is_watched(reason: Reason) -> bool {
    let is_fleeting = matches!(reason, Reason::Special | Reason::Own | Reason::Purged);
    !is_fleeting && !reason.is_captured()
}

/// Is this something that tools make again by themselves and nobody misses: caches, compiled files, what editors and
/// databases keep beside a file while it is open?
#[rustfmt::skip]
pub(crate) fn is_made_again(name: &[u8]) -> bool {
    let is_name = matches!(
        name,
        b"__pycache__" | b".pytest_cache" | b".mypy_cache" | b".ruff_cache" | b".cache" | b".coverage"
            | b".eslintcache" | b".DS_Store" | b"Thumbs.db" | b".next" | b".nuxt" | b".turbo" | b".parcel-cache"
    );
    let ending = name.rfind_byte(b'.').map_or(&b""[..], |dot| &name[dot + 1..]);
    let is_ending = matches!(
        ending,
        b"pyc" | b"pyo" | b"o" | b"obj" | b"class" | b"tsbuildinfo" | b"swp" | b"swo" | b"tmp" | b"pid" | b"lock"
    );
    let is_beside = [&b"-wal"[..], b"-shm", b"-journal", b"~"].iter().any(|end| name.ends_with(end));
    is_name || is_ending || is_beside
}

/// Is this written to all the time, whoever is at work? Only that it is gone is worth a word.
pub(crate) fn is_log(name: &[u8]) -> bool {
    name.ends_with(b".log")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_keep_is_not_noise() {
        for name in
            ["data.bin", ".env", "app.sqlite", "k.py", "secrets.yaml", "node_modules", "target"]
        {
            assert!(!is_made_again(name.as_bytes()) && !is_log(name.as_bytes()), "{name}");
        }
        for name in ["__pycache__", "a.pyc", "app.sqlite-wal", ".coverage", "x.swp"] {
            assert!(is_made_again(name.as_bytes()), "{name}");
        }
    }
}
