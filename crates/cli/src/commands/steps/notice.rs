//! `herma notice`: what an agent does not know yet of its own work, for those whose hook does not tell it.

use std::io::Write;

use clap::Args;
use herma_core::Notice;
use herma_core::steps::Step;
use herma_view::json::{PathJson, Serialize, lazy_object, object};
use herma_view::notice::notice_text;

use crate::command_env::{CommandEnv, Outcome, Result};
use crate::render::project_json;

/// Print what was undone of an agent's work since it was last told
///
/// Names the steps that were undone or brought back, and the files that are not as the agent left them, as last saved. Prints
/// nothing if there is nothing to tell. What was printed is not told again, neither here nor by the hook of the agent's
/// next prompt.
///
/// Exit codes: 0 printed, or nothing to tell; 1 failed.
#[derive(Args, Debug)]
pub(crate) struct NoticeArgs {
    /// The agent's session [default: the one that had a prompt last]
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// It is told again next time
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn cmd_notice(env: &CommandEnv, args: &NoticeArgs) -> Result<Outcome> {
    let project = env.open_project()?;
    let session = match &args.session {
        Some(session) => Some(session.clone()),
        None => project.last_turn()?.map(|turn| turn.session),
    };
    let found = match &session {
        Some(session) => project.notice(session)?,
        None => None,
    };
    let notice = found.as_ref().filter(|notice| !notice.is_empty());
    let text = notice.map(notice_text);
    let json = lazy_object! {
        schema: "herma.notice/1",
        project: project_json(&project),
        session: &session,
        text: &text,
        undone: ids(notice.map(|notice| &notice.undone)),
        in_part: ids(notice.map(|notice| &notice.in_part)),
        back: ids(notice.map(|notice| &notice.back)),
        files: files(notice),
    };
    env.ui.answer(json, |out| match &text {
        Some(text) => writeln!(out, "{text}"),
        None => Ok(()),
    })?;
    if text.is_none() {
        env.ui.status("Nothing to tell.");
    }
    if let (Some(session), Some(notice), false) = (&session, &found, args.dry_run) {
        project.note_told(session, notice)?;
    }
    Ok(Outcome::Done)
}

fn ids(steps: Option<&Vec<Step>>) -> Vec<impl Serialize> {
    steps.into_iter().flatten().map(Step::id).collect()
}

fn files(notice: Option<&Notice>) -> Vec<impl Serialize> {
    let files = notice.into_iter().flat_map(|notice| &notice.files);
    let files = files.map(|(path, now)| {
        object! {
            #[serde(flatten)]
            path: PathJson::new(path.as_bytes()),
            what: now.how.word(),
            by_hand: now.by_hand,
        }
    });
    files.collect()
}
