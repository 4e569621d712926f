//! What is in the files of a store, whatever their names say and whoever lists them.

use std::io::Read;
use std::path::{Path, PathBuf};

/// As much of a compressed stream is looked at.
const LOOK: u64 = 1 << 16;

/// Every file below a directory that holds these bytes, plain or in a zlib stream that begins anywhere.
pub fn files_holding(directory: &Path, wanted: &[u8]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in std::fs::read_dir(&directory).expect("a directory") {
            let entry = entry.expect("an entry");
            let kind = entry.file_type().expect("a kind");
            if kind.is_dir() {
                pending.push(entry.path());
            } else if kind.is_file() {
                let bytes = std::fs::read(entry.path()).expect("a file that can be read");
                if holds(&bytes, wanted) {
                    found.push(entry.path());
                }
            }
        }
    }
    found.sort();
    found
}

fn holds(bytes: &[u8], wanted: &[u8]) -> bool {
    let has = |bytes: &[u8]| bytes.windows(wanted.len()).any(|part| part == wanted);
    let pairs = bytes.windows(2).enumerate();
    // The first two bytes of a stream: its method, and a checksum over both.
    let mut starts = pairs.filter(|(_, pair)| {
        pair[0] == 0x78 && (u16::from(pair[0]) * 256 + u16::from(pair[1])).is_multiple_of(31)
    });
    has(bytes)
        || starts.any(|(at, _)| {
            let mut inflated = Vec::new();
            let mut stream = flate2::read::ZlibDecoder::new(&bytes[at..]).take(LOOK);
            // What comes before an error counts, too.
            let _ = stream.read_to_end(&mut inflated);
            has(&inflated)
        })
}
