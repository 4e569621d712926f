//! Which projects with checkpoints are near a directory that has none: whoever looks for their work in the wrong place
//! is told the right one.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use super::adopt::known;
use crate::engine::open::{OpenStore, project_ids};
use crate::engine::{Engine, KnownProject};
use crate::error::{Error, Result};

/// So many projects below a directory are named.
const MAX_WITHIN: usize = 3;

/// The projects with checkpoints that may be meant by a directory without any.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Nearby {
    /// The innermost one around it.
    pub around: Option<KnownProject>,
    /// Those below it, the last used first.
    pub within: Vec<KnownProject>,
    /// Those that are gone from where they were, and look like it.
    pub moved: Vec<KnownProject>,
}

impl Engine {
    /// The projects near `directory`, a canonical path.
    pub fn nearby(&self, directory: &Path) -> Result<Nearby> {
        let Some(store) = self.open_for_reading()? else { return Ok(Nearby::default()) };
        let related = related(&store, directory)?;
        let (around, mut within): (Vec<_>, Vec<_>) =
            related.into_iter().partition(|(path, _)| directory.starts_with(path));
        within.sort_by_key(|(_, one)| Reverse(one.last_touch.map(|seconds| seconds as i64)));
        let is_project = |path: &Path| self.project(path).is_ok();
        let around = around.into_iter().filter(|(path, _)| is_project(path));
        let innermost = around.max_by_key(|(path, _)| path.as_os_str().len());
        Ok(Nearby {
            around: innermost.map(|(_, one)| one),
            within: within.into_iter().map(|(_, one)| one).take(MAX_WITHIN).collect(),
            moved: self.moved_to(directory)?,
        })
    }

    /// A directory that cannot be a project is none that was moved.
    fn moved_to(&self, directory: &Path) -> Result<Vec<KnownProject>> {
        match self.project(directory) {
            Ok(project) => project.adoptable(),
            Err(Error::Root(_)) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }
}

/// The projects with checkpoints that are around the directory or below it, and where they are.
fn related(store: &OpenStore, directory: &Path) -> Result<Vec<(PathBuf, KnownProject)>> {
    let mut related = Vec::new();
    for id in project_ids(store)? {
        let Some(path) = store.identity(&id).workdir() else { continue };
        let is_related = directory.starts_with(&path) || path.starts_with(directory);
        if path != directory && is_related {
            let one = known(store, id)?;
            if one.exists && one.checkpoints > 0 {
                related.push((path, one));
            }
        }
    }
    Ok(related)
}
