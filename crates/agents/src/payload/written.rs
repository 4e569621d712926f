//! What a tool says it writes.
//!
//! It is compared with what there is when the tool has run: then the tool wrote that, whoever else was at work. So it is kept whole
//! or not at all.

use std::path::PathBuf;

use super::fields::{Place, Text};
use crate::event::Writes;
use crate::patches;

/// More is not kept.
const MAX_BYTES: usize = 1 << 20;

/// The texts of a call, in the order of the payload. Some agents say all of it twice, in two objects.
#[derive(Debug, Default)]
pub(crate) struct Written {
    texts: Vec<(Place, Text, String)>,
    bytes: usize,
}

impl Written {
    pub(super) fn add(&mut self, place: Place, kind: Text, text: &str) {
        self.bytes = self.bytes.saturating_add(text.len());
        if self.bytes <= MAX_BYTES {
            self.texts.push((place, kind, text.to_owned()));
        }
    }

    /// What an object says is written where, if that is beyond doubt.
    pub(crate) fn in_files(&self, place: Place, paths: &[PathBuf], all: bool) -> Vec<Writes> {
        if self.bytes > MAX_BYTES {
            return Vec::new();
        }
        let of = |wanted: Text| -> Vec<&String> {
            let texts = self.texts.iter().filter(|(of, kind, _)| *of == place && *kind == wanted);
            texts.map(|(.., text)| text).collect()
        };
        let (old, new) = (of(Text::Old), of(Text::New));
        let into = |path: &PathBuf, old: Option<&String>, new: &String| Writes {
            path: path.clone(),
            old: old.cloned(),
            new: new.clone(),
            all,
        };
        match (paths, &of(Text::Content)[..], &of(Text::Patch)[..]) {
            (_, [], [patch]) => patches::writes(patch),
            ([path], [content], []) if old.is_empty() => vec![into(path, None, content)],
            ([path], [], []) if old.len() == new.len() => {
                old.into_iter().zip(new).map(|(old, new)| into(path, Some(old), new)).collect()
            }
            _ => Vec::new(),
        }
    }
}
