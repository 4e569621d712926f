//! One file of a gigabyte that nothing makes smaller, saved, changed at one place, and saved again.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use herma_testkit::random::Random;

use crate::Result;
use crate::bench::disk;
use crate::bench::peers::{Borg, Git, Herma, HermaKind, Peer, Places, Restic};
use crate::bench::results::Recorder;

pub const SUBJECT: &str = "big file";
pub const FIRST: &str = "first save of 1 GiB";
pub const CHANGED: &str = "save, 1 GiB changed at one place";
pub const GROWTH: &str = "what the change added to the store";

const SIZE: u64 = 1 << 30;
const ROUNDS: usize = 2;

/// Measures below `place`.
pub fn measure(places: &Places, place: &Path) -> Result<Recorder> {
    let root = place.join("big-file");
    disk::make_anew(&root)?;
    let path = root.join("file.bin");
    write_random(&path)?;
    let mut record = Recorder::new(SUBJECT);
    record.about("one file of 1 GiB of random bytes, 4 KiB of it changed in place");
    let mut peers: Vec<Box<dyn Peer>> = vec![Box::new(Herma::new(places, &root, HermaKind::Plain))];
    join(&mut peers, &mut record, Git::new(places, &root));
    join(&mut peers, &mut record, Restic::new(places, &root));
    join(&mut peers, &mut record, Borg::new(places, &root));
    for peer in &mut peers {
        eprintln!("── a big file: {}", peer.name());
        record.program(peer.version()?);
        peer.prepare()?;
        record.time(FIRST, peer.name(), peer.first()?);
    }
    for round in 1..=ROUNDS {
        eprintln!("── a big file, changed, round {round} of {ROUNDS}");
        let file = OpenOptions::new().write(true).open(&path)?;
        let bytes = Random::new(round as u64).bytes(4096);
        file.write_all_at(&bytes, SIZE / 4 * round as u64)?;
        drop(file);
        for peer in &mut peers {
            let before = peer.size()?;
            record.time(CHANGED, peer.name(), peer.save()?);
            let added = peer.size()?.saturating_sub(before);
            record.bytes(GROWTH, peer.name(), added);
        }
    }
    for peer in &mut peers {
        peer.prepare()?;
    }
    std::fs::remove_dir_all(root)?;
    Ok(record)
}

fn join(peers: &mut Vec<Box<dyn Peer>>, record: &mut Recorder, peer: Result<impl Peer + 'static>) {
    match peer {
        Ok(peer) => peers.push(Box::new(peer)),
        Err(error) => record.note(format!("left out: {error}")),
    }
}

fn write_random(path: &Path) -> Result<()> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut random = Random::new(1);
    for _ in 0..SIZE / 8 {
        file.write_all(&random.next_number().to_le_bytes())?;
    }
    Ok(file.flush()?)
}
