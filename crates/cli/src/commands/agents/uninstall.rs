//! `herma uninstall`

use clap::Args;
use herma_agents::Agent;

use super::install::plan::Plan;
use super::install::report::Done;
use super::install::{HowArgs, agent_parser, places, report};
use crate::command_env::{CommandEnv, Outcome, Result};

/// Make agents stop calling Herma
///
/// Removes what `herma install` added and nothing else. Checkpoints stay.
#[derive(Args, Debug)]
pub(crate) struct UninstallArgs {
    /// The agents
    #[arg(value_name = "AGENT", value_parser = agent_parser(), required_unless_present = "all")]
    agents: Vec<Agent>,
    /// Every agent
    #[arg(long, conflicts_with = "agents")]
    all: bool,
    #[command(flatten)]
    how: HowArgs,
}

pub(crate) fn cmd_uninstall(env: &CommandEnv, args: &UninstallArgs) -> Result<Outcome> {
    let places = places(env)?;
    let scope = args.how.scope(env)?;
    let agents = if args.all {
        let has_level = |agent: &Agent| agent.targets(&places, &scope).is_ok();
        Agent::ALL.into_iter().filter(has_level).collect()
    } else {
        args.agents.clone()
    };
    let one = |agent: Agent| -> Result<Done> {
        let plan = Plan::uninstall(agent, &places, &scope)?;
        plan.carry_out(env, args.how.dry_run)
    };
    report::each(env, "uninstall", args.how.dry_run, &agents, one)
}
