//! What YAML can say, with the order of keys and the writing of numbers kept.
//!
//! A resume record is read, changed in a few places and written again. What is not understood must come out as it
//! went in, so numbers and times keep the text they were written with. Settings are read with their lines, so that
//! what is wrong can be named with its place.

use std::collections::HashMap;
use std::collections::hash_map::Entry::{Occupied, Vacant};
use std::fmt;
use std::hash::{Hash, Hasher};

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::numbers;

/// One value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Value {
    /// Nothing.
    #[default]
    Null,
    /// Yes or no.
    Bool(bool),
    /// A number, as YAML 1.1 writes it.
    Number(String),
    /// A date or a moment that was not quoted, as it was written.
    Time(String),
    /// Text.
    Text(String),
    /// Values in order.
    List(Vec<Value>),
    /// Keys with their values, in order.
    Map(Map),
}

/// Keys with their values, in the order of the file. Keys are scalars, and in practice text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Map(Vec<Entry>);

/// A key with its value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// The key.
    pub key: Value,
    /// Its value.
    pub value: Value,
    /// Where the value begins.
    pub line: Line,
}

/// A line of the text, from 1, for what was read from one. It is no part of what an entry says: entries that differ
/// in nothing else are equal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Line(pub Option<u64>);

impl PartialEq for Line {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Line {}

impl Hash for Line {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl Value {
    /// The text, if it is text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The text of a key, which may be a number.
    pub fn as_key(&self) -> Option<&str> {
        match self {
            Self::Null => Some("null"),
            Self::Bool(true) => Some("true"),
            Self::Bool(false) => Some("false"),
            Self::Number(text) | Self::Time(text) | Self::Text(text) => Some(text),
            Self::List(_) | Self::Map(_) => None,
        }
    }

    /// The values, if it is a list.
    pub fn as_list(&self) -> Option<&[Self]> {
        match self {
            Self::List(values) => Some(values),
            _ => None,
        }
    }

    /// The keys and values, if it is a map.
    pub fn as_map(&self) -> Option<&Map> {
        match self {
            Self::Map(map) => Some(map),
            _ => None,
        }
    }

    /// A list of texts.
    pub fn texts<T: Into<Self>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self::List(texts.into_iter().map(Into::into).collect())
    }

    /// How much copying it costs.
    pub(crate) fn weight(&self) -> usize {
        1 + match self {
            Self::Null | Self::Bool(_) => 0,
            Self::Number(text) | Self::Time(text) | Self::Text(text) => text.len(),
            Self::List(values) => values.iter().map(Self::weight).sum(),
            Self::Map(map) => map.iter().map(|(key, value)| key.weight() + value.weight()).sum(),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(numbers::float_text(number))
    }
}

impl From<(Value, Value)> for Entry {
    fn from((key, value): (Value, Value)) -> Self {
        Self { key, value, line: Line::default() }
    }
}

impl Map {
    /// A map of these keys and values, in this order; of equal keys the last value counts.
    pub fn from_pairs(pairs: impl IntoIterator<Item = (Value, Value)>) -> Self {
        Self::from_entries(pairs.into_iter().map(Entry::from))
    }

    /// A map without keys.
    pub fn new() -> Self {
        Self::default()
    }

    /// The last value of each key, at the place of the first. A file may have very many keys, so none is
    /// looked for among all the others.
    pub(crate) fn from_entries(entries: impl Iterator<Item = Entry>) -> Self {
        let mut places = HashMap::new();
        let mut map: Vec<Entry> = Vec::new();
        for entry in entries {
            match places.entry(entry.key.clone()) {
                Occupied(place) => {
                    let place: usize = *place.get();
                    map[place] = entry;
                }
                Vacant(place) => {
                    place.insert(map.len());
                    map.push(entry);
                }
            }
        }
        Self(map)
    }

    /// Are there no keys?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Keys and values in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Value, &Value)> {
        self.0.iter().map(|entry| (&entry.key, &entry.value))
    }

    /// The same with their lines.
    pub fn entries(&self) -> &[Entry] {
        &self.0
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.place_of(key).map(|at| &self.0[at].value)
    }

    /// Where a key stands.
    pub fn place_of(&self, key: &str) -> Option<usize> {
        self.0.iter().position(|entry| entry.key.as_text() == Some(key))
    }

    /// Gives a key a value, in its place if it has one, else at the end.
    pub fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.put(key.into(), value.into());
    }

    /// Like [`Map::set`], for a key of any kind.
    pub fn put(&mut self, key: Value, value: Value) {
        match self.0.iter_mut().find(|entry| entry.key == key) {
            Some(entry) => entry.value = value,
            None => self.0.push((key, value).into()),
        }
    }

    /// Puts a key that is not there yet at a place.
    pub fn insert_at(&mut self, place: usize, key: &str, value: Value) {
        self.0.insert(place.min(self.0.len()), (key.into(), value).into());
    }

    /// Takes a key out.
    pub fn take(&mut self, key: &str) -> Option<Value> {
        self.place_of(key).map(|at| self.0.remove(at).value)
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(text) => numbers::serialize(text, serializer),
            Self::Time(text) | Self::Text(text) => serializer.serialize_str(text),
            Self::List(values) => {
                let mut list = serializer.serialize_seq(Some(values.len()))?;
                for value in values {
                    list.serialize_element(value)?;
                }
                list.end()
            }
            Self::Map(map) => map.serialize(serializer),
        }
    }
}

impl Serialize for Map {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_map(Some(self.len()))?;
        for (key, value) in self.iter() {
            let Some(key) = key.as_key() else {
                return Err(serde::ser::Error::custom("a key is no scalar"));
            };
            out.serialize_entry(key, value)?;
        }
        out.end()
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = seq.next_element()? {
            values.push(value);
        }
        Ok(Value::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut read = Vec::new();
        while let Some((key, value)) = entries.next_entry::<String, Value>()? {
            read.push((key.into(), value));
        }
        Ok(Value::Map(Map::from_pairs(read)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_goes_in_and_comes_out_in_its_order() {
        let text = r#"{"z":1,"a":[true,null,-2,1.5,"x"],"m":{"k":"v"}}"#;
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&value).unwrap(), text);
    }

    #[test]
    fn a_key_keeps_its_place_when_it_is_set_again() {
        let mut map = Map::new();
        for key in ["b", "a", "b"] {
            map.set(key, "x");
        }
        let keys: Vec<_> = map.iter().filter_map(|(key, _)| key.as_text()).collect();
        assert_eq!(keys, ["b", "a"]);
        assert_eq!(map.take("b"), Some("x".into()));
        assert_eq!((map.len(), map.get("b")), (1, None));
    }
}
