//! `herma mcp`

use std::sync::Arc;

use clap::Args;

use crate::command_env::CommandEnv;
use crate::command_env::Outcome;
use crate::command_error::CommandError;
use crate::environment::Environment;
use crate::mcp::Mcp;
use crate::serve;
use crate::serve::Server;
use crate::serve::Session;
use crate::serve::call::Caller;
use crate::serve::stopping::Stopping;
use crate::serve::stopping::Wake;

/// Give an agent tools to look at checkpoints and to go back, as an MCP server on stdin and stdout
///
/// Started by the agent: `claude mcp add herma -- herma mcp`, or the like. Tools act on the project around the
/// directory it is started in unless they are given another one.
#[derive(Args, Debug)]
pub(crate) struct McpArgs {}

pub(crate) fn cmd_mcp(
    env: &CommandEnv,
    environment: &Environment,
    _: &McpArgs,
) -> Result<Outcome, CommandError> {
    // Where there is no project, tools that name one still work.
    let root = match &env.named_root {
        Some(root) => Some(root.clone()),
        None => env.engine.find_root(&env.directory).ok(),
    };
    let caller = Caller::new(environment, &env.home);
    let stopping = Stopping::default();
    let wake = Wake::on_signals(&stopping)?;
    let server = Server::new(caller, root, &wake)?;
    serve::converse_on_stdio(stopping, &wake, move |outbox| {
        Mcp::new(Session::new(Arc::new(server), 0, outbox))
    })?;
    Ok(Outcome::Done)
}
