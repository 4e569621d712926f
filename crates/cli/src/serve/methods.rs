//! The methods about one project and about the store: each is a command, with its parameters as arguments.

use serde_json::Value;

use super::bounds::shorten_reasons;
use super::call::CommandLine;
use super::call::MOST_TEXT;
use super::message::Request;
use super::message::RpcError;
use super::params;
use super::params::RecordStep;
use super::params::page;
use super::session::Answered;
use super::session::Session;
use super::session::unknown;
use crate::json::text;

/// So much of a patch comes unless the client says otherwise.
const USUAL_PATCH: usize = 256 << 10;

impl Session {
    /// Carries out a method about a project or the store.
    pub(super) fn checkpoints(&self, request: &Request<'_>) -> Answered {
        match request.method.as_str() {
            "status" => {
                let wanted: params::InProject = request.params()?;
                let root = self.root(wanted.root.as_deref())?;
                self.run(request, &root, &CommandLine::new(&[]))
            }
            "store_status" => self.of_store(request, &CommandLine::new(&["checkpoints", "status"])),
            "prune" => {
                let wanted: params::Prune = request.params()?;
                self.of_store_with(request, &wanted.command())
            }
            "save" => self.save(request),
            "end_turn" => {
                let wanted: params::EndTurn = request.params()?;
                let root = self.root(wanted.root.as_deref())?;
                let line =
                    CommandLine::new(&["turn", "end"]).option("--session", Some(&wanted.session));
                self.run(request, &root, &line)
            }
            "record_step" => self.record_step(request),
            "steps" => self.steps(request),
            "list" => self.list(request),
            "show" => {
                let wanted: params::Show = request.params()?;
                let root = self.root(wanted.root.as_deref())?;
                let named = wanted.checkpoint.map(|named| named.text());
                let line = CommandLine::new(&["show"]).then(named.as_slice());
                self.run(request, &root, &line)
            }
            "diff" => self.diff(request),
            "plan_restore" => self.restore(request, true),
            "restore" => self.restore(request, false),
            "continue_restore" => {
                let wanted: params::InProject = request.params()?;
                let line = CommandLine::new(&["restore", "--continue"]);
                self.move_files(request, wanted.root.as_deref(), &line)
            }
            "undo" => {
                let wanted: params::Undo = request.params()?;
                self.move_files(request, wanted.root.as_deref(), &wanted.command())
            }
            "redo" => {
                let wanted: params::Redo = request.params()?;
                let line = CommandLine::new(&["redo"]).flag("--dry-run", wanted.dry_run);
                self.move_files(request, wanted.root.as_deref(), &line)
            }
            _ => Err(unknown(request)),
        }
    }

    /// A command about the whole store, without parameters.
    fn of_store(&self, request: &Request<'_>, line: &CommandLine) -> Answered {
        let none: params::Nothing = request.params()?;
        let params::Nothing {} = none;
        self.of_store_with(request, line)
    }

    /// A command about the whole store.
    pub(super) fn of_store_with(&self, request: &Request<'_>, line: &CommandLine) -> Answered {
        let home = self.server.caller.home();
        let listener = self.listener(request, home);
        Ok(self.server.caller.call(None, line, listener)?.into_value())
    }

    fn save(&self, request: &Request<'_>) -> Answered {
        let wanted: params::Save = request.params()?;
        if wanted.once_per_turn.is_some() {
            return Err(RpcError::params(
                "`once_per_turn` is for `ensure_checkpoint`; `save` always saves",
            ));
        }
        let root = self.root(wanted.root.as_deref())?;
        let saved = self.run(request, &root, &wanted.command())?;
        self.tell_of_checkpoint(&root, &saved);
        Ok(saved)
    }

    fn record_step(&self, request: &Request<'_>) -> Answered {
        let wanted: RecordStep = request.params()?;
        let (root, phase, line) = match &wanted {
            RecordStep::Begin(begin) => (&begin.root, "begin", begin.command()),
            RecordStep::End(end) => (&end.root, "end", end.command()),
        };
        let root = self.root(root.as_deref())?;
        let answer = self.run(request, &root, &line)?;
        self.tell_of_step(&root, phase, &answer);
        Ok(answer)
    }

