//! `cargo xtask serve-load`: many clients on one `herma serve`, for long enough to see what grows.
//!
//! First every client changes files and asks for checkpoints, steps, lists and comparisons. Every checkpoint that
//! was answered as new must be in the list afterwards, and git must find nothing wrong with the store. What the
//! engine needs grows with the history meanwhile, as it does for whoever asks; so the memory of the server is
//! judged in a second run of as many calls that leave the history as it is: it must not grow from the first half
//! to the second.

use std::collections::BTreeSet;
use std::fs;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::path::PathBuf;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use serde_json::Value;
use serde_json::json;

use crate::Result;
use crate::workspace;

/// So much more memory the second half may have than the first: the allocator's own ups and downs.
const ROOM: u64 = 8 << 20;
/// Files that are there besides those the clients change.
const FILES: usize = 500;

struct Options {
    clients: usize,
    calls: usize,
    herma: Option<PathBuf>,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self> {
        let mut options = Self {
            clients: 8,
            calls: 500,
            herma: None,
        };
        let mut args = args.iter();
        while let Some(name) = args.next() {
            let value = args.next().ok_or_else(|| format!("{name} needs a value"))?;
            match name.as_str() {
                "--clients" => options.clients = value.parse()?,
                "--calls" => options.calls = value.parse()?,
                "--herma" => options.herma = Some(PathBuf::from(value).canonicalize()?),
                _ => return Err(format!("serve-load: unknown option {name}").into()),
            }
        }
        Ok(options)
    }
}

/// What clients do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Run {
    /// Change files, save, look.
    Changing,
    /// Ask for saves where nothing changed, and look.
    Looking,
}

/// What one client did.
#[derive(Default)]
struct Done {
    made: BTreeSet<String>,
    times: Vec<(&'static str, Duration)>,
}

/// Runs the load and says what came of it.
pub fn run(args: &[String]) -> Result<()> {
    let options = Options::parse(args)?;
    let herma = match &options.herma {
        Some(program) => program.clone(),
        None => {
            workspace::run(workspace::cargo()?.args(["build", "--release", "-p", "herma"]))?;
            workspace::target()?.join("release/herma")
        }
    };
    let place = workspace::target()?.join("serve-load");
    prepare(&place)?;
    let mut server = start(&herma, &place)?;
    let outcome = both_runs(&options, &place, server.id());
    server.kill()?;
    server.wait()?;
    outcome?;
    check_store(&place)
}

fn both_runs(options: &Options, place: &Path, server: u32) -> Result<()> {
    let (done, samples) = load(options, place, server, Run::Changing)?;
    println!("while the history grows:");
    report(&done);
    let _ = halves(&samples);
    check_nothing_is_lost(place, &done)?;
    let (done, samples) = load(options, place, server, Run::Looking)?;
    println!("with the history as it is then:");
    report(&done);
    let (first, second) = halves(&samples);
    if second > first + ROOM {
        return Err("the server's memory grows".into());
    }
    Ok(())
}

fn prepare(place: &Path) -> Result<()> {
    if place.exists() {
        fs::remove_dir_all(place)?;
    }
    fs::create_dir_all(place.join("project"))?;
    fs::create_dir_all(place.join("home"))?;
    fs::set_permissions(place, fs::Permissions::from_mode(0o700))?;
    for number in 0..FILES {
        let text = format!("{number}\n").repeat(100);
        fs::write(place.join(format!("project/file-{number}.txt")), text)?;
    }
    // Nothing is to be cleaned up meanwhile: every checkpoint must be there at the end.
    let settings =
        "checkpoints:\n  max_snapshots: 0\n  max_total_size_mb: 0\n  auto_prune: false\n";
    Ok(fs::write(place.join("home/config.yaml"), settings)?)
}

fn start(herma: &Path, place: &Path) -> Result<Child> {
    let server = Command::new(herma)
        .args(["serve", "--socket", "s", "--home"])
        .arg(place.join("home"))
        .current_dir(place)
        .stderr(Stdio::null())
        .spawn()?;
    let deadline = Instant::now() + Duration::from_secs(30);
    while UnixStream::connect(place.join("s")).is_err() {
        if Instant::now() > deadline {
            return Err("the server does not listen".into());
        }
        thread::sleep(Duration::from_millis(10));
    }
    Ok(server)
}

/// All clients at once, with the memory of the server looked at meanwhile.
fn load(options: &Options, place: &Path, server: u32, run: Run) -> Result<(Vec<Done>, Vec<u64>)> {
    let calls = AtomicUsize::new(0);
    let all = options.clients * options.calls;
    thread::scope(|scope| {
        let clients: Vec<_> = (0..options.clients)
            .map(|number| {
                let calls = &calls;
                scope.spawn(move || {
                    let done = work(place, number, options.calls, run, calls);
                    done.map_err(|error| format!("client {number}: {error}"))
                })
            })
            .collect();
        let mut samples = Vec::new();
        while clients.iter().any(|client| !client.is_finished()) {
            // The first tenth warms up: threads and caches come into being.
            if calls.load(Ordering::Relaxed) * 10 > all {
                samples.push(resident_bytes(server)?);
            }
            thread::sleep(Duration::from_millis(100));
        }
        let mut done = Vec::new();
        for client in clients {
            done.push(client.join().map_err(|_| "a client panicked")??);
        }
        Ok((done, samples))
    })
}

fn resident_bytes(process: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next());
    Ok(kilobytes.ok_or("no VmRSS")?.parse::<u64>()? * 1024)
}

