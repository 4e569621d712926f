//! Huffman codes that deflate can say: how long each symbol's is, and what it is then.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A code, its first bit lowest.
#[derive(Clone, Copy, Default)]
pub(super) struct Code {
    pub(super) bits: u32,
    pub(super) length: u32,
}

/// Codes one after another.
#[derive(Clone, Copy)]
pub(super) struct Several {
    pub(super) bits: u64,
    pub(super) length: u32,
}

impl From<Code> for Several {
    fn from(code: Code) -> Self {
        Self {
            bits: u64::from(code.bits),
            length: code.length,
        }
    }
}

impl Several {
    /// With `next` after it.
    #[inline(always)]
    pub(super) fn then(self, next: impl Into<Self>) -> Self {
        let next = next.into();
        Self {
            bits: self.bits | next.bits << self.length,
            length: self.length + next.length,
        }
    }
}

/// How long the codes of symbols are that come up so often; none is longer than `longest`. At least two symbols come up; those that
/// do not have no code.
pub(super) fn lengths<const N: usize>(counts: &[u32; N], longest: u8) -> [u8; N] {
    let mut counts = *counts;
    loop {
        let lengths = unlimited(&counts);
        if lengths.iter().all(|length| *length <= longest) {
            return lengths;
        }
        // The more alike the counts, the flatter the tree; in the end all are one.
        for count in &mut counts {
            *count = count.div_ceil(2);
        }
    }
}

fn unlimited<const N: usize>(counts: &[u32; N]) -> [u8; N] {
    // Symbols come first, then what pairs of nodes were made into.
    let mut parents = vec![0; 2 * N];
    let mut heap: BinaryHeap<_> = (0..N)
        .filter(|symbol| counts[*symbol] > 0)
        .map(|symbol| Reverse((u64::from(counts[symbol]), symbol)))
        .collect();
    let mut made = N;
    while let (Some(Reverse((light, one))), Some(mut top)) = (heap.pop(), heap.peek_mut()) {
        let Reverse((heavy, other)) = *top;
        *top = Reverse((light + heavy, made));
        (parents[one], parents[other]) = (made, made);
        made += 1;
    }
    // The root is the last that was made, and every parent comes after its children.
    let mut depths = vec![0_u8; 2 * N];
    for node in (0..made.saturating_sub(1)).rev() {
        if parents[node] > 0 {
            depths[node] = depths[parents[node]].saturating_add(1);
        }
    }
    std::array::from_fn(|symbol| depths[symbol])
}

/// The codes of these lengths, in the order that deflate has for them.
pub(super) fn codes<const N: usize>(lengths: &[u8; N]) -> [Code; N] {
    let mut next = [0_u32; 17];
    for length in lengths.iter().filter(|length| **length > 0) {
        next[usize::from(*length) + 1] += 1;
    }
    for length in 1..next.len() {
        next[length] = (next[length] + next[length - 1]) << 1;
    }
    std::array::from_fn(|symbol| {
        let length = u32::from(lengths[symbol]);
        if length == 0 {
            return Code::default();
        }
        let code = &mut next[length as usize];
        *code += 1;
        let bits = (*code - 1).reverse_bits() >> (32 - length);
        Code { bits, length }
    })
}
