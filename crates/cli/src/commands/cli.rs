//! The arguments of `herma`, as clap reads them and as the documents are generated from.

use clap::{Parser, Subcommand};
use herma_settings::{Overrides, Problem};

use super::{
    about, agents, blame, checkpoints, config, copies, diff, drop, exchange, going_back, history,
    list, mark, past, resume, save, sessions, show, steps,
};
use crate::options::GlobalArgs;

/// Instant undo for AI agents
///
/// Saves the project before files change, shows what changed, and brings any state back.
///
/// A CHECKPOINT is a number from `herma list`, which never changes; `13^`, the one before it; a name; a time (`1h`,
/// `15:30`, `yesterday 18:00`, `2026-11-02`); the beginning of an id, or `id:1234`; or `@-2` (two before the newest).
/// `13:src/cart.py` is a path in one.
/// `13@laptop` is row 13 of an imported line.
///
/// Exit codes: 0 done, 1 failed, 2 wrong usage, 3 done but something was left out (it is named),
/// 10 no such checkpoint or no store yet, 11 busy, 12 damaged, 130 interrupted.
///
/// Environment: `HERMES_HOME` is where settings and checkpoints are, `HERMA_PAGER` or `PAGER` the pager; `NO_COLOR`
/// turns colour off. `HERMA_CHECKPOINTS=off` or `on` overrides the settings for agents started with it.
/// `HERMES_CHECKPOINT_TIMEOUT` is how many seconds (10 to 60) a command waits for another in the same project.
/// `HERMA_NO_BACKGROUND=1` turns off cleaning in the background. `herma run` sets `HERMA_STEP` and
/// `HERMA_STEP_PROJECT`: steps that begin meanwhile are part of it.
#[derive(Parser, Debug)]
#[command(name = "herma", version, max_term_width = 100, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    Save(save::SaveArgs),
    List(list::ListArgs),
    Show(show::ShowArgs),
    Diff(diff::DiffArgs),
    Blame(blame::BlameArgs),
    History(history::HistoryArgs),
    Ls(past::ls::LsArgs),
    Cat(past::cat::CatArgs),
    Find(past::find::FindArgs),
    Grep(past::grep::GrepArgs),
    Has(past::has::HasArgs),
    Restore(going_back::restore::RestoreArgs),
    /// Undo the last prompt or restore, or what is named
    ///
    /// Undoes the newest prompt with all its tool calls, or the newest restore, that is not undone yet; the next time
    /// the one before it. With files: what the last prompt that changed them did to them. With numbers, an agent, a
    /// session, a turn or a time: what these steps did. Later steps and hand edits stay. Where no steps are known,
    /// undoes what changed since the last checkpoint. The current state is saved first; `herma redo` goes forward
    /// again. In a directory of the project, too, all of the project is meant: `herma undo .` is about what is below.
    Undo(going_back::undo::UndoArgs),
    /// Redo what `herma undo` undid
    ///
    /// Redoes what the last `herma undo` undid, however many prompts that were, and whether all of them, one file (`undo
    /// FILE`) or one call (`--step`); the next time what the one before it undid. Your edits since then stay. When an
    /// agent has worked since, or something was restored, there is nothing to redo. What was undone by its number, agent,
    /// session or time comes back with `herma undo`.
    Redo(going_back::undo::RedoArgs),
    Open(copies::open::OpenArgs),
    Try(copies::attempts::TryArgs),
    Promote(copies::promote::PromoteArgs),
    Bisect(copies::bisect::BisectArgs),
    Run(steps::run::RunArgs),
    Steps(steps::list::StepsArgs),
    Step(steps::step::StepArgs),
    Turn(steps::turn::TurnArgs),
    Notice(steps::notice::NoticeArgs),
    Hook(agents::hook::HookArgs),
    Name(mark::NameArgs),
    Unname(mark::UnnameArgs),
    /// Keep a checkpoint whatever cleaning does
    ///
    /// Checkpoint 13 is the state after change 13. A name (`herma name 13 NAME`) keeps it as well. What still removes it:
    /// `herma drop`, which asks once more, and `herma checkpoints clear`.
    Pin(mark::PinArgs),
    /// Let cleaning remove a checkpoint again
    Unpin(mark::PinArgs),
    Drop(drop::DropArgs),
    Purge(going_back::purge::PurgeArgs),
    Export(exchange::export::ExportArgs),
    Import(exchange::import::ImportArgs),
    Report(exchange::report::ReportArgs),
    CanUndo(agents::can_undo::CanUndoArgs),
    Classify(agents::classify::ClassifyArgs),
    Slash(agents::slash::SlashArgs),
    Acp(agents::acp::AcpArgs),
    Resume(resume::ResumeArgs),
    Checkpoints(checkpoints::CheckpointsArgs),
    Sessions(sessions::SessionsArgs),
    Install(agents::install::InstallArgs),
    Uninstall(agents::uninstall::UninstallArgs),
    Mcp(agents::mcp::McpArgs),
    /// Says that it is `herma mcp` now
    #[command(hide = true)]
    Serve {
        /// Whatever it was started with
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        rest: Vec<std::ffi::OsString>,
    },
    Doctor(about::doctor::DoctorArgs),
    Config(config::ConfigArgs),
    Completions(about::completions::CompletionsArgs),
    Man(about::man::ManArgs),
    Help(about::help::HelpArgs),
    /// Show where things stand, as `herma` alone does
    #[command(hide = true)]
    Status,
    /// Print the version
    #[command(hide = true)]
    Version,
    /// Keep the store within its limits; started by a save, in the background
    #[command(hide = true)]
    Maintain,
    /// Print the reference of all commands as Markdown
    #[command(hide = true)]
    MarkdownHelp,
}

impl Command {
    /// What this command line changes about the settings.
    pub(crate) fn overrides(&self) -> Overrides {
        match self {
            Self::Save(args) => args.overrides(),
            _ => Overrides::default(),
        }
    }

    /// What in the settings must be right before this command runs. A mistake in them must not stand
    /// between the user and going back, so everything goes on with the defaults, except a save that
    /// would save the wrong files, and cleaning, which would drop the wrong checkpoints.
    pub(crate) fn stopped_by<'p>(&self, problems: &'p [Problem]) -> Option<&'p Problem> {
        let cleans = match self {
            // An answer about the wrong files would be a wrong answer.
            Self::Save(_) | Self::Run(_) | Self::Step(_) | Self::CanUndo(_) => false,
            Self::Maintain => true,
            Self::Checkpoints(args) if args.drops_by_settings() => true,
            _ => return None,
        };
        problems.iter().find(|problem| {
            if cleans { problem.concerns_cleaning() } else { problem.concerns_saving() }
        })
    }

    /// Does this command report the settings' problems itself?
    pub(crate) fn reports_settings(&self) -> bool {
        matches!(self, Self::Doctor(_) | Self::Config(_))
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }
}
