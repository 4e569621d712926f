//! Conversations are cut as the agents' own records have them; whatever stands in those.
//!
//! `records/` are from real runs (`cargo xtask e2e`), with every text shortened and every path replaced.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests prepare files with std, and fail where one is missing"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use herma_chats::{Call, CallEnd, Chat, Cut, Error, Places, Written, end_of, tells_ends};
use herma_testkit::random::Random;
use serde_json::{Value, json};

/// A record of an agent, in a home of its own.
struct Home {
    place: tempfile::TempDir,
    agent: Agent,
}

/// What is known of the record of an agent.
#[derive(Clone, Copy)]
struct Agent {
    word: &'static str,
    session: &'static str,
    file: &'static str,
    text: &'static str,
    /// The third of four calls that changed something.
    call: &'static str,
    resume: &'static [&'static str],
    /// The second its step began in, and that it ended in.
    time: (i64, i64),
}

impl Agent {
    /// The call, as its hooks told of it.
    fn called(&self) -> Call<'static> {
        Call {
            session: self.session,
            id: self.call,
            sub_agent: None,
            tool: "run_shell_command",
            argument: Some("rm removed.txt && echo side > side.txt"),
            began: self.time.0,
            ended: Some(self.time.1),
        }
    }
}

const CLAUDE: Agent = Agent {
    word: "claude",
    session: "37b1f8bc-c186-483c-904f-b8c6b747c8dc",
    file: ".claude/projects/-home-you-shop/37b1f8bc-c186-483c-904f-b8c6b747c8dc.jsonl",
    text: include_str!("records/claude.jsonl"),
    call: "toolu_fake000007",
    resume: &["claude", "--resume"],
    time: (0, 0),
};

const CODEX: Agent = Agent {
    word: "codex",
    session: "01a1f39a-28dd-7042-b5ae-6908f283233b",
    file: ".codex/sessions/2026/11/19/rollout-2026-11-19T11-38-48-01a1f39a-28dd-7042-b5ae-6908f283233b.jsonl",
    text: include_str!("records/codex.jsonl"),
    call: "call_000008",
    resume: &["codex", "resume"],
    time: (0, 0),
};

const GEMINI: Agent = Agent {
    word: "gemini",
    session: "ec332ca2-1939-4fa1-ac12-9cc2472707d5",
    file: ".gemini/tmp/shop/chats/session-2026-11-19T11-39-ec332ca2.jsonl",
    text: include_str!("records/gemini.jsonl"),
    call: "run_shell_command__fc_000007",
    resume: &["gemini", "--resume"],
    time: (1_795_088_341, 1_795_088_342),
};

const QWEN: Agent = Agent {
    word: "qwen",
    session: "d69f31ec-3ec0-473b-bcdd-f203df98d2b8",
    file: ".qwen/projects/-home-you-shop/chats/d69f31ec-3ec0-473b-bcdd-f203df98d2b8.jsonl",
    text: include_str!("records/qwen.jsonl"),
    call: "call_000007",
    resume: &["qwen", "--resume"],
    time: (1_795_088_362, 1_795_088_362),
};

const ALL: [Agent; 4] = [CLAUDE, CODEX, GEMINI, QWEN];

impl Home {
    fn new(agent: Agent) -> Self {
        Self::with(agent, agent.text.as_bytes())
    }

    fn with(agent: Agent, bytes: &[u8]) -> Self {
        let home = Self { place: tempfile::tempdir().unwrap(), agent };
        fs::create_dir_all(home.record().parent().unwrap()).unwrap();
        fs::write(home.record(), bytes).unwrap();
        home
    }

    fn record(&self) -> PathBuf {
        self.place.path().join(self.agent.file)
    }

    fn plan(&self, cut: Cut) -> Result<Chat, Error> {
        self.plan_at(self.agent.called(), cut)
    }

    fn plan_at(&self, call: Call<'_>, cut: Cut) -> Result<Chat, Error> {
        Chat::plan(self.agent.word, Places { home: self.place.path(), variables: &[] }, call, cut)
    }

    /// The files beside the record, without it.
    fn others(&self) -> Vec<PathBuf> {
        let listed = fs::read_dir(self.record().parent().unwrap()).unwrap();
        listed.map(|entry| entry.unwrap().path()).filter(|path| *path != self.record()).collect()
    }

    /// Writes a new session; what is in it.
    fn write(&self, cut: Cut) -> (Written, String) {
        let written = self.plan(cut).unwrap().write(1_795_088_321_674).unwrap();
        let others = self.others();
        assert_eq!(others.len(), 1, "{others:?}");
        let is_named = |end: &str| others[0].to_str().unwrap().ends_with(&format!("{end}.jsonl"));
        assert!(is_named(&written.session) || is_named(&written.session[..8]), "{others:?}");
        assert_eq!(fs::metadata(&others[0]).unwrap().permissions().mode() & 0o777, 0o600);
        let text = fs::read_to_string(&others[0]).unwrap();
        (written, text)
    }
}

