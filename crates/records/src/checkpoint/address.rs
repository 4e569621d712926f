//! How a person names a checkpoint.
//!
//! | written | means |
//! |---|---|
//! | `before-refactor`, `@before-refactor` | the one with this name |
//! | `13` | the one with this number |
//! | `13^` | the one before it |
//! | `1h`, `2 days ago`, `15:30`, `noon`, `yesterday 18:00`, `2026-11-02`, `2026-11-02 15:30` | the state the project was in then |
//! | `7f2c`, `id:1234` | the beginning of its id, at least four digits; with `id:` also where there is no letter among them |
//! | `@`, `@-2` | the newest, or so many before it |
//! | `13@laptop`, `13^@laptop`, `@-2@laptop`, `@@laptop` | any of these, of the line that was imported under this name |
//! | `13:src/cart.py` | this path in that state ([`Address`]); no time stands before the colon, which times have themselves |
//!
//! They are read in this order, and what reads as a number, an id or a time cannot be given as a name any more. Reading asks
//! neither the store nor the clock: [`When`] says what was meant until somebody knows what time it is.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{Offset, TimeZone};
use jiff::{Span, ToSpan, Unit};

use crate::clock::Timestamp;

/// How a person names a checkpoint.
#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    /// `3`: the one with this number.
    Number(u64),
    /// `3^`: the one before it.
    Before(u64),
    /// `@`, `@-2`: the newest, or so many before it.
    Back(usize),
    /// `7f2c…`, `1234567` or `id:1234`: the beginning of its id, lower-case.
    Id(String),
    /// A name given with `herma name`.
    Name(String),
    /// `13@laptop`: of the line with this name.
    OnLine(Box<Self>, String),
    /// `1h`, `15:30`: what the project was then. The text may still be an older name, or the beginning of an id.
    Time {
        /// When.
        when: When,
        /// As it was written.
        text: String,
    },
}

/// A text that cannot name a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSpec {
    /// Nothing was given.
    #[error("an empty text names no checkpoint")]
    Empty,
    /// Looks like an option.
    #[error("`{0}` begins with a dash")]
    Dash(String),
    /// `@` with something other than `-N` or a name behind it, or a number out of reach.
    #[error("`{0}` is not a checkpoint: write a number, an id, a name, a time or `@-2`")]
    Malformed(String),
    /// `2026-02-30`.
    #[error(transparent)]
    NoSuchDay(#[from] NoSuchDay),
    /// `now`.
    #[error("the present is not a checkpoint")]
    Present,
}

/// What is written like a date, but is in no calendar.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no day `{0}`")]
pub struct NoSuchDay(String);

impl Spec {
    /// Reads what a person typed.
    pub fn parse(text: &str) -> Result<Self, BadSpec> {
        let malformed = || BadSpec::Malformed(herma_store::path::escape(text.as_bytes()));
        if text.is_empty() {
            return Err(BadSpec::Empty);
        }
        if text.starts_with('-') {
            return Err(BadSpec::Dash(herma_store::path::escape(text.as_bytes())));
        }
        // Nothing else has the character behind its beginning.
        if let Some((of, line)) = text.rsplit_once('@').filter(|(of, _)| !of.is_empty()) {
            return match Self::parse(of)? {
                Self::OnLine(..) => Err(malformed()),
                _ if !is_line_name(line) => Err(malformed()),
                of => Ok(Self::OnLine(Box::new(of), line.to_owned())),
            };
        }
        if let Some(id) = text.strip_prefix("id:") {
            return parse_id(id).map(Self::Id).ok_or_else(malformed);
        }
        if let Some(rest) = text.strip_prefix('@') {
            return parse_at(rest).ok_or_else(malformed);
        }
        if let Some(number) = text.strip_suffix('^') {
            return parse_number(number).map(Self::Before).ok_or_else(malformed);
        }
        if text.len() < SHORT_ID && is_digits(text) {
            return parse_number(text).map(Self::Number).ok_or_else(malformed);
        }
        if let Some(when) = When::parse(text)? {
            return Ok(Self::Time { when, text: text.to_owned() });
        }
        if let Some(id) = parse_id(text) {
            return Ok(Self::Id(id));
        }
        match check_name_form(text) {
            Ok(()) if !is_digits(text) => Ok(Self::Name(text.to_owned())),
            _ => Err(malformed()),
        }
    }
}

/// A state and a path in it, as a person names both.
#[derive(Clone, Debug, PartialEq)]
pub struct Address {
    /// The state.
    pub spec: Spec,
    /// The path, as it is written.
    pub path: Vec<u8>,
}

