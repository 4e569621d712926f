//! A patch, line by line.
//!
//! Into a pipe everything is exact, so that `git apply` takes it. On a terminal file content is data
//! somebody else wrote: characters that would act on the terminal, or hide or reorder text, are spelled
//! out.

use std::fmt::Write as _;
use std::io;
use std::io::Write;

use herma_diff::{PatchLine, PatchLineKind};
use herma_store::path::is_hidden;

use crate::style::{Label, Style};

/// Prints one line of a patch.
pub fn write_patch_line(out: &mut dyn Write, style: &Style, line: PatchLine<'_>) -> io::Result<()> {
    let label = match line.kind {
        PatchLineKind::Header => Some(Label::Header),
        PatchLineKind::HunkHeader => Some(Label::HunkHeader),
        PatchLineKind::Added => Some(Label::Added),
        PatchLineKind::Removed => Some(Label::Removed),
        PatchLineKind::NoNewline => Some(Label::Faint),
        PatchLineKind::Context | PatchLineKind::Binary => None,
    };
    if style.is_terminal {
        let text = visible(line.bytes);
        let text = label.map_or_else(|| text.clone(), |label| style.theme.paint(label, &text));
        return writeln!(out, "{text}");
    }
    if let (Some(label), Ok(text)) = (label, std::str::from_utf8(line.bytes)) {
        return writeln!(out, "{}", style.theme.paint(label, text));
    }
    out.write_all(line.bytes)?;
    out.write_all(b"\n")
}

/// A line of somebody's file, safe for a terminal. Tabs stay: they are how code looks.
pub fn visible(line: &[u8]) -> String {
    let mut text = String::with_capacity(line.len());
    for chunk in line.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\t' => text.push(c),
                '\r' => text.push_str("\\r"),
                _ if is_hidden(c) => {
                    let _ = write!(text, "\\u{{{:x}}}", c as u32);
                }
                _ => text.push(c),
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_never_acts_on_file_content() {
        assert_eq!(
            visible(b"+\tlet x = \x1b]0;title\x07 \xe2\x80\xae \xff\r"),
            "+\tlet x = \\u{1b}]0;title\\u{7} \\u{202e} \\xff\\r"
        );
        assert_eq!(visible("ünï 漢".as_bytes()), "ünï 漢");
    }
}
