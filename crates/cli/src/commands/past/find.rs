//! `herma find`

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;

use clap::Args;
use herma_core::types::clock::Timestamp;
use herma_core::{FoundPath, NamePattern, NamesAsked};
use herma_view::json::Serialize;

use super::warn_of_unread;
use crate::command_env::{CommandEnv, CommandError, Outcome, Result};
use crate::filters::TimeAndPlace;
use crate::render::project_json;
use crate::terminal::{Label, escape, quote, time};
use herma_view::here;
use herma_view::json::{lazy_object, list, object};
use herma_view::listing::{counted, write_columns};
use herma_view::past::{by, change_json, interval, stay_json, unread_json};

/// Find files and directories of all times by name, deleted ones too
///
/// A word is a part of a name (`cart` finds `src/ShoppingCart.py`), with a `/` of a path; `*`, `?` and `[…]` make it a
/// glob. A capital in it must be one. What is gone comes first, with the change that removed it; `herma restore --last`
/// brings it back. Only what checkpoints hold is found, no empty directories.
#[derive(Args, Debug)]
pub(crate) struct FindArgs {
    /// A part of the name, or a glob
    #[arg(value_name = "NAME|GLOB")]
    name: OsString,
    /// Only what is not there now
    #[arg(long)]
    gone: bool,
    #[command(flatten)]
    scope: TimeAndPlace,
    /// Show at most this many
    #[arg(short = 'n', long, value_name = "COUNT")]
    limit: Option<usize>,
    /// End each path with NUL and print it exactly
    #[arg(short = 'z', long = "null", conflicts_with = "json")]
    null: bool,
}

pub(crate) fn cmd_find(env: &CommandEnv, args: &FindArgs) -> Result<Outcome> {
    let project = env.open_project()?;
    let pattern = NamePattern::parse(args.name.as_bytes())
        .ok_or_else(|| CommandError::usage("an empty name finds nothing"))?;
    let (since, until) = args.scope.times(env);
    let paths = args.scope.paths(env, &project)?;
    let asked = NamesAsked { pattern, paths, since, until, only_gone: args.gone };
    let mut all = env.ui.during(|progress| project.find_names(&asked, progress))?;
    let count = all.found.len();
    all.found.truncate(args.limit.unwrap_or(usize::MAX));
    let found = &all.found;
    let outcome = warn_of_unread(env, &project, &all.unread)?;
    let json = lazy_object! {
        schema: "herma.find/1",
        project: project_json(&project),
        found: list(found.iter().map(found_json)),
        is_more: count > found.len(),
        unread: list(all.unread.iter().map(unread_json)),
    };
    env.ui.answer(json, |out| {
        if args.null {
            for one in found {
                out.write_all(&here::bytes(one.stay.path.as_bytes()))?;
                out.write_all(b"\0")?;
            }
            return Ok(());
        }
        let now = env.now();
        let rows: Vec<[String; 4]> = found.iter().map(|one| row(one, now)).collect();
        let labels = [Label::Name, Label::Number, Label::Faint, Label::Changed];
        write_columns(out, &env.ui, labels, &rows)
    })?;
    if count > found.len() {
        env.ui.status(format_args!("And {} more.", count - found.len()));
    }
    let gone = found.iter().filter(|one| !one.is_there).count();
    if found.len() > 1 && !args.null {
        env.ui.status(format_args!("{} found, {gone} not there now.", found.len()));
    }
    if let Some(back) = found.iter().find_map(back) {
        env.ui.hint(format_args!("`{back}` brings it back."));
    }
    if !found.is_empty() || outcome != Outcome::Done {
        return Ok(outcome);
    }
    let name = quote(&escape(args.name.as_bytes()));
    env.ui.status(format_args!("No checkpoint has anything called {name}."));
    env.ui.hint(format_args!("`herma grep {name}` looks into the files."));
    Ok(Outcome::NotFound)
}

/// The path, the checkpoints that have it, its versions, and what became of it.
fn row(one: &FoundPath, now: Timestamp) -> [String; 4] {
    let mut path = here::bytes(one.stay.path.as_bytes()).into_owned();
    path.extend(one.is_directory.then_some(b'/'));
    let versions = match one.versions {
        0 | 1 => String::new(),
        many => counted(many, "version"),
    };
    let fate = match (&one.stay.gone, one.is_there) {
        (_, true) => String::new(),
        (Some(change), false) => {
            format!("deleted {} by {}", time::moment(change.time, now), by(change))
        }
        (None, false) if one.stay.is_in_newest => "deleted, not saved since".to_owned(),
        (None, false) => "gone".to_owned(),
    };
    [escape(&path), format!("in {}", interval(&one.stay)), versions, fate]
}

fn found_json(one: &FoundPath) -> impl Serialize + use<> {
    object! {
        #[serde(flatten)]
        stay: stay_json(&one.stay),
        kind: if one.is_directory { "directory" } else { "file" },
        versions: one.versions,
        is_there: one.is_there,
        removed: one.stay.gone.as_ref().filter(|_| !one.is_there).map(change_json),
        back: back(one),
    }
}

/// What to type to bring it back. Nothing where no terminal could show what is to be typed.
fn back(one: &FoundPath) -> Option<String> {
    let name = here::path(&one.stay.path);
    let is_exact = name.as_bytes() == &*here::bytes(one.stay.path.as_bytes());
    // What looks like an option is taken for one.
    let dot = if name.starts_with('-') { "./" } else { "" };
    (!one.is_there && is_exact)
        .then(|| format!("herma restore --last {}", quote(&format!("{dot}{name}"))))
}
