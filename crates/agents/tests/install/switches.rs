//! What else decides whether an agent calls us: approvals, trust, switches.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use herma_agents::install::switches::{Files, Question, Verdict};
use herma_agents::install::{HookCommand, Scope};
use herma_agents::{Agent, judge};

use super::{command, installed, other_command, places, target};

const HOOKS: &str = "/home/user/.codex/hooks.json";
const CONFIG: &str = "/home/user/.codex/config.toml";
const PROJECT: &str = "/home/user/project";

/// What Codex 0.166 itself wrote when it was asked to approve [`command`], in a home of its own.
const APPROVED: [(&str, &str); 6] = [
    ("post_tool_use:0:0", "04f1dd8be9eeeaba5918c3ca44478a54e0c44d67539bf640f30681e06ccfc289"),
    ("pre_tool_use:0:0", "fe1f34ff5719d4ccea034d0785611fc03f5bc60a98153c3844b39d5f2081c5d1"),
    ("session_end:0:0", "efaee9b0284a38881719031808c14583c09f8c783b23e501beba61ac968387f9"),
    ("session_start:0:0", "6c71b83ad72c1d13708aef9bc2501604d8f7b5f5c2f62a2fce342bb38d136be3"),
    ("stop:0:0", "db4b9dd0b1ec2da138fff713399ddb8f363db6e7999dc796eec9f5cd8a2fa912"),
    ("user_prompt_submit:0:0", "3f256f496de97d8c839a89b7f08cb1506a6de8a98224cd5038d47473b04d4322"),
];

/// Files that are not on a disk, and links to directories.
#[derive(Clone, Default)]
struct Fake {
    files: BTreeMap<PathBuf, String>,
    links: BTreeMap<PathBuf, PathBuf>,
}

impl Fake {
    fn with(mut self, path: &str, text: impl Into<String>) -> Self {
        self.files.insert(path.into(), text.into());
        self
    }
}

impl Files for Fake {
    fn read(&self, path: &Path) -> Result<Option<Vec<u8>>, String> {
        match self.files.get(path).map(String::as_str) {
            Some("unreadable") => Err("may not be read".to_owned()),
            text => Ok(text.map(|text| text.as_bytes().to_vec())),
        }
    }

    fn real(&self, path: &Path) -> PathBuf {
        let link = self.links.get(path);
        link.cloned().unwrap_or_else(|| path.to_owned())
    }
}

fn approvals(file: &str) -> String {
    let one = |(place, hash): (&str, &str)| {
        format!("[hooks.state.\"{file}:{place}\"]\ntrusted_hash = \"sha256:{hash}\"\n\n")
    };
    format!("[hooks.state]\n\n{}", APPROVED.map(one).concat())
}

fn codex(hooks: String, config: &str) -> Verdict {
    let files = Fake::default().with(HOOKS, hooks).with(CONFIG, config);
    ask(Agent::Codex, &files, &Scope::User, HOOKS)
}

fn ask(agent: Agent, files: &Fake, scope: &Scope, hooks_file: &str) -> Verdict {
    let question = Question {
        agent,
        places: &places(),
        scope,
        hooks_file: Path::new(hooks_file),
        command: &command(),
        directory: Path::new(PROJECT),
    };
    judge(&question, files)
}

fn hooks(before: Option<&str>, command: &HookCommand) -> String {
    installed(&target(Agent::Codex), before, command)
}

#[test]
fn codex_trusts_what_it_approved_itself_and_nothing_else() {
    let config = approvals(HOOKS);
    assert_eq!(codex(hooks(None, &command()), &config), Verdict::Fine);
    assert_eq!(codex(hooks(None, &other_command()), &config), Verdict::NotApprovedAnyMore);
    let elsewhere = approvals("/home/user/other/hooks.json");
    assert_eq!(codex(hooks(None, &command()), &elsewhere), Verdict::NotApproved);
    assert_eq!(codex(hooks(None, &command()), ""), Verdict::NotApproved);
    let slower = hooks(None, &command()).replace("\"timeout\": 20", "\"timeout\": 21");
    assert_eq!(codex(slower, &config), Verdict::NotApprovedAnyMore);
}

#[test]
fn one_missing_approval_is_enough() {
    for (place, _) in APPROVED {
        let config = approvals(HOOKS).replace(place, "other_event:0:0");
        let verdict = codex(hooks(None, &command()), &config);
        assert_eq!(verdict, Verdict::NotApproved, "{place}");
    }
}

/// Codex knows entries by their place: ours behind one of the user's is another entry to it.
#[test]
fn an_approval_holds_for_a_place() {
    let theirs = r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "theirs"}]}]}}"#;
    let second = hooks(Some(theirs), &command());
    let config = approvals(HOOKS);
    assert_eq!(codex(second.clone(), &config), Verdict::NotApproved);
    let config = config.replace("stop:0:0", "stop:1:0");
    assert_eq!(codex(second, &config), Verdict::Fine);
}

