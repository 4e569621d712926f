//! No answer is longer than a client can be expected to read: lists come in pages, and what is cut is said.

use serde_json::{Map, Value, json};

/// So many entries of a list come at once to a program, unless it says otherwise.
pub(super) const PROGRAMS_PAGE: usize = 100;
/// And so many to an agent, whose model reads all of them.
pub(super) const AGENTS_PAGE: usize = 20;
/// So many entries a list of an answer has at most.
const MAX_LIST_ENTRIES: usize = 1000;
/// So many bytes an answer has, as far as cutting its lists can help.
const MAX_ANSWER_BYTES: usize = 8 << 20;
/// So many bytes a reason in a list has; `show` has all of it. A multiple of four, for base64.
const MAX_REASON_BYTES: usize = 4 << 10;

/// Which part of a list is wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    /// Entries that are skipped.
    pub(crate) offset: usize,
    /// Entries that follow; no more than 1,000.
    pub(crate) limit: usize,
}

impl Page {
    fn length(self) -> usize {
        self.limit.min(MAX_LIST_ENTRIES)
    }

    /// How long a list must be to have this page, and to show whether more follows.
    pub(crate) fn needed(self) -> usize {
        self.offset.saturating_add(self.length()).saturating_add(1)
    }

    /// Leaves this page of the lists of these names, and says whether more follows; and how long the longest is, unless
    /// they were made no longer than needed.
    pub(crate) fn cut(self, answer: &mut Value, names: &[&str], is_part: bool) {
        let mut total = None;
        for name in names {
            let Some(list) = answer.get_mut(name).and_then(Value::as_array_mut) else { continue };
            total = total.max(Some(list.len()));
            list.drain(..self.offset.min(list.len()));
            list.truncate(self.length());
        }
        let Some(total) = total else { return };
        answer["offset"] = self.offset.into();
        answer["more"] = (total.saturating_sub(self.offset) > self.length()).into();
        if !is_part {
            answer["total"] = total.into();
        }
    }
}

/// Cuts lists that are too long, or make the answer too long. `truncated` names them, with the number of entries they
/// had, and `more` is true where it is part of the answer: what was cut can be asked for.
pub(crate) fn bound(mut answer: Value) -> Value {
    let mut cut = Map::new();
    let Some(fields) = answer.as_object_mut() else { return answer };
    let mut keep = |name: &str, list: &mut Vec<Value>, most: usize| {
        if list.len() > most {
            cut.entry(name).or_insert(list.len().into());
            list.truncate(most);
        }
    };
    for (name, field) in fields.iter_mut() {
        if let Some(list) = field.as_array_mut() {
            keep(name, list, MAX_LIST_ENTRIES);
        }
    }
    let length = |value: &Value| value.to_string().len();
    while fields.values().map(length).sum::<usize>() > MAX_ANSWER_BYTES {
        let lists = fields.iter_mut().filter(|(_, field)| field.is_array());
        let longest = lists.max_by_key(|(_, field)| length(field));
        let Some((name, Value::Array(list))) = longest.filter(|(_, list)| **list != json!([]))
        else {
            break;
        };
        let most = list.len() * 3 / 4;
        keep(name, list, most);
    }
    if cut.keys().any(|name| name != "warnings") && answer.get("more").is_some() {
        answer["more"] = true.into();
    }
    if !cut.is_empty() {
        answer["truncated"] = json!(cut);
    }
    answer
}

/// The beginning of a text, as long as texts in lists may be.
fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_REASON_BYTES)]
}

