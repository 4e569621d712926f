//! `herma doctor`

mod agents;
mod disk;
mod findings;
mod sessions;

use std::io::Write;

use clap::Args;
use herma_core::engine::KnownProject;
use herma_core::{Project, ProjectId};
use herma_view::json::lazy_object;
use herma_view::listing::{counted, ranges};

use self::findings::Level;
use crate::command_env::{CommandEnv, CommandError, Kind, Outcome, Result};
use crate::terminal::{Label, escape, shown};

/// Check the project, the store and the settings
///
/// Exits 0 when all is well, 1 when something is wrong, 3 when something waits for a decision, such as an interrupted
/// restore.
#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    /// Reconnect this directory with the checkpoints of a moved project
    ///
    /// Without an id, those of the one that is gone and looks like this one.
    #[arg(long, value_name = "ID", num_args = 0..=1)]
    #[expect(
        clippy::option_option,
        reason = "clap's way to say: given or not, with a value or not"
    )]
    adopt: Option<Option<String>>,
}

pub(crate) fn cmd_doctor(env: &CommandEnv, args: &DoctorArgs) -> Result<Outcome> {
    if let Some(id) = &args.adopt {
        return adopt(env, id.as_deref());
    }
    let findings = findings::look(env);
    let worst = findings.iter().map(|finding| finding.level).max();
    let outcome = match worst {
        None | Some(Level::Fine) => Outcome::Done,
        Some(Level::Attention) => Outcome::LeftOut,
        Some(Level::Wrong) => Outcome::Problems,
    };
    let json = lazy_object! { schema: "herma.doctor/1", findings: &findings };
    env.ui.answer(json, |out| {
        for finding in &findings {
            let (label, word) = match finding.level {
                Level::Fine => (Label::Success, "ok   "),
                Level::Attention => (Label::Warning, "look "),
                Level::Wrong => (Label::Error, "wrong"),
            };
            let word = env.ui.theme.paint(label, word);
            writeln!(out, "{word}  {:<10} {}", finding.about, finding.text)?;
            if let Some(hint) = &finding.hint {
                writeln!(out, "       {:<10} {}", "", env.ui.theme.paint(Label::Hint, hint))?;
            }
        }
        Ok(())
    })?;
    Ok(outcome)
}

fn adopt(env: &CommandEnv, id: Option<&str>) -> Result<Outcome> {
    let project = env.open_project()?;
    let from = choose(env, &project, id)?;
    let adopted = project.adopt(&from)?;
    let count = adopted.numbers.len();
    env.ui.answer_json(lazy_object! {
        schema: "herma.adopt/2",
        project: project.id().to_string(),
        adopted: from.id.to_string(),
        checkpoints: count,
        numbers: &adopted.numbers,
        were: &adopted.were,
    })?;
    let count = counted(count, "checkpoint");
    let [were, are] = [&adopted.were, &adopted.numbers].map(|numbers| ranges(numbers.clone()));
    let numbers = if were == are { are } else { format!("{were} there, {are} here") };
    let place = from.workdir.as_ref().map_or_else(|| format!("project {}", from.id), shown);
    env.ui.status(format_args!("Reconnected {count} of {place}: {numbers}."));
    env.ui.hint("`herma list` shows them.");
    Ok(Outcome::Done)
}

/// The project to reconnect: the one that was named, or the only one that looks like this one.
fn choose(env: &CommandEnv, project: &Project, id: Option<&str>) -> Result<KnownProject> {
    let nothing = "Nothing was changed.";
    if let Some(id) = id {
        let wanted = ProjectId::parse(id.as_bytes()).ok_or_else(|| {
            let id = escape(id.as_bytes());
            CommandError::usage(format!("`{id}` is not the id of a project: 16 digits of 0-9, a-f"))
                .with_state(nothing)
        })?;
        let known = env.engine.projects()?.into_iter().find(|known| known.id == wanted);
        return known.ok_or_else(|| {
            CommandError::new(Kind::NoStore, format!("there is no project {wanted} in the store"))
                .with_state(nothing)
                .with_hint("`herma doctor` lists the projects that can be reconnected.")
        });
    }
    let mut candidates = project.adoptable()?;
    match candidates.len() {
        1 => Ok(candidates.remove(0)),
        0 => Err(CommandError::new(Kind::NoStore, "no project that is gone looks like this one")
            .with_state(nothing)),
        count => {
            Err(CommandError::usage(format!("{count} projects that are gone look like this one"))
                .with_state(nothing)
                .with_hint(format!("Choose one: `herma doctor --adopt {}`", candidates[0].id)))
        }
    }
}
