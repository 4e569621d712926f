//! Random changes of every kind a program makes. What cannot be done is not done.

use std::fs;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::path::PathBuf;

use herma_testkit::random::Random;

const IGNORED: [&str; 4] = ["d0/\n", "f1\n", "*2\n", "!f1\n"];

/// Changes the project so many times.
pub fn random(root: &Path, outside: &Path, seed: u64, count: usize) {
    let mut random = Random::new(seed);
    for number in 0..count {
        let text = format!("{seed} {number}\n");
        // Two threads are in each other's way, and that is part of it.
        let _ = one(root, outside, &mut random, &text);
    }
}

fn directory(root: &Path, random: &mut Random) -> PathBuf {
    let depth = random.below(4);
    (0..depth).fold(root.to_owned(), |path, _| {
        path.join(format!("d{}", random.below(3)))
    })
}

fn file(root: &Path, random: &mut Random) -> PathBuf {
    directory(root, random).join(format!("f{}", random.below(4)))
}

fn one(root: &Path, outside: &Path, random: &mut Random, text: &str) -> std::io::Result<()> {
    let path = file(root, random);
    let dir = directory(root, random);
    match random.below(18) {
        0 | 1 => fs::write(&path, text),
        2 => OpenOptions::new()
            .append(true)
            .open(&path)?
            .write_all(text.as_bytes()),
        3 => OpenOptions::new()
            .write(true)
            .open(&path)?
            .set_len(random.below(9) as u64),
        4 => {
            let new = path.with_extension("new");
            fs::write(&new, text)?;
            fs::rename(new, &path)
        }
        5 | 6 => {
            fs::create_dir_all(&dir)?;
            fs::write(dir.join("f0"), text)
        }
        7 if dir != root => fs::remove_dir_all(&dir),
        8 => fs::remove_file(&path),
        9 if dir != root => fs::rename(&dir, directory(root, random)),
        10 if dir != root => fs::rename(&dir, outside.join(format!("o{}", random.below(4)))),
        11 => fs::rename(outside.join(format!("o{}", random.below(4))), &dir),
        12 => {
            let mode = *random.pick(&[0o644, 0o755, 0o600]);
            fs::set_permissions(&path, PermissionsExt::from_mode(mode))
        }
        13 => {
            let mode = *random.pick(&[0o755, 0o700, 0o750]);
            fs::set_permissions(&dir, PermissionsExt::from_mode(mode))
        }
        14 => symlink(text.trim(), &path),
        15 => fs::write(
            directory(root, random).join(*random.pick(&[".gitignore", ".hermaignore"])),
            random.pick(&IGNORED),
        ),
        16 => fs::hard_link(&path, file(root, random)),
        _ => fs::rename(&path, file(root, random)),
    }
}
