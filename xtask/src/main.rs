//! The project's own chores: `cargo xtask agents`, `demo`, `ci`, `damage`, `bench`, `faults`, `mutants`, `filesystems`, `power`, `huge`, `interleavings`, `fuzz`, `e2e`, `past`, `picture`, `python`, `release`, `rules`, `secrets`, `skips`, `size`,
//! `layout`.

mod bench;
mod ci;
mod damage;
mod demo;
mod e2e;
mod faults;
mod filesystems;
mod fuzz;
mod house;
mod huge;
mod interleavings;
mod mutants;
mod picture;
mod power;
mod python;
mod random_days;
mod release;
mod skips;
mod test_names;
mod workspace;

use std::process::ExitCode;

/// Chores fail with a sentence for the person who started them.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const USAGE: &str = "\
Usage: cargo xtask <COMMAND>

  demo                      Plays the session of the README in a temporary directory
  ci                        Everything a change must pass: format, lints, tests, documents, licences
  faults [--full] [ROW|FILTER…]
                            Rows of the failure table by number or name, or the fault tests of the program whose
                            names contain a filter; --full stops at every single system call (HERMA_FAULT_STEP=1)
                            instead of every 13th, has everything in its full size (HERMA_FAULT_FULL=1), and builds
                            with optimisation
  faults --list             The rows: what goes wrong, what is run, and what that shows
  faults --release          Everything before a release: all rows in full, the crowd ten times, mutants and fuzzing
  mutants [OPTIONS]         Changes one thing after the other in the code that keeps the promises (listed by cargo-mutants, made
                            in a clone of the last commit); its tests must notice 9 of 10. Goes on where the last run stopped
      --sample N            So many of them [default: 600]
      --seed S              Other ones [default: 1]
      --shard K/N           The K-th of N parts of the sample, from 0
      --in-diff FILE        Instead all that are in what this diff changed
      --jobs N              So many at once [default: 2]
  damage                    Deletes, empties, cuts, replaces every file of a store and flips each of its bytes, one at a time, and
                            uses it: no command may lose the last whole copy of a file that is on disk (HERMA_FAULT_FULL=1)
  filesystems               Saves, restores and undos on ext4, xfs, btrfs, tmpfs, overlayfs, exFAT, vfat and ntfs; what
                            cannot be mounted here is named
      --herma PATH          Try this program instead of building one
  power [OPTIONS]           Cuts the power of a file system while Herma works on it, and looks what is left;
                            needs root, loop devices and mkfs.ext4
      --cuts N              Cuts for every way to mount [default: 100]
      --control N           Cuts with every sync made to do nothing, which have to do harm [default: 20]
      --mount MOUNT         Only `ordered`, `noauto_da_alloc` or `writeback`
      --peers               Instead: the same for git and the original's method, and their clean-up beside savers
      --seed N              Other choices [default: 1]
      --on DIR              Where the image of the file system lies [default: the temporary directory]
      --herma PATH          Try this program instead of building one
  e2e [AGENT…] [OPTIONS]    Runs the real agents against a model on loopback and undoes what they did
      --ci                  Only the agents that every change is tried with
      --misbehave           Herma is missing, killed, slow, failing; or two agents work at once
      --bad-days            calls fail, agents are killed, a person says no; --day DAY: only that
      --chat                The agents go on from a conversation that was cut
      --mcp                 No agents: the MCP inspector and library use `herma mcp`
      --bare                Without Herma: only shows that the agents do what the script says
      --agents DIR          Where the agents are, and are installed if not [default: target/agents]
      --keep                Leaves each run's home, project and logs, and says where
      --herma PATH          Try this program instead of building one
  fuzz [TARGET…] [OPTIONS]  Gives every parser input that nobody meant, and keeps what breaks it
      --seconds N           So long each target at most [default: 600]
      --runs N              So many inputs each at most [default: 10000000]
      --jobs N              Targets at once [default: one for each core]
      --resume              Without the targets that got as far in an earlier run
      --replay              Only what is in fuzz/corpus and was found before
      --table               Only prints what came of all targets when they last ran
      --sanitizer           Half as fast, and sees what C libraries do to memory
      --program PATH        Run this program instead of building one
  picture [--check]         Plays a session in a terminal and draws it, for the README; --check fails if it looks different now
  python [OPTIONS]          Builds the Python package, installs it into a new environment, and tests it
      --wheel               An optimised wheel; also checks its size and how long importing it takes
      --module PATH         Test the package with this extension instead of building a wheel
      --hermes              Also one store for the real Hermes and Herma; Hermes comes from the index
  bench [OPTIONS]           Measures Herma beside a bare walk, git, jj, restic, borg and hermes-agent; writes
                            docs/bench and the goals of docs/BENCHMARKS.md
      --only SECTION        Only `saving`, `hooks`, `checkpoints`, `keeping`, `big-file`, `sessions`, `python`, or
                            `report`, which measures nothing (can be repeated) [default: the first four]
      --size SIZE           `small`, `medium`, `large`, `huge` (250, 6,500, 80,000, 1,000,000 files), a number, or `kernel`,
                            Debian's kernel source, which is installed (can be repeated) [default: all but huge]
      --tree PATH           A copy of this tree instead
      --full                Also a million files, a file of 1 GiB, sessions, 10,000 checkpoints, 2,000 states
      --rounds N            Interleaved rounds [default: 11]
      --history PATH        A repository whose last commits are kept [default: a made-up history]
      --sessions N          Sessions that are pruned [default: 300000]
      --without PROGRAM     Leave out `git`, `jj`, `restic`, `borg` or `hermes-agent` (can be repeated)
      --out DIR             Where the results go instead, with a report of their own
      --herma PATH          Measure this program instead of building one
      --before PATH         Also the program of an earlier day, in turns
  secrets DIR…              Counts the files that look like they hold a secret; fails at more than one in a
                            thousand, which in public trees are false hits
  skips FILE                Lists and counts the tests that could not run and wrote so to this file (HERMA_SKIPPED);
                            fails if one is of a ring that .ci/may-skip does not name
  size [--check]            Counts the product's code for the table in docs/ARCHITECTURE.md; --check fails if there is more than may
                            be, or the table is too old
  layout                    Fails if a crate uses another one against the drawing in docs/ARCHITECTURE.md, or modules of a crate
                            need each other in a circle that is not known
  interleavings [OPTIONS]   What threads share, under orders of their steps tried one by one
      --schedules N         Orders for each test [default: 20000]
  release                   Builds the program as it is given away, into target/dist, with its symbols in a file beside it
  past [--cases N]          What is found in the past, beside git in every commit, of random histories
  rules [OPTIONS]           Random days on which ignore files, git's index, branches, settings and limits change between and
                            inside steps: undo leads back, or names what it leaves
      --cases N             So many days [default: 1000]
      --case N              Only this one
  agents [OPTIONS]          Random days on which four agents work at once, in a repository, two worktrees and a nested repository:
                            no line has a wrong author, and undoing a step changes nothing of another
      --cases N             So many days [default: 200]
      --case N              Only this one
  huge [OPTIONS]            Projects beyond all measure: time and memory of saves and restores, below a limit
      --files N             Files of the largest tree [default: 1000000]
      --sparse-gib N        Size of the sparse file [default: 20]
      --herma PATH          Try this program instead of building one
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let rest = args.get(1..).unwrap_or_default();
    let done = match args.first().map(String::as_str) {
        Some("ci") if rest.is_empty() => ci::check_everything(),
        Some("damage") => damage::run(rest),
        Some("demo") if rest.is_empty() => demo::play(),
        Some("faults") => faults::run(rest),
        Some("filesystems") => filesystems::run(rest),
        Some("huge") => huge::run(rest),
        Some("bench") => bench::run(rest),
        Some("secrets") => ci::count_secret_hits(rest),
        Some("e2e") => e2e::run(rest),
        Some("fuzz") => fuzz::run(rest),
        Some("mutants") => mutants::run(rest),
        Some("interleavings") => interleavings::run(rest),
        Some("picture") => picture::run(rest),
        Some("power") => power::run(rest),
        Some("python") => python::check(rest),
        Some("layout") => house::layout::run(rest),
        Some("release") => release::run(rest),
        Some("rules") => random_days::run(&random_days::RULES, rest),
        Some("agents") => random_days::run(&random_days::AGENTS, rest),
        Some("past") => random_days::run(&random_days::PAST, rest),
        Some("size") => house::size::run(rest),
        Some("skips") => skips::run(rest),
        Some(bench::PEAK_MEMORY) => bench::print_peak_memory(rest),
        Some("help" | "--help" | "-h") => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: {error}");
            ExitCode::FAILURE
        }
    }
}
