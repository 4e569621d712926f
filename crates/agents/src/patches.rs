//! The files a patch names.
//!
//! Two forms are understood: the one that `apply_patch` tools take (`*** Update File: src/a.rs`) and unified
//! diffs, with git's extra lines and quoting or without. Either may stand inside a shell command, as the text
//! that is fed to a program. The names are what a careful reader would take from the text, not what some
//! program will do: they say where to look, and nothing is ever left out of a save because of them.

use std::path::PathBuf;

use crate::event::Writes;

/// Longer names are no names.
pub(crate) const MAX_PATH_BYTES: usize = 4096;

/// No more files than this are taken from one text.
pub(crate) const MAX_PATHS_OF_CALL: usize = 1000;

const BLOCK_HEADERS: [&str; 4] =
    ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];

/// The files that the patches in a text name, each once, in the order of the text.
pub fn paths(text: &str) -> Vec<PathBuf> {
    let mut found = Found::default();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(name) = block_header(line) {
            found.add(name.to_owned());
        } else if let Some(both) = line.strip_prefix("diff --git ") {
            found.add_git_header(both);
        } else if let Some(name) = rename_header(line) {
            found.add_diff_name(name, Prefix::Kept);
        } else if let Some(old) = line.strip_prefix("--- ") {
            // A removed line may begin like this as well; only the pair of both headers counts.
            if let Some(new) = lines.peek().and_then(|next| next.strip_prefix("+++ ")) {
                let prefix = Prefix::of(old, new);
                found.add_diff_name(old, prefix);
                found.add_diff_name(new, prefix);
                lines.next();
            }
        }
        if found.paths.len() >= MAX_PATHS_OF_CALL {
            break;
        }
    }
    found.paths
}

/// Is the whole text a patch for an `apply_patch` tool, rather than a command that contains one?
pub(crate) fn is_patch(text: &str) -> bool {
    text.trim_start().starts_with("*** Begin Patch")
}

/// What an `apply_patch` tool writes for this patch: the lines of each part of it instead of those that are there. Files that it
/// deletes or moves are not among them.
pub(crate) fn writes(patch: &str) -> Vec<Writes> {
    let mut all: Vec<Writes> = Vec::new();
    let mut file: Option<Writes> = None;
    for line in patch.lines() {
        if let Some(name) = block_header(line) {
            all.extend(file.take());
            if line.contains("Move to: ") {
                let moved = all.pop().map(|last| last.path);
                all.retain(|known| Some(&known.path) != moved.as_ref());
            } else if !line.contains("Delete File: ") {
                let old = line.contains("Update File: ").then(String::new);
                file = Some(Writes { path: name.into(), old, new: String::new(), all: false });
            }
        } else if line.starts_with("@@") {
            if let Some(part) = file.as_mut() {
                let next = Writes { old: Some(String::new()), new: String::new(), ..part.clone() };
                all.push(std::mem::replace(part, next));
            }
        } else if let Some(part) = file.as_mut().filter(|_| !line.starts_with("***")) {
            part.add(line);
        }
    }
    all.extend(file);
    all.retain(|part| part.old.as_ref() != Some(&part.new));
    all
}

impl Writes {
    /// Adds a line of a patch.
    fn add(&mut self, line: &str) {
        let text = line.get(1..).unwrap_or(line);
        if let Some(old) = self.old.as_mut().filter(|_| !line.starts_with('+')) {
            old.extend([text, "\n"]);
        }
        if !line.starts_with('-') {
            self.new.extend([text, "\n"]);
        }
    }
}

fn block_header(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let name = BLOCK_HEADERS.iter().find_map(|header| line.strip_prefix(header))?;
    Some(name.trim())
}

fn rename_header(line: &str) -> Option<&str> {
    ["rename from ", "rename to ", "copy from ", "copy to "]
        .iter()
        .find_map(|header| line.strip_prefix(header))
}

/// Do the names of a diff begin with git's `a/` and `b/`?
#[derive(Clone, Copy, PartialEq, Eq)]
enum Prefix {
    Kept,
    Dropped,
}

impl Prefix {
    /// Only if both names of the pair do, one of them perhaps being no file at all.
    fn of(old: &str, new: &str) -> Self {
        let has = |name: &str, prefixes: [&str; 2]| {
            let name = name.trim_start_matches('"');
            is_no_file(name) || prefixes.iter().any(|prefix| name.starts_with(prefix))
        };
        if has(old, ["a/", "i/"]) && has(new, ["b/", "w/"]) { Self::Dropped } else { Self::Kept }
    }

