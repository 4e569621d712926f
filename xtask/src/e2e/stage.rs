//! One run of an agent: a world, a project, a model with a script, Herma's hooks, and the agent itself.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use herma_testkit::Tree;
use serde_json::Value;

use super::agents::Agents;
use super::drivers::{Dialog, Driver};
use super::model::{self, Model};
use super::process::{Ended, Running};
use super::sandbox::Sandbox;
use super::script::{Action, Conversation, Script, prompt_of, word_of};
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
        let before = model::requests(&self.log)?.len();
        let running = if self.prompts == 0 { self.begin(prompt) } else { self.go_on(prompt) }?;
        running.wait(super::LIMIT)?;
        let stage = self.stage;
        stage.sandbox.wait_for_herma();
        let name = self.name();
        let said = [".out", ".err"].map(|end| stage.sandbox.directory().join(name.clone() + end));
        let said = said.map(|file| std::fs::read_to_string(file).unwrap_or_default()).concat();
        Ok((model::requests(&self.log)?.split_off(before), said))
    }

    /// Begins a session with a prompt.
    pub fn begin(&mut self, prompt: &str) -> Result<Running> {
        let command = self.stage.driver.command(&self.stage.sandbox, &self.model.url(), prompt);
        self.start(command)
    }

    /// Begins a session with a prompt in a terminal, if it is known how.
    pub fn dialog(&self, prompt: &str) -> Result<Option<Dialog>> {
        self.stage.driver.dialog(&self.stage.sandbox, &self.model.url(), prompt)
    }

    /// The agent, for an editor to start it, if it is known how.
    pub fn for_editor(&self) -> Option<Command> {
        self.stage.driver.for_editor(&self.stage.sandbox, &self.model.url())
    }

    fn go_on(&mut self, prompt: &str) -> Result<Running> {
        let (driver, sandbox, model) = (self.stage.driver, &self.stage.sandbox, &self.model.url());
        let command = prompt.strip_prefix('/');
        let next = command.and_then(|name| driver.go_on_with_command(sandbox, model, name));
        let next = next.or_else(|| driver.go_on(sandbox, model, prompt));
        self.start(next.ok_or("nobody has tried to go on with a conversation of it")?)
    }

    fn start(&mut self, mut command: Command) -> Result<Running> {
        self.prompts += 1;
        process::start(&mut command, self.stage.sandbox.directory(), &self.name())
    }

    fn name(&self) -> String {
        format!("prompt-{}", self.prompts)
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
    /// Where the agent of the second scene works, if not in the same place.
    pub second: Option<PathBuf>,
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
        Ok(Self { driver, sandbox, start, second: None })
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
                let mut command = self.driver.command(&self.sandbox, &model.url(), &prompt);
                command.current_dir(self.place(scene));
                command
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
        self.talk(script)
    }

    fn talk(&self, script: Script) -> Result<Talk<'_>> {
        let log = self.sandbox.directory().join("requests.jsonl");
        let model = Model::start(script, &log)?;
        self.driver.prepare(&self.sandbox, &model.url())?;
        Ok(Talk { stage: self, model, log, prompts: 0 })
    }

    /// A conversation of one prompt, after which the model hears this word by itself, and then makes a call.
    pub fn converse_and_notify<'s>(
        &'s self,
        scene: &Scene,
        word: &str,
        then: &Action,
    ) -> Result<Talk<'s>> {
        let mut script = self.script(std::slice::from_ref(scene));
        let mut messages = script.conversations[0].messages.clone();
        messages.extend(self.driver.call(then, &self.place(1)).map(|call| vec![call]));
        let notified = Conversation { word: word.to_owned(), messages };
        script.conversations.insert(0, notified);
        self.talk(script)
    }

    /// Puts Herma into the agent.
    pub fn install_herma(&self) -> Result<()> {
        self.install(self.sandbox.program())
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
        let calls = |message: &Vec<Action>, place: &Path| -> Vec<_> {
            let calls = message.iter().filter_map(|action| self.driver.call(action, place));
            calls.collect()
        };
        let conversation = |(index, scene): (usize, &Scene)| {
            let place = self.place(index + 1);
            let messages = scene.iter().map(|message| calls(message, &place));
            Conversation {
                word: word_of(index + 1),
                messages: messages.filter(|calls| !calls.is_empty()).collect(),
            }
        };
        Script { conversations: scenes.iter().enumerate().map(conversation).collect() }
    }

    /// Where the agent of a scene works.
    fn place(&self, scene: usize) -> PathBuf {
        let second = self.second.clone().filter(|_| scene == 2);
        second.unwrap_or_else(|| self.sandbox.workspace())
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
