//! `sessions.json`: the gateway's list of which conversation is which session.
//!
//! Entries of deleted sessions go; everything else stays as it is, byte for byte, because the file is the
//! gateway's. A file that is not understood is left alone.

use std::borrow::Cow;
use std::fmt;

use herma_fs::Dir;
use herma_fs::publish::Temp;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::error::{Error, Result};
use crate::files::GATEWAY_INDEX;

/// A larger file is not what it should be.
const MAX_INDEX_BYTES: u64 = 64 << 20;
/// How often it is tried again when the gateway writes at the same time.
const ATTEMPTS: usize = 4;

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Forgot {
    /// There was nothing to forget.
    Nothing,
    /// So many entries are gone.
    Entries(u64),
    /// The file was left as it is.
    Unreadable(String),
}

/// Removes the entries of the sessions of which `is_gone` is true.
pub(crate) fn forget(
    dir: &Dir,
    temp_dir: &Dir,
    mut is_gone: impl FnMut(&str) -> Result<bool>,
) -> Result<Forgot> {
    for _ in 0..ATTEMPTS {
        let Some(before) = dir.stat_opt(GATEWAY_INDEX)? else { return Ok(Forgot::Nothing) };
        let bytes = match dir.read_opt(GATEWAY_INDEX, MAX_INDEX_BYTES) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(Forgot::Nothing),
            Err(error) => return Ok(Forgot::Unreadable(error.source.to_string())),
        };
        let text = std::str::from_utf8(&bytes).unwrap_or_default();
        let Some(entries) = entries(text) else {
            return Ok(Forgot::Unreadable("it is not a JSON object".to_owned()));
        };
        let mut gone = Vec::with_capacity(entries.len());
        for entry in &entries {
            gone.push(match &entry.session {
                Some(id) => is_gone(id)?,
                None => false,
            });
        }
        let count = gone.iter().filter(|gone| **gone).count() as u64;
        if count == 0 {
            return Ok(Forgot::Nothing);
        }
        let new = without(text, &entries, &gone);
        let mut temp = Temp::create(temp_dir)?;
        temp.write(new.as_bytes())?;
        temp.set_mode(before.mode)?;
        temp.sync()?;
        // The gateway replaces the file as a whole; what it wrote meanwhile must not be undone.
        if dir.stat_opt(GATEWAY_INDEX)? == Some(before) {
            temp.publish(dir, GATEWAY_INDEX)?;
            return Ok(Forgot::Entries(count));
        }
    }
    Ok(Forgot::Unreadable("another process keeps writing it".to_owned()))
}

/// The sessions the gateway knows. A file that cannot be understood is an error: taken for empty, it would
/// give up conversations that wait for their next message.
pub(crate) fn sessions(dir: &Dir) -> Result<Vec<String>> {
    let Some(bytes) = dir.read_opt(GATEWAY_INDEX, MAX_INDEX_BYTES)? else { return Ok(Vec::new()) };
    let text = std::str::from_utf8(&bytes).ok();
    let Some(entries) = text.and_then(entries) else {
        return Err(Error::BadFile {
            path: dir.path().join(GATEWAY_INDEX),
            what: "it is no JSON object, so it cannot be known which sessions the gateway still needs",
        });
    };
    Ok(entries.into_iter().filter_map(|entry| entry.session.map(Cow::into_owned)).collect())
}

/// One entry of the object.
pub(crate) struct IndexEntry<'t> {
    /// Where its value ends in the text.
    end: usize,
    pub(crate) session: Option<Cow<'t, str>>,
}

/// The entries in their order; `None` if the text is no JSON object.
pub(crate) fn entries(text: &str) -> Option<Vec<IndexEntry<'_>>> {
    let Object(values) = serde_json::from_str(text).ok()?;
    let start = text.as_ptr() as usize;
    let entry = |value: &RawValue| {
        let end = (value.get().as_ptr() as usize).checked_sub(start)? + value.get().len();
        (end <= text.len()).then_some(end)
    };
    values
        .into_iter()
        .map(|value| Some(IndexEntry { end: entry(value)?, session: session_of(value) }))
        .collect()
}