#[test]
fn a_new_session_has_the_old_ones_lines_under_its_own_id_and_the_old_one_stays() {
    for agent in ALL {
        for cut in [Cut::BeforeMessage, Cut::AfterResult] {
            let home = Home::new(agent);
            let (written, text) = home.write(cut);
            assert_eq!(fs::read_to_string(home.record()).unwrap(), agent.text);
            assert_eq!(written.command, [agent.resume, &[&written.session]].concat());
            let directory = (agent.word != "gemini").then_some(Path::new("/home/you/shop"));
            assert_eq!(written.directory.as_deref(), directory);
            assert!(!text.contains(&format!("\"{}\"", agent.session)), "{}", agent.word);
            let name = home.others()[0].file_name().unwrap().to_str().unwrap().to_owned();
            assert_eq!(name.len(), home.record().file_name().unwrap().len());
            let old = text.replace(&written.session, agent.session);
            let mut rest = agent.text.lines();
            for line in old.lines() {
                assert!(rest.any(|other| other == line), "{}: {line}", agent.word);
            }
        }
    }
}

#[test]
fn it_ends_before_the_message_or_with_the_result() {
    for agent in ALL {
        let (_, before) = Home::new(agent).write(Cut::BeforeMessage);
        assert!(!before.contains(agent.call), "{}", agent.word);
        assert!(before.contains("edited."), "{}: what was done before stays", agent.word);
        let (_, after) = Home::new(agent).write(Cut::AfterResult);
        let last = after.lines().last().unwrap();
        assert!(last.contains(agent.call), "{}: {last}", agent.word);
    }
}

#[test]
fn before_its_first_prompt_nothing_is_left_of_a_conversation() {
    for agent in ALL {
        let chat = Home::new(agent).plan(Cut::BeforePrompt).unwrap();
        assert_eq!(chat.kept(), 0, "{}", agent.word);
        assert!(chat.cut() > 9, "{}", agent.word);
    }
}

#[test]
fn no_call_stays_without_its_result() {
    // Claude Code: two calls of one message, the second of which was over first.
    let line = |id: &str, parent: &str, kind: &str, message: &str| {
        let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
        format!(
            "{{\"uuid\":\"{id}\",\"parentUuid\":{parent},\"type\":\"{kind}\",\"version\":\"2.1.0\",\
             \"sessionId\":\"s-1\",\"message\":{message}}}\n"
        )
    };
    let call = |id: &str| {
        format!("{{\"id\":\"m-1\",\"content\":[{{\"type\":\"tool_use\",\"id\":\"{id}\"}}]}}")
    };
    let result = |id: &str| {
        format!("{{\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"{id}\"}}]}}")
    };
    let text = [
        line("1", "", "user", "{\"content\":\"do both\"}"),
        line("2", "1", "assistant", &call("c-1")),
        line("3", "2", "assistant", &call("c-2")),
        line("4", "3", "user", &result("c-2")),
        line("5", "2", "user", &result("c-1")),
        line("6", "4", "assistant", "{\"id\":\"m-2\",\"content\":[{\"type\":\"text\"}]}"),
    ];
    let agent = Agent { session: "s-1", file: ".claude/projects/p/s-1.jsonl", ..CLAUDE };
    let kept = |call: &str, cut| {
        let home = Home::with(agent, text.concat().as_bytes());
        let call = Call { session: "s-1", id: call, ..Call::default() };
        home.plan_at(call, cut).unwrap().write(0).unwrap();
        let ids = fs::read_to_string(&home.others()[0]).unwrap();
        let id = |line: &str| serde_json::from_str::<Value>(line).unwrap()["uuid"].to_string();
        ids.lines().map(|line| id(line).replace('"', "")).collect::<String>()
    };
    assert_eq!(kept("c-2", Cut::AfterResult), "1", "the other call has no result by then");
    assert_eq!(kept("c-1", Cut::AfterResult), "125", "the other call hangs beside it");
    assert_eq!(kept("c-2", Cut::BeforeMessage), "1");
}

#[test]
fn another_branch_is_left_out() {
    let prompts = CLAUDE.text.lines().filter(|line| line.contains("\"type\":\"user\""));
    let prompt = prompts.clone().next().unwrap();
    let other = prompt
        .replace("63e753be-2f36-49a0-a4cf-1080fe8bde9b", "aaaaaaaa-0000-4000-8000-000000000000");
    assert_ne!(prompt, other);
    let text = CLAUDE.text.replacen(prompt, &format!("{prompt}\n{other}"), 1);
    let home = Home::with(CLAUDE, text.as_bytes());
    let (_, kept) = home.write(Cut::AfterResult);
    assert!(!kept.contains("aaaaaaaa"), "{kept}");
}

