//! No answer is longer than a client can be expected to read: lists come in pages, and what is cut is said.

use serde_json::Map;
use serde_json::Value;
use serde_json::json;

/// So many entries of a list come at once unless the client says otherwise.
const USUAL_PAGE: usize = 100;
/// So many entries a list of an answer has at most.
const LONGEST_LIST: usize = 1000;
/// So many bytes an answer has, as far as cutting its lists can help.
const LONGEST_ANSWER: usize = 8 << 20;
/// So many bytes a reason in a list has; `show` has all of it. A multiple of four, for base64.
const LONGEST_TEXT: usize = 4 << 10;

/// Which part of a list is wanted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Page {
    /// Entries that are skipped.
    pub(crate) offset: usize,
    /// Entries that follow; no more than 1,000.
    pub(crate) limit: Option<usize>,
}

impl Page {
    fn length(self) -> usize {
        self.limit.unwrap_or(USUAL_PAGE).min(LONGEST_LIST)
    }

    /// How long a list must be to have this page, and to show whether more follows.
    pub(crate) fn needed(self) -> usize {
        self.offset.saturating_add(self.length()).saturating_add(1)
    }

    /// Leaves this page of the list called `name`, and says whether more follows.
    pub(crate) fn cut(self, answer: &mut Value, name: &str) {
        let Some(list) = answer.get_mut(name).and_then(Value::as_array_mut) else {
            return;
        };
        list.drain(..self.offset.min(list.len()));
        let has_more = list.len() > self.length();
        list.truncate(self.length());
        answer["offset"] = self.offset.into();
        answer["more"] = has_more.into();
    }

    /// Like [`Self::cut`], where the list is there as a whole: says how long it is, too.
    pub(crate) fn cut_whole(self, answer: &mut Value, name: &str) {
        let total = answer.get(name).and_then(Value::as_array).map(Vec::len);
        self.cut(answer, name);
        answer["total"] = total.into();
    }
}

/// Cuts lists that are too long, as little as that takes. `truncated` names them, with the number of entries they
/// had, and `more` is true where it is part of the answer: what was cut can be asked for.
pub(crate) fn bound(mut answer: Value) -> Value {
    let mut cut = Map::new();
    let Some(fields) = answer.as_object_mut() else {
        return answer;
    };
    for (name, field) in fields.iter_mut() {
        if let Some(list) = field.as_array_mut() {
            keep(LONGEST_LIST, name, list, &mut cut);
        }
    }
    shorten_lists(fields, &mut cut);
    if cut.keys().any(|name| name != "warnings") && answer.get("more").is_some() {
        answer["more"] = true.into();
    }
    if !cut.is_empty() {
        answer["truncated"] = json!(cut);
    }
    answer
}

/// Keeps the first entries of a list, and notes how many it had.
fn keep(most: usize, name: &str, list: &mut Vec<Value>, cut: &mut Map<String, Value>) {
    if list.len() > most {
        cut.entry(name).or_insert(list.len().into());
        list.truncate(most);
    }
}

/// Makes lists as short as an answer of [`LONGEST_ANSWER`] wants them. Short lists stay whole; long ones share what
/// is left.
fn shorten_lists(fields: &mut Map<String, Value>, cut: &mut Map<String, Value>) {
    let mut room = LONGEST_ANSWER;
    let mut lists = Vec::new();
    for (name, field) in fields.iter_mut() {
        let length = length(field);
        match field {
            Value::Array(list) => lists.push((length, name, list)),
            _ => room = room.saturating_sub(length),
        }
    }
    lists.sort_unstable_by_key(|(length, ..)| *length);
    let mut left = lists.len();
    for (whole, name, list) in lists {
        let share = room / left;
        left -= 1;
        if whole <= share {
            room -= whole;
            continue;
        }
        let mut used = 0;
        let fits = |entry: &&Value| {
            used += length(entry) + 1;
            used <= share
        };
        let most = list.iter().take_while(fits).count();
        keep(most, name, list, cut);
        room -= share;
    }
}

