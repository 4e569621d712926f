//! Does git run nothing but itself in a repository? Its settings can name programs that even `git status`
//! starts (`core.fsmonitor`, `diff.external`, filters, pagers).
//!
//! Only a repository whose settings are all known to be harmless is trusted. The settings of the user and
//! of the system are out of reach here, and taken for what the user wants.

use herma_fs::FileKind;
use herma_store::path::{join, split};

use super::present::PresentFiles;

/// Longer settings are not read.
const MAX_SETTINGS_BYTES: u64 = 64 << 10;

/// Sections all settings of which are harmless.
const HARMLESS_SECTIONS: [&str; 2] = ["user", "init"];

/// Settings that start no program and lead nowhere else.
#[rustfmt::skip]
const HARMLESS: &[(&str, &[&str])] = &[
    ("core", &[
        "repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "precomposeunicode", "symlinks",
    ]),
    ("remote", &["url", "pushurl", "fetch", "push", "tagopt", "prune", "mirror"]),
    ("branch", &["remote", "pushremote", "merge", "rebase", "description"]),
];

/// Does git, started in a directory of the project, run nothing but itself?
pub(crate) fn is_plain(files: &PresentFiles<'_>, directory: &[u8]) -> bool {
    let mut here = directory;
    loop {
        let at = |name: &str| join(here, name.as_bytes());
        match files.kind(&at(".git")) {
            Some(FileKind::Directory) => return is_plain_repository(files, &at(".git")),
            Some(_) => return false,
            None => {}
        }
        // A directory can be a repository itself.
        if files.kind(&at("HEAD")).is_some() || here.is_empty() {
            return false;
        }
        here = split(here).0;
    }
}

fn is_plain_repository(files: &PresentFiles<'_>, repository: &[u8]) -> bool {
    // Parts of it are elsewhere, or other repositories belong to it; and a hook that runs whenever git
    // looked which files changed.
    let surprises = ["commondir", "modules", "hooks/post-index-change"];
    let kind = |name: &str| files.kind(&join(repository, name.as_bytes()));
    let has = |name: &str| kind(name).is_some();
    let hooks_are_here = matches!(kind("hooks"), None | Some(FileKind::Directory));
    let mut others = false;
    files.left_out_below(b"", |path: &[u8], _| {
        others |=
            path != repository && path.split(|byte| *byte == b'/').any(|name| name == b".git");
    });
    let settings = join(repository, b"config");
    let is_harmless = files.kind(&settings).is_none()
        || files.read(&settings, MAX_SETTINGS_BYTES).is_some_and(|text| are_harmless(&text));
    !others && hooks_are_here && !surprises.into_iter().any(has) && is_harmless
}

/// Are all settings of this text harmless? What git may read differently is not.
fn are_harmless(text: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(text) else { return false };
    let mut section = None;
    for line in text.split('\n') {
        let line = line.trim_matches([' ', '\t', '\r']);
        // It goes on in the next line.
        if line.ends_with('\\') {
            return false;
        }
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(header) = line.strip_prefix('[') {
            section = section_name(header);
            if section.is_none() {
                return false;
            }
            continue;
        }
        let is_harmless = section.as_deref().is_some_and(|section| is_harmless_line(section, line));
        if !is_harmless {
            return false;
        }
    }
    true
}

/// The name in `name]` or `name "more"]`, in small letters.
fn section_name(header: &str) -> Option<String> {
    let header = header.strip_suffix(']')?;
    let (name, more) = header.split_once(' ').unwrap_or((header, "\"\""));
    let more = more.trim().strip_prefix('"')?.strip_suffix('"')?;
    let is_simple = !more.contains(['"', '\\', ']']) && is_name(name);
    is_simple.then(|| name.to_ascii_lowercase())
}

fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    !text.is_empty() && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn is_harmless_line(section: &str, line: &str) -> bool {
    let (key, value) = line.split_once('=').unwrap_or((line, ""));
    let key = key.trim_matches([' ', '\t']).to_ascii_lowercase();
    let listed = HARMLESS.iter().find(|(name, _)| *name == section);
    // `helper::address` runs a program of that name.
    let runs = section == "remote" && value.contains("::");
    let is_known = HARMLESS_SECTIONS.contains(&section)
        || listed.is_some_and(|(_, keys)| keys.contains(&key.as_str()));
    is_name(&key) && is_known && !runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_a_fresh_or_cloned_repository_are_harmless() {
        for text in [
            "",
            "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n",
            "# note\n[user]\nname = A\nemail = a@b\n[init]\n\tdefaultBranch = main\r\n",
            "[remote \"origin\"]\n\turl = https://example.org/x.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
            "[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n",
        ] {
            assert!(are_harmless(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn settings_that_may_run_a_program_are_not() {
        for text in [
            "[core]\n\tfsmonitor = ./x\n",
            "[CORE]\n\tFSMonitor = ./x\n",
            "[core]\n\tpager = ./x\n",
            "[core]\n\thooksPath = hooks\n",
            "[core]\n\tworktree = /\n",
            "[core] fsmonitor = ./x\n",
            "[core]\n\tbare = \\\nfalse\n\tfsmonitor = ./x\n",
            "[diff]\n\texternal = ./x\n",
            "[diff \"x\"]\n\ttextconv = ./x\n",
            "[filter \"x\"]\n\tclean = ./x\n",
            "[alias]\n\tst = !./x\n",
            "[credential]\n\thelper = ./x\n",
            "[include]\n\tpath = other\n",
            "[includeIf \"gitdir:/\"]\n\tpath = other\n",
            "[remote \"origin\"]\n\tuploadpack = ./x\n",
            "[remote \"origin\"]\n\turl = ext::./x\n",
            "[extensions]\n\tworktreeConfig = true\n",
            "[core \"a]\n[diff]\nexternal = x\"]\n",
            "name = x\n",
            "[user\nname = x\n",
            "[user.x]\nname = x\n",
            "\u{feff}[core]\n",
        ] {
            assert!(!are_harmless(text.as_bytes()), "{text}");
        }
        assert!(!are_harmless(b"[user]\nname = \xff\n"));
    }
}
