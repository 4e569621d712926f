//! Four agents at once, in a repository, two worktrees of it and a repository inside it: whose is each line, and what does undoing
//! one step leave alone?
//!
//! Each case is a random schedule. Agents call the real hooks, in their own forms: Claude Code runs one tool at a time, Codex and
//! OpenCode several; answers get lost, and a person edits in between. The model knows who inserted each line, since no two lines
//! are equal.
#![allow(clippy::disallowed_methods, reason = "a test does what agents and people do to files")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use herma_core::engine::NoProgress;
use herma_core::steps::{Step, StepChoice, StepId};
use herma_core::{Engine, EngineOptions, LineAuthor, Project, RelPath, Settings, UndoSteps};
use herma_testkit::random::Random;
use herma_testkit::{Bounded, TestEnv};
use serde_json::{Value, json};

use super::authors::Fixed;
use super::test_env;

const CASES: usize = 3;
const FILES: [&str; 20] = [
    "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o/a", "o/b", "o/c",
    "o/d", "o/p/a", "o/p/b",
];
const TICKS: usize = 100;
/// The repository, a worktree inside it, one beside it, and another repository inside it.
const PROJECTS: [&str; 4] = ["main", "main/.trees/inner", "beside", "main/nested"];

/// Who inserted a line.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Author {
    Earlier,
    Hand,
    /// Of an edit tool that answered, or another call.
    Call {
        id: String,
        edits: bool,
    },
}

/// A tool call that has begun.
#[derive(Clone)]
struct Call {
    id: String,
    /// The one file that it edits, the line after which it puts one, and that one; or a command.
    edit: Option<(&'static str, String, String)>,
    project: usize,
    worked: bool,
    /// Its agent will not tell that it is over.
    is_lost: bool,
}

struct Agent {
    host: &'static str,
    at: usize,
    prompts: usize,
    calls: Vec<Call>,
    /// Was one of its last calls answered?
    has_answer: bool,
}

impl Agent {
    fn session(&self) -> String {
        format!("{} at {}", self.host, self.at)
    }

    /// The calls that still have something to do.
    fn running(&self) -> Vec<usize> {
        let is_running = |at: &usize| !(self.calls[*at].worked && self.calls[*at].is_lost);
        (0..self.calls.len()).filter(is_running).collect()
    }
}

struct World<'e> {
    env: &'e TestEnv,
    engine: Engine,
    random: Random,
    agents: Vec<Agent>,
    authors: BTreeMap<String, Author>,
    count: usize,
    told: Vec<String>,
}

impl<'e> World<'e> {
    fn new(env: &'e TestEnv, seed: u64) -> Self {
        let engine = Engine::new(EngineOptions {
            home: env.home(),
            user_home: Some(env.user_home()),
            clock: Arc::new(Fixed),
            settings: Settings::default(),
        });
        let places = [("claude", 0), ("codex", 0), ("opencode", 2), ("claude", 3)];
        let agent =
            |(host, at)| Agent { host, at, prompts: 0, calls: Vec::new(), has_answer: false };
        let agents = places.into_iter().map(agent).collect();
        let random = Random::new(seed);
        let mut world = Self {
            env,
            engine,
            random,
            agents,
            authors: BTreeMap::new(),
            count: 0,
            told: Vec::new(),
        };
        world.make_projects();
        world
    }

    fn make_projects(&mut self) {
        let git = |directory: &str, arguments: &[&str]| {
            let mut git = herma_testkit::git::command();
            git.current_dir(self.root_of(directory)).args(arguments);
            let done = git.bounded_output().expect("git runs");
            assert!(done.status.success(), "git {arguments:?}");
        };
        for repository in ["main", "main/nested"] {
            self.env.work_dir(repository);
            git(repository, &["init", "-q"]);
            git(repository, &["commit", "-q", "--allow-empty", "-m", "first"]);
        }
        git("main", &["worktree", "add", "-q", ".trees/inner"]);
        git("main", &["worktree", "add", "-q", "../beside"]);
        for project in 0..PROJECTS.len() {
            for file in FILES {
                for _ in 0..3 {
                    self.insert(project, file, &Author::Earlier);
                }
            }
        }
    }

    fn root_of(&self, directory: &str) -> PathBuf {
        self.env.root().join("work").join(directory)
    }

    fn path(&self, project: usize, file: &str) -> PathBuf {
        self.root_of(PROJECTS[project]).join(file)
    }