    fn steps(&self, request: &Request<'_>) -> Answered {
        let wanted: params::Steps = request.params()?;
        let root = self.root(wanted.root.as_deref())?;
        let page = page(wanted.offset, wanted.limit);
        let line = CommandLine::new(&["steps"])
            .flag("--all", wanted.all)
            .option("--agent", wanted.agent.as_ref())
            .option("--session", wanted.session.as_ref())
            .option("--limit", Some(page.needed()));
        let mut answer = self.run(request, &root, &line)?;
        page.cut(&mut answer, "steps");
        Ok(answer)
    }

    fn list(&self, request: &Request<'_>) -> Answered {
        let wanted: params::List = request.params()?;
        let root = self.root(wanted.root.as_deref())?;
        let page = page(wanted.offset, wanted.limit);
        let line = CommandLine::new(&["list"]).option("--limit", Some(page.needed()));
        let mut answer = self.run(request, &root, &line)?;
        page.cut(&mut answer, "checkpoints");
        shorten_reasons(&mut answer);
        Ok(answer)
    }

    fn diff(&self, request: &Request<'_>) -> Answered {
        let wanted: params::Diff = request.params()?;
        if wanted.to.is_some() && wanted.from.is_none() {
            return Err(RpcError::params("`to` without `from`"));
        }
        let root = self.root(wanted.root.as_deref())?;
        let named = [&wanted.from, &wanted.to].into_iter().flatten();
        let ids = named
            .map(|named| self.checkpoint(&root, named))
            .collect::<Result<Vec<_>, _>>()?;
        let line = wanted.command(&ids);
        let mut answer = self.run(request, &root, &line)?;
        page(wanted.offset, wanted.limit).cut_whole(&mut answer, "changes");
        if wanted.patch {
            let most = wanted.max_bytes.unwrap_or(USUAL_PATCH).min(MOST_TEXT);
            let listener = self.listener(request, &root);
            let line = line.text_up_to(most);
            let called = self.server.caller.call(Some(&root), &line, listener)?;
            add_patch(&mut answer, &called.parts.text, called.parts.is_cut);
        }
        Ok(answer)
    }

    fn restore(&self, request: &Request<'_>, dry_run: bool) -> Answered {
        let wanted: params::Restore = request.params()?;
        let root = self.root(wanted.root.as_deref())?;
        let named = wanted.checkpoint.as_ref();
        let id = named
            .map(|named| self.checkpoint(&root, named))
            .transpose()?;
        if id.is_none() && !wanted.is_choice() {
            return Err(RpcError::params(
                "`checkpoint` is missing, and so are `agent`, `session`, `turn` and `since`",
            ));
        }
        let line = wanted.command(id, dry_run);
        self.move_files(request, wanted.root.as_deref(), &line)
    }

    /// Carries out a command that puts files back, and tells who wants to hear of it.
    fn move_files(
        &self,
        request: &Request<'_>,
        root: Option<&str>,
        line: &CommandLine,
    ) -> Answered {
        let root = self.root(root)?;
        let answer = self.run(request, &root, line)?;
        self.tell_of_restore(&root, &request.method, &answer);
        Ok(answer)
    }
}

/// Adds a patch, which may be cut and need not be UTF-8.
fn add_patch(answer: &mut Value, patch: &[u8], is_cut: bool) {
    // A cut in the middle of a character is no reason to escape all of it.
    let patch = match std::str::from_utf8(patch) {
        Err(error) if is_cut && error.error_len().is_none() => &patch[..error.valid_up_to()],
        _ => patch,
    };
    let (patch, bytes) = text(patch);
    answer["patch"] = patch.into();
    if let Some(bytes) = bytes {
        answer["patch_bytes"] = bytes.into();
    }
    answer["patch_truncated"] = is_cut.into();
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_patch_that_is_cut_within_a_character_stays_readable() {
        let mut answer = json!({});
        add_patch(&mut answer, "+ä".as_bytes().split_last().unwrap().1, true);
        assert_eq!(answer, json!({"patch": "+", "patch_truncated": true}));
        let mut answer = json!({});
        add_patch(&mut answer, b"+\xff", false);
        assert_eq!(answer["patch_bytes"], "K/8=");
    }
}
