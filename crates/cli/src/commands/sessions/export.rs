//! `herma sessions export`

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use clap::Args;
use herma_fs::dir::canonicalize;
use herma_fs::publish::Temp;
use herma_fs::{Dir, FileKind, stat_path};
use herma_sessions::{Access, Database, Filter, db, export};
use herma_view::json::{PathJson, lazy_object};
use herma_view::listing::counted;

use super::filters::FilterArgs;
use crate::command_env::{CommandEnv, CommandError, Outcome, Result};
use crate::conversations;
use crate::terminal::shown;

/// Write sessions as JSON, one per line with all its messages
///
/// The file is replaced only when all is written.
#[derive(Args, Debug)]
pub(super) struct ExportArgs {
    /// The file; `-` is stdout
    file: PathBuf,
    /// Only this session
    #[arg(long, value_name = "SESSION")]
    session_id: Option<String>,
    #[command(flatten)]
    filters: FilterArgs,
}

pub(super) fn cmd_export(env: &CommandEnv, args: &ExportArgs) -> Result<Outcome> {
    let database = conversations::open(&env.home, Access::Read)?;
    let mut filter: Filter = args.filters.filter(env.now().as_float());
    if let Some(id) = &args.session_id {
        filter.id = Some(database.find(id)?.id);
    }
    if args.file.as_os_str() == "-" {
        let mut out = env.ui.data();
        export::export(&database, &filter, &mut out)?;
        out.finish()?;
        return Ok(Outcome::Done);
    }
    let path = env.absolute(&args.file);
    let (Some(parent), Some(name)) = (path.parent(), path.file_name().and_then(|n| n.to_str()))
    else {
        return Err(CommandError::usage("that is no name for a file"));
    };
    let dir = Dir::open(parent)?;
    refuse_database(&database, &dir, name)?;
    let temp = Temp::create(&dir)?;
    let count = {
        let mut out = BufWriter::new(temp.file());
        let count = export::export(&database, &filter, &mut out)?;
        out.flush()?;
        count
    };
    temp.sync()?;
    temp.publish(&dir, name)?;
    dir.sync()?;
    env.ui.answer_json(lazy_object! {
        schema: "herma.sessions-export/1",
        sessions: count,
        file: PathJson::of(&path),
    })?;
    let count = counted(count, "session");
    env.ui.status(format_args!("Exported {count}."));
    Ok(Outcome::Done)
}

/// An export replaces a file; it must not be the database, by whatever name, nor something that is no file.
fn refuse_database(database: &Database, dir: &Dir, name: &str) -> Result<()> {
    let path = canonicalize(dir.path())?.join(name);
    let refuse = |what: &str| {
        let message = format!("{} is {what}", shown(&path));
        Err(CommandError::usage(message).with_state("Nothing was written."))
    };
    let target = stat_path(&canonicalize(&path)?)?;
    // The home may have a link to the database; neither that nor what it points to is replaced.
    let mut protected = db::files_of(&canonicalize(database.path())?).to_vec();
    if let (Some(home), Some(name)) = (database.path().parent(), database.path().file_name()) {
        protected.extend(db::files_of(&canonicalize(home)?.join(name)));
    }
    for file in protected {
        let is_same = stat_path(&file)?
            .zip(target)
            .is_some_and(|(file, target)| (file.dev, file.ino) == (target.dev, target.ino));
        if is_same || file == path {
            return refuse("the session database");
        }
    }
    match target {
        Some(stat) if stat.kind != FileKind::File => refuse("not a regular file"),
        _ => Ok(()),
    }
}