#[test]
fn versions_and_records_that_are_not_known_are_refused_by_name() {
    let refused = |agent: Agent, from: &str, to: &str| {
        let home = Home::with(agent, agent.text.replace(from, to).as_bytes());
        let error = home.plan(Cut::BeforeMessage).unwrap_err().to_string();
        assert!(home.others().is_empty());
        error
    };
    let error = refused(CLAUDE, "\"version\":\"2.1.325\"", "\"version\":\"3.0.0\"");
    assert_eq!(error, "Claude Code 3.0.0 wrote this record, in a format not known here");
    let error = refused(CLAUDE, "\"type\":\"attachment\",\"uuid\"", "\"type\":\"epoch\",\"uuid\"");
    assert!(error.ends_with("not known here: epoch"), "{error}");
    let error = refused(QWEN, "\"version\":\"0.24.4\"", "\"version\":\"1.0.0\"");
    assert_eq!(error, "Qwen Code 1.0.0 wrote this record, in a format not known here");
    let error = refused(GEMINI, "\"type\":\"gemini\"", "\"type\":\"epoch\"");
    assert!(error.ends_with("not known here: epoch"), "{error}");
    let error = refused(CODEX, "\"cli_version\":\"0.166.0\"", "\"cli_version\":\"1.0.0\"");
    assert_eq!(error, "Codex CLI 1.0.0 wrote this record, in a format not known here");
    let error = refused(CODEX, "\"type\":\"world_state\"", "\"type\":\"epoch\"");
    assert!(error.ends_with("not known here: epoch"), "{error}");
}

#[test]
fn what_is_not_there_is_said() {
    for agent in ALL {
        let home = Home::new(agent);
        let plan = |session, id, sub_agent| {
            let call = Call { session, id, sub_agent, tool: id, ..agent.called() };
            home.plan_at(call, Cut::AfterResult).unwrap_err()
        };
        assert!(matches!(plan(agent.session, "c-0", None), Error::NoCall { .. }));
        assert!(matches!(plan(agent.session, agent.call, Some("a-1")), Error::NoCall { .. }));
        assert!(matches!(plan("s-2", agent.call, None), Error::NoRecord { .. }));
        for strange in ["", "../x", "a/b", "x\0"] {
            assert!(matches!(plan(strange, agent.call, None), Error::StrangeSession));
        }
    }
    let nobody = Places { home: Path::new("/nowhere"), variables: &[] };
    let error = Chat::plan("crush", nobody, Call::default(), Cut::AfterResult).unwrap_err();
    assert!(matches!(error, Error::UnknownAgent(_)));
    let call = Call { session: "s-1", ..Call::default() };
    let error = Chat::plan("claude", nobody, call, Cut::AfterResult).unwrap_err();
    assert!(matches!(error, Error::NoRecord { .. }));
}

#[test]
fn a_sub_agents_change_is_cut_at_the_call_that_started_it() {
    let home = Home::new(CLAUDE);
    let own = home.record().with_extension("").join("subagents");
    fs::create_dir_all(&own).unwrap();
    let about = format!("{{\"agentType\":\"x\",\"toolUseId\":\"{}\"}}", CLAUDE.call);
    fs::write(own.join("agent-a1.meta.json"), about).unwrap();
    let call = Call {
        session: CLAUDE.session,
        id: "toolu_inner",
        sub_agent: Some("a1"),
        ..Call::default()
    };
    let found = home.plan_at(call, Cut::AfterResult).unwrap();
    assert_eq!(found.kept(), home.plan(Cut::BeforeMessage).unwrap().kept());
}

