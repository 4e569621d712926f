//! Files that hold secrets: by their name ([`names`]), and by what is in them ([`find`]).
//!
//! A name decides before the file is opened. Content is looked into while the file is in memory for being
//! hashed, so that only what is new or changed is looked into, and only files up to [`MAX_SEARCHED_BYTES`] bytes of text.
//! A quick pass finds long words, another the few keywords of secrets that have none (`detector`, `runs`);
//! only there is it decided whether this is a secret: prefix, alphabet, length, a boundary on either side,
//! and randomness (`tokens`, `shapes`, `plausible`). The time is linear in the size of the file,
//! whatever is in it.
//!
//! What is found is left out only if it is new to the store and to the user's git, and not made for a test
//! ([`is_fixture`]); else it is saved with a warning.
//!
//! The list is short on purpose. A secret that is missed is as private as before; a file that is left out by
//! mistake cannot be undone. So there are no rules that guess from a variable's name.

mod detector;
mod fixtures;
mod kind;
pub mod names;
mod plausible;
mod runs;
mod shapes;
#[cfg(test)]
mod tests;
mod tokens;

use bstr::ByteSlice;
use detector::DETECTOR;
pub use fixtures::is_fixture;
pub use kind::{Finding, SecretKind};

/// Larger files are not looked into.
pub const MAX_SEARCHED_BYTES: usize = 1 << 20;

/// Counts every change to what is found, so that what was judged by the old list is judged anew.
pub(crate) const LIST_VERSION: u32 = 1;

/// A NUL this early means that a file is no text, as in git.
const TEXT: usize = 8000;

/// Looks for a secret in the content of a file; the first one found is named.
///
/// Nothing is found in what is not text and in what is larger than [`MAX_SEARCHED_BYTES`].
pub fn find(content: &[u8]) -> Option<Finding> {
    if content.len() > MAX_SEARCHED_BYTES {
        return None;
    }
    if let Some(text) = from_utf16(content) {
        return DETECTOR.find(&text);
    }
    if content[..content.len().min(TEXT)].find_byte(0).is_some() {
        return None;
    }
    DETECTOR.find(content)
}

/// The text of a file in UTF-16, as some systems write whatever is redirected into a file. A secret is
/// ASCII, so that leaving out the zero bytes is enough.
fn from_utf16(content: &[u8]) -> Option<Vec<u8>> {
    let is_marked = content.starts_with(b"\xff\xfe") || content.starts_with(b"\xfe\xff");
    is_marked.then(|| content[2..].replace(b"\0", b""))
}
