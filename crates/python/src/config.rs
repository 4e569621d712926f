//! The limits of the whole store, as `config.yaml` beside it says.
//!
//! They are for every project, so a program that cleans up must know them, whatever it asks for its own. What
//! else stands in the file is not read here.

use std::path::Path;

use herma_core::types::settings::Keeping;
use herma_fs::Dir;
use herma_sessions::resume::{Value, yaml};

const FILE: &str = "config.yaml";
const MAX_CONFIG_BYTES: u64 = 4 << 20;
const SNAPSHOTS: &str = "max_snapshots";
const SIZE: &str = "max_total_size_mb";

/// Sets the limits that the file states. Where nobody can tell what it states, there are none: too much that is
/// kept can be dropped later.
pub(crate) fn read(home: &Path, keeping: &mut Keeping) {
    let (snapshots, megabytes) = stated(home).unwrap_or((Some(0), Some(0)));
    keeping.max_snapshots = snapshots.map(|most| usize::try_from(most).unwrap_or(0));
    keeping.max_total_size = megabytes.map(|most| most.saturating_mul(1 << 20));
}

struct Unreadable;

fn stated(home: &Path) -> Result<(Option<u64>, Option<u64>), Unreadable> {
    let bytes = match Dir::open(home).and_then(|home| home.read_opt(FILE, MAX_CONFIG_BYTES)) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Ok((None, None)),
        Err(e) if e.is_not_found() => return Ok((None, None)),
        Err(_) => return Err(Unreadable),
    };
    let text = String::from_utf8(bytes).map_err(|_| Unreadable)?;
    // Most files say nothing about it, and need not be understood.
    if ![SNAPSHOTS, SIZE].iter().any(|key| text.contains(key)) {
        return Ok((None, None));
    }
    let file = yaml::read(&text).map_err(|_| Unreadable)?;
    let section = file.as_map().and_then(|file| file.get("checkpoints"));
    let Some(section) = section.and_then(Value::as_map) else { return Ok((None, None)) };
    Ok((number(section.get(SNAPSHOTS))?, number(section.get(SIZE))?))
}

fn number(value: Option<&Value>) -> Result<Option<u64>, Unreadable> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Number(text)) => {
            let whole = yaml::whole(text).and_then(|number| u64::try_from(number).ok());
            whole.map(Some).ok_or(Unreadable)
        }
        Some(_) => Err(Unreadable),
    }
}
