//! The methods about conversations: `herma sessions` for programs. Whoever calls them has decided already, so
//! nothing is asked.

use serde::Deserialize;

use super::bounds::Page;
use super::call::CommandLine;
use super::message::Request;
use super::params::Nothing;
use super::params::page;
use super::session::Answered;
use super::session::Session;
use super::session::unknown;

/// Which sessions are meant.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Filters {
    source: Option<String>,
    older_than: Option<u32>,
    newer_than: Option<u32>,
    before: Option<String>,
    after: Option<String>,
    title: Option<String>,
    model: Option<String>,
    min_messages: Option<u64>,
    max_messages: Option<u64>,
}

impl Filters {
    fn add_to(&self, line: CommandLine) -> CommandLine {
        line.option("--source", self.source.as_ref())
            .option("--older-than", self.older_than)
            .option("--newer-than", self.newer_than)
            .option("--before", self.before.as_ref())
            .option("--after", self.after.as_ref())
            .option("--title", self.title.as_ref())
            .option("--model", self.model.as_ref())
            .option("--min-messages", self.min_messages)
            .option("--max-messages", self.max_messages)
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct List {
    filters: Filters,
    limit: Option<usize>,
    offset: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Show {
    session: String,
    limit: Option<usize>,
    #[serde(default)]
    offset: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    query: String,
    #[serde(default)]
    filters: Filters,
    limit: Option<usize>,
    #[serde(default)]
    offset: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rename {
    session: String,
    title: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Delete {
    session: String,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Prune {
    filters: Filters,
    reap: bool,
    reap_after: Option<u32>,
    orphan_files: bool,
    dry_run: bool,
}

impl Session {
    /// Carries out a method about conversations.
    pub(super) fn sessions(&self, request: &Request<'_>) -> Answered {
        match request.method.as_str() {
            "sessions.list" => {
                let wanted: List = request.params()?;
                let line = wanted
                    .filters
                    .add_to(CommandLine::new(&["sessions", "list"]));
                self.paged(request, line, "sessions", page(wanted.offset, wanted.limit))
            }
            "sessions.show" => {
                let wanted: Show = request.params()?;
                let line = CommandLine::new(&["sessions", "show"]).then(&[wanted.session]);
                let mut answer = self.of_store_with(request, &line)?;
                page(wanted.offset, wanted.limit).cut_whole(&mut answer, "messages");
                Ok(answer)
            }
            "sessions.search" => {
                let wanted: Search = request.params()?;
                let line = CommandLine::new(&["sessions", "search"]).then(&[wanted.query]);
                let line = wanted.filters.add_to(line);
                self.paged(request, line, "found", page(wanted.offset, wanted.limit))
            }
            "sessions.stats" => {
                let _: Nothing = request.params()?;
                self.of_store_with(request, &CommandLine::new(&["sessions", "stats"]))
            }
            "sessions.rename" => {
                let wanted: Rename = request.params()?;
                let names = [wanted.session, wanted.title];
                let line = CommandLine::new(&["sessions", "rename"]).then(&names);
                self.of_store_with(request, &line)
            }
            "sessions.delete" => {
                let wanted: Delete = request.params()?;
                let line = CommandLine::new(&["sessions", "delete", "--yes"]);
                self.of_store_with(request, &line.then(&[wanted.session]))
            }
            "sessions.prune" => {
                let wanted: Prune = request.params()?;
                let line = CommandLine::new(&["sessions", "prune", "--yes"])
                    .flag("--reap", wanted.reap)
                    .option("--reap-after", wanted.reap_after)
                    .flag("--orphan-files", wanted.orphan_files)
                    .flag("--dry-run", wanted.dry_run);
                self.of_store_with(request, &wanted.filters.add_to(line))
            }
            _ => Err(unknown(request)),
        }
    }

    /// A page of a list that the command itself can keep short.
    fn paged(&self, request: &Request<'_>, line: CommandLine, name: &str, page: Page) -> Answered {
        let line = line.option("--limit", Some(page.needed()));
        let mut answer = self.of_store_with(request, &line)?;
        page.cut(&mut answer, name);
        Ok(answer)
    }
}
