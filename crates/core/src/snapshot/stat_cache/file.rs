//! The file a cache is in. Written without syncing, and only where it changed.

use std::fs::File;
use std::num::NonZeroUsize;
use std::ops::Range;

use herma_fs::Dir;
use herma_fs::FileKind;
use herma_fs::file::read_at;
use herma_fs::file::stat_file;
use herma_fs::memory::large_buffer;
use herma_fs::publish::rewrite_cache;

use super::StatCache;
use super::blocks::BLOCK;
use super::blocks::sum;
use crate::id::ObjectId;

/// What the file is called, in the state of a project.
pub(crate) const CACHE_FILE: &str = "stat-cache";

/// Stat caches grow with the project: a million files need some 90 MB.
const MAX_CACHE: u64 = 1 << 30;

/// Less than this is read by one thread: another would not have begun before it is done.
const WORTH_A_THREAD: usize = 1 << 20;

impl StatCache {
    /// Reads the cache of a project with so many threads; `None` when there is none that can be believed.
    pub(crate) fn read(state: &Dir, threads: usize) -> Option<Self> {
        let file = state.open_file_raw(CACHE_FILE).ok()?;
        let stat = stat_file(&file).ok()?;
        if stat.kind != FileKind::File || stat.size > MAX_CACHE {
            return None;
        }
        let mut bytes = large_buffer(stat.size as usize);
        let checksum = read_and_sum(&file, &mut bytes, threads)?;
        Self::of_bytes(bytes, checksum)
    }

    /// Is there a cache that is read by more than one thread?
    pub(crate) fn is_large(state: &Dir) -> bool {
        let stat = state.stat_opt(CACHE_FILE).ok().flatten();
        stat.is_some_and(|stat| stat.size >= 2 * WORTH_A_THREAD as u64)
    }

    /// Writes the cache, which describes `checkpoint`, into the state of a project.
    pub(crate) fn write(
        self,
        temp_dir: &Dir,
        state: &Dir,
        checkpoint: ObjectId,
    ) -> herma_fs::Result<()> {
        let (bytes, changed) = self.into_changed_bytes(checkpoint);
        rewrite_cache(temp_dir, state, CACHE_FILE, &bytes, &joined(changed))
    }
}

/// Fills `bytes` from the file, and returns their checksum. `None` if the file has fewer.
fn read_and_sum(file: &File, bytes: &mut [u8], threads: usize) -> Option<u64> {
    let most = NonZeroUsize::new(bytes.len() / WORTH_A_THREAD).map_or(1, usize::from);
    let part = bytes.len().div_ceil(threads.clamp(1, most));
    let part = part.next_multiple_of(BLOCK).max(BLOCK);
    let read = |(index, part_of): (usize, &mut [u8])| {
        let at = index * part;
        let read = read_at(file, part_of, at as u64).ok()?;
        (read == part_of.len()).then(|| sum(part_of, at / BLOCK))
    };
    let mut parts = bytes.chunks_mut(part).enumerate();
    let first = parts.next();
    std::thread::scope(|scope| {
        let spawn = |part: (usize, _)| {
            let work = move || read(part);
            std::thread::Builder::new().spawn_scoped(scope, work)
        };
        // Where no thread can be had, the cache is not read, and a save without it still works.
        let others: Vec<_> = parts.map(spawn).collect();
        let mine = first.map_or(Some(0), read);
        let others = others
            .into_iter()
            .map(|other| other.ok()?.join().ok().flatten());
        others
            .chain([mine])
            .try_fold(0_u64, |sum, part| Some(sum.wrapping_add(part?)))
    })
}

/// Fewer, longer ranges: what is beside each other is written in one go.
fn joined(ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => joined.push(range),
        }
    }
    joined
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use super::super::blocks::checksum;
    use super::*;

    #[test]
    fn any_number_of_threads_reads_the_same() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("file");
        for length in [0, 5, BLOCK, (3 << 20) + 77, 4 << 20] {
            let written: Vec<u8> = (0..length).map(|at| (at * 31 / 5) as u8).collect();
            std::fs::write(&path, &written).unwrap();
            let file = File::open(&path).unwrap();
            for threads in [0, 1, 2, 3, 64] {
                let mut bytes = vec![0; length];
                let sum = read_and_sum(&file, &mut bytes, threads);
                assert_eq!(sum, Some(checksum(&written)), "{length} by {threads}");
                assert_eq!(bytes, written);
                assert_eq!(read_and_sum(&file, &mut vec![0; length + 1], threads), None);
            }
        }
    }

    #[test]
    fn ranges_beside_each_other_are_one() {
        assert_eq!(joined(vec![0..2, 2..5, 7..9]), [0..5, 7..9]);
    }
}
