//! The `herma` command line: instant undo for AI agents.
//!
//! A thin layer over `herma-core`: it reads the arguments, the environment and the settings, calls the
//! engine, and says what came of it. Data goes to stdout, words go to stderr, and every way to fail is
//! put into words in [`command_error`], or, for command lines that cannot be read, in [`usage_error`].
//!
//! * [`options`]: what every command understands
//! * [`commands`]: one file per command; its `cli.rs` puts their arguments together
//! * [`conversations`], [`transcript`]: conversations, and how they follow the files
//! * [`hook`]: what agents call
//! * [`mcp`]: the same for agents and programs that stay connected
//! * [`environment`]: the only place that asks the system about the user and the terminal
//! * [`terminal`]: what is printed and asked
//! * [`render`]: what several commands tell alike; the values are those of `herma_view`

mod command_env;
mod command_error;
mod commands;
mod conversations;
mod environment;
mod filters;
#[cfg(fuzzing)]
#[path = "../../../fuzz/doors/cli.rs"]
pub mod fuzzing;
mod hook;
mod mcp;
mod options;
mod render;
mod run;
mod several;
mod terminal;
mod tool_call;
mod transcript;
mod usage_error;

use std::process::ExitCode;
use std::thread;

/// What a main thread usually has. Deep trees recurse once per level, and some users have set less than that takes.
const STACK_BYTES: usize = 8 << 20;

fn main() -> ExitCode {
    herma_fs::process::raise_open_file_limit();
    herma_fs::process::make_room_for_open_files();
    let is_enough = |limit| limit >= STACK_BYTES as u64;
    if herma_fs::process::stack_limit().is_none_or(is_enough) {
        return start();
    }
    match thread::Builder::new().stack_size(STACK_BYTES).spawn(start) {
        Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        // With the small one, trees of the usual depth still work.
        Err(_) => start(),
    }
}

fn start() -> ExitCode {
    ExitCode::from(run::run(std::env::args_os().collect()))
}
