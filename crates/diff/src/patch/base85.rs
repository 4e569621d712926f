//! The text form of bytes in git's binary patches.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;

const ALPHABET: &[u8; 85] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

/// How many bytes one line carries.
const LINE_BYTES: usize = 52;

/// The lines of a `literal` block: the deflated content, 52 bytes a line, each line opening with a
/// letter for its length.
pub(crate) fn literal_lines(content: &[u8]) -> Vec<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    let deflated = encoder
        .write_all(content)
        .and_then(|()| encoder.finish())
        .expect("writing into memory cannot fail");
    deflated.chunks(LINE_BYTES).map(line).collect()
}

fn line(bytes: &[u8]) -> Vec<u8> {
    let mut line = Vec::with_capacity(1 + LINE_BYTES / 4 * 5);
    let length = bytes.len() as u8;
    line.push(if length <= 26 { b'A' + length - 1 } else { b'a' + length - 27 });
    for group in bytes.chunks(4) {
        let mut word = [0; 4];
        word[..group.len()].copy_from_slice(group);
        let mut value = u32::from_be_bytes(word);
        let mut digits = [0; 5];
        for digit in digits.iter_mut().rev() {
            *digit = ALPHABET[(value % 85) as usize];
            value /= 85;
        }
        line.extend_from_slice(&digits);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_their_length() {
        assert_eq!(line(&[0; 1])[0], b'A');
        assert_eq!(line(&[0; 26])[0], b'Z');
        assert_eq!(line(&[0; 27])[0], b'a');
        assert_eq!(line(&[0xff; 52])[0], b'z');
        assert_eq!(line(&[0xff; 52]).len(), 66);
    }
}
