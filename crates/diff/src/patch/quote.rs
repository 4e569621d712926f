//! Names as git writes them in patches with `core.quotePath=true`.

/// The name, in double quotes with C escapes if it holds a control character, a quote, a backslash or
/// a byte outside ASCII; otherwise as it is.
pub fn quote(name: &[u8]) -> Vec<u8> {
    if !name.iter().any(|byte| needs_quotes(*byte)) {
        return name.to_vec();
    }
    let mut quoted = Vec::with_capacity(name.len() * 2 + 2);
    quoted.push(b'"');
    for &byte in name {
        match escape_letter(byte) {
            Some(letter) => quoted.extend_from_slice(&[b'\\', letter]),
            None if needs_quotes(byte) => {
                let digit = |shift: u8| b'0' + ((byte >> shift) & 7);
                quoted.extend_from_slice(&[b'\\', digit(6), digit(3), digit(0)]);
            }
            None => quoted.push(byte),
        }
    }
    quoted.push(b'"');
    quoted
}

fn needs_quotes(byte: u8) -> bool {
    !(0x20..0x7f).contains(&byte) || matches!(byte, b'"' | b'\\')
}

fn escape_letter(byte: u8) -> Option<u8> {
    Some(match byte {
        0x07 => b'a',
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0b => b'v',
        0x0c => b'f',
        b'\r' => b'r',
        b'"' | b'\\' => byte,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_need_it_are_quoted() {
        assert_eq!(quote(b"a b'c~"), b"a b'c~");
        assert_eq!(quote("é".as_bytes()), br#""\303\251""#);
        assert_eq!(quote(b"\x07\x08\t\n\x0b\x0c\r\"\\"), br#""\a\b\t\n\v\f\r\"\\""#);
        assert_eq!(quote(b"\x01\x7f\xff"), br#""\001\177\377""#);
    }
}
