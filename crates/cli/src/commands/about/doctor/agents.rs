//! The agents: are they told to call us, will they do it, and did they?
//!
//! Only files are read. No agent is run, and nothing that a project contains is.

use std::path::Path;

use herma_agents::Agent;
use herma_agents::install::switches::Verdict;
use herma_agents::install::{Places, Scope};
use herma_fs::Dir;

use super::findings::{Findings, Level};
use crate::command_env::CommandEnv;
use crate::command_error::clean;
use crate::commands::agents::install::state::{AgentState, Installed};
use crate::environment::agent_places;
use crate::terminal::{escape, shown, time};

/// Looks at the agents that this user has, and those that are told to call us: in every project, or in this one.
pub(super) fn look(findings: &mut Findings, env: &CommandEnv) {
    let Some(places) = agent_places(env.environment.user_home.as_deref()) else { return };
    let project = env.open_project_quietly().ok();
    let project = project.map(|project| project.root().to_owned());
    let directory = project.as_deref().unwrap_or(&env.directory);
    let mut look_at = |state: &AgentState, scope: &Scope| {
        let examined = Examined { env, places: &places, scope, directory, state };
        let (level, text, hint) = examined.look();
        findings.add(state.agent.word(), level, text, &hint);
        look_outside(findings, env, state.agent);
    };
    for agent in Agent::ALL {
        let state = AgentState::look(agent, &places, &Scope::User);
        let of_project = project.clone().map(Scope::Project).and_then(|scope| {
            let of_project = AgentState::look(agent, &places, &scope);
            let is_there = of_project.installed != Installed::No || of_project.problem.is_some();
            // In a home that is a project, both are the same file.
            let is_another = !is_same(&of_project, &state);
            (is_there && is_another).then_some((of_project, scope))
        });
        let is_only_in_project = of_project.is_some() && state.word() == "not-installed";
        if (state.used || state.installed != Installed::No) && !is_only_in_project {
            look_at(&state, &Scope::User);
        }
        if let Some((of_project, scope)) = of_project {
            look_at(&of_project, &scope);
        }
    }
}

fn is_same(one: &AgentState, other: &AgentState) -> bool {
    one.files == other.files && one.problem == other.problem
}

/// What there is to say about an agent, and what to type, if anything.
type Said = (Level, String, String);

/// An agent that is looked at.
struct Examined<'a> {
    env: &'a CommandEnv,
    places: &'a Places,
    scope: &'a Scope,
    directory: &'a Path,
    state: &'a AgentState,
}

