//! Could a command be taken back? Looks at the project as a save would, and writes nothing.

use std::os::unix::ffi::OsStrExt;

use bstr::BString;
use herma_shell::{LastLink, resolve, touches};
use herma_store::RelPath;
use herma_worktree::reason::Reason;
use herma_worktree::rules::Rules;
use herma_worktree::scan::judge::Judge;
use herma_worktree::sink::HashOnly;

use crate::can_undo::{AnswerBuilder, CanUndo, Command, PresentFiles};
use crate::engine::{Progress, Project};
use crate::error::Error;
use crate::history::History;

impl Project {
    /// Would a checkpoint taken now bring back everything `command`, started in `directory`, can change?
    ///
    /// Nothing is run and nothing is written. The project is scanned, which is as fast as a save in which
    /// nothing changed once there is a checkpoint.
    pub fn can_undo(
        &self,
        command: &Command,
        directory: &RelPath,
        progress: &dyn Progress,
    ) -> Result<CanUndo, Error> {
        let store = self.engine.open_for_reading()?;
        let cache = match &store {
            Some(store) => {
                let history = History::load(&store.dirs, &store.objects, &self.id)?;
                self.load_cache(store, &history)
            }
            None => None,
        };
        let present = self.scan(store.as_ref(), cache, false, &HashOnly, progress)?;
        let rules = Rules::new(&self.settings().excludes);
        let mut left_out = Vec::new();
        present.cache.each_left_out(|path, why| {
            if !matches!(why.reason, Reason::SavedSecret | Reason::Identity) {
                left_out.push((BString::from(path), why.reason));
            }
            true
        });
        let home = self.engine.options.user_home.as_ref();
        let files = PresentFiles {
            root: self.root.as_os_str().as_bytes().into(),
            home: home.map(|home| home.as_os_str().as_bytes().into()),
            dir: self.open_root()?,
            cache: present.cache,
            left_out,
            judge: Judge::new(self.open_root()?, &rules),
            largest_file: self.settings().max_file_size,
        };
        let start = directory.as_bytes();
        let (start, _) = resolve(&files, &files.root, start, LastLink::Followed);
        let touches = touches(command, &start.absolute(&files), &files);
        Ok(AnswerBuilder::new(&files).answer(&touches))
    }
}
