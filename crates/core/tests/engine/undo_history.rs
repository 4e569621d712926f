//! Plays the histories of the table of what an undo must do (`testkit/cases/undo.txt`), and gives its commands to the engine.
//!
//! The tests of the command line play the same histories with this file.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use herma_core::engine::NoProgress;
use herma_core::restore::RestoreOptions;
use herma_core::steps::{Step, StepChoice, StepEnd, StepId, StepKind, StepStart, TurnChoice};
use herma_core::types::checkpoint::Facts;
use herma_core::types::clock::Timestamp;
use herma_core::{
    Clock, Engine, Error, Extent, NextMove, Project, RelPath, Row, Spec, UndoLast, UndoPlan,
    UndoSteps, Undone, WhichStep,
};
use herma_reversal::Conflicts;
use herma_testkit::cases::{
    Act, Begins, Case, Edit, Ends, Marks, Work, edit, first_files, write_files,
};

const DAY: i64 = 26 * 3600;

/// A clock that is so many seconds behind.
pub struct Behind(AtomicI64);

impl Behind {
    pub fn new() -> Arc<Self> {
        Arc::new(Self(0.into()))
    }
}

impl Clock for Behind {
    fn now(&self) -> Timestamp {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64;
        let seconds = now - self.0.load(Ordering::Relaxed);
        Timestamp { seconds, nanos: 0, offset_minutes: 0 }
    }
}

/// Lets the history of a case happen in a directory, up to the present.
pub fn play(case: &Case, engine: &Engine, clock: &Behind, root: &Path) {
    write_files(root, &first_files());
    clock.0.store(DAY * case.days() as i64, Ordering::Relaxed);
    let project = engine.project(root).unwrap();
    let mut player = Player { project, root, open: HashMap::new(), prompts: 0 };
    for act in &case.history {
        match act {
            Act::Save => drop(player.project.save("by hand").unwrap()),
            Act::Day => drop(clock.0.fetch_sub(DAY, Ordering::Relaxed)),
            Act::Hand(edits) => edit(root, edits),
            Act::Work(work) => player.work(work),
            Act::Command(words) => {
                let word = run(&player.project, words);
                let is_done = ["undone", "partly", "done"].contains(&word);
                assert!(is_done, "line {}: {}: {words:?} is {word}", case.line, case.text);
            }
        }
    }
}

struct Player<'p> {
    project: Project,
    root: &'p Path,
    /// The call of each session that is under way.
    open: HashMap<String, StepId>,
    prompts: usize,
}

impl Player<'_> {
    fn work(&mut self, work: &Work) {
        let session = work.session.clone().unwrap_or_default();
        if work.begins == Begins::Prompt && work.session.is_some() {
            self.prompts += 1;
            let facts = Facts { agent: work.agent().map(str::to_owned), ..Facts::default() };
            let prompt = format!("prompt {}", self.prompts);
            self.project.begin_turn(&session, &facts, Some(&prompt)).unwrap();
        }
        for (index, call) in work.calls.iter().enumerate() {
            let is_last = index + 1 == work.calls.len();
            if index == 0 && work.begins == Begins::InCall {
                edit(self.root, &call.edits);
            } else {
                self.call(work, &call.edits, call.is_of_sub_agent);
            }
            if is_last && work.ends == Ends::InCall {
                return;
            }
            let open = self.open.remove(&session).expect("a call is under way");
            self.end(open);
        }
        if work.session.is_some() && work.ends == Ends::Prompt {
            self.project.end_turn(&session).unwrap();
        }
    }

    fn call(&mut self, work: &Work, edits: &[Edit], is_of_sub_agent: bool) {
        let facts = Facts {
            agent: work.agent().map(str::to_owned),
            session: work.session.clone(),
            tool: Some("Edit".to_owned()),
            ..Facts::default()
        };
        let outer = self.begin(StepStart { facts: facts.clone(), ..StepStart::default() });
        self.open.insert(work.session.clone().unwrap_or_default(), outer.id());
        if !is_of_sub_agent {
            return edit(self.root, edits);
        }
        let name = facts.session.as_ref().map(|session| format!("{session}-agent"));
        let inner = self.begin(StepStart {
            within: Some(outer.handle),
            sub_agent: name.clone(),
            facts: Facts { session: name, ..facts },
            ..StepStart::default()
        });
        edit(self.root, edits);
        self.end(inner.id());
    }

    fn begin(&self, start: StepStart) -> Step {
        self.project.begin_step(StepKind::Tool, start, &NoProgress).unwrap().step
    }

    fn end(&self, step: StepId) {
        let ended = self.project.end_step(&WhichStep::Id(step), &NoProgress).unwrap();
        assert!(!matches!(ended.step.end, StepEnd::Unknown(_)));
    }
}

