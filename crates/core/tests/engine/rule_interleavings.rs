//! Random days on which rules change between and inside steps: ignore files, `info/exclude`, the index, branches, settings, size
//! limits.
//!
//! The model knows which rules name which file and what is on disk, and nothing of how undo works. It says what undoing the last
//! step, or a restore, has to come to: what a checkpoint could hold at either end of the step is as before it; everything else that
//! differs is named, or was left out before and after; and undoing the undo leads back exactly. `HERMA_RULES_CASES` and
//! `HERMA_RULES_FIRST` choose the cases; `cargo xtask rules` runs 1,000.

use std::collections::{BTreeMap, BTreeSet};

use herma_core::steps::StepEnd;
use herma_core::{Settings, Undone};
use herma_fs::publish::Durability;
use herma_testkit::random::Random;

use super::changed_rules::set;
use super::interleavings::on_all_cores;
use super::ledger::names;
use super::model::number;
use super::project::TestProject;
use super::steps::of_steps;

const CASES: u64 = 20;
const FILES: [&str; 8] = ["a", "b", "c", "d", "gen/e", "gen/f", "gen/deep/g", "lib/h"];
/// The files of the project that are rules.
const RULES: [&str; 2] = [".gitignore", ".hermaignore"];
const BRANCHES: [&str; 2] = ["main", "other"];
const LIMIT: usize = 300;
const LOWER_LIMIT: usize = 100;

type Files = BTreeMap<&'static str, String>;
type Names = BTreeSet<&'static str>;

/// The rules that name files, each by its last name alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Rules {
    gitignore: Names,
    hermaignore: Names,
    info: Names,
    setting: Names,
    /// What git's index has: what git itself is to ignore does not count for these.
    tracked: Names,
    lower_limit: bool,
}

impl Rules {
    fn limit(&self) -> usize {
        if self.lower_limit { LOWER_LIMIT } else { LIMIT }
    }

    /// Would a name leave this file out if git did not track it? Which files git tracked when a step began is on no record.
    fn may_name(&self, file: &str) -> bool {
        let untracked = Self { tracked: Names::new(), ..self.clone() };
        untracked.names(file)
    }

    /// Does a name leave this file out?
    fn names(&self, file: &str) -> bool {
        let by_git = self.gitignore.contains(file) || self.info.contains(file);
        let by_us = self.hermaignore.contains(file) || self.setting.contains(file);
        by_us || (by_git && !self.tracked.contains(file))
    }
}

struct Day {
    p: TestProject,
    random: Random,
    rules: Rules,
    /// What each branch has.
    branches: [Names; 2],
    count: usize,
}

impl Day {
    fn new(seed: u64) -> Self {
        let p = TestProject::with(Settings {
            durability: Durability::Cache,
            max_file_size: Some(LIMIT as u64),
            ..Settings::default()
        });
        p.git_in("", &["init", "-q", "-b", BRANCHES[0]]);
        let mut day = Self {
            p,
            random: Random::new(seed),
            rules: Rules::default(),
            branches: Default::default(),
            count: 0,
        };
        for number in [1, 0] {
            let mut committed = Names::new();
            for file in FILES {
                day.write(file);
                if day.random.one_in(3) {
                    committed.insert(file);
                }
            }
            day.p.git_in("", &["checkout", "-q", "--orphan", BRANCHES[number]]);
            day.p.git_in("", &["read-tree", "--empty"]);
            for file in &committed {
                day.p.git_in("", &["add", file]);
            }
            let name = BRANCHES[number];
            day.p.git_in("", &["commit", "-q", "--allow-empty", "-m", name]);
            day.branches[number].clone_from(&committed);
            day.rules.tracked = committed;
        }
        day
    }

    /// Goes to a branch, which changes files and the index.
    fn switch(&mut self) {
        let number = self.random.below(BRANCHES.len());
        self.p.git_in("", &["checkout", "-q", "-f", BRANCHES[number]]);
        self.rules.tracked.clone_from(&self.branches[number]);
    }

