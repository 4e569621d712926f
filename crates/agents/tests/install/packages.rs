//! The plugins in the repository.
#![allow(
    clippy::disallowed_methods,
    reason = "a test reads the repository, and runs a shell as agents do"
)]

use herma_testkit::Bounded;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use herma_agents::{Agent, packages};
use serde_json::Value;

use super::{command, installed, target};

fn generated() -> BTreeMap<String, String> {
    packages(env!("CARGO_PKG_VERSION")).into_iter().collect()
}

/// All files below a directory.
fn below(directory: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { below(&path) } else { vec![path] }).collect()
}

#[test]
fn the_plugins_in_the_repository_are_what_the_tables_say() {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins");
    if std::env::var_os("UPDATE").is_some() {
        for (path, text) in generated() {
            let path = place.join(path);
            fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
            fs::write(path, text).expect("a file");
        }
    }
    let there = below(&place).into_iter().map(|path| {
        let text = fs::read_to_string(&path).expect("text");
        (path.strip_prefix(&place).expect("inside").to_string_lossy().into_owned(), text)
    });
    assert_eq!(there.collect::<BTreeMap<_, _>>(), generated(), "`UPDATE=1` writes them");
}

#[test]
fn a_plugin_tells_the_same_events_as_an_installed_hook_and_stands_in_nobodys_way() {
    let hooks = |text: &str| -> Value {
        serde_json::from_str::<Value>(text).expect("JSON")["hooks"].clone()
    };
    let own = hooks(&generated()["claude/hooks/hooks.json"]);
    let by_path = hooks(&installed(&target(Agent::Claude), None, &command()));
    let events =
        |hooks: &Value| hooks.as_object().expect("events").keys().cloned().collect::<Vec<_>>();
    assert_eq!(events(&own), events(&by_path));
    let line = own["PreToolUse"][0]["hooks"][0]["command"].as_str().expect("a line");
    assert_eq!(
        line,
        "command -v 'herma' >/dev/null || exit 0; { 'herma' hook claude; } >/dev/null 2>&1 || :"
    );
    let mut shell = std::process::Command::new("/bin/sh");
    let run = shell.args(["-c", line]).env("PATH", "/nowhere").bounded_output().expect("a shell");
    assert!(run.status.success() && run.stdout.is_empty() && run.stderr.is_empty(), "{run:?}");
}
