//! `herma acp`: stands between an editor and its agent, and saves before the agent works.
//!
//! Both directions are passed on byte for byte. Two threads read lines, one for each direction; `traffic` tells
//! which lines announce a change, `calls` puts together what they say of a tool call, `saver` has it saved and recorded by
//! `recorder`, and only then the line goes on. Where the other side waits for an answer, holding a line back is no race. Where
//! it only says what it does, that may be done already: the step then begins where somebody last looked. A save that fails
//! or takes too long holds nothing up.

mod calls;
mod lines;
mod recorder;
mod saver;
pub(crate) mod traffic;

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;
use std::{io, thread};

use clap::Args;
use herma_fs::process::foreground::{Foreground, Piped};

use self::lines::{Seen, forward};
use self::saver::Saver;
use self::traffic::{Happening, Side, Traffic};
use crate::command_env::{CommandEnv, CommandError, Kind, Outcome, Result};
use crate::commands::steps::run::not_started;

/// How long the last words of an agent that has ended are waited for. Something it started may hold the pipe.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Proxy an ACP agent, saving before it works
///
/// Goes in front of the agent's command in the editor's settings. Everything passes through unchanged; the project is
/// saved before a prompt reaches the agent, and before the editor learns that the agent wants to write a file, run a
/// command or be permitted something. Tool calls that the agent tells of are steps, unless its hooks record them. A save that fails or takes too long is reported on stderr and holds nothing up.
///
/// The exit code is the agent's.
#[derive(Args, Debug)]
pub(crate) struct AcpArgs {
    /// Whose work it is [default: the name of the program]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// How long a message is held back for a save
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    wait: u16,
    /// The agent's command and its arguments
    #[arg(value_name = "AGENT", required = true, last = true)]
    agent: Vec<OsString>,
}

pub(crate) fn cmd_acp(env: CommandEnv, args: &AcpArgs) -> Result<Outcome> {
    let Some((program, arguments)) = args.agent.split_first() else {
        return Err(CommandError::usage("which agent is to be run?"));
    };
    let failed =
        |what: &str, error: &io::Error| CommandError::new(Kind::Failed, format!("{what}: {error}"));
    let prepared =
        Foreground::prepare().map_err(|error| failed("signals cannot be heard", &error))?;
    let Piped { running, input, output } =
        match prepared.start_piped(program, arguments, &env.directory) {
            Ok(piped) => piped,
            Err(error) => return Ok(not_started(&env, program, &error)),
        };
    let name = args.name.clone().or_else(|| {
        let name = Path::new(program).file_name()?;
        Some(name.to_string_lossy().into_owned())
    });
    let traffic = Arc::new(Mutex::new(Traffic::new(env.directory.clone())));
    let env = Arc::new(env);
    let time_limit = Duration::from_secs(args.wait.into());
    let saver = Saver::start(&env, name, time_limit);
    let from_editor =
        Direction { side: Side::Editor, traffic: Arc::clone(&traffic), saver: saver.clone() };
    // Whoever reads from the editor waits for it as long as it likes; the end of the program ends that, too.
    thread::spawn(move || from_editor.pass(io::stdin().lock(), input));
    let from_agent = Direction { side: Side::Agent, traffic, saver: saver.clone() };
    let (said_all, last_words) = mpsc::channel::<()>();
    let stdout = env.ui.stream();
    thread::spawn(move || {
        from_agent.pass(io::BufReader::with_capacity(1 << 16, output), stdout);
        drop(said_all);
    });
    let ended = running.wait().map_err(|error| failed("the agent is lost", &error))?;
    // It hangs up when the thread is done; what else can happen is that time runs out.
    let _ = last_words.recv_timeout(LAST_WORDS);
    saver.finish();
    Ok(Outcome::Command(ended.exit_code()))
}

/// One direction of the conversation.
struct Direction {
    side: Side,
    traffic: Arc<Mutex<Traffic>>,
    saver: Saver,
}

impl Direction {
    fn happenings(&self, line: Seen<'_>) -> Vec<Happening> {
        // A panic elsewhere leaves a list of sessions that is still right.
        let traffic = self.traffic.lock();
        let mut traffic = traffic.unwrap_or_else(PoisonError::into_inner);
        let read = match line {
            Seen::Whole(line) => traffic.read(self.side, line),
            Seen::TooLong => None,
        };
        read.unwrap_or_else(|| {
            let happenings = traffic.unreadable(self.side);
            if !happenings.is_empty() {
                self.saver.tell_of_unreadable();
            }
            happenings
        })
    }

    /// Passes everything on until one end is closed; then both are.
    fn pass(&self, from: impl io::BufRead, to: impl Write) {
        // What cannot be passed on has nobody to be told about it: the other end is gone.
        let _ = forward(from, to, |line| {
            for happening in self.happenings(line) {
                self.saver.note(happening);
            }
        });
    }
}
