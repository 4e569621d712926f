//! Our merges against `git merge-file`: the markers, both ways to resolve, the number of conflicts.
//!
//! The texts are generated from a number, so a failure names the case that shows it again.

use std::path::Path;
use std::process::Command;

use proptest::prelude::*;
use rayon::prelude::*;

use crate::merge::{Labels, Resolution, merge, merge_apart, merge_within};
use crate::testing::numbered_lines;

const MARKERS: Resolution<'_> =
    Resolution::Markers(Labels { ours: "now", theirs: "before the step" });

/// The same numbers on every machine.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % sides as u64) as usize
    }

    fn line(&mut self, variety: usize) -> String {
        match self.roll(10) {
            0 => String::new(),
            1 => "}".into(),
            2 => "    }".into(),
            3 => "{".into(),
            4 => "--".into(),
            _ => format!("line {}", self.roll(variety)),
        }
    }

    fn lines(&mut self, count: usize, variety: usize) -> Vec<String> {
        (0..count).map(|_| self.line(variety)).collect()
    }

    /// Writes up to forty lines anew, with a brace here and there.
    fn rewrite(&mut self, lines: &mut Vec<String>) {
        let start = self.roll(lines.len() + 1);
        let end = (start + self.roll(40)).min(lines.len());
        let new = (0..self.roll(40)).map(|_| match self.roll(12) {
            0 => "}".into(),
            _ => format!("new {}", self.roll(1 << 30)),
        });
        lines.splice(start..end, new.collect::<Vec<String>>());
    }

    /// Inserts, deletes, replaces or moves a few lines.
    fn edit(&mut self, lines: &mut Vec<String>, variety: usize) {
        let start = self.roll(lines.len() + 1);
        let end = (start + self.roll(4)).min(lines.len());
        let count = self.roll(4);
        match self.roll(4) {
            0 => drop(lines.splice(start..start, self.lines(count, variety))),
            1 => drop(lines.drain(start..end)),
            2 => drop(lines.splice(start..end, self.lines(count, variety))),
            _ => {
                let moved: Vec<String> = lines.drain(start..end).collect();
                let place = self.roll(lines.len() + 1);
                lines.splice(place..place, moved);
            }
        }
    }

    fn text(&mut self, lines: &[String], end: &str) -> Vec<u8> {
        let end_of = |dice: &mut Self| match end {
            "mixed" => ["\n", "\r\n"][dice.roll(2)],
            end => end,
        };
        let mut text = String::new();
        for line in lines {
            text += line;
            text += end_of(self);
        }
        if self.roll(4) == 0 {
            text.truncate(text.trim_end_matches(['\r', '\n']).len());
        }
        text.into_bytes()
    }
}

/// Base, ours and theirs.
type Case = [Vec<u8>; 3];

fn case(number: u64) -> Case {
    let mut dice = Dice(number);
    let most = [3, 8, 20, 60, 300][dice.roll(5)];
    let variety = [2, 5, 20, 10_000][dice.roll(4)];
    let count = dice.roll(most + 1);
    let base = dice.lines(count, variety);
    let (mut ours, mut theirs) = (base.clone(), base.clone());
    let edits = [1, 3, 8, 40][dice.roll(4)];
    for _ in 0..dice.roll(edits + 1) {
        match dice.roll(7) {
            // The same edit on both sides, if they are the same there.
            0 => {
                let again = dice.0;
                dice.edit(&mut ours, variety);
                Dice(again).edit(&mut theirs, variety);
            }
            1 | 2 => dice.edit(&mut ours, variety),
            3 => dice.rewrite(&mut ours),
            4 => dice.rewrite(&mut theirs),
            _ => dice.edit(&mut theirs, variety),
        }
    }
    let end = ["\n", "\n", "\n", "\r\n", "mixed"][dice.roll(5)];
    let other_end = if dice.roll(10) == 0 { "\r\n" } else { end };
    [dice.text(&base, end), dice.text(&ours, end), dice.text(&theirs, other_end)]
}

#[allow(clippy::disallowed_methods)]
fn git_merge_file(directory: &Path, choice: &[&str]) -> (Vec<u8>, Option<i32>) {
    let output = Command::new("git")
        .current_dir(directory)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CEILING_DIRECTORIES", "/")
        .args(["merge-file", "-p", "-q"])
        .args(["-L", "now", "-L", "base", "-L", "before the step"])
        .args(choice)
        .args(["ours", "base", "theirs"])
        .output()
        .unwrap();
    (output.stdout, output.status.code())
}