/// A command of the table, understood.
#[derive(Default)]
pub struct Asked {
    /// Steps: a range names those that are steps.
    pub steps: Vec<StepId>,
    pub paths: Vec<String>,
    /// Options without a value, and those with one.
    pub switches: Vec<String>,
    pub values: BTreeMap<String, String>,
}

impl Asked {
    pub fn of(project: &Project, words: &[String]) -> Self {
        let mut asked = Self::default();
        for word in &words[1..] {
            match word.strip_prefix("--").map(|option| (option, option.split_once('='))) {
                Some((_, Some((name, value)))) => {
                    asked.values.insert(name.to_owned(), value.to_owned());
                }
                Some((name, None)) => asked.switches.push(name.to_owned()),
                None => asked.name(project, word),
            }
        }
        asked
    }

    fn name(&mut self, project: &Project, word: &str) {
        let range = word
            .split_once('-')
            .and_then(|(first, last)| Some(first.parse::<u64>().ok()?..=last.parse::<u64>().ok()?));
        if let Some(range) = range {
            let steps = project.steps(&StepChoice::default()).unwrap();
            let numbers = steps.iter().filter_map(|one| one.step.number);
            self.steps.extend(numbers.filter(|n| range.contains(n)).map(StepId::Number));
        } else if let Some(id) = StepId::parse(word) {
            self.steps.push(id);
        } else {
            self.paths.push(word.to_owned());
        }
    }

    pub fn has(&self, switch: &str) -> bool {
        self.switches.iter().any(|one| one == switch)
    }

    pub fn value(&self, name: &str) -> Option<String> {
        self.values.get(name).cloned()
    }

    /// Is it about steps that are chosen, and not about what was newest?
    pub fn is_choice(&self) -> bool {
        let is_of_session = self.values.contains_key("session") && !self.has("last-prompt");
        !self.steps.is_empty()
            || is_of_session
            || self.has("turn")
            || self.values.keys().any(|name| ["only-agent", "turn"].contains(&&**name))
    }

    fn choice(&self) -> StepChoice {
        StepChoice {
            ids: self.steps.clone(),
            agent: self.value("only-agent"),
            session: self.value("session"),
            turn: self
                .value("turn")
                .map(TurnChoice::Named)
                .or(self.has("turn").then_some(TurnChoice::Last)),
            ..StepChoice::default()
        }
    }

    fn conflicts(&self) -> Conflicts {
        match self.values.get("conflicts").map(String::as_str) {
            None => Conflicts::Leave,
            Some("ours") => Conflicts::Ours,
            Some("theirs") => Conflicts::Theirs,
            Some("markers") => Conflicts::Markers,
            Some(other) => panic!("{other}"),
        }
    }

    fn rel_paths(&self) -> Vec<RelPath> {
        self.paths.iter().map(|path| RelPath::new(path.as_bytes()).unwrap()).collect()
    }
}

/// Gives a command, and says in a word what came of it.
pub fn run(project: &Project, words: &[String]) -> &'static str {
    let asked = Asked::of(project, words);
    let paths = asked.rel_paths();
    if words[0] != "drop" && project.first_unknown(&paths).unwrap().is_some() {
        return "unknown";
    }
    match &*words[0] {
        "undo" if asked.is_choice() => {
            let (steps, conflicts) = (asked.choice(), asked.conflicts());
            undo_steps(project, &UndoSteps { steps, paths, conflicts, ..UndoSteps::default() })
        }
        "undo" => {
            let count = asked.value("count").map_or(1, |count| count.parse().unwrap());
            let last = UndoLast {
                more: count - 1,
                paths,
                only_step: asked.has("step"),
                session: asked.value("session"),
                running: asked.has("running"),
                conflicts: asked.conflicts(),
                ..UndoLast::default()
            };
            go(project, project.plan_undo(&last, &NoProgress), asked.has("yes"))
        }
        "redo" => go(project, project.plan_redo(&NoProgress), true),
        "restore" => restore(project, &asked, paths),
        "drop" => {
            for word in &words[1..] {
                project.drop_named(&Spec::parse(word).unwrap()).unwrap();
            }
            "done"
        }
        other => panic!("{other} is no command of the table"),
    }
}

