//! The first digits of an object's id, as people type them.

use crate::ObjectId;

/// One to forty hexadecimal digits an id may begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdPrefix {
    low: ObjectId,
    digits: usize,
}

impl IdPrefix {
    /// Reads 1 to 40 lower-case hexadecimal digits.
    pub fn from_hex(hex: &[u8]) -> Option<Self> {
        if hex.is_empty() || hex.len() > 40 {
            return None;
        }
        let mut padded = [b'0'; 40];
        padded[..hex.len()].copy_from_slice(hex);
        Some(Self { low: ObjectId::from_hex(&padded)?, digits: hex.len() })
    }

    /// The smallest id with this prefix.
    pub fn low(&self) -> &ObjectId {
        &self.low
    }

    /// Does the id begin with these digits?
    pub fn matches(&self, id: &ObjectId) -> bool {
        let whole = self.digits / 2;
        let (ours, theirs) = (self.low.as_bytes(), id.as_bytes());
        ours[..whole] == theirs[..whole]
            && (self.digits.is_multiple_of(2) || ours[whole] >> 4 == theirs[whole] >> 4)
    }

    /// May an id whose first byte is `first` begin with these digits?
    pub fn may_start_with(&self, first: u8) -> bool {
        let ours = self.low.as_bytes()[0];
        if self.digits == 1 { ours >> 4 == first >> 4 } else { ours == first }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_matches_by_digits_not_by_bytes() {
        let id = ObjectId::EMPTY_TREE; // 4b825d…
        for hex in ["4", "4b", "4b8", "4b825", "4b825dc642cb6eb9a060e54bf8d69288fbee4904"] {
            let prefix = IdPrefix::from_hex(hex.as_bytes()).unwrap();
            assert!(prefix.matches(&id) && prefix.may_start_with(0x4b), "{hex}");
            assert!(prefix.low() <= &id, "{hex}");
        }
        for hex in ["5", "4c", "4b9", "4b825dc642cb6eb9a060e54bf8d69288fbee4905"] {
            assert!(!IdPrefix::from_hex(hex.as_bytes()).unwrap().matches(&id), "{hex}");
        }
    }

    #[test]
    fn only_digits_are_a_prefix() {
        let long = [b'a'; 41];
        for hex in [&b""[..], b"g", b"4B", b"-", &long] {
            assert_eq!(IdPrefix::from_hex(hex), None);
        }
    }
}
