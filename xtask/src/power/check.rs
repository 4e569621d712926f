//! What is there when the power is back.
//!
//! Nothing is cleaned up by hand. The store must be whole for git and for Herma, every acknowledged checkpoint
//! must be there, a restore that was under way must have happened, have not happened, or be finished or reversed
//! by one command, and the next save must work.

use std::collections::BTreeMap;
use std::sync::Arc;

use herma_testkit::{Tree, tree};

use super::content;
use super::world::damage;
use super::writer::{Shared, Writer};
use crate::Result;

/// So many files a restore syncs one by one; when there are more, it syncs the file system once.
const SYNCED_ONE_BY_ONE: usize = 64;

/// What one cut did.
#[derive(Debug, Default)]
pub struct Verdict {
    /// What is wrong with the store.
    pub damaged: Vec<String>,
    /// Acknowledged checkpoints that are gone or wrong.
    pub lost: Vec<String>,
    /// Files that are not what a restore must leave.
    pub inexact: Vec<String>,
    /// Commands that failed, before the cut or after it, so that a person would have to do something.
    pub manual: Vec<String>,
    /// Restores that were cut short and finished.
    pub finished: usize,
    /// Restores that were cut short and reversed.
    pub reversed: usize,
    /// Of these, how many had more files than a restore syncs one by one.
    pub wide: usize,
}

impl Verdict {
    /// Is there nothing to complain about?
    pub fn is_good(&self) -> bool {
        self.complaints().next().is_none()
    }

    /// All that is wrong, each with a word for its kind.
    pub fn complaints(&self) -> impl Iterator<Item = (&'static str, &String)> {
        let kind = |word: &'static str, list| -> Box<dyn Iterator<Item = _>> {
            let list: &Vec<String> = list;
            Box::new(list.iter().map(move |one| (word, one)))
        };
        kind("damaged", &self.damaged)
            .chain(kind("lost", &self.lost))
            .chain(kind("inexact", &self.inexact))
            .chain(kind("manual", &self.manual))
    }
}

/// Looks at everything on a disk that was just mounted again.
pub fn check(writers: &mut [Writer], shared: &Shared) -> Verdict {
    let mut verdict = Verdict::default();
    let Some(world) = writers.first().map(|writer| writer.world.clone()) else {
        return verdict;
    };
    verdict.damaged.extend(damage(&world.store()));
    let verify = ["checkpoints", "verify", "--read-data"];
    if let Err(failure) = world.ask(writers[0].number, &verify) {
        verdict.damaged.push(failure.words);
    }
    for writer in writers {
        if let Err(error) = check_project(writer, shared, &mut verdict) {
            let words = format!("project {}: {error}", writer.number);
            verdict.manual.push(words);
        }
    }
    verdict
}

fn check_project(writer: &mut Writer, shared: &Shared, verdict: &mut Verdict) -> Result<()> {
    settle(writer, verdict)?;
    writer.moving = None;
    writer.present = Arc::new(Tree::read(writer.path()));
    writer.save(shared)?;
    let listed = list(writer)?.0;
    let required: Vec<(String, Arc<Tree>)> = shared.with_ledger(|ledger| {
        let required = ledger.required(writer.number);
        required.map(|(id, tree)| (id.to_owned(), Arc::clone(tree))).collect()
    });
    let mut there = Vec::new();
    for (id, tree) in &required {
        match listed.get(id) {
            None => verdict.lost.push(format!("{id} is not listed")),
            Some(found) if *found != content::id(tree) => {
                verdict.lost.push(format!("{id} has the tree {found}"));
            }
            Some(_) => there.push((id, tree)),
        }
    }
    // Each of them has the right tree, and the store is whole. Whole restores are more than that.
    for _ in 0..2.min(there.len()) {
        let (id, tree) = *writer.random.pick(&there);
        writer
            .world
            .ask(writer.number, &["restore", "--all", id])
            .map_err(|failure| failure.words)?;
        writer.present = Arc::clone(tree);
        let wrong = difference(writer, tree);
        verdict.lost.extend(wrong.map(|wrong| format!("{id} restores wrongly:\n{wrong}")));
    }
    Ok(())
}

/// The checkpoints of a project with their trees, and whether a restore was interrupted.
fn list(writer: &Writer) -> Result<(BTreeMap<String, String>, bool)> {
    let answer = writer.world.ask(writer.number, &["list"]);
    let answer = answer.map_err(|failure| failure.words)?;
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let checkpoints = answer["checkpoints"].as_array().into_iter().flatten();
    let listed = checkpoints.map(|one| (text(&one["id"]), text(&one["tree"])));
    let is_interrupted = answer["project"]["interrupted_restore"] == true;
    Ok((listed.collect(), is_interrupted))
}

/// Brings a restore that was cut short to one of its ends.
fn settle(writer: &mut Writer, verdict: &mut Verdict) -> Result<()> {
    let is_interrupted = list(writer)?.1;
    let Some(moving) = writer.moving.clone() else {
        if is_interrupted {
            return Err("a restore counts as interrupted that nobody had under way".into());
        }
        return Ok(());
    };
    if !is_interrupted {
        let wrong = difference(writer, &moving.to);
        let is_at_an_end = wrong.is_none()
            || (!moving.is_acknowledged && difference(writer, &moving.from).is_none());
        if !is_at_an_end {
            let told = if moving.is_acknowledged { "told as done" } else { "not answered" };
            let wrong = wrong.unwrap_or_default();
            verdict.inexact.push(format!("a restore, {told}:\n{wrong}"));
        }
        return Ok(());
    }
    if moving.is_acknowledged {
        let words = "a restore that was told as done counts as interrupted";
        verdict.inexact.push(words.to_owned());
    }
    let (args, end, count): (&[&str], _, _) = if writer.random.one_in(2) {
        (&["restore", "--continue"], &moving.to, &mut verdict.finished)
    } else {
        (&["undo"], &moving.from, &mut verdict.reversed)
    };
    *count += 1;
    let files = tree::diff(&moving.from, &moving.to).lines().count();
    verdict.wide += usize::from(files > SYNCED_ONE_BY_ONE);
    let done = writer.world.ask(writer.number, args);
    done.map_err(|failure| failure.words)?;
    let wrong = difference(writer, end);
    verdict.inexact.extend(wrong.map(|wrong| format!("after {args:?}:\n{wrong}")));
    Ok(())
}

/// How a project differs from what it must be.
fn difference(writer: &Writer, expected: &Tree) -> Option<String> {
    let wrong = tree::diff(expected, &Tree::read(writer.path()));
    (!wrong.is_empty()).then_some(wrong)
}
