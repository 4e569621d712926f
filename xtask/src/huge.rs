//! `cargo xtask huge`: projects beyond all measure, saved and brought back within little memory.
//!
//! A million files in a hundred thousand directories, a hundred thousand in one, directories two thousand deep
//! with paths no system call takes, and one file of 20 GiB that is mostly a hole. Each is made in a temporary
//! directory (`TMPDIR`; in memory it goes faster) and removed again. What a command needs at its peak is
//! held against [`MAX_MEMORY_BYTES`].

use std::fs;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rustix::fs::{CWD, Mode, OFlags};

use crate::{Result, bench, workspace};

/// No command may have more than this at any time.
const MAX_MEMORY_BYTES: u64 = 300 << 20;
const FILES_OF_A_DIRECTORY: usize = 10;
/// Directories in one directory.
const DIRECTORIES_OF_A_DIRECTORY: usize = 100;
const IN_ONE_DIRECTORY: usize = 100_000;
const LEVELS: usize = 2000;
/// Files that are taken away and brought back.
const LOST: usize = 100;

struct Options {
    files: usize,
    sparse: u64,
    herma: Option<PathBuf>,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self> {
        let mut options = Self { files: 1_000_000, sparse: 20, herma: None };
        let mut args = args.iter();
        while let Some(name) = args.next() {
            let value = args.next().ok_or_else(|| format!("{name} needs a value"))?;
            match name.as_str() {
                "--files" => options.files = value.parse()?,
                "--sparse-gib" => options.sparse = value.parse()?,
                "--herma" => options.herma = Some(PathBuf::from(value).canonicalize()?),
                _ => return Err(format!("huge: unknown option {name}").into()),
            }
        }
        Ok(options)
    }
}

/// Does it all and prints a table.
pub fn run(args: &[String]) -> Result<()> {
    let options = Options::parse(args)?;
    let herma = match &options.herma {
        Some(program) => program.clone(),
        None => {
            workspace::run(workspace::cargo()?.args(["build", "--release", "-p", "herma"]))?;
            workspace::target()?.join("release/herma")
        }
    };
    let mut most = 0;
    println!("| project | command | seconds | peak memory, MiB |");
    println!("|---|---|---|---|");
    for scene in [many_files, one_directory, deep, sparse] {
        most = most.max(scene(&herma, &options)?);
    }
    if most > MAX_MEMORY_BYTES {
        return Err(format!("{} MiB are more than allowed", most >> 20).into());
    }
    Ok(())
}

/// A project with a home of its own.
struct Huge {
    name: String,
    place: tempfile::TempDir,
    herma: PathBuf,
    most: u64,
}

impl Huge {
    fn new(name: String, herma: &Path) -> Result<Self> {
        let place = tempfile::tempdir()?;
        fs::create_dir(place.path().join("project"))?;
        fs::create_dir(place.path().join("home"))?;
        let settings = "checkpoints:\n  max_file_size_mb: 0\n  max_total_size_mb: 0\n";
        fs::write(place.path().join("home/config.yaml"), settings)?;
        Ok(Self { name, place, herma: herma.to_owned(), most: 0 })
    }

    fn root(&self) -> PathBuf {
        self.place.path().join("project")
    }

    /// Runs `herma` with these arguments and prints what it took.
    fn herma(&mut self, what: &str, args: &[&str]) -> Result<()> {
        let mut command = Command::new(&self.herma);
        command
            .current_dir(self.root())
            .env("HERMES_HOME", self.place.path().join("home"))
            .env("HERMA_NO_BACKGROUND", "1")
            .args(args);
        let start = Instant::now();
        let memory = bench::peak_memory(&command)?;
        let seconds = start.elapsed().as_secs_f64();
        let mebibytes = memory as f64 / f64::from(1 << 20);
        println!("| {} | {what} | {seconds:.1} | {mebibytes:.0} |", self.name);
        self.most = self.most.max(memory);
        Ok(())
    }

    fn save(&mut self, what: &str) -> Result<()> {
        self.herma(what, &["save", "-m", "huge"])
    }

    fn restore(&mut self, what: &str) -> Result<()> {
        self.herma(what, &["restore", "@", "--all"])
    }
}

/// Where file number `number` of a million is.
fn place_of(root: &Path, number: usize) -> PathBuf {
    let directory = number / FILES_OF_A_DIRECTORY;
    let above = directory / DIRECTORIES_OF_A_DIRECTORY;
    root.join(format!("{above:04}/{directory:06}/{number:07}"))
}

