//! `PyYAML`, which Hermes uses, reads what is written here, and what it writes is read here.
//!
//! It is taken from the Python that `HERMA_PYTHON` names, from `python3`, or is installed into a virtual
//! environment below `target`. Where none of that works, the tests say so and are skipped.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use herma_testkit::Bounded;
use herma_yaml::{self as yaml, Value};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::json;

use super::values::{nasty, nasty_record, record};

/// How many random records go through each way.
const RANDOM: usize = 300;

const PROGRAM: &str = r"
import datetime, json, sys, yaml
def plain(value):
    if isinstance(value, (datetime.date, datetime.datetime)):
        return str(value)
    raise TypeError(repr(value))
request = json.load(sys.stdin)
if request['do'] == 'load':
    answer = [yaml.safe_load(text) for text in request['what']]
else:
    answer = []
    for data in request['what']:
        text = yaml.dump(data, default_flow_style=False, allow_unicode=True, sort_keys=False)
        answer.append({'text': text, 'again': yaml.safe_load(text)})
json.dump(answer, sys.stdout, default=plain)
";

/// A Python that has `PyYAML`.
fn python() -> Option<&'static Path> {
    static PYTHON: OnceLock<Option<PathBuf>> = OnceLock::new();
    let python = PYTHON.get_or_init(|| {
        let named = std::env::var_os("HERMA_PYTHON").map(PathBuf::from);
        let candidates = [named, Some("python3".into())];
        let found = candidates.into_iter().flatten().find(|python| has_pyyaml(python));
        found.or_else(install)
    });
    if python.is_none() {
        let reason = "no python3 with PyYAML, and it could not be installed";
        herma_testkit::skipped("pyyaml", reason);
    }
    python.as_deref()
}

fn has_pyyaml(python: &Path) -> bool {
    succeeds(Command::new(python).args(["-c", "import yaml"]))
}

fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null());
    quiet.stderr(Stdio::null()).bounded_status().is_ok_and(|s| s.success())
}

fn install() -> Option<PathBuf> {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pyyaml");
    let python = place.join("bin/python");
    if has_pyyaml(&python) {
        return Some(python);
    }
    let made = succeeds(Command::new("python3").args(["-m", "venv"]).arg(&place));
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "pyyaml"];
    let installed = made && succeeds(Command::new(&python).args(pip));
    (installed && has_pyyaml(&python)).then_some(python)
}

fn ask(python: &Path, request: &serde_json::Value) -> Vec<serde_json::Value> {
    let mut child = Command::new(python)
        .args(["-c", PROGRAM])
        .env("PYTHONIOENCODING", "utf-8")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .bounded_spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let text = request.to_string();
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = child.bounded_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "Python failed; see above");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Random records, the same ones every time.
fn random() -> Vec<Value> {
    let mut runner = TestRunner::deterministic();
    let strategy = record();
    let next = |_| Value::Map(strategy.new_tree(&mut runner).unwrap().current());
    (0..RANDOM).map(next).collect()
}

fn to_json(value: &Value) -> serde_json::Value {
    serde_json::to_value(value).unwrap()
}

#[test]
fn pyyaml_reads_what_is_written_here() {
    let Some(python) = python() else { return };
    let mut records = random();
    records.push(Value::Map(nasty_record()));
    let texts: Vec<String> =
        records.iter().filter_map(|value| value.as_map().map(yaml::write)).collect();
    let read = ask(python, &json!({"do": "load", "what": texts}));
    assert_eq!(read.len(), records.len());
    for ((record, text), read) in records.iter().zip(&texts).zip(read) {
        assert_eq!(to_json(record), read, "{text}");
    }
}

#[test]
fn what_pyyaml_writes_is_read_here() {
    let Some(python) = python() else { return };
    let mut data: Vec<_> = random().iter().map(to_json).collect();
    data.extend(nasty().into_iter().map(|text| json!({ "task": text })));
    data.extend(nasty().into_iter().map(|text| json!({ text: [1] })));
    data.push(to_json(&Value::Map(nasty_record())));
    let written = ask(python, &json!({"do": "dump", "what": data}));
    for written in written {
        let text = written["text"].as_str().unwrap();
        let read = yaml::read(text).unwrap_or_else(|error| panic!("{error}\n{text:?}"));
        assert_eq!(to_json(&read), written["again"], "{text:?}");
    }
}

#[test]
fn words_mean_the_same_here_and_to_pyyaml() {
    let Some(python) = python() else { return };
    let words = [
        "yes",
        "No",
        "ON",
        "off",
        "true",
        "y",
        "n",
        "~",
        "null",
        "",
        "12",
        "012",
        "0x1f",
        "0b11",
        "1_000",
        "1:30",
        "-1:30",
        "1.5",
        "1.",
        "1e3",
        "1.0e+3",
        "-.5",
        ".5",
        "0o7",
        "089",
        "2026-04-22",
        "0.1",
        "+5",
        "1:60",
        "190:20:30",
        "190:20:30.15",
        "-0",
        "0_1",
        "nan",
        "2026-04-22x",
        "a b",
        "0",
        "1__0",
        "6.8523e+5",
    ];
    let texts: Vec<String> = words.iter().map(|word| format!("a: {word}\n")).collect();
    let read = ask(python, &json!({"do": "load", "what": texts}));
    for (text, read) in texts.iter().zip(read) {
        assert_eq!(to_json(&yaml::read(text).unwrap()), read, "{text}");
    }
}
