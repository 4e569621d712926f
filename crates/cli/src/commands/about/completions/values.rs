//! What there is to choose from: checkpoints, steps, names, sessions, agents, settings, and paths in a checkpoint.
//!
//! A shell shows nothing of an error, so whatever cannot be read is not offered, and nothing is waited for.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use clap::{ArgMatches, CommandFactory, FromArgMatches};
use clap_complete::CompletionCandidate;
use herma_core::engine::NoProgress;
use herma_core::steps::StepChoice;
use herma_core::{Checkpoint, ListedStep, Project};
use herma_sessions::{Access, Database, Filter};
use herma_settings::{KEYS, Overrides};
use herma_view::listing::fit;
use herma_view::{here, steps};

use crate::command_env::{CommandEnv, find};
use crate::commands::about::help;
use crate::commands::cli::Cli;
use crate::environment::Environment;
use crate::options::GlobalArgs;
use crate::terminal::answer::Answer;
use crate::terminal::{Ui, escape};

/// So many are offered; who has more types a digit first.
const MOST: usize = 100;
/// What is said about a candidate fits beside it.
const COLUMNS: Option<usize> = Some(60);

/// What was typed so far, and the project it is about, looked at when something of it is wanted.
pub(super) struct Looked {
    environment: Environment,
    typed: Vec<OsString>,
    opened: OnceLock<Option<(CommandEnv, Project)>>,
}

/// What a completion offers: what would be typed, and what that is.
type Offered = Vec<CompletionCandidate>;

impl Looked {
    pub(super) fn new(environment: &Environment, typed: &[OsString]) -> Self {
        let (environment, typed) = (environment.clone(), typed.to_vec());
        Self { environment, typed, opened: OnceLock::new() }
    }

    /// Who asks.
    pub(super) fn shell(&self) -> &str {
        self.environment.completing.as_deref().unwrap_or_default()
    }

    /// What the line says as far as it can be read.
    fn matches(&self) -> Option<ArgMatches> {
        Cli::command().ignore_errors(true).try_get_matches_from(&self.typed).ok()
    }

    fn opened(&self) -> Option<&(CommandEnv, Project)> {
        let open = || {
            let global = self.matches().and_then(|m| GlobalArgs::from_arg_matches(&m).ok());
            let global = GlobalArgs { json: true, ..global.unwrap_or_default() };
            let ui = Ui::answering(Answer::new(Arc::new(NoProgress), 0), true);
            let overrides = Overrides { wait: Some(Duration::ZERO), ..Overrides::default() };
            let env = CommandEnv::new(ui, &self.environment, &global, overrides).ok()?;
            let project = env.open_project_quietly().ok()?;
            Some((env, project))
        };
        self.opened.get_or_init(open).as_ref()
    }

    fn project(&self) -> Option<&Project> {
        self.opened().map(|(_, project)| project)
    }

    fn saved(&self) -> Vec<Checkpoint> {
        let listed = self.project().and_then(|project| project.list_newest(MOST).ok());
        listed.map(|listed| listed.checkpoints).unwrap_or_default()
    }

    fn known_steps(&self) -> Vec<ListedStep> {
        let choice = StepChoice::default();
        let steps = self.project().and_then(|p| p.newest_steps(&choice, MOST, true).ok());
        steps.map(|(steps, _)| steps).unwrap_or_default()
    }

    /// Numbers and names, newest first.
    pub(super) fn checkpoints(&self, current: &OsStr) -> Offered {
        let saved = self.saved();
        let numbers = saved.iter().map(|one| (one.number.to_string(), one.subject()));
        let names = saved.iter().flat_map(|one| {
            let about = |name: &String| (name.clone(), [b"name of: ", &one.subject()[..]].concat());
            one.names.iter().map(about)
        });
        let numbers = numbers.map(|(number, about)| (number, about.to_vec()));
        offer(current, numbers.chain(names))
    }

    pub(super) fn names(&self, current: &OsStr) -> Offered {
        let saved = self.saved();
        let named = saved
            .iter()
            .flat_map(|one| one.names.iter().map(|name| (name.clone(), one.subject().to_vec())));
        offer(current, named)
    }

    /// The steps that changed something, with their prompts or commands, and files: those that steps deleted, too.
    pub(super) fn steps_or_paths(&self, current: &OsStr) -> Offered {
        let mut offered = self.steps_where(current, |listed| !listed.step.is_idle());
        offered.extend(self.paths(current));
        let there: BTreeSet<OsString> =
            offered.iter().map(|one| one.get_value().to_owned()).collect();
        let is_gone = |path: &String| !there.contains(OsStr::new(path)) && !current.is_empty();
        let changed = self.known_steps().into_iter().flat_map(|listed| {
            let about = format!("changed by {}", listed.step.id()).into_bytes();
            listed.files.into_iter().map(move |path| (here::path(&path), about.clone()))
        });
        let gone = changed.filter(|(path, _)| is_gone(path));
        offered.extend(offer(current, once_each(gone)));
        offered
    }

    pub(super) fn open_steps(&self, current: &OsStr) -> Offered {
        self.steps_where(current, |listed| listed.step.ended.is_none())
    }

    fn steps_where(&self, current: &OsStr, is_wanted: impl Fn(&ListedStep) -> bool) -> Offered {
        let steps = self.known_steps().into_iter().filter(is_wanted);
        let about = |listed: ListedStep| {
            let why = steps::why(&listed);
            let step = listed.step;
            let tool = steps::tool(&step).to_owned();
            let prompt = step.start.prompt.clone().map(|prompt| format!(" for: {prompt}"));
            let about = format!("{tool} {why}{}", prompt.unwrap_or_default());
            (step.id().to_string(), about.into_bytes())
        };
        offer(current, steps.map(about))
    }

