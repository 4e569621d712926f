//! Bytes in a line of text: base64 with padding, as RFC 4648 has it.

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The bytes as text.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group = (0..3).fold(0u32, |group, place| {
            group << 8 | u32::from(chunk.get(place).copied().unwrap_or(0))
        });
        for place in 0..4 {
            if place <= chunk.len() {
                let digit = group >> (18 - 6 * place) & 63;
                out.push(char::from(DIGITS[digit as usize]));
            } else {
                out.push('=');
            }
        }
    }
    out
}

/// The bytes a text stands for; `None` if it is not base64.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let text = text.as_bytes();
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let padding = text
        .iter()
        .rev()
        .take_while(|digit| **digit == b'=')
        .count();
    if padding > 2 {
        return None;
    }
    let digits = &text[..text.len() - padding];
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    for chunk in digits.chunks(4) {
        let mut group = 0u32;
        for place in 0..4 {
            let digit = match chunk.get(place) {
                Some(digit) => value_of(*digit)?,
                None => 0,
            };
            group = group << 6 | u32::from(digit);
        }
        let bytes = group.to_be_bytes();
        let (used, spare) = bytes[1..].split_at_checked(chunk.len().checked_sub(1)?)?;
        // Bits that stand for nothing are zero, so that the same bytes have one text.
        if spare.iter().any(|byte| *byte != 0) {
            return None;
        }
        out.extend_from_slice(used);
    }
    Some(out)
}

fn value_of(digit: u8) -> Option<u8> {
    match digit {
        b'A'..=b'Z' => Some(digit - b'A'),
        b'a'..=b'z' => Some(digit - b'a' + 26),
        b'0'..=b'9' => Some(digit - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_decodes_to_itself() {
        for length in 0..70u8 {
            let bytes: Vec<u8> = (0..length).map(|n| n.wrapping_mul(37)).collect();
            assert_eq!(decode(&encode(&bytes)), Some(bytes));
        }
        assert_eq!(encode(b"any carnal pleas"), "YW55IGNhcm5hbCBwbGVhcw==");
    }

    #[test]
    fn other_text_is_refused() {
        for bad in [
            "a", "ab", "abc", "a===", "ab*=", "====", "é===", "QR==", "QUF=",
        ] {
            assert_eq!(decode(bad), None, "{bad}");
        }
    }
}
