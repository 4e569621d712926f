//! Makes git's deltas: describes an object as copies out of another one and the bytes between them.
//!
//! Blocks of the base are put into a table by their hash. The target is read from front to back; where
//! its next bytes are a block of the base, the match is stretched both ways and the longest of a few
//! candidates is copied. Each position of the target looks at a bounded number of candidates, and
//! stretching is paid for by the bytes it copies, so that no input, however repetitive, takes more than
//! a fixed multiple of its length.

/// A match begins with this many equal bytes.
const MATCH_BYTES: usize = 16;

/// Bases up to this size are indexed at every byte, larger ones block by block: packs become almost one
/// percent smaller for a fifth more time.
const SMALL_BASE: usize = 1 << 20;

/// How many places with the same hash are looked at.
const CANDIDATES: usize = 32;

/// A match of this length is taken without looking for a longer one.
const LONG_ENOUGH: usize = 4096;

/// The most bytes one copy command can name.
const MAX_COPY_BYTES: usize = 0xff_ffff;

/// The most bytes one insertion can hold.
const MAX_INSERTION_BYTES: usize = 127;

/// The size a copy command without size bytes means.
const UNWRITTEN_SIZE: usize = 0x1_0000;

/// No block: the end of a chain.
const NONE: u32 = u32::MAX;

/// A base, prepared for making deltas against it.
pub struct DeltaIndex<'b> {
    base: &'b [u8],
    step: usize,
    /// By hash, the first block that has it.
    first: Vec<u32>,
    /// By block, the next one with the same hash.
    next: Vec<u32>,
}

impl<'b> DeltaIndex<'b> {
    /// Indexes `base`; `None` if it is larger than the offsets of a delta can reach.
    pub fn new(base: &'b [u8]) -> Option<Self> {
        u32::try_from(base.len()).ok()?;
        let step = if base.len() <= SMALL_BASE { 1 } else { MATCH_BYTES };
        let blocks = base.len().checked_sub(MATCH_BYTES).map_or(0, |l| l / step + 1);
        let mut index = Self {
            base,
            step,
            first: vec![NONE; blocks.next_power_of_two().max(16)],
            next: vec![NONE; blocks],
        };
        for block in (0..blocks).rev() {
            index.insert(block);
        }
        Some(index)
    }

    /// Puts a block before those with the same hash. Of equal blocks in a row only the first is kept:
    /// a match there reaches over all of them.
    fn insert(&mut self, block: usize) {
        let bytes = &self.base[block * self.step..][..MATCH_BYTES];
        let slot = self.slot(bytes);
        let head = self.first[slot];
        let follows = head as usize == block + 1;
        if follows && self.base[head as usize * self.step..][..MATCH_BYTES] == *bytes {
            self.next[block] = self.next[head as usize];
        } else {
            self.next[block] = head;
        }
        self.first[slot] = block as u32;
    }

    fn slot(&self, block: &[u8]) -> usize {
        hash(block) as usize & (self.first.len() - 1)
    }

    /// The delta that makes `target` out of the base; `None` if it would be longer than `limit`, or if
    /// the target is larger than a delta should make.
    pub fn encode(&self, target: &[u8], limit: usize) -> Option<Vec<u8>> {
        u32::try_from(target.len()).ok()?;
        let mut encoder = Encoder {
            index: self,
            target,
            delta: Vec::with_capacity(limit.min(1024)),
            limit,
            done: 0,
            compared: 0,
        };
        encoder.run()?;
        Some(encoder.delta)
    }
}

/// Part of the base that equals part of the target.
#[derive(Clone, Copy)]
struct Match {
    /// Where it begins in the base.
    from: usize,
    /// Where it begins in the target.
    to: usize,
    length: usize,
}

/// A delta being made.
struct Encoder<'i, 'b, 't> {
    index: &'i DeltaIndex<'b>,
    target: &'t [u8],
    delta: Vec<u8>,
    limit: usize,
    /// How much of the target the delta makes so far.
    done: usize,
    /// How many bytes were compared: the work, for the tests that bound it.
    compared: u64,
}

