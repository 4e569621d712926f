//! What is written is read back, here and by a reader of YAML 1.2.

use herma_yaml::{self as yaml, Map, Rules, Value};
use proptest::prelude::*;

use super::values::{nasty_record, record};

fn check(record: &Map) -> Result<(), TestCaseError> {
    let text = yaml::write(record);
    let whole = Value::Map(record.clone());
    prop_assert_eq!(yaml::read(&text), Ok(whole.clone()), "{}", text);
    let other = yaml::read_by(&text, RULES_1_2)
        .map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
    let json = |value: &Value| serde_json::to_string(value).unwrap();
    prop_assert_eq!(json(&other), json(&whole), "{}", text);
    Ok(())
}

const RULES_1_2: Rules = Rules { resolve: version_1_2, unique_keys: true, ignore_tags: false };

/// What a word without quotes is by the core schema of YAML 1.2 (§10.3.2 of its specification).
fn version_1_2(word: &str) -> Value {
    let digits = word.strip_prefix(['-', '+']).unwrap_or(word);
    let mantissa = digits.split_once(['e', 'E']).map_or(digits, |(mantissa, _)| mantissa);
    let is_decimal = mantissa.starts_with(|c: char| c == '.' || c.is_ascii_digit());
    match word {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        ".nan" | ".NaN" | ".NAN" => Value::Number(".nan".to_owned()),
        _ if matches!(digits, ".inf" | ".Inf" | ".INF") => Value::Number(word.to_lowercase()),
        _ => {
            let whole = match (word.strip_prefix("0o"), word.strip_prefix("0x")) {
                (Some(octal), _) => i128::from_str_radix(octal, 8),
                (_, Some(hexadecimal)) => i128::from_str_radix(hexadecimal, 16),
                _ => word.parse(),
            };
            let fraction = word.parse::<f64>().ok().filter(|_| is_decimal);
            match (whole, fraction) {
                (Ok(whole), _) => Value::Number(whole.to_string()),
                (_, Some(fraction)) => fraction.into(),
                _ => word.into(),
            }
        }
    }
}

#[test]
fn every_nasty_text_comes_back() {
    check(&nasty_record()).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_record_comes_back(record in record()) {
        check(&record)?;
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in ".{0,200}", bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = yaml::read(&text);
        let _ = yaml::read(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn no_torn_record_makes_the_reader_panic(record in record(), at in any::<prop::sample::Index>()) {
        let text = yaml::write(&record);
        let mut end = at.index(text.len() + 1);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let _ = yaml::read(&text[..end]);
    }
}