    fn lines(&self, project: usize, file: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.path(project, file)).unwrap_or_default();
        text.split_inclusive('\n').map(str::to_owned).collect()
    }

    fn new_line(&mut self) -> String {
        self.count += 1;
        format!("line {}\n", self.count)
    }

    /// Puts a new line somewhere into a file.
    fn insert(&mut self, project: usize, file: &str, author: &Author) {
        let lines = self.lines(project, file).len();
        let (at, line) = (self.random.below(lines + 1), self.new_line());
        self.insert_at(project, file, at, line, author);
    }

    fn insert_at(&mut self, project: usize, file: &str, at: usize, line: String, author: &Author) {
        let mut lines = self.lines(project, file);
        lines.insert(at, line.clone());
        let path = self.path(project, file);
        std::fs::create_dir_all(path.parent().expect("it is in a project")).expect("a directory");
        std::fs::write(&path, lines.concat()).expect("a file");
        self.told.push(format!("{author:?} inserts {line:?} in {}/{file}", PROJECTS[project]));
        self.authors.insert(line, author.clone());
    }

    fn hook(&mut self, host: &str, payload: &Value) {
        use std::io::Write;
        let mut command = self.env.command(self.env.root());
        command.args(["hook", host]).stdin(std::process::Stdio::piped());
        let mut child = command.bounded_spawn().expect("the program starts");
        let mut input = child.stdin.take().expect("a pipe");
        input.write_all(payload.to_string().as_bytes()).expect("it reads");
        drop(input);
        assert!(child.bounded_output().expect("it ends").status.success());
        self.told.push(format!("{host} says {payload}"));
    }

    /// Claude Code's form of an event, which Codex has too, or that of OpenCode's plugin.
    fn event(&mut self, agent: usize, name: &str, call: Option<&Call>) {
        let Agent { host, at, prompts, .. } = self.agents[agent];
        let session = self.agents[agent].session();
        let cwd = self.root_of(PROJECTS[at]);
        let (tool, input) = call.map_or((Value::Null, Value::Null), |call| self.tool(host, call));
        let id = call.map(|call| call.id.clone());
        let payload = if host == "opencode" {
            let event = match name {
                "UserPromptSubmit" => "chat.message",
                "PreToolUse" => "tool.execute.before",
                "PostToolUse" => "tool.execute.after",
                _ => "session.idle",
            };
            json!({
                "event": event, "directory": cwd, "worktree": cwd,
                "input": {"sessionID": session, "tool": tool, "callID": id, "messageID": prompts.to_string(), "args": input},
                "output": {"parts": [{"type": "text", "text": "go"}]},
            })
        } else {
            json!({
                "session_id": session, "cwd": cwd, "hook_event_name": name, "prompt": "go",
                "turn_id": prompts.to_string(), "prompt_id": prompts.to_string(),
                "tool_name": tool, "tool_input": input, "tool_use_id": id,
            })
        };
        self.hook(host, &payload);
    }

    /// What a call is named, and what it is to do, as its agent writes that.
    fn tool(&self, host: &str, call: &Call) -> (Value, Value) {
        let Some((file, after, line)) = &call.edit else {
            let directory = self.root_of(PROJECTS[call.project]);
            let command = format!("make -C {}", directory.display());
            let name = if host == "opencode" { "bash" } else { "Bash" };
            return (name.into(), json!({"command": command}));
        };
        let path = self.path(call.project, file);
        let both = format!("{after}{line}");
        match host {
            "codex" => {
                let head = format!("*** Begin Patch\n*** Update File: {}\n", path.display());
                let text = format!("{head}@@\n {after}+{line}*** End Patch\n");
                ("apply_patch".into(), json!({"command": text}))
            }
            "opencode" => {
                ("edit".into(), json!({"filePath": path, "oldString": after, "newString": both}))
            }
            _ => {
                ("Edit".into(), json!({"file_path": path, "old_string": after, "new_string": both}))
            }
        }
    }

    fn prompt(&mut self, agent: usize) {
        self.agents[agent].prompts += 1;
        self.event(agent, "UserPromptSubmit", None);
    }

    fn begin(&mut self, agent: usize) {
        let at = self.agents[agent].at;
        let project = if self.random.one_in(5) { self.random.below(4) } else { at };
        // Of what a command does in projects around its agent's own, nobody can know.
        let is_edit = self.random.below(3) > 0 || !PROJECTS[project].starts_with(PROJECTS[at]);
        let edit = is_edit.then(|| {
            let own = [&FILES[4..], &FILES[..4]][usize::from(self.random.one_in(16))];
            let file = *self.random.pick(own);
            let lines = self.lines(project, file);
            (file, self.random.pick(&lines).clone(), self.new_line())
        });
        let id = format!("call {}", self.told.len());
        let is_lost = self.random.one_in(8);
        let call = Call { id, edit, project, worked: false, is_lost };
        self.event(agent, "PreToolUse", Some(&call));
        self.agents[agent].calls.push(call);
    }

    fn work(&mut self, agent: usize, at: usize) {
        let call = &mut self.agents[agent].calls[at];
        call.worked = true;
        let Call { id, edit, project, is_lost, .. } = call.clone();
        let author = Author::Call { id, edits: edit.is_some() && !is_lost };
        // Half of what is lost was refused.
        if is_lost && self.random.one_in(2) {
            return;
        }
        let Some((file, after, line)) = edit else {
            for _ in 0..2 {
                // What commands make is mostly not what edits name.
                let own = [&FILES[..4], &FILES[4..]][usize::from(self.random.one_in(8))];
                let file = *self.random.pick(own);
                self.insert(project, file, &author);
            }
            return;
        };
        let found = self.lines(project, file).iter().position(|line| *line == after);
        self.insert_at(project, file, found.expect("nobody deletes") + 1, line, &author);
    }

    fn go_on(&mut self, agent: usize) {
        let running = self.agents[agent].running();
        if running.is_empty() {
            // What is lost by now is over.
            self.agents[agent].calls.clear();
            self.agents[agent].has_answer = false;
            return if self.random.one_in(6) { self.prompt(agent) } else { self.begin(agent) };
        }
        let Agent { host, has_answer, .. } = self.agents[agent];
        // Several calls of one message are told of before any of them is answered.
        let runs_alone = match host {
            "claude" => true,
            // It announces no call before a patch is applied.
            "codex" => running.iter().any(|at| self.agents[agent].calls[*at].edit.is_some()),
            _ => false,
        };
        let may_begin = !runs_alone && !has_answer && running.len() < 3;
        if may_begin && self.random.one_in(3) {
            return self.begin(agent);
        }
        let at = *self.random.pick(&running);
        if !self.agents[agent].calls[at].worked {
            return self.work(agent, at);
        }
        let call = self.agents[agent].calls.remove(at);
        self.agents[agent].has_answer = true;
        self.event(agent, "PostToolUse", Some(&call));
    }

    /// A person changes a file that no tool is at, in a project where no command runs.
    fn by_hand(&mut self) {
        let project = self.random.below(4);
        let file = *self.random.pick(&FILES);
        let is_at = |agent: &Agent, call: &Call| match &call.edit {
            _ if call.worked && call.is_lost => false,
            Some((edited, ..)) => call.project == project && *edited == file,
            None => call.project == project || agent.at == project,
        };
        let mut agents = self.agents.iter();
        if !agents.any(|agent| agent.calls.iter().any(|call| is_at(agent, call))) {
            self.insert(project, file, &Author::Hand);
        }
    }

    fn happen(&mut self) {
        for agent in 0..self.agents.len() {
            self.prompt(agent);
        }
        for _ in 0..TICKS {
            match self.random.below(5) {
                4 => self.by_hand(),
                agent => self.go_on(agent),
            }
        }
        for agent in 0..self.agents.len() {
            for at in 0..self.agents[agent].calls.len() {
                if !self.agents[agent].calls[at].worked {
                    self.work(agent, at);
                }
            }
            for call in std::mem::take(&mut self.agents[agent].calls) {
                if !call.is_lost {
                    self.event(agent, "PostToolUse", Some(&call));
                }
            }
            self.event(agent, "Stop", None);
        }
    }

    fn project(&self, project: usize) -> Project {
        self.engine.project(&self.root_of(PROJECTS[project])).expect("it is one")
    }

    /// What is said of every line of a project that is not so; and how many lines of edits there are, and how many have an author.
    fn wrong_lines(&self, project: usize, counted: &mut Counted) -> Vec<String> {
        let door = self.project(project);
        let steps = steps_of(&door);
        let mut wrong = Vec::new();
        // No agent has been there.
        let files = if door.timeline().expect("a list").is_empty() { &[][..] } else { &FILES };
        for file in files {
            let path = RelPath::new(*file).expect("a path");
            for line in door.blame(&path, &NoProgress).expect("its lines").lines {
                let truth = &self.authors[&line.text.to_string()];
                let said = &line.origin.author;
                counted.count(truth, said);
                if !is_true(truth, said, &steps) {
                    wrong.push(format!("{}/{file} {line:?}: {truth:?}", PROJECTS[project]));
                }
            }
        }
        wrong
    }

    /// All files of all projects, in lines.
    fn files(&self) -> BTreeMap<(usize, &'static str), Vec<String>> {
        let all = (0..PROJECTS.len()).flat_map(|project| FILES.map(|file| (project, file)));
        all.map(|(project, file)| ((project, file), self.lines(project, file))).collect()
    }

    /// Undoes one step, and finds what of others that changed.
    fn wrong_undo(&mut self, project: usize) -> Vec<String> {
        let door = self.project(project);
        let mut steps = steps_of(&door);
        steps.retain(|step| step.after().is_some() && step.start.call.is_some());
        if steps.is_empty() {
            return Vec::new();
        }
        let step = self.random.pick(&steps);
        let call = step.start.call.clone();
        let is_its = |line: &&String| matches!(&self.authors[*line], Author::Call { id, .. } if Some(id) == call.as_ref());
        let before = self.files();
        let ids = vec![step.id()];
        let choice = StepChoice { ids, ..StepChoice::default() };
        let asked = UndoSteps { steps: choice, ..UndoSteps::default() };
        // Refused where others were at work, which leaves everything as it is.
        let done = door.undo_steps(&asked, &NoProgress);
        if let Err(e) = &done {
            panic!("REFUSED {e} {step:?} {}\n", self.told.join("\n"));
        }
        let is_whole = done.is_ok_and(|done| done.plan.reversed.conflicts.is_empty());
        let after = self.files();
        let mut wrong = Vec::new();
        for (place, lines) in &before {
            let rest: Vec<&String> = lines.iter().filter(|line| !is_its(line)).collect();
            let left: Vec<&String> = after[place].iter().filter(|line| !is_its(line)).collect();
            if rest != left || (place.0 != project && *lines != after[place]) {
                wrong.push(format!("undoing {step:?} changed {place:?}: {lines:?} to {left:?}"));
            }
            let remains = after[place].iter().any(|line| is_its(&line));
            if step.start.edits.is_some()
                && is_whole
                && remains
                && place.0 == project
                && lines != &after[place]
            {
                wrong.push(format!("undoing {step:?} left something in {place:?}"));
            }
        }
        wrong
    }
}

