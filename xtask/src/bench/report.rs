//! The tables, ratios first: they are what carries over to other machines. They stand between two markers of
//! the document, so that the words around them stay. The document of the repository has the goals alone.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::goals;
use super::results::{Figure, Results, Subject, Unit};
use crate::Result;

const BEGIN: &str = "<!-- figures -->";
const END: &str = "<!-- end of figures -->";

/// Writes tables into the document.
pub fn write(tables: &str, document: &Path) -> Result<()> {
    let before = match fs::read_to_string(document) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            format!("# Benchmarks\n\n{BEGIN}\n{END}\n")
        }
        Err(error) => return Err(format!("{}: {error}", document.display()).into()),
    };
    let after = replace(&before, tables)
        .ok_or_else(|| format!("{}: no `{BEGIN}` and `{END}`", document.display()))?;
    Ok(fs::write(document, after)?)
}

/// The document with other figures between its markers.
fn replace(document: &str, figures: &str) -> Option<String> {
    let (before, rest) = document.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{}\n\n{END}{after}", figures.trim()))
}

/// The goals, and whether they are met.
pub fn summary(results: &Results) -> String {
    format!("Machine: {}.\n\n{}\n", results.machine, goals::table(results))
}

/// The goals, and every figure.
pub fn figures(results: &Results) -> String {
    let mut text = summary(results);
    // The sizes from small to large, then everything else.
    let mut subjects: Vec<(&String, &Subject)> = results.subjects.iter().collect();
    subjects.sort_by_key(|(name, subject)| (!name.starts_with("saving"), subject.files, *name));
    for (name, subject) in subjects {
        put(&mut text, format_args!("{}", section(name, subject, results)));
    }
    text
}

fn section(name: &str, subject: &Subject, results: &Results) -> String {
    let mut text = format!("### {}\n\n", heading(name, subject));
    put(
        &mut text,
        format_args!(
            "{}; {} s, load {:.1} before and {:.1} after{}.\n",
            subject.date,
            number(subject.seconds.max(1.0)),
            subject.load[0],
            subject.load[1],
            match subject.programs.is_empty() {
                true => String::new(),
                false => format!("; {}", subject.programs.join(", ")),
            }
        ),
    );
    let of_subject = |figure: &&Figure| figure.subject == name;
    let single: Vec<&Figure> =
        results.figures.iter().filter(of_subject).filter(|figure| figure.at.is_none()).collect();
    if !single.is_empty() {
        put(&mut text, format_args!("{}", single_table(&single)));
    }
    let mut curves: BTreeMap<&str, Vec<&Figure>> = BTreeMap::new();
    for figure in results.figures.iter().filter(of_subject) {
        if figure.at.is_some() {
            curves.entry(&figure.work).or_default().push(figure);
        }
    }
    for (work, figures) in curves {
        put(&mut text, format_args!("{}", curve_table(work, &figures)));
    }
    for note in &subject.notes {
        let line = note.lines().next().unwrap_or_default();
        put(&mut text, format_args!("* {line}"));
    }
    text
}

fn heading(name: &str, subject: &Subject) -> String {
    let mut words: Vec<String> = Vec::new();
    if let Some(files) = subject.files {
        words.push(format!("{} files", number(files as f64)));
    }
    if let Some(directories) = subject.directories {
        words.push(format!("{} directories", number(directories as f64)));
    }
    if let Some(bytes) = subject.bytes {
        words.push(format!("{} MiB", number((bytes as f64 / 1_048_576.0).max(1.0))));
    }
    if !subject.about.is_empty() {
        words.push(subject.about.clone());
    }
    let (first, rest) = name.split_at(name.chars().next().map_or(0, char::len_utf8));
    format!("{}{rest}: {}", first.to_uppercase(), words.join(", "))
}

fn single_table(figures: &[&Figure]) -> String {
    let mut text =
        String::from("| | | median | min | quartiles | rounds |\n|---|---|---|---|---|---|\n");
    // A work stands together, in the order in which it was first seen.
    let mut works: Vec<&str> = Vec::new();
    for figure in figures {
        if !works.contains(&figure.work.as_str()) {
            works.push(&figure.work);
        }
    }
    for work in works {
        for figure in figures.iter().filter(|figure| figure.work == work) {
            let shown = |value| amount(value, figure.unit);
            // One measurement has no spread.
            let spread = match figure.rounds {
                1 => "| ".to_owned(),
                _ => format!(
                    "{} | {} – {}",
                    shown(figure.min),
                    shown(figure.low),
                    shown(figure.high)
                ),
            };
            put(
                &mut text,
                format_args!(
                    "| {work} | {} | {} | {spread} | {} |",
                    figure.who,
                    shown(figure.median),
                    figure.rounds
                ),
            );
        }
    }
    text
}

