//! What is recorded of a tool call, whoever tells of it.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bstr::ByteSlice;
use herma_agents::{ToolClass, ToolUse, Writes};
use herma_core::Project;
use herma_core::steps::StepStart;
use herma_core::types::checkpoint::Facts;
use herma_diff::Replacement;
use herma_shell::{Command, may_change, only_program};
use herma_store::RelPath;

use crate::command_env::CommandEnv;

/// A tool that has answered may have done so earlier than its hook was started, by no more than this.
pub(crate) const MAX_HOOK_START: Duration = Duration::from_secs(2);

/// What a tool is about to do; paths are relative to this directory.
pub(crate) fn start_of(
    project: &Project,
    facts: Facts,
    tool: &ToolUse,
    base: Option<&Path>,
) -> StepStart {
    let shown = |path: &std::path::PathBuf| {
        let absolute = base.map_or_else(|| path.clone(), |base| base.join(path));
        match project.rel_path(&absolute) {
            Ok(inside) => inside.to_string(),
            Err(_) => path.as_os_str().as_bytes().to_str_lossy().into_owned(),
        }
    };
    let edits = tool.class == ToolClass::Edit && !tool.paths.is_empty();
    let edited = |path: &PathBuf| {
        edited(project, &base.map_or_else(|| path.clone(), |base| base.join(path)))
    };
    StepStart {
        facts,
        call: tool.call.clone(),
        command: tool.command.clone(),
        edits: edits.then(|| tool.paths.iter().flat_map(edited).collect()),
        paths: tool.paths.iter().map(shown).collect(),
        ..StepStart::default()
    }
}

/// The files of a project that a tool edits which names this one: it may be a link to another.
fn edited(project: &Project, named: &Path) -> Vec<RelPath> {
    let real = herma_fs::dir::canonicalize(named).ok();
    let both = [Some(named), real.as_deref()].into_iter().flatten();
    let mut edited: Vec<RelPath> = both.filter_map(|path| project.rel_path(path).ok()).collect();
    edited.dedup();
    edited
}

/// What a tool that edits files says it wrote into those of a project.
pub(crate) fn wrote(
    project: &Project,
    tool: &ToolUse,
    base: Option<&Path>,
) -> Vec<(RelPath, Replacement)> {
    let into = |writes: &Writes| {
        let Writes { path, old, new, all } = writes.clone();
        let path = base.map_or_else(|| path.clone(), |base| base.join(&path));
        let old = old.map(String::into_bytes);
        let replacement = Replacement { old, new: new.into_bytes(), all };
        let files = edited(project, &path).into_iter();
        files.map(|file| (file, replacement.clone())).collect::<Vec<_>>()
    };
    let is_edit = tool.class == ToolClass::Edit;
    tool.writes.iter().filter(|_| is_edit).flat_map(into).collect()
}

/// Is it a command of which the settings say that it tells whether a state is good? Only if it is all that was run: of
/// `cargo test | tail` nobody knows how the test ended. A `*` at the end stands for whatever follows.
pub(crate) fn is_check(env: &CommandEnv, command: &Command) -> bool {
    let checks = env.settings.checks();
    if checks.is_empty() {
        return false;
    }
    let Some(words) = only_program(command) else { return false };
    let line = bstr::join(" ", words);
    checks.iter().any(|check| match check.strip_suffix('*') {
        Some(beginning) => line.starts_with(beginning.as_bytes()),
        None => line == check.as_bytes(),
    })
}

/// Is it a command that certainly only reads? Then one look, before it, is enough.
pub(crate) fn only_reads(tool: &ToolUse) -> bool {
    let text = tool.command.as_deref().filter(|text| !text.trim().is_empty());
    let is_certain = |text: &str| may_change(&Command::Text(text.into())).is_none();
    tool.class == ToolClass::Shell && text.is_some_and(is_certain)
}
