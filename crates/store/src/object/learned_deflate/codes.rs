//! The codes of deflate's symbols, made of how often these came up, and a stream written with them.

use super::finder::Seen;
use super::huffman::Code;
use super::huffman::Several;
use super::huffman::codes;
use super::huffman::lengths;

/// Bytes, the end of a block, and lengths of what is repeated.
const SYMBOLS: usize = 286;
const END: usize = 256;
const LENGTHS: usize = 257;
const DISTANCES: usize = 30;
/// Lengths of codes, and one more symbol for lengths that come again.
const LENGTHS_OF_CODES: usize = 17;
const AGAIN: usize = 16;

/// Four bytes, and what was left of the bits before, fit into one word.
const LONGEST_CODE: u8 = 12;
/// Deflate can say no more.
const LONGEST_CODE_OF_LENGTHS: u8 = 7;

/// The smallest length of each symbol for lengths.
const FIRST_LENGTHS: [u16; 29] = [
    3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131,
    163, 195, 227, 258,
];
/// How many bits tell which length it is.
const EXTRA_OF_LENGTHS: [u8; 29] = [
    0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0,
];
/// Kinds of blocks, by what their codes are.
const CODES_KNOWN: u32 = 1;
const CODES_TOLD: u32 = 2;
/// In which order the codes of lengths of codes are told.
const ORDER: [usize; 19] = [
    16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
];

/// How often each symbol came up.
pub(super) struct Counts {
    symbols: [u32; SYMBOLS],
    distances: [u32; DISTANCES],
}

impl Default for Counts {
    /// Each once, so that none is left without a code.
    fn default() -> Self {
        Self {
            symbols: [1; SYMBOLS],
            distances: [1; DISTANCES],
        }
    }
}

impl Counts {
    pub(super) fn none() -> Self {
        Self {
            symbols: [0; SYMBOLS],
            distances: [0; DISTANCES],
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        let others = other.symbols.iter().chain(&other.distances);
        let ours = self.symbols.iter_mut().chain(&mut self.distances);
        ours.zip(others).for_each(|(ours, others)| *ours += others);
    }

    /// How many bits all this takes at least, whatever the codes.
    pub(super) fn bits(&self) -> f64 {
        let of_lengths = self.symbols[LENGTHS..].iter().zip(EXTRA_OF_LENGTHS);
        let extra = of_lengths.map(|(count, extra)| f64::from(*count) * f64::from(extra));
        let of_distances = self.distances.iter().enumerate();
        let told = of_distances
            .map(|(symbol, count)| f64::from(*count) * (symbol / 2).saturating_sub(1) as f64);
        least_bits(&self.symbols)
            + least_bits(&self.distances)
            + extra.sum::<f64>()
            + told.sum::<f64>()
    }

    /// Every symbol keeps a code.
    pub(super) fn halve(&mut self) {
        for count in self.symbols.iter_mut().chain(&mut self.distances) {
            *count = count.div_ceil(2);
        }
    }
}

impl Seen for Counts {
    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.symbols[usize::from(*byte)] += 1;
        }
    }

    fn repeat(&mut self, length: usize, distance: usize) {
        self.symbols[LENGTHS + length_symbol(length)] += 1;
        self.distances[distance_symbol(distance).0] += 1;
    }
}

/// How many bits symbols take at least that come up so often.
fn least_bits(counts: &[u32]) -> f64 {
    let all = counts.iter().copied().map(f64::from).sum::<f64>();
    let counts = counts.iter().copied().filter(|count| *count > 0);
    counts
        .map(f64::from)
        .map(|count| count * (all / count).log2())
        .sum()
}

/// Codes for files that are like those that were counted.
pub(super) struct Codes {
    symbols: [Code; SYMBOLS],
    /// With what tells which length it is.
    lengths: Box<[Code; 259]>,
    distances: [Code; DISTANCES],
    /// What every stream begins with, up to its last whole byte, and the bits after it.
    start: Vec<u8>,
    rest: u64,
    rest_length: u32,
}

