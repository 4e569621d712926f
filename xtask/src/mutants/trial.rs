//! Runs the tests that meet a mutant with it switched on, until the first one fails.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, kill_process_group, prlimit};

use super::switch::{MET, VARIABLE};
use crate::Result;

/// Tests that take less get this long.
const MIN_LIMIT: Duration = Duration::from_secs(30);
/// So long a test may take by itself.
const MAX_ALONE: Duration = Duration::from_secs(120);
/// Some mutants never stop to ask for memory.
const MAX_MEMORY: u64 = 4 << 30;

/// So many of the tests that meet a mutant are run first, the quickest.
const FIRST_TESTS: usize = 24;
/// If these pass, more are run, until they would take longer than this together.
const MAX_TESTING: Duration = Duration::from_secs(60);

/// What the names of all such directories begin with.
const SCRATCH: &str = "herma-mutants-";

/// Where tests write: in memory where there is such a place, since they sync a lot.
fn place() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() }
}

/// A directory for what the tests of one job write.
fn scratch(job: usize) -> PathBuf {
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

/// A test that passes without any mutant.
struct Test {
    program: usize,
    name: String,
    time: Duration,
}

/// The tests, and which of them meet which mutant.
pub struct Trial {
    /// The programs, and the directories they are run in.
    programs: Vec<(PathBuf, PathBuf)>,
    /// By mutant; the quickest come first.
    meeting: HashMap<usize, Vec<Arc<Test>>>,
}

impl Trial {
    /// Runs each test by itself, without a mutant, to see how long it takes and which mutants it meets.
    pub fn prepare(programs: Vec<(PathBuf, PathBuf)>, jobs: usize) -> Result<Self> {
        let mut tests = Vec::new();
        for (number, (program, directory)) in programs.iter().enumerate() {
            tests.extend(names(program, directory)?.into_iter().map(|name| (number, name)));
        }
        let (queue, passed) = (Mutex::new(tests.into_iter()), Mutex::new(Vec::new()));
        in_jobs(jobs, |scratch| {
            let next = || queue.lock().ok()?.next();
            while let Some((program, name)) = next() {
                let begin = Instant::now();
                let tests = [name.as_str()];
                let (fate, met) = run(&programs[program], &tests, 0, MAX_ALONE, scratch)?;
                let test = Test { program, name, time: begin.elapsed() };
                match fate {
                    "missed" => passed.lock().map_err(|e| e.to_string())?.push((test, met)),
                    fate => eprintln!("   without a mutant: {fate} {}", test.name),
                }
            }
            Ok(())
        })?;
        let mut passed = passed.into_inner()?;
        passed.sort_by_key(|(test, _)| test.time);
        let mut meeting = HashMap::<usize, Vec<Arc<Test>>>::new();
        for (test, met) in passed {
            let test = Arc::new(test);
            for number in met {
                meeting.entry(number).or_default().push(Arc::clone(&test));
            }
        }
        Ok(Self { programs, meeting })
    }

    /// What comes of a mutant.
    pub fn run(&self, number: usize, scratch: &Path) -> Result<&'static str> {
        let Some(tests) = self.meeting.get(&number) else { return Ok("missed") };
        let (first, rest) = tests.split_at(tests.len().min(FIRST_TESTS));
        let mut time = Duration::ZERO;
        let rest = rest.iter().take_while(|test| {
            time += test.time;
            time <= MAX_TESTING
        });
        for tests in [first.iter().collect::<Vec<_>>(), rest.collect()] {
            for (at, program) in self.programs.iter().enumerate() {
                let mine = tests.iter().filter(|test| test.program == at);
                let limit = mine.clone().map(|test| test.time).sum::<Duration>() * 5 + MIN_LIMIT;
                let names: Vec<&str> = mine.map(|test| test.name.as_str()).collect();
                match run(program, &names, number, limit, scratch)?.0 {
                    "missed" => {}
                    fate => return Ok(fate),
                }
            }
        }
        Ok("missed")
    }
}

/// The names of the tests in a program.
fn names(program: &Path, directory: &Path) -> Result<Vec<String>> {
    let mut command = Command::new(program);
    let output = command.args(["--list", "--format=terse"]).current_dir(directory).output()?;
    let names = String::from_utf8(output.stdout)?;
    Ok(names.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}

/// Has so many threads do `work`, each with a directory of its own.
pub fn in_jobs(jobs: usize, work: impl Fn(&Path) -> Result<()> + Sync) -> Result<()> {
    let work = |job| work(&scratch(job)).map_err(|error| error.to_string());
    let work = &work;
    std::thread::scope(|scope| {
        let jobs: Vec<_> = (0..jobs).map(|job| scope.spawn(move || work(job))).collect();
        for job in jobs {
            job.join().map_err(|_| "a job panicked")??;
        }
        Ok(())
    })
}

/// Runs some tests of a program with a mutant switched on, until the first one fails. Returns what came of it, and which
/// mutants were met.
fn run(
    (program, directory): &(PathBuf, PathBuf),
    tests: &[&str],
    number: usize,
    limit: Duration,
    scratch: &Path,
) -> Result<(&'static str, Vec<usize>)> {
    if tests.is_empty() {
        return Ok(("missed", Vec::new()));
    }
    fs::create_dir_all(scratch)?;
    let met = scratch.join("met");
    fs::write(&met, "")?;
    // Some tests go on as nobody.
    fs::set_permissions(scratch, Permissions::from_mode(0o1777))?;
    fs::set_permissions(&met, Permissions::from_mode(0o666))?;
    let mut command = Command::new(program);
    command.arg("--exact").args(tests).current_dir(directory).process_group(0);
    command.env("CARGO_MANIFEST_DIR", directory).env("TMPDIR", scratch);
    if number == 0 {
        command.env(MET, &met);
    }
    command.env(VARIABLE, number.to_string()).stdin(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let fate = watch(&mut child, Instant::now() + limit);
    if let Some(group) = Pid::from_raw(child.id().cast_signed()) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    child.wait()?;
    end_all_in(scratch)?;
    let met = fs::read_to_string(&met).unwrap_or_default();
    fs::remove_dir_all(scratch)?;
    let met: BTreeSet<usize> = met.lines().filter_map(|line| line.parse().ok()).collect();
    Ok((fate?, met.into_iter().collect()))
}

/// Waits for the end of a program, for the first of its tests that fails, or for its time to be over.
fn watch(child: &mut Child, end: Instant) -> Result<&'static str> {
    let limit = Rlimit { current: Some(MAX_MEMORY), maximum: Some(MAX_MEMORY) };
    prlimit(Pid::from_raw(child.id().cast_signed()), Resource::Data, limit)?;
    let output = BufReader::new(child.stdout.take().ok_or("no output")?);
    let failed = Arc::new(AtomicBool::new(false));
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
