//! What does it cost to open an old state in a directory of its own? Beside `cp -a` of the same tree, where files are copied and
//! where the file system can share their blocks.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::Result;
use crate::bench::measure::time;
use crate::bench::peers::{HermaKind, Places};
use crate::bench::results::Recorder;
use crate::bench::{disk, tree};
use crate::filesystems::Mounted;

pub const SUBJECT: &str = "copies";
pub const HERMA: &str = HermaKind::Plain.name();
pub const CP: &str = "cp -a";
pub const COPIED: &str = "80,000 files, copied";
pub const SHARED: &str = "80,000 files on btrfs, blocks shared";

const FILES: usize = 80_000;
const IMAGE_BYTES: u64 = 12 << 30;

/// Measures below `place`, and in a btrfs of its own where one can be mounted.
pub fn measure(places: &Places, place: &Path, rounds: usize) -> Result<Recorder> {
    let mut record = Recorder::new(SUBJECT);
    record.about(
        "a directory made of the newest checkpoint, nothing changed since; a first round warms up",
    );
    in_turns(&mut record, places, &place.join("copies"), rounds, COPIED, "--reflink=never")?;
    let image = place.join("copies-image");
    disk::make_anew(&image)?;
    match Mounted::of("btrfs", &image, IMAGE_BYTES) {
        Ok(mounted) => {
            let at = mounted.at.join("copies");
            in_turns(&mut record, places, &at, rounds, SHARED, "--reflink=always")?;
        }
        Err(error) => record.note(format!("btrfs: {error}")),
    }
    disk::make_anew(&image)?;
    Ok(record)
}

fn in_turns(
    record: &mut Recorder,
    places: &Places,
    place: &Path,
    rounds: usize,
    work: &str,
    reflink: &str,
) -> Result<()> {
    let (root, home) = (place.join("tree"), place.join("home"));
    disk::make_anew(place)?;
    tree::ensure(&root, FILES)?;
    let herma = |words: &[&str]| {
        let mut command = Command::new(&places.herma);
        command.current_dir(&root).arg("--root").arg(&root).args(words);
        command.env("HERMES_HOME", &home).env("HERMA_NO_BACKGROUND", "1");
        command
    };
    time(&mut herma(&["save"]))?;
    for round in 0..=rounds {
        let made = |command: &mut Command, to: &Path| -> Result<Duration> {
            let taken = time(command)?;
            std::fs::remove_dir_all(to)?;
            Ok(taken)
        };
        let (opened, copied) = (place.join("opened"), place.join("copied"));
        let own = made(herma(&["open", "1"]).arg(&opened), &opened)?;
        time(&mut herma(&["open", "--clean"]))?;
        let peer = made(Command::new("cp").args(["-a", reflink]).arg(&root).arg(&copied), &copied)?;
        if round > 0 {
            record.time(work, HERMA, own);
            record.time(work, CP, peer);
        }
    }
    disk::make_anew(place)
}
