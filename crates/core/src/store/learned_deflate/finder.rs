//! Finds what a file repeats of itself.
//!
//! A table has for each four bytes, by a hash of them, the last 16 bits of the place where they were seen last. It is not cleared between files:
//! whatever it says is looked at before it is believed. So it takes no more than half of the memory next to one
//! processor, where another thread has its own table.

/// Fewer bytes are not worth a distance.
const SHORTEST: usize = 4;
/// The longest that deflate can say.
const LONGEST: usize = 258;
/// As far back as deflate can say.
pub(super) const FARTHEST: usize = 32 << 10;

const TABLE_BITS: u32 = 13;
/// After so many places in a row that repeat nothing every second one is looked at, after twice as many every third.
const PATIENCE_BITS: u32 = 6;

/// Hears what a file is made of, in order.
pub(super) trait Seen {
    /// These bytes, as they are.
    fn bytes(&mut self, bytes: &[u8]);
    /// So many bytes, from 4 to 258, that were also seen so far back, from 1 to 32768.
    fn repeat(&mut self, length: usize, distance: usize);
}

pub(super) struct Finder {
    table: Box<[u16; 1 << TABLE_BITS]>,
}

impl Default for Finder {
    fn default() -> Self {
        let table = vec![0; 1 << TABLE_BITS].into_boxed_slice();
        Self {
            table: table.try_into().expect("it has that length"),
        }
    }
}

impl Finder {
    /// Tells `seen` what `data` is made of.
    pub(super) fn find(&mut self, data: &[u8], seen: &mut impl Seen) {
        let mut told = 0;
        let mut at = 0;
        while let Some((from, distance)) = self.next_repeat(data, at) {
            seen.bytes(&data[told..from]);
            let length = same(data, from - distance, from);
            seen.repeat(length, distance);
            at = from + length;
            told = at;
            self.note(data, from + 1);
            self.note(data, at - 2);
        }
        seen.bytes(&data[told..]);
    }

    /// Where from `at` on something is repeated, and how far back it was seen.
    fn next_repeat(&mut self, data: &[u8], mut at: usize) -> Option<(usize, usize)> {
        let mut step = 1 << PATIENCE_BITS;
        loop {
            let four = four_at(data, at)?;
            let place = at as u16;
            let last = std::mem::replace(&mut self.table[hash(four)], place);
            let distance = usize::from(place.wrapping_sub(last));
            // Of another file, or of this one long before, it may be anything.
            let back = at.checked_sub(distance).filter(|back| *back < at);
            if distance <= FARTHEST && back.and_then(|back| four_at(data, back)) == Some(four) {
                return Some((at, distance));
            }
            at += step >> PATIENCE_BITS;
            step += 1;
        }
    }

    fn note(&mut self, data: &[u8], at: usize) {
        if let Some(four) = four_at(data, at) {
            self.table[hash(four)] = at as u16;
        }
    }
}

fn four_at(data: &[u8], at: usize) -> Option<u32> {
    let bytes = data.get(at..at + SHORTEST)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

fn hash(four: u32) -> usize {
    // Multiplied by 2^32 divided by the golden ratio, the highest bits depend on all of them.
    (four.wrapping_mul(0x9e37_79b1) >> (32 - TABLE_BITS)) as usize
}

/// How many bytes from `here` on are those from `back` on, of which the first four are known to be.
fn same(data: &[u8], back: usize, here: usize) -> usize {
    let end = data.len().min(here + LONGEST);
    let mut length = SHORTEST;
    while here + length + 8 <= end {
        let eight = |at: usize| -> u64 {
            let bytes = data[at..at + 8].try_into();
            u64::from_le_bytes(bytes.expect("eight bytes"))
        };
        let differing = eight(back + length) ^ eight(here + length);
        if differing != 0 {
            return length + (differing.trailing_zeros() / 8) as usize;
        }
        length += 8;
    }
    let rest = data[back + length..].iter().zip(&data[here + length..end]);
    length + rest.take_while(|(back, here)| back == here).count()
}
