//! The runs in which Herma fails. Whatever happens to it, the agent does its work.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::drivers::Driver;
use super::heard::Heard;
use super::report::{Outcome, Table};
use super::stage::{Scene, Setting, Stage};
use super::{LIMIT, check, project};
use crate::Result;

/// One agent waits two minutes for a hook, whatever it is told, and does so at each of two calls.
const LONG_LIMIT: Duration = Duration::from_secs(8 * 60);

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    /// The program was deleted after it was installed.
    Missing,
    /// The program is killed when it starts.
    Killed,
    /// The program ends with 2, which many agents take for a refusal, and says why.
    Failing,
    /// The program sleeps longer than any agent waits.
    Slow,
    /// Nothing is wrong, but two agents work at once, each with several tools at once.
    Crowd,
}

const ALL: [Trouble; 5] =
    [Trouble::Missing, Trouble::Killed, Trouble::Failing, Trouble::Slow, Trouble::Crowd];

impl Trouble {
    const fn word(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Killed => "killed",
            Self::Failing => "exit 2",
            Self::Slow => "slow",
            Self::Crowd => "crowd",
        }
    }

    /// What stands in for Herma; `None` where it is Herma itself.
    fn program(self, calls: &Path) -> Option<String> {
        let calls = calls.display();
        let note = format!("#!/bin/sh\necho \"$*\" >> '{calls}'\n");
        Some(match self {
            Self::Missing => note,
            Self::Killed => note + "kill -9 $$\n",
            Self::Failing => {
                note + "cat > /dev/null\necho 'herma: something is very wrong' >&2\nexit 2\n"
            }
            Self::Slow => {
                let before = "PreToolUse|preToolUse|BeforeTool|pre_tool_call|tool.execute.before";
                let before: Vec<_> = before.split('|').map(|word| format!("*{word}*")).collect();
                let pattern = before.join("|");
                note + &format!("case \"$*$(cat)\" in {pattern}) sleep 150;; esac\n")
            }
            Self::Crowd => return None,
        })
    }

    fn scenes(self) -> Vec<Scene> {
        match self {
            Self::Slow => vec![project::short_scene()],
            Self::Crowd => vec![project::crowded_scene(false), project::crowded_scene(true)],
            _ => vec![project::scene()],
        }
    }

    const fn limit(self) -> Duration {
        match self {
            Self::Slow => LONG_LIMIT,
            _ => LIMIT,
        }
    }
}

/// Runs each agent with each trouble.
pub fn run(setting: &Setting, drivers: &[&'static dyn Driver]) -> Table {
    let mut head = vec!["agent"];
    head.extend(ALL.map(Trouble::word));
    head.push("verdict");
    let mut table = Table::new(&head);
    // Sleeping costs nothing: all agents may do it at the same time.
    std::thread::scope(|scope| {
        let sleeping: Vec<_> = drivers
            .iter()
            .map(|driver| scope.spawn(|| attempt(setting, *driver, Trouble::Slow)))
            .collect();
        let mut rows = Vec::new();
        for driver in drivers {
            let others = ALL.into_iter().filter(|trouble| *trouble != Trouble::Slow);
            let row: Vec<_> = others
                .map(|trouble| (trouble.word(), attempt(setting, *driver, trouble)))
                .collect();
            rows.push(row);
        }
        for ((driver, mut row), sleeping) in drivers.iter().zip(rows).zip(sleeping) {
            let slow = sleeping.join();
            let slow = slow.unwrap_or_else(|_| Outcome::of(Err("broken off".into())));
            let place = ALL.iter().position(|one| *one == Trouble::Slow);
            row.insert(place.unwrap_or(0), (Trouble::Slow.word(), slow));
            table.push_outcomes(driver.word(), row);
        }
    });
    table
}

fn attempt(setting: &Setting, driver: &'static dyn Driver, trouble: Trouble) -> Outcome {
    eprintln!("── {}, {}", driver.word(), trouble.word());
    Outcome::of(run_one(setting, driver, trouble))
}

fn run_one(setting: &Setting, driver: &'static dyn Driver, trouble: Trouble) -> Result<Outcome> {
    let name = trouble.word().replace(' ', "-");
    let stage = Stage::set_up(setting, driver, &name)?;
    let scenes = trouble.scenes();
    let calls = stage.sandbox.directory().join("calls");
    let ended = stage.play(&scenes, scenes.len(), trouble.limit(), |stage| {
        let Some(program) = trouble.program(&calls) else {
            return stage.install(&setting.herma);
        };
        let binary = stand_in(stage, &program)?;
        stage.install(&binary)?;
        if trouble == Trouble::Missing {
            fs::remove_file(binary)?;
        }
        Ok(())
    })?;
    let mut problems = stage.blocked(&scenes, &ended);
    let took = ended.iter().map(|ended| ended.took).max().unwrap_or_default();
    let mut cell = format!("{:.0} s", took.as_secs_f64());
    match trouble {
        Trouble::Missing => {}
        Trouble::Crowd => {
            let heard = Heard::read(&stage.sandbox.home());
            let findings = check::check_restore_of_all(&stage, &scenes)?;
            cell.push_str(&format!(", {} steps", findings.steps));
            let complaints = heard.complaints.iter();
            problems.extend(complaints.map(|line| format!("hook.log: {line}")));
            problems.extend(findings.problems);
        }
        _ => {
            let called = fs::read_to_string(&calls).unwrap_or_default().lines().count();
            cell.push_str(&format!(", {called} calls"));
            if called == 0 {
                problems.push("no hook was called, so this proves nothing".to_owned());
            }
        }
    }
    if !problems.is_empty() {
        cell.push_str(", BAD");
    }
    Ok(Outcome { cell, problems })
}

fn stand_in(stage: &Stage, program: &str) -> Result<PathBuf> {
    let directory = stage.sandbox.directory().join("bin");
    fs::create_dir_all(&directory)?;
    let binary = directory.join("herma");
    fs::write(&binary, program)?;
    fs::set_permissions(&binary, fs::Permissions::from_mode(0o755))?;
    Ok(binary)
}
