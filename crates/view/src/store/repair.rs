//! What a repair put right, and what stays damaged.

use std::io;
use std::io::Write;

use herma_core::{ObjectId, Repaired};
use herma_store::path::escape;

use super::place;
use super::verify::verify_json;
use crate::json::{PathJson, Serialize, list, object};
use crate::listing::{counted, short_id};
use crate::units::size;

/// What was done and what was found afterwards, for programs.
pub fn repair_json(repaired: &Repaired) -> impl Serialize + use<> {
    object! {
        schema: "herma.checkpoints-repair/2",
        changed: repaired.has_changed(),
        bytes_freed: repaired.bytes_freed,
        settings: repaired.settings,
        excludes: repaired.excludes,
        indexes: list(repaired.indexes.iter().map(|index| object! {
            pack: index.pack.clone(),
            objects: index.objects,
        })),
        salvaged: list(repaired.salvaged.iter().map(|one| object! {
            pack: one.pack.clone(),
            saved: one.saved,
            set_aside: one.set_aside.clone(),
        })),
        stored_again: repaired.stored_again,
        packs_brought_back: repaired.packs.clone(),
        files: list(repaired.files.iter().map(|one| object! {
            file: one.file.clone(),
            what: one.what.clone(),
            set_aside: one.set_aside.clone(),
        })),
        refs: list(repaired.refs.iter().map(|one| object! {
            name: one.name.clone(),
            number: one.number,
            set_aside: one.set_aside.clone(),
            recovered: one.recovered.map(ObjectId::to_hex),
        })),
        records: list(repaired.records.iter().map(|record| object! {
            project: record.project.to_string(),
            what: record.what.clone(),
            set_aside: record.set_aside.clone(),
            workdir: record.workdir.as_deref().map(PathJson::of),
        })),
        after: verify_json(&repaired.after),
    }
}

/// Says what was done.
pub fn write_done(out: &mut dyn Write, repaired: &Repaired) -> io::Result<()> {
    if repaired.settings || repaired.excludes {
        writeln!(out, "Completed the store's configuration.")?;
    }
    if repaired.bytes_freed > 0 {
        let freed = size(repaired.bytes_freed);
        writeln!(out, "Removed what a killed clearing had left: {freed}.")?;
    }
    for index in &repaired.indexes {
        let objects = counted(index.objects, "object");
        writeln!(out, "Made the index of {} again: {objects}.", index.pack)?;
    }
    for one in &repaired.salvaged {
        let saved = counted(one.saved, "object");
        writeln!(out, "Set {} aside, which is damaged; saved {saved} out of it.", one.pack)?;
        write_old(out, Some(&one.set_aside))?;
    }
    if repaired.stored_again > 0 {
        let objects = counted(repaired.stored_again, "object");
        writeln!(
            out,
            "Stored {objects} again that were lost and that projects on disk still have."
        )?;
    }
    for pack in &repaired.packs {
        writeln!(out, "Brought {pack} back out of the trash.")?;
    }
    for one in &repaired.files {
        let text = format!("Mended {}: {}.", one.file, one.what);
        writeln!(out, "{}", escape(text.as_bytes()))?;
        write_old(out, one.set_aside.as_deref())?;
    }
    for one in &repaired.refs {
        let name = escape(one.name.as_bytes());
        match one.recovered {
            Some(id) => writeln!(out, "Made {name} again: it names {}.", short_id(id, 7))?,
            None if one.set_aside.is_none() => {
                writeln!(out, "{name} was lost, and what it named is not in the store any more.")?;
            }
            None => writeln!(out, "Set {name} aside: nobody knows which checkpoint it named.")?,
        }
        write_old(out, one.set_aside.as_deref())?;
    }
    for record in &repaired.records {
        let of = place(record.workdir.as_deref(), &record.project);
        let what = escape(record.what.as_bytes());
        writeln!(out, "Wrote the record of {of} again: {what}.")?;
        write_old(out, Some(&record.set_aside))?;
    }
    if !repaired.has_changed() {
        writeln!(out, "There was nothing to mend.")?;
    }
    Ok(())
}

/// Says where what was replaced is now.
fn write_old(out: &mut dyn Write, set_aside: Option<&str>) -> io::Result<()> {
    match set_aside {
        Some(place) => writeln!(out, "  the old file is {}", escape(place.as_bytes())),
        None => Ok(()),
    }
}