/// OpenCode's or Kilo's database with a prompt, a message with two calls, and one without.
fn database(word: &str, version: &str, newest: &str) -> (tempfile::TempDir, rusqlite::Connection) {
    let home = tempfile::tempdir().unwrap();
    let place = home.path().join(".local/share").join(word);
    fs::create_dir_all(&place).unwrap();
    let database = rusqlite::Connection::open(place.join(format!("{word}.db"))).unwrap();
    let columns = "project_id, workspace_id, directory, path, title, version, summary_additions, summary_deletions, \
        summary_files, metadata, permission, agent, model, time_created";
    let message = |number: u64, data: &str| {
        format!(
            "INSERT INTO message VALUES ('{}', '{SESSION}', {number}, {number}, '{data}');",
            id("msg", number)
        )
    };
    let part = |number: u64, of: u64, data: &str| {
        let (id, of) = (id("prt", number), id("msg", of));
        format!(
            "INSERT INTO part VALUES ('{id}', '{of}', '{SESSION}', {number}, {number}, '{data}');"
        )
    };
    let call = |call: &str| {
        format!(
            "{{\"type\":\"tool\",\"callID\":\"{call}\",\"state\":{{\"status\":\"completed\"}}}}"
        )
    };
    let answers = format!("{{\"role\":\"assistant\",\"parentID\":\"{}\"}}", id("msg", 1));
    let all = [
        format!("CREATE TABLE session (id TEXT PRIMARY KEY, slug TEXT, time_updated, {columns});"),
        "CREATE TABLE message (id TEXT PRIMARY KEY, session_id, time_created, time_updated, data);".into(),
        "CREATE TABLE part (id TEXT PRIMARY KEY, message_id, session_id, time_created, time_updated, data);".into(),
        format!("CREATE TABLE migration (id); INSERT INTO migration VALUES ('{newest}');"),
        format!("INSERT INTO session (id, directory, version) VALUES ('{SESSION}', '/home/you/shop', '{version}');"),
        message(1, "{\"role\":\"user\"}"),
        part(1, 1, "{\"type\":\"text\",\"text\":\"do both\"}"),
        message(2, &answers),
        part(2, 2, &call("c-1")),
        part(3, 2, &call("c-2")),
        message(3, &answers),
        part(4, 3, "{\"type\":\"text\",\"text\":\"done\"}"),
    ];
    database.execute_batch(&all.concat()).unwrap();
    (home, database)
}

const SESSION: &str = "ses_0123456789abABCDEFGHIJKLMN";

fn id(kind: &str, number: u64) -> String {
    format!("{kind}_{number:012x}ABCDEFGHIJKLMN")
}

fn rows(database: &rusqlite::Connection, session: &str) -> Vec<String> {
    let sql = "SELECT m.data || p.data FROM message m JOIN part p ON p.message_id = m.id AND p.session_id = m.session_id
               WHERE m.session_id = ?1 ORDER BY m.id, p.id";
    let mut statement = database.prepare(sql).unwrap();
    statement.query_map([session], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn rows_are_copied_to_a_new_session_and_the_old_ones_stay() {
    for (word, version, call, cut, left) in [
        ("opencode", "1.18.33", "c-1", Cut::BeforePrompt, 0),
        ("opencode", "1.18.33", "c-2", Cut::BeforeMessage, 1),
        ("opencode", "1.18.33", "c-1", Cut::AfterResult, 2),
        ("kilo", "7.7.7", "c-2", Cut::AfterResult, 3),
    ] {
        let (home, database) = database(word, version, "20260127222353_familiar_lady_ursula");
        let before = rows(&database, SESSION);
        let places = Places { home: home.path(), variables: &[] };
        let call = Call { session: SESSION, id: call, ..Call::default() };
        let chat = Chat::plan(word, places, call, cut).unwrap();
        let written = chat.write(0).unwrap();
        assert_eq!(rows(&database, SESSION), before);
        let new = rows(&database, &written.session);
        assert_eq!(new.len(), left, "{cut:?}");
        assert!(new.iter().all(|row| !row.contains(&id("msg", 1))), "{new:?}");
        assert_eq!(written.command, [word, "--session", &written.session]);
    }
}

#[test]
fn a_database_that_is_not_known_is_refused_by_name_and_stays() {
    for (word, title, version, newest) in [
        ("opencode", "OpenCode", "2.0.0", "2026"),
        ("opencode", "OpenCode", "1.19.0", "20990101000000_later"),
        ("kilo", "Kilo CLI", "1.19.0", "2026"),
        ("kilo", "Kilo CLI", "7.8.0", "20990101000000_later"),
    ] {
        let (home, database) = database(word, version, newest);
        let places = Places { home: home.path(), variables: &[] };
        let call = Call { session: SESSION, id: "c-1", ..Call::default() };
        let error = Chat::plan(word, places, call, Cut::AfterResult).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("{title} {version} wrote this record, in a format not known here")
        );
        assert_eq!(database.query_row("SELECT count(*) FROM session", [], |row| row.get(0)), Ok(1));
    }
}

const COPILOT: &str = include_str!("records/copilot.jsonl");
const COPILOT_SESSION: &str = "7f26ab16-3356-456f-a8a8-aee3f26ccb61";

/// A home with this record of Copilot CLI.
fn copilot(text: &str) -> (tempfile::TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let sessions = home.path().join(".copilot/session-state");
    let own = sessions.join(COPILOT_SESSION);
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("events.jsonl"), text).unwrap();
    (home, sessions)
}

fn plan_copilot(home: &Path, cut: Cut) -> Result<Chat, Error> {
    let call = Call {
        session: COPILOT_SESSION,
        id: "~1",
        tool: "bash",
        argument: Some("rm b.txt && echo side > side.txt"),
        began: 1_795_131_502,
        ended: Some(1_795_131_504),
        ..Call::default()
    };
    Chat::plan("copilot", Places { home, variables: &[] }, call, cut)
}