fn curve_table(work: &str, figures: &[&Figure]) -> String {
    let mut counts: Vec<u64> = figures.iter().filter_map(|figure| figure.at).collect();
    counts.sort_unstable();
    counts.dedup();
    let mut who: Vec<&str> = Vec::new();
    for figure in figures {
        if !who.contains(&figure.who.as_str()) {
            who.push(&figure.who);
        }
    }
    let heads: Vec<String> = counts.iter().map(|count| number(*count as f64)).collect();
    let mut text = format!("| {work} | {} |\n|---|", heads.join(" | "));
    text.push_str(&"---|".repeat(counts.len()));
    text.push('\n');
    for name in who {
        let cell = |count: &u64| {
            let found =
                figures.iter().find(|figure| figure.who == name && figure.at == Some(*count));
            found.map_or(String::new(), |figure| amount(figure.median, figure.unit))
        };
        let cells: Vec<String> = counts.iter().map(cell).collect();
        put(&mut text, format_args!("| {name} | {} |", cells.join(" | ")));
    }
    text
}

/// A value with its unit, and as many digits as mean something.
fn amount(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Ms if value >= 1_000.0 => format!("{} ms", number(value)),
        Unit::Ms if value >= 100.0 => format!("{value:.0} ms"),
        Unit::Ms => format!("{value:.1} ms"),
        Unit::Bytes if value >= 10.0 * 1_048_576.0 => format!("{:.1} MiB", value / 1_048_576.0),
        Unit::Bytes if value >= 0.01 * 1_048_576.0 => format!("{:.2} MiB", value / 1_048_576.0),
        Unit::Bytes => format!("{} B", number(value.max(1.0))),
    }
}

fn put(text: &mut String, what: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{what}");
}

/// A number as people write it: `0.5`, `20`, `10,000`.
fn number(value: f64) -> String {
    if value < 1.0 {
        return format!("{value}");
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::bench::results::Recorder;

    #[test]
    fn only_what_is_between_the_markers_changes() {
        let document = format!("# T\n\nbefore\n{BEGIN}\nold\n{END}\nafter\n");
        let once = replace(&document, "new\n").unwrap();
        assert_eq!(once, format!("# T\n\nbefore\n{BEGIN}\n\nnew\n\n{END}\nafter\n"));
        assert_eq!(replace(&once, "new").unwrap(), once, "a second time is nothing");
        assert_eq!(replace("no markers", "new"), None);
        assert_eq!(replace(&format!("{END} {BEGIN}"), "new"), None);
    }

    #[test]
    fn a_document_without_markers_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let document = directory.path().join("report.md");
        fs::write(&document, "my words\n").unwrap();
        assert!(write("figures", &document).is_err());
        assert_eq!(fs::read_to_string(&document).unwrap(), "my words\n");
        fs::remove_file(&document).unwrap();
        write("figures", &document).unwrap();
        assert!(fs::read_to_string(&document).unwrap().contains(BEGIN));
    }

    #[test]
    fn figures_and_curves_have_their_tables() {
        let mut results = Results::default();
        let mut record = Recorder::new("checkpoints");
        for time in [10, 12, 30] {
            record.time("save", "herma", Duration::from_millis(time));
        }
        record.time_at("list", "git", 10, Duration::from_millis(5));
        record.time_at("list", "git", 2_000, Duration::from_millis(1_234));
        record.bytes("store", "herma", 3 << 20);
        record.note("left out: something\nwith details");
        record.finish(&mut results);
        let text = figures(&results);
        for line in [
            "| save | herma | 12.0 ms | 10.0 ms | 11.0 ms – 21.0 ms | 3 |",
            "| store | herma | 3.00 MiB | |  | 1 |",
            "| list | 10 | 2,000 |",
            "| git | 5.0 ms | 1,234 ms |",
            "* left out: something",
        ] {
            assert!(text.contains(&format!("{line}\n")), "{line}\n{text}");
        }
        assert!(!text.contains("with details"), "paths of a machine are in there");
    }

    #[test]
    fn numbers_have_separators() {
        assert_eq!(number(0.5), "0.5");
        assert_eq!(number(100.0), "100");
        assert_eq!(number(80_000.0), "80,000");
        assert_eq!(number(1_000_000.0), "1,000,000");
    }
}
