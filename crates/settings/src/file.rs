//! A file of settings on disk: ours, or an agent's.
//!
//! People link their configuration from elsewhere: the link is followed and stays. A file is replaced in one
//! step, and only while it is what was read; its mode and owner stay. Before the first edit a copy is put beside
//! it.

use std::path::{Path, PathBuf};

use herma_fs::publish::{Temp, sweep};
use herma_fs::{Dir, Errno, Error, FileKind, IfThere};
use herma_store::path::escape;

/// Larger files are no configuration.
const MAX_BYTES: u64 = 8 << 20;

/// Behind the name of the copy.
const BACKUP: &str = ".herma-backup";

/// Why a file of settings was not read, or is as it was.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It is nothing that can be edited safely.
    #[error("{} {what}", shown(path))]
    Unfit {
        /// Which.
        path: PathBuf,
        /// What is the matter with it.
        what: &'static str,
        /// What to do about that.
        hint: Option<String>,
    },
    /// Somebody else wrote it between our reading and our writing.
    #[error("another program changed {} meanwhile", shown(path))]
    ChangedMeanwhile {
        /// Which.
        path: PathBuf,
    },
    /// The system says no.
    #[error(transparent)]
    Fs(#[from] Error),
}

impl FileError {
    /// The error and its causes in one line.
    pub(crate) fn in_words(&self) -> String {
        let mut words = escape(self.to_string().as_bytes());
        let mut next = std::error::Error::source(self);
        while let Some(cause) = next {
            let text = escape(cause.to_string().as_bytes());
            if !words.ends_with(&text) {
                words = format!("{words}: {text}");
            }
            next = cause.source();
        }
        words
    }
}

/// What reading or editing a file of settings comes to.
pub type Result<T, E = FileError> = std::result::Result<T, E>;

fn shown(path: &Path) -> String {
    escape(path.as_os_str().as_encoded_bytes())
}

/// A file of settings.
pub struct SettingsFile {
    /// Where it is looked for.
    path: PathBuf,
    /// Where it really is.
    real: PathBuf,
    /// Its directory, if there is one yet.
    directory: Option<Dir>,
    name: String,
}

/// What was done about the copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Backup {
    /// There is one, made now or earlier.
    Kept(PathBuf),
    /// The file is what it was before, so the copy was removed.
    Removed,
    /// There is none.
    None,
}

impl SettingsFile {
    /// Finds an agent's file, through links that lead to one.
    pub fn of_agent(path: &Path) -> Result<Self> {
        let file = Self::open(path)?;
        let is_link = |path: &Path| -> Result<Option<bool>> {
            Ok(herma_fs::stat_path(path)?.map(|stat| stat.kind == FileKind::Symlink))
        };
        if is_link(path)? == Some(true) && is_link(&file.real)?.unwrap_or(true) {
            return Err(unfit(path, "is a link to a file that does not exist", None));
        }
        Ok(file)
    }

    /// Finds the file, through links.
    pub fn open(path: &Path) -> Result<Self> {
        let real = herma_fs::dir::canonicalize(path)?;
        let (Some(parent), Some(name)) = (real.parent(), real.file_name()) else {
            return Err(unfit(path, "is no file", None));
        };
        let directory = Dir::open(parent).if_there()?;
        let name = name.to_str().ok_or_else(|| Error::on("read", &real, Errno::ILSEQ))?.to_owned();
        Ok(Self { path: path.to_owned(), real, directory, name })
    }

    /// The content; `None` when there is no file.
    pub fn read(&self) -> Result<Option<Vec<u8>>> {
        match &self.directory {
            Some(directory) => Ok(directory.read_opt(self.name.as_str(), MAX_BYTES)?),
            None => Ok(None),
        }
    }

    /// The same as text.
    pub fn read_text(&self) -> Result<Option<String>> {
        let text = self.read()?.map(String::from_utf8).transpose();
        Ok(text.map_err(|_| Error::on("read", &self.real, Errno::ILSEQ))?)
    }

    /// Fails if the file or its copy cannot be written as they should, before anything else is done.
    pub fn check_writable(&self) -> Result<()> {
        let Some(directory) = &self.directory else { return Ok(()) };
        let stat = directory.stat_opt(self.name.as_str())?;
        if stat.is_some_and(|stat| stat.mode & 0o200 == 0) {
            let hint = format!("`chmod u+w {}` makes it writable.", shown(&self.real));
            return Err(unfit(&self.path, "is read-only", Some(hint)));
        }
        // A file is replaced in one step, which would leave its other names with the old content.
        if stat.is_some_and(|stat| stat.links > 1) {
            let hint = "Make it a file of its own, or a symbolic link, which is followed.";
            return Err(unfit(
                &self.path,
                "has more than one name (a hard link)",
                Some(hint.to_owned()),
            ));
        }
        let copy = directory.stat_opt(self.backup_name().as_str())?;
        if copy.is_some_and(|copy| copy.kind != FileKind::File) {
            return Err(unfit(
                &self.backup_path(),
                "is no file, and is in the place of the copy that is kept of the settings",
                Some("Move it away, and run the command again.".to_owned()),
            ));
        }
        Ok(())
    }

    /// Removes what an edit that was killed left beside the file.
    pub fn sweep(&self) {
        if let Some(directory) = &self.directory {
            sweep(directory);
        }
    }

    /// Puts the copy beside the file, unless there is one.
    pub fn back_up(&self, bytes: &[u8]) -> Result<Backup> {
        let Some(directory) = &self.directory else { return Ok(Backup::None) };
        let name = self.backup_name();
        if directory.stat_opt(name.as_str())?.is_none() {
            let temp = self.prepare(directory, bytes, 0o600)?;
            temp.publish_new(directory, &name)?;
            directory.sync()?;
        }
        Ok(Backup::Kept(self.backup_path()))
    }