    fn apply(self, name: &str) -> &str {
        match (self, name.as_bytes()) {
            (Self::Dropped, [b'a' | b'b' | b'i' | b'w', b'/', ..]) => &name[2..],
            _ => name,
        }
    }
}

fn is_no_file(name: &str) -> bool {
    let name = name.split('\t').next().unwrap_or(name).trim_end();
    // Copilot writes its diffs with a prefix even here.
    matches!(name, "/dev/null" | "a/dev/null" | "b/dev/null")
}

/// The names so far.
#[derive(Default)]
struct Found {
    paths: Vec<PathBuf>,
    seen: std::collections::HashSet<PathBuf>,
}

impl Found {
    fn add(&mut self, name: String) {
        if name.is_empty() || name.len() > MAX_PATH_BYTES || name.contains('\0') {
            return;
        }
        let path = PathBuf::from(name);
        if self.paths.len() < MAX_PATHS_OF_CALL && self.seen.insert(path.clone()) {
            self.paths.push(path);
        }
    }

    /// A name as diffs write it: quoted, or up to the tab before a time.
    fn add_diff_name(&mut self, written: &str, prefix: Prefix) {
        if written.len() > 4 * MAX_PATH_BYTES + 2 || is_no_file(written) {
            return;
        }
        if let Some((name, _)) = unquote(written) {
            return self.add(prefix.apply(&name).to_owned());
        }
        let name = written.split('\t').next().unwrap_or(written).trim_end();
        self.add(prefix.apply(name).to_owned());
    }

    /// `a/x b/x`: the only place that names a file whose mode alone changes, or an empty one.
    fn add_git_header(&mut self, both: &str) {
        if both.len() > 8 * MAX_PATH_BYTES {
            return;
        }
        if let Some((old, rest)) = unquote(both) {
            self.add_git_name(&old);
            let new = unquote(rest.trim_start()).map(|(name, _)| name);
            return self.add_git_name(new.as_deref().unwrap_or(rest.trim()));
        }
        if let Some((old, new)) = split_git_names(both.trim_end()) {
            self.add_git_name(old);
            match unquote(new) {
                Some((name, _)) => self.add_git_name(&name),
                None => self.add_git_name(new),
            }
        }
    }

    fn add_git_name(&mut self, name: &str) {
        if !is_no_file(name) {
            self.add(Prefix::Dropped.apply(name).to_owned());
        }
    }
}

/// Names with spaces are not quoted, so the place between them must be found: where both halves name the
/// same file, else at the first ` b/`.
fn split_git_names(both: &str) -> Option<(&str, &str)> {
    let middle = both.len() / 2;
    if both.len() % 2 == 1 && both.as_bytes()[middle] == b' ' {
        let (old, new) = (&both[..middle], &both[middle + 1..]);
        if Prefix::Dropped.apply(old) == Prefix::Dropped.apply(new) {
            return Some((old, new));
        }
    }
    let at = both.find(" b/").or_else(|| both.find(" \"b/"))?;
    Some((&both[..at], &both[at + 1..]))
}

