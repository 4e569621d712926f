//! Paths in JSON: each byte as the character of the same number, so that any name reads back and most read well.

use bstr::BString;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

pub(crate) fn serialize<S: Serializer>(bytes: &BString, to: S) -> Result<S::Ok, S::Error> {
    let text: String = bytes.iter().map(|byte| char::from(*byte)).collect();
    to.serialize_str(&text)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<BString, D::Error> {
    let text = String::deserialize(from)?;
    let bytes: Result<Vec<u8>, _> = text.chars().map(u8::try_from).collect();
    bytes.map(BString::from).map_err(D::Error::custom)
}