/// As the command line does: what was edited by hand stays, unless no agent did anything.
fn restore(project: &Project, asked: &Asked, paths: Vec<RelPath>) -> &'static str {
    let [StepId::Number(number)] = asked.steps[..] else { panic!("a restore of one number") };
    let target = match project.find(&Spec::parse(&number.to_string()).unwrap()) {
        Ok(target) => target,
        Err(error) => return refusal(&error),
    };
    if asked.has("all") || !project.has_work().unwrap() {
        let options = RestoreOptions { paths, keep: Vec::new() };
        project.restore_with(&target, &options, &NoProgress).unwrap();
        return "done";
    }
    let since = Some(target);
    undo_steps(project, &UndoSteps { since, paths, ..UndoSteps::default() })
}

fn undo_steps(project: &Project, asked: &UndoSteps) -> &'static str {
    match project.undo_steps(asked, &NoProgress) {
        Ok(taken) => outcome(&taken.plan),
        Err(error) => refusal(&error),
    }
}

fn go(project: &Project, next: Result<NextMove, Error>, is_sure: bool) -> &'static str {
    let next = match next {
        Ok(next) => next,
        Err(error) => return refusal(&error),
    };
    if next.doubt().is_some() && !is_sure {
        return "asks";
    }
    match project.carry_out(next, &NoProgress, false) {
        Ok(Undone::Steps(_, Some(taken))) => outcome(&taken.plan),
        Ok(Undone::Done(_)) => "undone",
        Ok(other) => panic!("{other:?}"),
        Err(error) => refusal(&error),
    }
}

fn outcome(plan: &UndoPlan) -> &'static str {
    let extents: Vec<Extent> = plan.outcomes().iter().map(|one| one.extent).collect();
    let all_are = |extent| extents.iter().all(|one| *one == extent);
    match () {
        () if plan.exact.is_some() => "undone",
        () if plan.is_empty() && all_are(Extent::Whole) => "nothing",
        () if all_are(Extent::Whole) => "undone",
        () if all_are(Extent::Nothing) => "not-undone",
        () => "partly",
    }
}

fn refusal(error: &Error) -> &'static str {
    match error {
        Error::NothingToUndo
        | Error::NothingToRedo
        | Error::ChangedSinceUndo
        | Error::NoStore(_)
        | Error::NoCheckpoints { .. } => "nothing",
        Error::UnderWay(..) | Error::FewerToUndo(_) | Error::UndoneAlone(..) | Error::NoPrompts => {
            "refused"
        }
        Error::NoSteps | Error::NoSuchStep(_) | Error::NoSuchNumber { .. } => "unknown",
        Error::StepsForgotten(_) => "gone",
        other => panic!("{other:?}"),
    }
}

/// The numbers that are marked as undone, and in part.
pub fn marked(project: &Project) -> Marks {
    let sorted = |numbers: &mut dyn Iterator<Item = Option<u64>>| {
        let mut numbers: Vec<u64> = numbers.flatten().collect();
        numbers.sort_unstable();
        numbers
    };
    let steps = project.steps(&StepChoice::default()).unwrap();
    let newest = |most| project.rows(&StepChoice::default(), most, None).unwrap().rows;
    let rows = newest(usize::MAX);
    for most in 1..rows.len().min(4) {
        let in_short = |row: &Row| format!("{:?} {:?} {:?}", row.id, row.told, row.changes);
        let few: Vec<String> = newest(most).iter().map(in_short).collect();
        let first: Vec<String> = rows.iter().take(few.len()).map(in_short).collect();
        assert_eq!(few, first, "the newest {most}");
    }
    let calls = || rows.iter().flat_map(|row| &row.calls);
    let undone = sorted(&mut steps.iter().filter(|one| one.undone).map(|one| one.step.number));
    let in_rows = sorted(&mut calls().filter(|call| call.undone).map(|call| call.step.number));
    assert_eq!(undone, in_rows, "both lists say the same");
    let in_part = sorted(&mut calls().filter(|call| call.in_part).map(|call| call.step.number));
    Marks { undone, in_part }
}