/// Reads a name in git's quotes, and gives what follows it.
fn unquote(written: &str) -> Option<(String, &str)> {
    let inside = written.strip_prefix('"')?;
    let mut name = Vec::new();
    let mut bytes = inside.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => return Some((String::from_utf8(name).ok()?, &inside[at + 1..])),
            b'\\' => name.push(match bytes.next()?.1 {
                b'a' => 7,
                b'b' => 8,
                b't' => b'\t',
                b'n' => b'\n',
                b'v' => 11,
                b'f' => 12,
                b'r' => b'\r',
                first @ b'0'..=b'3' => {
                    let octal = |digit: u8| matches!(digit, b'0'..=b'7').then(|| digit - b'0');
                    let second = octal(bytes.next()?.1)?;
                    let third = octal(bytes.next()?.1)?;
                    ((first - b'0') << 6) | (second << 3) | third
                }
                other => other,
            }),
            other => name.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names(text: &str) -> Vec<String> {
        let as_text = |path: PathBuf| path.to_str().expect("made from text").to_owned();
        paths(text).into_iter().map(as_text).collect()
    }

    #[test]
    fn a_block_patch_names_what_it_adds_updates_deletes_and_moves() {
        let patch = "*** Begin Patch\n*** Add File: new.txt\n+created\n*** Update File: a b.txt\n\
                     *** Move to: dir/c.txt\n@@\n-one\n+two\n*** Delete File: /abs/old.txt\n*** End Patch\n";
        assert_eq!(names(patch), ["new.txt", "a b.txt", "dir/c.txt", "/abs/old.txt"]);
        assert!(is_patch(patch));
    }

    #[test]
    fn what_a_block_patch_writes_is_its_parts_one_after_the_other() {
        let patch = "*** Begin Patch\n*** Add File: new\n+a\n+b\n*** Update File: f\n@@ fn x\n one\n-two\n+2\n\n@@\n-é\n+e\n\
                     *** Update File: old\n*** Move to: moved\n@@\n-x\n+y\n*** Delete File: gone\n*** End Patch\n";
        let part = |path: &str, old: Option<&str>, new: &str| {
            let old = old.map(str::to_owned);
            Writes { path: path.into(), old, new: new.to_owned(), all: false }
        };
        let expected = [
            part("new", None, "a\nb\n"),
            part("f", Some("one\ntwo\n\n"), "one\n2\n\n"),
            part("f", Some("é\n"), "e\n"),
        ];
        assert_eq!(writes(patch), expected);
        assert_eq!(writes("*** Begin Patch\n*** Update File: f\n*** End Patch"), []);
    }

    #[test]
    fn a_patch_inside_a_shell_command_is_found() {
        let command = "cd src && apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.rs\n*** End Patch\nEOF\n";
        assert_eq!(names(command), ["a.rs"]);
        assert!(!is_patch(command));
        let command = "patch -p1 <<EOF\r\n--- a/x.rs\r\n+++ b/x.rs\r\n@@ -1 +1 @@\r\nEOF";
        assert_eq!(names(command), ["x.rs"]);
    }

    #[test]
    fn a_unified_diff_names_both_sides_without_prefix_and_time() {
        assert_eq!(names("--- a/x\t2026-01-01 00:00:00\n+++ b/x\t2026-01-02\n"), ["x"]);
        assert_eq!(names("--- old/x\n+++ new/x\n"), ["old/x", "new/x"]);
        assert_eq!(names("--- a/x\n+++ a/x\n"), ["a/x"], "a directory called a");
        assert_eq!(names("--- /dev/null\n+++ b/new\n"), ["new"]);
        assert_eq!(names("--- a/gone\n+++ /dev/null\n"), ["gone"]);
        assert_eq!(names("--- a/dev/null\n+++ b/home/x\n"), ["home/x"], "as Copilot writes it");
    }

    #[test]
    fn a_removed_line_is_not_a_header() {
        assert_eq!(names("--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n--- a comment\n-- more\n"), ["x"]);
    }

    #[test]
    fn git_headers_name_files_without_changed_lines() {
        assert_eq!(
            names("diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n"),
            ["run.sh"]
        );
        assert_eq!(names("diff --git a/a b c b/a b c\n"), ["a b c"]);
        let renamed =
            "diff --git a/x y b/z w\nsimilarity index 100%\nrename from x y\nrename to z w\n";
        assert_eq!(names(renamed), ["x y", "z w"]);
    }

    #[test]
    fn quoted_names_are_read_as_git_wrote_them() {
        assert_eq!(names("--- \"a/tab\\there\"\n+++ \"b/tab\\there\"\n"), ["tab\there"]);
        assert_eq!(names("diff --git \"a/\\303\\251\" \"b/\\303\\251\"\n"), ["é"]);
        assert_eq!(names("diff --git a/e \"b/\\303\\251\"\n"), ["e", "é"]);
        assert_eq!(names("diff --git \"a/\\303\\251\" b/e\n"), ["é", "e"]);
        assert_eq!(names("--- \"a/quote\\\"\\\\\"\n+++ /dev/null\n"), ["quote\"\\"]);
    }

    #[test]
    fn hostile_names_and_numbers_are_bounded() {
        let long = format!("*** Add File: {}\n", "x".repeat(MAX_PATH_BYTES + 1));
        assert_eq!(names(&long), Vec::<String>::new());
        assert_eq!(names("*** Add File: a\0b\n*** Add File: \n"), Vec::<String>::new());
        let many: Vec<String> = (0..5000).map(|number| format!("*** Add File: {number}")).collect();
        assert_eq!(names(&many.join("\n")).len(), MAX_PATHS_OF_CALL);
    }

    proptest! {
        #[test]
        fn any_text_is_read_within_bounds(text in r#"((--- |\+\+\+ |diff --git |\*\*\* Move to: |rename to )?(["ab/\\07né \t]){0,12}\n){0,8}"#) {
            let found = paths(&text);
            prop_assert!(found.len() <= MAX_PATHS_OF_CALL);
            for path in found {
                prop_assert!(!path.as_os_str().is_empty());
            }
        }
    }
}
