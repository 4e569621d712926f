//! `herma hook`: how agents call Herma. What it does is in [`crate::hook`].

use clap::Args;

/// Save before an agent changes files; called by agents, as `herma install` tells them to
///
/// Reads what the agent sends on standard input, prints nothing (to Cursor: `{}`) and ends with 0, whatever
/// happens, so that no agent is ever kept from working. What came of each call that may change files is in
/// `herma/hooks/hook.log` in the home; `herma doctor` says when an agent was last heard of.
#[derive(Args, Debug)]
pub(crate) struct HookArgs {
    /// The agent whose hook it is
    #[arg(value_name = "AGENT")]
    pub(crate) agent: String,
    /// What happens, for agents that do not say so themselves
    #[arg(value_name = "EVENT")]
    pub(crate) event: Option<String>,
    /// Whatever else an agent adds
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<std::ffi::OsString>,
}
