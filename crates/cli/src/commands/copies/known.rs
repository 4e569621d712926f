//! `herma open --list` and `--clean`: the copies there are, and how they go.

use std::io::Write;
use std::path::{Path, PathBuf};

use herma_core::copies::{CopyRecord, CopyState, KnownCopy, RemovedCopy};
use herma_view::json::{PathJson, Serialize, list, object};
use herma_view::listing::{counted, in_columns};

use crate::command_env::{CommandEnv, CommandError, Kind, Outcome, Result};
use crate::terminal::{Label, quote, shown, time};

pub(crate) fn list_copies(env: &CommandEnv) -> Result<Outcome> {
    let copies = env.engine.copies()?;
    let json = || {
        object! {
            schema: "herma.copies/1",
            copies: list(copies.iter().map(copy_json)),
        }
    };
    env.ui.answer(json, |out| {
        let rows: Vec<[String; 3]> = copies.iter().map(|copy| row(env, copy)).collect();
        let labels = [Label::Number, Label::Faint, Label::Faint];
        for (row, copy) in in_columns(&env.ui, labels, &rows).into_iter().zip(&copies) {
            writeln!(out, "{row}{}", shown(copy.record.path()))?;
        }
        Ok(())
    })?;
    if copies.is_empty() {
        env.ui.status("Nothing is open.");
    }
    Ok(Outcome::Done)
}

fn row(env: &CommandEnv, copy: &KnownCopy) -> [String; 3] {
    let of = copy.record.of();
    let name = of.file_name().map_or(&*of, Path::new);
    let what = format!("{} of {}", copy.record.number, shown(name));
    let state = match copy.state {
        CopyState::There => "",
        CopyState::Unfinished => "not finished",
        CopyState::Gone => "gone",
    };
    [what, time::age(copy.record.made, env.now()), state.to_owned()]
}

fn copy_json(copy: &KnownCopy) -> impl Serialize + use<> {
    let record = &copy.record;
    object! {
        #[serde(flatten)]
        path: PathJson::of(record.path()),
        id: record.id().to_string(),
        of: object! {
            #[serde(flatten)]
            root: PathJson::of(record.of()),
        },
        checkpoint: record.checkpoint.to_hex(),
        number: record.number,
        seconds: record.made,
        chosen: record.is_chosen,
        state: copy.state.word(),
        #[serde(rename = "try")]
        attempt: record.attempt.map(|attempt| attempt.index),
    }
}

/// Removes what was opened: what nobody changed, or what is named.
pub(crate) fn clean(env: &CommandEnv, named: &[PathBuf]) -> Result<Outcome> {
    let copies = env.engine.copies()?;
    let chosen = if named.is_empty() {
        let goes = |copy: &&KnownCopy| !copy.record.is_chosen || copy.state != CopyState::There;
        copies.iter().filter(goes).map(|copy| &copy.record).collect()
    } else {
        let find = |path: &PathBuf| find(env, &copies, path);
        named.iter().map(find).collect::<Result<Vec<&CopyRecord>>>()?
    };
    remove_all(env, chosen, !named.is_empty())
}

/// Removes these, those in which something was changed only if they are to go `anyway`.
pub(super) fn remove_all(
    env: &CommandEnv,
    chosen: Vec<&CopyRecord>,
    anyway: bool,
) -> Result<Outcome> {
    let (mut removed, mut kept) = (Vec::new(), Vec::new());
    for record in chosen {
        match env.engine.remove_copy(record, anyway)? {
            RemovedCopy::Removed => removed.push(record.path()),
            why => kept.push((record.path(), why)),
        }
    }
    if env.ui.json {
        env.ui.write_json(&object! {
            schema: "herma.clean-copies/1",
            removed: list(removed.iter().map(PathJson::of)),
            kept: list(kept.iter().map(|(path, why)| object! {
                #[serde(flatten)]
                path: PathJson::of(path),
                reason: word(*why),
            })),
        })?;
    }
    if !removed.is_empty() || kept.is_empty() {
        let count = counted(removed.len(), "directory");
        env.ui.status(format_args!("{count} removed."));
    }
    for (path, why) in &kept {
        let path = quote(&shown(path));
        env.ui.warning(match why {
            RemovedCopy::Busy => format!("{path} stays: somebody is at work in it"),
            _ => format!("{path} stays: it was changed; `herma open --clean {path}` removes it"),
        });
    }
    Ok(if kept.is_empty() { Outcome::Done } else { Outcome::LeftOut })
}

const fn word(why: RemovedCopy) -> &'static str {
    match why {
        RemovedCopy::Removed => "removed",
        RemovedCopy::Changed => "changed",
        RemovedCopy::Busy => "busy",
    }
}

/// The copy that is in this directory.
pub(super) fn find<'c>(
    env: &CommandEnv,
    copies: &'c [KnownCopy],
    path: &Path,
) -> Result<&'c CopyRecord> {
    let absolute = env.absolute(path);
    let canonical = herma_fs::dir::canonicalize(&absolute).unwrap_or(absolute);
    let found = copies.iter().find(|copy| copy.record.path() == canonical);
    found.map(|copy| &copy.record).ok_or_else(|| {
        let message = format!("{} was not opened by `herma open`", quote(&shown(path)));
        CommandError::usage(message)
            .with_state("Nothing was changed.")
            .with_hint("`herma open --list` lists what was.")
    })
}

/// Removes a copy that was only to be worked in.
pub(crate) fn remove(env: &CommandEnv, record: &CopyRecord) -> Result<()> {
    match env.engine.remove_copy(record, /*anyway*/ true)? {
        RemovedCopy::Removed => Ok(()),
        RemovedCopy::Changed | RemovedCopy::Busy => {
            let path = quote(&shown(record.path()));
            Err(CommandError::new(Kind::Busy, format!("{path} could not be removed"))
                .with_hint(format!("`herma open --clean {path}` removes it.")))
        }
    }
}
