//! Moments put into words: when, in the reader's time zone, and how long ago.

use std::sync::OnceLock;

use herma_core::types::clock::Timestamp;
use jiff::tz::TimeZone;

/// Finds the reader's time zone. It is asked for only when a time is put into words.
static READERS: OnceLock<fn() -> &'static TimeZone> = OnceLock::new();

/// Times are put into words in this zone from now on, rather than in UTC.
pub fn put_in(zone: fn() -> &'static TimeZone) {
    // Whoever comes second finds the same one.
    let _ = READERS.set(zone);
}

fn time_zone() -> &'static TimeZone {
    static UTC: TimeZone = TimeZone::UTC;
    READERS.get().map_or(&UTC, |zone| zone())
}

/// The moment so many seconds after 1970.
pub const fn at(seconds: i64) -> Timestamp {
    Timestamp { seconds, nanos: 0, offset_minutes: 0 }
}

/// The moment in the reader's time zone, to the second.
pub fn local(time: Timestamp) -> String {
    format_in(time, time_zone())
}

fn format_in(time: Timestamp, zone: &TimeZone) -> String {
    match jiff::Timestamp::from_second(time.seconds) {
        Ok(moment) => moment.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
        // A store can claim any year; the number is all that can be said about such a one.
        Err(_) => format!("@{}", time.seconds),
    }
}

/// The moment as programs read it: RFC 3339 in UTC. `None` for a year beyond 9999.
pub fn rfc3339(time: Timestamp) -> Option<String> {
    let moment = jiff::Timestamp::from_second(time.seconds).ok()?;
    Some(moment.to_string())
}

/// The moment as mail has it, in UTC.
pub fn rfc2822(time: Timestamp) -> String {
    let moment = jiff::Timestamp::from_second(time.seconds).unwrap_or_default();
    jiff::fmt::rfc2822::to_string(&moment.to_zoned(jiff::tz::TimeZone::UTC)).unwrap_or_default()
}

/// The day of a moment, for a heading: `Today`, `Yesterday`, `Tuesday, 17 November`, with the year if it is another one.
pub fn day(seconds: i64, now: Timestamp) -> String {
    let date = |seconds| Some(zoned(seconds)?.date());
    let (Some(date), Some(today)) = (date(seconds), date(now.seconds)) else {
        return "Unknown".to_owned();
    };
    if date == today {
        "Today".to_owned()
    } else if today.yesterday().is_ok_and(|yesterday| yesterday == date) {
        "Yesterday".to_owned()
    } else if date.year() == today.year() {
        date.strftime("%A, %-d %B").to_string()
    } else {
        date.strftime("%A, %-d %B %Y").to_string()
    }
}

/// A moment under the heading of its day: how long ago it was today, and else the time of day.
pub fn short(seconds: i64, now: Timestamp) -> String {
    let Some(then) = zoned(seconds) else { return format!("@{seconds}") };
    let ago = now.seconds.saturating_sub(seconds);
    match ago {
        _ if day(seconds, now) != "Today" || ago < 0 => then.strftime("%H:%M").to_string(),
        0..10 => "just now".to_owned(),
        10..60 => format!("{ago}s ago"),
        60..7200 => format!("{}m ago", ago / 60),
        _ => format!("{}h ago", ago / 3600),
    }
}

/// A moment in a sentence: `15:48 today`, `15:48 yesterday`, `17 November, 15:48`.
pub fn moment(seconds: i64, now: Timestamp) -> String {
    let Some(then) = zoned(seconds) else { return format!("@{seconds}") };
    let clock = then.strftime("%H:%M");
    match &*day(seconds, now) {
        near @ ("Today" | "Yesterday") => format!("{clock} {}", near.to_lowercase()),
        _ => format!("{}, {clock}", then.strftime("%-d %B %Y")),
    }
}

fn zoned(seconds: i64) -> Option<jiff::Zoned> {
    let moment = jiff::Timestamp::from_second(seconds).ok()?;
    Some(moment.to_zoned(time_zone().clone()))
}

/// How long before `now` a moment was, in seconds since 1970, in one unit.
pub fn age(then: i64, now: Timestamp) -> String {
    let seconds = now.seconds.saturating_sub(then);
    if seconds < 0 {
        return "in the future".to_owned();
    }
    let (count, unit) = match seconds {
        0..10 => return "just now".to_owned(),
        10..60 => (seconds, "second"),
        60..7200 => (seconds / 60, "minute"),
        7200..172_800 => (seconds / 3600, "hour"),
        172_800..5_184_000 => (seconds / 86_400, "day"),
        5_184_000..63_072_000 => (seconds / 2_592_000, "month"),
        _ => (seconds / 31_536_000, "year"),
    };
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural} ago")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp { seconds, nanos: 0, offset_minutes: 0 }
    }

    #[test]
    fn ages_use_one_unit() {
        let ages: Vec<_> =
            [0, 9, 10, 59, 60, 119, 7199, 7200, 172_799, 172_800, 5_184_000, 63_072_000]
                .map(|seconds| age(0, at(seconds)))
                .into();
        let expected = [
            "just now",
            "just now",
            "10 seconds ago",
            "59 seconds ago",
            "1 minute ago",
            "1 minute ago",
            "119 minutes ago",
            "2 hours ago",
            "47 hours ago",
            "2 days ago",
            "2 months ago",
            "2 years ago",
        ];
        assert_eq!(ages, expected);
        assert_eq!(age(5, at(0)), "in the future");
        assert_eq!(age(i64::MIN, at(i64::MAX)), "292471208677 years ago");
    }

    #[test]
    fn times_no_calendar_has_are_shown_as_numbers() {
        assert_eq!(format_in(at(0), &TimeZone::UTC), "1970-01-01 00:00:00");
        assert_eq!(format_in(at(i64::MAX), &TimeZone::UTC), format!("@{}", i64::MAX));
        assert_eq!(rfc3339(at(0)).as_deref(), Some("1970-01-01T00:00:00Z"));
        assert_eq!(rfc3339(at(i64::MIN)), None);
    }
}
