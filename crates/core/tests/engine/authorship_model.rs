//! Who wrote which line, after random edits, restores and undos, against a model.

use std::collections::BTreeMap;

use herma_core::engine::NoProgress;
use herma_core::steps::StepId;
use proptest::prelude::*;

use super::project::TestProject;
use super::steps::of_steps;

#[derive(Clone, Debug)]
enum Event {
    /// A person (0) or an agent replaces lines.
    Edit {
        by: usize,
        at: usize,
        remove: usize,
        insert: usize,
    },
    /// Herma brings back an older checkpoint.
    Restore(usize),
    Undo,
    /// Herma undoes one step.
    UndoSteps(u64),
}

fn event() -> impl Strategy<Value = Event> {
    let edit = (0..3_usize, 0..12_usize, 0..3_usize, 0..4_usize)
        .prop_map(|(by, at, remove, insert)| Event::Edit { by, at, remove, insert });
    prop_oneof![
        5 => edit,
        1 => (0..6_usize).prop_map(Event::Restore),
        1 => Just(Event::Undo),
        1 => (1..8_u64).prop_map(Event::UndoSteps),
    ]
}

/// A file of lines that are all different, and who really wrote each.
struct Model {
    p: TestProject,
    authors: BTreeMap<String, String>,
    count: usize,
}

impl Model {
    fn new() -> Self {
        let p = TestProject::new();
        let first: Vec<String> = (0..8).map(|n| format!("first {n}\n")).collect();
        p.write("f", first.concat());
        p.save("first");
        let authors = first.into_iter().map(|line| (line, "-".to_owned()));
        Self { p, authors: authors.collect(), count: 0 }
    }

    fn edit(&mut self, by: usize, at: usize, remove: usize, insert: usize) {
        let p = &self.p;
        let text = p.read("f");
        let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
        self.count += 1;
        let line = |n: usize| format!("line {}.{n}\n", self.count);
        let new: Vec<String> = (0..insert).map(line).collect();
        let at = at.min(lines.len());
        let end = (at + remove).min(lines.len());
        lines.splice(at..end, new.clone());
        let author = match by {
            0 => {
                p.write("f", lines.concat());
                p.save("by hand");
                "hand".to_owned()
            }
            by => {
                let work = || p.write("f", lines.concat());
                p.step(["claude", "codex"][by - 1], work).to_string()
            }
        };
        let new = new.into_iter().map(|line| (line, author.clone()));
        self.authors.extend(new);
    }

    fn happen(&mut self, event: &Event) {
        match *event {
            Event::Edit { by, at, remove, insert } => self.edit(by, at, remove, insert),
            Event::Restore(back) => {
                let back = back.min(self.p.list().len() - 1);
                self.p.restore(&format!("@-{back}"));
            }
            // Whether there is anything to undo does not matter here.
            Event::Undo => drop(self.p.undo()),
            Event::UndoSteps(handle) => {
                let project = self.p.project();
                if let Ok(plan) = project
                    .plan_undo_steps(&of_steps(&[StepId::Handle(handle as i64)]), &NoProgress)
                {
                    project.undo_as_planned(plan, &NoProgress).unwrap();
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn lines_have_the_author_of_the_edit_that_inserted_them(
        events in proptest::collection::vec(event(), 1..12),
    ) {
        let mut model = Model::new();
        for event in &events {
            model.happen(event);
        }
        if !model.p.exists("f") {
            return Ok(());
        }
        for (line, author) in model.p.authors("f") {
            prop_assert_eq!(Some(&author), model.authors.get(&line), "{}", line);
        }
    }
}
