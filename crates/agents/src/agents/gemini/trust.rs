//! Whether Gemini CLI trusts a directory, and whether our extension is turned on there.
//!
//! Read as Gemini CLI 0.61 reads them: of the trusted folders the longest that matches counts, of the rules for
//! an extension the last one. Trust plays a part unless it is turned off in the user's settings.

use std::path::Path;

use serde_json::Value as Data;

use crate::install::switches::{Files, Question, Verdict, read_json};

/// The variable by which users move the record of trusted folders.
pub(super) const MOVED_FOLDERS: &str = "GEMINI_CLI_TRUSTED_FOLDERS_PATH";

/// What the files in the directory of Gemini CLI say.
pub(super) fn judge(place: &Path, question: &Question<'_>, files: &dyn Files) -> Verdict {
    look(place, question, files).unwrap_or_else(Verdict::CannotTell)
}

fn look(place: &Path, question: &Question<'_>, files: &dyn Files) -> Result<Verdict, String> {
    let read = |path: &Path| {
        let data = read_json(files, path);
        data.map_err(|error| format!("{}: {error}", path.display()))
    };
    let rules = read(&place.join("extensions/extension-enablement.json"))?;
    if rules.is_some_and(|rules| is_disabled(&rules, question.directory)) {
        return Ok(Verdict::ExtensionOff);
    }
    let settings = read(&place.join("settings.json"))?.unwrap_or_default();
    let trust = settings.pointer("/security/folderTrust/enabled");
    if trust.and_then(Data::as_bool) == Some(false) {
        return Ok(Verdict::Fine);
    }
    let moved = question.places.variables.iter();
    let mut moved = moved.filter(|(name, _)| *name == MOVED_FOLDERS);
    let usual = place.join("trustedFolders.json");
    let path = moved.next().map_or(usual, |(_, path)| path.clone());
    match read(&path)? {
        Some(folders) => judge_trust(&folders, question.directory, files),
        None => Ok(Verdict::WillAsk),
    }
}

fn judge_trust(folders: &Data, project: &Path, files: &dyn Files) -> Result<Verdict, String> {
    let folders = folders.as_object().ok_or("trustedFolders.json: no object")?;
    let project = files.real(project);
    let mut longest: Option<(usize, &str)> = None;
    for (path, level) in folders {
        let level = level.as_str().unwrap_or_default();
        let folder = match level {
            "TRUST_FOLDER" | "DO_NOT_TRUST" => Path::new(path),
            "TRUST_PARENT" => Path::new(path).parent().unwrap_or(Path::new("/")),
            _ => return Err(format!("trustedFolders.json: `{level}` is not known here")),
        };
        let is_longer = longest.is_none_or(|(length, _)| path.len() > length);
        if is_longer && project.starts_with(files.real(folder)) {
            longest = Some((path.len(), level));
        }
    }
    Ok(match longest {
        Some((_, "DO_NOT_TRUST")) => Verdict::NotTrusted,
        Some(_) => Verdict::Fine,
        None => Verdict::WillAsk,
    })
}

/// Every extension is on, unless the last rule that matches says otherwise.
fn is_disabled(rules: &Data, project: &Path) -> bool {
    let rules = rules.pointer("/herma/overrides").and_then(Data::as_array);
    let project = format!("{}/", project.to_string_lossy().trim_end_matches('/'));
    let rules = rules.into_iter().flatten().filter_map(Data::as_str);
    let mut is_disabled = false;
    for rule in rules {
        let (base, disables) = match rule.strip_prefix('!') {
            Some(base) => (base, true),
            None => (rule, false),
        };
        if matches(base, &project) {
            is_disabled = disables;
        }
    }
    is_disabled
}

/// A rule is a directory, with `*` behind it if what is inside is meant too.
fn matches(rule: &str, project: &str) -> bool {
    match rule.strip_suffix('*') {
        Some(base) => {
            let base = base.trim_end_matches('/');
            let rest = project.strip_prefix(base);
            rest.is_some_and(|rest| rest.starts_with('/'))
        }
        None => rule == project,
    }
}
