//! What each effect of a program means for a checkpoint, by what is at its path.

use herma_shell::{Arrival, Effect, LastLink, PathEntry, ResolvedPath, Touch, last_name, resolve};
use herma_worktree::reason::Reason;

use super::{AnswerBuilder, What, Why, repository};

const ROOT_NOT_KEPT: &str =
    "checkpoints hold what is in the project's directory, not the directory";

/// One thing a command does.
pub(crate) struct TouchJudge<'b, 'a> {
    answer: &'b mut AnswerBuilder<'a>,
    touch: &'b Touch,
}

impl<'b, 'a> TouchJudge<'b, 'a> {
    pub(crate) fn new(answer: &'b mut AnswerBuilder<'a>, touch: &'b Touch) -> Self {
        Self { answer, touch }
    }

    /// Notes what of it would not come back.
    pub(crate) fn judge(mut self) {
        match &self.touch.effect {
            Effect::Anything(why) => self.unknown(why),
            Effect::Elsewhere(why) => self.add_program(Why::OutsideFiles(why)),
            Effect::RunsGit => self.runs_git(),
            Effect::Follows(path) => {
                self.place(path, LastLink::Followed);
            }
            Effect::Writes(path) | Effect::Prints(path) => self.writes(path),
            Effect::Grows(path, size) => self.grows(path, *size),
            Effect::Makes { path, is_directory } => self.makes(path, *is_directory),
            Effect::Replaces(path) => self.replaces(path),
            Effect::WritesBelow(path) => self.writes_below(path),
            Effect::Fills(path) => self.fills(path),
            Effect::Cleans { path, with_ignored } => self.cleans(path, *with_ignored),
            Effect::NotKept(path, why) => {
                if let Some((path, _)) = self.inside(path, LastLink::Followed) {
                    self.answer.add_path(&path, Why::NotKept(why));
                }
            }
            Effect::Brings { source, target, arrival } => self.brings(source, target, *arrival),
            Effect::Links { source, target, into_directory, is_symbolic } => {
                if let Some(path) = self.destination(source, target, *into_directory) {
                    self.links(source, &path, *is_symbolic);
                }
            }
            Effect::GitDirectory => match self.place(b".git", LastLink::Itself) {
                Some(ResolvedPath::Outside(path)) => self.outside(&path),
                _ => self.answer.add_path(b".git", Why::GitDirectory),
            },
            Effect::FillsRepository => self.fills_repository(),
        }
    }

    fn add_program(&mut self, why: Why) {
        let what = What::Program(self.touch.program.clone());
        self.answer.add(what, why);
    }

    /// It may change any file.
    fn unknown(&mut self, why: &'static str) {
        self.answer.is_unknown = true;
        self.add_program(Why::Unknown(why));
    }

    fn outside(&mut self, path: &[u8]) {
        self.answer.add(What::Path(path.into()), Why::Outside);
    }

    fn change(&mut self, path: &[u8], entry: &PathEntry, is_dir: bool) {
        self.answer.change(self.touch.when, path, entry, is_dir);
    }

    /// Where a path leads. An unknown present directory makes everything relative unknown.
    fn place(&mut self, path: &[u8], last: LastLink) -> Option<ResolvedPath> {
        let directory: &[u8] = match &self.touch.directory {
            Some(directory) => directory,
            None if path.first() == Some(&b'/') => b"/",
            None => {
                self.unknown("the directory it runs in is known only when it runs");
                return None;
            }
        };
        let (place, links) = resolve(self.answer.files, directory, path, last);
        if matches!(place, ResolvedPath::Inside(..)) {
            self.answer.links.goes(self.touch.when, links);
        }
        Some(place)
    }

    /// Where a path leads in the project; `None` if it does not, which is noted.
    fn inside(&mut self, path: &[u8], last: LastLink) -> Option<(Vec<u8>, PathEntry)> {
        match self.place(path, last)? {
            ResolvedPath::Inside(path, entry) => Some((path.into(), entry)),
            ResolvedPath::Outside(path) => {
                self.outside(&path);
                None
            }
        }
    }