fn write_file(root: &Path, number: usize) -> Result<()> {
    let path = place_of(root, number);
    if number.is_multiple_of(FILES_OF_A_DIRECTORY) {
        fs::create_dir_all(path.parent().ok_or("it is in a directory")?)?;
    }
    Ok(fs::write(path, number.to_string())?)
}

/// Fails unless these two are equal.
fn expect<T: PartialEq + std::fmt::Debug>(found: &T, expected: &T, what: &str) -> Result<()> {
    match found == expected {
        true => Ok(()),
        false => Err(format!("{what}: {found:?} instead of {expected:?}").into()),
    }
}

fn many_files(herma: &Path, options: &Options) -> Result<u64> {
    let directories = options.files / FILES_OF_A_DIRECTORY;
    let name = format!("{} files in {directories} directories", options.files);
    let mut huge = Huge::new(name, herma)?;
    let root = huge.root();
    let made: std::result::Result<(), String> =
        (0..directories).into_par_iter().try_for_each(|directory| {
            let first = directory * FILES_OF_A_DIRECTORY;
            let mut files = first..first + FILES_OF_A_DIRECTORY;
            files.try_for_each(|number| write_file(&root, number)).map_err(|e| e.to_string())
        });
    made?;
    huge.save("save")?;
    huge.save("save, nothing changed")?;
    fs::write(place_of(&root, options.files / 2), "changed")?;
    huge.save("save, one file changed")?;
    let lost: Vec<PathBuf> =
        (0..LOST).map(|at| place_of(&root, at * (options.files / LOST))).collect();
    for path in &lost {
        fs::remove_file(path)?;
    }
    huge.restore("restore of 100 files")?;
    let back = lost.iter().filter(|path| path.exists()).count();
    expect(&back, &LOST, "files brought back")?;
    let changed = fs::read(place_of(&root, options.files / 2))?;
    expect(&changed, &b"changed".to_vec(), "the newest checkpoint")?;
    huge.herma("list", &["list"])?;
    Ok(huge.most)
}

fn one_directory(herma: &Path, _: &Options) -> Result<u64> {
    let name = format!("{IN_ONE_DIRECTORY} files in one directory");
    let mut huge = Huge::new(name, herma)?;
    let many = huge.root().join("many");
    fs::create_dir(&many)?;
    for number in 0..IN_ONE_DIRECTORY {
        fs::write(many.join(number.to_string()), b"")?;
    }
    huge.save("save")?;
    fs::remove_dir_all(&many)?;
    huge.restore("restore of all")?;
    let back = fs::read_dir(&many)?.count();
    expect(&back, &IN_ONE_DIRECTORY, "files brought back")?;
    Ok(huge.most)
}

/// Opens the directory that is `levels` levels below.
fn descend(root: &Path, levels: usize, make: bool) -> Result<rustix::fd::OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    let mut dir = rustix::fs::openat(CWD, root, flags, Mode::empty())?;
    for _ in 0..levels {
        if make {
            rustix::fs::mkdirat(&dir, "level", Mode::from_raw_mode(0o755))?;
        }
        dir = rustix::fs::openat(&dir, "level", flags, Mode::empty())?;
    }
    Ok(dir)
}

fn deep(herma: &Path, _: &Options) -> Result<u64> {
    let length = LEVELS * "level/".len();
    let name = format!("{LEVELS} directories deep, paths of {length} bytes");
    let mut huge = Huge::new(name, herma)?;
    let bottom = descend(&huge.root(), LEVELS, true)?;
    let create = OFlags::WRONLY | OFlags::CREATE;
    let file = rustix::fs::openat(&bottom, "file", create, Mode::from_raw_mode(0o644))?;
    rustix::io::write(&file, b"deep\n")?;
    huge.save("save")?;
    // Only the last but one can be named in one call.
    let flags = rustix::fs::AtFlags::empty();
    rustix::fs::unlinkat(&bottom, "file", flags)?;
    huge.restore("restore of the deepest file")?;
    let bottom = descend(&huge.root(), LEVELS, false)?;
    let size = rustix::fs::statat(&bottom, "file", flags)?.st_size;
    expect(&size, &5, "bytes of the deepest file")?;
    Ok(huge.most)
}

fn sparse(herma: &Path, options: &Options) -> Result<u64> {
    let size = options.sparse << 30;
    let mut huge = Huge::new(format!("one sparse file of {} GiB", options.sparse), herma)?;
    let path = huge.root().join("sparse");
    let file = File::create(&path)?;
    file.set_len(size)?;
    file.write_all_at(b"in the middle", size / 2)?;
    drop(file);
    huge.save("save")?;
    huge.save("save, nothing changed")?;
    Ok(huge.most)
}
