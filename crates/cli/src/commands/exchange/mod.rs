//! Taking history elsewhere: to another machine and back, to git, into a pull request.

pub(crate) mod export;
pub(crate) mod formats;
pub(crate) mod import;
pub(crate) mod report;

use std::collections::BTreeSet;

use herma_core::{Checkpoint, Project};

use crate::command_env::{CommandEnv, Result, find};
use crate::several::Several;

/// The rows that are named, one by one, as ranges, or by any address.
fn chosen(env: &CommandEnv, project: &Project, texts: &[String]) -> Result<Vec<Checkpoint>> {
    let all = project.timeline()?;
    let mut chosen = Vec::new();
    for text in texts {
        match (find(project, text), Several::parse(text)) {
            (Err(error), Some(several)) => {
                let before = chosen.len();
                let is_meant = |one: &&Checkpoint| several.has(one.number);
                chosen.extend(all.iter().filter(is_meant).cloned());
                if chosen.len() == before {
                    return Err(error);
                }
            }
            (found, _) => {
                let found = found?;
                env.tell_chosen(project, text, &found);
                chosen.push(found);
            }
        }
    }
    let mut seen = BTreeSet::new();
    chosen.retain(|one| seen.insert(one.number));
    chosen.sort_by_key(|one| one.place);
    Ok(chosen)
}
