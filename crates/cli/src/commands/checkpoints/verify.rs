//! `herma checkpoints verify`

use std::io;
use std::io::Write;

use clap::Args;
use herma_core::{DamagedFinding, Verified, VerifyOptions};
use herma_view::json::{PathJson, Serialize, list, object};
use herma_view::listing::{counted, short_id};

use super::{place, require_store};
use crate::command_env::{CommandEnv, Outcome, Result};
use crate::terminal::{escape, size};

/// Check that every checkpoint can be brought back, and name what cannot
///
/// Reads every commit and directory and looks up every file. Exits 12 when something is damaged; what is not named is whole.
#[derive(Args, Debug)]
pub(super) struct VerifyArgs {
    /// Read every file and compare it with its hash
    #[arg(long)]
    read_data: bool,
}

fn damaged_json(damaged: &DamagedFinding) -> impl Serialize {
    let paths = damaged.paths.paths.iter();
    object! {
        project: damaged.project.to_string(),
        workdir: damaged.workdir.as_deref().map(PathJson::of),
        number: damaged.number,
        id: damaged.id.to_hex(),
        lost: damaged.is_lost,
        receipt: damaged.receipt,
        paths: list(paths.map(|path| PathJson::new(path))),
        more_paths: damaged.paths.more,
        what: damaged.what.clone(),
    }
}

pub(super) fn cmd_verify(env: &CommandEnv, args: &VerifyArgs) -> Result<Outcome> {
    require_store(env)?;
    let options = VerifyOptions { read_data: args.read_data, project: None };
    let verified = env.ui.during(|progress| env.engine.verify(&options, progress))?;
    env.warn_of_purge()?;
    let outcome = if verified.is_whole() { Outcome::Done } else { Outcome::Damaged };
    env.ui.answer(|| verify_json(&verified), |out| write_findings(out, &verified))?;
    if outcome == Outcome::Damaged {
        env.ui.hint("`herma checkpoints repair` mends what can be mended.");
    }
    Ok(outcome)
}

/// Says what was checked, and names everything that is damaged.
pub(super) fn write_findings(out: &mut dyn Write, verified: &Verified) -> io::Result<()> {
    writeln!(
        out,
        "Checked {}, {}, {} read",
        counted(verified.checkpoints, "checkpoint"),
        counted(verified.objects, "object"),
        size(verified.bytes)
    )?;
    for damaged in &verified.damaged {
        write_damaged(out, damaged)?;
    }
    for (kind, things) in ["pack", "ref", "record"].into_iter().zip(things(verified)) {
        for (name, what) in things {
            writeln!(out, "{kind} {}: {}", escape(name.as_bytes()), escape(what.as_bytes()))?;
        }
    }
    if verified.is_whole() {
        writeln!(out, "Everything is in order.")?;
    }
    Ok(())
}

/// Names a damaged checkpoint, and the files it cannot give back.
fn write_damaged(out: &mut dyn Write, damaged: &DamagedFinding) -> io::Result<()> {
    writeln!(
        out,
        "{}: checkpoint {} ({}) is damaged: {}",
        place(damaged.workdir.as_deref(), &damaged.project),
        damaged.number,
        short_id(damaged.id, 7),
        escape(damaged.what.as_bytes())
    )?;
    for path in &damaged.paths.paths {
        let shown = if path.is_empty() { "(everything)".to_owned() } else { escape(path) };
        writeln!(out, "  {shown}")?;
    }
    if damaged.paths.more > 0 {
        writeln!(out, "  and {} more", damaged.paths.more)?;
    }
    if damaged.receipt {
        writeln!(out, "  (its modes, or the list of what it left out)")?;
    }
    Ok(())
}

/// What else is damaged, and how: packs, refs and records.
fn things(verified: &Verified) -> [Vec<(&String, &String)>; 3] {
    [
        verified.packs.iter().map(|pack| (&pack.pack, &pack.what)).collect(),
        verified.refs.iter().map(|broken| (&broken.name, &broken.what)).collect(),
        verified.metadata.iter().map(|record| (&record.file, &record.what)).collect(),
    ]
}

pub(super) fn verify_json(verified: &Verified) -> impl Serialize {
    let named = |things: Vec<(&String, &String)>| {
        list(things.into_iter().map(|(name, what)| {
            object! {
                name: name.clone(),
                what: what.clone(),
            }
        }))
    };
    let [packs, refs, records] = things(verified).map(named);
    object! {
        schema: "herma.checkpoints-verify/2",
        whole: verified.is_whole(),
        checkpoints: verified.checkpoints,
        objects: verified.objects,
        bytes: verified.bytes,
        damaged: list(verified.damaged.iter().map(damaged_json)),
        packs,
        refs,
        records,
    }
}
