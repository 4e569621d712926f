//! Runs the tests of a part with one mutant switched on, until the first one fails.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, kill_process_group, prlimit};

use super::switch::VARIABLE;
use crate::Result;

/// Tests that take less get this long.
const MIN_LIMIT: Duration = Duration::from_secs(30);
/// Some mutants never stop to ask for memory.
const MAX_MEMORY: u64 = 4 << 30;

/// A mutant that the tests of its part do not notice is tried with all others, but for those that take seconds each.
const ALL_BUT_LONG: &[&str] = &[
    "--skip=authorship_model::",
    "--skip=cleaning_crowd::",
    "--skip=collect_attacks::of_two",
    "--skip=collect_foreign::very_many",
    "--skip=crafted::a_",
    "--skip=defects_clock::",
    "--skip=defects_upkeep::damaged",
    "--skip=defects_volumes::a_volume",
    "--skip=differential::what_git",
    "--skip=interleavings::",
    "--skip=limits_of_projects::",
    "--skip=mounts::random",
    "--skip=names::ten_thousand",
    "--skip=oracle::",
    "--skip=plain::",
    "--skip=purge_elsewhere::savers",
    "--skip=special::",
    "--skip=step_properties::",
    "--skip=store_files::no_damaged",
];

/// What the names of all such directories begin with.
const SCRATCH: &str = "herma-mutants-";

/// Where tests write: in memory where there is such a place, since they sync a lot.
fn place() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() }
}

/// A directory for what the tests of one job write.
pub fn scratch(job: usize) -> PathBuf {
    place().join(format!("{SCRATCH}{}-{job}", std::process::id()))
}

/// Ends what a run that was killed left behind: some mutants never end by themselves.
pub fn end_leftovers() -> Result<()> {
    for entry in fs::read_dir(place())? {
        let entry = entry?;
        let name = entry.file_name();
        let rest = name.to_str().and_then(|name| name.strip_prefix(SCRATCH));
        let Some((run, _)) = rest.and_then(|rest| rest.split_once('-')) else { continue };
        if !Path::new("/proc").join(run).exists() {
            end_all_in(&entry.path())?;
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// The tests of a part.
pub struct Trial {
    /// The programs, and the directories they are run in.
    programs: Vec<(PathBuf, PathBuf)>,
    filters: &'static [&'static str],
    limit: Duration,
}

impl Trial {
    /// Runs them without any mutant, to see how long they take. They must pass.
    pub fn prepare(
        programs: Vec<(PathBuf, PathBuf)>,
        filters: &'static [&'static str],
        scratch: &Path,
    ) -> Result<Self> {
        let mut trial = Self { programs, filters, limit: Duration::from_secs(900) };
        let begin = Instant::now();
        match trial.run(0, scratch)? {
            "missed" => trial.limit = (begin.elapsed() * 5).max(MIN_LIMIT),
            _ => return Err("the tests fail without a mutant, too".into()),
        }
        Ok(trial)
    }

    /// What comes of a mutant.
    pub fn run(&self, number: usize, scratch: &Path) -> Result<&'static str> {
        match self.run_some(number, scratch, self.filters)? {
            "missed" if !self.filters.is_empty() => self.run_some(number, scratch, ALL_BUT_LONG),
            fate => Ok(fate),
        }
    }

    fn run_some(&self, number: usize, scratch: &Path, which: &[&str]) -> Result<&'static str> {
        let end = Instant::now() + self.limit;
        for (program, directory) in &self.programs {
            fs::create_dir_all(scratch)?;
            // Some tests go on as nobody.
            fs::set_permissions(scratch, Permissions::from_mode(0o1777))?;
            let mut command = Command::new(program);
            command.args(which).current_dir(directory).process_group(0);
            command.env("CARGO_MANIFEST_DIR", directory).env("TMPDIR", scratch);
            command.env(VARIABLE, number.to_string()).stdin(Stdio::null());
            let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
            let fate = watch(&mut child, end);
            if let Some(group) = Pid::from_raw(child.id().cast_signed()) {
                let _ = kill_process_group(group, Signal::KILL);
            }
            child.wait()?;
            end_all_in(scratch)?;
            fs::remove_dir_all(scratch)?;
            match fate? {
                "missed" => {}
                fate => return Ok(fate),
            }
        }
        Ok("missed")
    }
}

/// Waits for the end of a program, for the first of its tests that fails, or for its time to be over.
fn watch(child: &mut Child, end: Instant) -> Result<&'static str> {
    let limit = Rlimit { current: Some(MAX_MEMORY), maximum: Some(MAX_MEMORY) };
    prlimit(Pid::from_raw(child.id().cast_signed()), Resource::Data, limit)?;
    let output = BufReader::new(child.stdout.take().ok_or("no output")?);
    let failed = std::sync::Arc::new(AtomicBool::new(false));
    let seen = failed.clone();
    // Not waited for: what a test left behind may hold the other end.
    std::thread::spawn(move || {
        for line in output.split(b'\n').map_while(std::result::Result::ok) {
            if line.ends_with(b"... FAILED") {
                seen.store(true, Ordering::Relaxed);
            }
        }
    });
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(if status.success() { "missed" } else { "caught" });
        }
        if failed.load(Ordering::Relaxed) {
            return Ok("caught");
        }
        if Instant::now() > end {
            return Ok("timeout");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Ends the processes that left the group of their test: its directory is in their environment.
fn end_all_in(scratch: &Path) -> Result<()> {
    let mine = scratch.as_os_str().as_bytes();
    for entry in fs::read_dir("/proc")? {
        let entry = entry?;
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        if environment.windows(mine.len()).any(|part| part == mine)
            && let Some(process) = Pid::from_raw(id)
        {
            let _ = kill_process(process, Signal::KILL);
        }
    }
    Ok(())
}
