//! The times in records, however they are written.
//!
//! Hermes writes the local time without a zone, in quotes, and stumbled over every other form. Here a time
//! with a zone, a YAML timestamp and a number of seconds are understood as well. What is no time at all is
//! no error: a record whose age is not known is kept.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};

use herma_yaml::Value;
use herma_yaml::numbers;

/// Numbers from here on count milliseconds: as seconds they would lie beyond the year 5000.
const MILLISECONDS_FROM: f64 = 1e11;

/// The present, here.
#[derive(Clone, Debug)]
pub struct Now {
    /// The moment.
    pub time: Timestamp,
    /// The zone in which times without one are meant.
    pub zone: TimeZone,
}

impl Now {
    /// As Python's `datetime.now().isoformat()` writes it: local, without a zone.
    pub fn iso(&self) -> String {
        let local = self.zone.to_datetime(self.time);
        let seconds = local.strftime("%Y-%m-%dT%H:%M:%S");
        match local.subsec_nanosecond() / 1000 {
            0 => seconds.to_string(),
            micros => format!("{seconds}.{micros:06}"),
        }
    }

    /// For the names of files: `20260422-231500`.
    pub(super) fn stamp(&self) -> String {
        let local = self.zone.to_datetime(self.time);
        local.strftime("%Y%m%d-%H%M%S").to_string()
    }

    /// How long ago it was, in seconds; negative in the future.
    pub fn seconds_since(&self, then: Timestamp) -> i64 {
        self.time.as_second().saturating_sub(then.as_second())
    }
}

/// The moment a value names, if it names one.
pub fn read(value: &Value, zone: &TimeZone) -> Option<Timestamp> {
    match value {
        Value::Text(text) | Value::Time(text) => parse(text.trim(), zone),
        Value::Number(text) => {
            let number = numbers::fraction(text)
                .or_else(|| numbers::whole(text).map(|whole| whole as f64))
                .filter(|number| number.is_finite())?;
            let seconds = if number.abs() >= MILLISECONDS_FROM { number / 1000.0 } else { number };
            let nanos = (seconds.fract() * 1e9) as i32;
            Timestamp::new(seconds.trunc() as i64, nanos).ok()
        }
        _ => None,
    }
}

/// A date, or a date and a time of day, with or without a distance from UTC.
fn parse(text: &str, zone: &TimeZone) -> Option<Timestamp> {
    let (day, clock) = text.split_once(['T', 't', ' ', '\t']).unwrap_or((text, "00:00"));
    let end = clock.find(['Z', 'z', '+', '-']).unwrap_or(clock.len());
    let (clock, offset) = clock.split_at(end);
    let clock = clock.trim_matches([' ', '\t']);
    let (clock, fraction) = clock.split_once(['.', ',']).unwrap_or((clock, ""));
    let local = format!("{day} {clock}");
    let local = DateTime::strptime("%Y-%m-%d %H:%M:%S", &local)
        .or_else(|_| DateTime::strptime("%Y-%m-%d %H:%M", &local));
    let nanos = format!("{fraction:0<9}").get(..9)?.parse().ok()?;
    let local = local.ok()?.with().subsec_nanosecond(nanos).build().ok()?;
    match offset {
        "" => zone.to_timestamp(local).ok(),
        "Z" | "z" => TimeZone::UTC.to_timestamp(local).ok(),
        offset => seconds_of(offset)?.to_timestamp(local).ok(),
    }
}

/// What `+2`, `+0530` or `-05:00:00` says.
fn seconds_of(offset: &str) -> Option<Offset> {
    let (sign, digits) = offset.split_at(1);
    let digits = digits.replace(':', "");
    let padded = if digits.len() % 2 == 0 { digits } else { format!("0{digits}") };
    let number: i32 = format!("{padded:0<6}").parse().ok().filter(|_| padded.len() <= 6)?;
    let seconds = number / 10_000 * 3600 + number / 100 % 100 * 60 + number % 100;
    Offset::from_seconds(if sign == "-" { -seconds } else { seconds }).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two hours ahead of UTC.
    fn zone() -> TimeZone {
        TimeZone::fixed(jiff::tz::offset(2))
    }

    #[test]
    fn the_present_is_written_as_python_writes_it() {
        let now = |nanos| Now { time: Timestamp::new(1_776_892_500, nanos).unwrap(), zone: zone() };
        assert_eq!(now(123_456_789).iso(), "2026-04-22T23:15:00.123456");
        assert_eq!(now(0).iso(), "2026-04-22T23:15:00");
        assert_eq!(now(0).stamp(), "20260422-231500");
    }

    #[test]
    fn defect_60_every_way_to_write_a_time_is_understood() {
        let moment = 1_776_892_500;
        let texts = [
            "2026-04-22T23:15:00",
            "2026-04-22 23:15:00.000",
            "2026-04-22T23:15",
            "2026-04-22T21:15:00Z",
            "2026-04-22T21:15:00+00:00",
            "2026-04-22T16:15:00-05:00",
            "2026-04-22 16:15:00 -5",
            "2026-04-23T02:45:00+0530",
            "2026-4-22t21:15:00.123456789012 z",
        ];
        for text in texts {
            for value in [Value::from(text), Value::Time(text.to_owned())] {
                let read = read(&value, &zone()).map(Timestamp::as_second);
                assert_eq!(read, Some(moment), "{text}");
            }
        }
        for number in ["1776892500", "1776892500.5", "1_776_892_500", "1776892500123"] {
            let read = read(&Value::Number(number.to_owned()), &zone());
            assert_eq!(read.map(Timestamp::as_second), Some(moment), "{number}");
        }
        let midnight = read(&"2026-04-22".into(), &zone()).unwrap();
        assert_eq!(midnight.as_second(), moment - 23 * 3600 - 15 * 60);
    }

    #[test]
    fn what_is_no_time_is_none_and_no_error() {
        let texts = [
            "",
            "yesterday",
            "2026",
            "2026-13-01",
            "2026-02-30",
            "2026-04-22T",
            "2026-04-22T25:00",
            "2026-04-22T10:00:00+99:99:99:99",
            "2026-04-22x10:00",
            "9999-12-31T23:59:59-23:59",
            "2026-04-22T10:00é",
            "é026-04-22",
        ];
        for text in texts {
            assert_eq!(read(&text.into(), &zone()), None, "{text}");
        }
        for number in [".nan", "-.inf", "1.0e+300", "99999999999999999999999999999999999999999"] {
            assert_eq!(read(&Value::Number(number.to_owned()), &zone()), None, "{number}");
        }
        for value in [Value::Null, Value::Bool(true), Value::List(Vec::new())] {
            assert_eq!(read(&value, &zone()), None);
        }
    }
}
