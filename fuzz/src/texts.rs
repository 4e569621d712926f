//! Ignore rules, comparisons, merges, YAML.

use std::collections::HashMap;

use herma_diff::lines;
use herma_diff::lines::hunks::apply_chosen;
use herma_diff::lines::origins::line_origins;
use herma_diff::merge::{Labels, Merge, Resolution, merge as merge_texts};
use herma_sessions::resume::{Record, Update, Value, inject, moment, yaml};
use herma_worktree::rules::{ExcludeSettings, NothingTracked, Rules, Scope, Verdict};
use jiff::tz::TimeZone;

/// Ignore files and paths: a comment changes no verdict, and a file named to be taken in is taken in.
pub fn ignore(bytes: &[u8]) {
    let [content, inner, path] = crate::parts(bytes);
    if path.is_empty() || path.contains(&0) {
        return;
    }
    let rules = Rules::new(&ExcludeSettings::default());
    let judge = |content: &[u8]| {
        let root = Scope::root(&rules, Some(inner));
        let root = root.enter(b"", Some(content), Some(inner), Verdict::Keep);
        let file = root.judge(path, false, &NothingTracked);
        let directory = root.judge(path, true, &NothingTracked);
        let below = root.enter(path, Some(inner), Some(content), directory);
        let below = below.judge(&[path, b"/x"].concat(), false, &NothingTracked);
        (file, directory, below)
    };
    let before = judge(content);
    assert_eq!(judge(&[content, b"\n# a comment\n\n"].concat()), before);
}

/// Two texts: what differs, applied to the one, makes the other.
pub fn diff(bytes: &[u8]) {
    let [old, new] = crate::parts(bytes);
    let mut changed = (0, 0);
    for context in [0, 3, 1000] {
        let hunks = lines::hunks(old, new, context);
        assert_eq!(apply_chosen(old, &hunks).as_deref(), Ok(new));
        assert_eq!(apply_chosen(old, []).as_deref(), Ok(old));
        assert_eq!(hunks.is_empty(), old == new);
        let parts: Vec<_> = hunks.iter().flat_map(|hunk| hunk.split()).collect();
        assert_eq!(apply_chosen(old, &parts).as_deref(), Ok(new));
        let all = hunks.iter().flat_map(|hunk| &hunk.lines);
        changed = all.fold((0, 0), |(added, removed), line| match line.kind {
            lines::LineKind::Added => (added + 1, removed),
            lines::LineKind::Removed => (added, removed + 1),
            lines::LineKind::Context => (added, removed),
        });
        // Any choice applies, and leaves out what was not chosen.
        let some = parts.iter().step_by(2);
        assert!(apply_chosen(old, some).is_ok());
    }
    assert_eq!(lines::count(old, new), changed);
    let old_lines: Vec<&[u8]> = split(old).collect();
    let origins = line_origins(old, new);
    assert_eq!(origins.len(), split(new).count());
    for (line, origin) in split(new).zip(origins) {
        assert!(origin.is_none_or(|origin| old_lines[origin] == line));
    }
}

/// Three texts: a merge without conflicts has every line that only one side put in, and each side's own changes.
pub fn merge(bytes: &[u8]) {
    let [base, ours, theirs] = crate::parts(bytes);
    let merged = merge_texts(base, ours, theirs);
    check_merge(&merged, base, ours, theirs);
    let hurried = herma_diff::merge::merge_within(base, ours, theirs, 8);
    check_merge(&hurried, base, ours, theirs);
    assert_eq!(merge_texts(base, ours, base).clean().as_deref(), Some(ours));
    assert_eq!(merge_texts(base, base, theirs).clean().as_deref(), Some(theirs));
    assert_eq!(merge_texts(base, ours, ours).clean().as_deref(), Some(ours));
}

fn check_merge(merged: &Merge<'_>, base: &[u8], ours: &[u8], theirs: &[u8]) {
    let labels = Labels { ours: "now", theirs: "then" };
    let marked = merged.resolve(Resolution::Markers(labels));
    let (in_base, in_marked) = (count(base), count(&marked));
    // A text may end without a newline, and a marker behind it adds one.
    let is_whole = |line: &&[u8]| line.ends_with(b"\n");
    for side in [ours, theirs] {
        for (line, times) in count(side).into_iter().filter(|(line, _)| is_whole(line)) {
            if !in_base.contains_key(line) {
                let kept = in_marked.get(line).copied().unwrap_or(0);
                assert!(kept >= times, "a line of one side is lost");
            }
        }
    }
    if let Some(clean) = merged.clean() {
        assert_eq!(clean, marked);
        assert_eq!(clean, merged.resolve(Resolution::Theirs));
    }
}

fn split(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|byte| *byte == b'\n')
}

fn count(text: &[u8]) -> HashMap<&[u8], usize> {
    split(text).fold(HashMap::new(), |mut counts, line| {
        *counts.entry(line).or_insert(0) += 1;
        counts
    })
}

/// YAML: what is read is written so that it reads the same.
pub fn yaml(text: &str) {
    let Ok(value) = yaml::read(text) else {
        return;
    };
    let _ = moment::read(&value, &TimeZone::UTC);
    let Value::Map(map) = &value else {
        return;
    };
    let written = yaml::write(map);
    assert_eq!(yaml::read(&written).as_ref(), Ok(&value), "{written}");
    let record = Record::new(map.clone());
    let _ = (record.task(), record.status(), record.steps());
    let _ = (record.updated(&TimeZone::UTC), inject::block(&record));
    let _ = Update::from_value(value.clone());
}
