//! `cargo xtask rules`, `cargo xtask agents` and `cargo xtask past`: many random days of suites that every change runs in small.

use crate::{Result, workspace};

/// A suite of random days.
pub struct Suite {
    tests: [&'static str; 4],
    filter: &'static str,
    /// Where it reads how many days there are, and with which it begins.
    variables: [&'static str; 2],
    days: &'static str,
}

/// On these, rules change between and inside steps.
pub const RULES: Suite = Suite {
    tests: ["-p", "herma-core", "--test", "engine"],
    filter: "engine::rule_interleavings",
    variables: ["HERMA_RULES_CASES", "HERMA_RULES_FIRST"],
    days: "1000",
};

/// On these, four agents work at once.
pub const AGENTS: Suite = Suite {
    tests: ["-p", "herma", "--test", "cli"],
    filter: "cli::many_agents",
    variables: ["HERMA_AGENTS_CASES", "HERMA_AGENTS_FIRST"],
    days: "200",
};

/// What was in them is looked for, as git looks for it in every commit.
pub const PAST: Suite = Suite {
    tests: ["-p", "herma-core", "--test", "engine"],
    filter: "engine::past",
    variables: ["HERMA_PAST_CASES", "HERMA_PAST_FIRST"],
    days: "1000",
};

/// Runs a suite.
pub fn run(suite: &Suite, args: &[String]) -> Result<()> {
    let (cases, first) = match args {
        [] => (suite.days, "0"),
        [option, cases] if option == "--cases" => (cases.as_str(), "0"),
        [option, case] if option == "--case" => ("1", case.as_str()),
        _ => return Err("only `--cases N` or `--case N` can be asked for".into()),
    };
    let mut command = workspace::cargo()?;
    let [count, begin] = suite.variables;
    command.env(count, cases).env(begin, first).arg("test").args(suite.tests);
    workspace::run(command.args([suite.filter, "--", "--nocapture"]))
}
