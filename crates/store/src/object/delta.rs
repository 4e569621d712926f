//! Applies git's deltas: copies out of a base and insertions, in a few bytes each.
//!
//! Every copy is checked against the base and against the size the delta announced, before any room is
//! made for it.

/// How much room is made at first for a result, whatever size the delta announces.
const FIRST_ROOM: u64 = 1 << 20;

/// A delta does not follow its format, or does not fit its base.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadDelta(pub &'static str);

/// The sizes a delta begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Of the object it changes.
    pub base: u64,
    /// Of the object it makes.
    pub result: u64,
    /// How many bytes of the delta these sizes take.
    pub length: usize,
}

/// Reads the two sizes at the start of a delta. Twenty bytes are always enough.
pub fn sizes(delta: &[u8]) -> Result<Sizes, BadDelta> {
    let (base, first) = size(delta)?;
    let (result, second) = size(&delta[first..])?;
    Ok(Sizes { base, result, length: first + second })
}

fn size(bytes: &[u8]) -> Result<(u64, usize), BadDelta> {
    let mut value = 0u64;
    for (at, byte) in bytes.iter().enumerate().take(10) {
        let bits = u64::from(byte & 0x7f);
        let shift = 7 * at as u32;
        if bits.leading_zeros() < shift {
            break;
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            return Ok((value, at + 1));
        }
    }
    Err(BadDelta("a delta announces no valid size"))
}

/// Makes the object that `delta` describes out of `base`.
pub fn apply(base: &[u8], delta: &[u8]) -> Result<Vec<u8>, BadDelta> {
    let sizes = sizes(delta)?;
    if sizes.base != base.len() as u64 {
        return Err(BadDelta("a delta does not fit its base"));
    }
    let mut result = Vec::with_capacity(sizes.result.min(FIRST_ROOM) as usize);
    let mut rest = &delta[sizes.length..];
    while let Some((&command, after)) = rest.split_first() {
        let (piece, after) = match command {
            0 => return Err(BadDelta("a delta has an unknown command")),
            1..=0x7f => after
                .split_at_checked(usize::from(command))
                .ok_or(BadDelta("a delta ends inside an insertion"))?,
            _ => copy(base, command, after)?,
        };
        if (result.len() + piece.len()) as u64 > sizes.result {
            return Err(BadDelta("a delta makes more than it announces"));
        }
        result.extend_from_slice(piece);
        rest = after;
    }
    if result.len() as u64 != sizes.result {
        return Err(BadDelta("a delta makes less than it announces"));
    }
    Ok(result)
}

/// The part of the base a copy command names, and what follows the command.
fn copy<'a>(
    base: &'a [u8],
    command: u8,
    mut rest: &'a [u8],
) -> Result<(&'a [u8], &'a [u8]), BadDelta> {
    let mut fields = [0u8; 7];
    for (bit, field) in fields.iter_mut().enumerate() {
        if command & (1 << bit) != 0 {
            let (byte, after) = rest.split_first().ok_or(BadDelta("a delta ends inside a copy"))?;
            *field = *byte;
            rest = after;
        }
    }
    let offset = u32::from_le_bytes([fields[0], fields[1], fields[2], fields[3]]) as usize;
    let size = match u32::from_le_bytes([fields[4], fields[5], fields[6], 0]) as usize {
        0 => 0x1_0000,
        size => size,
    };
    let piece = offset
        .checked_add(size)
        .and_then(|end| base.get(offset..end))
        .ok_or(BadDelta("a delta copies from outside its base"))?;
    Ok((piece, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_and_insertions_make_the_result() {
        // base 11, result 9: copy "hello" (0, 5), insert "!!", copy "ld" (9, 2)
        let delta = [11, 9, 0x90, 5, 2, b'!', b'!', 0x91, 9, 2];
        assert_eq!(apply(b"hello world", &delta).unwrap(), b"hello!!ld");
    }

    #[test]
    fn a_copy_without_a_size_is_64_kib() {
        let base = vec![7; 0x1_0000];
        let delta = [0x80, 0x80, 0x04, 0x80, 0x80, 0x04, 0x80];
        assert_eq!(apply(&base, &delta).unwrap(), base);
    }

    #[test]
    fn deltas_that_lie_are_refused() {
        let crafted: [&[u8]; 12] = [
            b"",
            &[11],
            &[0xff; 12],
            &[10, 1, 1, b'x'],
            &[11, 1, 0],
            &[11, 1, 2, b'x'],
            &[11, 1, 2, b'x', b'y'],
            &[11, 5, 1, b'x'],
            &[11, 5, 0x91, 9, 5],
            &[11, 5, 0x91, 9],
            &[11, 5, 0x8f, 0xff, 0xff, 0xff, 0xff],
            &[11, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x90, 5],
        ];
        for delta in crafted {
            assert!(apply(b"hello world", delta).is_err(), "{delta:?}");
        }
    }

    #[test]
    fn sizes_do_not_overflow() {
        let most = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(size(&most), Ok((u64::MAX, 10)));
        let more = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02];
        assert!(size(&more).is_err());
    }
}
