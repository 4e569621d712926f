//! One run of an agent: a world, a project, a model with a script, Herma's hooks, and the agent itself.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use herma_testkit::Tree;

use super::agents::Agents;
use super::drivers::Driver;
use super::model::Model;
use super::process::Ended;
use super::sandbox::Sandbox;
use super::script::{Action, Call, Conversation, Script, prompt_of, word_of};
use super::{process, project};
use crate::Result;

/// What all runs have in common.
#[derive(Debug)]
pub struct Setting {
    /// The agents.
    pub agents: Agents,
    /// The program under test.
    pub herma: PathBuf,
    /// Leave the worlds where they are.
    pub keep: bool,
}

/// The messages of one conversation, in no agent's words.
pub type Scene = Vec<Vec<Action>>;

/// A world with a project in it.
pub struct Stage {
    driver: &'static dyn Driver,
    /// The world.
    pub sandbox: Sandbox,
    /// The project as it was in the beginning.
    pub start: Tree,
}

impl Stage {
    /// Makes a world for this agent.
    pub fn set_up(setting: &Setting, driver: &'static dyn Driver, name: &str) -> Result<Self> {
        let name = format!("{}-{name}", driver.word());
        let sandbox = Sandbox::new(&name, &setting.agents, &setting.herma, setting.keep)?;
        let start = project::make(&sandbox.workspace())?;
        if setting.keep {
            eprintln!("   {}", sandbox.directory().display());
        }
        Ok(Self { driver, sandbox, start })
    }

    /// What the agent says its version is.
    pub fn version(&self) -> String {
        self.sandbox.version(&self.driver.packages()[0])
    }

    /// Starts agents for the first scenes, all at the same time; further scenes are for agents that those let work.
    /// `install` puts Herma's hooks in when the agent has its settings.
    pub fn play(
        &self,
        scenes: &[Scene],
        agents: usize,
        limit: Duration,
        install: impl FnOnce(&Self) -> Result<()>,
    ) -> Result<Vec<Ended>> {
        let script = self.script(scenes);
        let model = Model::start(script, &self.sandbox.directory().join("requests.jsonl"))?;
        self.driver.prepare(&self.sandbox, &model.url())?;
        install(self)?;
        let commands = (1..=agents)
            .map(|scene| {
                let prompt = prompt_of(scene);
                self.driver.command(&self.sandbox, &model.url(), &prompt)
            })
            .collect();
        let ended = self.run_all(commands, limit);
        self.sandbox.wait_for_herma();
        ended
    }

    /// Puts Herma into the agent with the hooks calling this program.
    pub fn install(&self, binary: &Path) -> Result<()> {
        let options = self.driver.install_options();
        self.sandbox.install(self.driver.word(), binary, options)
    }

    /// Puts Herma in and takes it out again. What is not as it was in the user's home, if anything; the directories
    /// of Herma itself, which it makes when it is first used, do not count.
    pub fn left_by_uninstall(&self, binary: &Path) -> Result<Option<String>> {
        let home = self.sandbox.home();
        let before = Tree::read(&home);
        self.sandbox.install(self.driver.word(), binary, &[])?;
        self.sandbox.uninstall(self.driver.word())?;
        let mut after = Tree::read(&home);
        after.remove(b".hermes/herma");
        if !before.0.keys().any(|path| path.starts_with(b".hermes/")) {
            after.0.remove(b".hermes".as_slice());
        }
        Ok((before != after).then(|| herma_testkit::tree::diff(&before, &after)))
    }

    fn run_all(&self, commands: Vec<Command>, limit: Duration) -> Result<Vec<Ended>> {
        let directory = self.sandbox.directory();
        let ended = std::thread::scope(|scope| {
            let running: Vec<_> = commands
                .into_iter()
                .enumerate()
                .map(|(number, mut command)| {
                    let name = format!("agent-{}", number + 1);
                    scope.spawn(move || {
                        process::run_bounded(&mut command, directory, &name, limit)
                            .map_err(|error| error.to_string())
                    })
                })
                .collect();
            running
                .into_iter()
                .map(|one| one.join().map_err(|_| "a run was broken off".to_owned())?)
                .collect::<std::result::Result<Vec<_>, String>>()
        });
        Ok(ended?)
    }

    fn script(&self, scenes: &[Scene]) -> Script {
        let calls = |message: &Vec<Action>| -> Vec<_> {
            let calls = message.iter().filter_map(|action| self.call(action));
            calls.collect()
        };
        let conversation = |(index, scene): (usize, &Scene)| Conversation {
            word: word_of(index + 1),
            messages: scene.iter().map(calls).filter(|calls| !calls.is_empty()).collect(),
        };
        Script { conversations: scenes.iter().enumerate().map(conversation).collect() }
    }

    fn call(&self, action: &Action) -> Option<Call> {
        self.driver.call(action, &self.sandbox.workspace())
    }

    /// What the agents did not do of what the scripts say, and how they ended if not well.
    pub fn blocked(&self, scenes: &[Scene], ended: &[Ended]) -> Vec<String> {
        let actions = scenes.iter().flatten().flatten().cloned();
        let expected = project::after(&self.start, actions);
        let found = project::read(&self.sandbox.workspace());
        let missing = project::differences(&expected, &found)
            .map(|names| format!("the agent was kept from its work: {names}"));
        let unwell = ended.iter().filter(|ended| !ended.is_well());
        missing
            .into_iter()
            .chain(unwell.map(|ended| format!("the agent: {}", ended.words())))
            .collect()
    }
}
