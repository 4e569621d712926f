//! The options that say which sessions are meant.

use clap::Args;
use herma_sessions::Filter;

use crate::environment::time_zone;

const DAY: f64 = 86_400.0;

/// Which sessions; without any, all.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Filters")]
pub(super) struct FilterArgs {
    /// Held there: `cli`, `telegram`, `cron`, …
    #[arg(long, value_name = "SOURCE")]
    pub(super) source: Option<String>,
    /// No activity for this many days
    #[arg(long, value_name = "DAYS")]
    pub(super) older_than: Option<u32>,
    /// Activity within this many days
    #[arg(long, value_name = "DAYS")]
    newer_than: Option<u32>,
    /// No activity since that day, such as 2026-04-22 or 2026-04-22T12:00
    #[arg(long, value_name = "DATE", value_parser = parse_date)]
    before: Option<f64>,
    /// Activity on that day or later
    #[arg(long, value_name = "DATE", value_parser = parse_date)]
    after: Option<f64>,
    /// Their title contains this, in any case
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Their model contains this, in any case
    #[arg(long, value_name = "TEXT")]
    model: Option<String>,
    /// At least this many messages
    #[arg(long, value_name = "COUNT")]
    min_messages: Option<u64>,
    /// At most this many messages
    #[arg(long, value_name = "COUNT")]
    max_messages: Option<u64>,
}

impl FilterArgs {
    /// The filter, for somebody who asks now.
    pub(super) fn filter(&self, now: f64) -> Filter {
        let days_ago = |days: Option<u32>| days.map(|days| now - f64::from(days) * DAY);
        let idle = [days_ago(self.older_than), self.before];
        let active = [days_ago(self.newer_than), self.after];
        Filter {
            source: self.source.clone(),
            idle_since: idle.into_iter().flatten().reduce(f64::min),
            active_since: active.into_iter().flatten().reduce(f64::max),
            title: self.title.clone(),
            model: self.model.clone(),
            min_messages: self.min_messages,
            max_messages: self.max_messages,
            ..Filter::default()
        }
    }

    /// Does any of them say how long ago something happened?
    pub(super) fn has_age(&self) -> bool {
        let days = self.older_than.is_some() || self.newer_than.is_some();
        days || self.before.is_some() || self.after.is_some()
    }

    /// Is there anything but an age and a source, which the question names?
    pub(super) fn is_special(&self) -> bool {
        let plain =
            Self { source: self.source.clone(), older_than: self.older_than, ..Self::default() };
        self.filter(0.0) != plain.filter(0.0)
    }
}

/// A day, or a time of a day, where the reader is; seconds since 1970.
fn parse_date(text: &str) -> Result<f64, String> {
    let problem = || "it is written like 2026-04-22 or 2026-04-22T12:00".to_owned();
    let moment: jiff::civil::DateTime = match text.parse::<jiff::civil::Date>() {
        Ok(day) if text.len() == 10 => day.to_datetime(jiff::civil::Time::midnight()),
        _ => text.parse().map_err(|_| problem())?,
    };
    let zoned = moment.to_zoned(time_zone().clone()).map_err(|_| problem())?;
    Ok(zoned.timestamp().as_second() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrower_of_two_limits_holds() {
        let args = FilterArgs {
            older_than: Some(10),
            before: Some(100.0),
            newer_than: Some(20),
            after: Some(50.0),
            ..FilterArgs::default()
        };
        let now = 30.0 * DAY;
        let filter = args.filter(now);
        assert_eq!(filter.idle_since, Some(100.0));
        assert_eq!(filter.active_since, Some(10.0 * DAY));
        assert!(args.is_special());
        let plain = FilterArgs {
            older_than: Some(1),
            source: Some("cli".to_owned()),
            ..FilterArgs::default()
        };
        assert!(!plain.is_special());
    }

    #[test]
    fn dates_are_days_or_times() {
        assert!(parse_date("2026-04-22").unwrap() < parse_date("2026-04-22T12:00").unwrap());
        for bad in ["", "yesterday", "2026-13-01", "22.4.2026", "1e9"] {
            assert!(parse_date(bad).is_err(), "{bad}");
        }
    }
}