/// A text with a colon in it that names no path in a state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadAddress {
    /// What stands before the colon names no checkpoint.
    #[error(transparent)]
    Spec(#[from] BadSpec),
    /// `1h:src`.
    #[error("`{0}` is a time, and a time cannot stand before `:PATH`")]
    Time(String),
    /// `15:30`.
    #[error("`{0}` is a time, and may be meant as a path in a checkpoint")]
    TwoReadings(String),
}

impl Address {
    /// Reads what a person typed; `None` if there is no colon in it.
    pub fn parse(text: &[u8]) -> Result<Option<Self>, BadAddress> {
        let start = if text.starts_with(b"id:") { 3 } else { 0 };
        let colon = text[start..].iter().position(|byte| *byte == b':');
        let Some(colon) = colon.map(|at| start + at) else { return Ok(None) };
        if is_time(text) {
            return Err(BadAddress::TwoReadings(herma_store::path::escape(text)));
        }
        let colons = text.iter().enumerate().filter(|(at, byte)| *at >= colon && **byte == b':');
        if let Some((at, _)) = colons.into_iter().find(|(at, _)| is_time(&text[..*at])) {
            return Err(BadAddress::Time(herma_store::path::escape(&text[..at])));
        }
        let (head, path) = (&text[..colon], text[colon + 1..].to_vec());
        let malformed = || BadSpec::Malformed(herma_store::path::escape(head));
        let spec = Spec::parse(std::str::from_utf8(head).map_err(|_| malformed())?)?;
        Ok(Some(Self { spec, path }))
    }
}

fn is_time(text: &[u8]) -> bool {
    let text = std::str::from_utf8(text);
    text.is_ok_and(|text| matches!(When::parse(text), Ok(Some(_)) | Err(_)))
}

/// How much of an id a list shows. One id in 27 begins with so many decimal digits, and no project has so many checkpoints
/// that one of their numbers would have them.
const SHORT_ID: usize = 7;

/// What comes behind an `@`.
fn parse_at(rest: &str) -> Option<Spec> {
    if rest.is_empty() {
        return Some(Spec::Back(0));
    }
    match rest.strip_prefix('-') {
        Some(digits) => digits.parse().ok().map(Spec::Back),
        None => check_name_form(rest).ok().map(|()| Spec::Name(rest.to_owned())),
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

fn parse_number(text: &str) -> Option<u64> {
    is_digits(text).then(|| text.parse().ok()).flatten()
}

/// 4 to 40 hexadecimal digits, as lower case.
pub fn parse_id(text: &str) -> Option<String> {
    let valid = (4..=40).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit());
    valid.then(|| text.to_ascii_lowercase())
}

/// A time as a person writes it.
#[derive(Clone, Debug, PartialEq)]
pub enum When {
    /// `1h`, `2 days ago`: so many seconds before now.
    Ago(i64),
    /// `15:30`: the last time clocks showed it.
    Clock(Time),
    /// `yesterday 18:00`, `2026-11-02`: on this day; at its end if no time is given.
    Day(Day, Option<Time>),
}

/// The present, as a person writes it. It ends a stretch of time, and is no checkpoint.
pub const NOW: &str = "now";

/// Which day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Day {
    /// So many days before today.
    Before(i64),
    /// This one.
    Date(Date),
}

/// Nobody means more than a hundred years.
const MAX_AGO_SECONDS: i64 = 100 * 366 * 86_400;

impl When {
    /// Reads a time; `None` if it is none.
    pub fn parse(text: &str) -> Result<Option<Self>, NoSuchDay> {
        if text == NOW {
            return Ok(Some(Self::Ago(0)));
        }
        if let Some(time) = parse_clock(text) {
            return Ok(Some(Self::Clock(time)));
        }
        if let Some(seconds) = parse_ago(text) {
            return Ok(Some(Self::Ago(seconds)));
        }
        let Some((day, time)) = text.split_once([' ', 'T']) else {
            return Ok(parse_day(text)?.map(|day| Self::Day(day, None)));
        };
        let both = parse_day(day)?.zip(parse_clock(time));
        Ok(both.map(|(day, time)| Self::Day(day, Some(time))))
    }

    /// The first second that is meant, in seconds since 1970. `None` beyond the calendar.
    pub fn first_second(&self, now: Timestamp) -> Option<i64> {
        match self {
            Self::Day(day, None) => Self::Day(*day, Some(Time::midnight())).last_second(now),
            moment => moment.last_second(now),
        }
    }

