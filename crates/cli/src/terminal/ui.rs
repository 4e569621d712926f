//! What people see: data on stdout, words on stderr.
//!
//! Everything printed passes here. Names and reasons must be escaped before they come; this file adds
//! colour, the pager and the confirmation. Where a program asks over `herma mcp`, nothing is printed: an
//! [`Answer`] collects it.

use std::fmt::Display;
use std::io;
use std::io::{BufRead, Write};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use herma_core::engine::Progress;
use herma_view::Style;
use herma_view::style::{Label, SHOWN_NAMES, Theme};
use serde::Serialize;
use signal_hook::consts::SIGINT;

use super::answer::Answer;
use super::pager::Output;
use super::progress::TerminalProgress;
use crate::command_error::{CommandError, Kind, Result};
use crate::environment::Environment;
use crate::options::{ColorChoice, GlobalArgs};

/// The terminal, or what stands in for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ui {
    /// How what is written to stdout looks.
    style: Style,
    words_theme: Theme,
    stderr_is_terminal: bool,
    stdin_is_terminal: bool,
    height: Option<usize>,
    pager: String,
    /// Print JSON instead of text?
    pub(crate) json: bool,
    quiet: bool,
    /// Who collects what would be printed, if nobody reads the streams.
    answer: Option<Arc<Answer>>,
}

/// Who prints rows asks the terminal how they are to look.
impl Deref for Ui {
    type Target = Style;

    fn deref(&self) -> &Style {
        &self.style
    }
}

