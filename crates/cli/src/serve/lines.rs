//! Lines of a limited length from a stream that may send anything.

use std::io;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Read;

/// So long a line may be, without its newline.
pub(crate) const LONGEST_LINE: usize = 8 << 20;
/// Room beyond this is given back after a long line.
const KEPT_ROOM: usize = 64 << 10;

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
        Self {
            input: BufReader::new(input),
            line: Vec::new(),
        }
    }

    /// Waits for the next line. What stands behind the last newline is one as well.
    pub(crate) fn next(&mut self) -> io::Result<Line<'_>> {
        self.line.clear();
        self.line.shrink_to(KEPT_ROOM);
        let mut is_too_long = false;
        let mut has_begun = false;
        loop {
            let bytes = match self.input.fill_buf() {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if bytes.is_empty() {
                return Ok(match (is_too_long, has_begun) {
                    (true, _) => Line::TooLong,
                    (false, true) => Line::Whole(&self.line),
                    (false, false) => Line::End,
                });
            }
            has_begun = true;
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let part = &bytes[..end.unwrap_or(bytes.len())];
            is_too_long |= self.line.len() + part.len() > LONGEST_LINE;
            if is_too_long {
                self.line = Vec::new();
            } else {
                self.line.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            self.input.consume(used);
            if end.is_some() {
                return Ok(if is_too_long {
                    Line::TooLong
                } else {
                    Line::Whole(&self.line)
                });
            }
        }
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
        let mut text = vec![b'x'; LONGEST_LINE + 1];
        text.extend_from_slice(b"\nshort\n");
        text.extend(vec![b'y'; LONGEST_LINE]);
        text.push(b'\n');
        let mut lines = Lines::new(&text[..]);
        assert_eq!(lines.next().unwrap(), Line::TooLong);
        assert_eq!(lines.next().unwrap(), Line::Whole(b"short"));
        assert!(matches!(lines.next().unwrap(), Line::Whole(line) if line.len() == LONGEST_LINE));
        assert_eq!(lines.next().unwrap(), Line::End);
        assert!(lines.line.capacity() <= KEPT_ROOM, "room is given back");
    }
}
