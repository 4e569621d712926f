//! Lines of all times: every distinct content is searched once, those that were there last first.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use herma_records::step::StepId;
use herma_search::{FoundLine, FoundLines, LinePattern, LineSet, Span, Wanted, What};
use herma_store::object::EntryMode;
use herma_store::objects::ObjectError;
use herma_store::{ObjectId, RelPath};
use herma_worktree::present::ScanError;

use super::{Ages, Stay, UnreadPast};
use crate::engine::operation::Operation;
use crate::engine::{Progress, Project};
use crate::error::{Error, Result};
use crate::timeline::compare::State;

/// So many places of one content are told.
const MAX_STAYS: usize = 100;
/// No file of the present that is larger is read at once.
const MAX_PRESENT_BYTES: u64 = 256 << 20;

/// Which lines are looked for.
#[derive(Clone, Debug)]
pub struct LinesAsked {
    /// What they match.
    pub pattern: LinePattern,
    /// Only below these; everywhere if there are none.
    pub paths: Vec<RelPath>,
    /// Only what a checkpoint had that was saved from then on, in seconds since 1970.
    pub since: Option<i64>,
    /// Only what one had that was saved until then.
    pub until: Option<i64>,
    /// Only lines that are in no file now.
    pub only_gone: bool,
}

/// A content in which lines were found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundContent {
    /// Its id, as git has it.
    pub content: ObjectId,
    /// Where it was and when, the newest first; a hundred at most.
    pub stays: Vec<Stay>,
    /// How many more there are.
    pub more_stays: usize,
    /// The lines.
    pub lines: Vec<FoundLine>,
    /// How many more lines match.
    pub more_lines: u64,
    /// Is it no text? Then its lines are not told.
    pub is_binary: bool,
}

/// A prompt or a command in which something was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundPrompt {
    /// The newest step of the prompt, or the step that ran the command.
    pub id: StepId,
    /// When that ended or began, in seconds since 1970.
    pub time: Option<i64>,
    /// The agent.
    pub agent: String,
    /// Is it a command, not a prompt?
    pub is_command: bool,
    /// What was asked or run.
    pub text: String,
}

/// Looks for lines in everything that was saved.
pub(crate) fn grep(
    project: &Project,
    asked: &LinesAsked,
    progress: &dyn Progress,
    tell: &mut dyn FnMut(FoundContent) -> ControlFlow<()>,
) -> Result<Vec<UnreadPast>> {
    let now = if asked.only_gone { Some(lines_now(project, asked, progress)?) } else { None };
    match project.reading(progress) {
        Err(Error::NoStore(_)) => Ok(Vec::new()),
        operation => operation?.grep(asked, now.as_ref(), tell),
    }
}

/// What matches in files that are not as the newest checkpoint has them, and which files those are.
fn lines_now(project: &Project, asked: &LinesAsked, progress: &dyn Progress) -> Result<LinesNow> {
    let mut now = LinesNow::default();
    let newest = match project.list_newest(1)?.checkpoints.pop() {
        Some(newest) if project.root.is_dir() => newest,
        _ => return Ok(now),
    };
    let newest = State::Checkpoint(Box::new(newest));
    let found = project.changes(&newest, &State::Present, &[], false, progress)?;
    let side = found.new_side();
    for change in &found.changes {
        progress.check()?;
        now.replaced.insert(change.path.clone());
        let Some(new) = change.new.filter(|new| is_text(new.mode)) else { continue };
        now.contents.insert(new.id);
        let unread =
            |what: String| UnreadPast { checkpoint: None, path: change.path.clone(), what };
        match side.content(&change.path, &new.id, MAX_PRESENT_BYTES) {
            Ok(Some(content)) => {
                let lines = asked.pattern.search(&content, Wanted::Set);
                now.lines.extend(lines.unwrap_or_default().set);
            }
            Ok(None) => now.unread.push(unread("it is too large to be searched".to_owned())),
            Err(error) => now.unread.push(unread(error.to_string())),
        }
    }
    Ok(now)
}

/// What is in the files now, as far as the newest checkpoint does not tell it.
#[derive(Default)]
struct LinesNow {
    /// Files that are not as the newest checkpoint has them.
    replaced: HashSet<RelPath>,
    contents: HashSet<ObjectId>,
    lines: LineSet,
    unread: Vec<UnreadPast>,
}

