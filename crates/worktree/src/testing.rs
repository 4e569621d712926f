//! A scan as tests want it.

use std::path::Path;
use std::sync::Arc;

use herma_fs::Dir;

use super::present::{Present, Recent, ScanOptions, ScanSettings, scan};
use super::rules::ExcludeSettings;
use super::saved::NothingSaved;
use super::sink::HashOnly;
use super::stat_cache::StatCache;

/// Looks at the project at `root`, with what is known of it.
pub(crate) fn scanned(
    root: &Path,
    cache: Option<Arc<StatCache>>,
    only_in: Option<Vec<Vec<u8>>>,
) -> Present {
    let root = Dir::open(root).unwrap();
    let excludes = ExcludeSettings::default();
    let options = ScanOptions {
        root: &root,
        settings: ScanSettings {
            max_file_size: Some(10 << 20),
            excludes: &excludes,
            threads: 0,
            quick_check_from: 200,
        },
        cache,
        saved: &NothingSaved,
        rehash: false,
        only_in,
        recent: Recent::WrittenBack,
        held: None,
        cancelled: &|_| false,
    };
    scan(options, &HashOnly).unwrap()
}