impl Codes {
    pub(super) fn suited_to(counts: &Counts) -> Self {
        let of_symbols = lengths(&counts.symbols, LONGEST_CODE);
        let of_distances = lengths(&counts.distances, LONGEST_CODE);
        Self::new(&codes(&of_symbols), &codes(&of_distances), |stream| {
            stream.begin_block(CODES_TOLD);
            stream.tell_codes(&of_symbols, &of_distances);
        })
    }

    /// Those that whoever reads deflate knows without being told.
    pub(super) fn well_known() -> Self {
        let length = |symbol| match symbol {
            144..256 => 9,
            END..280 => 7,
            _ => 8,
        };
        // Two symbols at the end, which never come up, have codes as well, and so have two distances.
        let symbols = codes::<288>(&std::array::from_fn(length));
        let distances = codes::<32>(&[5; 32]);
        Self::new(&symbols, &distances, |stream| {
            stream.begin_block(CODES_KNOWN);
        })
    }

    /// These codes, as far as symbols can come up, and how a stream with them begins.
    fn new(symbols: &[Code], distances: &[Code], begin: impl FnOnce(&mut Stream<'_>)) -> Self {
        let with_extra = |length: usize| {
            let Some(symbol) = (length >= 3).then(|| length_symbol(length)) else {
                return Code::default();
            };
            let code = symbols[LENGTHS + symbol];
            let extra = (length - usize::from(FIRST_LENGTHS[symbol])) as u32;
            Code {
                bits: code.bits | extra << code.length,
                length: code.length + u32::from(EXTRA_OF_LENGTHS[symbol]),
            }
        };
        let mut start = Vec::new();
        let mut stream = Stream::on(&mut start, 2048);
        stream.put(0x0178, 16);
        begin(&mut stream);
        let (rest, rest_length, at) = (stream.word, stream.filled, stream.at);
        start.truncate(at);
        Self {
            symbols: std::array::from_fn(|symbol| symbols[symbol]),
            lengths: Box::new(std::array::from_fn(with_extra)),
            distances: std::array::from_fn(|symbol| distances[symbol]),
            start,
            rest,
            rest_length,
        }
    }

    /// Begins a stream of so many bytes at the end of `bytes`.
    pub(super) fn begin<'a>(&'a self, bytes: &'a mut Vec<u8>, length: usize) -> Coded<'a> {
        bytes.extend_from_slice(&self.start);
        // No byte takes more than the longest code.
        let room = length * usize::from(LONGEST_CODE) / 8 + 64;
        let mut stream = Stream::on(bytes, room);
        (stream.word, stream.filled) = (self.rest, self.rest_length);
        Coded {
            codes: self,
            stream,
        }
    }
}

/// A stream of one file.
pub(super) struct Coded<'a> {
    codes: &'a Codes,
    stream: Stream<'a>,
}

impl Coded<'_> {
    /// Ends the block, which was the only one.
    pub(super) fn end(mut self) {
        self.stream.add(self.codes.symbols[END]);
        self.stream.flush();
        self.stream.end();
    }
}

// Called for every few bytes: what they have in common stays in registers.
impl Seen for Coded<'_> {
    #[inline(always)]
    fn bytes(&mut self, bytes: &[u8]) {
        let code = |byte: u8| Several::from(self.codes.symbols[usize::from(byte)]);
        // What does not depend on the stream is put together first: the processor does that ahead.
        let (fours, rest) = bytes.as_chunks();
        for &[a, b, c, d] in fours {
            let (first, second) = (code(a).then(code(b)), code(c).then(code(d)));
            self.stream.add(first.then(second));
            self.stream.flush();
        }
        for byte in rest {
            self.stream.add(code(*byte));
        }
        self.stream.flush();
    }

    #[inline(always)]
    fn repeat(&mut self, length: usize, distance: usize) {
        let (symbol, extra) = distance_symbol(distance);
        let length = Several::from(self.codes.lengths[length]);
        let distance = Several::from(self.codes.distances[symbol]).then(extra);
        self.stream.add(length.then(distance));
        self.stream.flush();
    }
}

/// Bits that become bytes.
struct Stream<'a> {
    bytes: &'a mut Vec<u8>,
    at: usize,
    word: u64,
    filled: u32,
}

