//! A scan as tests want it.

use std::path::Path;
use std::sync::Arc;

use herma_fs::Dir;

use super::present::{NothingSaved, Present, Recent, ScanOptions, scan};
use super::sink::HashOnly;
use super::stat_cache::StatCache;
use crate::types::settings::Settings;

/// Looks at the project at `root`, with what is known of it.
pub(crate) fn scanned(
    root: &Path,
    cache: Option<Arc<StatCache>>,
    only_in: Option<Vec<Vec<u8>>>,
) -> Present {
    let root = Dir::open(root).unwrap();
    let settings = Settings::default();
    let options = ScanOptions {
        root: &root,
        settings: &settings,
        cache,
        saved: &NothingSaved,
        rehash: false,
        only_in,
        recent: Recent::default(),
        held: None,
        cancelled: &|_| false,
    };
    scan(options, &HashOnly).unwrap()
}