    /// The last second that is meant. A moment has one second.
    pub fn last_second(&self, now: Timestamp) -> Option<i64> {
        let zone = zone_of(now)?;
        let here = jiff::Timestamp::from_second(now.seconds).ok()?.to_zoned(zone.clone());
        let at = |date: Date, time: Time| {
            let moment = DateTime::from_parts(date, time).to_zoned(zone.clone()).ok()?;
            Some(moment.timestamp().as_second())
        };
        match self {
            Self::Ago(seconds) => now.seconds.checked_sub(*seconds),
            Self::Clock(time) => {
                let today = at(here.date(), *time)?;
                if today <= now.seconds {
                    Some(today)
                } else {
                    at(here.date().yesterday().ok()?, *time)
                }
            }
            Self::Day(day, time) => {
                let date = match day {
                    Day::Before(days) => here.date().checked_sub(days.days()).ok()?,
                    Day::Date(date) => *date,
                };
                at(date, time.unwrap_or(Time::constant(23, 59, 59, 0)))
            }
        }
    }
}

/// The zone a clock shows, as far as its offset tells.
fn zone_of(now: Timestamp) -> Option<TimeZone> {
    let seconds = now.offset_minutes.checked_mul(60)?;
    Some(TimeZone::fixed(Offset::from_seconds(seconds).ok()?))
}

/// `90s`, `1h 30m`, `2 days ago`.
fn parse_ago(text: &str) -> Option<i64> {
    if text.contains(':') || !text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let span: Span = text.strip_suffix(" ago").unwrap_or(text).parse().ok()?;
    // A day has 24 hours here, a month 30 days: nobody counts leap seconds back.
    let days = i64::from(span.get_years()) * 365 + i64::from(span.get_months()) * 30;
    let rest = span.years(0).months(0);
    let seconds = rest.total((Unit::Second, jiff::SpanRelativeTo::days_are_24_hours())).ok()?;
    let seconds = days.checked_mul(86_400)?.checked_add(seconds as i64)?;
    (0..=MAX_AGO_SECONDS).contains(&seconds).then_some(seconds)
}

/// `today`, `yesterday`, `2026-11-02`.
fn parse_day(text: &str) -> Result<Option<Day>, NoSuchDay> {
    let parts = text.split('-').map(|part| if is_digits(part) { part.len() } else { 0 });
    match text {
        "today" => Ok(Some(Day::Before(0))),
        "yesterday" => Ok(Some(Day::Before(1))),
        _ if !parts.eq([4, 2, 2]) => Ok(None),
        _ => text.parse().map(|date| Some(Day::Date(date))).map_err(|_| NoSuchDay(text.to_owned())),
    }
}

/// `9:00`, `15:30`, `15:30:05`, `noon`.
fn parse_clock(text: &str) -> Option<Time> {
    match text {
        "midnight" => return Some(Time::midnight()),
        "noon" => return Time::new(12, 0, 0, 0).ok(),
        _ => {}
    }
    let parts: Vec<&str> = text.split(':').collect();
    let number = |part: &str| {
        let fits = is_digits(part) && part.len() <= 2;
        fits.then(|| part.parse::<i8>().ok()).flatten()
    };
    let (hour, minute, second) = match parts[..] {
        [hour, minute] if minute.len() == 2 => (number(hour)?, number(minute)?, 0),
        [hour, minute, second] if minute.len() == 2 && second.len() == 2 => {
            (number(hour)?, number(minute)?, number(second)?)
        }
        _ => return None,
    };
    Time::new(hour, minute, second, 0).ok()
}

/// Why a text cannot be given to a checkpoint as its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadCheckpointName {
    /// Empty, or longer than 100 bytes.
    #[error("a name has 1 to 100 bytes")]
    Length,
    /// A number, or something that reads as several, as an id or as a time.
    #[error("it would be taken for a number, an id or a time")]
    LooksLikeNumber,
    /// What git allows in no ref.
    #[error(
        "git allows no `.lock` at the end of a name or of a part before `/`, no `..`, and no `.` or `/` at an end"
    )]
    Git,
    /// A character that cannot be part of a name.
    #[error(
        "a name is made of letters, digits, `-`, `_`, `.` and `/`, and begins with a letter or digit"
    )]
    Character,
}

/// Checks a name before it is given to a checkpoint.
pub fn check_checkpoint_name(name: &str) -> Result<(), BadCheckpointName> {
    let reads_otherwise = is_digits(name)
        || parse_id(name).is_some()
        || parse_range(name).is_some()
        || !matches!(When::parse(name), Ok(None));
    if reads_otherwise {
        return Err(BadCheckpointName::LooksLikeNumber);
    }
    check_name_form(name)
}

