//! What is kept of a payload.
//!
//! The JSON is read as a stream and only the fields listed in `fields` are kept, cut to what they are used for.
//! The rest, which may be a whole conversation, is parsed past without being held.
//! A field of the wrong type is as good as absent, and the last of two fields with the same name counts.

use std::fmt;
use std::io::{BufReader, Read};
use std::path::PathBuf;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::patches;
use crate::patches::{MAX_PATH_BYTES, MAX_PATHS_OF_CALL};

pub(crate) mod fields;
mod written;

use fields::{Field, Place, RESULT, Text};
use written::Written;

/// Names and ids are cut to this many bytes.
pub const MAX_ID_BYTES: usize = 256;
/// Prompts are cut to this many bytes.
pub const MAX_PROMPT_BYTES: usize = 4 * 1024;
/// Command lines are cut to this many bytes.
pub const MAX_COMMAND_BYTES: usize = 64 * 1024;

/// The name under which the files of patches are kept, beside the fields of the same object.
pub(crate) const PATCHED: &str = "\0patched";

/// A field, by its object and its name.
pub(crate) type Spot = (Place, &'static str);

/// The payload itself, as if it were a field.
const OUTERMOST: Spot = ("\0outermost", "");

/// What is kept of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kept {
    /// It was there, with nothing to keep.
    Present,
    Object,
    Flag(bool),
    /// A number that is not negative, rounded up.
    Number(u64),
    Texts(Vec<String>),
    Paths(Vec<String>),
}

impl Kept {
    fn count_of_paths(&self) -> usize {
        match self {
            Self::Paths(paths) => paths.len(),
            _ => 0,
        }
    }
}

/// What is kept of a payload.
#[derive(Debug, Default)]
pub(crate) struct Payload {
    fields: Vec<(Spot, Kept)>,
    /// How many paths are kept, in all fields together.
    paths: usize,
    pub(crate) written: Written,
}

impl Payload {
    /// Reads a payload, of which `fields` are kept. `None` if it is JSON but no object.
    pub(crate) fn read(
        source: &mut dyn Read,
        fields: &'static Field,
    ) -> Result<Option<Self>, serde_json::Error> {
        let mut payload = Self::default();
        let mut parser = serde_json::Deserializer::from_reader(BufReader::new(source));
        parser.deserialize_any(Value {
            payload: &mut payload,
            spot: OUTERMOST,
            field: fields,
            in_list: false,
            in_text: false,
        })?;
        Ok((payload.kept(OUTERMOST) == Some(&Kept::Object)).then_some(payload))
    }

    /// The first string of a field, if it is not empty.
    pub(crate) fn text(&self, spot: Spot) -> Option<&str> {
        self.texts(spot).first().map(String::as_str)
    }

    /// The first of several fields that has a string.
    pub(crate) fn first(&self, spots: &[Spot]) -> Option<String> {
        let text = spots.iter().find_map(|spot| self.text(*spot))?;
        Some(text.to_owned())
    }

    /// All strings of a field that are not empty.
    pub(crate) fn texts(&self, spot: Spot) -> &[String] {
        match self.kept(spot) {
            Some(Kept::Texts(texts) | Kept::Paths(texts)) => texts,
            _ => &[],
        }
    }

    /// Does a field say yes?
    pub(crate) fn says_yes(&self, spot: Spot) -> bool {
        self.kept(spot) == Some(&Kept::Flag(true))
    }

    /// The number in a field, if it is not negative.
    pub(crate) fn number(&self, spot: Spot) -> Option<u64> {
        match self.kept(spot) {
            Some(Kept::Number(number)) => Some(*number),
            _ => None,
        }
    }

    /// Is a field there, whatever its value?
    pub(crate) fn has(&self, spot: Spot) -> bool {
        self.kept(spot).is_some()
    }

    /// Is an object there, or anything that stands for it?
    pub(crate) fn has_place(&self, place: Place) -> bool {
        self.fields.iter().any(|((kept, _), _)| *kept == place)
    }