/// How long a value is when it is written out. Nothing is kept of what is written to find out.
fn length(value: &Value) -> usize {
    struct Counted(usize);
    impl std::io::Write for Counted {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counted = Counted(0);
    match serde_json::to_writer(&mut counted, value) {
        Ok(()) => counted.0,
        Err(_) => usize::MAX,
    }
}

/// The beginning of a text, as long as texts in lists may be.
pub(crate) fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST_TEXT)]
}

/// Shortens the reasons of listed checkpoints, so that long ones do not push others out of the list.
pub(crate) fn shorten_reasons(answer: &mut Value) {
    let list = answer.get_mut("checkpoints").and_then(Value::as_array_mut);
    for checkpoint in list.into_iter().flatten() {
        let Some(reason) = checkpoint["reason"].as_str() else {
            continue;
        };
        let is_long = |name: &str| {
            let text = checkpoint.get(name).and_then(Value::as_str);
            text.is_some_and(|text| text.len() > LONGEST_TEXT)
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
            Page { offset, limit }.cut_whole(&mut answer, "list");
            answer
        };
        assert_eq!(
            cut(1, Some(2)),
            json!({"list": [2, 3], "offset": 1, "more": true, "total": 5})
        );
        assert_eq!(
            cut(3, Some(2)),
            json!({"list": [4, 5], "offset": 3, "more": false, "total": 5})
        );
        assert_eq!(
            cut(usize::MAX, None),
            json!({"list": [], "offset": usize::MAX, "more": false, "total": 5})
        );
    }

    #[test]
    fn long_lists_are_cut_and_named() {
        let answer = bound(json!({"actions": vec![0; 1234], "few": [1]}));
        assert_eq!(answer["actions"].as_array().unwrap().len(), LONGEST_LIST);
        assert_eq!(answer["truncated"], json!({"actions": 1234}));
        assert_eq!(bound(json!({"few": [1]})), json!({"few": [1]}));
    }

    #[test]
    fn of_long_texts_in_lists_as_many_stay_as_fit() {
        let text = "x".repeat(1 << 20);
        let answer = bound(json!({
            "messages": vec![text; 9], "few": [1, 2], "id": 1, "more": false,
        }));
        assert_eq!(answer["messages"].as_array().unwrap().len(), 7);
        assert_eq!(answer["few"], json!([1, 2]), "short lists stay whole");
        assert_eq!(answer["truncated"], json!({"messages": 9}));
        assert_eq!(answer["more"], true, "what was cut can be asked for");
    }

    #[test]
    fn an_answer_of_many_long_lists_is_short() {
        let list = vec!["y".repeat(1 << 16); 150];
        let answer = bound(json!({"a": list, "b": list, "c": [1]}));
        assert!(length(&answer) <= LONGEST_ANSWER + (1 << 10));
        for name in ["a", "b"] {
            assert!(answer[name].as_array().unwrap().len() > 60, "{name}");
        }
        assert_eq!(answer["truncated"], json!({"a": 150, "b": 150}));
    }

    #[test]
    fn a_long_reason_is_shortened_and_says_so() {
        let long = "ä".repeat(LONGEST_TEXT);
        let mut answer = json!({"checkpoints": [
            {"reason": long},
            {"reason": "short"},
            {"reason": "\\xff", "reason_bytes": "QUJD".repeat(2000)},
        ]});
        shorten_reasons(&mut answer);
        let listed = &answer["checkpoints"];
        assert_eq!(listed[0]["reason"].as_str().unwrap().len(), LONGEST_TEXT);
        assert_eq!(listed[0]["reason_truncated"], true);
        assert_eq!(listed[1], json!({"reason": "short"}));
        assert_eq!(listed[2]["reason_bytes"], "QUJD".repeat(LONGEST_TEXT / 4));
        assert_eq!(listed[2]["reason_truncated"], true);
    }
}
