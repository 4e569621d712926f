//! Sizes and ages of the store, spelled as Hermes spells them.

/// Bytes as Hermes prints them: `512 B`, then one decimal, in steps of 1024.
pub fn size(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut units = ["KB", "MB", "GB"].into_iter();
    // One that rounds up to 1024 is one of the next unit.
    for unit in units.by_ref() {
        if value < 1023.95 {
            return format!("{value:.1} {unit}");
        }
        value /= 1024.0;
    }
    format!("{value:.1} TB")
}

/// How long ago a moment was, as Hermes prints it; both in seconds since 1970.
pub fn short_age(then: Option<f64>, now: f64) -> String {
    let Some(then) = then.filter(|then| then.is_finite()) else { return "—".to_owned() };
    let seconds = (now - then) as i64;
    match seconds {
        _ if now < then => "now".to_owned(),
        0..60 => format!("{seconds}s ago"),
        60..3600 => format!("{}m ago", seconds / 60),
        3600..86_400 => format!("{}h ago", seconds / 3600),
        _ => format!("{}d ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_unit_people_expect() {
        let cases = [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KB"),
            (1536, "1.5 KB"),
            ((1 << 20) - 1, "1.0 MB"),
            (149_212_365, "142.3 MB"),
            (3 << 30, "3.0 GB"),
            (5 << 40, "5.0 TB"),
            (u64::MAX, "16777216.0 TB"),
        ];
        for (bytes, expected) in cases {
            assert_eq!(size(bytes), expected);
        }
    }

    #[test]
    fn ages_are_those_of_hermes() {
        let cases = [
            (Some(0.0), "1d ago"),
            (None, "—"),
            (Some(f64::NAN), "—"),
            (Some(100_001.0), "now"),
            (Some(99_999.5), "0s ago"),
            (Some(99_940.0), "1m ago"),
            (Some(92_000.0), "2h ago"),
        ];
        for (then, expected) in &cases {
            assert_eq!(short_age(*then, 100_000.0), *expected);
        }
    }
}