    fn kept(&self, spot: Spot) -> Option<&Kept> {
        let found = self.fields.iter().find(|(kept, _)| *kept == spot)?;
        Some(&found.1)
    }

    fn set(&mut self, spot: Spot, kept: Kept) {
        match self.fields.iter_mut().find(|(known, _)| *known == spot) {
            Some((_, known)) => {
                self.paths -= known.count_of_paths();
                *known = kept;
            }
            None => self.fields.push((spot, kept)),
        }
    }

    /// Forgets an object that comes a second time.
    fn forget(&mut self, place: Place) {
        let inner = |kept: &str| {
            kept.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.fields.retain(|((kept, _), _)| !inner(kept));
        self.paths = self.fields.iter().map(|(_, kept)| kept.count_of_paths()).sum();
    }

    /// Adds a string to a field, as far as its kind allows.
    fn add(&mut self, spot: Spot, text: Text, value: &str) {
        match text {
            Text::Value => {}
            Text::Id => self.add_cut(spot, value, MAX_ID_BYTES),
            Text::Prompt => self.add_cut(spot, value, MAX_PROMPT_BYTES),
            Text::Path => self.add_path(spot, value),
            Text::Patch => self.add_patch(spot.0, value),
            Text::Old | Text::New | Text::Content => self.written.add(spot.0, text, value),
            Text::Command => {
                self.add_patch(spot.0, value);
                if !patches::is_patch(value) {
                    self.add_cut(spot, value, MAX_COMMAND_BYTES);
                }
            }
        }
    }

    /// All strings of a field together are cut, not each of them.
    fn add_cut(&mut self, spot: Spot, value: &str, longest: usize) {
        // One more for each: what joins them.
        let used: usize = self.texts(spot).iter().map(|text| text.len() + 1).sum();
        let value = cut(value, longest.saturating_sub(used)).to_owned();
        if value.is_empty() {
            return;
        }
        match self.fields.iter_mut().find(|(known, _)| *known == spot) {
            Some((_, Kept::Texts(texts))) => texts.push(value),
            _ => self.set(spot, Kept::Texts(vec![value])),
        }
    }

    /// A path is kept whole or not at all: a shorter one would be another file.
    fn add_path(&mut self, spot: Spot, path: &str) {
        let usable = !path.is_empty() && path.len() <= MAX_PATH_BYTES && !path.contains('\0');
        if !usable || self.paths >= MAX_PATHS_OF_CALL {
            return;
        }
        match self.fields.iter_mut().find(|(known, _)| *known == spot) {
            Some((_, Kept::Paths(paths))) => paths.push(path.to_owned()),
            _ => self.set(spot, Kept::Paths(vec![path.to_owned()])),
        }
        self.paths += 1;
    }

    fn add_patch(&mut self, place: Place, text: &str) {
        if patches::is_patch(text) {
            self.written.add(place, Text::Patch, text);
        }
        for path in patches::paths(text) {
            // Made from text, so it is text.
            self.add_path((place, PATCHED), &path.to_string_lossy());
        }
    }

    /// The paths of several fields of an object, each once.
    pub(crate) fn paths(
        &self,
        place: Place,
        names: impl Iterator<Item = &'static str>,
    ) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for name in names {
            for text in self.texts((place, name)) {
                if seen.insert(text) {
                    paths.push(PathBuf::from(text));
                }
            }
        }
        paths
    }
}

/// The beginning of a text, at most so many bytes.
pub(crate) fn cut(text: &str, longest: usize) -> &str {
    let mut end = longest.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The value of a field that is kept.
struct Value<'a> {
    payload: &'a mut Payload,
    spot: Spot,
    field: &'static Field,
    /// It is one of several that add up.
    in_list: bool,
    /// It was found inside of a string.
    in_text: bool,
}

