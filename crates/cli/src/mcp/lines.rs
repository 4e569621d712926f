//! Lines of a limited length from a stream that may send anything.

use std::io;
use std::io::{BufRead, BufReader, Read};

/// So long a line may be, without its newline.
pub(crate) const MAX_LINE_BYTES: usize = 8 << 20;
/// Room beyond this is given back after a long line.
const KEPT_BYTES: usize = 64 << 10;

/// The lines of a stream.
pub(crate) struct Lines<R> {
    input: BufReader<R>,
    line: Vec<u8>,
}

/// What came.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'l> {
    /// A line, without its newline.
    Whole(&'l [u8]),
    /// A line that was too long; it was thrown away to its end.
    TooLong,
    /// Nothing comes any more.
    End,
}

impl<R: Read> Lines<R> {
    /// The lines of `input`.
    pub(crate) fn new(input: R) -> Self {
        Self { input: BufReader::new(input), line: Vec::new() }
    }

    /// Waits for the next line. What stands behind the last newline is one as well.
    pub(crate) fn next(&mut self) -> io::Result<Line<'_>> {
        self.line.clear();
        self.line.shrink_to(KEPT_BYTES);
        let mut input = (&mut self.input).take(MAX_LINE_BYTES as u64 + 1);
        if input.read_until(b'\n', &mut self.line)? == 0 {
            return Ok(Line::End);
        }
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
        } else if self.line.len() > MAX_LINE_BYTES {
            self.line = Vec::new();
            self.input.skip_until(b'\n')?;
            return Ok(Line::TooLong);
        }
        Ok(Line::Whole(&self.line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_with_a_newline_or_with_the_stream() {
        let mut lines = Lines::new(&b"one\n\ntwo"[..]);
        assert_eq!(lines.next().unwrap(), Line::Whole(b"one"));
        assert_eq!(lines.next().unwrap(), Line::Whole(b""));
        assert_eq!(lines.next().unwrap(), Line::Whole(b"two"));
        assert_eq!(lines.next().unwrap(), Line::End);
        assert_eq!(lines.next().unwrap(), Line::End);
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped_to_its_end() {
        let mut text = vec![b'x'; MAX_LINE_BYTES + 1];
        text.extend_from_slice(b"\nshort\n");
        text.extend(vec![b'y'; MAX_LINE_BYTES]);
        text.push(b'\n');
        let mut lines = Lines::new(&text[..]);
        assert_eq!(lines.next().unwrap(), Line::TooLong);
        assert_eq!(lines.next().unwrap(), Line::Whole(b"short"));
        assert!(matches!(lines.next().unwrap(), Line::Whole(line) if line.len() == MAX_LINE_BYTES));
        assert_eq!(lines.next().unwrap(), Line::End);
        assert!(lines.line.capacity() <= KEPT_BYTES, "room is given back");
    }
}
