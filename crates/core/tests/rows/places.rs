//! Where the projects of these tests stand.

use std::path::Path;

use herma_core::Settings;

use crate::engine::project::TestProject;

const TMPFS: u64 = 0x0102_1994;

/// Is this directory on a file system that has no disk?
pub fn is_in_memory(path: &Path) -> bool {
    rustix::fs::statfs(path).is_ok_and(|found| found.f_type as u64 == TMPFS)
}

/// A project on a file system with a disk below it; `None`, loudly, if there is none.
pub fn project_on_disk(settings: Settings) -> Option<TestProject> {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    if is_in_memory(place) {
        herma_testkit::skipped("disk", format!("{} is in memory", place.display()));
        return None;
    }
    Some(TestProject::at(tempfile::tempdir_in(place).unwrap(), settings))
}