impl Operation<'_> {
    fn grep(
        &self,
        asked: &LinesAsked,
        present: Option<&LinesNow>,
        tell: &mut dyn FnMut(FoundContent) -> ControlFlow<()>,
    ) -> Result<Vec<UnreadPast>> {
        let Some(ages) = self.ages()? else { return Ok(Vec::new()) };
        let mut unread = ages.unread();
        let mut spans = ages.files(asked);
        let mut known = LineSet::default();
        if let Some(present) = present {
            unread.extend_from_slice(&present.unread);
            let there = ages.files_now(present);
            let contents: Vec<ObjectId> = there.iter().map(|span| ages.content(span)).collect();
            known = present.lines.clone();
            self.search(&contents, asked, Wanted::Set, |at, found| {
                match found {
                    Ok(found) => known.extend(found.unwrap_or_default().set),
                    Err(error) => unread.push(ages.unread_content(&there[at], &error)),
                }
                ControlFlow::Continue(())
            })?;
            let there: HashSet<ObjectId> =
                contents.into_iter().chain(present.contents.iter().copied()).collect();
            spans.retain(|span| !there.contains(&ages.content(span)));
        }
        let wanted = if present.is_some() { Wanted::Without(&known) } else { Wanted::All };
        // By content, the newest place of each first.
        spans.sort_unstable_by_key(|span| (number_of(span), Reverse(span.last), span.path));
        let mut order: Vec<&Span> = Vec::new();
        for span in &spans {
            if order.last().is_none_or(|last| number_of(last) != number_of(span)) {
                order.push(span);
            }
        }
        order.sort_by_key(|span| (Reverse(span.last), span.path));
        let contents: Vec<ObjectId> = order.iter().map(|span| ages.content(span)).collect();
        self.search(&contents, asked, wanted, |at, found| {
            let own = order[at];
            match found {
                Ok(None) => ControlFlow::Continue(()),
                Ok(Some(found)) => tell(ages.found(found, number_of(own), &spans)),
                Err(error) => {
                    unread.push(ages.unread_content(own, &error));
                    ControlFlow::Continue(())
                }
            }
        })?;
        Ok(unread)
    }

    fn search(
        &self,
        contents: &[ObjectId],
        asked: &LinesAsked,
        wanted: Wanted<'_>,
        mut each: impl FnMut(usize, Result<Option<FoundLines>, ObjectError>) -> ControlFlow<()>,
    ) -> Result<()> {
        let progress = self.progress;
        let goes_on = || !progress.is_cancelled();
        let mut refused = None;
        let mut is_broken_off = false;
        let objects = &self.store.objects;
        herma_search::search(objects, contents, (&asked.pattern, wanted), &goes_on, |at, found| {
            let flow = match found {
                Err(ObjectError::Fs(error)) if !herma_store::error::is_forbidden_pack(&error) => {
                    refused = Some(ObjectError::Fs(error));
                    ControlFlow::Break(())
                }
                found => each(at, found),
            };
            is_broken_off = flow.is_break();
            flow
        });
        match refused {
            Some(error) => Err(error.into()),
            None if !is_broken_off && progress.is_cancelled() => Err(ScanError::Cancelled.into()),
            None => Ok(()),
        }
    }

    /// Looks for prompts and commands, the newest first.
    pub(crate) fn grep_prompts(&self, asked: &LinesAsked) -> Result<Vec<FoundPrompt>> {
        let mut found = Vec::new();
        let mut seen = HashSet::new();
        for step in self.all_steps()?.iter().rev() {
            let facts = &step.start.facts;
            let time = step.ended.or(Some(step.started));
            let is_in = time.is_none_or(|time| {
                asked.since.is_none_or(|since| time >= since)
                    && asked.until.is_none_or(|until| time <= until)
            });
            let texts = [(&step.start.prompt, false), (&step.start.command, true)];
            for (text, is_command) in texts {
                let Some(text) = text.as_ref().filter(|_| is_in) else { continue };
                let is_new = is_command
                    || seen.insert((facts.session.clone(), facts.turn.clone(), text.clone()));
                let fits = || asked.pattern.search(text.as_bytes(), Wanted::All).is_some();
                if is_new && fits() {
                    let (id, agent) = (step.id(), step.agent().to_owned());
                    found.push(FoundPrompt { id, time, agent, is_command, text: text.clone() });
                }
            }
        }
        Ok(found)
    }
}

impl Ages {
    /// The files that are to be searched.
    fn files(&self, asked: &LinesAsked) -> Vec<Span> {
        let Some((since, until)) = self.states_in(asked.since, asked.until) else {
            return Vec::new();
        };
        let is_within = self.paths_within(&asked.paths);
        let spans = self.past.spans().iter().filter(|span| {
            is_file(span) && span.first <= until && span.last >= since && is_within(span)
        });
        spans.copied().collect()
    }

    /// The files that are now as the newest checkpoint has them, one for each content.
    fn files_now(&self, present: &LinesNow) -> Vec<Span> {
        let newest = self.newest();
        let is_there = |span: &Span| {
            is_file(span) && span.last == newest && {
                present.replaced.is_empty()
                    || !present.replaced.contains(&self.past.path(span.path))
            }
        };
        let spans = self.past.spans().iter().copied().filter(is_there);
        let by_content: HashMap<u32, Span> = spans.map(|span| (number_of(&span), span)).collect();
        by_content.into_values().collect()
    }

    fn content(&self, span: &Span) -> ObjectId {
        self.past.content(number_of(span))
    }

    /// Where the content with this number was; `spans` are in the order of contents.
    pub(super) fn stays(&self, number: u32, spans: &[Span]) -> (Vec<Stay>, usize) {
        let first = spans.partition_point(|span| number_of(span) < number);
        let end = spans.partition_point(|span| number_of(span) <= number);
        let own = &spans[first..end];
        let told = own.iter().take(MAX_STAYS).map(|span| self.stay(span, span)).collect();
        (told, own.len().saturating_sub(MAX_STAYS))
    }

    fn found(&self, found: FoundLines, number: u32, spans: &[Span]) -> FoundContent {
        let (stays, more_stays) = self.stays(number, spans);
        FoundContent {
            content: self.past.content(number),
            stays,
            more_stays,
            lines: found.lines,
            more_lines: found.more,
            is_binary: found.is_binary,
        }
    }

    fn unread_content(&self, span: &Span, error: &ObjectError) -> UnreadPast {
        UnreadPast {
            checkpoint: Some(self.checkpoints[span.last as usize].number),
            path: self.past.path(span.path),
            what: error.to_string(),
        }
    }
}

/// Is it a file with lines? A link has none, nor has what belongs to somebody else.
fn is_file(span: &Span) -> bool {
    matches!(span.what, What::File(mode, _) if is_text(mode))
}

fn is_text(mode: EntryMode) -> bool {
    matches!(mode, EntryMode::File | EntryMode::Executable)
}

/// The number of a file's content.
pub(super) fn number_of(span: &Span) -> u32 {
    match span.what {
        What::File(_, number) => number,
        What::Directory => u32::MAX,
    }
}
