//! Hunks to choose from: shown one by one, split into smaller ones, and applied without the others.
//!
//! The hunks are those of `lines::hunks`, and their text is what a patch
//! shows. Splitting cuts at the unchanged lines inside a hunk. As with `git add -p`, the parts on both
//! sides of the cut show those lines, so neighbours may overlap, but only in lines nobody changes.

use crate::lines::{Hunk, Line, LineKind, PatchLine, PatchLineKind};

/// A hunk was made from another text than the one it is applied to, or hunks were not in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} is not the one this change was made for")]
pub struct DoesNotApply {
    /// The line, counted from 1.
    pub line: usize,
}

/// The text `old` with these hunks applied and everything else left alone.
///
/// The hunks come from a comparison of `old` with another text, whole or split, in their order. All of
/// them give that other text, none of them `old`. Every line that is removed or shown as unchanged is
/// compared with what `old` has there.
pub fn apply_chosen<'h, 'a: 'h>(
    old: &[u8],
    chosen: impl IntoIterator<Item = &'h Hunk<'a>>,
) -> Result<Vec<u8>, DoesNotApply> {
    let mut rest = old.split_inclusive(|byte| *byte == b'\n');
    let mut result = Vec::with_capacity(old.len());
    let mut passed = 0;
    for hunk in chosen {
        let mut line_number = hunk.first_old_line();
        while passed < line_number {
            let line = rest.next().ok_or(DoesNotApply { line: passed + 1 })?;
            result.extend_from_slice(line);
            passed += 1;
        }
        for line in &hunk.lines {
            let already_passed = line_number < passed;
            if line.kind == LineKind::Context && already_passed {
                // The hunk before showed it too.
                line_number += 1;
                continue;
            }
            let mismatch = DoesNotApply { line: line_number + 1 };
            if already_passed {
                return Err(mismatch);
            }
            if line.kind != LineKind::Added {
                if rest.next() != Some(line.bytes) {
                    return Err(mismatch);
                }
                line_number += 1;
                passed += 1;
            }
            if line.kind != LineKind::Removed {
                result.extend_from_slice(line.bytes);
            }
        }
    }
    rest.for_each(|line| result.extend_from_slice(line));
    Ok(result)
}

impl<'a> Hunk<'a> {
    /// The first old line it covers, or would cover, counted from 0.
    fn first_old_line(&self) -> usize {
        (self.old_start as usize).saturating_sub(usize::from(self.old_count > 0))
    }

    fn first_new_line(&self) -> usize {
        (self.new_start as usize).saturating_sub(usize::from(self.new_count > 0))
    }

    /// The hunk in as many parts as it has separate changes; itself if there is only one.
    pub fn split(&self) -> Vec<Hunk<'a>> {
        let is_context = |line: &Line<'_>| line.kind == LineKind::Context;
        let mut parts = Vec::new();
        // Runs of context and runs of changes take turns; a part is a change with the runs around it.
        let runs: Vec<&[Line<'a>]> =
            self.lines.chunk_by(|first, second| is_context(first) == is_context(second)).collect();
        let (mut old, mut new) = (self.first_old_line(), self.first_new_line());
        for (position, run) in runs.iter().enumerate() {
            let is_change = !run.iter().any(is_context);
            if is_change {
                let before = position.checked_sub(1).map_or(&[][..], |above| runs[above]);
                let after = runs.get(position + 1).copied().unwrap_or_default();
                let start = (old - before.len(), new - before.len());
                let section = if parts.is_empty() { self.section } else { b"" };
                parts.push(part(start, [before, run, after].concat(), section));
            }
            old += count(run, LineKind::Added);
            new += count(run, LineKind::Removed);
        }
        parts
    }