#[expect(
    clippy::unused_self,
    reason = "printing is asked of the terminal, also where all terminals print alike"
)]
impl Ui {
    /// A terminal as the environment and the arguments want it.
    pub(crate) fn new(environment: &Environment, global: &GlobalArgs) -> Self {
        let colored = |is_terminal: bool| match global.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => is_terminal && !environment.no_color,
        };
        let is_terminal = environment.stdout_is_terminal;
        let pager =
            if global.no_pager || global.json { String::new() } else { environment.pager.clone() };
        Self {
            style: Style {
                theme: Theme::new(colored(is_terminal)),
                is_terminal,
                width: environment.size.filter(|_| is_terminal).map(|size| size.0),
            },
            words_theme: Theme::new(colored(environment.stderr_is_terminal)),
            stderr_is_terminal: environment.stderr_is_terminal,
            stdin_is_terminal: environment.stdin_is_terminal,
            height: environment.size.filter(|_| is_terminal).map(|size| size.1),
            pager,
            json: global.json,
            quiet: global.quiet,
            answer: None,
        }
    }

    /// No terminal at all: an answer collects what would be printed, as JSON or as text.
    pub(crate) fn answering(answer: Arc<Answer>, json: bool) -> Self {
        Self { json, quiet: true, answer: Some(answer), ..Self::default() }
    }

    /// Where a listing goes: through the pager when a person reads it and it is long.
    pub(crate) fn listing(&self) -> Output {
        match self.height {
            Some(height) if !self.pager.is_empty() => {
                Output::stdout(Some((height, self.pager.clone())))
            }
            _ => self.data(),
        }
    }

    /// Where other data goes.
    pub(crate) fn data(&self) -> Output {
        match &self.answer {
            Some(answer) => Output::new(None, Box::new(answer.writer())),
            None => Output::stdout(None),
        }
    }

    /// Where bytes go that are somebody else's conversation.
    pub(crate) fn stream(&self) -> io::Stdout {
        io::stdout()
    }

    /// Prints one JSON object and a newline.
    pub(crate) fn write_json(&self, value: &impl Serialize) -> Result<()> {
        if let Some(answer) = &self.answer {
            answer.object(serde_json::to_value(value).map_err(io::Error::from)?);
            return Ok(());
        }
        let mut out = self.data();
        serde_json::to_writer(&mut out, value).map_err(io::Error::from)?;
        out.write_all(b"\n")?;
        Ok(out.finish()?)
    }

    /// Prints an object, if a program reads. It is made only then.
    pub(crate) fn answer_json<J: Serialize>(&self, json: impl FnOnce() -> J) -> Result<()> {
        if self.json { self.write_json(&json()) } else { Ok(()) }
    }

    /// Answers: with an object where a program reads, else with a listing.
    pub(crate) fn answer<J: Serialize>(
        &self,
        json: impl FnOnce() -> J,
        text: impl FnOnce(&mut Output) -> io::Result<()>,
    ) -> Result<()> {
        if self.json {
            return self.write_json(&json());
        }
        let mut out = self.listing();
        text(&mut out)?;
        Ok(out.finish()?)
    }

    /// Prints one line of data.
    pub(crate) fn print(&self, line: impl Display) -> io::Result<()> {
        let mut out = self.data();
        writeln!(out, "{line}")?;
        out.finish()
    }

    /// Says a sentence about what was done.
    pub(crate) fn status(&self, text: impl Display) {
        if !self.quiet && !self.json {
            self.words(&text.to_string());
        }
    }

    /// Passes on what a command printed, beside our own data.
    pub(crate) fn pass_on(&self, text: impl Display) {
        if !self.quiet {
            self.words(&text.to_string());
        }
    }

    /// Says a sentence to a person at a terminal: a script or an agent that saves needs none.
    pub(crate) fn advice(&self, text: impl Display) {
        if self.stderr_is_terminal {
            self.status(text);
        }
    }

    /// Says what to type next.
    pub(crate) fn hint(&self, text: impl Display) {
        self.status(format_args!("{} {text}", self.words_theme.paint(Label::Hint, "Hint:")));
    }

    /// Says what the user should know even when quiet.
    pub(crate) fn warning(&self, text: impl Display) {
        if let Some(answer) = &self.answer {
            return answer.warning(text.to_string());
        }
        let label = self.words_theme.paint(Label::Warning, "Warning:");
        self.words(&format!("{label} {text}"));
    }

    /// Continues a warning.
    pub(crate) fn detail(&self, text: impl Display) {
        if let Some(answer) = &self.answer {
            return answer.warning(text.to_string());
        }
        self.words(&format!("  {text}"));
    }

    /// Names the first things of a list, then how many more there are and where to see them.
    pub(crate) fn name_some(&self, lines: impl ExactSizeIterator<Item = String>, see_all: &str) {
        let more = lines.len().saturating_sub(SHOWN_NAMES);
        for line in lines.take(SHOWN_NAMES) {
            self.detail(line);
        }
        if more > 0 {
            self.detail(format_args!("and {more} more: `{see_all}`"));
        }
    }

    /// Says what is the matter with some things, and names them like [`Self::name_some`]. When quiet, neither.
    pub(crate) fn status_of(
        &self,
        title: impl Display,
        lines: impl ExactSizeIterator<Item = String>,
        see_all: &str,
    ) {
        if !self.quiet && !self.json {
            self.status(title);
            self.name_some(lines, see_all);
        }
    }

    /// Puts an error into words, or into JSON.
    pub(crate) fn error(&self, error: &CommandError) {
        if self.json {
            // Nothing is left to do about an error that cannot be reported.
            let _ = self.write_json(&error.to_json());
            return;
        }
        let label = self.words_theme.paint(Label::Error, "Error:");
        self.words(&format!("{label} {}", error.message));
        for cause in &error.causes {
            self.words(&format!("Because: {cause}"));
        }
        if let Some(state) = &error.state {
            self.words(state);
        }
        for hint in &error.hints {
            let label = self.words_theme.paint(Label::Hint, "Hint:");
            self.words(&format!("{label} {hint}"));
        }
    }

    /// Words nobody can read any more are not worth failing for.
    fn words(&self, text: &str) {
        let _ = writeln!(io::stderr().lock(), "{text}");
    }

    /// Shows how far a long operation is, and lets Control-C end it in an orderly way.
    pub(crate) fn progress(&self) -> TerminalProgress {
        TerminalProgress::start(self.stderr_is_terminal && !self.quiet && !self.json)
    }

    /// Does what takes long, with [`Self::progress`], or for somebody who asked from within the program: what signals
    /// mean is for them to say.
    pub(crate) fn during<T>(&self, work: impl FnOnce(&dyn Progress) -> T) -> T {
        match &self.answer {
            Some(answer) => work(&*answer.listener()),
            None => work(&self.progress()),
        }
    }

    /// Like [`Self::progress`], for what follows a command that Control-C may have ended.
    pub(crate) fn progress_after_command(&self) -> TerminalProgress {
        let is_shown = self.stderr_is_terminal && !self.quiet && !self.json;
        TerminalProgress::start_after_command(is_shown)
    }

    /// Can the user be asked?
    pub(crate) fn can_ask(&self) -> bool {
        self.stdin_is_terminal && self.stderr_is_terminal && !self.json
    }

    /// Refuses what would remove something and has to be asked about, where the user cannot be asked.
    pub(crate) fn must_ask(&self, would: impl Into<String>, instead: &str) -> Result<()> {
        if self.can_ask() {
            return Ok(());
        }
        Err(CommandError::usage(would)
            .with_state("Nothing was removed: there is no terminal to ask on.")
            .with_hint(instead))
    }

    /// Asks before something is removed; anything but yes ends the command.
    pub(crate) fn confirm_removal(&self, question: &str) -> Result<()> {
        if self.ask(&format!("{question} [y/N] "))? {
            return Ok(());
        }
        Err(CommandError::new(Kind::Cancelled, "not confirmed").with_state("Nothing was removed."))
    }

    /// Asks before something goes or moves, and says `no` if the user does not agree.
    pub(crate) fn agrees(
        &self,
        would: impl Into<String>,
        instead: &str,
        question: &str,
        no: &str,
    ) -> Result<bool> {
        self.must_ask(would, instead)?;
        let agrees = self.ask(question)?;
        if !agrees {
            self.print(no)?;
        }
        Ok(agrees)
    }

    /// Asks a question that is answered with yes or no; anything but yes is no.
    pub(crate) fn ask(&self, prompt: &str) -> io::Result<bool> {
        let answer = self.ask_for_word(prompt)?;
        Ok(matches!(answer.as_deref(), Some("y" | "yes")))
    }

    /// Asks for a word, in lower case; `None` at the end of the input. Control-C ends the program here even
    /// if a long operation before it has got used to ending in an orderly way.
    pub(crate) fn ask_for_word(&self, prompt: &str) -> io::Result<Option<String>> {
        let is_asking = Arc::new(AtomicBool::new(true));
        let flag = Arc::clone(&is_asking);
        // Without the handler, Control-C does what it did before.
        let _ = signal_hook::flag::register_conditional_shutdown(SIGINT, 130, flag);
        let mut stderr = io::stderr().lock();
        write!(stderr, "{prompt}")?;
        stderr.flush()?;
        let mut answer = String::new();
        let length = io::stdin().lock().read_line(&mut answer)?;
        is_asking.store(false, Ordering::Relaxed);
        if !answer.ends_with('\n') {
            // The end of the input leaves the cursor behind the question.
            writeln!(stderr)?;
        }
        Ok((length > 0).then(|| answer.trim().to_ascii_lowercase()))
    }
}
