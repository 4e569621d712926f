//! Does one command of a line make a link that another may go through?
//!
//! Every path is looked up in the project as it is before the line runs. That is wrong for a path that
//! leads through a link an earlier command made, moved or removed, and how such a path is spelled does not
//! tell (`n/`, `other-link/x`, `cd n`). So once a command can make a link, every later command that goes to
//! a path may be led anywhere; and once a command changes what a link was found at, nobody knows where
//! the others end that were led by it.

use std::collections::{BTreeMap, BTreeSet};

use bstr::BString;
use herma_shell::When;

/// Which commands of a line go where, and which make or change links.
#[derive(Debug, Default)]
pub(crate) struct LinkOrder {
    /// Commands that go to a path.
    going: BTreeSet<usize>,
    /// Those of them that may run at any later time.
    going_later: BTreeSet<usize>,
    made: BTreeMap<BString, Made>,
    followed: BTreeMap<BString, Commands>,
    changed: BTreeMap<BString, Commands>,
}

/// A link that is not there yet.
#[derive(Clone, Copy, Debug)]
struct Made {
    by: usize,
    /// Commands with a higher number may find it.
    since: usize,
    /// Can the command that makes it find it, too?
    again: bool,
}

/// The first and the last command that did something.
#[derive(Clone, Copy, Debug)]
struct Commands(usize, usize);

impl LinkOrder {
    /// A command goes to a path, led by these links.
    pub(crate) fn goes(&mut self, when: When, links: Vec<BString>) {
        self.going.insert(when.command);
        if when.in_background {
            self.going_later.insert(when.command);
        }
        for link in links {
            note(&mut self.followed, link, when.command);
        }
    }

    /// A command changes what is at a path, maybe with everything below it.
    pub(crate) fn changes(&mut self, when: When, path: &[u8]) {
        note(&mut self.changed, path.into(), when.command);
    }

    /// A command makes a link at a path.
    pub(crate) fn makes_link(&mut self, when: When, path: &[u8]) {
        let at_any_time = when.in_loop || when.in_background;
        let beside = when.beside.unwrap_or(when.command);
        let made = Made {
            by: when.command,
            since: if at_any_time { 0 } else { beside },
            again: when.in_loop,
        };
        self.made.entry(path.into()).or_insert(made);
    }

    /// Something of the same command comes to a path: was a link made there before?
    pub(crate) fn meets_link(&mut self, path: &[u8]) {
        if let Some(made) = self.made.get_mut(path) {
            made.again = true;
        }
    }

    /// The links that make it unknown where a command ends.
    pub(crate) fn uncertain_links(&self) -> Vec<BString> {
        let made = self.made.iter();
        let made = made.filter(|(_, made)| self.may_be_found(**made));
        let followed = self.followed.iter();
        let followed = followed.filter(|(link, by)| self.is_changed_by_another(link, **by));
        let links = made.map(|(link, _)| link);
        links.chain(followed.map(|(link, _)| link)).cloned().collect()
    }

    fn may_be_found(&self, made: Made) -> bool {
        let mut later = self.going.range(made.since + 1..);
        made.again
            || later.any(|command| *command != made.by)
            || self.going_later.iter().any(|command| *command != made.by)
    }

    /// Does another command change a link, or a directory it is in?
    fn is_changed_by_another(&self, link: &[u8], by: Commands) -> bool {
        let slashes = link.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        let ends = slashes.map(|(at, _)| at).chain([0, link.len()]);
        ends.filter_map(|end| self.changed.get(&link[..end]))
            .any(|changed| changed.0.min(by.0) != changed.1.max(by.1))
    }
}

fn note(map: &mut BTreeMap<BString, Commands>, path: BString, command: usize) {
    let known = map.entry(path).or_insert(Commands(command, command));
    known.1 = command;
}