/// `13-15`: these numbers, the lower one first.
pub fn parse_range(text: &str) -> Option<std::ops::RangeInclusive<u64>> {
    let (first, last) = text.split_once('-')?;
    let (first, last) = (parse_number(first)?, parse_number(last)?);
    (first <= last).then_some(first..=last)
}

/// Can a line be called so? As a checkpoint's name, but without a slash.
pub fn is_line_name(name: &str) -> bool {
    check_name_form(name).is_ok() && !name.contains('/')
}

/// Could some checkpoint have been given this name?
pub fn check_name_form(name: &str) -> Result<(), BadCheckpointName> {
    if name.is_empty() || name.len() > 100 {
        return Err(BadCheckpointName::Length);
    }
    let first = name.chars().next().is_some_and(char::is_alphanumeric);
    let all = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/'));
    if !first || !all {
        return Err(BadCheckpointName::Character);
    }
    let is_refused = |part: &str| {
        let is_dotted = part.starts_with('.') || part.ends_with('.') || part.contains("..");
        part.is_empty() || is_dotted || part.strip_suffix(".lock").is_some()
    };
    if name.split('/').any(is_refused) { Err(BadCheckpointName::Git) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 18 November 2026, 16:00:10 at an offset of one hour.
    const NOW: Timestamp = Timestamp { seconds: 1_795_014_010, nanos: 0, offset_minutes: 60 };
    const HOUR: i64 = 3600;
    const DAY: i64 = 86_400;
    /// The first second of that day there.
    const TODAY: i64 = NOW.seconds - 16 * HOUR - 10;

    #[test]
    fn every_way_to_name_a_checkpoint() {
        let id = |id: &str| Spec::Id(id.to_owned());
        let name = |name: &str| Spec::Name(name.to_owned());
        let on_line = |of| Spec::OnLine(Box::new(of), "laptop".to_owned());
        for (text, expected) in [
            ("3", Spec::Number(3)),
            ("123456", Spec::Number(123_456)),
            ("3^", Spec::Before(3)),
            ("@", Spec::Back(0)),
            ("@-2", Spec::Back(2)),
            ("id:123456", id("123456")),
            ("1234567", id("1234567")),
            ("0123456", id("0123456")),
            ("12ab", id("12ab")),
            ("DEADBEEF", id("deadbeef")),
            ("before-refactor", name("before-refactor")),
            ("@before-refactor", name("before-refactor")),
            ("@v1.2", name("v1.2")),
            ("13-15x", name("13-15x")),
            ("13@laptop", on_line(Spec::Number(13))),
            ("13^@laptop", on_line(Spec::Before(13))),
            ("@@laptop", on_line(Spec::Back(0))),
            ("@-2@laptop", on_line(Spec::Back(2))),
            ("12ab@laptop", on_line(id("12ab"))),
            ("v1@laptop", on_line(name("v1"))),
        ] {
            assert_eq!(Spec::parse(text), Ok(expected), "{text:?}");
        }
        for bad in [
            "", "-p", "--patch", "@-", "13@", "13@a/b", "1@a@b", "-1@a", "x y@a", "a..b", "a b",
            "x\n", "id:", "id:xyz", "x.lock", "^", "x^",
        ] {
            assert!(Spec::parse(bad).is_err(), "{bad:?}");
        }
        assert!(Spec::parse(&"9".repeat(41)).is_err());
    }

    #[test]
    fn every_way_to_name_a_path_in_a_state() {
        let name = |name: &str| Spec::Name(name.to_owned());
        for (text, spec, path) in [
            ("13:src/cart.py", Spec::Number(13), "src/cart.py"),
            ("13:", Spec::Number(13), ""),
            ("13:a:b", Spec::Number(13), "a:b"),
            ("13::", Spec::Number(13), ":"),
            ("13:./30", Spec::Number(13), "./30"),
            ("13:30.txt", Spec::Number(13), "30.txt"),
            ("13^:a b\n", Spec::Before(13), "a b\n"),
            ("@-2:/etc/x", Spec::Back(2), "/etc/x"),
            ("@:a", Spec::Back(0), "a"),
            ("id:1234:a", Spec::Id("1234".to_owned()), "a"),
            ("12ab:../a", Spec::Id("12ab".to_owned()), "../a"),
            ("@v1.2:a", name("v1.2"), "a"),
            ("before-refactor:@", name("before-refactor"), "@"),
        ] {
            let address = Address { spec, path: path.into() };
            assert_eq!(Address::parse(text.as_bytes()), Ok(Some(address)), "{text:?}");
        }
        let odd = Address { spec: Spec::Number(3), path: b"\xff".into() };
        assert_eq!(Address::parse(b"3:\xff"), Ok(Some(odd)));
        for none in ["13", "src/cart.py", "", "id:1234"] {
            assert_eq!(Address::parse(none.as_bytes()), Ok(None), "{none:?}");
        }
        for time in ["1h:a", "yesterday:a", "15:30:a", "yesterday 18:00:a", "now:a", "2026-11-02:a"]
        {
            let read = Address::parse(time.as_bytes());
            let before = time.strip_suffix(":a").unwrap().to_owned();
            assert_eq!(read, Err(BadAddress::Time(before)), "{time:?}");
        }
        let both = Err(BadAddress::TwoReadings("15:30".to_owned()));
        assert_eq!(Address::parse(b"15:30"), both);
        for bad in [":a", "-p:a", "a b:c", "\u{1b}[m:c", "2026-02-30:a"] {
            assert!(Address::parse(bad.as_bytes()).is_err(), "{bad:?}");
        }
        assert!(matches!(Address::parse(b"\xff:a"), Err(BadAddress::Spec(_))));
    }

    #[test]
    fn every_way_to_say_when() {
        for (text, seconds) in [
            ("90s", NOW.seconds - 90),
            ("10m", NOW.seconds - 600),
            ("1h", NOW.seconds - HOUR),
            ("1h30m", NOW.seconds - HOUR - 1800),
            ("1 hour ago", NOW.seconds - HOUR),
            ("2 days ago", NOW.seconds - 2 * DAY),
            ("3d", NOW.seconds - 3 * DAY),
            ("1w", NOW.seconds - 7 * DAY),
            ("15:30", TODAY + 15 * HOUR + 1800),
            ("9:00", TODAY + 9 * HOUR),
            ("16:00:10", NOW.seconds),
            ("16:00:11", NOW.seconds + 1 - DAY),
            ("noon", TODAY + 12 * HOUR),
            ("midnight", TODAY),
            ("yesterday noon", TODAY - 12 * HOUR),
            ("today", TODAY + DAY - 1),
            ("yesterday", TODAY - 1),
            ("yesterday 18:00", TODAY - DAY + 18 * HOUR),
            ("2026-11-02", TODAY - 15 * DAY - 1),
            ("2026-11-02 15:30", TODAY - 16 * DAY + 15 * HOUR + 1800),
            ("2026-11-02T15:30", TODAY - 16 * DAY + 15 * HOUR + 1800),
        ] {
            let Ok(Spec::Time { when, .. }) = Spec::parse(text) else {
                panic!("{text:?} is no time");
            };
            assert_eq!(when.last_second(NOW), Some(seconds), "{text:?}");
        }
        let first = |text: &str| When::parse(text).unwrap().and_then(|when| when.first_second(NOW));
        assert_eq!(first("now"), Some(NOW.seconds));
        assert_eq!(first("yesterday"), Some(TODAY - DAY));
        assert_eq!(first("yesterday 18:00"), Some(TODAY - DAY + 18 * HOUR));
        for other in
            ["24:00", "9:0", "1:2:3", "2026-13-01", "tomorrow", "-1h", "hour", "yesterdays", "1 x"]
        {
            let read = Spec::parse(other);
            assert!(!matches!(read, Ok(Spec::Time { .. })), "{other:?}: {read:?}");
        }
    }

    #[test]
    fn what_is_no_day_is_told_so() {
        for text in ["2026-02-30", "2026-13-01", "2026-02-30 15:30"] {
            let day = NoSuchDay(text[..10].to_owned());
            assert_eq!(Spec::parse(text), Err(BadSpec::NoSuchDay(day)));
        }
        assert_eq!(Spec::parse("@now"), Ok(Spec::Name("now".to_owned())));
    }

    #[test]
    fn names_never_read_as_something_else() {
        for bad in [
            "",
            "12",
            "beef",
            "@-1",
            "-x",
            ".hidden",
            "a//b",
            "a/.b",
            "x.lock",
            "a..b",
            "1h",
            "3d",
            "13-15",
            "yesterday",
            "today",
            "2026-11-02",
            "2026-02-30",
            "2026-13-01",
            "now",
            "noon",
            "midnight",
        ] {
            assert!(check_checkpoint_name(bad).is_err(), "{bad:?}");
        }
        for good in [
            "before-refactor",
            "v1.2",
            "größer",
            "feature/login",
            "15-13",
            "h1",
            "release-2026-11-02",
        ] {
            assert_eq!(check_checkpoint_name(good), Ok(()), "{good:?}");
        }
    }
}
