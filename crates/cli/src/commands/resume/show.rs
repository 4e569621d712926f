//! `herma resume show` and `herma resume list`

use std::io::Write;

use clap::Args;
use herma_sessions::resume::store::Listed;
use herma_sessions::resume::{Record, ResumeStore, SessionId, inject, yaml};
use herma_view::json::{Serialize, lazy_object, list, object};
use herma_view::listing;
use herma_view::time::at;

use super::nothing;
use crate::command_env::{CommandEnv, Outcome, Result};
use crate::terminal::{Label, escape, shown, time};

/// Show the record of a session
#[derive(Args, Debug)]
pub(super) struct ShowArgs {
    /// The session
    #[arg(value_name = "SESSION", value_parser = SessionId::parse)]
    session: SessionId,
}

/// List the sessions that have a record
///
/// Shows session, status, completed steps, last update and task. Exits 3 when files cannot be used, and names them.
#[derive(Args, Debug)]
pub(super) struct ListArgs {
    /// End each record with NUL; fields separated by tabs: session, status, completed steps, steps, seconds since
    /// 1970 (empty if not known), the task
    #[arg(short = 'z', long = "null", conflicts_with = "json")]
    null: bool,
}

/// A record with its session.
struct Line<'a> {
    session: &'a SessionId,
    record: &'a Record,
    updated: Option<i64>,
}

pub(super) fn cmd_show(env: &CommandEnv, args: &ShowArgs) -> Result<Outcome> {
    let session = &args.session;
    let store = ResumeStore::open(&env.home)?.ok_or_else(|| nothing(session))?;
    let record = store.read(session)?.ok_or_else(|| nothing(session))?;
    let json = lazy_object! {
        schema: "herma.resume-show/1",
        session: session.as_str(),
        record: record.content(),
    };
    env.ui.answer(json, |out| {
        for line in yaml::write(record.content()).lines() {
            let line = if env.ui.is_terminal { shown(line) } else { line.to_owned() };
            writeln!(out, "{line}")?;
        }
        Ok(())
    })?;
    Ok(Outcome::Done)
}

pub(super) fn cmd_list(env: &CommandEnv, args: &ListArgs) -> Result<Outcome> {
    let listed = match ResumeStore::open(&env.home)? {
        Some(store) => store.list()?,
        None => Vec::new(),
    };
    let zone = env.local_now().zone;
    let mut lines: Vec<Line<'_>> = listed
        .iter()
        .filter_map(|listed| {
            let (session, record) = (listed.session.as_ref()?, listed.record.as_ref().ok()?);
            let updated = record.updated(&zone).map(jiff::Timestamp::as_second);
            Some(Line { session, record, updated })
        })
        .collect();
    lines.sort_by_key(|line| std::cmp::Reverse(line.updated));
    let problem_of = |listed: &Listed| {
        let problem = listed.record.as_ref().err()?;
        Some((listed.file.clone(), problem.to_string()))
    };
    let problems: Vec<_> = listed.iter().filter_map(problem_of).collect();
    let outcome = if problems.is_empty() { Outcome::Done } else { Outcome::LeftOut };
    let json = lazy_object! {
        schema: "herma.resume-list/1",
        records: list(lines.iter().map(Line::to_json)),
        problems: list(problems.iter().map(|(file, what)| object! { file, what })),
    };
    env.ui.answer(json, |out| {
        for line in &lines {
            if args.null {
                line.write_record(out)?;
            } else {
                line.write(out, env)?;
            }
        }
        Ok(())
    })?;
    if lines.is_empty() {
        env.ui.status("No session has a resume record.");
    }
    for (file, what) in problems.iter().filter(|_| !env.ui.json) {
        env.ui.warning(format_args!("{} cannot be used: {}", shown(file), shown(what)));
    }
    Ok(outcome)
}

impl Line<'_> {
    fn to_json(&self) -> impl Serialize {
        let (steps_completed, steps) = self.record.steps();
        object! {
            session: self.session.as_str(),
            task: self.record.task(),
            status: self.record.status(),
            steps_completed,
            steps,
            updated: self.updated.and_then(|seconds| time::rfc3339(at(seconds))),
            updated_seconds: self.updated,
        }
    }

    fn write(&self, out: &mut dyn Write, env: &CommandEnv) -> std::io::Result<()> {
        let theme = env.ui.theme;
        let (done, steps) = self.record.steps();
        let status = inject::clean(self.record.status());
        let progress = match steps {
            0 => status,
            _ => format!("{status} {done}/{steps}"),
        };
        let age = match self.updated {
            Some(seconds) => time::age(seconds, env.now()),
            None => "at some time".to_owned(),
        };
        let used = self.session.as_str().len() + progress.len() + age.len() + 6;
        let room = env.ui.width.map(|columns| columns.saturating_sub(used));
        let task = escape(inject::clean(self.record.task().unwrap_or_default()).as_bytes());
        writeln!(
            out,
            "{}  {}  {}  {}",
            theme.paint(Label::Id, self.session.as_str()),
            escape(progress.as_bytes()),
            theme.paint(Label::Faint, &age),
            listing::fit(&task, room),
        )
    }

    fn write_record(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let (done, steps) = self.record.steps();
        let updated = self.updated.map(|seconds| seconds.to_string());
        let plain = |text: &str| inject::clean(text).replace('\0', "");
        write!(
            out,
            "{}\t{}\t{done}\t{steps}\t{}\t{}\0",
            self.session,
            plain(self.record.status()),
            updated.unwrap_or_default(),
            plain(self.record.task().unwrap_or_default()),
        )
    }
}