    /// The agents whose steps are known.
    pub(super) fn agents(&self, current: &OsStr) -> Offered {
        let agents = self.known_steps().into_iter().filter_map(|one| one.step.start.facts.agent);
        offer(current, once_each(agents.map(|agent| (agent, Vec::new()))))
    }

    /// The sessions whose steps are known, with the last prompt of each.
    pub(super) fn sessions_of_steps(&self, current: &OsStr) -> Offered {
        let sessions = self.known_steps().into_iter().filter_map(|listed| {
            let start = listed.step.start;
            Some((start.facts.session?, start.prompt.unwrap_or_default().into_bytes()))
        });
        offer(current, once_each(sessions))
    }

    /// The sessions in the database, with their titles.
    pub(super) fn sessions(&self, current: &OsStr) -> Offered {
        let listed = self.opened().and_then(|(env, _)| {
            let database = Database::open(&env.home.join("state.db"), Access::Read).ok()?;
            herma_sessions::list::list(&database, &Filter::default(), Some(MOST as u64)).ok()
        });
        let sessions = listed.unwrap_or_default().into_iter();
        offer(current, sessions.map(|one| (one.id, one.title.unwrap_or_default().into_bytes())))
    }

    /// The settings.
    #[expect(clippy::unused_self, reason = "asked like the others, which depend on the project")]
    pub(super) fn keys(&self, current: &OsStr) -> Offered {
        offer(current, KEYS.iter().map(|key| (key.full_name(), key.about.as_bytes().to_vec())))
    }

    /// What `herma help` explains.
    pub(super) fn topics(&self, current: &OsStr) -> Offered {
        let matches = self.matches();
        let is_below = matches.as_ref().and_then(|matches| {
            let (_, given) = matches.subcommand()?;
            given.get_many::<String>("words").map(|words| words.len() > 1)
        });
        if is_below == Some(true) {
            return Vec::new();
        }
        let topics = help::named().into_iter();
        offer(current, topics.map(|(name, about)| (name, about.into_bytes())))
    }

    pub(super) fn checkpoints_or_paths(&self, current: &OsStr) -> Offered {
        let mut offered = self.checkpoints(current);
        offered.extend(self.paths(current));
        offered
    }

    /// Paths in the checkpoint that the line names, or else in the newest, and those on disk.
    pub(super) fn paths(&self, current: &OsStr) -> Offered {
        let bytes = current.as_bytes();
        let end = bytes.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
        let (directory, _) = bytes.split_at(end);
        let found = self.entries(Path::new(OsStr::from_bytes(directory))).unwrap_or_default();
        let found = found.into_iter().map(|(name, is_directory)| {
            let end: &[u8] = if is_directory { b"/" } else { b"" };
            OsString::from_vec([directory, &name, end].concat())
        });
        let found = found.filter(|path| path.as_bytes().starts_with(bytes));
        found.map(CompletionCandidate::new).collect()
    }

    /// The names in a directory, in the checkpoint and on disk, and which of them are directories.
    fn entries(&self, directory: &Path) -> Option<BTreeMap<Vec<u8>, bool>> {
        let (env, project) = self.opened()?;
        let there = env.absolute(directory);
        let mut found = BTreeMap::new();
        let saved = self.named_checkpoint(project).zip(project.rel_path(&there).ok());
        if let Some(Ok(entries)) = saved.map(|(saved, path)| project.entries_at(&saved, &path)) {
            found.extend(entries.into_iter().map(|one| (one.name.into(), one.is_directory)));
        }
        let on_disk = herma_fs::Dir::open(&there).and_then(|dir| dir.entries());
        for entry in on_disk.unwrap_or_default() {
            let name = entry.name.to_bytes().to_vec();
            let is_directory = there.join(OsStr::from_bytes(&name)).is_dir();
            found.entry(name).or_insert(is_directory);
        }
        found.remove(&b".git"[..]);
        Some(found)
    }

    fn named_checkpoint(&self, project: &Project) -> Option<Checkpoint> {
        let matches = self.matches();
        let given = matches.as_ref().and_then(ArgMatches::subcommand).map(|(_, given)| given);
        let one = |name: &str| given?.try_get_one::<String>(name).ok().flatten().cloned();
        let many = |name: &str| {
            let words = given?.try_get_many::<OsString>(name).ok().flatten();
            words?.next()?.to_str().map(str::to_owned)
        };
        let named = one("checkpoint").or_else(|| many("arguments"));
        let found = named.and_then(|text| find(project, &text).ok());
        found.or_else(|| find(project, "@").ok())
    }
}

/// What fits what is typed, in its order, with the first line of what there is to say about it.
fn offer(current: &OsStr, all: impl Iterator<Item = (String, Vec<u8>)>) -> Offered {
    let fitting = all.filter(|(value, _)| value.as_bytes().starts_with(current.as_bytes()));
    let candidate = |(order, (value, about)): (usize, (String, Vec<u8>))| {
        let line = about.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let line = fit(escape(line).trim(), COLUMNS);
        let about = (!line.is_empty()).then(|| line.into());
        CompletionCandidate::new(value).help(about).display_order(Some(order))
    };
    fitting.enumerate().map(candidate).collect()
}

/// The first of those with the same value.
fn once_each(
    all: impl Iterator<Item = (String, Vec<u8>)>,
) -> impl Iterator<Item = (String, Vec<u8>)> {
    let mut seen = BTreeSet::new();
    all.filter(move |(value, _)| seen.insert(value.clone()))
}