#[test]
fn approvals_are_read_in_every_form_that_toml_has() {
    let table = approvals(HOOKS);
    let inline = table.replace("\n\n", "\n").replace("[hooks.state]\n", "");
    let inline: Vec<String> = inline
        .lines()
        .collect::<Vec<_>>()
        .chunks(2)
        .filter_map(|pair| {
            let key = pair[0].strip_prefix("[hooks.state.")?.strip_suffix(']')?;
            Some(format!("{key} = {{ {} }}", pair[1]))
        })
        .collect();
    assert_eq!(inline.len(), 6);
    let inline = format!("hooks.state = {{ {} }}\n", inline.join(", "));
    assert_eq!(codex(hooks(None, &command()), &inline), Verdict::Fine);
    let off = format!("features.hooks = false\n{table}");
    let verdict = codex(hooks(None, &command()), &off);
    assert_eq!(verdict, Verdict::Off("features.hooks".to_owned()));
    let one_off = table.replacen("\ntrusted_hash", "\nenabled = false\ntrusted_hash", 1);
    let verdict = codex(hooks(None, &command()), &one_off);
    assert!(matches!(verdict, Verdict::Off(_)), "{verdict:?}");
}

#[test]
fn an_unknown_form_is_not_called_fine() {
    let known = approvals(HOOKS);
    let unknown = [
        known.replace("sha256:", "blake3:"),
        known.replace("trusted_hash", "trusted_hash_2"),
        known.replacen("\ntrusted_hash", "\nnew_rule = 1\ntrusted_hash", 1),
        known.replace(":0:0\"", "#0\""),
        "[hooks]\nstate = 3\n".to_owned(),
        "[hooks\n".to_owned(),
        format!("deep = {}", "[".repeat(200_000)),
        format!("[{}]", vec!["a"; 100_000].join(".")),
        "unreadable".to_owned(),
    ];
    for config in unknown {
        let verdict = codex(hooks(None, &command()), &config);
        let is_told = matches!(verdict, Verdict::CannotTell(_));
        assert!(is_told, "{verdict:?}\n{config}");
    }
    let new_key = hooks(None, &command()).replace("\"timeout\"", "\"new\": 1, \"timeout\"");
    let verdict = codex(new_key, &known);
    assert!(matches!(verdict, Verdict::CannotTell(_)), "{verdict:?}");
}

#[test]
fn codex_follows_the_links_of_its_own_variable_only() {
    let mut places = places();
    places.variables = vec![("CODEX_HOME", "/link".into())];
    let mut files = Fake::default()
        .with("/link/hooks.json", hooks(None, &command()))
        .with("/link/config.toml", approvals("/data/codex/hooks.json"));
    files.links.insert("/link".into(), "/data/codex".into());
    let question = Question {
        agent: Agent::Codex,
        places: &places,
        scope: &Scope::User,
        hooks_file: Path::new("/link/hooks.json"),
        command: &command(),
        directory: Path::new(PROJECT),
    };
    assert_eq!(judge(&question, &files), Verdict::Fine);
}

#[test]
fn hooks_of_a_project_need_trust_in_the_project_too() {
    let file = "/home/user/project/.codex/hooks.json";
    let scope = Scope::Project(PROJECT.into());
    let verdict = |projects: &str| {
        let files = Fake::default()
            .with(file, hooks(None, &command()))
            .with(CONFIG, format!("{}{projects}", approvals(file)));
        ask(Agent::Codex, &files, &scope, file)
    };
    let trust =
        |path: &str, level: &str| format!("[projects.\"{path}\"]\ntrust_level = \"{level}\"\n");
    assert_eq!(verdict(""), Verdict::NotTrusted);
    assert_eq!(verdict(&trust(PROJECT, "untrusted")), Verdict::NotTrusted);
    assert_eq!(verdict(&trust(PROJECT, "trusted")), Verdict::Fine);
    let around = verdict(&trust("/home/user", "trusted"));
    assert!(matches!(around, Verdict::CannotTell(_)), "{around:?}");
}

const TRUSTED: &str = "/home/user/.gemini/trustedFolders.json";
const SETTINGS: &str = "/home/user/.gemini/settings.json";
const EXTENSIONS: &str = "/home/user/.gemini/extensions/extension-enablement.json";

fn gemini(files: &Fake) -> Verdict {
    let hooks = "/home/user/.gemini/extensions/herma/hooks/hooks.json";
    ask(Agent::Gemini, files, &Scope::User, hooks)
}