    /// Has git track a file, or track it no longer.
    fn change_index(&mut self, file: &'static str) {
        if self.rules.tracked.remove(file) {
            self.p.git_in("", &["rm", "-q", "-f", "--cached", file]);
        } else if self.p.exists(file) {
            self.p.git_in("", &["add", "-f", file]);
            self.rules.tracked.insert(file);
        }
    }

    fn any_file(&mut self) -> &'static str {
        FILES[self.random.below(FILES.len())]
    }

    /// Writes a file anew, sometimes a large one.
    fn write(&mut self, file: &str) {
        self.count += 1;
        let size = match self.random.below(8) {
            0 => LOWER_LIMIT + 50,
            1 => LIMIT + 50,
            _ => 20,
        };
        let text = format!("{:>size$}\n", self.count);
        self.p.write(file, text);
    }

    fn change_files(&mut self) {
        for _ in 0..=self.random.below(3) {
            let file = self.any_file();
            if self.p.exists(file) && self.random.one_in(3) {
                self.p.remove(file);
            } else {
                self.write(file);
            }
        }
    }

    fn change_rules(&mut self) {
        let file = self.any_file();
        let toggle = |set: &mut Names| {
            if !set.remove(file) {
                set.insert(file);
            }
        };
        let lines = |set: &Names| {
            let lines = set.iter().map(|file| format!("/{file}\n"));
            lines.collect::<String>()
        };
        match self.random.below(7) {
            0 => {
                toggle(&mut self.rules.hermaignore);
                self.p.write(".hermaignore", lines(&self.rules.hermaignore));
            }
            1 | 2 => self.change_index(file),
            3 => {
                toggle(&mut self.rules.gitignore);
                self.p.write(".gitignore", lines(&self.rules.gitignore));
            }
            4 => {
                toggle(&mut self.rules.info);
                self.p.write(".git/info/exclude", lines(&self.rules.info));
            }
            5 => {
                toggle(&mut self.rules.setting);
                let patterns = self.rules.setting.iter().map(|file| format!("/{file}"));
                let patterns = patterns.collect();
                set(&mut self.p, |s| s.excludes.exclude = patterns);
            }
            _ => {
                self.rules.lower_limit = !self.rules.lower_limit;
                let limit = self.rules.limit();
                set(&mut self.p, |s| s.max_file_size = Some(limit as u64));
            }
        }
    }

    /// What is on disk; the ignore files are among it.
    fn files(&self) -> Files {
        let all = FILES.into_iter().chain(RULES);
        all.filter(|file| self.p.exists(file)).map(|file| (file, self.p.read(file))).collect()
    }

    /// The ignore files may be others by now.
    fn read_ignore_files(&mut self) {
        let named = |of: &str| {
            let text = if self.p.exists(of) { self.p.read(of) } else { String::new() };
            let is_named = |file: &&str| text.lines().any(|l| l.strip_prefix('/') == Some(*file));
            FILES.into_iter().filter(is_named).collect()
        };
        (self.rules.gitignore, self.rules.hermaignore) = (named(RULES[0]), named(RULES[1]));
    }
}

