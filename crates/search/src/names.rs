//! Which paths somebody means who types a part of a name, or a glob.
//!
//! | typed | means |
//! |---|---|
//! | `cart` | whatever has `cart` in its last name, written small or large |
//! | `Cart` | the same, but as it is written: whoever types a capital means it |
//! | `src/cart` | what begins with `cart` in a directory that ends in `src` |
//! | `*.py` | last names this glob fits |
//! | `src/**/*.py` | whole paths this glob fits |
//! | `docs/` | directories only |

use bstr::{BStr, ByteSlice};
use gix_glob::wildmatch::Mode;

/// A part of a name, or a glob.
#[derive(Clone, Debug)]
pub struct NamePattern {
    text: Vec<u8>,
    is_glob: bool,
    is_path: bool,
    ignores_case: bool,
    directories_only: bool,
}

impl NamePattern {
    /// Reads what somebody typed. `None` if that is nothing.
    pub fn parse(typed: &[u8]) -> Option<Self> {
        let trimmed = typed.strip_prefix(b"./").unwrap_or(typed);
        let text = trimmed.strip_suffix(b"/").unwrap_or(trimmed);
        let ignores_case = !text.chars().any(char::is_uppercase);
        (!text.is_empty()).then(|| Self {
            is_glob: text.iter().any(|byte| b"*?[".contains(byte)),
            is_path: text.contains(&b'/'),
            directories_only: text.len() < trimmed.len(),
            text: if ignores_case { text.to_lowercase() } else { text.to_owned() },
            ignores_case,
        })
    }

    /// Can the last name of a path alone tell that it is not meant? Saves putting all paths together.
    pub fn may_fit(&self, name: &[u8]) -> bool {
        self.is_path || self.fits_name(name)
    }

    /// Is this path meant?
    pub fn fits(&self, path: &[u8], is_directory: bool) -> bool {
        if self.directories_only && !is_directory {
            return false;
        }
        if !self.is_path {
            return self.fits_name(herma_store::path::split(path).1);
        }
        if self.is_glob {
            return self.globs(path);
        }
        let path = self.folded(path);
        let name_at = path.rfind_byte(b'/').map_or(0, |slash| slash + 1);
        // What is below a directory that is meant is not listed once more.
        path.find_iter(&self.text).any(|at| {
            let begins = at == 0 || self.text.starts_with(b"/") || at < name_at;
            begins && at + self.text.len() > name_at
        })
    }

    fn fits_name(&self, name: &[u8]) -> bool {
        if self.is_glob { self.globs(name) } else { self.folded(name).contains_str(&self.text) }
    }

    fn globs(&self, text: &[u8]) -> bool {
        let mode = Mode::NO_MATCH_SLASH_LITERAL;
        let mode = if self.ignores_case { mode | Mode::IGNORE_CASE } else { mode };
        gix_glob::wildmatch(BStr::new(&self.text), BStr::new(text), mode)
    }

    fn folded(&self, text: &[u8]) -> Vec<u8> {
        if self.ignores_case { text.to_lowercase() } else { text.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_meant_as_people_type_them() {
        for (typed, path, expected) in [
            ("cart", "src/cart.py", true),
            ("cart", "src/ShoppingCart.java", true),
            ("Cart", "src/ShoppingCart.java", true),
            ("Cart", "src/cart.py", false),
            ("cart", "cart/a.py", false),
            ("\u{e9}t\u{e9}", "L'\u{c9}t\u{e9}.txt", true),
            ("src/cart", "src/cart.py", true),
            ("src/cart", "a/src/cart.py", true),
            ("src/cart", "src/cart/a.py", false),
            ("./src/cart.py", "src/cart.py", true),
            ("rc/cart", "src/cart.py", true),
            ("*.py", "src/cart.py", true),
            ("*.PY", "src/cart.py", false),
            ("*.py", "src/CART.PY", true),
            ("src/*.py", "src/a/cart.py", false),
            ("src/**/*.py", "src/a/cart.py", true),
            ("src/**/*.py", "src/cart.py", true),
            ("c[ab]rt*", "x/cart.py", true),
            ("a?c", "abc", true),
            ("a?c", "a/c", false),
        ] {
            let pattern = NamePattern::parse(typed.as_bytes()).unwrap();
            assert_eq!(pattern.fits(path.as_bytes(), false), expected, "{typed} {path}");
            let name = path.rsplit('/').next().unwrap();
            assert!(!expected || pattern.may_fit(name.as_bytes()), "{typed} {path}");
        }
        let directories = NamePattern::parse(b"docs/").unwrap();
        assert!(directories.fits(b"a/docs", true) && !directories.fits(b"a/docs", false));
        let odd = NamePattern::parse(b"a\xff").unwrap();
        assert!(odd.fits(b"xa\xff\n", false) && !odd.fits(b"xa\xfe", false));
        assert!(NamePattern::parse(b"").is_none() && NamePattern::parse(b"./").is_none());
    }
}
