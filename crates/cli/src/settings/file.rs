//! The file itself: found through links, read under a limit, replaced in one step.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use herma_fs::publish::{Temp, sweep};
use herma_fs::{Dir, Errno, Error, Result};

/// A configuration larger than this is not one.
const MAX_BYTES: u64 = 1 << 20;

/// Where `config.yaml` really is. People keep it in another directory and link to it; the link must
/// survive an edit, so it is followed here.
pub(crate) struct ConfigFile {
    /// `None` when there is no home yet.
    directory: Option<Dir>,
    name: String,
}

impl ConfigFile {
    /// Finds the file of this home.
    pub(crate) fn open(home: &Path) -> Result<Self> {
        let missing = Self { directory: None, name: "config.yaml".to_owned() };
        // Resolving fails only where the home cannot exist either.
        let path = herma_fs::dir::canonicalize(&home.join("config.yaml"))?;
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(missing);
        };
        let directory = match Dir::open(parent) {
            Ok(directory) => Some(directory),
            Err(error) if error.is_not_found() => None,
            Err(error) => return Err(error),
        };
        let name = utf8(name).ok_or_else(|| Error::on("read", &path, Errno::ILSEQ))?;
        Ok(Self { directory, name })
    }

    /// The text; `None` when there is no file.
    pub(crate) fn read(&self) -> Result<Option<String>> {
        let Some(directory) = &self.directory else { return Ok(None) };
        let bytes = directory.read_opt(self.name.as_str(), MAX_BYTES)?;
        let text = bytes.map(String::from_utf8).transpose();
        text.map_err(|_| Error::on("read", &directory.path().join(&self.name), Errno::ILSEQ))
    }

    /// Replaces the text, provided the file still says `expected`; tells whether it did.
    pub(crate) fn replace(&self, home: &Path, expected: Option<&str>, text: &str) -> Result<bool> {
        let created;
        let directory = if let Some(directory) = &self.directory {
            directory
        } else {
            created = create_home(home)?;
            &created
        };
        // What an edit that was killed left beside the file.
        sweep(directory);
        let name = self.name.as_str();
        let mode = directory.stat_opt(name)?.map_or(0o600, |stat| stat.mode);
        let mut temp = Temp::create(directory)?;
        temp.write(text.as_bytes())?;
        temp.set_mode(mode)?;
        // ORDER: content before name, or a power cut may leave an empty file under the name.
        temp.sync()?;
        if self.read()?.as_deref() != expected {
            return Ok(false);
        }
        temp.publish(directory, name)?;
        directory.sync()?;
        Ok(true)
    }
}

fn utf8(name: &OsStr) -> Option<String> {
    std::str::from_utf8(name.as_bytes()).ok().map(str::to_owned)
}

fn create_home(home: &Path) -> Result<Dir> {
    match (home.parent(), home.file_name()) {
        (Some(parent), Some(name)) => {
            let parent = Dir::open(parent)?;
            parent.create_dir(name, 0o700)?;
            // A file in a directory that is gone after a power cut is gone as well.
            parent.sync()?;
            parent.open_dir(name)
        }
        _ => Dir::open(home),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    #[test]
    fn a_missing_home_is_created_private() {
        use std::os::unix::fs::PermissionsExt;
        let temp = home();
        let home = temp.path().join("hermes");
        let file = ConfigFile::open(&home).unwrap();
        assert_eq!(file.read().unwrap(), None);
        assert!(file.replace(&home, None, "a: 1\n").unwrap());
        assert_eq!(std::fs::metadata(&home).unwrap().permissions().mode() & 0o777, 0o700);
        let text = ConfigFile::open(&home).unwrap().read().unwrap();
        assert_eq!(text.as_deref(), Some("a: 1\n"));
    }

    #[test]
    #[allow(clippy::disallowed_methods)]
    fn a_link_to_the_real_file_survives_an_edit() {
        let temp = home();
        let real = temp.path().join("dotfiles.yaml");
        std::fs::write(&real, "a: 1\n").unwrap();
        let link = temp.path().join("config.yaml");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let file = ConfigFile::open(temp.path()).unwrap();
        assert!(file.replace(temp.path(), Some("a: 1\n"), "a: 2\n").unwrap());
        assert!(link.is_symlink());
        assert_eq!(std::fs::read_to_string(&real).unwrap(), "a: 2\n");
    }

    #[test]
    #[allow(clippy::disallowed_methods)]
    fn an_edit_made_meanwhile_is_not_overwritten() {
        let temp = home();
        let path = temp.path().join("config.yaml");
        std::fs::write(&path, "theirs: 1\n").unwrap();
        let file = ConfigFile::open(temp.path()).unwrap();
        assert!(!file.replace(temp.path(), Some("old: 1\n"), "ours: 1\n").unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "theirs: 1\n");
    }
}
