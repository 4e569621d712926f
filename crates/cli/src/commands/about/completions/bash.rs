//! Completing in bash: what other shells do by themselves is for the script to do here.
//!
//! Bash puts a candidate on the line as it is, and hands over words as they were typed. So the script has bash quote as it does
//! file names, with the quotes that are open; the program takes the quotes from the words. A line with names that are all
//! plain is not about files: bash would add a `/` to a command that is also a directory.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use clap::Command;
use clap_complete::env;

use crate::terminal::quote;

/// What stands between two candidates, as the script sets it.
pub(super) const BETWEEN: u8 = b'\x0b';

pub(super) struct Bash;

impl env::EnvCompleter for Bash {
    fn name(&self) -> &'static str {
        env::Bash.name()
    }

    fn is(&self, name: &str) -> bool {
        env::Bash.is(name)
    }

    fn write_registration(
        &self,
        var: &str,
        name: &str,
        bin: &str,
        completer: &str,
        buf: &mut dyn io::Write,
    ) -> io::Result<()> {
        let script = SCRIPT.replace("NAME", &name.replace('-', "_")).replace("BIN", bin);
        buf.write_all(script.replace("VAR", var).replace("PROGRAM", &quote(completer)).as_bytes())
    }

    fn write_complete(
        &self,
        command: &mut Command,
        words: Vec<OsString>,
        directory: Option<&Path>,
        buf: &mut dyn io::Write,
    ) -> io::Result<()> {
        env::Bash.write_complete(command, words, directory, buf)
    }
}

/// Bash before version 4 has no `compopt`, and gets them quoted.
const SCRIPT: &str = include_str!("bash.sh");