#[allow(clippy::disallowed_methods)]
fn check(directory: &Path, name: &str, [base, ours, theirs]: &Case) {
    let merged = merge(base, ours, theirs);
    for (file, text) in [("base", base), ("ours", ours), ("theirs", theirs)] {
        std::fs::write(directory.join(file), text).unwrap();
    }
    let choices: [(&[&str], Resolution<'_>, usize); 3] = [
        (&[], MARKERS, merged.conflicts().count()),
        (&["--ours"], Resolution::Ours, 0),
        (&["--theirs"], Resolution::Theirs, 0),
    ];
    for (choice, resolution, conflicts) in choices {
        let (text, code) = git_merge_file(directory, choice);
        let ours = merged.resolve(resolution);
        let (text, ours) = (String::from_utf8_lossy(&text), String::from_utf8_lossy(&ours));
        assert_eq!(ours, text, "{name} {choice:?}");
        assert_eq!(Some(conflicts.min(127) as i32), code, "{name} {choice:?}");
    }
}

fn check_cases(numbers: std::ops::Range<u64>) {
    let numbers: Vec<u64> = numbers.collect();
    numbers.par_chunks(50).for_each(|numbers| {
        let directory = tempfile::tempdir().unwrap();
        for number in numbers {
            check(directory.path(), &format!("case {number}"), &case(*number));
        }
    });
}

#[test]
fn generated_texts_merge_as_in_git() {
    check_cases(0..1_000);
}

/// A text of which the other side rearranged whole blocks, both sides with small edits.
fn rearranged(dice: &mut Dice, count: usize, variety: usize, edits: usize) -> Case {
    let base = dice.lines(count, variety);
    let (mut ours, mut theirs) = (base.clone(), base.clone());
    for _ in 0..20 {
        let start = dice.roll(base.len() - 300);
        let block = base[start..start + 30 + dice.roll(270)].iter().cloned();
        let place = dice.roll(theirs.len() - 300);
        theirs.splice(place..place + dice.roll(300), block);
    }
    for _ in 0..edits {
        dice.edit(&mut ours, variety);
        dice.edit(&mut theirs, variety);
    }
    [&base, &ours, &theirs].map(|lines| dice.text(lines, "\n"))
}

/// Long enough for the search to give up looking for the shortest way.
#[test]
fn long_texts_merge_as_in_git() {
    (0..16_u64).into_par_iter().for_each(|number| {
        let directory = tempfile::tempdir().unwrap();
        let mut dice = Dice(1 << 40 | number);
        let variety = [3, 40, 400, 5_000][number as usize % 4];
        let texts = rearranged(&mut dice, 4_000, variety, 60 * number as usize);
        check(directory.path(), &format!("long {number}"), &texts);
    });
}

/// Long enough for the search to be content with a way that looks good.
#[test]
fn longer_texts_merge_as_in_git() {
    (0..4_u64).into_par_iter().for_each(|number| {
        let directory = tempfile::tempdir().unwrap();
        let mut dice = Dice(1 << 41 | number);
        let texts = rearranged(&mut dice, 40_000, 3_000, 600 + 400 * number as usize);
        check(directory.path(), &format!("longer {number}"), &texts);
    });
}

#[test]
fn one_line_texts_merge_as_in_git() {
    let directory = tempfile::tempdir().unwrap();
    let texts = ["", "a", "a\n", "b", "b\r\n", "\n", "a\r\nb", "a\nb\r\n", "\r"];
    for base in texts {
        for ours in texts {
            for theirs in ["", "a\r\n", "c", "a\nb"] {
                let case = [base, ours, theirs].map(|text| text.as_bytes().to_vec());
                check(directory.path(), &format!("{base:?} {ours:?} {theirs:?}"), &case);
            }
        }
    }
}

#[test]
fn changes_far_apart_are_both_taken() {
    let base = numbered_lines(0..20, |number| format!("line {number}"));
    let ours = base.replace("line 2\n", "ours\n");
    let theirs = base.replace("line 15\n", "");
    let merged = merge(base.as_bytes(), ours.as_bytes(), theirs.as_bytes());
    let both = ours.replace("line 15\n", "");
    assert_eq!(merged.clean().as_deref(), Some(both.as_bytes()));
}

#[test]
fn a_conflict_knows_all_three_versions() {
    let merged = merge(b"a\nb\nc\n", b"a\nours\nc\n", b"a\ntheirs\nc\n");
    assert_eq!((merged.conflicts().count(), merged.clean()), (1, None));
    let crate::merge::Piece::Conflict(conflict) = merged.pieces[1] else {
        panic!("{merged:?}");
    };
    let versions = [conflict.ours, conflict.base, conflict.theirs];
    assert_eq!(versions, [&b"ours\n"[..], b"b\n", b"theirs\n"]);
}

#[test]
fn texts_too_long_for_the_exact_comparison_merge_too() {
    let lines =
        |count, factor| numbered_lines(0..count, |number| format!("{}", number * factor % 997));
    let (base, theirs) = (lines(21_000, 7919), lines(20_500, 5021));
    let ours = format!("first\n{base}");
    let merged = merge_within(base.as_bytes(), ours.as_bytes(), theirs.as_bytes(), 1_000);
    assert!(merged.resolve(Resolution::Ours).starts_with(b"first\n"));
    let theirs = base.replacen("500\n", "theirs\n", 1);
    let merged = merge_within(base.as_bytes(), ours.as_bytes(), theirs.as_bytes(), 0);
    assert_eq!(merged.clean(), Some(format!("first\n{theirs}").into_bytes()));
}

#[test]
fn neighbouring_lines_that_only_one_side_changed_are_no_conflict_when_kept_apart() {
    let apart = |ours: &str, theirs: &str| {
        let merged = merge_apart(b"a\nb\nc\nd\n", ours.as_bytes(), theirs.as_bytes());
        merged.clean().map(|bytes| String::from_utf8(bytes).expect("text"))
    };
    let clean = |text: &str| Some(text.to_owned());
    assert_eq!(apart("a\n1\nc\nd\n", "a\nb\n2\nd\n"), clean("a\n1\n2\nd\n"));
    assert_eq!(apart("a\nb\n2\nd\nlast\n", "a\n1\nc\nd\n"), clean("a\n1\n2\nd\nlast\n"));
    assert_eq!(apart("a\nc\nd\n", "a\nb\n2\nd\n"), clean("a\n2\nd\n"));
    assert_eq!(apart("1\nb\nc\nd\n", "a\n2\n2\nc\nd\n"), clean("1\n2\n2\nc\nd\n"));
    assert_eq!(apart("1\nb\n3\nd\n", "a\n2\nc\n4\n"), clean("1\n2\n3\n4\n"));
    assert_eq!(apart("a\n1\nc\nd\n", "a\n2\nc\nd\n"), None, "the same line");
    assert_eq!(apart("a\n1\nc\nd\n", "a\nb\nnew\nc\nd\n"), None, "an insertion beside it");
    assert_eq!(apart("a\n1\n1\nd\n", "a\nb\n2\nd\n"), None, "one of two lines");
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        6 => prop::sample::select(vec!["a\n", "b\n", "c\n", "d\n", "\n", "}\n", "\r\n", "a\r\n"])
            .prop_map(|line| line.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(line, 0..20).prop_map(|lines| lines.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn one_sided_and_equal_changes_never_conflict(base in text(), changed in text()) {
        for (ours, theirs) in [(&base, &changed), (&changed, &base), (&changed, &changed)] {
            prop_assert_eq!(merge(&base, ours, theirs).clean(), Some(changed.clone()));
        }
    }

    #[test]
    fn any_bytes_merge_and_the_sides_may_be_exchanged(base in text(), ours in text(), theirs in text()) {
        let merged = merge(&base, &ours, &theirs);
        for [merged, exchanged] in [
            [merge(&base, &ours, &theirs), merge(&base, &theirs, &ours)],
            [merge_apart(&base, &ours, &theirs), merge_apart(&base, &theirs, &ours)],
        ] {
            prop_assert_eq!(merged.clean().is_some(), exchanged.clean().is_some());
            if merged.conflicts().count() == 0 {
                prop_assert_eq!(merged.clean(), exchanged.clean());
            }
        }
        if let Some(clean) = merged.clean() {
            prop_assert_eq!(merge_apart(&base, &ours, &theirs).clean(), Some(clean));
        }
    }
}
