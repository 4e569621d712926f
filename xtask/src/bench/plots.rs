//! The plots of the report: which figures go into which file.

use std::fs;
use std::path::Path;

use super::checkpoints;
use super::keeping;
use super::plot;
use super::plot::Bar;
use super::plot::Line;
use super::results::Results;
use super::saving;
use crate::Result;

/// File name and what it shows, for the document that shows them.
pub const FILES: [(&str, &str); 5] = [
    ("one-file.svg", "A save after one file changed, by program"),
    ("files.svg", "A save by the number of files"),
    ("changes.svg", "A save by the number of changed files"),
    (
        "checkpoints.svg",
        "Saving, listing and comparing by the number of checkpoints",
    ),
    (
        "store.svg",
        "The size of the store by the number of checkpoints",
    ),
];

const LARGE: &str = "saving large";

/// Writes all plots into a directory.
pub fn write(results: &Results, directory: &Path) -> Result<()> {
    let plots = [
        one_file(results),
        by_files(results),
        by_changes(results),
        by_checkpoints(results),
        store(results),
    ];
    for ((name, _), svg) in FILES.iter().zip(plots) {
        fs::write(directory.join(name), svg)?;
    }
    Ok(())
}

fn one_file(results: &Results) -> String {
    let figures = results.figures.iter().filter(|figure| {
        figure.subject == LARGE && [saving::WALK, saving::ONE].contains(&figure.work.as_str())
    });
    let mut bars: Vec<Bar> = figures
        .map(|figure| Bar {
            name: match figure.work.as_str() {
                saving::WALK => saving::WALK.to_owned(),
                _ => figure.who.clone(),
            },
            value: figure.median,
            label: format!("{} ms", plot::number(figure.median.round().max(1.0))),
            is_ours: figure.who.starts_with(saving::HERMA),
        })
        .collect();
    bars.sort_by(|a, b| a.value.total_cmp(&b.value));
    plot::bars("80,000 files, 1 changed: a save, median ms", &bars)
}

/// A line for those of whom anything is known.
fn line(name: impl Into<String>, points: Vec<(f64, f64)>) -> Option<Line> {
    (!points.is_empty()).then(|| Line {
        name: name.into(),
        points,
    })
}

fn by_files(results: &Results) -> String {
    let rows = [
        (saving::WALK, saving::WALK, saving::NOBODY),
        ("herma, nothing changed", saving::SAME, saving::HERMA),
        ("herma, 1 file changed", saving::ONE, saving::HERMA),
        ("git, 1 file changed", saving::ONE, "git"),
    ];
    let curve = |work, who| {
        let mut points: Vec<(f64, f64)> = results
            .subjects
            .iter()
            .filter(|(name, _)| name.starts_with("saving ") && name.as_str() != "saving given")
            .filter_map(|(name, subject)| {
                let figure = results.find(name, work, who)?;
                Some((subject.files? as f64, figure.median))
            })
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    };
    let lines: Vec<Line> = rows
        .into_iter()
        .filter_map(|(name, work, who)| line(name, curve(work, who)))
        .collect();
    plot::lines("A save by the number of files", "files", "ms", &lines)
}

fn by_changes(results: &Results) -> String {
    let lines: Vec<Line> = saving::CHANGE_PEERS
        .into_iter()
        .filter_map(|who| line(who, results.curve(LARGE, saving::CHANGES, who)))
        .collect();
    plot::lines(
        "80,000 files: a save by the number of changed ones",
        "changed files",
        "ms",
        &lines,
    )
}

fn by_checkpoints(results: &Results) -> String {
    let rows = [
        ("herma: save", checkpoints::SAVE, saving::HERMA),
        ("list of 20", checkpoints::LIST_20, saving::HERMA),
        ("list of all", checkpoints::LIST_ALL, saving::HERMA),
        ("diff", checkpoints::DIFF, saving::HERMA),
        (
            "git: log of all, with what changed",
            checkpoints::LIST_ALL,
            "git",
        ),
    ];
    let lines: Vec<Line> = rows
        .into_iter()
        .filter_map(|(name, work, who)| line(name, results.curve(checkpoints::SUBJECT, work, who)))
        .collect();
    plot::lines("250 files: a long history", "checkpoints", "ms", &lines)
}

fn store(results: &Results) -> String {
    let whose = [
        keeping::HERMA,
        keeping::GIT_GC,
        keeping::BEFORE,
        keeping::RESTIC,
    ];
    let subject = match results.subjects.contains_key(keeping::LONG_SUBJECT) {
        true => keeping::LONG_SUBJECT,
        false => keeping::SUBJECT,
    };
    let mebibytes = |who| {
        let points = results.curve(subject, keeping::SIZES, who).into_iter();
        points
            .map(|(count, bytes)| (count, bytes / 1_048_576.0))
            .collect()
    };
    let lines: Vec<Line> = whose
        .into_iter()
        .filter_map(|who| line(who, mebibytes(who)))
        .collect();
    plot::lines(
        "The size of the store by the number of checkpoints",
        "checkpoints",
        "MiB",
        &lines,
    )
}
