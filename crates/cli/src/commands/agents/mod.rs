//! What agents are told, and what they ask: hooks and servers are set up ([`install`], [`uninstall`], [`hook`], [`mcp`], [`acp`]), commands
//! typed to an agent are answered ([`slash`]), and commands of an agent are judged before they run ([`can_undo`], [`classify`]).

pub(crate) mod acp;
pub(crate) mod can_undo;
pub(crate) mod classify;
pub(crate) mod hook;
pub(crate) mod install;
pub(crate) mod mcp;
pub(crate) mod slash;
pub(crate) mod uninstall;
