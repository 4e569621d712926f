//! `herma hook`: an agent says what it is about to do, and waits for the answer.
//!
//! Whatever happens here must not stand in the agent's way: some agents refuse the tool when a hook fails or
//! says something. So nothing is printed but the answer to a prompt, the exit code is 0, and a save that takes long goes on while the agent
//! does. The call is split in two after the payload was read: one half waits, for a few seconds at most, and
//! answers; the other one does the work, however long it takes, and notes in a log what came of it.
//!
//! * [`projects`]: which directories an agent works on, and remembering that for a session;
//! * [`work`]: what is saved and noted for each kind of event;
//! * [`log`]: the log, and when each agent called last.

mod log;
mod projects;
pub(crate) mod work;

use std::ffi::OsString;
use std::io::Write;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use clap::error::ErrorKind;
use herma_agents::slash::typed;
use herma_agents::{Agent, Event, EventKind, Reply, Surroundings};
use herma_fs::process::background::{Half, silence, split};
use herma_fs::process::stdin::TimedStdin;
use herma_fs::process::{BootMoment, TempName};
use herma_settings::Overrides;

use crate::command_env::CommandEnv;
use crate::commands::agents::hook::HookArgs;
use crate::commands::cli::Command;
use crate::commands::one_command;
use crate::environment::{Environment, agent_variables};
pub(crate) use crate::hook::log::HookLog;
use crate::terminal::Ui;

/// A payload that is not complete after this long is taken as it is.
const READING: Duration = Duration::from_secs(3);
/// What comes after the payload is waited for so long.
const DRAINING: Duration = Duration::from_millis(200);
/// An agent waits for a save no longer than this, which is less than the shortest time any of them is told to.
const AGENT_TIMEOUT: Duration = Duration::from_secs(5);
/// What a person typed takes as long as it takes, but agents give up after twenty seconds.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(15);
/// The half that does the work waits for other processes longer than that: nobody waits for it.
const LOCK_TIMEOUT: Duration = Duration::from_secs(60);
/// One agent gives the end of a session a second.
const MAX_WAIT_AT_THE_END: Duration = Duration::from_millis(700);

/// How a prompt is answered: see [`Reply`]. Says whether anybody heard it.
pub(crate) type Answer<'a> = dyn Fn(&Reply) -> bool + 'a;

/// A call, as it came in.
#[derive(Debug)]
pub(crate) struct HookCall {
    /// What the agent said.
    pub(crate) event: Event,
    /// When it said it.
    pub(crate) received: BootMoment,
    /// The agent's process, where that can be told.
    pub(crate) caller: Option<TempName>,
    /// Why the payload could not be used.
    pub(crate) problem: Option<String>,
}

impl HookCall {
    /// The command that the prompt is, if an answer to it keeps it from the model.
    pub(crate) fn command(&self) -> Option<&str> {
        let is_prompt = self.event.kind == EventKind::TurnStart;
        let stop = Reply::Stop(String::new());
        let is_heard = is_prompt && self.event.agent.reply(&stop).is_some();
        typed(self.event.prompt.as_deref().filter(|_| is_heard)?)
    }

    /// How long the agent waits.
    fn time_limit(&self) -> Duration {
        match self.event.kind {
            // A person waits for this, and knows what for.
            EventKind::TurnStart if self.command().is_some() => COMMAND_TIMEOUT,
            // Nothing has been asked of the agent yet, so the first save of a large project has time.
            EventKind::SessionStart => Duration::ZERO,
            EventKind::SessionEnd => MAX_WAIT_AT_THE_END,
            _ => AGENT_TIMEOUT,
        }
    }

    /// Has the agent gone on by now?
    pub(crate) fn is_late(&self) -> bool {
        self.received.elapsed() > self.time_limit()
    }

    /// Is there anything to do?
    pub(crate) fn matters(&self) -> bool {
        let tool = self.event.tool.as_ref();
        let only_looks = tool.is_some_and(|tool| !tool.class.may_change_files());
        self.event.kind != EventKind::Other && !only_looks
    }
}

/// Is this command line a call of an agent?
pub(crate) fn is_call(arguments: &[OsString]) -> bool {
    let mut words = arguments.iter().skip(1);
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("hook") => return true,
            Some("-C" | "--root" | "--home" | "--color") => drop(words.next()),
            Some(flag) if flag.starts_with('-') => {}
            _ => return false,
        }
    }
    false
}

/// Does what a call asks for; returns the exit code, which is 0.
pub(crate) fn answer(environment: &Environment, arguments: Vec<OsString>) -> u8 {
    let received = BootMoment::now();
    let for_cursor = arguments.iter().any(|word| word == Agent::Cursor.word());
    let mut answered = false;
    if panics(|| answer_call(environment, arguments, &received, &mut answered)) {
        HookLog::at(environment.home(None)).note("a call ended in a panic; this is a defect");
        if for_cursor && !answered {
            answer_cursor();
        }
    }
    0
}

/// Does this panic? Quietly: a panic has a message, and the agent would show it.
fn panics(work: impl FnOnce()) -> bool {
    std::panic::set_hook(Box::new(|_| {}));
    std::panic::catch_unwind(AssertUnwindSafe(work)).is_err()
}