/// Undoes the last step, in which nothing is left to be decided.
fn check_step(day: &mut Day, what: &str) {
    let before = day.files();
    let rules_before = day.rules.clone();
    let step = day.p.begin("claude", "bash");
    // What the checkpoint before the step says nothing about.
    let unsaid = day.p.left_out();
    let held: BTreeSet<&str> = {
        let saved = day.p.saved_tree(&day.p.find("@")).0;
        let is_saved = |file: &&&str| saved.contains_key(file.as_bytes());
        FILES.iter().filter(is_saved).copied().collect()
    };
    for _ in 0..=day.random.below(3) {
        match day.random.below(5) {
            0 | 1 => day.change_files(),
            2 | 3 => day.change_rules(),
            _ => day.switch(),
        }
    }
    let ended = day.p.end(step);
    if day.random.one_in(3) {
        day.p.save("by the rules of now");
    }
    let after = day.files();
    let taken = day.p.undo_steps(&of_steps(&[step]));
    let mut named: BTreeSet<String> = taken
        .plan
        .outside
        .iter()
        .flat_map(|o| {
            let changes = o.outside.changes.iter();
            changes.map(|change| change.path.to_string()).collect::<Vec<_>>()
        })
        .collect();
    named.extend(names(taken.plan.reversed.kept.iter().map(|(path, _)| path)));
    assert_eq!(names(&taken.plan.by_hand), [""; 0], "{what}");
    assert_eq!(taken.plan.reversed.conflicts, [], "{what}");
    let now = day.files();
    for file in FILES.into_iter().chain(RULES) {
        let (then, since, result) = (before.get(file), after.get(file), now.get(file));
        let fits = |text: Option<&String>| text.is_none_or(|text| text.len() <= LIMIT);
        let fits_now =
            |text: Option<&String>| text.is_none_or(|text| text.len() <= day.rules.limit());
        // Covered at the beginning, or to be covered by the rules of then, and small enough at the end.
        let is_said = !unsaid.contains_key(file);
        let was_covered =
            held.contains(file) || (then.is_none() && is_said && !rules_before.may_name(file));
        if RULES.contains(&file)
            || (was_covered && fits(then) && (fits_now(since) || since == then))
        {
            assert_eq!(result, then, "{file} is as before the step, {what}");
        } else if result != then {
            assert_eq!(result, since, "{file} is left alone, {what}");
            // What comes new and no checkpoint takes in is no loss, where nothing else happened.
            let is_idle = matches!(ended.end, StepEnd::Unchanged(_));
            let is_silent = then.is_none() && (rules_before.names(file) || is_idle);
            assert!(
                named.contains(file) || is_silent || !was_covered,
                "{file} is named, {named:?}, {what}"
            );
        }
    }
    if taken.restored.is_some() {
        day.p.undo().unwrap();
        assert_eq!(day.files(), after, "the undo undone, {what}");
        day.p.redo().unwrap();
        assert_eq!(day.files(), now, "done again, {what}");
    }
    day.read_ignore_files();
}

/// Restores some checkpoint, changes rules, and undoes it.
fn check_restore(day: &mut Day, what: &str) {
    let checkpoints = day.p.list().len();
    let spec = (1 + day.random.below(checkpoints)).to_string();
    let before = day.files();
    let restored = day.p.restore(&spec);
    day.read_ignore_files();
    let after = day.files();
    if restored.safety.is_none() || restored.plan.actions.is_empty() {
        return;
    }
    if day.random.one_in(2) {
        day.p.save("by the rules of now");
    }
    // Rules that are no file of the project.
    for _ in 0..day.random.below(3) {
        day.change_rules();
    }
    if day.files() != after {
        // A hand edit is what an undo undoes first.
        return;
    }
    match day.p.undo().unwrap() {
        // What one of the states left out is named, even where it is as before.
        Undone::Done(_) | Undone::Steps(_, Some(_)) => {}
        Undone::Steps(_, None) | Undone::Planned(_) => {
            panic!("nothing was done, {what}")
        }
    }
    assert_eq!(day.files(), before, "undone, {spec}, {what}");
    day.p.redo().unwrap();
    assert_eq!(day.files(), after, "done again, {spec}, {what}");
    day.read_ignore_files();
}

fn check_case(seed: u64) {
    let mut day = Day::new(seed);
    day.p.save("first");
    for turn in 0..6 {
        let what = format!("seed {seed}, turn {turn}");
        match day.random.below(6) {
            0 => day.change_rules(),
            1 => day.change_files(),
            5 => day.switch(),
            2 => check_restore(&mut day, &what),
            _ => check_step(&mut day, &what),
        }
    }
    day.p.fsck();
}

#[test]
fn whatever_rules_change_undo_leads_back_or_names_what_it_leaves() {
    let first = number("HERMA_RULES_FIRST", 0);
    let count = number("HERMA_RULES_CASES", CASES);
    on_all_cores(count as usize, |case| check_case(first + case as u64));
}
