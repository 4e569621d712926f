//! Which words are numbers to YAML 1.1, what they are worth, and how a number is written so that every reader sees the same one.

use serde::Serializer;

/// The number as a JSON number, or as its text where JSON has none for it.
pub(crate) fn serialize<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    match whole(text) {
        Some(number) => match (i64::try_from(number), u64::try_from(number)) {
            (Ok(number), _) => serializer.serialize_i64(number),
            (_, Ok(number)) => serializer.serialize_u64(number),
            _ => serializer.serialize_str(text),
        },
        None => match fraction(text).filter(|number| number.is_finite()) {
            Some(number) => serializer.serialize_f64(number),
            None => serializer.serialize_str(text),
        },
    }
}

/// The value of a whole number, if it is one of a common size.
pub fn whole(text: &str) -> Option<i128> {
    if !is_integer(text) {
        return None;
    }
    let text = text.replace('_', "");
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(&text)),
    };
    let value = if let Some(binary) = digits.strip_prefix("0b") {
        i128::from_str_radix(binary, 2).ok()?
    } else if let Some(hexadecimal) = digits.strip_prefix("0x") {
        i128::from_str_radix(hexadecimal, 16).ok()?
    } else if digits.len() > 1 && digits.starts_with('0') {
        i128::from_str_radix(digits, 8).ok()?
    } else {
        digits
            .split(':')
            .try_fold(0i128, |sum, part| sum.checked_mul(60)?.checked_add(part.parse().ok()?))?
    };
    Some(sign * value)
}

/// The value of a number with a point.
pub fn fraction(text: &str) -> Option<f64> {
    if !is_float(text) {
        return None;
    }
    let text = text.replace('_', "").to_ascii_lowercase();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1.0, digits),
        None => (1.0, text.strip_prefix('+').unwrap_or(&text)),
    };
    let value = match digits {
        ".inf" => f64::INFINITY,
        ".nan" => f64::NAN,
        _ => digits
            .split(':')
            .try_fold(0.0, |sum, part| Some(sum * 60.0 + part.parse::<f64>().ok()?))?,
    };
    Some(sign * value)
}

/// A number with a point, as YAML 1.1 and 1.2 both read it.
pub(crate) fn float_text(number: f64) -> String {
    if number.is_nan() {
        return ".nan".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let text = format!("{number:?}");
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    // Version 1.1 asks for a point and for the sign of the exponent.
    let point = if digits.contains('.') { "" } else { ".0" };
    let sign = if exponent.starts_with('-') { "" } else { "+" };
    format!("{digits}{point}e{sign}{exponent}")
}

fn without_sign(text: &str) -> &str {
    text.strip_prefix(['-', '+']).unwrap_or(text)
}

fn all(text: &str, accepted: impl Fn(u8) -> bool) -> bool {
    text.bytes().all(|b| b == b'_' || accepted(b))
}

/// `[0-9][0-9_]*`
fn is_digits(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit()) && all(text, |b| b.is_ascii_digit())
}

/// `(:[0-5]?[0-9])+`, without the first colon.
fn is_sixties(text: &str) -> bool {
    text.split(':').all(|part| match part.as_bytes() {
        [ones] => ones.is_ascii_digit(),
        [tens, ones] => (b'0'..=b'5').contains(tens) && ones.is_ascii_digit(),
        _ => false,
    })
}

pub(crate) fn is_integer(text: &str) -> bool {
    let digits = without_sign(text);
    if let Some(binary) = digits.strip_prefix("0b") {
        return !binary.is_empty() && all(binary, |b| matches!(b, b'0' | b'1'));
    }
    if let Some(hexadecimal) = digits.strip_prefix("0x") {
        return !hexadecimal.is_empty() && all(hexadecimal, |b| b.is_ascii_hexdigit());
    }
    if let Some(octal) = digits.strip_prefix('0') {
        return all(octal, |b| (b'0'..=b'7').contains(&b));
    }
    match digits.split_once(':') {
        Some((first, rest)) => is_digits(first) && is_sixties(rest),
        None => is_digits(digits),
    }
}

pub(crate) fn is_float(text: &str) -> bool {
    let digits = without_sign(text);
    if matches!(digits, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    let Some((whole, rest)) = digits.split_once('.') else { return false };
    if whole.is_empty() {
        // `PyYAML` wants no sign here.
        let (fraction, exponent) = cut_exponent(rest);
        return digits == text && is_digits(fraction) && is_exponent(exponent);
    }
    if let Some((first, sixties)) = whole.split_once(':') {
        return is_digits(first) && is_sixties(sixties) && all(rest, |b| b.is_ascii_digit());
    }
    let (fraction, exponent) = cut_exponent(rest);
    is_digits(whole) && all(fraction, |b| b.is_ascii_digit()) && is_exponent(exponent)
}

fn cut_exponent(text: &str) -> (&str, Option<&str>) {
    match text.split_once(['e', 'E']) {
        Some((fraction, exponent)) => (fraction, Some(exponent)),
        None => (text, None),
    }
}

/// Nothing, or a sign and digits: without the sign it is text.
fn is_exponent(exponent: Option<&str>) -> bool {
    exponent.is_none_or(|exponent| {
        let digits = without_sign(exponent);
        digits.len() < exponent.len()
            && !digits.is_empty()
            && digits.bytes().all(|b| b.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_worth_what_pyyaml_takes_them_for() {
        let wholes = [
            ("0", 0),
            ("-12", -12),
            ("+1_000", 1000),
            ("012", 10),
            ("0b101", 5),
            ("-0xff", -255),
            ("1:30", 90),
            ("1:00:00", 3600),
        ];
        for (text, value) in wholes {
            assert_eq!(whole(text), Some(value), "{text}");
        }
        assert_eq!(whole("0b_"), None);
        assert_eq!(whole(&"9".repeat(60)), None);
        assert_eq!(fraction("1:30.5"), Some(90.5));
        assert_eq!(fraction("-1_0.5e+1"), Some(-105.0));
        assert_eq!(fraction(".5"), Some(0.5));
        assert_eq!(fraction("-.inf"), Some(f64::NEG_INFINITY));
    }

    #[test]
    fn written_numbers_are_numbers_to_every_reader() {
        for number in [0.0, -1.5, 1e21, 1e-7, 1.25e300, f64::MIN_POSITIVE, f64::MAX] {
            let text = float_text(number);
            assert!(is_float(&text), "{text}");
            assert_eq!(fraction(&text), Some(number), "{text}");
        }
    }
}
