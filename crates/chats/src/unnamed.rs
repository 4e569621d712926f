//! Calls whose hooks do not tell the id they have in the record: known by what they do and when.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::Call;
use crate::error::{Error, Result};

/// A call in a record that does what is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    /// Its id there.
    pub(crate) id: String,
    /// When the model made it, in seconds since 1970.
    pub(crate) began: Option<i64>,
    /// When its result came.
    pub(crate) ended: Option<i64>,
}

/// Does a call in a record do what this one did?
pub(crate) fn fits(call: Call<'_>, tool: &str, arguments: Option<&RawValue>) -> bool {
    if tool != call.tool {
        return false;
    }
    let Some(wanted) = call.argument else { return true };
    let arguments = arguments.map(|arguments| serde_json::from_str(arguments.get()));
    let Some(Ok::<BTreeMap<String, Value>, _>(arguments)) = arguments else { return false };
    let is_it = |value: &Value| {
        let value = value.as_str().unwrap_or_default();
        value == wanted || value.strip_suffix(wanted).is_some_and(|before| before.ends_with('/'))
    };
    arguments.values().any(is_it)
}

/// The one of these calls that was made when this one was. Two that could be it are not told apart.
pub(crate) fn only(agent: &'static str, call: Call<'_>, made: &[Made]) -> Result<String> {
    // Hooks and records tell seconds by clocks of their own.
    let began_before = |made: &Made| made.began.is_none_or(|began| began <= call.began + 1);
    let ended_after = |made: &Made| match (made.ended, call.ended) {
        (Some(made), Some(ended)) => made >= ended - 1,
        _ => true,
    };
    let mut fitting = made.iter().filter(|made| began_before(made) && ended_after(made));
    let first = fitting.next().ok_or(Error::NoCall { agent })?;
    if fitting.next().is_some() {
        return Err(Error::SeveralCalls { agent });
    }
    Ok(first.id.clone())
}

/// The seconds since 1970 of a time as `2026-11-19T11:39:21.308Z`.
pub(crate) fn seconds(time: &str) -> Option<i64> {
    let number = |from: usize, to: usize| time.get(from..to)?.parse::<i64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let clock = number(11, 13)? * 3600 + number(14, 16)? * 60 + number(17, 19)?;
    if !time.ends_with('Z') || !(1..=12).contains(&month) {
        return None;
    }
    // Days since 1 March of the year 0, so that the day that comes every four years is the last of a year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    Some((days - 719_468) * 86_400 + clock)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        assert_eq!(seconds("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(seconds("2026-11-19T11:39:21.308Z"), Some(1_795_088_361));
        assert_eq!(seconds("2024-02-29T23:59:59Z"), Some(1_709_251_199));
        for wrong in
            ["", "2026-11-19", "2026-13-19T11:39:21Z", "2026-11-19T11:39:21", "äöüäöüäöüäöüZ"]
        {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn equal_calls_are_told_apart_by_their_times_or_not_at_all() {
        let made = |id: &str, began, ended| Made {
            id: id.to_owned(),
            began: Some(began),
            ended: Some(ended),
        };
        let calls = [made("a", 10, 12), made("b", 20, 22)];
        let at = |began, ended| {
            let call = Call { began, ended: Some(ended), ..Call::default() };
            only("Qwen Code", call, &calls)
        };
        assert_eq!(at(11, 12).unwrap(), "a");
        assert_eq!(at(20, 22).unwrap(), "b");
        assert!(matches!(at(30, 30), Err(Error::NoCall { .. })));
        assert!(matches!(at(20, 12), Err(Error::SeveralCalls { .. })));
    }
}
