//! The runs in which everything works: the agent works, and Herma brings everything back.

use std::path::Path;

use super::check::Findings;
use super::drivers::Driver;
use super::heard::Heard;
use super::report::Table;
use super::stage::{Setting, Stage};
use super::{LIMIT, check, project};
use crate::Result;

/// Runs each agent on the scene and says what came of it. `bare` leaves Herma out, which only shows that the agent
/// does what the script says.
pub fn run(setting: &Setting, drivers: &[&'static dyn Driver], bare: bool) -> Table {
    let mut table = Table::new(&[
        "agent",
        "version",
        "hooks heard",
        "checkpoints",
        "steps (changed files)",
        "files restored",
        "ms per hook: median / longest",
        "step of a sub-agent",
        "seconds",
        "verdict",
    ]);
    table.fill(drivers, |driver| run_one(setting, driver, bare));
    table
}

fn run_one(
    setting: &Setting,
    driver: &'static dyn Driver,
    bare: bool,
) -> Result<(Vec<String>, Vec<String>)> {
    let stage = Stage::set_up(setting, driver, "scene")?;
    let scene = project::scene();
    let scenes = [scene.clone()];
    let mut problems = Vec::new();
    let ended = stage.play(&scenes, 1, LIMIT, |stage| {
        if bare {
            return Ok(());
        }
        if let Some(names) = stage.left_by_uninstall(&setting.herma)? {
            problems.push(format!("`herma uninstall` leaves these changed: {names}"));
        }
        stage.install(&setting.herma)
    })?;
    let heard = Heard::read(&stage.sandbox.home());
    let mut findings = Findings::default();
    problems.append(&mut stage.blocked(&scenes, &ended));
    if !bare {
        problems.extend(heard.complaints.iter().map(|line| format!("hook.log: {line}")));
        if problems.is_empty() {
            findings = check::check(&stage, &scene)?;
            problems.append(&mut findings.problems);
        }
    }
    let (sub_agent, mut found) = delegate(setting, driver, bare)?;
    problems.append(&mut found);
    let cells = vec![
        stage.version(),
        heard.words(),
        findings.checkpoints.to_string(),
        format!("{} ({})", findings.steps, findings.changed_steps),
        findings.restored.to_string(),
        heard.times(),
        sub_agent,
        format!("{:.1}", ended[0].took.as_secs_f64()),
    ];
    Ok((cells, problems))
}

/// Has the agent let another one work, where it can. What is known of that one's step, and what is wrong.
fn delegate(
    setting: &Setting,
    driver: &'static dyn Driver,
    bare: bool,
) -> Result<(String, Vec<String>)> {
    let can = driver.call(&project::delegation(), Path::new("/")).is_some();
    if bare || !can {
        return Ok(("-".to_owned(), Vec::new()));
    }
    let stage = Stage::set_up(setting, driver, "sub-agent")?;
    let scenes = project::delegating_scenes();
    let ended = stage.play(&scenes, 1, LIMIT, |stage| stage.install(&setting.herma))?;
    let mut problems = stage.blocked(&scenes, &ended);
    let (known, findings) = check::check_delegation(&stage, &scenes)?;
    problems.extend(findings.problems);
    let named = problems.into_iter();
    let named = named.map(|problem| format!("sub-agent: {problem}"));
    Ok((known, named.collect()))
}
