//! `herma serve`

use std::path::PathBuf;

use clap::Args;
use herma_fs::socket;
use herma_fs::socket::CannotListen;

use crate::command_env::CommandEnv;
use crate::command_env::Outcome;
use crate::command_error::CommandError;
use crate::command_error::Kind;
use crate::environment::Environment;
use crate::serve;
use crate::serve::Server;
use crate::serve::call::Caller;
use crate::serve::stopping::Stopping;
use crate::serve::stopping::Wake;

/// Answer programs that stay connected: editors, gateways, containers
///
/// Speaks JSON-RPC 2.0, one message a line, on stdin and stdout or on a socket that only you can reach.
/// docs/PROTOCOL.md describes it. Ends when stdin does, or with SIGTERM: what runs is finished first.
///
/// With `-C` or `--root`, that project is meant wherever a client names none.
#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    /// Listen on a socket at this path instead, in a directory that only you can write to
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
}

pub(crate) fn cmd_serve(
    env: &CommandEnv,
    environment: &Environment,
    args: &ServeArgs,
) -> Result<Outcome, CommandError> {
    let root = match (&env.named_root, env.is_directory_given) {
        (Some(root), _) => Some(root.clone()),
        (None, true) => Some(env.engine.find_root(&env.directory)?),
        (None, false) => None,
    };
    let root = root
        .map(|root| herma_fs::dir::canonicalize(&root))
        .transpose()?;
    let caller = Caller::new(environment, &env.home);
    let stopping = Stopping::default();
    let wake = Wake::on_signals(&stopping)?;
    let server = Server::new(caller, root, &wake)?;
    match &args.socket {
        None => serve::serve_stdio(server, stopping, &wake)?,
        Some(path) => {
            let listening = socket::listen(&env.absolute(path))?;
            env.ui.status(format_args!(
                "Listening on {}",
                herma_store::path::escape(path.as_os_str().as_encoded_bytes())
            ));
            serve::serve_socket(listening, server, stopping, &wake)?;
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
