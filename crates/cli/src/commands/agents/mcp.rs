//! `herma mcp`: how agents start a server. What it does is in [`crate::mcp`].

use std::path::PathBuf;

use clap::Args;
use herma_fs::socket::CannotListen;

use crate::command_error::{CommandError, Kind};

/// Offer agents and programs tools to look at checkpoints and go back, as an MCP server
///
/// Speaks MCP on stdin and stdout, or on a socket that only you can reach; docs/AGENTS.md lists the tools. Agents
/// start it: `claude mcp add herma -- herma mcp`.
#[derive(Args, Debug)]
pub(crate) struct McpArgs {
    /// Listen on a socket at this path, in a directory that only you can write to
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    /// Offer every tool: also steps, turns, conversations and cleaning
    #[arg(long)]
    pub(crate) all_tools: bool,
}

impl From<CannotListen> for CommandError {
    fn from(error: CannotListen) -> Self {
        let kind = match &error {
            CannotListen::Live(_) | CannotListen::Busy(_) => Kind::Busy,
            CannotListen::TooLong(_) | CannotListen::NoName(_) => Kind::Usage,
            CannotListen::Distrusted(_) | CannotListen::NotASocket(_) | CannotListen::Fs(_) => {
                Kind::Failed
            }
        };
        let new = Self::from_error(kind, &error);
        match error {
            CannotListen::Distrusted(_) => new.with_hint(
                "Choose a directory of your own that nobody else can write to, such as `$XDG_RUNTIME_DIR`.",
            ),
            CannotListen::Live(_) => new.with_hint("Connect to that one, or choose another path."),
            CannotListen::NotASocket(_) => {
                new.with_state("It was left alone.").with_hint("Choose another path.")
            }
            CannotListen::TooLong(_) => {
                new.with_hint("Choose a shorter one, such as `$XDG_RUNTIME_DIR/herma.sock`.")
            }
            _ => new,
        }
    }
}