    /// Hands over the hunk as a patch shows it: its header, then its lines.
    pub fn render<E>(
        &self,
        emit: &mut impl FnMut(PatchLine<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let kind = PatchLineKind::HunkHeader;
        emit(PatchLine { kind, bytes: &self.header() })?;
        let mut bytes = Vec::new();
        for line in &self.lines {
            let (kind, marker) = match line.kind {
                LineKind::Context => (PatchLineKind::Context, b' '),
                LineKind::Removed => (PatchLineKind::Removed, b'-'),
                LineKind::Added => (PatchLineKind::Added, b'+'),
            };
            let terminated = line.bytes.strip_suffix(b"\n");
            bytes.clear();
            bytes.push(marker);
            bytes.extend_from_slice(terminated.unwrap_or(line.bytes));
            emit(PatchLine { kind, bytes: &bytes })?;
            if terminated.is_none() {
                emit(PatchLine {
                    kind: PatchLineKind::NoNewline,
                    bytes: b"\\ No newline at end of file",
                })?;
            }
        }
        Ok(())
    }

    /// `@@ -1,2 +3,4 @@ section`
    fn header(&self) -> Vec<u8> {
        let range = |start: u32, count: u32| {
            if count == 1 { start.to_string() } else { format!("{start},{count}") }
        };
        let old = range(self.old_start, self.old_count);
        let new = range(self.new_start, self.new_count);
        let mut header = format!("@@ -{old} +{new} @@").into_bytes();
        if !self.section.is_empty() {
            header.push(b' ');
            header.extend_from_slice(self.section);
        }
        header
    }
}

/// A hunk of these lines that begins at the given old and new line, counted from 0.
fn part<'a>((old, new): (usize, usize), lines: Vec<Line<'a>>, section: &'a [u8]) -> Hunk<'a> {
    let old_count = count(&lines, LineKind::Added) as u32;
    let new_count = count(&lines, LineKind::Removed) as u32;
    Hunk {
        old_start: old as u32 + u32::from(old_count > 0),
        old_count,
        new_start: new as u32 + u32::from(new_count > 0),
        new_count,
        section,
        lines,
    }
}

/// How many lines are of another kind than this one.
fn count(lines: &[Line<'_>], other_than: LineKind) -> usize {
    lines.iter().filter(|line| line.kind != other_than).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::git::Git;
    use crate::lines::hunks;
    use crate::testing::{Files, numbered_lines};

    fn text_of(hunk: &Hunk<'_>) -> String {
        let mut text = Vec::new();
        let Ok(()) = hunk.render::<std::convert::Infallible>(&mut |line| {
            text.extend_from_slice(line.bytes);
            text.push(b'\n');
            Ok(())
        });
        String::from_utf8_lossy(&text).into_owned()
    }

    fn all_parts<'a>(hunks: &[Hunk<'a>]) -> Vec<Hunk<'a>> {
        hunks.iter().flat_map(Hunk::split).collect()
    }

    #[test]
    fn one_part_alone_changes_only_its_lines() {
        let old = numbered_lines(0..10, |number| number.to_string());
        let new = old.replace("2\n", "two\n").replace("5\n", "five\nmore\n");
        let hunks = hunks(old.as_bytes(), new.as_bytes(), 3);
        assert_eq!(hunks.len(), 1);
        let parts = hunks[0].split();
        assert_eq!(parts.len(), 2);
        let first = apply_chosen(old.as_bytes(), &parts[..1]).unwrap();
        assert_eq!(first, old.replace("2\n", "two\n").as_bytes());
        let second = apply_chosen(old.as_bytes(), &parts[1..]).unwrap();
        assert_eq!(second, old.replace("5\n", "five\nmore\n").as_bytes());
    }

    #[test]
    fn a_text_that_changed_since_is_noticed() {
        let hunks = hunks(b"a\nb\nc\n", b"a\nB\nc\n", 1);
        let line = |text: &[u8]| apply_chosen(text, &hunks).unwrap_err().line;
        assert_eq!(line(b"a\nother\nc\n"), 2);
        assert_eq!(line(b"a\nb\n"), 3);
        assert_eq!(line(b""), 1);
        let twice = [&hunks[0], &hunks[0]];
        assert_eq!(apply_chosen(b"a\nb\nc\n", twice).unwrap_err().line, 2);
    }

    /// What `git add -p` shows for `s`, and what it stages for each of the parts.
    #[test]
    fn parts_are_those_of_git() {
        let old = numbered_lines(0..30, |number| format!("line {number}"));
        let new = format!("first\n{}", old.replace("line 4\n", ""))
            .replace("line 7\n", "seven\n7\n")
            .replace("line 10\n", "line 10\nadded\n")
            .replace("line 29\n", "line 29");
        let git = Git::new();
        let tree = git.import(&Files::new().file("f", &old)).to_hex();
        let new_tree = git.import(&Files::new().file("f", &new)).to_hex();
        let hunks = hunks(old.as_bytes(), new.as_bytes(), 3);
        let parts = all_parts(&hunks);
        assert_eq!((hunks.len(), parts.len()), (2, 5));
        for chosen in 0..parts.len() {
            git.run(&["read-tree", "-u", "--reset", &new_tree], b"");
            git.run(&["read-tree", &tree], b"");
            let answer = |part| if part == chosen { "y\n" } else { "n\n" };
            let answers: String = (0..parts.len()).map(answer).collect();
            // The second hunk comes after the four parts of the first.
            let shown = git.run(&["add", "-p"], format!("s\n{answers}").as_bytes());
            let shown = String::from_utf8(shown).unwrap();
            let text = text_of(&parts[chosen]);
            assert!(shown.contains(&text), "{text}\nis not in\n{shown}");
            let staged = git.run(&["cat-file", "blob", ":f"], b"");
            assert_eq!(apply_chosen(old.as_bytes(), [&parts[chosen]]).unwrap(), staged);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn all_hunks_give_the_new_text_and_none_the_old(
            old in "[ab\n]{0,60}",
            new in "[abc\n ]{0,60}",
            context in 0_usize..5,
        ) {
            let (old, new) = (old.as_bytes(), new.as_bytes());
            let hunks = hunks(old, new, context);
            prop_assert_eq!(apply_chosen(old, &hunks).unwrap(), new);
            prop_assert_eq!(apply_chosen(old, &all_parts(&hunks)).unwrap(), new);
            prop_assert_eq!(apply_chosen(old, []).unwrap(), old);
        }

        #[test]
        fn what_is_not_chosen_can_be_chosen_afterwards(
            old in "[ab\n]{0,60}",
            new in "[abc\n ]{0,60}",
            choice in any::<u64>(),
        ) {
            let (old, new) = (old.as_bytes(), new.as_bytes());
            let parts = all_parts(&hunks(old, new, 3));
            let chosen = parts.iter().enumerate().filter(|(n, _)| choice >> (n % 64) & 1 == 1);
            let some = apply_chosen(old, chosen.map(|(_, part)| part)).unwrap();
            let rest = hunks(&some, new, 3);
            prop_assert_eq!(apply_chosen(&some, &rest).unwrap(), new);
        }

        #[test]
        fn unrelated_texts_never_panic(old in "[ab\n]{0,40}", new in "[ab\n]{0,40}", other in "[ab\n]{0,40}") {
            let _ = apply_chosen(other.as_bytes(), &all_parts(&hunks(old.as_bytes(), new.as_bytes(), 1)));
        }
    }
}
