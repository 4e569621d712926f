//! Gets the peers that are not there yet, each from its registry and all below `target/bench/peers`; the
//! system is left as it is.
//!
//! Debian's packages are unpacked, not installed, so no rights are needed. What cannot be had is an
//! error whose words go into the report.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::measure::time;
use crate::python::HERMES;
use crate::{Result, workspace};

/// The newest version that builds with the toolchain of this workspace.
const JJ: &str = "0.45.1";

/// borg, and what it needs that a small system may not have.
const BORG_PACKAGES: [&str; 8] = [
    "borgbackup",
    "python3-msgpack",
    "python3-packaging",
    "python3-pkg-resources",
    "python3-pyparsing",
    "libacl1",
    "liblz4-1",
    "libxxhash0",
];

/// Debian's own Python, for which borg's package is built.
const DEBIAN_PYTHON: &str = "/usr/bin/python3";

/// The error for the report, which is no place for paths; the details go to whoever runs this.
fn named<T>(name: &str, found: Result<T>) -> Result<T> {
    found.map_err(|error| {
        eprintln!("── {name}: {error}");
        format!("{name}, which could not be installed").into()
    })
}

/// restic, from Debian.
pub fn restic(peers: &Path) -> Result<PathBuf> {
    let unpacked = unpacked(peers, "restic", &["restic"]);
    let found = unpacked.and_then(|place| works(place.join("usr/bin/restic"), "version"));
    named("restic", found)
}

/// borg, from Debian.
pub fn borg(peers: &Path) -> Result<Borg> {
    let found = unpacked(peers, "borg", &BORG_PACKAGES).and_then(|unpacked| {
        let borg = Borg { unpacked };
        time(borg.command().arg("--version"))?;
        Ok(borg)
    });
    named("borg", found)
}

/// A borg that is unpacked somewhere.
pub struct Borg {
    unpacked: PathBuf,
}

impl Borg {
    /// The program, which finds what was unpacked beside it.
    pub fn command(&self) -> Command {
        let library = self.unpacked.join("usr/lib");
        let shared = format!("{}-linux-gnu", std::env::consts::ARCH);
        let mut command = Command::new(DEBIAN_PYTHON);
        command
            .arg(self.unpacked.join("usr/bin/borg"))
            .env("PYTHONPATH", library.join("python3/dist-packages"))
            .env("LD_LIBRARY_PATH", library.join(shared));
        command
    }
}

/// jj, built from crates.io. That takes long, once.
pub fn jj(peers: &Path) -> Result<PathBuf> {
    named("jj", build_jj(peers))
}

fn build_jj(peers: &Path) -> Result<PathBuf> {
    let (place, build) = (peers.join("jj"), peers.join("jj-build"));
    let program = place.join("bin/jj");
    if !program.exists() {
        let mut install = workspace::cargo()?;
        install
            .args(["install", "jj-cli", "--version", JJ])
            .args(["--locked", "--bin", "jj", "--root"])
            .arg(&place)
            .env("CARGO_TARGET_DIR", &build);
        workspace::run(&mut install)?;
    }
    if build.exists() {
        fs::remove_dir_all(build)?;
    }
    works(program, "--version")
}

/// A Python that has Hermes Agent, from PyPI.
pub fn hermes(peers: &Path) -> Result<PathBuf> {
    named("hermes-agent", install_hermes(peers))
}

fn install_hermes(peers: &Path) -> Result<PathBuf> {
    let place = peers.join("hermes");
    let python = place.join("bin/python");
    let imports = |python: &Path| {
        let mut command = Command::new(python);
        command.args(["-c", "import tools.checkpoint_manager"]);
        time(command.env_remove("PYTHONPATH"))
    };
    if imports(&python).is_err() {
        workspace::run(Command::new("python3").args(["-m", "venv"]).arg(&place))?;
        let quietly = ["-m", "pip", "install", "--quiet", HERMES];
        workspace::run(Command::new(&python).args(quietly))?;
        imports(&python)?;
    }
    Ok(python)
}

fn works(program: PathBuf, ask: &str) -> Result<PathBuf> {
    time(Command::new(&program).arg(ask))?;
    Ok(program)
}

/// A directory into which these packages of Debian are unpacked.
fn unpacked(peers: &Path, name: &str, packages: &[&str]) -> Result<PathBuf> {
    let (place, done) = (peers.join(name), peers.join(format!("{name}.unpacked")));
    if done.exists() {
        return Ok(place);
    }
    let archives = peers.join(format!("{name}-archives"));
    fs::create_dir_all(&archives)?;
    let mut download = Command::new("apt-get");
    download.args(["--quiet=2", "download"]).args(packages);
    workspace::run(download.current_dir(&archives))?;
    for entry in fs::read_dir(&archives)? {
        time(Command::new("dpkg").arg("-x").arg(entry?.path()).arg(&place))?;
    }
    fs::remove_dir_all(archives)?;
    fs::write(done, "")?;
    Ok(place)
}
