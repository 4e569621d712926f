//! The checksum of a cache, made of blocks, so that it can be brought up to date where a few records changed.
//!
//! It is the sum of the checksums of all blocks, each of which depends on where the block is.

use std::collections::BTreeSet;
use std::ops::Range;

use herma_store::in_parallel::in_parallel;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Small enough that a file that changed costs little, large enough that a
/// checksum is worth its call.
const BLOCK_BYTES: usize = 4 << 10;

/// What comes before it is not part of what is summed up: the magic number and the checksum itself.
const SUMMED_FROM: usize = 16;

/// So many blocks take longer to sum up than a thread takes to begin.
const BLOCKS_WORTH_A_THREAD: usize = 512;

/// The checksum of a whole cache, as it belongs in its header.
pub fn checksum(bytes: &[u8]) -> u64 {
    let blocks = bytes.len().div_ceil(BLOCK_BYTES);
    if blocks < BLOCKS_WORTH_A_THREAD {
        return of_blocks(bytes, 0..blocks);
    }
    let half = blocks / 2;
    let (last, first) =
        in_parallel(|| of_blocks(bytes, half..blocks), || of_blocks(bytes, 0..half));
    first.wrapping_add(last)
}

fn of_blocks(bytes: &[u8], blocks: Range<usize>) -> u64 {
    let sums = blocks.map(|index| of_block(&bytes[place(bytes, index)], index));
    sums.fold(0, u64::wrapping_add)
}

fn of_block(block: &[u8], index: usize) -> u64 {
    let from = if index == 0 { SUMMED_FROM.min(block.len()) } else { 0 };
    xxh3_64_with_seed(&block[from..], index as u64 + 1)
}

/// Which blocks of a cache are not as they are in the file it was read from.
#[derive(Debug)]
pub(crate) enum Changed {
    /// All: there is no such file.
    All,
    /// These, and the sum of all others.
    Some { blocks: BTreeSet<usize>, rest: u64 },
}

impl Changed {
    /// None, of a cache with this checksum.
    pub(crate) fn none(checksum: u64) -> Self {
        Self::Some { blocks: BTreeSet::new(), rest: checksum }
    }

    /// Notes that this range of the cache is about to change.
    pub(crate) fn note(&mut self, bytes: &[u8], range: Range<usize>) {
        let Self::Some { blocks, rest } = self else { return };
        for index in range.start / BLOCK_BYTES..range.end.div_ceil(BLOCK_BYTES) {
            if blocks.insert(index) {
                *rest = rest.wrapping_sub(of_block(&bytes[place(bytes, index)], index));
            }
        }
    }

    /// The checksum of the cache as it is now, and where it differs from the file.
    pub(crate) fn finish(self, bytes: &[u8]) -> (u64, Vec<Range<usize>>) {
        match self {
            Self::All => {
                let whole = 0..bytes.len();
                (checksum(bytes), vec![whole])
            }
            Self::Some { blocks, rest } => {
                let changed = blocks.iter().map(|&index| {
                    let block = &bytes[place(bytes, index)];
                    of_block(block, index)
                });
                let sum = changed.fold(rest, u64::wrapping_add);
                let places = blocks.iter().map(|&index| place(bytes, index));
                (sum, places.collect())
            }
        }
    }
}

/// Where a block is.
fn place(bytes: &[u8], index: usize) -> Range<usize> {
    index * BLOCK_BYTES..((index + 1) * BLOCK_BYTES).min(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_of_what_changed_is_that_of_the_whole() {
        let mut bytes: Vec<u8> = (0..3 * BLOCK_BYTES + 100).map(|at| (at * at / 7) as u8).collect();
        let before = checksum(&bytes);
        let mut changed = Changed::none(before);
        for range in [
            40..50,
            BLOCK_BYTES - 3..BLOCK_BYTES + 3,
            60..61,
            3 * BLOCK_BYTES + 90..3 * BLOCK_BYTES + 100,
        ] {
            changed.note(&bytes, range.clone());
            bytes[range].fill(0x55);
        }
        let (sum, places) = changed.finish(&bytes);
        assert_eq!(sum, checksum(&bytes));
        assert_ne!(sum, before);
        let last = 3 * BLOCK_BYTES..3 * BLOCK_BYTES + 100;
        assert_eq!(places, [0..BLOCK_BYTES, BLOCK_BYTES..2 * BLOCK_BYTES, last]);
    }

    #[test]
    fn the_checksum_of_many_blocks_is_the_sum_of_all() {
        for blocks in [BLOCKS_WORTH_A_THREAD - 1, BLOCKS_WORTH_A_THREAD, BLOCKS_WORTH_A_THREAD + 1]
        {
            let bytes: Vec<u8> = (0..blocks * BLOCK_BYTES - 100).map(|at| (at / 9) as u8).collect();
            assert_eq!(checksum(&bytes), of_blocks(&bytes, 0..blocks));
        }
    }

    #[test]
    fn blocks_that_changed_places_have_another_checksum() {
        let mut bytes = vec![1; BLOCK_BYTES * 3];
        bytes[BLOCK_BYTES..2 * BLOCK_BYTES].fill(2);
        let before = checksum(&bytes);
        bytes[BLOCK_BYTES..2 * BLOCK_BYTES].fill(1);
        bytes[2 * BLOCK_BYTES..].fill(2);
        assert_ne!(checksum(&bytes), before);
    }
}
