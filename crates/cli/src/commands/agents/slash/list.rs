//! The list of checkpoints, and what is said when there are none.

use herma_agents::slash::Platform;
use herma_agents::slash::message::Span;
use herma_core::Checkpoint;
use herma_core::steps::StepChoice;
use herma_core::types::clock::Timestamp;
use herma_store::path::escape;
use herma_view::listing;
use herma_view::timeline::row_in_words;
use jiff::tz::{Offset, TimeZone};

use super::{Asked, Reply};
use crate::command_error::Result;

/// A chat is shown so many rows of the timeline.
const SHOWN_ROWS: usize = 10;

/// What can be done with the list.
const HELP: [&str; 3] = [
    "  /rollback <N>             restore to checkpoint N",
    "  /rollback diff <N>        preview changes since checkpoint N",
    "  /rollback <N> <file>      restore a single file from checkpoint N",
];

impl Asked<'_> {
    /// The checkpoints, newest first.
    pub(super) fn list(&self, checkpoints: &[Checkpoint]) -> Result<Reply> {
        let mut reply = Reply::new("list");
        let message = &mut reply.message;
        let ids: Vec<_> = checkpoints.iter().map(|checkpoint| checkpoint.id).collect();
        let digits = listing::id_digits(&ids);
        let numbered = (1..).zip(checkpoints);
        let entries = numbered.map(|(number, one)| entry(number, one, digits));
        let help = HELP.iter().map(ToString::to_string);
        let title = "📸 Checkpoints for ";
        if self.platform.is_chat() {
            message.line([
                Span::Words(title.to_owned()),
                Span::Foreign(self.directory()),
                Span::Words(":".to_owned()),
            ]);
            message.block(entries.collect(), 0);
            message.note(help.collect());
        } else {
            let mut lines = vec![format!("{title}{}:", self.directory()), String::new()];
            lines.extend(entries);
            lines.push(String::new());
            lines.extend(help);
            message.note(lines);
        }
        match self.project.damaged()?.len() {
            0 => {}
            1 => message.say("⚠ 1 more checkpoint is damaged: `herma checkpoints verify`"),
            count => message
                .say(format!("⚠ {count} more checkpoints are damaged: `herma checkpoints verify`")),
        }
        Ok(reply)
    }

    /// What the session did last, newest first.
    pub(super) fn timeline(&self) -> Result<Reply> {
        let session = self.session.map(str::to_owned);
        let choice = StepChoice { session, ..StepChoice::default() };
        let rows = self.project.rows(&choice, SHOWN_ROWS, None)?;
        let now = self.env.now();
        let lines: Vec<String> = rows.rows.iter().map(|row| row_in_words(row, now)).collect();
        if lines.is_empty() {
            return Ok(Reply::saying("timeline", "No changes of this session are known."));
        }
        let mut reply = Reply::new("timeline");
        reply.message.block(lines, 0);
        Ok(reply)
    }

    /// There is no checkpoint: because nobody saves, or because nothing happened yet.
    pub(super) fn nothing_there(&self, action: &'static str) -> Reply {
        let mut reply = Reply::new(action);
        // Nothing to show is an answer; nothing to go back to is not what was asked for.
        reply.is_undone = action == "restore";
        let message = &mut reply.message;
        if self.env.settings.saves_by_itself() {
            message.line([
                Span::Words("No checkpoints found for ".to_owned()),
                Span::Foreign(self.directory()),
            ]);
            return reply;
        }
        message.say("Checkpoints are not enabled.");
        if self.platform == Platform::Cli {
            message.say("Enable with: herma config set enabled true");
            message.say("Or in config.yaml: checkpoints: { enabled: true }");
        } else {
            message.say("Enable in config.yaml:");
            message.note(vec!["checkpoints:".to_owned(), "  enabled: true".to_owned()]);
        }
        reply
    }
}

/// One line of the list, as Hermes writes it: numbered from the newest on.
fn entry(number: usize, checkpoint: &Checkpoint, digits: usize) -> String {
    let count = checkpoint.changes.filter(|count| count.files > 0);
    let count = count.map(|count| format!("  ({})", listing::changes_in_words(count)));
    format!(
        "  {}. {}  {}  {}{}",
        number,
        listing::short_id(checkpoint.id, digits),
        minute(checkpoint.time),
        escape(&checkpoint.subject()),
        count.unwrap_or_default()
    )
}

/// When, to the minute, in the zone it was saved in.
fn minute(time: Timestamp) -> String {
    let moment = jiff::Timestamp::from_second(time.seconds);
    let offset = Offset::from_seconds(time.offset_minutes.saturating_mul(60));
    match (moment, offset) {
        (Ok(moment), Ok(offset)) => {
            moment.to_zoned(TimeZone::fixed(offset)).strftime("%Y-%m-%d %H:%M").to_string()
        }
        // A store can claim any moment.
        _ => format!("@{}", time.seconds),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_shown_in_the_zone_they_were_saved_in() {
        let time = |seconds, offset_minutes| Timestamp { seconds, nanos: 0, offset_minutes };
        assert_eq!(minute(time(0, 90)), "1970-01-01 01:30");
        assert_eq!(minute(time(86_399, -60)), "1970-01-01 22:59");
        assert_eq!(minute(time(i64::MAX, 0)), format!("@{}", i64::MAX));
        assert_eq!(minute(time(0, i32::MAX)), "@0");
    }
}
