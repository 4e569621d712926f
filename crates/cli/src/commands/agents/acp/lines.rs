//! Passes a stream on, byte for byte, and shows each line before it goes.

use std::io;
use std::io::{BufRead, Write};

/// Of longer lines nothing is looked at.
const MAX_LINE_BYTES: usize = 64 << 20;
/// A buffer that a long line made larger than this is given back.
const KEPT: usize = 1 << 20;

/// A line, before the other side sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen<'l> {
    /// All of it, with its end.
    Whole(&'l [u8]),
    /// It is too long to be looked at.
    TooLong,
}

/// Passes everything on. `look` sees each line, before anything of it goes to the other side.
pub(super) fn forward(
    from: impl BufRead,
    to: impl Write,
    look: impl FnMut(Seen<'_>),
) -> io::Result<()> {
    forward_within(from, to, look, MAX_LINE_BYTES)
}

fn forward_within(
    mut from: impl BufRead,
    mut to: impl Write,
    mut look: impl FnMut(Seen<'_>),
    longest: usize,
) -> io::Result<()> {
    let mut line = Vec::new();
    let mut is_too_long = false;
    loop {
        let available = match from.fill_buf() {
            Ok(available) => available,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let is_over = available.is_empty();
        let end = available.iter().position(|byte| *byte == b'\n');
        let part = &available[..end.map_or(available.len(), |end| end + 1)];
        let length = part.len();
        line.extend_from_slice(part);
        from.consume(length);
        let is_whole = end.is_some() || is_over;
        if line.len() > longest && !is_too_long {
            is_too_long = true;
            look(Seen::TooLong);
        }
        if !is_whole && !is_too_long {
            continue;
        }
        if is_whole && !is_too_long && !line.is_empty() {
            look(Seen::Whole(&line));
        }
        to.write_all(&line)?;
        to.flush()?;
        line.clear();
        line.shrink_to(KEPT);
        is_too_long &= !is_whole;
        if is_over {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass(text: &[u8], buffer: usize, longest: usize) -> (Vec<u8>, Vec<Vec<u8>>) {
        let mut out = Vec::new();
        let mut seen = Vec::new();
        let from = io::BufReader::with_capacity(buffer, text);
        let look = |line: Seen<'_>| match line {
            Seen::Whole(line) => seen.push(line.to_vec()),
            Seen::TooLong => seen.push(b"(too long)".to_vec()),
        };
        forward_within(from, &mut out, look, longest).unwrap();
        (out, seen)
    }

    #[test]
    fn every_byte_is_passed_on_and_every_line_seen() {
        let text = b"one\n\r\n\n\xff\0two\nlast";
        for buffer in [1, 2, 7, 100] {
            let (out, seen) = pass(text, buffer, 100);
            assert_eq!(out, text);
            let expected: [&[u8]; 5] = [b"one\n", b"\r\n", b"\n", b"\xff\0two\n", b"last"];
            assert_eq!(seen, expected);
        }
    }

    #[test]
    fn of_a_line_that_is_too_long_it_is_seen_that_it_comes() {
        let text = b"short\na line that is much too long\nagain\nand another long one";
        for buffer in [1, 3, 100] {
            let (out, seen) = pass(text, buffer, 8);
            assert_eq!(out, text);
            let long = b"(too long)";
            assert_eq!(seen, [&b"short\n"[..], long, b"again\n", long]);
        }
    }

    #[test]
    fn a_line_is_seen_before_it_goes() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut seen = 0;
        let result = forward(&b"one\ntwo\n"[..], Closed, |_| seen += 1);
        assert!(result.is_err());
        assert_eq!(seen, 1, "what cannot be passed on ends it");
    }
}
