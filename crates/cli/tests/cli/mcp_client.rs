//! A small client of `herma mcp`, and servers for it to talk to.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use herma_testkit::{Bounded, TestEnv};
use serde_json::{Value, json};

/// Nothing here takes that long; whoever waits longer waits for ever.
const MAX_WAIT_FOR_ANSWER: Duration = Duration::from_secs(120);

/// Waits until something is so.
#[track_caller]
pub(super) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + MAX_WAIT_FOR_ANSWER;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}: this never happened");
        thread::sleep(Duration::from_millis(5));
    }
}

/// A server with a socket. Dropping it kills it.
pub(super) struct Server {
    child: Child,
    pub(super) path: PathBuf,
}

impl Server {
    /// Starts one with its socket in the test's directory, and waits until it listens.
    #[track_caller]
    pub(super) fn start(env: &TestEnv) -> Self {
        let path = env.root().join("s");
        let mut command = env.command(env.root());
        command.args(["mcp", "--all-tools", "--socket"]).arg(&path);
        let mut child = quiet(&mut command).bounded_spawn().expect("herma runs");
        wait_until("the server listens", || {
            let ended = child.try_wait().expect("it is our child");
            assert!(ended.is_none(), "it ended: {ended:?}");
            UnixStream::connect(&path).is_ok()
        });
        Self { child, path }
    }