#[test]
fn a_record_in_a_directory_of_its_own_gets_another_one() {
    for (cut, kept, last) in [
        (Cut::BeforePrompt, 0, "hook.end"),
        (Cut::BeforeMessage, 7, "session.usage_record"),
        (Cut::AfterResult, 9, "tool.execution_complete"),
    ] {
        let (home, sessions) = copilot(COPILOT);
        let chat = plan_copilot(home.path(), cut).unwrap();
        assert_eq!(chat.kept(), kept, "{cut:?}");
        let written = chat.write(0).unwrap();
        let read = |session: &str| fs::read_to_string(sessions.join(session).join("events.jsonl"));
        assert_eq!(read(COPILOT_SESSION).unwrap(), COPILOT);
        let new = read(&written.session).unwrap();
        let back = new.replace(&written.session, COPILOT_SESSION);
        assert!(COPILOT.starts_with(&back) && !new.contains(&format!("\"{COPILOT_SESSION}\"")));
        let last_line: Value = serde_json::from_str(new.lines().last().unwrap()).unwrap();
        assert_eq!(last_line["type"], last, "{cut:?}");
        assert_eq!(
            written.command,
            ["copilot".to_owned(), format!("--resume={}", written.session)]
        );
        assert_eq!(written.directory.as_deref(), Some(Path::new("/home/you/shop")));
        assert_eq!(fs::read_dir(&sessions).unwrap().count(), 2);
    }
}

#[test]
fn a_record_of_copilot_that_is_not_known_is_refused_by_name() {
    for (known, other, words) in [
        (
            "\"copilotVersion\":\"1.0.102\"",
            "\"copilotVersion\":\"2.0.0\"",
            "Copilot CLI 2.0.0 wrote",
        ),
        ("\"version\":1,", "\"version\":2,", "Copilot CLI 1.0.102 wrote"),
        ("session.start", "session.begin", "cannot be read at byte 0"),
    ] {
        let (home, sessions) = copilot(&COPILOT.replace(known, other));
        let error = plan_copilot(home.path(), Cut::AfterResult).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
        assert_eq!(fs::read_dir(&sessions).unwrap().count(), 1);
    }
    let (home, _) = copilot(COPILOT);
    fs::remove_dir_all(home.path().join(".copilot")).unwrap();
    assert!(matches!(plan_copilot(home.path(), Cut::AfterResult), Err(Error::NoRecord { .. })));
}

#[test]
fn a_call_of_codex_was_stopped_if_it_was_aborted_with_its_turn() {
    let line =
        |kind: &str, payload: Value| json!({"type": kind, "payload": payload}).to_string() + "\n";
    let event = |kind: &str| {
        line("event_msg", json!({"type": kind, "turn_id": "t", "reason": "interrupted"}))
    };
    let result = |id: &str, output: Value| {
        let payload = json!({"type": "function_call_output", "call_id": id, "output": output});
        line("response_item", payload)
    };
    let aborted = || result("c", json!("Wall time: 1.6 seconds\naborted by user"));
    let end = |text: String| {
        let home = Home::with(CODEX, text.as_bytes());
        let call = Call { id: "c", ..CODEX.called() };
        end_of("codex", Places { home: home.place.path(), variables: &[] }, call)
    };
    assert_eq!(end(aborted() + &event("turn_aborted")), Some(CallEnd::Stopped));
    for answered in [
        aborted(),
        aborted() + &event("task_complete") + &event("task_started") + &event("turn_aborted"),
        result("c", json!("aborted by user\nor not")) + &event("turn_aborted"),
        result("c", json!([{"text": "aborted by user"}])) + &event("turn_aborted"),
    ] {
        assert_eq!(end(answered.clone()), Some(CallEnd::Answered), "{answered}");
    }
    assert_eq!(end(result("d", json!("aborted by user")) + &event("turn_aborted")), None);
}

