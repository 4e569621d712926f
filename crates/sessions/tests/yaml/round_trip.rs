//! What is written is read back, here and by a reader of YAML 1.2.

use herma_sessions::resume::{Map, Value, yaml};
use proptest::prelude::*;

use super::values::{nasty_record, record};

fn check(record: &Map) -> Result<(), TestCaseError> {
    let text = yaml::write(record);
    let whole = Value::Map(record.clone());
    prop_assert_eq!(yaml::read(&text), Ok(whole.clone()), "{}", text);
    let other: Value = serde_saphyr::from_str(&text)
        .map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
    let json = |value: &Value| serde_json::to_string(value).unwrap();
    prop_assert_eq!(json(&other), json(&whole), "{}", text);
    Ok(())
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
