//! `cargo xtask power`: power cuts while the real program works, and the same for git and the original's method.
//!
//! A small ext4 file system in a file is mounted in a mount namespace of its own. Store and projects lie on it;
//! writers save, take steps, restore, undo, prune and collect. At some moment the file system loses everything
//! that was not on disk, is mounted again, and looked at. What was acknowledged is remembered outside of it.
//!
//! A test that cannot fail proves nothing: the control does the same with every sync made to do nothing, and has
//! to fail. The seed makes the choices of the writers and of the moment the same again, but not the time that
//! things take.

mod check;
mod content;
mod cuts;
mod disk;
mod ledger;
mod method;
mod peers;
mod race;
mod report;
mod world;
mod writer;

use std::path::PathBuf;
use std::process::Command;

use cuts::Setup;
use disk::{Disk, Mount};
use report::{print_heads, print_row, print_summary};
use world::Program;

use crate::{Result, workspace};

/// The first argument of the process that lives in the mount namespace.
const INSIDE: &str = "--inside";
/// Of a hundred cuts without syncs so many have to be found out, or the test sees nothing.
const CONTROL_PERCENT: usize = 90;

struct Options {
    is_inside: bool,
    cuts: usize,
    control: usize,
    mounts: Vec<Mount>,
    herma: Option<PathBuf>,
    peers: bool,
    seed: u64,
    on: PathBuf,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self> {
        let mut options = Self {
            is_inside: false,
            cuts: 100,
            control: 20,
            mounts: Mount::ALL.to_vec(),
            herma: None,
            peers: false,
            seed: 1,
            on: std::env::temp_dir(),
        };
        let mut args = args.iter();
        while let Some(name) = args.next() {
            match name.as_str() {
                INSIDE => options.is_inside = true,
                "--peers" => options.peers = true,
                _ => {
                    let value = args.next().ok_or_else(|| format!("{name} needs a value"))?;
                    options.set(name, value)?;
                }
            }
        }
        Ok(options)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "--cuts" => self.cuts = value.parse()?,
            "--control" => self.control = value.parse()?,
            "--seed" => self.seed = value.parse()?,
            "--on" => self.on = PathBuf::from(value).canonicalize()?,
            "--herma" => self.herma = Some(PathBuf::from(value).canonicalize()?),
            "--mount" => {
                let mount = Mount::named(value);
                self.mounts = vec![mount.ok_or_else(|| format!("power: no mount {value}"))?];
            }
            _ => return Err(format!("power: unknown option {name}").into()),
        }
        Ok(())
    }

    fn program(&self) -> Result<Program> {
        let path = match &self.herma {
            Some(path) => path.clone(),
            None => {
                workspace::run(workspace::cargo()?.args(["build", "--release", "-p", "herma"]))?;
                workspace::target()?.join("release/herma")
            }
        };
        Ok(Program { path, without_syncs: false })
    }
}

/// Runs the cuts that were asked for, and fails if anything was lost.
pub fn run(args: &[String]) -> Result<()> {
    let options = Options::parse(args)?;
    if !options.is_inside {
        return enter(args);
    }
    if let Err(error) = try_mount(&options) {
        eprintln!("SKIPPED: no file system can be made, mounted and cut off here: {error}");
        return Ok(());
    }
    let program = options.program()?;
    println!("seed {}, image on {}", options.seed, options.on.display());
    if options.peers {
        return peers::run(&program, &options.on, &options.mounts, options.cuts, options.seed);
    }
    print_heads();
    let mut is_good = true;
    for mount in &options.mounts {
        is_good &= run_mount(&options, &program, *mount)?;
    }
    if is_good { Ok(()) } else { Err("power cuts did harm, or the control did none".into()) }
}

/// Starts this program once more, where its mounts are nobody else's.
fn enter(args: &[String]) -> Result<()> {
    if !rustix::process::geteuid().is_root() {
        eprintln!(
            "SKIPPED: power cuts need root, for `unshare -m`, loop devices and the cut itself"
        );
        return Ok(());
    }
    let mut command = Command::new("unshare");
    command.args(["-m", "--propagation", "private"]);
    command.arg(std::env::current_exe()?).args(["power", INSIDE]);
    let status = command.args(args).status()?;
    if status.success() { Ok(()) } else { Err(format!("power: {status}").into()) }
}

fn try_mount(options: &Options) -> Result<()> {
    let directory = tempfile::tempdir_in(&options.on)?;
    let disk = Disk::new(directory.path(), Mount::Ordered)?;
    disk.format()?;
    disk.cut()?;
    disk.unmount()
}

/// The cuts of one way to mount, and their control. Returns whether both went as they must.
fn run_mount(options: &Options, program: &Program, mount: Mount) -> Result<bool> {
    let mut setup = Setup {
        program: program.clone(),
        mount,
        on: &options.on,
        cuts: options.cuts,
        seed: options.seed,
    };
    let tally = cuts::run(&setup)?;
    print_row(mount, "herma", &tally);
    if options.control == 0 || !has_strace() {
        eprintln!("SKIPPED: the control without syncs, which needs strace and `--control`");
        print_summary(mount, &tally, None);
        return Ok(tally.bad == 0);
    }
    setup.program.without_syncs = true;
    setup.cuts = options.control;
    let control = cuts::run(&setup)?;
    print_row(mount, "syncs do nothing", &control);
    print_summary(mount, &tally, Some(&control));
    let is_seen = control.bad * 100 >= control.cuts * CONTROL_PERCENT;
    Ok(tally.bad == 0 && is_seen)
}

fn has_strace() -> bool {
    let tried = Command::new("strace").arg("-V").output();
    tried.is_ok_and(|output| output.status.success())
}
