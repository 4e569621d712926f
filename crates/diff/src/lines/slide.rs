//! Where a block of changed lines stands when it could stand in several places.
//!
//! A block that was added between equal lines may be shown a line higher or lower: the text is the
//! same. Every block goes as low as it can, and one that can stand beside lines the other side lost
//! stands there, so that a replacement is one change and not two. Blocks that meet on the way become
//! one. Merging needs this exactly as git does it, because it decides which changes touch.

use imara_diff::{Hunk, Token};

/// The lines of one text, and which of them the other text does not have.
#[derive(Debug)]
pub(crate) struct Marked<'t> {
    pub(crate) lines: &'t [Token],
    pub(crate) changed: Vec<bool>,
}

impl<'t> Marked<'t> {
    pub(crate) fn unchanged(lines: &'t [Token]) -> Self {
        Self { lines, changed: vec![false; lines.len()] }
    }

    fn is_changed(&self, line: usize) -> bool {
        self.changed.get(line).is_some_and(|changed| *changed)
    }
}

/// Puts every block of both texts in its place.
pub(crate) fn slide_blocks(before: &mut Marked<'_>, after: &mut Marked<'_>) {
    slide_side(before, after);
    slide_side(after, before);
}

/// The marked lines as ranges that replace each other, in order.
pub(crate) fn marked_ranges(before: &Marked<'_>, after: &Marked<'_>) -> Vec<Hunk> {
    let mut ranges = Vec::new();
    let (mut old, mut new) = (Block::first(before), Block::first(after));
    loop {
        if !old.is_empty() || !new.is_empty() {
            ranges.push(Hunk {
                before: old.start as u32..old.end as u32,
                after: new.start as u32..new.end as u32,
            });
        }
        if !(old.next(before) && new.next(after)) {
            return ranges;
        }
    }
}

fn slide_side(side: &mut Marked<'_>, other: &Marked<'_>) {
    let (mut block, mut opposite) = (Block::first(side), Block::first(other));
    loop {
        if !block.is_empty() {
            slide_block(side, &mut block, other, &mut opposite);
        }
        if !(block.next(side) && opposite.next(other)) {
            return;
        }
    }
}

fn slide_block(side: &mut Marked<'_>, block: &mut Block, other: &Marked<'_>, opposite: &mut Block) {
    let mut meets_opposite;
    loop {
        let length = block.length();
        while block.slide_up(side) {
            opposite.previous(other);
        }
        meets_opposite = !opposite.is_empty();
        while block.slide_down(side) {
            opposite.next(other);
            meets_opposite |= !opposite.is_empty();
        }
        // A block that took in another one on its way may now reach further up.
        if block.length() == length {
            break;
        }
    }
    while meets_opposite && opposite.is_empty() && block.slide_up(side) {
        opposite.previous(other);
    }
}

/// A run of changed lines, or the empty place between two unchanged ones. Both texts have the same
/// number of them, and they correspond one to one.
struct Block {
    start: usize,
    end: usize,
}

impl Block {
    fn first(side: &Marked<'_>) -> Self {
        let mut block = Self { start: 0, end: 0 };
        block.grow_down(side);
        block
    }

    fn is_empty(&self) -> bool {
        self.start == self.end
    }

    fn length(&self) -> usize {
        self.end - self.start
    }

    fn grow_down(&mut self, side: &Marked<'_>) {
        while side.is_changed(self.end) {
            self.end += 1;
        }
    }

    fn grow_up(&mut self, side: &Marked<'_>) {
        while self.start > 0 && side.is_changed(self.start - 1) {
            self.start -= 1;
        }
    }

    /// Goes to the block after the next unchanged line; `false` if there is no such line.
    fn next(&mut self, side: &Marked<'_>) -> bool {
        if self.end == side.lines.len() {
            return false;
        }
        self.end += 1;
        self.start = self.end;
        self.grow_down(side);
        true
    }

    /// Goes to the block before the previous unchanged line, if there is one.
    fn previous(&mut self, side: &Marked<'_>) {
        if self.start > 0 {
            self.start -= 1;
            self.end = self.start;
            self.grow_up(side);
        }
    }

    fn slide_down(&mut self, side: &mut Marked<'_>) -> bool {
        if self.end == side.lines.len() || side.lines[self.start] != side.lines[self.end] {
            return false;
        }
        side.changed[self.start] = false;
        side.changed[self.end] = true;
        self.start += 1;
        self.grow_down(side);
        true
    }

    fn slide_up(&mut self, side: &mut Marked<'_>) -> bool {
        if self.start == 0 || side.lines[self.start - 1] != side.lines[self.end - 1] {
            return false;
        }
        side.changed[self.start - 1] = true;
        side.changed[self.end - 1] = false;
        self.end -= 1;
        self.grow_up(side);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slid(before: &[u32], removed: &[usize], after: &[u32], added: &[usize]) -> Vec<Hunk> {
        let tokens = |lines: &[u32]| lines.iter().map(|line| Token(*line)).collect::<Vec<_>>();
        let (before, after) = (tokens(before), tokens(after));
        let (mut old, mut new) = (Marked::unchanged(&before), Marked::unchanged(&after));
        for line in removed {
            old.changed[*line] = true;
        }
        for line in added {
            new.changed[*line] = true;
        }
        slide_blocks(&mut old, &mut new);
        marked_ranges(&old, &new)
    }

    fn range(before: std::ops::Range<u32>, after: std::ops::Range<u32>) -> Hunk {
        Hunk { before, after }
    }

    #[test]
    fn a_block_between_equal_lines_goes_down() {
        let ranges = slid(&[1, 2, 3], &[], &[1, 2, 9, 2, 3], &[1, 2]);
        assert_eq!(ranges, [range(2..2, 2..4)]);
    }

    #[test]
    fn blocks_that_meet_become_one() {
        let ranges = slid(&[1, 2], &[], &[1, 1, 1, 2], &[0, 2]);
        assert_eq!(ranges, [range(1..1, 1..3)]);
    }

    #[test]
    fn a_block_stays_beside_the_lines_it_replaces() {
        let ranges = slid(&[7, 5, 5], &[0], &[5, 5, 5], &[1]);
        assert_eq!(ranges, [range(0..1, 0..1)]);
    }

    #[test]
    fn equal_texts_have_no_ranges() {
        assert!(slid(&[], &[], &[], &[]).is_empty());
        assert!(slid(&[1, 1], &[], &[1, 1], &[]).is_empty());
    }
}
