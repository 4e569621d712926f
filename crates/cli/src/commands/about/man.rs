//! `herma man`

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_mangen::Man;
use herma_fs::Dir;
use herma_fs::publish::{Durability, write_file};
use herma_view::listing;

use crate::command_env::{Outcome, Result};
use crate::commands::about::help;
use crate::terminal::Ui;

/// Print the manual page, or write all pages into a directory
#[derive(Args, Debug)]
pub(crate) struct ManArgs {
    /// Write one page per command into this directory
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
}

pub(crate) fn cmd_man(ui: &Ui, args: &ManArgs) -> Result<Outcome> {
    let command = help::described();
    let Some(directory) = &args.directory else {
        let mut out = ui.data();
        out.write_all(&page(command)?)?;
        out.finish()?;
        return Ok(Outcome::Done);
    };
    let directory = open_or_create(directory)?;
    let mut count = 0;
    for (name, command) in pages(command) {
        let name = format!("{name}.1");
        write_file(&directory, &directory, &name, &page(command)?, Durability::Cache)?;
        directory.set_mode(name.as_str(), 0o644)?;
        count += 1;
    }
    ui.status(format_args!("Wrote {}.", listing::counted(count, "manual page")));
    Ok(Outcome::Done)
}

/// The command and the commands below it that are not hidden, with the names of their pages.
fn pages(command: Command) -> Vec<(String, Command)> {
    let mut pages = Vec::new();
    let mut waiting = vec![("herma".to_owned(), command)];
    while let Some((name, command)) = waiting.pop() {
        for below in command.get_subcommands().filter(|command| !command.is_hide_set()) {
            let name = format!("{name}-{}", below.get_name());
            // The display name is what the page's title says.
            let below = below.clone().display_name(name.clone());
            waiting.push((name, below));
        }
        pages.push((name, command));
    }
    pages
}

fn page(command: Command) -> std::io::Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(command).render(&mut page)?;
    Ok(page)
}

/// Opens a directory, making it if only its last component is missing.
fn open_or_create(path: &Path) -> herma_fs::Result<Dir> {
    match (Dir::open(path), path.parent(), path.file_name()) {
        (Err(e), Some(parent), Some(name)) if e.is_not_found() => {
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            Dir::open(parent)?.ensure_dir(name, 0o755)
        }
        (opened, _, _) => opened,
    }
}