impl Encoder<'_, '_, '_> {
    /// Encodes the whole target; `None` as soon as the limit is passed.
    fn run(&mut self) -> Option<()> {
        push_size(&mut self.delta, self.index.base.len());
        push_size(&mut self.delta, self.target.len());
        let mut position = 0;
        while position + MATCH_BYTES <= self.target.len() {
            if let Some(found) = self.longest_match(position) {
                self.push_insertions(found.to);
                push_copies(&mut self.delta, found.from, found.length);
                self.done = found.to + found.length;
                position = self.done;
            } else {
                position += 1;
            }
            if self.delta.len() + (position - self.done) > self.limit {
                return None;
            }
        }
        self.push_insertions(self.target.len());
        (self.delta.len() <= self.limit).then_some(())
    }

    /// The longest match that covers the block at `position`, among the first candidates.
    fn longest_match(&mut self, position: usize) -> Option<Match> {
        let (base, target) = (self.index.base, self.target);
        let block = &target[position..position + MATCH_BYTES];
        let mut candidate = self.index.first[self.index.slot(block)];
        let mut best: Option<Match> = None;
        for _ in 0..CANDIDATES {
            if candidate == NONE {
                break;
            }
            let from = candidate as usize * self.index.step;
            candidate = self.index.next[candidate as usize];
            self.compared += MATCH_BYTES as u64;
            if base[from..from + MATCH_BYTES] != *block {
                continue;
            }
            let ahead = equal_ahead(&base[from..], &target[position..]);
            let behind = equal_behind(&base[..from], &target[self.done..position]);
            self.compared += (ahead + behind) as u64;
            let length = ahead + behind;
            if best.is_none_or(|best| length > best.length) {
                best = Some(Match { from: from - behind, to: position - behind, length });
            }
            if length >= LONG_ENOUGH {
                break;
            }
        }
        best
    }

    /// Inserts the bytes of the target from what is done up to `end`.
    fn push_insertions(&mut self, end: usize) {
        for piece in self.target[self.done..end].chunks(MAX_INSERTION_BYTES) {
            self.delta.push(piece.len() as u8);
            self.delta.extend_from_slice(piece);
        }
    }
}

/// How many bytes are equal from the start.
fn equal_ahead(a: &[u8], b: &[u8]) -> usize {
    const WORD: usize = 16;
    let most = a.len().min(b.len());
    let words = a.chunks_exact(WORD).zip(b.chunks_exact(WORD));
    let mut equal = words.take_while(|(a, b)| a == b).count() * WORD;
    while equal < most && a[equal] == b[equal] {
        equal += 1;
    }
    equal
}

/// How many bytes are equal from the end.
fn equal_behind(a: &[u8], b: &[u8]) -> usize {
    let pairs = a.iter().rev().zip(b.iter().rev());
    pairs.take_while(|(a, b)| a == b).count()
}

/// Mixes the bytes of a block.
fn hash(block: &[u8]) -> u32 {
    let (low, high) = block.split_at(MATCH_BYTES / 2);
    let word = |bytes: &[u8]| {
        let bytes = bytes.try_into().expect("half a block is eight bytes");
        u64::from_le_bytes(bytes)
    };
    let mixed = word(low).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ word(high).wrapping_mul(0xc2b2_ae3d_27d4_eb4f).rotate_left(31);
    ((mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32) as u32
}

fn push_size(delta: &mut Vec<u8>, size: usize) {
    let mut rest = size;
    while rest >= 0x80 {
        delta.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    delta.push(rest as u8);
}

/// Copies `length` bytes of the base from `from`, in as many commands as it takes.
fn push_copies(delta: &mut Vec<u8>, mut from: usize, mut length: usize) {
    while length > 0 {
        let size = length.min(MAX_COPY_BYTES);
        push_copy(delta, from, size);
        from += size;
        length -= size;
    }
}

/// One copy command: only the bytes of offset and size that are not zero are written.
fn push_copy(delta: &mut Vec<u8>, from: usize, size: usize) {
    let command = delta.len();
    delta.push(0x80);
    let written = if size == UNWRITTEN_SIZE { 0 } else { size };
    let offset = (from as u32).to_le_bytes();
    let size = (written as u32).to_le_bytes();
    let fields = offset.into_iter().chain(size.into_iter().take(3));
    for (bit, byte) in fields.enumerate() {
        if byte != 0 {
            delta[command] |= 1 << bit;
            delta.push(byte);
        }
    }
}

#[cfg(test)]
mod tests;