impl Examined<'_> {
    fn look(&self) -> Said {
        let state = self.state;
        if let Some(problem) = &state.problem {
            return (Level::Attention, format!("cannot be read: {problem}"), String::new());
        }
        let install = format!("`herma install {}{}`", state.agent.word(), self.option());
        match state.installed {
            Installed::No => {
                let hint = format!("{install} lets what it does be undone.");
                return (Level::Fine, "not installed".to_owned(), hint);
            }
            Installed::Partly => {
                let text = format!("partly {}", self.place());
                return (Level::Attention, text, format!("{install} completes it."));
            }
            Installed::Yes => {}
        }
        let program = state.program();
        if let Some(program) = program.filter(|program| !is_executable(program)) {
            let text = format!("calls {}, which cannot be executed", shown(&program));
            return (Level::Wrong, text, format!("{install} puts in where it is now."));
        }
        self.say(&state.verdict(self.places, self.scope, self.directory))
    }

    fn say(&self, verdict: &Verdict) -> Said {
        let (agent, place) = (self.state.agent, self.place());
        let title = agent.title();
        let (seen, failure) =
            last_seen(self.env, agent).unwrap_or(("never heard of yet".to_owned(), None));
        if let Some(failure) = failure {
            let text = format!("{place}, {seen}, and nothing was saved: {failure}");
            let hint = "`herma/hooks/hook.log` in the home says more.".to_owned();
            return (Level::Attention, text, hint);
        }
        let needs_approval = matches!(agent, Agent::Codex | Agent::Hermes);
        let (text, hint) = match verdict {
            Verdict::Fine => {
                let approved = if needs_approval { "approved, " } else { "" };
                return (Level::Fine, format!("{place}, {approved}{seen}"), String::new());
            }
            Verdict::WillAsk => {
                let hint =
                    format!("{title} asks whether to trust this project when it is started here.");
                return (Level::Fine, format!("{place}, {seen}"), hint);
            }
            Verdict::Off(setting) => (
                format!("installed, but hooks are turned off by `{setting}`"),
                format!("Change that setting of {title}."),
            ),
            Verdict::ExtensionOff => (
                format!("{place}, but the extension is disabled here"),
                "`gemini extensions enable herma --scope=workspace`, typed here, enables it."
                    .to_owned(),
            ),
            Verdict::NotApproved => (format!("{place}, but not approved"), self.approval()),
            Verdict::NotApprovedAnyMore => (
                format!("{place}, but not approved any more: what was approved is another call"),
                self.approval(),
            ),
            Verdict::NotTrusted => {
                (format!("{place}, but {title} does not trust this project"), self.trust())
            }
            Verdict::CannotTell(why) => (
                format!(
                    "{place}, {seen}; cannot tell whether {title} will call it: {}",
                    escape(why.as_bytes())
                ),
                self.where_to_look().to_owned(),
            ),
        };
        (Level::Attention, text, hint)
    }

    /// Where it is installed.
    fn place(&self) -> String {
        let file = self.state.files.first().map(shown);
        let whose = if *self.scope == Scope::User { "" } else { " for this project" };
        format!("installed{whose} in {}", file.unwrap_or_default())
    }

    /// What to say besides when it is installed.
    fn option(&self) -> &'static str {
        if *self.scope == Scope::User { "" } else { " --project" }
    }

    fn approval(&self) -> String {
        match self.state.agent {
            Agent::Codex => {
                let option = self.option();
                format!("`/hooks` in Codex, or `herma install codex{option} --trust`, approves it.")
            }
            _ => "It asks when it is started next in a terminal.".to_owned(),
        }
    }

    fn trust(&self) -> String {
        match self.state.agent {
            Agent::Gemini => {
                "It may call no hooks here. `/permissions` in Gemini CLI changes that.".to_owned()
            }
            agent => format!(
                "It calls no hooks of the project. {} asks for it when it is started here.",
                agent.title()
            ),
        }
    }

    fn where_to_look(&self) -> &'static str {
        match self.state.agent {
            Agent::Codex => "`/hooks` in Codex shows whether it is approved.",
            Agent::Gemini => "`/hooks` in Gemini CLI lists what it will call.",
            _ => "",
        }
    }
}

fn is_executable(program: &Path) -> bool {
    let real = program.canonicalize().ok();
    let stat = real.and_then(|real| herma_fs::stat_path(&real).ok().flatten());
    stat.is_some_and(|stat| stat.kind == herma_fs::FileKind::File && stat.mode & 0o111 != 0)
}

/// For so many seconds it is worth knowing that an agent worked outside any project.
const OUTSIDE_FOR: i64 = 7 * 24 * 60 * 60;

/// Says where the agent worked lately without anything being saved.
fn look_outside(findings: &mut Findings, env: &CommandEnv, agent: Agent) {
    let Some((seconds, why)) = note(env, agent, "outside") else { return };
    if env.now().seconds.saturating_sub(seconds) > OUTSIDE_FOR {
        return;
    }
    let age = time::age(seconds, env.now());
    let text = format!("worked outside any project {age}, which was not saved: {}", clean(&why));
    let hint = "Start it in a project; `herma/hooks/hook.log` in the home lists its calls.";
    findings.add(agent.word(), Level::Fine, text, hint);
}

/// A note that `herma hook` leaves: when it was, and what.
fn note(env: &CommandEnv, agent: Agent, what: &str) -> Option<(i64, String)> {
    let dir = Dir::open(&env.home.join("herma/hooks")).ok()?;
    let bytes = dir.read_opt(format!("{}.{what}", agent.word()).as_str(), 4096).ok()??;
    let text = String::from_utf8(bytes).ok()?;
    let (seconds, text) = text.trim_end().split_once(' ')?;
    Some((seconds.parse().ok()?, text.to_owned()))
}

/// When the agent was last heard of, and why nothing could be saved then, from the note that `herma hook` leaves.
fn last_seen(env: &CommandEnv, agent: Agent) -> Option<(String, Option<String>)> {
    let (seconds, note) = note(env, agent, "seen")?;
    let mut words = note.splitn(3, ' ');
    let age = time::age(seconds, env.now());
    let event = words.next().filter(|word| {
        word.len() < 40 && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    });
    let event = event.map(|event| format!(" ({event})"));
    let failed = words.next() == Some("failed");
    let why = words.next().unwrap_or("the log says why");
    let text = format!("last heard of {age}{}", event.unwrap_or_default());
    Some((text, failed.then(|| escape(why.as_bytes()))))
}
