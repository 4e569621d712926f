//! One run of an agent: a world, a project, a model with a script, Herma's hooks, and the agent itself.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use herma_testkit::Tree;
use serde_json::Value;

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

/// A conversation under way.
pub struct Talk<'s> {
    stage: &'s Stage,
    model: Model,
    log: PathBuf,
    prompts: usize,
}

impl Talk<'_> {
    /// Says the next prompt. Returns the requests that came of it, and what the agent printed.
    pub fn say(&mut self, prompt: &str) -> Result<(Vec<Value>, String)> {
        let before = self.requests()?.len();
        let (stage, url) = (self.stage, self.model.url());
        let mut command = if self.prompts == 0 {
            stage.driver.command(&stage.sandbox, &url, prompt)
        } else {
            let next = stage.driver.go_on(&stage.sandbox, &url, prompt);
            next.ok_or("nobody has tried to go on with a conversation of it")?
        };
        self.prompts += 1;
        let name = format!("prompt-{}", self.prompts);
        let directory = stage.sandbox.directory();
        process::run_bounded(&mut command, directory, &name, super::LIMIT)?;
        stage.sandbox.wait_for_herma();
        let said = [".out", ".err"].map(|end| directory.join(format!("{name}{end}")));
        let said = said.map(|file| std::fs::read_to_string(file).unwrap_or_default()).concat();
        Ok((self.requests()?.split_off(before), said))
    }

    fn requests(&self) -> Result<Vec<Value>> {
        let text = std::fs::read_to_string(&self.log)?;
        text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
    }
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

    /// A conversation: the prompts one after the other, each in a process of its own, with a model that does what the scenes say.
    pub fn converse<'s>(&'s self, scenes: &[Scene]) -> Result<Talk<'s>> {
        let mut script = self.script(scenes);
        let later = scenes.len() + 1..10;
        let nothing = |scene| Conversation { word: word_of(scene), messages: Vec::new() };
        script.conversations.extend(later.map(nothing));
        // The prompts before it stand in every request: the last one counts.
        script.conversations.reverse();
        let log = self.sandbox.directory().join("requests.jsonl");
        let model = Model::start(script, &log)?;
        self.driver.prepare(&self.sandbox, &model.url())?;
        Ok(Talk { stage: self, model, log, prompts: 0 })
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
