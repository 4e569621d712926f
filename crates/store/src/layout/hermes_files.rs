//! Completes the two files of a store that Hermes needs: its configuration and its excludes.
//!
//! Hermes writes both once, after `git init`, and never again. If it is killed in between, it can never
//! save (git cannot guess an identity) or saves secrets (nothing excludes `.env`), and the list of a
//! store made by an older version stays short for ever. What is there stays as it is; only what is
//! missing is added, in one atomic write, and nothing is written if nothing is missing.

use std::collections::HashSet;

use herma_fs::Dir;
use herma_fs::publish::{Durability, write_file};

use crate::error::StoreError;
use crate::layout::plain_file::read_plain;
use crate::layout::{HERMES_EXCLUDES, SMALL_FILE, git_config};
use crate::lock_file::LockFile;

/// What a store's configuration has to say: the key, and how to say it.
const SETTINGS: [(&str, &str); 8] = [
    ("extensions.preciousobjects", "[extensions]\n\tpreciousObjects = true\n"),
    ("user.email", "[user]\n\temail = hermes@local\n"),
    ("user.name", "[user]\n\tname = Hermes Checkpoint\n"),
    ("commit.gpgsign", "[commit]\n\tgpgsign = false\n"),
    ("tag.gpgsign", "[tag]\n\tgpgSign = false\n"),
    ("gc.auto", "[gc]\n\tauto = 0\n"),
    ("gc.pruneexpire", "[gc]\n\tpruneExpire = never\n"),
    ("maintenance.auto", "[maintenance]\n\tauto = false\n"),
];

/// Adds the settings that the store's configuration lacks; tells whether there were any.
pub(crate) fn complete_config(store: &Dir) -> Result<bool, StoreError> {
    let read = || {
        Ok::<_, StoreError>(read_plain(store, "config", "config", SMALL_FILE)?.unwrap_or_default())
    };
    if missing_settings(&read()?)?.is_empty() {
        return Ok(false);
    }
    let directory = store.open_beneath(b"herma/tmp")?;
    let herma = store.open_dir("herma")?;
    let mut lock = LockFile::acquire(&herma, &directory, store, "config", "config")?;
    // Again under the lock: a git may have written to it.
    let mut config = read()?;
    let missing = missing_settings(&config)?;
    if missing.is_empty() {
        return Ok(false);
    }
    if config.last().is_some_and(|last| *last != b'\n') {
        config.push(b'\n');
    }
    config.extend_from_slice(missing.as_bytes());
    lock.write(&config)?;
    lock.commit()?;
    Ok(true)
}

fn missing_settings(config: &[u8]) -> Result<String, StoreError> {
    let scan = git_config::scan(config)?;
    let missing = SETTINGS.iter().filter(|(key, _)| !scan.contains(*key));
    Ok(missing.map(|(_, text)| *text).collect())
}

/// Adds the patterns that `info/exclude` lacks; tells whether there were any.
///
/// They go in front: of several patterns that fit, git obeys the last, and a person's own lines keep
/// their meaning. What cannot be read as a file is left alone, Herma itself does not need it.
pub(crate) fn refresh_excludes(store: &Dir) -> Result<bool, StoreError> {
    let info = store.open_dir("info")?;
    let Ok(found) = info.read_opt("exclude", SMALL_FILE) else { return Ok(false) };
    let found = found.unwrap_or_default();
    let lines: HashSet<&[u8]> = found.split(|b| *b == b'\n').map(<[u8]>::trim_ascii_end).collect();
    let mut text = Vec::new();
    for pattern in HERMES_EXCLUDES {
        if !lines.contains(pattern.as_bytes()) {
            text.extend_from_slice(pattern.as_bytes());
            text.push(b'\n');
        }
    }
    if text.is_empty() {
        return Ok(false);
    }
    text.extend_from_slice(&found);
    let directory = store.open_beneath(b"herma/tmp")?;
    write_file(&directory, &info, "exclude", &text, Durability::Synced)?;
    Ok(true)
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use super::*;
    use crate::layout;
    use crate::testing::{Fresh, STAMP, git};

    /// Defect 35: killed after `git init`, Hermes could never save where git cannot guess an identity,
    /// and captured `.env`.
    #[test]
    fn a_store_whose_making_was_killed_gets_its_identity_and_excludes() {
        let temp = tempfile::tempdir().unwrap();
        let store = temp.path().join("checkpoints/store");
        std::fs::create_dir_all(&store).unwrap();
        git(&store, &["init", "-q", "--bare"]);
        layout::create_or_open(&temp.path().join("checkpoints"), STAMP).unwrap();
        for (key, value) in [
            ("user.name", "Hermes Checkpoint"),
            ("user.email", "hermes@local"),
            ("gc.auto", "0"),
            ("extensions.preciousObjects", "true"),
        ] {
            let shown = git(&store, &["config", "--local", key]);
            assert_eq!(shown.trim(), value, "{key}");
        }
        let exclude = std::fs::read_to_string(store.join("info/exclude")).unwrap();
        for pattern in HERMES_EXCLUDES {
            assert!(exclude.lines().any(|line| line == *pattern), "{pattern}");
        }
    }

    /// Defect 35: the excludes of an old store were never refreshed.
    #[test]
    fn an_old_list_of_excludes_gets_what_it_lacks_and_a_persons_lines_still_win() {
        let fresh = Fresh::new();
        let path = fresh.store().join("info/exclude");
        std::fs::write(&path, "node_modules/\n.env\n!dist/\nmine/").unwrap();
        let store = fresh.dirs.store();
        assert!(refresh_excludes(store).unwrap());
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("dist/\nbuild/\n"));
        assert!(text.ends_with("*.log\nnode_modules/\n.env\n!dist/\nmine/"));
        assert!(!refresh_excludes(store).unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", &path).unwrap();
        assert!(!refresh_excludes(store).unwrap(), "a link is left alone");
    }

    #[test]
    fn settings_of_a_person_stay() {
        let fresh = Fresh::new();
        let path = fresh.store().join("config");
        let own = "[core]\n\tbare = true\n[user]\n\tname = Me\n[gc]\n\tauto = 7";
        std::fs::write(&path, own).unwrap();
        assert!(complete_config(fresh.dirs.store()).unwrap());
        assert!(!complete_config(fresh.dirs.store()).unwrap());
        assert_eq!(fresh.git(&["config", "--local", "user.name"]), "Me\n");
        assert_eq!(fresh.git(&["config", "--local", "gc.auto"]), "7\n");
        let email = fresh.git(&["config", "--local", "user.email"]);
        assert_eq!(email, "hermes@local\n");
        assert!(std::fs::read_to_string(&path).unwrap().starts_with(own));
        fresh.assert_sound();
    }
}
