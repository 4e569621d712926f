//! What `herma doctor` says about the disk: limits, cleaning, and what cleaning leaves to the user.

use herma_core::StoreStatus;
use herma_core::engine::NoProgress;
use herma_view::listing::counted;

use super::findings::{Findings, Level};
use crate::command_env::CommandEnv;
use crate::terminal::{escape, short_age, size};

/// Looks at what the store costs and how its cleaning goes.
pub(super) fn look(findings: &mut Findings, env: &CommandEnv) {
    look_at_damage(findings, env);
    let status = env.engine.status(false, &NoProgress);
    let Some(status) = findings.known("disk", status) else { return };
    look_at_archives(findings, &status);
    if !status.exists {
        return;
    }
    look_at_size(findings, &status, status.size_limit);
    look_at_cleaning(findings, &status, env.now().as_float());
}

/// Refs that were lost, and records, journals and other files of the store that cannot be used.
fn look_at_damage(findings: &mut Findings, env: &CommandEnv) {
    let Some(found) = findings.known("record", env.engine.verify_quickly()) else { return };
    let refs = { found.refs.into_iter() }.map(|one| ("ref", one.name, one.what));
    let files = { found.metadata.into_iter() }.map(|one| ("record", one.file, one.what));
    for (about, name, what) in refs.chain(files) {
        let name = escape(name.as_bytes());
        // Damage of this project was told already.
        if !findings.mention(&name) {
            let text = format!("{name} is damaged: {}", escape(what.as_bytes()));
            let hint = "`herma checkpoints repair` makes it again, as far as that can be done.";
            findings.add(about, Level::Wrong, text, hint);
        }
    }
}

fn look_at_size(findings: &mut Findings, status: &StoreStatus, limit: u64) {
    let trash = match status.trash_bytes {
        0 => String::new(),
        bytes => format!(", {} of it in the trash", size(bytes)),
    };
    let text = format!("{}{trash}", size(status.store_bytes));
    if limit > 0 && status.store_bytes > limit {
        findings.add(
            "disk",
            Level::Attention,
            format!("{text}: over the limit of {}", size(limit)),
            "`herma checkpoints prune` cleans up; `herma checkpoints` shows what is big.",
        );
    } else {
        findings.fine("disk", text);
    }
}

fn look_at_cleaning(findings: &mut Findings, status: &StoreStatus, now: f64) {
    let Some(record) = &status.last_cleaning else {
        return findings.fine("cleaning", "never yet");
    };
    let age = short_age(Some(record.at), now);
    match &record.problem {
        Some(problem) => findings.add(
            "cleaning",
            Level::Wrong,
            format!("last {age}: {}", escape(problem.as_bytes())),
            "`herma checkpoints verify` names what is damaged.",
        ),
        None => findings.fine("cleaning", format!("last {age}")),
    }
}

fn look_at_archives(findings: &mut Findings, status: &StoreStatus) {
    let hint =
        "`herma checkpoints import-legacy` brings their history in; `clear-legacy` deletes them.";
    if !status.legacy.is_empty() {
        let count = counted(status.legacy.len(), "archive");
        let text = format!("{count} of version 1, {}", size(status.legacy_bytes));
        findings.add("legacy", Level::Fine, text, hint);
    }
    if !status.pre_v2.is_empty() {
        let count = status.pre_v2.len();
        let bytes = size(status.pre_v2_bytes);
        let text = format!("{count} of version 1 beside the store, {bytes}");
        findings.add("legacy", Level::Fine, text, hint);
    }
}
