//! One program at work: what it is and where it runs.

use bstr::BString;

use crate::effects::Effect;
use crate::options::Argument;
use crate::paths::{LastLink, PathEntry, ResolvedPath, resolve};
use crate::walk::{Walk, programs};

/// One program, started in one directory.
pub(crate) struct Process<'w, 'f> {
    pub(crate) walk: &'w mut Walk<'f>,
    /// Where it runs, absolute; `None` if that is not known.
    pub(crate) directory: Option<BString>,
    /// What it is called in the answer.
    pub(crate) program: BString,
}

impl Process<'_, '_> {
    /// Notes what the program with these arguments, the first of which is its name, does.
    pub(crate) fn runs(&mut self, arguments: &[Argument]) {
        self.walk.deeper(|walk| {
            let mut process =
                Process { walk, directory: self.directory.clone(), program: self.program.clone() };
            programs::effects(&mut process, arguments);
        });
    }

    /// Notes something it does.
    pub(crate) fn does(&mut self, effect: Effect) {
        let reason = effect.reason();
        let (program, directory) = (self.program.clone(), self.directory.clone());
        self.walk.touch(effect, reason, program, directory);
    }

    /// It may change any file.
    pub(crate) fn unknown(&mut self, why: &'static str) {
        self.does(Effect::Anything(why));
    }

    /// It changes something that is no file here.
    pub(crate) fn elsewhere(&mut self, why: &'static str) {
        self.does(Effect::Elsewhere(why));
    }

    /// It writes into the file at a path, or makes it.
    pub(crate) fn writes(&mut self, path: &[u8]) {
        self.does(Effect::Writes(path.into()));
    }

    /// It makes a file, link or directory at a path.
    pub(crate) fn makes(&mut self, path: &[u8], is_directory: bool) {
        let path = path.into();
        self.does(Effect::Makes { path, is_directory });
    }

    /// It removes or replaces what is at a path.
    pub(crate) fn replaces(&mut self, path: &[u8]) {
        self.does(Effect::Replaces(path.into()));
    }

    /// It changes what is at or below a path.
    pub(crate) fn writes_below(&mut self, path: &[u8]) {
        self.does(Effect::WritesBelow(path.into()));
    }

    /// It writes files below a directory whose names are not known.
    pub(crate) fn fills(&mut self, path: &[u8]) {
        self.does(Effect::Fills(path.into()));
    }

    /// Where a path leads, if it can be known. It is not changed, but what happens depends on it.
    pub(crate) fn follows(&mut self, path: &[u8]) -> Option<ResolvedPath> {
        self.does(Effect::Follows(path.into()));
        let directory = self.directory.as_ref()?;
        Some(resolve(self.walk.files?, directory, path, LastLink::Followed).0)
    }

    /// The size of a file that is read, if it is one that is saved.
    pub(crate) fn source_size(&mut self, path: &[u8]) -> Option<u64> {
        match self.follows(path) {
            Some(ResolvedPath::Inside(path, PathEntry::File)) => self.walk.files?.size(&path),
            _ => None,
        }
    }
}