/// Shortens the reasons of listed checkpoints and what rows say, so that long ones do not push others out of the list.
pub(crate) fn shorten_reasons(answer: &mut Value) {
    for row in answer.get_mut("rows").and_then(Value::as_array_mut).into_iter().flatten() {
        let text = row["text"].as_str().unwrap_or_default();
        if text.len() > MAX_REASON_BYTES {
            row["text"] = beginning(text).into();
        }
    }
    let list = answer.get_mut("checkpoints").and_then(Value::as_array_mut);
    for checkpoint in list.into_iter().flatten() {
        let Some(reason) = checkpoint["reason"].as_str() else { continue };
        let is_long = |name: &str| {
            let text = checkpoint.get(name).and_then(Value::as_str);
            text.is_some_and(|text| text.len() > MAX_REASON_BYTES)
        };
        if !is_long("reason") && !is_long("reason_bytes") {
            continue;
        }
        checkpoint["reason"] = beginning(reason).into();
        checkpoint["reason_truncated"] = true.into();
        // Base64 that ends at a multiple of four digits is that of the first bytes.
        if let Some(bytes) = checkpoint.get("reason_bytes").and_then(Value::as_str) {
            checkpoint["reason_bytes"] = beginning(bytes).into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_a_part_and_says_of_what() {
        let whole = json!({"list": [1, 2, 3, 4, 5]});
        let cut = |offset, limit| {
            let mut answer = whole.clone();
            Page { offset, limit }.cut(&mut answer, &["list"], false);
            answer
        };
        assert_eq!(cut(1, 2), json!({"list": [2, 3], "offset": 1, "more": true, "total": 5}));
        assert_eq!(cut(3, 2), json!({"list": [4, 5], "offset": 3, "more": false, "total": 5}));
        assert_eq!(
            cut(usize::MAX, PROGRAMS_PAGE),
            json!({"list": [], "offset": usize::MAX, "more": false, "total": 5})
        );
    }

    #[test]
    fn long_lists_are_cut_and_named() {
        let answer = bound(json!({"actions": vec![0; 1234], "few": [1]}));
        assert_eq!(answer["actions"].as_array().unwrap().len(), MAX_LIST_ENTRIES);
        assert_eq!(answer["truncated"], json!({"actions": 1234}));
        assert_eq!(bound(json!({"few": [1]})), json!({"few": [1]}));
    }

    #[test]
    fn long_texts_in_lists_make_them_short() {
        let text = "x".repeat(1 << 20);
        let answer = bound(json!({
            "messages": vec![text; 9], "few": [1, 2], "id": 1, "more": false,
        }));
        assert_eq!(answer["messages"].as_array().unwrap().len(), 6);
        assert_eq!(answer["few"], json!([1, 2]), "short lists stay whole");
        assert_eq!(answer["truncated"], json!({"messages": 9}));
        assert_eq!(answer["more"], true, "what was cut can be asked for");
    }

    #[test]
    fn an_answer_of_many_long_lists_is_short() {
        let list = vec!["y".repeat(1 << 16); 150];
        let answer = bound(json!({"a": list, "b": list, "c": [1]}));
        assert!(answer.to_string().len() <= MAX_ANSWER_BYTES + (1 << 10));
        for name in ["a", "b"] {
            assert!(answer[name].as_array().unwrap().len() > 40, "{name}");
        }
        assert_eq!(answer["truncated"], json!({"a": 150, "b": 150}));
    }

    #[test]
    fn a_long_reason_is_shortened_and_says_so() {
        let long = "ä".repeat(MAX_REASON_BYTES);
        let mut answer = json!({"checkpoints": [
            {"reason": long},
            {"reason": "short"},
            {"reason": "\\xff", "reason_bytes": "QUJD".repeat(2000)},
        ]});
        shorten_reasons(&mut answer);
        let listed = &answer["checkpoints"];
        assert_eq!(listed[0]["reason"].as_str().unwrap().len(), MAX_REASON_BYTES);
        assert_eq!(listed[0]["reason_truncated"], true);
        assert_eq!(listed[1], json!({"reason": "short"}));
        assert_eq!(listed[2]["reason_bytes"], "QUJD".repeat(MAX_REASON_BYTES / 4));
        assert_eq!(listed[2]["reason_truncated"], true);
    }
}