    /// Removes the copy if it says the same as the file; tells where it is otherwise.
    pub fn drop_backup(&self, bytes: Option<&[u8]>) -> Result<Backup> {
        let Some(directory) = &self.directory else { return Ok(Backup::None) };
        let name = self.backup_name();
        match directory.read_opt(name.as_str(), MAX_BYTES)? {
            None => Ok(Backup::None),
            Some(copy) if Some(&*copy) == bytes => {
                directory.remove_file(name.as_str())?;
                directory.sync()?;
                Ok(Backup::Removed)
            }
            Some(_) => Ok(Backup::Kept(self.backup_path())),
        }
    }

    /// Makes the file say `after`, or removes it, provided that it still says `before`. The directory must
    /// exist by now.
    pub fn replace(&self, before: Option<&[u8]>, after: Option<&[u8]>, mode: u32) -> Result<()> {
        let opened;
        let directory = if let Some(directory) = &self.directory {
            directory
        } else {
            let parent = self.real.parent().unwrap_or(Path::new("/"));
            opened = Dir::open(parent)?;
            &opened
        };
        let name = self.name.as_str();
        let Some(after) = after else {
            if directory.read_opt(name, MAX_BYTES)?.as_deref() != before {
                return Err(self.changed_meanwhile());
            }
            directory.remove_file(name)?;
            directory.sync()?;
            return Ok(());
        };
        let temp = self.prepare(directory, after, mode)?;
        if directory.read_opt(name, MAX_BYTES)?.as_deref() != before {
            return Err(self.changed_meanwhile());
        }
        if before.is_some() {
            temp.publish(directory, name)?;
        } else if !temp.publish_new(directory, name)? {
            return Err(self.changed_meanwhile());
        }
        directory.sync()?;
        if directory.read_opt(name, MAX_BYTES)?.as_deref() != Some(after) {
            return Err(unfit(&self.path, "does not say what was written to it", None));
        }
        Ok(())
    }

    /// A file beside it with this content, and its mode and owner if it exists.
    fn prepare<'d>(&self, directory: &'d Dir, bytes: &[u8], mode: u32) -> Result<Temp<'d>> {
        let name = self.name.as_str();
        let mut temp = Temp::create(directory)?;
        temp.write(bytes)?;
        match directory.stat_opt(name)? {
            Some(stat) => {
                temp.take_owner_of(&directory.open_file(name)?)?;
                temp.set_mode(stat.mode)?;
            }
            None => temp.set_mode(mode)?,
        }
        // ORDER: content before name, or a power cut may leave an empty file under the name.
        temp.sync()?;
        Ok(temp)
    }

    fn changed_meanwhile(&self) -> FileError {
        FileError::ChangedMeanwhile { path: self.path.clone() }
    }

    fn backup_name(&self) -> String {
        format!("{}{BACKUP}", self.name)
    }

    fn backup_path(&self) -> PathBuf {
        self.real.with_file_name(self.backup_name())
    }
}

fn unfit(path: &Path, what: &'static str, hint: Option<String>) -> FileError {
    FileError::Unfit { path: path.to_owned(), what, hint }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A settings file as it was read, and what another program has made of it since.
    fn changed_since(by_another: Option<&[u8]>) -> (tempfile::TempDir, SettingsFile) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("settings.json");
        if let Some(bytes) = by_another {
            std::fs::write(&path, bytes).unwrap();
        }
        let file = SettingsFile::open(&path).unwrap();
        (directory, file)
    }

    #[test]
    fn settings_that_another_program_changed_meanwhile_are_left_alone() {
        let theirs = Some(&b"theirs"[..]);
        for before in [Some(&b"as it was read"[..]), None] {
            for after in [Some(&b"ours"[..]), None] {
                let (_directory, file) = changed_since(theirs);
                let refused = file.replace(before, after, 0o600).unwrap_err();
                assert!(matches!(refused, FileError::ChangedMeanwhile { .. }), "{refused}");
                assert_eq!(file.read().unwrap().as_deref(), theirs);
            }
        }
        let (_directory, file) = changed_since(None);
        assert!(file.replace(theirs, Some(b"ours"), 0o600).is_err());
        assert_eq!(file.read().unwrap(), None, "what another program removed stays so");
    }

    #[test]
    fn settings_that_nobody_changed_are_replaced_and_removed() {
        let (_directory, file) = changed_since(Some(b"before"));
        file.replace(Some(b"before"), Some(b"after"), 0o600).unwrap();
        assert_eq!(file.read().unwrap().as_deref(), Some(&b"after"[..]));
        file.replace(Some(b"after"), None, 0o600).unwrap();
        assert_eq!(file.read().unwrap(), None);
        file.replace(None, Some(b"new"), 0o600).unwrap();
        assert_eq!(file.read().unwrap().as_deref(), Some(&b"new"[..]));
    }

    #[test]
    fn a_link_to_the_real_file_survives_an_edit() {
        let temp = tempfile::tempdir().unwrap();
        let real = temp.path().join("dotfiles.yaml");
        std::fs::write(&real, "a: 1\n").unwrap();
        let link = temp.path().join("config.yaml");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let file = SettingsFile::open(&link).unwrap();
        file.replace(Some(b"a: 1\n"), Some(b"a: 2\n"), 0o600).unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read_to_string(&real).unwrap(), "a: 2\n");
    }
}