    /// Git may run other programs, unless its repository shows that it does not.
    fn runs_git(&mut self) {
        let files = self.answer.files;
        let directory = self.touch.directory.as_ref();
        let place = directory.map(|directory| resolve(files, directory, b".", LastLink::Followed));
        let is_plain = match place {
            Some((ResolvedPath::Inside(path, _), _)) => repository::is_plain(files, &path),
            _ => false,
        };
        if !is_plain {
            self.unknown("the settings of its repository may make git run other programs");
        }
    }

    fn fills_repository(&mut self) {
        if self.inside(b".", LastLink::Followed).is_some() {
            let root = self.answer.files.root.clone();
            self.writes_below(&root);
            if self.answer.files.look(b".git") == Ok(PathEntry::Nothing) {
                self.unknown("its repository may reach beyond the project");
            }
        }
    }

    fn writes(&mut self, path: &[u8]) {
        if let Some((path, entry)) = self.inside(path, LastLink::Followed) {
            self.change(&path, &entry, false);
        }
    }

    /// A file that is too large cannot be saved before an undo, so what was there before does not come back by itself.
    fn grows(&mut self, path: &[u8], size: Option<u64>) {
        self.writes(path);
        let largest = self.answer.files.largest_file;
        if largest.is_some_and(|most| size.is_none_or(|size| size > most))
            && let Some(ResolvedPath::Inside(path, _)) = self.place(path, LastLink::Followed)
        {
            self.answer.add_path(&path, Why::LeftOut(Reason::TooLarge));
        }
    }

    fn makes(&mut self, path: &[u8], is_dir: bool) {
        if let Some((path, entry)) = self.inside(path, LastLink::Itself) {
            self.change(&path, &entry, is_dir);
        }
    }

    fn replaces(&mut self, text: &[u8]) {
        let root = &self.answer.files.root;
        match self.place(text, LastLink::Itself) {
            None => {}
            Some(ResolvedPath::Outside(path)) => {
                self.outside(&path);
                if root.starts_with(&path) || path == "/" {
                    self.answer.left_out_below(b"");
                }
            }
            Some(ResolvedPath::Inside(path, entry)) => {
                if path.is_empty() && last_name(text) != b"." {
                    let what = What::Path(root.clone());
                    self.answer.add(what, Why::NotKept(ROOT_NOT_KEPT));
                }
                self.below(&path, &entry);
                if entry != PathEntry::Nothing {
                    self.change(&path, &entry, false);
                }
            }
        }
    }

    /// What is below a path changes along with it, if it is a directory.
    fn below(&mut self, path: &[u8], entry: &PathEntry) {
        if *entry == PathEntry::Directory {
            self.answer.left_out_below(path);
            self.answer.lose_below(path);
        }
    }

    fn writes_below(&mut self, path: &[u8]) {
        if let Some((path, entry)) = self.inside(path, LastLink::Followed) {
            self.below(&path, &entry);
            self.change(&path, &entry, true);
        }
    }

    fn cleans(&mut self, path: &[u8], with_ignored: bool) {
        let place = self.place(path, LastLink::Followed);
        let Some(ResolvedPath::Inside(path, _)) = place else {
            return self.unknown("which files it removes is known only when it runs");
        };
        let answer = &mut *self.answer;
        answer.files.left_out_below(&path, |path, reason| {
            let is_git = last_name(path) == b".git";
            if !is_git && (with_ignored || reason != Reason::Ignored) {
                answer.add_path(path, Why::LeftOut(reason));
            }
        });
        answer.lose_below(&path);
        self.change(&path, &PathEntry::Directory, true);
    }

    fn fills(&mut self, path: &[u8]) {
        self.writes_below(path);
        let why = "which files it writes is known only when it runs";
        self.add_program(Why::Unknown(why));
    }

