//! Goes through a command line as a shell would, without running anything.
//!
//! Any of its commands may run or not, so what the line can change is what all of them together can
//! change. Only the present directory depends on the order: after `cd a; …` the rest runs in `a`, or, if
//! the `cd` failed, where it was. Both are followed.

use bstr::BString;

use super::Command;
use super::answer::Ledger;
use super::endless::is_endless;
use super::options::Argument;
use super::order::Around;
use super::places::Found;
use super::places::LastLink;
use super::places::Place;
use super::places::absolute;
use super::places::resolve;
use super::programs;
use super::scene::Scene;
use super::shell;
use super::shell::GroupKind;
use super::shell::Item;
use super::shell::Joint;
use super::shell::Node;
use super::shell::Script;
use super::shell::Simple;
use super::word::Pattern;
use super::word::Word;

/// More possible directories than this are not followed.
const MOST_DIRECTORIES: usize = 8;
/// A pattern that stands for more names than this is not followed.
const MOST_NAMES: usize = 50_000;
/// A shell that starts a shell that starts a shell.
const DEEPEST: usize = 8;

/// Notes in `ledger` what a command started in `directory` can change.
pub(crate) fn run(command: &Command, directory: &[u8], ledger: &mut Ledger<'_>) {
    match command {
        Command::Shell(text) => run_text(text, Some(directory.into()), 0, ledger),
        Command::Arguments(words) => {
            let arguments: Vec<Argument> = words.iter().cloned().map(Some).collect();
            let mut scene = Scene {
                ledger,
                directory: Some(directory.into()),
                program: words.first().cloned().unwrap_or_default(),
                depth: 0,
            };
            programs::effects(&mut scene, &arguments);
        }
    }
}

/// Notes what a text for a shell can change.
pub(crate) fn run_text(
    text: &[u8],
    directory: Option<BString>,
    depth: usize,
    ledger: &mut Ledger<'_>,
) {
    let mut run = Run {
        ledger,
        directories: directory.map(|directory| vec![directory]),
        left: Vec::new(),
        conditions: 0,
        depth,
    };
    if depth > DEEPEST {
        return run.unknown("it starts shells within shells");
    }
    let script = shell::split(text);
    run.script(&script);
    if script.is_opaque {
        run.unknown("a part of this command line is not understood");
    }
}

struct Run<'l, 'g> {
    ledger: &'l mut Ledger<'g>,
    /// The directories it may be in now; `None` if they are not known.
    directories: Option<Vec<BString>>,
    /// The directories it is still in if a `cd` since the last `;` failed.
    left: Vec<BString>,
    /// How many conditions and loops are around.
    conditions: usize,
    depth: usize,
}

impl<'g> Run<'_, 'g> {
    fn scene(&mut self, directory: Option<BString>, program: BString) -> Scene<'_, 'g> {
        Scene {
            ledger: self.ledger,
            directory,
            program,
            depth: self.depth,
        }
    }

    fn unknown(&mut self, why: &'static str) {
        self.scene(None, "sh".into()).unknown(why);
    }

    fn script(&mut self, script: &Script) {
        for item in &script.items {
            self.item(item);
            if item.joint != Joint::And {
                self.settle();
            }
        }
        self.settle();
    }

    /// From here on a `cd` may have failed without keeping the rest from running.
    fn settle(&mut self) {
        let left = std::mem::take(&mut self.left);
        if let Some(directories) = &mut self.directories {
            directories.extend(left);
            directories.sort_unstable();
            directories.dedup();
            if directories.len() > MOST_DIRECTORIES {
                self.directories = None;
            }
        }
    }

    fn item(&mut self, item: &Item) {
        let around = match item.joint {
            Joint::Background => Around::Background,
            _ if item.pipeline.len() > 1 => Around::Pipeline,
            _ => Around::Nothing,
        };
        let was_endless = self.ledger.is_endless;
        self.ledger.is_endless |= is_endless(item);
        self.within(around, |run| {
            for node in &item.pipeline {
                if around == Around::Nothing {
                    run.node(node);
                } else {
                    run.apart(|run| run.node(node));
                }
            }
        });
        self.ledger.is_endless = was_endless;
    }

    /// Runs something in a pipeline, loop or background.
    fn within(&mut self, around: Around, work: impl FnOnce(&mut Self)) {
        let before = self.ledger.order.enter(around);
        work(self);
        self.ledger.order.leave(around, before);
    }

    /// Runs something in a shell of its own: what it does to the present directory ends with it.
    fn apart(&mut self, work: impl FnOnce(&mut Self)) {
        let directories = self.directories.clone();
        let left = std::mem::take(&mut self.left);
        work(self);
        self.directories = directories;
        self.left = left;
    }

    fn node(&mut self, node: &Node) {
        match node {
            Node::Simple(simple) => self.simple(simple),
            Node::Group {
                kind,
                script,
                redirects,
                ..
            } => {
                self.redirects(redirects);
                match kind {
                    GroupKind::Subshell => self.apart(|run| run.script(script)),
                    GroupKind::Braces => self.script(script),
                    GroupKind::Conditional => {
                        self.conditions += 1;
                        self.within(Around::Loop, |run| run.script(script));
                        self.conditions -= 1;
                    }
                }
            }
        }
    }

    fn redirects(&mut self, redirects: &[Word]) {
        for word in redirects {
            self.ledger.order.next();
            for directory in self.possible() {
                let targets = expand(self.ledger, directory.as_ref(), word);
                let mut scene = self.scene(directory, "sh".into());
                match &targets[..] {
                    [Some(target)] => scene.writes_output(target),
                    _ => scene.unknown("the file it writes to is known only when it runs"),
                }
            }
        }
    }

    /// The directories to look from.
    fn possible(&self) -> Vec<Option<BString>> {
        match &self.directories {
            Some(directories) => directories.iter().cloned().map(Some).collect(),
            None => vec![None],
        }
    }

    fn simple(&mut self, simple: &Simple) {
        for script in &simple.substitutions {
            self.apart(|run| run.script(script));
        }
        for name in &simple.assignments {
            if !programs::is_harmless_variable(name) {
                self.unknown("it sets a variable that may change what programs do");
            }
        }
        self.redirects(&simple.redirects);
        let Some(first) = simple.words.first() else {
            return;
        };
        match first.as_literal() {
            Some(b"cd") => return self.change_directory(&simple.words[1..]),
            Some(b"pushd" | b"popd") => {
                self.directories = None;
                return;
            }
            _ => {}
        }
        self.ledger.order.next();
        for directory in self.possible() {
            let mut arguments = Vec::new();
            for word in &simple.words {
                arguments.extend(expand(self.ledger, directory.as_ref(), word));
            }
            let program = arguments.first().cloned().flatten().unwrap_or_default();
            let mut scene = self.scene(directory, program);
            programs::effects(&mut scene, &arguments);
        }
    }

    fn change_directory(&mut self, arguments: &[Word]) {
        let target = match arguments {
            [word] if self.conditions == 0 => word.as_literal(),
            [dashes, word] if dashes.is_bare(b"--") && self.conditions == 0 => word.as_literal(),
            _ => None,
        };
        let target = target.filter(|text| !text.is_empty() && text.first() != Some(&b'-'));
        let (Some(target), Some(directories)) = (target, self.directories.take()) else {
            self.directories = None;
            return;
        };
        let mut entered = Vec::new();
        for directory in directories {
            let resolved = resolve(self.ledger.ground, &directory, target, LastLink::Followed);
            // Shells keep the way they came in mind: after a link, `..` is not where it seems to be.
            if !resolved.links.is_empty() {
                return;
            }
            let is_sure = match resolved.place {
                Place::Inside { path, found } => {
                    entered.push(absolute(self.ledger.ground, &path));
                    found == Found::Directory && self.ledger.is_empty()
                }
                Place::Outside(path) => {
                    entered.push(path);
                    false
                }
            };
            if !is_sure {
                self.left.push(directory);
            }
        }
        self.directories = Some(entered);
    }
}

