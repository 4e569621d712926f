//! `herma mcp`

use std::path::PathBuf;

use clap::Args;
use herma_fs::socket;
use herma_fs::socket::CannotListen;

use crate::command_env::CommandEnv;
use crate::command_env::Outcome;
use crate::command_error::CommandError;
use crate::command_error::Kind;
use crate::environment::Environment;
use crate::mcp;
use crate::mcp::Hub;
use crate::mcp::Server;
use crate::mcp::call::Caller;
use crate::mcp::stopping::Stopping;
use crate::mcp::stopping::Wake;

/// Give agents and programs tools to look at checkpoints and to go back, as an MCP server
///
/// Speaks the Model Context Protocol (JSON-RPC 2.0, one message a line) on stdin and stdout, or on a socket that
/// only you can reach; docs/AGENTS.md lists the tools. An agent starts it: `claude mcp add herma -- herma mcp`, or the
/// like. Ends when stdin does, or with SIGTERM: what runs is finished first.
///
/// Tools act on the project around the directory it is started in unless they are given another one; on a socket
/// only if `-C` or `--root` says so.
#[derive(Args, Debug)]
pub(crate) struct McpArgs {
    /// Listen on a socket at this path instead, in a directory that only you can write to
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Offer every tool: also steps, turns, conversations and cleaning, for editors, gateways and other programs
    #[arg(long)]
    all_tools: bool,
}

pub(crate) fn cmd_mcp(
    env: &CommandEnv,
    environment: &Environment,
    args: &McpArgs,
) -> Result<Outcome, CommandError> {
    let root = match &env.named_root {
        Some(root) => Some(root.clone()),
        None if env.is_directory_given => Some(env.engine.find_root(&env.directory)?),
        // Where there is no project, tools that name one still work.
        None if args.socket.is_none() => env.engine.find_root(&env.directory).ok(),
        None => None,
    };
    let canonical = |root: PathBuf| herma_fs::dir::canonicalize(&root);
    let stopping = Stopping::default();
    let wake = Wake::on_signals(&stopping)?;
    let server = Server {
        caller: Caller::new(environment, &env.home),
        root: root.map(canonical).transpose()?,
        has_all_tools: args.all_tools,
        stopping,
        hub: Hub::default(),
    };
    match &args.socket {
        None => mcp::serve_stdio(server, &wake)?,
        Some(path) => {
            let listening = socket::listen(&env.absolute(path))?;
            env.ui.status(format_args!(
                "Listening on {}",
                herma_store::path::escape(path.as_os_str().as_encoded_bytes())
            ));
            mcp::serve_socket(listening, server, &wake)?;
        }
    }
    Ok(Outcome::Done)
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