#[test]
fn a_call_of_copilot_was_refused_if_permission_was_asked_for_and_not_given() {
    let line = |kind: &str, second: u32, data: Value| {
        let time = format!("2026-11-19T23:52:{second:02}.625Z");
        json!({"type": kind, "id": "e", "timestamp": time, "data": data}).to_string() + "\n"
    };
    let starts = |id: &str, second| {
        let arguments = json!({"command": "rm b.txt && echo side > side.txt", "description": "x"});
        let data = json!({"toolCallId": id, "toolName": "bash", "arguments": arguments});
        line("tool.execution_start", second, data)
    };
    let asked = |id: &str, kind: &str| {
        let data = json!({"toolCallId": id, "result": {"kind": kind, "reason": "Session aborted"}});
        line("permission.completed", 43, data)
    };
    let answered = |id: &str| {
        line("tool.execution_complete", 44, json!({"toolCallId": id, "result": {"content": ""}}))
    };
    let end = |text: String| {
        let (home, _) = copilot(&text);
        let call = Call {
            session: COPILOT_SESSION,
            tool: "bash",
            argument: Some("rm b.txt && echo side > side.txt"),
            began: 1_795_132_361,
            ..Call::default()
        };
        end_of("copilot", Places { home: home.path(), variables: &[] }, call)
    };
    assert!(tells_ends("copilot"));
    for kind in ["cancelled", "denied-interactively-by-user"] {
        assert_eq!(end(starts("c", 41) + &asked("c", kind)), Some(CallEnd::Refused));
    }
    for other in [
        starts("c", 41),
        starts("c", 41) + &asked("c", "approved"),
        starts("c", 41) + &asked("d", "cancelled"),
        starts("c", 41) + &asked("c", "cancelled") + &answered("c"),
        // It began later than the call that is asked for.
        starts("c", 50) + &asked("c", "cancelled"),
        // Two of the same at once.
        starts("b", 40) + &starts("c", 41) + &asked("c", "cancelled"),
        asked("c", "cancelled") + "{\"type\":\"tool.execution_start\",\"data\":7}\n",
    ] {
        assert_eq!(end(other.clone()), None, "{other}");
    }
    let earlier = starts("b", 20) + &answered("b");
    assert_eq!(end(earlier + &starts("c", 41) + &asked("c", "cancelled")), Some(CallEnd::Refused));
}

