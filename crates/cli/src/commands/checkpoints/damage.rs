//! Names the checkpoints whose damage keeps a collection from freeing anything, and what cures that.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

use herma_core::ProjectId;
use herma_store::path::escape;
use herma_view::listing::in_words;
use herma_view::store::place;

use crate::command_env::CommandEnv;

/// Says that no room was freed, and what to do about it. Checkpoints that were dropped stay dropped.
pub(super) fn warn_of_damage(env: &CommandEnv, refs: &[String]) {
    if refs.is_empty() {
        return;
    }
    env.ui.warning("no room was freed, because what these checkpoints need cannot all be read:");
    let lines = name_all(env, refs);
    env.ui.name_some(lines.into_iter(), "herma checkpoints verify");
    env.ui.detail(
        "`herma checkpoints repair` mends what can be mended; `herma drop ID` gives up a checkpoint that stays damaged.",
    );
}

/// The checkpoints of these refs as people know them; a ref that tells nothing more, as it is.
pub(crate) fn name_all(env: &CommandEnv, refs: &[String]) -> Vec<String> {
    let mut numbers: HashMap<ProjectId, Vec<(u64, String)>> = HashMap::new();
    let mut workdirs: HashMap<ProjectId, Option<PathBuf>> = HashMap::new();
    // Names are a courtesy: where they cannot be found out, the ref is one.
    for known in env.engine.projects().unwrap_or_default() {
        workdirs.insert(known.id, known.workdir);
    }
    let mut seen = BTreeSet::new();
    let lines = refs.iter().filter_map(|name| {
        let line = parse(name).and_then(|(project, number)| {
            let workdir = workdirs.get(&project).cloned().flatten();
            let all = numbers
                .entry(project.clone())
                .or_insert_with(|| checkpoints(env, workdir.as_ref()));
            let (_, text) = all.iter().find(|(of, _)| *of == number)?;
            Some(format!("{}: {text}", place(workdir.as_deref(), &project)))
        });
        let line = line.unwrap_or_else(|| escape(name.as_bytes()));
        seen.insert(line.clone()).then_some(line)
    });
    lines.collect()
}

/// The checkpoints of a project by their place in the order of saving.
fn checkpoints(env: &CommandEnv, workdir: Option<&PathBuf>) -> Vec<(u64, String)> {
    let project = workdir.and_then(|root| env.engine.project(root).ok());
    let Some(project) = project else { return Vec::new() };
    let readable = project.timeline().unwrap_or_default();
    let whole = readable.iter().map(|one| (one.number, in_words(one)));
    let damaged = project.damaged().unwrap_or_default();
    let lost = damaged.iter().filter_map(|one| {
        let (_, number) = parse(&one.name)?;
        Some((number, format!("checkpoint {}", one.number?)))
    });
    whole.chain(lost).collect()
}

/// The project and the number in the ref of a checkpoint, or of its receipt.
fn parse(name: &str) -> Option<(ProjectId, u64)> {
    let (project, leaf) = name.strip_prefix("refs/herma/")?.split_once('/')?;
    let digits = leaf.strip_suffix(".extra").unwrap_or(leaf);
    Some((ProjectId::parse(project.as_bytes())?, digits.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refs_of_checkpoints_and_receipts_name_the_checkpoint() {
        let id = ProjectId::parse(b"0123456789abcdef").unwrap();
        let of = |name: &str| parse(&format!("refs/herma/{name}"));
        assert_eq!(of("0123456789abcdef/00000012"), Some((id.clone(), 12)));
        assert_eq!(of("0123456789abcdef/00000012.extra"), Some((id, 12)));
        for other in ["0123456789abcdef", "0123456789abcdef/x", "x/00000001"] {
            assert_eq!(of(other), None, "{other}");
        }
        assert_eq!(parse("refs/hermes/0123456789abcdef"), None);
        assert_eq!(parse("object 12"), None);
    }
}