fn steps_of(project: &Project) -> Vec<Step> {
    let listed = project.steps(&StepChoice::default()).expect("its steps");
    listed.into_iter().map(|listed| listed.step).collect()
}

fn is_true(truth: &Author, said: &LineAuthor, steps: &[Step]) -> bool {
    let is_of = |step: &StepId, id: &String| {
        steps.iter().any(|one| one.is(*step) && one.start.call.as_ref() == Some(id))
    };
    match (truth, said) {
        // A person's may be from before anybody looked, or beside what may still have been under way.
        (Author::Hand, LineAuthor::Hand | LineAuthor::Earlier | LineAuthor::Unattributed(_))
        | (Author::Earlier, LineAuthor::Earlier) => true,
        (Author::Call { id, .. }, LineAuthor::Step(step)) => is_of(step, id),
        (Author::Call { id, .. }, LineAuthor::Unattributed(steps)) => {
            steps.iter().any(|step| is_of(step, id))
        }
        _ => false,
    }
}

/// The lines that edit tools inserted, and those of them whose step is named.
#[derive(Default)]
struct Counted {
    edited: usize,
    attributed: usize,
}

impl Counted {
    fn count(&mut self, truth: &Author, said: &LineAuthor) {
        if matches!(truth, Author::Call { edits: true, .. }) {
            self.edited += 1;
            self.attributed += usize::from(matches!(said, LineAuthor::Step(_)));
        }
    }
}

fn try_case(seed: u64, counted: &mut Counted) {
    let env = test_env();
    let mut world = World::new(&env, seed);
    world.happen();
    let mut wrong: Vec<String> =
        (0..PROJECTS.len()).flat_map(|project| world.wrong_lines(project, counted)).collect();
    for project in 0..PROJECTS.len() {
        wrong.extend(world.wrong_undo(project));
    }
    let story = world.told.join("\n");
    assert!(wrong.is_empty(), "seed {seed}\n{story}\n{}", wrong.join("\n"));
}

#[test]
fn no_line_of_many_agents_has_a_wrong_author_and_an_undo_leaves_others_alone() {
    let set = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first = set("HERMA_AGENTS_FIRST").unwrap_or(0);
    let cases = set("HERMA_AGENTS_CASES").unwrap_or(CASES);
    let mut counted = Counted::default();
    for case in 0..cases {
        try_case((first + case) as u64, &mut counted);
    }
    let Counted { edited, attributed } = counted;
    // Of few days, a few lines more or less say nothing.
    let percent = if cases < 20 { 85 } else { 95 };
    assert!(attributed * 100 >= edited * percent, "{attributed} of {edited}");
}
