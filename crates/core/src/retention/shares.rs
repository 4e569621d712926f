//! What checkpoints hold, and what is free when one goes: pieces of which each is counted once, however many
//! hold it.

/// Pieces, and which other pieces each consists of. A piece takes its room while something holds it: a
/// checkpoint, or a piece that is held itself.
#[derive(Clone, Debug, Default)]
pub struct Shares {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, Default)]
struct Piece {
    bytes: u64,
    parts: Box<[u32]>,
    holders: u32,
}

impl Shares {
    /// A piece of this size, which nobody holds yet and which has no parts.
    pub fn add(&mut self, bytes: u64) -> u32 {
        self.pieces.push(Piece {
            bytes,
            ..Piece::default()
        });
        (self.pieces.len() - 1) as u32
    }

    /// Says what a piece consists of. No piece may be a part of itself.
    pub fn set_parts(&mut self, piece: u32, parts: Vec<u32>) {
        self.pieces[piece as usize].parts = parts.into();
    }

    /// Holds a piece once more; returns the bytes that nobody held before.
    pub fn take_up(&mut self, piece: u32) -> u64 {
        let mut bytes = 0_u64;
        let mut pending = vec![piece];
        while let Some(piece) = pending.pop() {
            let piece = &mut self.pieces[piece as usize];
            piece.holders += 1;
            if piece.holders == 1 {
                bytes = bytes.saturating_add(piece.bytes);
                pending.extend(piece.parts.iter());
            }
        }
        bytes
    }

    /// Holds a piece once less; returns the bytes that nobody holds any more.
    pub fn let_go(&mut self, piece: u32) -> u64 {
        let mut bytes = 0_u64;
        let mut pending = vec![piece];
        while let Some(piece) = pending.pop() {
            let piece = &mut self.pieces[piece as usize];
            piece.holders -= 1;
            if piece.holders == 0 {
                bytes = bytes.saturating_add(piece.bytes);
                pending.extend(piece.parts.iter());
            }
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_free_when_the_last_one_that_holds_it_goes() {
        let mut shares = Shares::default();
        let [common, one, two] = [100, 1, 2].map(|bytes| shares.add(bytes));
        let inner = shares.add(10);
        shares.set_parts(common, vec![inner]);
        shares.set_parts(one, vec![common, common]);
        shares.set_parts(two, vec![common, inner]);
        assert_eq!((shares.take_up(one), shares.take_up(two)), (111, 2));
        assert_eq!((shares.let_go(one), shares.take_up(one)), (1, 1));
        assert_eq!((shares.let_go(two), shares.let_go(one)), (2, 111));
    }
}