/// The arguments a word stands for.
fn expand(ledger: &mut Ledger<'_>, directory: Option<&BString>, word: &Word) -> Vec<Argument> {
    if word.is_unknown {
        return vec![None];
    }
    if word.from_home {
        let home = ledger.ground.home().filter(|_| word.active.is_empty());
        return vec![home.map(|home| [home, &word.text].concat().into())];
    }
    if word.active.is_empty() {
        return vec![Some(word.text.clone())];
    }
    match matching(ledger, directory, word) {
        None => vec![None],
        // A pattern that nothing matches stands for itself.
        Some(names) if names.is_empty() => vec![Some(word.text.clone())],
        Some(names) => names
            .into_iter()
            // A file whose name looks like an option would be taken for one.
            .map(|name| (name.first() != Some(&b'-')).then_some(name))
            .collect(),
    }
}

/// The paths a pattern matches; `None` when that is not known.
fn matching(
    ledger: &mut Ledger<'_>,
    directory: Option<&BString>,
    word: &Word,
) -> Option<Vec<BString>> {
    let components = word.components();
    if !components.iter().all(Pattern::is_simple) {
        return None;
    }
    let directory = match directory {
        Some(directory) => directory.clone(),
        None if word.text.first() == Some(&b'/') => "/".into(),
        None => return None,
    };
    let mut found = vec![Vec::new()];
    for (at, component) in components.iter().enumerate() {
        let mut next = Vec::new();
        for prefix in found {
            let start = if at == 0 {
                prefix
            } else {
                [&prefix[..], b"/"].concat()
            };
            if !component.is_glob() {
                next.push([&start[..], &component.text].concat());
                continue;
            }
            next.extend(names_at(ledger, &directory, &start, component)?);
            if next.len() > MOST_NAMES {
                return None;
            }
        }
        found = next;
    }
    let exists = |path: &Vec<u8>| {
        let place = resolve(ledger.ground, &directory, path, LastLink::Itself).place;
        !matches!(
            place,
            Place::Inside {
                found: Found::Nothing,
                ..
            }
        )
    };
    found.retain(exists);
    Some(found.into_iter().map(BString::from).collect())
}

/// The paths in the directory `start` that a component matches; `None` when too many were looked at.
fn names_at(
    ledger: &mut Ledger<'_>,
    directory: &[u8],
    start: &[u8],
    component: &Pattern,
) -> Option<Vec<Vec<u8>>> {
    let from: &[u8] = if start.is_empty() { b"." } else { start };
    let path = match resolve(ledger.ground, directory, from, LastLink::Followed).place {
        Place::Inside {
            path,
            found: Found::Directory,
        } => path,
        // What is in there is not known, and as little covered as the place itself.
        Place::Outside(_)
        | Place::Inside {
            found: Found::LeftOut(_),
            ..
        } => return Some(vec![[start, &component.text].concat()]),
        Place::Inside { .. } => return Some(Vec::new()),
    };
    let names = ledger.ground.names(&path);
    ledger.names_to_match = ledger.names_to_match.checked_sub(names.len() + 1)?;
    let names = names.into_iter().filter(|name| component.matches(name));
    Some(names.map(|name| [start, &name].concat()).collect())
}