impl<'a> Stream<'a> {
    /// At the end of `bytes`, with room for so many more.
    fn on(bytes: &'a mut Vec<u8>, room: usize) -> Self {
        let at = bytes.len();
        bytes.resize(at + room, 0);
        Self {
            bytes,
            at,
            word: 0,
            filled: 0,
        }
    }

    /// Adds bits, with those since the last flush no more than 56.
    #[inline(always)]
    fn add(&mut self, codes: impl Into<Several>) {
        let codes = codes.into();
        self.word |= codes.bits << self.filled;
        self.filled += codes.length;
    }

    /// Writes out whole bytes.
    #[inline(always)]
    fn flush(&mut self) {
        let room = &mut self.bytes[self.at..self.at + 8];
        room.copy_from_slice(&self.word.to_le_bytes());
        self.at += (self.filled / 8) as usize;
        self.word >>= self.filled & !7;
        self.filled &= 7;
    }

    fn put(&mut self, bits: u32, length: u32) {
        self.add(Code { bits, length });
        self.flush();
    }

    /// Fills the last byte up, and gives back the room that was not needed.
    fn end(self) {
        let used = self.at + self.filled.div_ceil(8) as usize;
        self.bytes.truncate(used);
    }

    /// Begins a block, the only one.
    fn begin_block(&mut self, kind: u32) {
        self.put(1 | kind << 1, 3);
    }

    /// Tells the codes that a block is written in.
    fn tell_codes(&mut self, symbols: &[u8; SYMBOLS], distances: &[u8; DISTANCES]) {
        let told = shortened(symbols.iter().chain(distances).copied());
        let mut counts = [0; LENGTHS_OF_CODES];
        for (symbol, _) in &told {
            counts[*symbol] += 1;
        }
        let of_lengths = lengths(&counts, LONGEST_CODE_OF_LENGTHS);
        let codes_of_lengths = codes(&of_lengths);
        self.put(SYMBOLS as u32 - 257, 5);
        self.put(DISTANCES as u32 - 1, 5);
        self.put(ORDER.len() as u32 - 4, 4);
        for symbol in ORDER {
            let length = of_lengths.get(symbol).copied().unwrap_or(0);
            self.put(u32::from(length), 3);
        }
        for (symbol, again) in told {
            self.add(codes_of_lengths[symbol]);
            if symbol == AGAIN {
                self.put(again - 3, 2);
            }
            self.flush();
        }
    }
}

/// Lengths of codes with those taken together that come again: three to six times the one before.
fn shortened(lengths: impl Iterator<Item = u8>) -> Vec<(usize, u32)> {
    let mut told: Vec<(usize, u32)> = Vec::new();
    let mut lengths = lengths.peekable();
    while let Some(length) = lengths.next() {
        told.push((usize::from(length), 1));
        let mut again = 0;
        while lengths.next_if_eq(&length).is_some() {
            again += 1;
        }
        while again >= 3 {
            let times = again.min(6);
            told.push((AGAIN, times));
            again -= times;
        }
        told.extend((0..again).map(|_| (usize::from(length), 1)));
    }
    told
}

/// Which symbol a length has, counted from the first one for lengths.
fn length_symbol(length: usize) -> usize {
    /// By length; what is shorter than three is never asked for.
    const SYMBOL: [u8; 259] = {
        let mut symbols = [0; 259];
        let (mut length, mut symbol) = (3, 0);
        while length < 259 {
            while symbol < 28 && FIRST_LENGTHS[symbol + 1] as usize <= length {
                symbol += 1;
            }
            symbols[length] = symbol as u8;
            length += 1;
        }
        symbols
    };
    usize::from(SYMBOL[length])
}

/// Which symbol a distance has, and which bits tell the distance.
#[inline(always)]
fn distance_symbol(distance: usize) -> (usize, Code) {
    let before = distance as u32 - 1;
    let Some(doublings) = before.checked_ilog2().filter(|log| *log > 1) else {
        return (before as usize, Code::default());
    };
    // Two symbols for each power of two: the bit after the highest says which, those after it are told.
    let length = doublings - 1;
    let symbol = 2 * doublings + (before >> length & 1);
    let bits = before & ((1 << length) - 1);
    (symbol as usize, Code { bits, length })
}
