//! `herma checkpoints verify`

use std::io;
use std::io::Write;

use clap::Args;
use herma_core::{DamagedFinding, Verified, VerifyOptions};

use super::{place, require_store};
use crate::command_env::{CommandEnv, Outcome, Result};
use crate::render::json::{PathJson, Serialize, list, object};
use crate::render::listing::{counted, short_id};
use crate::terminal::{escape, size};

/// Check that every checkpoint can be brought back, and name what cannot
///
/// Reads every commit and directory and looks up every file. Exits 12 when something is damaged; what is not
/// named is whole.
#[derive(Args, Debug)]
pub(super) struct VerifyArgs {
    /// Read every file and compare it with its hash
    #[arg(long)]
    read_data: bool,
}

/// Something else that is damaged.
#[derive(Serialize)]
struct ThingJson {
    name: String,
    what: String,
}

fn damaged_json(damaged: &DamagedFinding) -> impl Serialize {
    let paths = damaged.paths.paths.iter();
    object! {
        project: damaged.project.to_string(),
        workdir: damaged.workdir.as_deref().map(PathJson::of),
        number: damaged.number,
        sequence: damaged.sequence,
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
    for (kind, thing) in things(verified) {
        let text = format!("{kind} {}: {}", thing.name, thing.what);
        writeln!(out, "{}", escape(text.as_bytes()))?;
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

fn things(verified: &Verified) -> Vec<(&'static str, ThingJson)> {
    let thing = |name: &str, what: &str| ThingJson { name: name.to_owned(), what: what.to_owned() };
    let packs = verified.packs.iter();
    let packs = packs.map(|pack| ("pack", thing(&pack.pack, &pack.what)));
    let refs = verified.refs.iter();
    let refs = refs.map(|broken| ("ref", thing(&broken.name, &broken.what)));
    let records = verified.metadata.iter();
    let records = records.map(|record| ("record", thing(&record.file, &record.what)));
    packs.chain(refs).chain(records).collect()
}

pub(super) fn verify_json(verified: &Verified) -> impl Serialize {
    let of_kind = |wanted: &str| {
        let all = things(verified).into_iter();
        let these = all.filter(|(kind, _)| *kind == wanted);
        list(these.map(|(_, thing)| thing))
    };
    object! {
        schema: "herma.checkpoints-verify/1",
        whole: verified.is_whole(),
        checkpoints: verified.checkpoints,
        objects: verified.objects,
        bytes: verified.bytes,
        damaged: list(verified.damaged.iter().map(damaged_json)),
        packs: of_kind("pack"),
        refs: of_kind("ref"),
        records: of_kind("record"),
    }
}