/// One connection.
struct Client {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
    times: Vec<(&'static str, Duration)>,
}

impl Client {
    fn connect(place: &Path) -> Result<Self> {
        let writer = UnixStream::connect(place.join("s"))?;
        let reader = BufReader::new(writer.try_clone()?);
        Ok(Self {
            reader,
            writer,
            times: Vec::new(),
        })
    }

    fn call(&mut self, method: &'static str, params: &Value) -> Result<Value> {
        let begun = Instant::now();
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        writeln!(self.writer, "{request}")?;
        let mut line = String::new();
        self.reader.read_line(&mut line)?;
        let mut answer: Value = serde_json::from_str(&line)?;
        if answer.get("error").is_some() {
            return Err(format!("{method}: {line}").into());
        }
        self.times.push((method, begun.elapsed()));
        Ok(answer["result"].take())
    }
}

/// One client's calls.
fn work(
    place: &Path,
    number: usize,
    calls: usize,
    run: Run,
    counter: &AtomicUsize,
) -> Result<Done> {
    let mut client = Client::connect(place)?;
    client.call("open", &json!({"root": place.join("project")}))?;
    let file = place.join(format!("project/client-{number}.txt"));
    let mut made = BTreeSet::new();
    for round in 0..calls {
        if run == Run::Changing {
            fs::write(&file, format!("{number} {round}\n"))?;
        }
        let call = format!("{number}-{}", round / 5);
        let (method, params) = match round % 5 {
            2 if run == Run::Looking => ("show", json!({"checkpoint": 1})),
            3 if run == Run::Looking => ("status", json!({})),
            0 => ("ensure_checkpoint", json!({"reason": call})),
            1 => ("list", json!({"limit": 20})),
            2 => ("record_step", json!({"phase": "begin", "call": call})),
            3 => ("record_step", json!({"phase": "end", "call": call})),
            _ => ("diff", json!({"limit": 20})),
        };
        let answer = client.call(method, &params)?;
        if answer["is_new"] == true {
            made.extend(answer["checkpoint"]["id"].as_str().map(str::to_owned));
        }
        counter.fetch_add(1, Ordering::Relaxed);
    }
    Ok(Done {
        made,
        times: client.times,
    })
}

/// The most memory the server had in each half of a run.
fn halves(samples: &[u64]) -> (u64, u64) {
    let (first, second) = samples.split_at(samples.len() / 2);
    let most = |half: &[u64]| half.iter().max().copied().unwrap_or(0);
    let (first, second) = (most(first), most(second));
    let megabytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    println!(
        "memory: {:.1} MB at most in the first half, {:.1} MB in the second",
        megabytes(first),
        megabytes(second)
    );
    (first, second)
}

fn report(done: &[Done]) {
    let all = done.iter().flat_map(|one| &one.times);
    let methods: BTreeSet<&str> = all.clone().map(|(method, _)| *method).collect();
    for method in methods {
        let mut times: Vec<Duration> = all
            .clone()
            .filter(|(name, _)| *name == method)
            .map(|(_, time)| *time)
            .collect();
        times.sort_unstable();
        let at = |part: usize| {
            times[(times.len() * part / 100).min(times.len() - 1)].as_secs_f64() * 1e3
        };
        println!(
            "{method:<18} {:>6} calls   p50 {:>8.1} ms   p99 {:>8.1} ms",
            times.len(),
            at(50),
            at(99)
        );
    }
    let made: usize = done.iter().map(|one| one.made.len()).sum();
    println!("{made} checkpoints made");
}

/// Every checkpoint that was answered as new is in the list.
fn check_nothing_is_lost(place: &Path, done: &[Done]) -> Result<()> {
    let mut client = Client::connect(place)?;
    let root = place.join("project");
    let mut listed = BTreeSet::new();
    let mut has_more = true;
    while has_more {
        let params = json!({"root": root, "offset": listed.len(), "limit": 1000});
        let part = client.call("list", &params)?;
        let ids = part["checkpoints"].as_array().into_iter().flatten();
        listed.extend(ids.filter_map(|one| one["id"].as_str().map(str::to_owned)));
        has_more = part["more"] == true;
    }
    let made: BTreeSet<&String> = done.iter().flat_map(|one| &one.made).collect();
    match made.iter().filter(|id| !listed.contains(**id)).count() {
        0 => Ok(()),
        lost => Err(format!("{lost} of {} checkpoints are lost", made.len()).into()),
    }
}

/// Git finds nothing wrong with the store.
fn check_store(place: &Path) -> Result<()> {
    let store = place.join("home/checkpoints/store");
    workspace::run(Command::new("git").arg("--git-dir").arg(store).args([
        "fsck",
        "--strict",
        "--no-dangling",
    ]))
}
