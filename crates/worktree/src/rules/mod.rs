//! What belongs to a project and what is left out.
//!
//! Pure functions over bytes: the scan reads the ignore files and asks. Rules stand in layers, the
//! later one wins, and inside a layer the last match wins:
//!
//! 1. the built-in list ([`DEFAULT_EXCLUDES`])
//! 2. `.git/info/exclude`, then `.gitignore` from the outermost directory inwards
//! 3. `.hermaignore` from the outermost directory inwards
//! 4. the setting `exclude`, then the setting `include`
//!
//! What the user's own git tracks is never dropped by 1 and 2. What looks like a secret, by name or by
//! content, is left out unless 3 or 4 name it. A directory that is left out is not entered, as in git, unless
//! something below it is tracked or a rule of 3 and 4 that comes later names a path below it; then the
//! scan descends and keeps only that ([`Verdict::Descend`]).
//!
//! * [`scope`]: the rules in force inside one directory, and the verdict
//! * `pattern`: the lines of an ignore file, by `gix-ignore`; `components`: those with several `**`
//! * `builtin`: the fixed list

mod builtin;
mod components;
#[cfg(test)]
mod oracle_tests;
mod pattern;
pub mod scope;

pub use builtin::{DEFAULT_EXCLUDES, DEFAULT_INCLUDES};
use pattern::{Pattern, parse_setting};
pub use scope::{Rule, RulePlace, Scope};

use crate::reason::Reason;
use crate::secrets;

/// Counts every change to the meaning of the rules, so that what was judged by old rules is judged anew.
pub const RULES_VERSION: u32 = 4;

/// The user's settings about what to leave out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExcludeSettings {
    /// Patterns, as in a `.gitignore` at the project root, that leave out.
    pub exclude: Vec<String>,
    /// Patterns that take in, whatever any other rule says. A leading `!` changes nothing.
    pub include: Vec<String>,
    /// What is left out because it looks like a secret.
    pub secrets: SecretRules,
    /// Apply the built-in list.
    pub builtin: bool,
}

impl Default for ExcludeSettings {
    fn default() -> Self {
        Self {
            exclude: Vec::new(),
            include: Vec::new(),
            secrets: SecretRules::NamesAndContent,
            builtin: true,
        }
    }
}

/// What is left out because it looks like a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SecretRules {
    /// Nothing.
    Off,
    /// Files whose name says that they hold one.
    Names,
    /// And new files whose content looks like it does.
    NamesAndContent,
}

/// The rules that hold for the whole project, compiled once and shared by all threads.
#[derive(Debug)]
pub struct Rules {
    exclude: Vec<Pattern>,
    include: Vec<Pattern>,
    pub(crate) secrets: SecretRules,
    builtin: bool,
    /// A number that differs whenever other settings or another version of the rules would decide. Ignore files are not part
    /// of it: the scan knows when one of them changed.
    pub(crate) fingerprint: u64,
}

impl Rules {
    /// Compiles the settings. A pattern that can match nothing, such as an empty one, has no effect.
    pub fn new(settings: &ExcludeSettings) -> Self {
        let include = settings.include.iter().flat_map(parse_setting);
        Self {
            exclude: settings.exclude.iter().flat_map(parse_setting).collect(),
            include: include.map(Pattern::into_negative).collect(),
            secrets: settings.secrets,
            builtin: settings.builtin,
            fingerprint: fingerprint(settings),
        }
    }
}

fn fingerprint(settings: &ExcludeSettings) -> u64 {
    let mut hash = xxhash_rust::xxh3::Xxh3::new();
    hash.update(&RULES_VERSION.to_le_bytes());
    hash.update(&secrets::LIST_VERSION.to_le_bytes());
    hash.update(&[settings.secrets as u8, u8::from(settings.builtin)]);
    for list in [&settings.exclude, &settings.include] {
        // Lengths keep ["ab"] and ["a", "b"] apart.
        hash.update(&(list.len() as u64).to_le_bytes());
        for pattern in list {
            hash.update(&(pattern.len() as u64).to_le_bytes());
            hash.update(pattern.as_bytes());
        }
    }
    for pattern in DEFAULT_EXCLUDES.iter().chain(&DEFAULT_INCLUDES) {
        hash.update(pattern.as_bytes());
        hash.update(b"\n");
    }
    hash.digest()
}

/// What the user's own git tracks. Paths are relative to the project root, without a trailing slash.
pub trait Tracked: Sync {
    /// Is this very path tracked?
    fn contains(&self, path: &[u8]) -> bool;
    /// Is anything below this directory tracked?
    fn any_below(&self, dir: &[u8]) -> bool;
}

/// A project without a repository: nothing is tracked.
#[derive(Clone, Copy, Debug, Default)]
pub struct NothingTracked;

impl Tracked for NothingTracked {
    fn contains(&self, _path: &[u8]) -> bool {
        false
    }

    fn any_below(&self, _dir: &[u8]) -> bool {
        false
    }
}

/// What is to be done with an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It belongs to the project.
    Keep,
    /// It is left out, with everything below it.
    LeaveOut(Reason),
    /// The directory is left out, but something below it is wanted: enter it, and leave out all the
    /// rest for this reason.
    Descend(Reason),
}

/// Is this the name of a temporary file a restore of ours works with: `.herma-`, 16 hexadecimal
/// digits, `.tmp`?
pub fn is_own_temporary(name: &[u8]) -> bool {
    let digits = name.strip_prefix(b".herma-").and_then(|rest| rest.strip_suffix(b".tmp"));
    digits.is_some_and(|d| d.len() == 16 && d.iter().all(u8::is_ascii_hexdigit))
}

#[cfg(test)]
mod tests {
    use super::SecretRules::{Names, NamesAndContent, Off};
    use super::*;

    #[test]
    fn the_fingerprint_changes_with_every_setting() {
        let settings = |exclude: &[&str], include: &[&str], secrets, builtin| ExcludeSettings {
            exclude: exclude.iter().map(ToString::to_string).collect(),
            include: include.iter().map(ToString::to_string).collect(),
            secrets,
            builtin,
        };
        let all = [
            settings(&[], &[], NamesAndContent, true),
            settings(&[], &[], Names, true),
            settings(&[], &[], Off, true),
            settings(&[], &[], NamesAndContent, false),
            settings(&["ab"], &[], NamesAndContent, true),
            settings(&["a", "b"], &[], NamesAndContent, true),
            settings(&["a"], &["b"], NamesAndContent, true),
            settings(&[], &["ab"], NamesAndContent, true),
        ];
        let prints: Vec<_> = all.iter().map(|s| Rules::new(s).fingerprint).collect();
        let distinct: std::collections::HashSet<_> = prints.iter().collect();
        assert_eq!(distinct.len(), prints.len());
        assert_eq!(prints[0], Rules::new(&ExcludeSettings::default()).fingerprint);
    }

    #[test]
    fn only_our_own_temporary_names_are_ours() {
        assert!(is_own_temporary(b".herma-0123456789abcdef.tmp"));
        for name in
            [&b".herma-0123456789abcde.tmp"[..], b".herma-notes.tmp", b"herma", b".herma-.tmp"]
        {
            assert!(!is_own_temporary(name));
        }
    }
}
