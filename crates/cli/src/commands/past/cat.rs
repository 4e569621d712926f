//! `herma cat`

use std::ffi::OsString;
use std::io;
use std::io::Write;

use clap::Args;
use herma_core::{Error, PastEntry, Project};
use herma_store::object::EntryMode;
use herma_store::objects::ObjectError;

use super::place::{At, Place};
use crate::command_env::{CommandEnv, CommandError, Kind, Outcome, Result};
use crate::render::project_json;
use crate::terminal::escape;
use herma_view::here;
use herma_view::past::entries::file_json;

/// A NUL among so many bytes makes a file binary.
const BINARY_BYTES: usize = 8000;
/// A line that is longer goes to a terminal in pieces.
const MAX_LINE_BYTES: usize = 64 << 10;
/// As much as an answer in JSON holds.
const MAX_JSON_BYTES: u64 = 16 << 20;

/// Print a file as it was at a checkpoint
///
/// Byte for byte. To a terminal no binary file is printed, and control characters of text are shown escaped. Of a link,
/// what it points to.
#[derive(Args, Debug)]
pub(crate) struct CatArgs {
    /// The file: `13:src/cart.py`; with `--at`, its path
    #[arg(value_name = "N:PATH", required = true)]
    places: Vec<OsString>,
    /// Print the file as it was at this time: 2h, 15:30, yesterday 18:00, 2026-11-02
    #[arg(long, value_name = "TIME", value_parser = At::parse)]
    at: Option<At>,
}

pub(crate) fn cmd_cat(env: &CommandEnv, args: &CatArgs) -> Result<Outcome> {
    let project = env.open_project()?;
    let mut files = Vec::new();
    for place in &args.places {
        let Some(place) = Place::read(env, &project, place, args.at.as_ref())? else {
            return Err(no_path(&place.to_string_lossy()));
        };
        let (entry, _) = place.look(&project)?;
        match entry.mode {
            EntryMode::Directory => return Err(is_directory(&place)),
            EntryMode::Nested => return Err(is_repository(&place)),
            EntryMode::File | EntryMode::Executable | EntryMode::Symlink => {}
        }
        files.push((place, entry));
    }
    if env.ui.json {
        let [(place, entry)] = &files[..] else {
            return Err(CommandError::usage("`--json` prints one file at a time"));
        };
        return write_json(env, &project, place, entry);
    }
    for (place, entry) in &files {
        let mut out = env.ui.data();
        let shown = if env.ui.is_terminal {
            show(&project, place, entry, &mut out)
        } else {
            let streamed = project.stream(&entry.id, &mut |piece| out.write_all(piece));
            streamed.map(drop).map_err(failed)
        };
        out.finish()?;
        shown?;
    }
    Ok(Outcome::Done)
}

/// Prints text for a terminal, which obeys no control character of it.
fn show(project: &Project, place: &Place, entry: &PastEntry, out: &mut dyn Write) -> Result<()> {
    let mut start = Vec::new();
    let mut is_binary = false;
    let mut line = Vec::new();
    let mut print = |piece: &[u8]| -> io::Result<()> {
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            line.extend_from_slice(part);
            if line.ends_with(b"\n") || line.len() >= MAX_LINE_BYTES {
                write_escaped(out, &mut line)?;
            }
        }
        Ok(())
    };
    // Nothing is printed before it is known whether it is text.
    let streamed = project.stream(&entry.id, &mut |piece| {
        if start.len() >= BINARY_BYTES {
            return print(piece);
        }
        start.extend_from_slice(piece);
        is_binary = start[..start.len().min(BINARY_BYTES)].contains(&0);
        if is_binary {
            return Err(io::Error::other("binary"));
        }
        if start.len() < BINARY_BYTES { Ok(()) } else { print(&start) }
    });
    if is_binary {
        return Err(is_not_text(place));
    }
    streamed.map_err(failed)?;
    if start.len() < BINARY_BYTES {
        print(&start)?;
    }
    Ok(write_escaped(out, &mut line)?)
}

/// Prints a line, or a piece of one that breaks off within no character.
fn write_escaped(out: &mut dyn Write, line: &mut Vec<u8>) -> io::Result<()> {
    let text = line.strip_suffix(b"\n").unwrap_or(line);
    let whole = match std::str::from_utf8(text) {
        Err(error)
            if error.error_len().is_none()
                && text.len() == line.len()
                && text.len() >= MAX_LINE_BYTES =>
        {
            error.valid_up_to()
        }
        _ => text.len(),
    };
    let escaped: Vec<String> = text[..whole].split(|byte| *byte == b'\t').map(escape).collect();
    out.write_all(escaped.join("\t").as_bytes())?;
    if line.ends_with(b"\n") {
        out.write_all(b"\n")?;
        line.clear();
    } else {
        line.drain(..whole);
    }
    Ok(())
}

fn write_json(
    env: &CommandEnv,
    project: &Project,
    place: &Place,
    entry: &PastEntry,
) -> Result<Outcome> {
    let mut content = Vec::new();
    if entry.size.is_none_or(|size| size > MAX_JSON_BYTES) {
        let hint = format!("`herma cat {} > FILE` writes it to a file.", place.typed());
        return Err(CommandError::usage("the file is too large for JSON").with_hint(hint));
    }
    let streamed = project.stream(&entry.id, &mut |piece| {
        content.extend_from_slice(piece);
        Ok(())
    });
    streamed.map_err(failed)?;
    let at = (&place.checkpoint, &place.path);
    env.ui.write_json(&file_json(project_json(project), at, entry, &content))?;
    Ok(Outcome::Done)
}

/// Whoever reads no further has what was wanted; that is told as it is everywhere.
fn failed(error: Error) -> CommandError {
    match error {
        Error::Object(ObjectError::Sink(error)) => error.into(),
        error => error.into(),
    }
}

fn no_path(text: &str) -> CommandError {
    let typed = escape(text.as_bytes());
    CommandError::usage(format!("`{typed}` names no file of a checkpoint"))
        .with_hint("Write `herma cat 13:PATH`, or `herma cat --at 2h PATH`.")
}

fn is_directory(place: &Place) -> CommandError {
    CommandError::usage(format!("{} is a directory", here::path(&place.path)))
        .with_hint(format!("`herma ls {}` lists it.", place.typed()))
}

fn is_repository(place: &Place) -> CommandError {
    let named = here::path(&place.path);
    CommandError::usage(format!("{named} is a nested repository; its content was never saved"))
}

fn is_not_text(place: &Place) -> CommandError {
    let named = here::path(&place.path);
    CommandError::new(
        Kind::Usage,
        format!("{named} is binary; a terminal would show nothing of use"),
    )
    .with_hint(format!("`herma cat {} > FILE` writes it to a file.", place.typed()))
}
