//! The same power cuts for git, and for the method of the original.
//!
//! Here all methods do only what they have in common: somebody edits files and keeps the state, again and again.
//! Every cut has a new disk, because most methods do not come through the first one.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use herma_testkit::Tree;
use herma_testkit::random::Random;
use herma_testkit::tree::edits::next_edit;

use super::cuts::cut_during;
use super::disk::{Disk, Mount};
use super::method::{Method, Place};
use super::world::Program;
use super::{content, race};
use crate::Result;

/// Projects on a disk, with a writer each.
pub const PROJECTS: usize = 2;
const METHODS: [Method; 5] =
    [Method::Herma, Method::HermaFast, Method::Git, Method::GitCommitted, Method::Seed];

/// What the cuts did to one method.
#[derive(Debug, Default)]
struct Tally {
    cuts: usize,
    acknowledged: usize,
    damaged: usize,
    cuts_with_loss: usize,
    lost: usize,
    /// Cuts after which the next snapshot of a project failed.
    stuck: usize,
    /// What git said of the first store that was damaged.
    said_of_damage: Option<String>,
    /// What the first snapshot said that failed after a cut.
    said_of_stuck: Option<String>,
}

/// Somebody who edits a project and keeps its states.
#[derive(Debug)]
pub struct Editor {
    number: usize,
    random: Random,
    present: Tree,
}

impl Editor {
    /// An editor of an empty project.
    pub fn new(number: usize, seed: u64) -> Self {
        Self { number, random: Random::new(seed), present: Tree::new() }
    }

    /// Changes the project; no two states have the same content.
    pub fn edit(&mut self, place: &Place) -> Result<()> {
        let mut next = self.present.clone();
        for _ in 0..4 {
            next_edit(&mut self.random, &next).apply(&mut next);
        }
        let stamp = format!("{:x}\n", self.random.next_number());
        next.remove(b"stamp");
        let stamp = Tree::of_files([("stamp", stamp.as_str())]);
        next.0.extend(stamp.0);
        content::change(&place.project(self.number), &self.present, &next)?;
        self.present = next;
        Ok(())
    }

    /// Changes the project and keeps its state. Returns whose state it is, and its id.
    pub fn edit_and_keep(&mut self, place: &Place) -> Result<(usize, String)> {
        self.edit(place)?;
        Ok((self.number, place.snapshot(self.number)?))
    }
}

/// Runs the cuts for all methods, then the race with the collector, and prints both tables.
pub fn run(program: &Program, on: &Path, mounts: &[Mount], cuts: usize, seed: u64) -> Result<()> {
    println!("method | mount | cuts | acknowledged | damaged | cuts with loss | lost | stuck");
    for method in METHODS {
        for mount in mounts {
            let tally = cut_often(method, program, (on, *mount), cuts, seed)?;
            println!(
                "{} | {} | {} | {} | {} | {} | {} | {}",
                method.name(),
                mount.name(),
                tally.cuts,
                tally.acknowledged,
                tally.damaged,
                tally.cuts_with_loss,
                tally.lost,
                tally.stuck,
            );
            for said in [tally.said_of_damage, tally.said_of_stuck].into_iter().flatten() {
                let start: String = said.chars().take(300).collect();
                println!("    for example: {}", start.replace('\n', "; "));
            }
        }
    }
    race::run(program, on, seed)
}

fn cut_often(
    method: Method,
    program: &Program,
    (on, mount): (&Path, Mount),
    cuts: usize,
    seed: u64,
) -> Result<Tally> {
    let directory = tempfile::tempdir_in(on)?;
    let disk = Disk::new(directory.path(), mount)?;
    let mut random = Random::new(seed);
    let mut tally = Tally::default();
    for _ in 0..cuts {
        disk.format()?;
        let place = Place::prepare(method, program, disk.path(), PROJECTS)?;
        disk.sync()?;
        let acknowledged = cut_once(&disk, &place, &mut random)?;
        disk.power_up()?;
        let lost = place.lost(&acknowledged).len();
        tally.cuts += 1;
        tally.acknowledged += acknowledged.len();
        if let Some(said) = place.damage(PROJECTS) {
            tally.damaged += 1;
            tally.said_of_damage.get_or_insert(said);
        }
        tally.lost += lost;
        tally.cuts_with_loss += usize::from(lost > 0);
        if let Err(error) = work_again(&place) {
            tally.stuck += 1;
            tally.said_of_stuck.get_or_insert(error.to_string());
        }
        disk.unmount()?;
    }
    Ok(tally)
}

fn cut_once(disk: &Disk, place: &Place, random: &mut Random) -> Result<Vec<(usize, String)>> {
    let acknowledged = Mutex::new(Vec::new());
    let is_cut = AtomicBool::new(false);
    let mut editors: Vec<Editor> =
        (0..PROJECTS).map(|number| Editor::new(number, random.next_number())).collect();
    let known = || acknowledged.lock().unwrap_or_else(PoisonError::into_inner);
    let work = |editor: &mut Editor| {
        while !is_cut.load(Ordering::SeqCst) {
            match editor.edit_and_keep(place) {
                Ok(kept) => known().push(kept),
                // What failed was not acknowledged. Whether it fails again is seen after the cut.
                Err(_) => return,
            }
        }
    };
    cut_during(disk, &mut editors, work, &is_cut, || known().len(), random)?;
    Ok(acknowledged.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Keeps every project once more, with nothing repaired by hand.
fn work_again(place: &Place) -> Result<()> {
    for number in 0..PROJECTS {
        std::fs::write(place.project(number).join("after"), "the cut\n")?;
        place.snapshot(number)?;
    }
    Ok(())
}
