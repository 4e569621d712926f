//! One file along the timeline: its versions, and whose they are.

use std::io;
use std::io::Write;

use herma_core::steps::StepId;
use herma_core::{FileHistory, RelPath, Row, RowChanges, RowKind, Version, VersionChange};

use crate::authors::columns;
use crate::json::{PathJson, ProjectJson, Serialize, checkpoint_json, list, object};
use crate::steps::named_step_json;
use crate::style::{Label, Style};
use crate::time::at;
use crate::{authors, here, listing, time, units};

/// All versions, as programs read them.
pub fn history_json(
    project: ProjectJson,
    path: &RelPath,
    history: &FileHistory,
) -> impl Serialize + use<> {
    object! {
        schema: "herma.history/3",
        project,
        #[serde(flatten)]
        path: PathJson::new(path.as_bytes()),
        versions: list(history.versions.iter().map(version_json)),
        steps: list(history.steps.iter().map(named_step_json)),
    }
}

/// What each change deleted, the newest first.
pub fn deletions(rows: &[Row]) -> Vec<(StepId, Vec<RelPath>)> {
    let of = |(id, changes): (StepId, &RowChanges)| {
        let deleted = changes.files.iter().filter(|(_, is_gone)| **is_gone);
        (id, deleted.map(|(path, _)| path.clone()).collect())
    };
    let rows = rows.iter().filter(|row| row.kind != RowKind::Shift && row.undone == 0);
    let each = rows.flat_map(|row| {
        let calls = row.calls.iter();
        let calls = calls.filter_map(|call| Some((call.step.id(), call.changes.as_ref()?)));
        calls.chain(row.calls.is_empty().then_some((row.id, &row.changes)))
    });
    each.map(of).collect()
}

fn version_json(version: &Version) -> impl Serialize + use<> {
    let from = match &version.change {
        VersionChange::Renamed { from } => Some(PathJson::new(from.as_bytes())),
        _ => None,
    };
    object! {
        checkpoint: version.checkpoint.as_deref().map(checkpoint_json),
        author: version.author.word(),
        steps: version.author.steps().to_vec(),
        change: version.change.word(),
        #[serde(flatten)]
        path: PathJson::new(version.path.as_bytes()),
        from,
        insertions: version.insertions,
        deletions: version.deletions,
        bytes: version.size,
        seconds: version.time,
        time: version.time.and_then(|seconds| time::rfc3339(at(seconds))),
    }
}

/// Prints one record for a version, with the path last.
pub fn write_record(out: &mut dyn Write, version: &Version) -> io::Result<()> {
    let number = |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
    let id = version.checkpoint.as_ref().map(|checkpoint| checkpoint.id.to_hex());
    let steps: Vec<String> = version.author.steps().iter().map(StepId::to_string).collect();
    let fields = [
        id.unwrap_or_default(),
        version.time.map_or(String::new(), |seconds| seconds.to_string()),
        version.author.word().to_owned(),
        steps.join(","),
        version.change.word().to_owned(),
        number(version.insertions),
        number(version.deletions),
        number(version.size),
    ];
    write!(out, "{}\t", fields.join("\t"))?;
    out.write_all(&here::bytes(version.path.as_bytes()))?;
    out.write_all(b"\0")
}

/// Prints one line for each version; columns that would be empty are left away.
pub fn write_versions(out: &mut dyn Write, style: &Style, history: &FileHistory) -> io::Result<()> {
    let ids: Vec<_> = history
        .versions
        .iter()
        .filter_map(|version| Some(version.checkpoint.as_ref()?.id))
        .collect();
    let digits = listing::id_digits(&ids);
    let rows: Vec<[String; 7]> =
        history.versions.iter().map(|version| row(version, history, digits)).collect();
    let labels = [
        Label::Number,
        Label::Id,
        Label::Faint,
        Label::Number,
        Label::Name,
        Label::Changed,
        Label::Faint,
    ];
    listing::write_columns(out, style, labels, &rows)
}

fn row(version: &Version, history: &FileHistory, digits: usize) -> [String; 7] {
    let checkpoint = version.checkpoint.as_deref();
    let number = checkpoint.map_or(String::new(), |c| c.number.to_string());
    let [who, agent] = columns(&version.author, &history.steps);
    // A step has the number of the checkpoint it ended in.
    let who = if who == number { String::new() } else { who };
    let change = match &version.change {
        VersionChange::Renamed { from } => format!("renamed from {}", here::path(from)),
        other => other.word().to_owned(),
    };
    let lines = match (version.insertions, version.deletions) {
        (Some(insertions), Some(deletions)) => format!("+{insertions}/-{deletions}"),
        _ => "not counted".to_owned(),
    };
    let amount = match version.size {
        Some(bytes) => format!("{lines}, {}", units::size(bytes)),
        None => lines,
    };
    [
        number,
        checkpoint.map_or(String::new(), |c| listing::short_id(c.id, digits)),
        authors::when(version.time),
        who,
        agent,
        change,
        amount,
    ]
}
