//! `herma hook`: how agents call Herma. What it does is in [`crate::hook`].

use clap::Args;

/// Save before an agent changes files; called by agents after `herma install`
///
/// Reads what the agent sends on stdin, prints nothing but an answer to a prompt (to Cursor: `{}`) and always exits 0, so
/// that no agent is blocked.
#[derive(Args, Debug)]
pub(crate) struct HookArgs {
    /// The agent whose hook it is
    pub(crate) agent: String,
    /// What happens, for agents that do not say so themselves
    pub(crate) event: Option<String>,
    /// Whatever else an agent adds
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<std::ffi::OsString>,
}