    /// Connects to it.
    #[track_caller]
    pub(super) fn connect(&self) -> Client<BufReader<UnixStream>, UnixStream> {
        let stream = UnixStream::connect(&self.path).expect("the server listens");
        stream.set_read_timeout(Some(MAX_WAIT_FOR_ANSWER)).expect("a socket");
        let reader = BufReader::new(stream.try_clone().expect("a socket"));
        Client::new(reader, stream)
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The names of its threads, and where in the kernel they wait.
    pub(super) fn threads(&self) -> Vec<String> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.pid()));
        let tasks = tasks.into_iter().flatten().flatten();
        let read = |task: &std::fs::DirEntry, name| std::fs::read_to_string(task.path().join(name));
        tasks
            .filter_map(|task| {
                let name = read(&task, "comm").ok()?;
                let place = read(&task, "wchan").unwrap_or_default();
                Some(format!("{} in {place}", name.trim()))
            })
            .collect()
    }

    /// Sends a signal by its name.
    #[allow(clippy::disallowed_methods)]
    pub(super) fn signal(&self, name: &str) {
        let sent =
            Command::new("kill").args(["-s", name, &self.pid().to_string()]).bounded_status();
        assert!(sent.expect("kill runs").success());
    }

    /// Waits for its end.
    #[track_caller]
    pub(super) fn wait(mut self) -> ExitStatus {
        let mut ended = None;
        wait_until("the server ends", || {
            ended = self.child.try_wait().expect("it is our child");
            ended.is_some()
        });
        ended.expect("it has just ended")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn quiet(command: &mut Command) -> &mut Command {
    command.stdout(Stdio::null()).stderr(Stdio::null())
}

/// A server on stdin and stdout.
pub(super) struct Piped {
    child: Child,
    pub(super) client: Client<BufReader<ChildStdout>, ChildStdin>,
}

impl Piped {
    /// Starts the program with these arguments in the test's directory.
    #[track_caller]
    pub(super) fn start(env: &TestEnv, directory: &std::path::Path, args: &[&str]) -> Self {
        let mut child = env
            .command(directory)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .bounded_spawn()
            .expect("herma runs");
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        let input = child.stdin.take().expect("it is piped");
        let client = Client::new(output, input);
        Self { child, client }
    }

    /// Asks it to end, though nobody reads what it says, and returns how it did.
    #[track_caller]
    #[allow(clippy::disallowed_methods)]
    pub(super) fn terminate(mut self) -> ExitStatus {
        let sent = Command::new("kill").arg(self.child.id().to_string()).bounded_status();
        assert!(sent.expect("kill runs").success());
        let mut ended = None;
        wait_until("the server ends", || {
            ended = self.child.try_wait().expect("it is our child");
            ended.is_some()
        });
        ended.expect("it has just ended")
    }

    /// Ends its input, and returns what else it said and how it ended.
    #[track_caller]
    pub(super) fn finish(self) -> (String, ExitStatus) {
        let Self { mut child, client } = self;
        let Client { mut reader, writer, .. } = client;
        drop(writer);
        let mut rest = String::new();
        reader.read_to_string(&mut rest).expect("it speaks UTF-8");
        (rest, child.wait().expect("it is our child"))
    }
}

/// One end of a conversation.
pub(super) struct Client<R, W> {
    reader: R,
    pub(super) writer: W,
    last: u64,
    /// The project that is meant where a tool is given none.
    pub(super) root: Option<PathBuf>,
    /// Notifications that came while answers were waited for.
    pub(super) events: Vec<Value>,
}

impl<R: BufRead, W: Write> Client<R, W> {
    fn new(reader: R, writer: W) -> Self {
        Self { reader, writer, last: 0, root: None, events: Vec::new() }
    }

    /// Sends bytes as they are.
    #[track_caller]
    pub(super) fn send(&mut self, bytes: &[u8]) {
        self.writer.write_all(bytes).expect("the server reads");
        self.writer.flush().expect("the server reads");
    }

    /// Sends a request and does not wait.
    #[track_caller]
    pub(super) fn ask(&mut self, method: &str, params: &Value) -> u64 {
        self.last += 1;
        let id = self.last;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(format!("{request}\n").as_bytes());
        id
    }

    /// The next line, whatever it is; `None` at the end.
    #[track_caller]
    pub(super) fn line(&mut self) -> Option<Value> {
        let mut line = String::new();
        let length = self.reader.read_line(&mut line).expect("the server speaks");
        (length > 0).then(|| serde_json::from_str(&line).expect("every line is JSON"))
    }

    /// The next answer.
    #[track_caller]
    pub(super) fn answer(&mut self) -> Value {
        loop {
            let line = self.line().expect("the server answers");
            if line.get("method").is_none() {
                return line;
            }
            self.events.push(line);
        }
    }

    /// Asks and waits for what comes back.
    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "`json!` makes values, one for each call")]
    pub(super) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, &params);
        let answer = self.answer();
        assert_eq!(answer["id"], id, "answers come in order: {answer}");
        answer
    }

    /// Asks for something that works.
    #[track_caller]
    pub(super) fn call(&mut self, method: &str, params: Value) -> Value {
        let mut answer = self.request(method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].take()
    }

    /// Asks for something that does not; returns the error.
    #[track_caller]
    pub(super) fn refused(&mut self, method: &str, params: Value) -> Value {
        let mut answer = self.request(method, params);
        assert!(answer.get("result").is_none(), "{method}: {answer}");
        answer["error"].take()
    }

    /// The code of the error that is answered.
    #[track_caller]
    pub(super) fn code(&mut self, method: &str, params: Value) -> i64 {
        let error = self.refused(method, params);
        assert!(error["message"].as_str().is_some_and(|text| !text.is_empty()));
        error["code"].as_i64().expect("every error has a code")
    }

    /// What a request for a tool says.
    #[track_caller]
    pub(super) fn for_tool(&self, name: &str, mut arguments: Value) -> Value {
        let is_of_store = ["herma_sessions_", "herma_store", "herma_prune", "herma_hook"];
        if !is_of_store.iter().any(|start| name.starts_with(start))
            && arguments.get("root").is_none()
            && let (Some(root), Some(fields)) = (&self.root, arguments.as_object_mut())
        {
            fields.insert("root".to_owned(), json!(root));
        }
        json!({"name": name, "arguments": arguments})
    }

    /// What a tool answers.
    #[track_caller]
    pub(super) fn tool(&mut self, name: &str, arguments: Value) -> Value {
        let params = self.for_tool(name, arguments);
        let mut answer = self.call("tools/call", params);
        assert_eq!(answer["isError"], false, "{name}: {answer}");
        answer["structuredContent"].take()
    }

    /// What kind of mistake a tool says it is.
    #[track_caller]
    pub(super) fn fails(&mut self, name: &str, arguments: Value) -> String {
        let params = self.for_tool(name, arguments);
        let answer = self.call("tools/call", params);
        assert_eq!(answer["isError"], true, "{name}: {answer}");
        let error = &answer["structuredContent"];
        assert_eq!(error["schema"], "herma.error/1", "{answer}");
        assert_ne!(answer["content"][0]["text"], "", "{answer}");
        error["error"]["kind"].as_str().expect("a kind").to_owned()
    }
}