    /// Where something comes to, if it goes to `target`, or into it if that is a directory and `enters`.
    /// `None` if that is outside, which is noted.
    fn destination(&mut self, source: &[u8], target: &[u8], enters: bool) -> Option<Vec<u8>> {
        let end = source.iter().rposition(|byte| *byte != b'/');
        let name = last_name(&source[..end.map_or(0, |end| end + 1)]);
        if enters
            && let (_, PathEntry::Directory) = self.inside(target, LastLink::Followed)?
            && !matches!(name, b"." | b".." | b"")
        {
            return Some([target, b"/", name].concat());
        }
        Some(target.to_vec())
    }

    fn brings(&mut self, source: &[u8], target: &[u8], arrival: Arrival) {
        let Some(target) = self.destination(source, target, arrival.into_directory) else { return };
        if !arrival.with_tree {
            return self.brings_file(source, &target, arrival);
        }
        match self.place(source, LastLink::Itself) {
            Some(ResolvedPath::Inside(path, PathEntry::Directory)) => {
                self.brings_tree(&path, &target);
            }
            Some(ResolvedPath::Inside(_, PathEntry::File | PathEntry::Nothing)) => {
                self.brings_file(source, &target, arrival);
            }
            Some(ResolvedPath::Inside(_, PathEntry::Link(_))) => {
                self.makes(&target, false);
                self.note_link(&target);
            }
            _ => self.fills(&target),
        }
    }

    /// It makes a link to `source` at `path`.
    fn links(&mut self, source: &[u8], path: &[u8], is_symbolic: bool) {
        self.makes(path, false);
        if is_symbolic {
            return self.note_link(path);
        }
        // Whatever changes one name of a file changes the other.
        self.writes(source);
        let place = self.place(source, LastLink::Itself);
        if let Some(ResolvedPath::Inside(_, PathEntry::Link(_))) = place {
            self.note_link(path);
        }
    }

    /// A link comes to this path.
    fn note_link(&mut self, path: &[u8]) {
        if let Some(ResolvedPath::Inside(path, _)) = self.place(path, LastLink::Itself) {
            self.answer.links.makes_link(self.touch.when, &path);
        }
    }

    fn brings_file(&mut self, source: &[u8], target: &[u8], arrival: Arrival) {
        match self.place(source, LastLink::Followed) {
            Some(ResolvedPath::Outside(device))
                if device.starts_with(b"/dev/") && device != "/dev/null" =>
            {
                self.grows(target, None);
            }
            Some(ResolvedPath::Inside(path, _))
                if self.answer.files.look(&path) == Err(Reason::TooLarge) =>
            {
                let place = self.place(target, LastLink::Followed);
                if let Some(ResolvedPath::Inside(path, _)) = place {
                    let why = Why::LeftOut(Reason::TooLarge);
                    self.answer.links.changes(self.touch.when, &path);
                    self.answer.add_path(&path, why);
                } else {
                    self.writes(target);
                }
            }
            _ if arrival.replaces => self.makes(target, false),
            _ => self.writes(target),
        }
    }

    /// Every name of a tree is judged at the place it comes to.
    fn brings_tree(&mut self, source: &[u8], target: &[u8]) {
        let Some((path, entry)) = self.inside(target, LastLink::Followed) else { return };
        let is_new = entry == PathEntry::Nothing;
        self.change(&path, &entry, true);
        let moved = |from: &[u8]| {
            let rest = &from[source.len()..];
            let rest = rest.strip_prefix(b"/").unwrap_or(rest);
            if path.is_empty() { rest.to_vec() } else { [&path, &b"/"[..], rest].concat() }
        };
        let (answer, when) = (&mut *self.answer, self.touch.when);
        let files = answer.files;
        files.left_out_below(source, |from, reason| {
            answer.add_path(&moved(from), Why::LeftOut(reason));
        });
        let mut is_complete = true;
        files.saved_below(source, |from| {
            is_complete = answer.names_to_copy > 0;
            if is_complete {
                answer.names_to_copy -= 1;
                let entry = files.look(from).unwrap_or(PathEntry::LeftOut);
                answer.arrives_at(when, &moved(from), &entry, is_new);
            }
            is_complete
        });
        if !is_complete {
            self.unknown("it copies more files than are looked at beforehand");
        }
    }
}