#[test]
fn gemini_trusts_folders_as_the_longest_rule_says() {
    let cases = [
        ("{}", Verdict::WillAsk),
        (r#"{"/home/user/project": "TRUST_FOLDER"} // mine"#, Verdict::Fine),
        (r#"{"/home/user/project": "DO_NOT_TRUST"}"#, Verdict::NotTrusted),
        (r#"{"/home/user/project": "TRUST_FOLDER", "/home/user": "DO_NOT_TRUST"}"#, Verdict::Fine),
        (
            r#"{"/home/user/project": "DO_NOT_TRUST", "/home/user": "TRUST_FOLDER"}"#,
            Verdict::NotTrusted,
        ),
        (r#"{"/home/user/proj": "TRUST_FOLDER"}"#, Verdict::WillAsk),
        (r#"{"/home/user/neighbour": "TRUST_PARENT"}"#, Verdict::Fine),
        (r#"{"/elsewhere/x": "TRUST_PARENT"}"#, Verdict::WillAsk),
    ];
    for (rules, expected) in cases {
        let files = Fake::default().with(TRUSTED, rules);
        assert_eq!(gemini(&files), expected, "{rules}");
    }
    assert_eq!(gemini(&Fake::default()), Verdict::WillAsk);
}

#[test]
fn gemini_without_folder_trust_trusts_everything() {
    let distrusted = Fake::default().with(TRUSTED, r#"{"/home/user": "DO_NOT_TRUST"}"#);
    let off = r#"{"security": {"folderTrust": {"enabled": false}}}"#;
    let on = off.replace("false", "true");
    assert_eq!(gemini(&distrusted.clone().with(SETTINGS, off)), Verdict::Fine);
    assert_eq!(gemini(&distrusted.with(SETTINGS, on)), Verdict::NotTrusted);
}

#[test]
fn a_link_does_not_hide_what_gemini_distrusts() {
    let mut files = Fake::default().with(TRUSTED, r#"{"/link": "DO_NOT_TRUST"}"#);
    files.links.insert("/link".into(), PROJECT.into());
    assert_eq!(gemini(&files), Verdict::NotTrusted);
}

#[test]
fn what_gemini_could_not_read_either_is_not_called_fine() {
    for rules in [r#"{"/home/user": "TRUST_ALL"}"#, "[]", "{", "unreadable"] {
        let verdict = gemini(&Fake::default().with(TRUSTED, rules));
        assert!(matches!(verdict, Verdict::CannotTell(_)), "{rules}: {verdict:?}");
    }
}

#[test]
fn the_last_rule_that_matches_disables_the_extension() {
    let trusted = Fake::default().with(TRUSTED, r#"{"/home/user": "TRUST_FOLDER"}"#);
    let cases = [
        (r#"["!/home/user/*"]"#, Verdict::ExtensionOff),
        (r#"["!/home/user/project/*"]"#, Verdict::ExtensionOff),
        (r#"["!/home/user/project/"]"#, Verdict::ExtensionOff),
        (r#"["!/*"]"#, Verdict::ExtensionOff),
        (r#"["!/home/user/"]"#, Verdict::Fine),
        (r#"["!/home/user/proj/*"]"#, Verdict::Fine),
        (r#"["!/home/user/*", "/home/user/project/*"]"#, Verdict::Fine),
        (r#"["/home/user/project/*", "!/home/user/*"]"#, Verdict::ExtensionOff),
        ("[]", Verdict::Fine),
    ];
    for (rules, expected) in cases {
        let text = format!(r#"{{"herma": {{"overrides": {rules}}}}}"#);
        assert_eq!(gemini(&trusted.clone().with(EXTENSIONS, text)), expected, "{rules}");
    }
    let other = r#"{"other": {"overrides": ["!/*"]}}"#;
    assert_eq!(gemini(&trusted.with(EXTENSIONS, other)), Verdict::Fine);
}

#[test]
fn a_switch_in_the_project_counts_too() {
    let hooks = "/home/user/.claude/settings.json";
    let files = Fake::default()
        .with("/home/user/project/.claude/settings.local.json", r#"{"disableAllHooks": true}"#);
    let verdict = ask(Agent::Claude, &files, &Scope::User, hooks);
    assert_eq!(verdict, Verdict::Off("disableAllHooks".to_owned()));
    let nothing = Fake::default();
    assert_eq!(ask(Agent::Claude, &nothing, &Scope::User, hooks), Verdict::Fine);
}

#[test]
fn hooks_that_droid_moved_count_before_those_of_its_settings() {
    let settings = "/home/user/.factory/settings.json";
    let moved = "/home/user/.factory/hooks.json";
    let verdict = |files: &Fake| ask(Agent::Droid, files, &Scope::User, settings);
    let nothing = Fake::default();
    assert_eq!(verdict(&nothing), Verdict::Fine);
    let theirs = r#"[{"hooks": [{"type": "command", "command": "./audit.sh"}]}]"#;
    for hooks in [
        format!(r#"{{"PreToolUse": {theirs}}}"#),
        format!(r#"{{"hooks": {{"PreToolUse": {theirs}}}}}"#),
    ] {
        assert_eq!(
            verdict(&nothing.clone().with(moved, hooks)),
            Verdict::Off("hooks.json".to_owned())
        );
    }
    let other = format!(r#"{{"hooks": {{"Stop": {theirs}}}}}"#);
    assert_eq!(verdict(&nothing.clone().with(moved, other)), Verdict::Fine);
    let ours = installed(&target(Agent::Droid), None, &command());
    assert_eq!(verdict(&nothing.with(moved, ours)), Verdict::Fine);
}
