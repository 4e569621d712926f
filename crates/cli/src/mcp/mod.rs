//! `herma mcp`: the commands for agents, and for programs that stay connected, over the Model Context Protocol.
//!
//! A tool is a command with the tool's arguments as its own, and its answer is what the command prints with
//! `--json`; an agent is given the parts of it a model can use. docs/AGENTS.md lists the tools.
//!
//! Every client has a thread that reads, one that works and one that writes. Nothing is remembered from one
//! request to the next but what a client subscribed to: the engine opens the store for each, and its locks keep
//! requests for the same project apart, whoever they come from.
//!
//! * [`connection`], [`lines`], [`message`], [`outbox`], [`stopping`], [`listener`]: the transport
//! * [`session`], [`progress`]: the methods of the protocol, and how far they are
//! * [`tools`], [`hook`]: the tools, what they take, and what of their answers an agent reads
//! * [`call`], [`bounds`]: carrying out a command and collecting what it would print, but not without end
//! * [`prompts`]: what a person picks in the host
//! * [`resources`]: what a client can read and hear of

mod bounds;
pub(crate) mod call;
mod connection;
mod hook;
#[cfg(all(test, shuttle))]
mod interleavings;
pub(crate) mod lines;
mod listener;
pub(crate) mod message;
mod outbox;
mod progress;
mod prompts;
mod resources;
mod session;
pub(crate) mod stopping;
pub(crate) mod tools;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use std::{io, thread};

use herma_fs::socket;

use self::call::Caller;
use self::connection::attend;
pub(crate) use self::listener::serve_socket;
use self::outbox::Outbox;
pub(crate) use self::resources::Hub;
use self::stopping::{Stopping, Wake};
use crate::command_env::{CommandEnv, Outcome, Result};
use crate::commands::agents::mcp::McpArgs;
use crate::terminal::shown;

/// Deep trees want a stack like that of the main thread.
const STACK_BYTES: usize = 8 << 20;
/// How long the last answers may take on their way when the server stops.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What all clients share.
pub(crate) struct Server {
    /// Carries out commands.
    pub(crate) caller: Caller,
    /// The project that is meant where a client names none.
    pub(crate) root: Option<PathBuf>,
    /// Are there tools that only programs want?
    pub(crate) has_all_tools: bool,
    /// Ends the server.
    pub(crate) stopping: Stopping,
    /// Who hears of what.
    pub(crate) hub: Hub,
}

/// From the arguments of `herma mcp` to a server.
pub(crate) fn cmd_mcp(env: &CommandEnv, args: &McpArgs) -> Result<Outcome> {
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
        caller: Caller::new(&env.environment, &env.home),
        root: root.map(canonical).transpose()?,
        has_all_tools: args.all_tools,
        stopping,
        hub: Hub::default(),
    };
    match &args.socket {
        None => serve_stdio(server, &wake)?,
        Some(path) => {
            let listening = socket::listen(&env.absolute(path))?;
            env.ui.status(format_args!("Listening on {}", shown(path)));
            serve_socket(listening, server, &wake)?;
        }
    }
    Ok(Outcome::Done)
}

/// Serves one client on stdin and stdout, until it has no more to say or a signal comes.
pub(crate) fn serve_stdio(server: Server, wake: &Wake) -> io::Result<()> {
    let (server, outbox) = (Arc::new(server), Arc::new(Outbox::default()));
    let (for_client, its_outbox) = (Arc::clone(&server), Arc::clone(&outbox));
    let waker = wake.waker()?;
    big_thread("client").spawn(move || {
        let hang_up = || stopping::wake(&waker);
        attend(&for_client, 0, io::stdin(), io::stdout(), &its_outbox, hang_up);
    })?;
    wake.wait();
    // The thread that waits for more input cannot be ended, only left: it has nothing to do any more.
    server.stopping.stop();
    outbox.close();
    outbox.drain(LAST_WORDS);
    Ok(())
}

/// A thread with enough room for the engine.
fn big_thread(name: &str) -> thread::Builder {
    let builder = thread::Builder::new().name(name.to_owned());
    builder.stack_size(STACK_BYTES)
}
