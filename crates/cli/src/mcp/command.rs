//! From the arguments of `herma mcp` to a server.

use std::path::PathBuf;

use herma_fs::socket;

use super::call::Caller;
use super::stopping::{Stopping, Wake};
use super::{Hub, Server};
use crate::command_env::{CommandEnv, Outcome, Result};
use crate::commands::agents::mcp::McpArgs;
use crate::environment::Environment;
use crate::terminal::shown;

pub(crate) fn cmd_mcp(
    env: &CommandEnv,
    environment: &Environment,
    args: &McpArgs,
) -> Result<Outcome> {
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
        None => super::serve_stdio(server, &wake)?,
        Some(path) => {
            let listening = socket::listen(&env.absolute(path))?;
            env.ui.status(format_args!("Listening on {}", shown(path)));
            super::serve_socket(listening, server, &wake)?;
        }
    }
    Ok(Outcome::Done)
}