impl Value<'_> {
    /// Notes what kind of value it is. What the field had before is forgotten: the last one counts.
    fn note(&mut self, kept: Kept) {
        if !self.in_list {
            let is_object = kept == Kept::Object;
            self.payload.set(self.spot, kept);
            if let Some((Some(place), _)) = self.field.inside {
                self.payload.forget(place);
                if is_object {
                    self.payload.set((place, ""), Kept::Object);
                }
            }
        }
    }

    fn visit_fields<'de, A: MapAccess<'de>>(
        self,
        fields: &'static [Field],
        mut map: A,
    ) -> Result<(), A::Error> {
        let own_place = self.field.inside.and_then(|(place, _)| place);
        while let Some(known) = map.next_key_seed(Key(fields))? {
            let Some((field, key)) = known else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            map.next_value_seed(Value {
                payload: self.payload,
                // Without a place of its own, all it has counts for the field it is in.
                spot: own_place.map_or(self.spot, |place| (place, key)),
                field,
                in_list: self.in_list || own_place.is_none(),
                in_text: self.in_text,
            })?;
        }
        Ok(())
    }

    /// A string where an object is expected: some agents write the arguments of tools as JSON in a string, or
    /// give a patch as it is.
    fn visit_object_in_text(self, place: Place, text: &str) {
        if self.in_text || !text.trim_start().starts_with('{') {
            // What a tool printed is nothing that it wrote.
            if place != RESULT {
                self.payload.add_patch(place, text);
            }
            return;
        }
        let mut parser = serde_json::Deserializer::from_str(text);
        let read = parser.deserialize_any(Value { payload: self.payload, in_text: true, ..self });
        // What is not JSON after all says nothing, and half of it might say something wrong.
        if read.is_err() {
            self.payload.forget(place);
        }
    }
}

/// The name of a field, if it is one that is kept.
struct Key(&'static [Field]);

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Option<(&'static Field, &'static str)>;

    fn deserialize<D: Deserializer<'de>>(self, parser: D) -> Result<Self::Value, D::Error> {
        parser.deserialize_str(self)
    }
}

impl Visitor<'_> for Key {
    type Value = Option<(&'static Field, &'static str)>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the name of a field")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        let named = |field: &'static Field| Some((field, field.keys().find(|key| *key == name)?));
        Ok(self.0.iter().find_map(named))
    }
}

impl<'de> DeserializeSeed<'de> for Value<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, parser: D) -> Result<(), D::Error> {
        parser.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_str<E>(mut self, value: &str) -> Result<(), E> {
        self.note(Kept::Present);
        self.payload.add(self.spot, self.field.text, value);
        // A payload that is a string is not a payload, whatever the string says.
        let place =
            self.field.inside.and_then(|(place, _)| place).filter(|_| self.spot != OUTERMOST);
        if let Some(place) = place {
            self.visit_object_in_text(place, value);
        }
        Ok(())
    }

    fn visit_bool<E>(mut self, value: bool) -> Result<(), E> {
        self.note(Kept::Flag(value));
        Ok(())
    }

    fn visit_i64<E>(mut self, _: i64) -> Result<(), E> {
        self.note(Kept::Present);
        Ok(())
    }

    fn visit_u64<E>(mut self, value: u64) -> Result<(), E> {
        self.note(Kept::Number(value));
        Ok(())
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn visit_f64<E>(mut self, value: f64) -> Result<(), E> {
        // A cast keeps within the bounds of its type.
        let kept = if value >= 0.0 { Kept::Number(value.ceil() as u64) } else { Kept::Present };
        self.note(kept);
        Ok(())
    }

    fn visit_unit<E>(mut self) -> Result<(), E> {
        self.note(Kept::Present);
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        self.note(Kept::Object);
        if let Some((_, fields)) = self.field.inside {
            return self.visit_fields(fields, map);
        }
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        self.note(Kept::Present);
        // Lists of lists are nothing any agent sends, and following them would be recursion.
        let worth_reading = if self.in_list { 0 } else { MAX_PATHS_OF_CALL };
        for _ in 0..worth_reading {
            let element = Value { payload: self.payload, in_list: true, ..self };
            if list.next_element_seed(element)?.is_none() {
                return Ok(());
            }
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }
}
