//! Which command of a line comes first, and whether one makes a link that another may go through.
//!
//! Every path is looked up in the project as it is before the line runs. That is wrong for a path that
//! leads through a link an earlier command made, moved or removed, and how such a path is spelled does not
//! tell (`n/`, `other-link/x`, `cd n`). So once a command can make a link, every later command that goes to
//! a path may be led anywhere; and once a command changes what a link was found at, nobody knows where
//! the others end that were led by it.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use bstr::BString;

/// The commands of a line by number, in the order they are written.
#[derive(Debug, Default)]
pub(crate) struct Order {
    current: usize,
    /// Commands with a higher number may run beside the current one: they are in its pipeline.
    beside: Option<usize>,
    /// How many loops and conditions are around.
    loops: usize,
    /// How many commands around were sent to the background.
    backgrounds: usize,
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

/// What surrounds a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Around {
    Nothing,
    Pipeline,
    Background,
    Loop,
}

impl Order {
    /// The next command begins.
    pub(super) fn next(&mut self) {
        self.current += 1;
    }

    /// What follows is in a pipeline, loop or background until [`Order::leave`] is called with the answer.
    pub(super) fn enter(&mut self, around: Around) -> Option<usize> {
        let before = self.beside;
        match around {
            Around::Nothing => {}
            Around::Pipeline => self.beside = before.or(Some(self.current)),
            Around::Background => self.backgrounds += 1,
            Around::Loop => self.loops += 1,
        }
        before
    }

    /// Ends what [`Order::enter`] began.
    pub(super) fn leave(&mut self, around: Around, before: Option<usize>) {
        self.beside = before;
        match around {
            Around::Nothing | Around::Pipeline => {}
            Around::Background => self.backgrounds -= 1,
            Around::Loop => self.loops -= 1,
        }
    }

    /// The current command goes to a path, led by these links.
    pub(super) fn goes(&mut self, links: Vec<BString>) {
        self.going.insert(self.current);
        if self.backgrounds > 0 {
            self.going_later.insert(self.current);
        }
        for link in links {
            note(&mut self.followed, link, self.current);
        }
    }

    /// The current command changes what is at a path, maybe with everything below it.
    pub(super) fn changes(&mut self, path: &[u8]) {
        note(&mut self.changed, path.into(), self.current);
    }

    /// The current command makes a link at a path.
    pub(super) fn makes_link(&mut self, path: &[u8]) {
        let at_any_time = self.loops > 0 || self.backgrounds > 0;
        let made = Made {
            by: self.current,
            since: if at_any_time {
                0
            } else {
                self.beside.unwrap_or(self.current)
            },
            again: self.loops > 0,
        };
        self.made.entry(path.into()).or_insert(made);
    }

    /// Something of the same command comes to a path: was a link made there before?
    pub(super) fn meets_link(&mut self, path: &[u8]) {
        if let Some(made) = self.made.get_mut(path) {
            made.again = true;
        }
    }

    /// The links that make it unknown where a command ends.
    pub(super) fn uncertain_links(&self) -> Vec<BString> {
        let made = self.made.iter();
        let made = made.filter(|(_, made)| self.may_be_found(**made));
        let followed = self.followed.iter();
        let followed = followed.filter(|(link, by)| self.is_changed_by_another(link, **by));
        let links = made.map(|(link, _)| link);
        links
            .chain(followed.map(|(link, _)| link))
            .cloned()
            .collect()
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