/// The id an entry names: as its value, or in it.
fn session_of(value: &RawValue) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Inner<'t> {
        #[serde(borrow)]
        session_id: Cow<'t, str>,
    }
    if let Ok(id) = serde_json::from_str::<String>(value.get()) {
        return Some(Cow::Owned(id));
    }
    // A list is no object, though it could be read as one.
    if !value.get().starts_with('{') {
        return None;
    }
    let inner: Inner<'_> = serde_json::from_str(value.get()).ok()?;
    Some(inner.session_id)
}

/// The text without the entries that are gone: each goes with the comma before it, and the first that
/// stays loses its own.
pub(crate) fn without(text: &str, entries: &[IndexEntry<'_>], gone: &[bool]) -> String {
    let open = text.find('{').map_or(0, |at| at + 1);
    let mut new = text[..open].to_owned();
    let mut from = open;
    let mut is_first = true;
    for (entry, gone) in entries.iter().zip(gone) {
        let part = &text[from..entry.end];
        from = entry.end;
        if *gone {
            continue;
        }
        match part.find(',') {
            Some(comma) if is_first && part[..comma].trim().is_empty() => {
                new.push_str(&part[comma + 1..]);
            }
            _ => new.push_str(part),
        }
        is_first = false;
    }
    new.push_str(&text[from..]);
    new
}

/// The values of an object, in their order.
struct Object<'t>(Vec<&'t RawValue>);

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut values = Vec::new();
                while let Some((_, value)) = map.next_entry::<String, &'de RawValue>()? {
                    values.push(value);
                }
                Ok(Object(values))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forget_in(text: &str, gone: &[&str]) -> (Forgot, String) {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open(temp.path()).unwrap();
        let mut file = Temp::create(&dir).unwrap();
        file.write(text.as_bytes()).unwrap();
        file.publish(&dir, GATEWAY_INDEX).unwrap();
        let forgot = forget(&dir, &dir, |id| Ok(gone.contains(&id))).unwrap();
        let left = dir.read(GATEWAY_INDEX, 1 << 20).unwrap();
        (forgot, String::from_utf8(left).unwrap())
    }

    #[test]
    fn dead_ids_leave_the_gateway_index_and_the_rest_stays_as_it_is() {
        let text = "{\n  \"z\": {\"session_id\": \"a\", \"n\": 1.10, \"x\": {\"session_id\": \"c\"}},\n  \
                    \"b, \\\"{\": {\"n\": 12345678901234567890, \"session_id\": \"b\"},\n  \"a\": \"c\"\n}\n";
        let (forgot, left) = forget_in(text, &["a"]);
        assert_eq!(forgot, Forgot::Entries(1));
        let expected = "{\n  \"b, \\\"{\": {\"n\": 12345678901234567890, \"session_id\": \"b\"},\n  \
                        \"a\": \"c\"\n}\n";
        assert_eq!(left, expected);
        assert_eq!(forget_in(text, &["a", "b", "c"]).1, "{\n}\n");
        let (_, left) = forget_in(text, &["b", "c"]);
        assert!(left.starts_with("{\n  \"z\": {\"session_id\": \"a\", \"n\": 1.10,"));
        assert!(left.ends_with("}}\n}\n"), "{left}");
    }

    #[test]
    fn garbage_is_left_alone() {
        for text in ["", "[]", "{\"a\": ", "null", "{\"a\": \"x\"} tail"] {
            let (forgot, left) = forget_in(text, &["x"]);
            assert!(matches!(forgot, Forgot::Unreadable(_)), "{text}");
            assert_eq!(left, text);
        }
        let odd = r#"{"a": 7, "b": null, "c": {"session_id": 9}, "d": ["x"]}"#;
        assert_eq!(forget_in(odd, &["x"]), (Forgot::Nothing, odd.to_owned()));
    }
}