fn answer_call(
    environment: &Environment,
    arguments: Vec<OsString>,
    received: &BootMoment,
    answered: &mut bool,
) {
    let cli = match one_command::parse(arguments) {
        Ok(cli) => cli,
        Err(error) => return explain(environment, &error),
    };
    let Some(Command::Hook(args)) = &cli.command else { return };
    let ui = Ui::new(environment, &cli.global);
    if environment.stdin_is_terminal {
        return ui.status("This is for agents to call. `herma install` tells them to.");
    }
    let log = HookLog::at(environment.home(cli.global.home.as_deref()));
    let Some(call) = hear(environment, args, received, &log) else { return };
    if call.event.agent == Agent::Cursor || args.agent == Agent::Cursor.word() {
        answer_cursor();
        *answered = true;
    }
    if !call.matters() {
        return;
    }
    let speaking = match split() {
        Ok(Half::Called(waiting)) => {
            let left = call.time_limit().saturating_sub(call.received.elapsed());
            let (said, is_done) = waiting.wait(left);
            if said.is_empty() && !is_done && call.command().is_some() {
                let words = "Herma is still at it. `herma list` shows what came of it.";
                let line = call.event.agent.reply(&Reply::Stop(words.to_owned()));
                return print_whole((line.unwrap_or_default() + "\n").as_bytes());
            }
            return print_whole(&said);
        }
        Ok(Half::Working(speaking)) => Some(speaking),
        // Then the agent waits as long as it takes.
        Err(_) => {
            let _ = silence();
            None
        }
    };
    let answer = |reply: &Reply| {
        let line = call.event.agent.reply(reply).map(|line| line + "\n");
        let said = line.zip(speaking.as_ref()).map(|(line, to)| to.say(line.as_bytes()));
        said.is_some_and(|said| said.is_ok())
    };
    let environment = Environment {
        // The agent says where it is, and a hook may be started in a directory that is gone.
        directory: Some(environment.directory.clone().unwrap_or_else(|| "/".into())),
        ..environment.clone().with_options(&cli.global)
    };
    let overrides = Overrides { wait: Some(LOCK_TIMEOUT), ..Overrides::default() };
    match CommandEnv::new(ui, &environment, &cli.global, overrides) {
        // What came of it is in the log, and nobody is there to hear it.
        Ok(env) => drop(work::work(&env, &call, &log, &answer)),
        Err(error) => {
            log.note(&format!("not saved: {}", error.message));
            work::tell_failure(&call, &error, &answer);
        }
    }
}

/// Reads what the agent says. `None` if nobody knows that agent.
fn hear(
    environment: &Environment,
    args: &HookArgs,
    received: &BootMoment,
    log: &HookLog,
) -> Option<HookCall> {
    let mut stdin = TimedStdin::new(READING);
    let Some(named) = Agent::from_word(&args.agent) else {
        stdin.drain(DRAINING);
        log.note(&format!("no agent is called {:?}", args.agent));
        return None;
    };
    // Codex gives the payload of its oldest hook as an argument.
    let is_payload = |text: &String| text.starts_with('{');
    let surroundings = Surroundings {
        event: args.event.clone().filter(|text| !is_payload(text)),
        argument: args.event.clone().filter(is_payload),
        variables: agent_variables(),
        directory: environment.directory.clone(),
    };
    let incoming = herma_agents::read(named, &surroundings, &mut stdin);
    // A writer whose reader goes away gets an error, and not every agent survives that.
    stdin.drain(DRAINING);
    Some(HookCall {
        event: incoming.event,
        received: received.clone(),
        caller: TempName::of_caller(),
        problem: incoming.problem.map(|problem| problem.to_string()),
    })
}

fn explain(environment: &Environment, error: &clap::Error) {
    if error.kind() == ErrorKind::DisplayHelp {
        // Nobody reading the help is no failure.
        let _ = error.print();
        return;
    }
    let text = error.render().to_string();
    let first = text.lines().next().unwrap_or_default();
    HookLog::at(environment.home(None)).note(&format!("wrong arguments: {first}"));
}

/// Prints what the other half said, if that is all it wanted to say: half an answer is none.
fn print_whole(line: &[u8]) {
    if line.ends_with(b"\n") {
        let mut out = std::io::stdout();
        let _ = out.write_all(line).and_then(|()| out.flush());
    }
}

/// Cursor takes silence for a failure and text for a refusal.
fn answer_cursor() {
    let mut out = std::io::stdout();
    let _ = out.write_all(b"{}\n").and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(line: &str) -> bool {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        is_call(&words)
    }

    #[test]
    fn a_panic_is_noticed_and_goes_no_further() {
        let before = std::panic::take_hook();
        let noticed = (panics(|| panic!("a defect")), panics(|| ()));
        std::panic::set_hook(before);
        assert_eq!(noticed, (true, false));
    }

    #[test]
    fn an_agent_is_kept_waiting_no_longer_than_it_waits() {
        let limit = |event: &str| {
            let payload = format!("{{\"hook_event_name\":\"{event}\"}}");
            let (mut payload, around) = (payload.as_bytes(), Surroundings::default());
            let event = herma_agents::read(Agent::Claude, &around, &mut payload).event;
            HookCall { event, received: BootMoment::now(), caller: None, problem: None }
                .time_limit()
        };
        assert_eq!(limit("SessionStart"), Duration::ZERO);
        assert_eq!(limit("SessionEnd"), MAX_WAIT_AT_THE_END);
        assert_eq!(limit("PreToolUse"), AGENT_TIMEOUT);
    }

    #[test]
    fn calls_are_known_by_their_first_word() {
        assert!(is("herma hook claude"));
        assert!(is("herma --home /h -C hook hook claude"));
        assert!(is("herma --home=/h hook"));
        assert!(!is("herma save -m hook"));
        assert!(!is("herma --root hook save"));
        assert!(!is("herma"));
    }
}
