//! What the rules of a save would say about a path at which nothing is yet.

use herma_store::path::split;
use std::cell::RefCell;
use std::collections::HashMap;

use herma_fs::{Dir, FileKind};

use crate::reason::Reason;
use crate::rules::{Rule, Rules, Scope, Tracked, Verdict};
use crate::tracked::LazyTracked;

/// Nothing is promised for what would be deeper than this.
const MAX_DIRECTORY_DEPTH: usize = 512;

/// The rules of a project, asked about single paths.
pub struct Judge<'r> {
    root: Dir,
    rules: &'r Rules,
    info_exclude: Option<Vec<u8>>,
    tracked: LazyTracked,
    /// The rules in force in directories asked about so far; `None` where all is left out.
    scopes: RefCell<HashMap<Vec<u8>, Result<Scope<'r>, Reason>>>,
}

impl<'r> Judge<'r> {
    /// The rules of the project at `root`.
    pub fn new(root: Dir, rules: &'r Rules) -> Self {
        let tracked = LazyTracked::of(&root);
        let info_exclude = tracked.info_exclude();
        Self { root, rules, info_exclude, tracked, scopes: RefCell::default() }
    }

    /// Why a file or directory at this path would be left out, if it would.
    pub fn left_out(&self, path: &[u8], is_dir: bool) -> Option<Reason> {
        if path.is_empty() {
            return None;
        }
        if path.split(|byte| *byte == b'/').count() > MAX_DIRECTORY_DEPTH {
            return Some(Reason::ReservedName);
        }
        match self.scope(split(path).0) {
            Ok(scope) => match scope.judge(path, is_dir, &self.tracked) {
                Verdict::Keep => None,
                // Something below a directory may be wanted; the directory itself is there for it.
                Verdict::Descend(_) if is_dir => None,
                Verdict::LeaveOut(reason) | Verdict::Descend(reason) => Some(reason),
            },
            Err(reason) => Some(reason),
        }
    }

    /// The rule that leaves out the first entry of the root that a rule leaves out.
    pub fn first_rule(&self) -> Option<Rule> {
        let mut entries = self.root.entries().ok()?;
        entries.retain(|entry| entry.name.as_bytes() != b".git");
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        let scope = self.scope(b"").ok()?;
        let around = self.outermost();
        entries.iter().find_map(|entry| {
            scope.rule_against(entry.name.as_bytes(), entry.kind == FileKind::Directory, &around)
        })
    }

    /// The rules in force in a directory, or why it is left out.
    fn scope(&self, directory: &[u8]) -> Result<Scope<'r>, Reason> {
        let mut known = None;
        let mut above = directory;
        let mut missing = Vec::new();
        loop {
            if let Some(found) = self.scopes.borrow().get(above) {
                known = Some(found.clone());
                break;
            }
            missing.push(above);
            if above.is_empty() {
                break;
            }
            above = split(above).0;
        }
        let mut scope = known.unwrap_or_else(|| Ok(self.outermost()));
        for directory in missing.into_iter().rev() {
            scope = scope.and_then(|scope| self.enter(&scope, directory));
            self.scopes.borrow_mut().insert(directory.to_vec(), scope.clone());
        }
        scope
    }

    fn outermost(&self) -> Scope<'r> {
        Scope::root(self.rules, self.info_exclude.as_deref())
    }

    fn enter(&self, scope: &Scope<'r>, directory: &[u8]) -> Result<Scope<'r>, Reason> {
        let judged = if directory.is_empty() {
            Verdict::Keep
        } else {
            scope.judge(directory, true, &self.tracked as &dyn Tracked)
        };
        if let Verdict::LeaveOut(reason) = judged {
            return Err(reason);
        }
        // A directory that is not there has no ignore files; one that cannot be read has no rules.
        let open = self.root.open_beneath(directory).ok();
        let read = |name: &str| open.as_ref()?.read_opt(name, 4 << 20).ok().flatten();
        let (gitignore, hermaignore) = (read(".gitignore"), read(".hermaignore"));
        Ok(scope.enter(directory, gitignore.as_deref(), hermaignore.as_deref(), judged))
    }
}
