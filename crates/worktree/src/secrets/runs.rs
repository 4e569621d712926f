//! Finds the long words of a text: what has no space, dot or quote in it for [`MIN_WORD_CHARACTERS`] characters.
//!
//! Nearly every secret is such a word, or has one right behind its prefix, and nearly no other text is.
//! The text is looked at in blocks of eight bytes, many at once: a long word fills two neighbours
//! wherever it begins.

/// Words of fewer characters are not found.
pub(crate) const MIN_WORD_CHARACTERS: usize = 24;

/// A word of at least `MIN_WORD_CHARACTERS` characters fills two of these in a row.
const BLOCK_BYTES: usize = 8;
/// How many bytes are looked at together: as many blocks as a byte has bits.
const CHUNK: usize = 8 * BLOCK_BYTES;

/// Letters, digits, `_` and `-`. Without branches, so that it is done for many bytes at once.
fn in_run(byte: u8) -> bool {
    let letter = (byte | 0x20).wrapping_sub(b'a') < 26;
    let digit = byte.wrapping_sub(b'0') < 10;
    let joins = u8::from(byte == b'_') | u8::from(byte == b'-');
    (u8::from(letter) | u8::from(digit) | joins) != 0
}

/// Which blocks of a chunk consist of nothing but characters of words; the first is the lowest bit.
fn full_blocks(chunk: &[u8; CHUNK]) -> u8 {
    let mut flags = [0; CHUNK];
    for (flag, byte) in flags.iter_mut().zip(chunk) {
        *flag = if in_run(*byte) { 0xff } else { 0 };
    }
    let (blocks, _) = flags.as_chunks::<BLOCK_BYTES>();
    let mut full = 0;
    for (place, block) in blocks.iter().enumerate() {
        full |= u8::from(u64::from_le_bytes(*block) == u64::MAX) << place;
    }
    full
}

/// The long words of a text, from the first to the last.
pub(crate) struct Runs<'t> {
    text: &'t [u8],
    /// Every word that begins before this was looked at.
    from: usize,
    /// The next chunk.
    chunk: usize,
    /// Was the last block before it full?
    carry: bool,
    /// Second blocks of two full neighbours in the chunk before the next one, yet to be looked at.
    pairs: u8,
}

impl<'t> Runs<'t> {
    pub(crate) fn of(text: &'t [u8]) -> Self {
        Self { text, from: 0, chunk: 0, carry: false, pairs: 0 }
    }

    /// Looks at the next chunk; `None` at the end of the text.
    fn advance(&mut self) -> Option<()> {
        let rest = self.text.get(self.chunk..).filter(|rest| !rest.is_empty())?;
        let full = if let Some(chunk) = rest.first_chunk::<CHUNK>() {
            full_blocks(chunk)
        } else {
            // What is behind the end is no part of a word.
            let mut last = [0; CHUNK];
            last[..rest.len()].copy_from_slice(rest);
            full_blocks(&last)
        };
        self.pairs = full & (full << 1 | u8::from(self.carry));
        self.carry = full >> 7 != 0;
        self.chunk += CHUNK;
        Some(())
    }

    /// The word around a full block and the full one before it, if it is long.
    fn around(&self, block: usize) -> Option<(usize, usize)> {
        let known = block.saturating_sub(BLOCK_BYTES).max(self.from);
        let before = &self.text[self.from..known];
        let gap = before.iter().rposition(|byte| !in_run(*byte));
        let start = self.from + gap.map_or(0, |gap| gap + 1);
        let known = (block + BLOCK_BYTES).min(self.text.len());
        let behind = &self.text[known..];
        let end = behind.iter().position(|byte| !in_run(*byte));
        let end = known + end.unwrap_or(behind.len());
        (end - start >= MIN_WORD_CHARACTERS).then_some((start, end))
    }
}

impl Iterator for Runs<'_> {
    /// Where a word begins and ends.
    type Item = (usize, usize);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            while self.pairs == 0 {
                self.advance()?;
            }
            let place = self.pairs.trailing_zeros() as usize;
            self.pairs &= self.pairs - 1;
            let block = self.chunk - CHUNK + place * BLOCK_BYTES;
            // Part of a word that was found from a block before.
            if block < self.from {
                continue;
            }
            if let Some((start, end)) = self.around(block) {
                self.from = end;
                return Some((start, end));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_long_word_is_found(text in "([a-cX-Z0189_-]{1,40}[ .`@{/:\\[^]){0,30}[a-z]{0,40}") {
            let found: Vec<_> = Runs::of(text.as_bytes()).collect();
            let mut expected = Vec::new();
            let mut start = 0;
            for word in text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-') {
                if word.len() >= MIN_WORD_CHARACTERS {
                    expected.push((start, start + word.len()));
                }
                start += word.len() + 1;
            }
            prop_assert_eq!(found, expected);
        }
    }
}
