//! Finds what a file repeats of itself.
//!
//! A table has for each four bytes, by a hash of them, where they were seen last. It is not cleared between files: places are counted on
//! from file to file with a gap that is wider than any distance, so what was left by another file is always too far away.

/// Fewer bytes are not worth a distance.
const SHORTEST: usize = 4;
/// The longest that deflate can say.
const LONGEST: usize = 258;
/// As far back as deflate can say.
const FARTHEST: usize = 32 << 10;

const TABLE_BITS: u32 = 13;
/// The first place. What the table has to begin with, zero, is too far away from it.
const FIRST_PLACE: u32 = FARTHEST as u32 + 1;

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
    table: Box<[u32; 1 << TABLE_BITS]>,
    /// The place of the first byte of the next file.
    next: u32,
}

impl Default for Finder {
    fn default() -> Self {
        let table = vec![0; 1 << TABLE_BITS].into_boxed_slice();
        Self {
            table: table.try_into().expect("it has that length"),
            next: FIRST_PLACE,
        }
    }
}

impl Finder {
    #[cfg(test)]
    pub(super) fn at_place(next: u32) -> Self {
        Self {
            next,
            ..Self::default()
        }
    }

    /// Tells `seen` what `data` is made of.
    #[inline(always)]
    pub(super) fn find(&mut self, data: &[u8], seen: &mut impl Seen) {
        let first = self.begin(data.len());
        let mut told = 0;
        let mut at = 0;
        while let Some((from, distance)) = self.next_repeat(data, first, at) {
            seen.bytes(&data[told..from]);
            let length = same(data, from - distance, from);
            at = from + length;
            told = at;
            // More of what is repeated would be worth 1 % of the bytes, and take 5 % of the time.
            self.note(data, first, from + 1);
            seen.repeat(length, distance);
        }
        seen.bytes(&data[told..]);
    }

    /// The place of the first byte of a file of this length.
    fn begin(&mut self, length: usize) -> u32 {
        let used = u32::try_from(length + FARTHEST + 1).expect("only small files come here");
        let after = self.next.checked_add(used);
        let first = if after.is_some() {
            self.next
        } else {
            self.table.fill(0);
            FIRST_PLACE
        };
        self.next = first + used;
        first
    }

    /// Where from `at` on something is repeated, and how far back it was seen.
    #[inline(always)]
    fn next_repeat(&mut self, data: &[u8], first: u32, mut at: usize) -> Option<(usize, usize)> {
        let mut step = 1 << PATIENCE_BITS;
        loop {
            let four = four_at(data, at)?;
            let place = first + at as u32;
            let last = std::mem::replace(&mut self.table[hash(four)], place);
            let distance = (place - last) as usize;
            if distance <= FARTHEST && four_at(data, at - distance) == Some(four) {
                return Some((at, distance));
            }
            at += step >> PATIENCE_BITS;
            step += 1;
        }
    }

    #[inline(always)]
    fn note(&mut self, data: &[u8], first: u32, at: usize) {
        if let Some(four) = four_at(data, at) {
            self.table[hash(four)] = first + at as u32;
        }
    }
}

#[inline(always)]
fn four_at(data: &[u8], at: usize) -> Option<u32> {
    let bytes = data.get(at..at + SHORTEST)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

#[inline(always)]
fn hash(four: u32) -> usize {
    // Multiplied by 2^32 divided by the golden ratio, the highest bits depend on all of them.
    (four.wrapping_mul(0x9e37_79b1) >> (32 - TABLE_BITS)) as usize
}

/// How many bytes from `here` on are those from `back` on, of which the first four are known to be.
#[inline(always)]
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
