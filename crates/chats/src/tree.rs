//! Records whose lines name the line before them, as in a tree: a conversation that was rewound goes on as another branch.

use std::collections::{HashMap, HashSet};

use crate::Cut;
use crate::error::{Error, Result};
use crate::form::Kept;
use crate::records::Line;

/// Who says what a line has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// A person, in a prompt.
    Prompt,
    /// The agent's program, with the results of calls or notes.
    Program,
    /// The model.
    Model,
    /// Nobody: it is no message.
    Nothing,
}

/// A line of a tree.
#[derive(Debug)]
pub(crate) struct Node {
    /// Where it is.
    pub(crate) line: Line,
    /// What it is called.
    pub(crate) id: String,
    /// What the line before it is called.
    pub(crate) parent: Option<String>,
    /// Who says it.
    pub(crate) said: Said,
    /// The message of the model it is a part of.
    pub(crate) message: Option<String>,
    /// The calls it makes.
    pub(crate) calls: Vec<String>,
    /// The calls whose results it has.
    pub(crate) results: Vec<String>,
}

/// The lines of a record.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
    parents: Vec<Option<usize>>,
    places: HashMap<String, usize>,
}

impl Tree {
    /// Adds the next line. Lines name earlier ones; what names another begins anew, as it does for the agents.
    pub(crate) fn push(&mut self, node: Node) {
        let parent = node.parent.as_ref().and_then(|parent| self.places.get(parent)).copied();
        // A line that is there twice is the one that came first.
        self.places.entry(node.id.clone()).or_insert(self.nodes.len());
        self.parents.push(parent);
        self.nodes.push(node);
    }

    /// A line and those that lead to it, the last first.
    fn up(&self, from: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(from), |at| self.parents[*at])
    }

    /// What stays when the conversation is cut at a call.
    pub(crate) fn keep(&self, agent: &'static str, call: &str, cut: Cut) -> Result<Kept> {
        let has = |list: &[String]| list.iter().any(|one| one == call);
        let made = self.nodes.iter().position(|node| has(&node.calls));
        let made = made.ok_or(Error::NoCall { agent })?;
        let leaf = match cut {
            Cut::BeforePrompt => {
                let mut up = self.up(made);
                let prompt = up.find(|at| self.nodes[*at].said == Said::Prompt);
                self.parents[prompt.ok_or(Error::NoPrompt { agent })?]
            }
            Cut::BeforeMessage => self.before_message(made),
            Cut::AfterResult => {
                let result = self.nodes.iter().position(|node| has(&node.results));
                let kept = result.map(|result| (result, self.leading_to(result)));
                match kept.filter(|(_, kept)| self.is_answered(kept)) {
                    Some((_, kept)) => return Ok(self.kept(&kept, made)),
                    None => self.before_message(made),
                }
            }
        };
        let kept = leaf.map(|leaf| self.leading_to(leaf)).unwrap_or_default();
        Ok(self.kept(&kept, made))
    }

    /// The line before the message that a line is part of.
    fn before_message(&self, made: usize) -> Option<usize> {
        let message = &self.nodes[made].message;
        let is_part = |at: &usize| message.is_some() && self.nodes[*at].message == *message;
        let first = self.up(made).filter(is_part).last().unwrap_or(made);
        self.parents[first]
    }

    /// The lines that lead to this one, in their order, and the results of calls made at once, which hang beside each other.
    fn leading_to(&self, leaf: usize) -> Vec<usize> {
        let mut kept: Vec<usize> = self.up(leaf).collect();
        let calls: HashSet<&String> = kept.iter().flat_map(|at| &self.nodes[*at].calls).collect();
        let there: HashSet<usize> = kept.iter().copied().collect();
        let beside = (0..leaf).filter(|at| {
            let results = &self.nodes[*at].results;
            !there.contains(at)
                && !results.is_empty()
                && results.iter().all(|id| calls.contains(id))
        });
        kept.extend(beside);
        kept.sort_unstable();
        kept
    }

    /// Has every call among these lines its result?
    fn is_answered(&self, kept: &[usize]) -> bool {
        let nodes = || kept.iter().map(|at| &self.nodes[*at]);
        let results: HashSet<&String> = nodes().flat_map(|node| &node.results).collect();
        nodes().flat_map(|node| &node.calls).all(|call| results.contains(call))
    }

    fn kept(&self, kept: &[usize], made: usize) -> Kept {
        let count = |at: &mut dyn Iterator<Item = usize>| {
            at.filter(|at| self.nodes[*at].said != Said::Nothing).count() as u64
        };
        let newest = self.newest_below(made);
        Kept {
            lines: kept.iter().map(|at| self.nodes[*at].line).collect(),
            messages: count(&mut kept.iter().copied()),
            all_messages: count(&mut self.leading_to(newest).into_iter()),
            directory: None,
        }
    }

    /// The last line that goes on from this one.
    fn newest_below(&self, at: usize) -> usize {
        let mut below = HashSet::from([at]);
        let mut newest = at;
        for next in at + 1..self.nodes.len() {
            if self.parents[next].is_some_and(|parent| below.contains(&parent)) {
                below.insert(next);
                newest = next;
            }
        }
        newest
    }
}
