//! `herma report`

use clap::Args;
use herma_core::steps::{StepChoice, StepId};
use herma_core::types::address::When;
use herma_core::{Row, RowKind};
use herma_view::json::{lazy_object, list};
use herma_view::summary::write_summary;
use herma_view::timeline::row_json;

use crate::command_env::{CommandEnv, CommandError, Kind, Outcome, Result};
use crate::filters::{parse_when, session_meant};
use crate::render::project_json;

/// Write a summary for a pull request, as Markdown
///
/// Prompts with what they changed, edits by hand, who changed how much, and what was undone. What people, agents and files
/// are called stands in code, so that nothing in it links, mentions or formats.
#[derive(Args, Debug)]
pub(crate) struct ReportArgs {
    /// Only the prompt that made this change
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["session", "since"])]
    prompt: Option<u64>,
    /// Only what this session did; at least four characters of its id are enough, and without one it is the last session
    #[arg(long, value_name = "ID", num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "absent, given, and given with a value")]
    session: Option<Option<String>>,
    /// Only from this time on: 10m, 2h, 3d, 15:30, yesterday, 2026-11-02
    #[arg(long, value_name = "TIME", value_parser = parse_when)]
    since: Option<When>,
}

pub(crate) fn cmd_report(env: &CommandEnv, args: &ReportArgs) -> Result<Outcome> {
    let project = env.open_project()?;
    let since = args.since.as_ref().and_then(|when| when.first_second(env.now()));
    let session = session_meant(&project, args.session.as_ref())?;
    let choice = StepChoice { session, since, ..StepChoice::default() };
    let mut rows = env.ui.during(|progress| {
        let _ = progress;
        project.rows(&choice, usize::MAX, None)
    })?;
    // An undo or redo is told by what is undone.
    rows.rows.retain(|row| row.kind != RowKind::Shift);
    if let Some(number) = args.prompt {
        let number = StepId::Number(number);
        let is_it =
            |row: &Row| row.id == number || row.calls.iter().any(|call| call.step.id() == number);
        rows.rows.retain(is_it);
    }
    rows.rows.reverse();
    if rows.rows.is_empty() {
        return Err(CommandError::new(Kind::NoStore, "there is nothing to report")
            .with_hint("`herma list` shows the changes of this project."));
    }
    let rows = rows.rows;
    let json = lazy_object! {
        schema: "herma.report/1",
        project: project_json(&project),
        rows: list(rows.iter().map(row_json)),
    };
    env.ui.answer(json, |out| write_summary(out, &rows))?;
    Ok(Outcome::Done)
}
