//! Names of things: objects by their SHA-1, projects by the hash of their path.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use sha2::Digest;

/// The name of a git object: the SHA-1 of its kind, size and content.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ObjectId([u8; 20]);

impl ObjectId {
    /// The id git uses for "no object".
    pub const NULL: Self = Self([0; 20]);

    /// The id of a tree without entries.
    pub const EMPTY_TREE: Self = Self([
        0x4b, 0x82, 0x5d, 0xc6, 0x42, 0xcb, 0x6e, 0xb9, 0xa0, 0x60, 0xe5, 0x4b, 0xf8, 0xd6, 0x92,
        0x88, 0xfb, 0xee, 0x49, 0x04,
    ]);
    /// The content without a byte.
    pub const EMPTY_BLOB: Self = Self([
        0xe6, 0x9d, 0xe2, 0x9b, 0xb2, 0xd1, 0xd6, 0x43, 0x4b, 0x8b, 0x29, 0xae, 0x77, 0x5a, 0xd8,
        0xc2, 0xe4, 0x8c, 0x53, 0x91,
    ]);

    /// The id with these bytes.
    pub const fn from_bytes(bytes: [u8; 20]) -> Self {
        Self(bytes)
    }

    /// The id in the first 20 bytes of `bytes`, if there are that many.
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.get(..20)?.try_into().ok().map(Self)
    }

    /// Reads 40 lower-case hexadecimal digits, nothing more, nothing less.
    pub fn from_hex(hex: &[u8]) -> Option<Self> {
        if hex.len() != 40 {
            return None;
        }
        let mut bytes = [0; 20];
        for (byte, pair) in bytes.iter_mut().zip(hex.chunks_exact(2)) {
            *byte = (hex_value(pair[0])? << 4) | hex_value(pair[1])?;
        }
        Some(Self(bytes))
    }

    /// The bytes of the id.
    pub const fn as_bytes(&self) -> &[u8; 20] {
        &self.0
    }

    /// 40 hexadecimal digits.
    pub fn to_hex(self) -> String {
        hex(&self.0)
    }

    /// Is this the id of no object?
    pub fn is_null(&self) -> bool {
        *self == Self::NULL
    }
}

/// Bytes as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    use fmt::Write;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

fn hex_value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl From<ObjectId> for String {
    fn from(id: ObjectId) -> Self {
        id.to_hex()
    }
}

impl TryFrom<String> for ObjectId {
    type Error = &'static str;

    fn try_from(hex: String) -> Result<Self, Self::Error> {
        Self::from_hex(hex.as_bytes()).ok_or("no object id")
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_hex())
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_hex())
    }
}

/// The name of a project: the first 16 hexadecimal digits of the SHA-256 of its canonical path, the
/// same as in Hermes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProjectId(String);

impl ProjectId {
    /// The id of the project at this canonical path.
    pub fn of(canonical: &Path) -> Self {
        Self(hex(&sha2::Sha256::digest(canonical.as_os_str().as_bytes())[..8]))
    }

    /// Reads an id back; `None` unless it is 16 lower-case hexadecimal digits.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let valid = text.len() == 16 && text.iter().all(|b| hex_value(*b).is_some());
        valid.then(|| Self(String::from_utf8_lossy(text).into_owned()))
    }

    /// The 16 digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ProjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ProjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn project_id_is_the_one_hermes_computes() {
        // sha256(b"/home/you/project")[:16], as Python's hashlib prints it
        assert_eq!(ProjectId::of(Path::new("/home/you/project")).as_str().len(), 16);
        assert_eq!(ProjectId::of(Path::new("/")).as_str(), "8a5edab282632443");
    }

    #[test]
    fn object_id_reads_only_forty_lower_case_digits() {
        let hex = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
        assert_eq!(ObjectId::from_hex(hex.as_bytes()), Some(ObjectId::EMPTY_TREE));
        assert_eq!(ObjectId::EMPTY_TREE.to_hex(), hex);
        let empty = crate::object::id_of(crate::object::Kind::Blob, b"");
        assert_eq!(empty, Some(ObjectId::EMPTY_BLOB));
        assert_eq!(ObjectId::from_hex(&hex.as_bytes()[1..]), None);
        assert_eq!(ObjectId::from_hex(hex.to_uppercase().as_bytes()), None);
    }
}