/// A home with a database of Goose: a prompt, three calls, the last two of them at once.
fn goose(schema: u32) -> (tempfile::TempDir, rusqlite::Connection) {
    let home = tempfile::tempdir().unwrap();
    let place = home.path().join(".local/share/goose/sessions");
    fs::create_dir_all(&place).unwrap();
    let database = rusqlite::Connection::open(place.join("sessions.db")).unwrap();
    let columns = "name, description, user_set_name, session_type, working_dir, created_at, updated_at, \
        extension_data, recipe_json, user_recipe_values_json, provider_name, model_config_json, goose_mode, \
        project_id, accumulated_cost, archived_at";
    let all = format!(
        "CREATE TABLE schema_version (version INTEGER); INSERT INTO schema_version VALUES (1), ({schema});
         CREATE TABLE sessions (id TEXT PRIMARY KEY, {columns});
         CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id, session_id, role,
             content_json, created_timestamp, timestamp, tokens, metadata_json);
         INSERT INTO sessions (id, name, working_dir, accumulated_cost)
             VALUES ('20261119_1', 'shop', '/home/you/shop', 3), ('20261119_12', 'other', '/', 0);"
    );
    database.execute_batch(&all).unwrap();
    let asks = |id: &str| format!(r#"{{"type":"toolRequest","id":"{id}","toolCall":{{}}}}"#);
    let tells = |id: &str| format!(r#"{{"type":"toolResponse","id":"{id}","toolResult":{{}}}}"#);
    let text = r#"{"type":"text","text":"x"}"#.to_owned();
    for (at, (id, role, parts, visible)) in [
        ("m-1", "user", text.clone(), true),
        ("m-2", "user", text.clone(), false),
        ("m-3", "assistant", asks("c-1"), true),
        ("m-4", "user", tells("c-1"), true),
        ("m-5", "assistant", text.clone(), true),
        ("m-5", "assistant", [asks("c-2"), asks("c-3")].join(","), true),
        ("m-6", "user", tells("c-2"), true),
        ("m-7", "user", tells("c-3"), true),
        ("m-8", "assistant", text.clone(), true),
    ]
    .into_iter()
    .zip(0..)
    .map(|(row, at): (_, i64)| (at, row))
    {
        let sql = "INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp, metadata_json)
                   VALUES (?1, '20261119_1', ?2, ?3, ?4, ?5)";
        let about = format!("{{\"userVisible\":{visible}}}");
        database.execute(sql, (id, role, format!("[{parts}]"), at, about)).unwrap();
    }
    (home, database)
}

#[test]
fn messages_of_goose_are_copied_to_a_session_of_today_and_the_old_ones_stay() {
    let rows = |database: &rusqlite::Connection, session: &str| -> Vec<String> {
        let sql =
            "SELECT message_id || content_json FROM messages WHERE session_id = ?1 ORDER BY id";
        let mut statement = database.prepare(sql).unwrap();
        statement.query_map([session], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    for (call, cut, left) in [
        ("c-1", Cut::BeforePrompt, 0),
        ("c-1", Cut::BeforeMessage, 2),
        ("c-1", Cut::AfterResult, 4),
        ("c-2", Cut::BeforeMessage, 4),
        // The other call of the message has no result then.
        ("c-2", Cut::AfterResult, 4),
        ("c-3", Cut::AfterResult, 8),
    ] {
        let (home, database) = goose(16);
        let before = rows(&database, "20261119_1");
        let places = Places { home: home.path(), variables: &[] };
        let call = Call { session: "20261119_1", id: call, ..Call::default() };
        let chat = Chat::plan("goose", places, call, cut).unwrap();
        assert_eq!((chat.kept(), chat.cut()), (left, 9 - left), "{cut:?}");
        let written = chat.write(1_795_088_321_674).unwrap();
        assert_eq!(written.session, "20261119_13");
        assert_eq!(rows(&database, "20261119_1"), before);
        assert_eq!(rows(&database, "20261119_13"), before[..usize::try_from(left).unwrap()]);
        let sql = "SELECT working_dir, accumulated_cost FROM sessions WHERE id = '20261119_13'";
        let copied = database.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        assert_eq!(copied, ("/home/you/shop".to_owned(), None::<i64>));
        // A day without any begins with the first.
        assert_eq!(chat.write(0).unwrap().session, "19700101_1");
    }
}

#[test]
fn a_database_of_goose_that_is_not_known_is_refused_by_name() {
    for schema in [15, 17] {
        let (home, database) = goose(schema);
        let places = Places { home: home.path(), variables: &[] };
        let call = Call { session: "20261119_1", id: "c-1", ..Call::default() };
        let error = Chat::plan("goose", places, call, Cut::AfterResult).unwrap_err();
        let words =
            format!("Goose with schema {schema} wrote this record, in a format not known here");
        assert_eq!(error.to_string(), words);
        assert_eq!(
            database.query_row("SELECT count(*) FROM sessions", [], |row| row.get(0)),
            Ok(2)
        );
    }
}

#[test]
fn what_claude_code_tells_itself_is_no_prompt() {
    let prompt = |text: &str, more: Value| {
        let mut line = json!({
            "type": "user", "uuid": text, "parentUuid": null, "version": "2.1.325", "sessionId": CLAUDE.session,
            "message": {"role": "user", "content": text},
        });
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        format!("{line}\n")
    };
    let called = json!({
        "type": "assistant", "uuid": "a", "parentUuid": "note", "version": "2.1.325", "sessionId": CLAUDE.session,
        "message": {"id": "msg_1", "content": [{"type": "tool_use", "id": CLAUDE.call}]},
    });
    let note = |more| prompt("note", more);
    for (more, kept) in [
        (json!({"parentUuid": "typed", "turnOrigin": "task_notification"}), 0),
        (json!({"parentUuid": "typed"}), 1),
    ] {
        let text = prompt("typed", json!({})) + &note(more) + &format!("{called}\n");
        let home = Home::with(CLAUDE, text.as_bytes());
        assert_eq!(home.plan(Cut::BeforePrompt).unwrap().kept(), kept);
    }
}

#[test]
fn a_record_cut_short_anywhere_or_garbled_never_panics() {
    for agent in ALL {
        let mut random = Random::new(7);
        for _ in 0..300 {
            let mut bytes = agent.text.as_bytes().to_vec();
            bytes.truncate(random.below(bytes.len()));
            for _ in 0..random.below(4) {
                if !bytes.is_empty() {
                    let at = random.below(bytes.len());
                    bytes[at] = random.below(256) as u8;
                }
            }
            let home = Home::with(agent, &bytes);
            for cut in [Cut::BeforePrompt, Cut::BeforeMessage, Cut::AfterResult] {
                if let Ok(chat) = home.plan(cut) {
                    chat.write(0).unwrap();
                }
            }
            assert_eq!(fs::read(home.record()).unwrap(), bytes);
        }
    }
}

/// A line of Claude Code's record with these parts, and more fields.
fn line(kind: &str, parts: &Value, more: &Value) -> String {
    let mut line = serde_json::json!({
        "type": kind, "sessionId": CLAUDE.session, "version": "2.1.325",
        "message": {"id": "msg_1", "content": parts},
    });
    line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    format!("{line}\n")
}

fn result(more: &Value) -> String {
    line("user", &json!([{"type": "tool_result", "tool_use_id": "c-1"}]), more)
}

fn call_and(more: &Value) -> String {
    line("assistant", &json!([{"type": "tool_use", "id": "c-1"}]), &json!({})) + &result(more)
}

/// What follows where a person said no, or stopped what ran.
fn mark(stopped: Option<&str>) -> String {
    let text = "[Request interrupted by user for tool use]";
    line(
        "user",
        &json!([{"type": "text", "text": text}]),
        &json!({"interruptedMessageId": stopped}),
    )
}

fn refused() -> String {
    call_and(&json!({"toolDenialKind": "user-rejected"})) + &mark(None)
}

fn told(text: &str) -> Option<CallEnd> {
    told_of(text.as_bytes())
}

fn told_of(bytes: &[u8]) -> Option<CallEnd> {
    let home = Home::with(CLAUDE, bytes);
    let places = Places { home: home.place.path(), variables: &[] };
    end_of("claude", places, Call { id: "c-1", sub_agent: None, ..CLAUDE.called() })
}

#[test]
fn a_record_tells_how_a_call_ended_only_in_a_result_that_is_known() {
    for kind in ["permission-rule", "automode-blocked", "automode-unavailable"] {
        let text = call_and(&json!({"toolDenialKind": kind}));
        assert_eq!(told(&text), Some(CallEnd::Refused), "{kind}");
        let text = call_and(&json!({"toolDenialKind": kind, "toolDenialAfterRun": true}));
        assert_eq!(told(&text), Some(CallEnd::Answered), "{kind}");
        let text = call_and(&json!({"toolDenialKind": kind, "version": "2.1.324"}));
        assert_eq!(told(&text), Some(CallEnd::Answered), "{kind}");
    }
    let stopped = call_and(&json!({"toolDenialKind": "interrupted"}));
    assert_eq!(told(&stopped), Some(CallEnd::Stopped));
    for more in [json!({}), json!({"toolDenialKind": "cancelled"})] {
        assert_eq!(told(&call_and(&more)), Some(CallEnd::Answered));
    }
    // A quotation is no result, and a line that is not ended is being written.
    let denied = result(&json!({"toolDenialKind": "permission-rule"}));
    assert_eq!(told(&(json!({"content": &denied}).to_string() + "\n")), None);
    assert_eq!(told(denied.trim_end()), None);
    assert_eq!(told(&denied.replace("c-1", "c-2")), None);
    assert_eq!(told(&denied.replace("\"user\"", "\"assistant\"")), None);
    let two = json!([{"type": "tool_result", "tool_use_id": "c-1"}, {"type": "text"}]);
    assert_eq!(told(&line("user", &two, &json!({"toolDenialKind": "permission-rule"}))), None);
    assert!(["gemini", "qwen", "opencode", "goose", "nobody"].iter().all(|word| !tells_ends(word)));
}

#[test]
fn a_call_that_was_rejected_was_refused_or_stopped_by_what_follows() {
    let rejected = call_and(&json!({"toolDenialKind": "user-rejected"}));
    assert_eq!(told(&refused()), Some(CallEnd::Refused));
    assert_eq!(told(&(rejected.clone() + &mark(Some("msg_1")))), Some(CallEnd::Stopped));
    assert_eq!(told(&rejected), None);
    // The first mark after it counts.
    assert_eq!(told(&(refused() + &mark(Some("msg_9")))), Some(CallEnd::Refused));
    assert_eq!(told(&(mark(None) + &rejected)), None);
    // Messages with ids of another kind are never named as stopped.
    assert_eq!(told(&refused().replace("\"msg_1\"", "\"other\"")), None);
    assert_eq!(told(&(result(&json!({"toolDenialKind": "user-rejected"})) + &mark(None))), None);
}

#[test]
fn the_newest_result_counts_and_only_the_end_of_a_record_is_read() {
    assert_eq!(told(&(refused() + &result(&json!({})))), Some(CallEnd::Answered));
    let filler = |length: usize| format!("{{\"text\":\"{}\"}}\n", "c-1 ".repeat(length / 4));
    assert_eq!(told(&(refused() + &filler(1 << 20))), Some(CallEnd::Refused));
    assert_eq!(told(&(refused() + &filler(9 << 20))), None);
    let mut random = Random::new(7);
    for _ in 0..200 {
        let mut bytes = refused().into_bytes();
        for _ in 0..random.below(6) {
            let at = random.below(bytes.len());
            bytes[at] = u8::try_from(random.below(256)).unwrap();
        }
        bytes.truncate(random.below(bytes.len() + 1));
        // Whatever it says, it says so without failing.
        told_of(&bytes);
    }
}

#[test]
fn the_result_of_a_sub_agents_call_is_in_its_own_record() {
    let home = Home::with(CLAUDE, b"{}\n");
    let own = home.record().with_extension("").join("subagents");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("agent-a1.jsonl"), refused()).unwrap();
    let end_of = |sub_agent| {
        let places = Places { home: home.place.path(), variables: &[] };
        end_of("claude", places, Call { id: "c-1", sub_agent, ..CLAUDE.called() })
    };
    assert_eq!(end_of(Some("a1")), Some(CallEnd::Refused));
    assert_eq!((end_of(None), end_of(Some("a2")), end_of(Some("../a1"))), (None, None, None));
    std::os::unix::fs::symlink(own.join("agent-a1.jsonl"), own.join("agent-a3.jsonl")).unwrap();
    assert_eq!(end_of(Some("a3")), None);
}
