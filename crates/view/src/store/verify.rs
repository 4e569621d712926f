//! What was checked, and what is damaged.

use std::io;
use std::io::Write;

use herma_core::{DamagedFinding, Verified};
use herma_store::path::escape;

use super::place;
use crate::json::{PathJson, Serialize, list, object};
use crate::listing::{counted, short_id};
use crate::units::size;

fn damaged_json(damaged: &DamagedFinding) -> impl Serialize + use<> {
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

/// Says what was checked, and names everything that is damaged.
pub fn write_findings(out: &mut dyn Write, verified: &Verified) -> io::Result<()> {
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

/// The same for programs.
pub fn verify_json(verified: &Verified) -> impl Serialize + use<> {
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
