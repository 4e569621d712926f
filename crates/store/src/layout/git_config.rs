//! Just enough of git's configuration syntax to know whether the store is one we understand.
//!
//! Only the names of keys and three values are looked at, and only to refuse: nothing in a store's
//! `config` makes Herma do anything. What cannot be parsed is refused as well, because git might read
//! it differently.

use std::collections::BTreeSet;

use crate::error::StoreError;

/// Extensions that do not change how objects and refs are stored.
const HARMLESS_EXTENSIONS: [&str; 4] =
    ["preciousobjects", "noop", "worktreeconfig", "partialclone"];

/// The keys of a configuration, `section.key` in lower case. One that names git features Herma does not know is refused.
pub(crate) fn scan(config: &[u8]) -> Result<BTreeSet<String>, StoreError> {
    let mut found = BTreeSet::new();
    for (key, value) in settings(config)? {
        let known = match key.as_str() {
            "core.repositoryformatversion" => matches!(value.as_str(), "0" | "1"),
            "extensions.objectformat" => value == "sha1",
            "extensions.refstorage" => value == "files",
            _ => key
                .strip_prefix("extensions.")
                .is_none_or(|name| HARMLESS_EXTENSIONS.contains(&name)),
        };
        if !known {
            return Err(StoreError::UnknownGitFeature { key });
        }
        found.insert(key);
    }
    Ok(found)
}

/// All `section.key` and value pairs, names in lower case, values unquoted and in lower case.
fn settings(config: &[u8]) -> Result<Vec<(String, String)>, StoreError> {
    let bad = |what: &str| StoreError::damaged_file("config", what);
    let text = std::str::from_utf8(config).map_err(|_| bad("it is not text"))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.lines();
    let mut section = None;
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        let mut rest = line.trim();
        while rest.starts_with('[') {
            let (name, after) =
                section_header(rest).ok_or_else(|| bad("a section is not closed"))?;
            section = Some(name);
            rest = after.trim_start();
        }
        if rest.is_empty() || rest.starts_with(['#', ';']) {
            continue;
        }
        let name_end =
            rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(rest.len());
        let (name, after) = rest.split_at(name_end);
        let after = after.trim_start();
        let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic());
        if !starts_well || !(after.is_empty() || after.starts_with(['=', '#', ';'])) {
            return Err(bad("a line is not a setting"));
        }
        let section = section.as_ref().ok_or_else(|| bad("a setting stands before any section"))?;
        let value = match after.strip_prefix('=') {
            Some(value) => {
                read_value(value, &mut lines).ok_or_else(|| bad("a value is cut short"))?
            }
            None => "true".to_owned(),
        };
        found.push((format!("{section}.{}", name.to_ascii_lowercase()), value));
    }
    Ok(found)
}

/// Splits `[section "sub"] rest` into the name in lower case and the rest.
fn section_header(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut quoted = false;
    let mut characters = text.char_indices().skip(1);
    while let Some((at, c)) = characters.next() {
        match c {
            ']' if !quoted => return Some((name.to_ascii_lowercase(), &text[at + 1..])),
            '"' => quoted = !quoted,
            '\\' if quoted => name.push(characters.next()?.1),
            ' ' | '\t' if !quoted => {
                if !name.ends_with('.') {
                    name.push('.');
                }
            }
            _ => name.push(c),
        }
    }
    None
}

/// Reads a value to its end, which may be on a later line.
fn read_value<'a>(first: &'a str, lines: &mut impl Iterator<Item = &'a str>) -> Option<String> {
    let mut value = String::new();
    let mut quoted = false;
    let mut line = first;
    'lines: loop {
        let mut characters = line.chars();
        while let Some(c) = characters.next() {
            match c {
                '"' => quoted = !quoted,
                '#' | ';' if !quoted => break 'lines,
                '\\' => {
                    let Some(escaped) = characters.next() else {
                        line = lines.next()?;
                        continue 'lines;
                    };
                    value.push(escaped);
                }
                _ => value.push(c),
            }
        }
        break;
    }
    (!quoted).then(|| value.trim().to_ascii_lowercase())
}

/// Does a configuration that is not understood lack what every store has, so that it was once another?
pub(crate) fn is_garbled(config: &[u8]) -> bool {
    let is_ours = |(key, _): &(String, String)| key == "extensions.preciousobjects";
    !settings(config).is_ok_and(|settings| settings.iter().any(is_ours))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(config: &str) -> String {
        match scan(config.as_bytes()) {
            Err(StoreError::UnknownGitFeature { key }) => key,
            other => panic!("{config:?} gave {other:?}"),
        }
    }

    #[test]
    fn features_that_change_the_store_are_refused_however_they_are_written() {
        let object_format = "extensions.objectformat";
        assert_eq!(refused("[extensions]\n\tobjectFormat = sha256\n"), object_format);
        assert_eq!(refused("[EXTENSIONS]\nOBJECTFORMAT=\"sha256\" ; why\n"), object_format);
        assert_eq!(
            refused("[core] bare = a \\\n b\n[extensions] objectformat = sha256"),
            object_format
        );
        assert_eq!(refused("[core] # x \\\n[extensions]\nobjectformat = sha256"), object_format);
        assert_eq!(refused("[extensions]refstorage=reftable"), "extensions.refstorage");
        assert_eq!(refused("[extensions]\nfuture\n"), "extensions.future");
        assert_eq!(refused("[extensions \"a\"]\nb = 1\n"), "extensions.a.b");
        assert_eq!(
            refused("[core]\nrepositoryformatversion = 2\n"),
            "core.repositoryformatversion"
        );
    }

    #[test]
    fn ordinary_configurations_are_accepted() {
        let plain =
            "[core]\n\trepositoryformatversion = 0\n[extensions]\n\tpreciousObjects = true\n";
        assert!(scan(plain.as_bytes()).unwrap().contains("extensions.preciousobjects"));
        let remote = "[core]\nrepositoryformatversion=1\n[extensions]\nobjectformat=sha1\n\
                      [remote \"a\\\"]b\"]\n\turl = \"x;y\" # no\n[user]\n\tname = Hermes Checkpoint\n";
        assert!(!scan(remote.as_bytes()).unwrap().contains("extensions.preciousobjects"));
        assert!(!scan(b"").unwrap().contains("extensions.preciousobjects"));
    }

    #[test]
    fn what_is_not_a_configuration_is_refused() {
        for bad in [
            "[core\n",
            "bare = true\n",
            "[a]\n= 1\n",
            "[a]\nb = \"x\n",
            "[a]\nb = x\\",
            "[a]\nb c\n",
        ] {
            let found = scan(bad.as_bytes());
            assert!(matches!(found, Err(StoreError::DamagedFile { .. })), "{bad:?} gave {found:?}");
        }
        assert!(scan(&[b'[', 0xff, b']']).is_err());
    }
}
