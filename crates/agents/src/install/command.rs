//! The command line that an agent runs for every event, and how it is known again.
//!
//! Agents run what they were told to run long after Herma was updated, moved or removed, and several of them
//! take any failure of a hook for "no": Copilot CLI refuses every tool when the hook is killed, Gemini CLI when
//! the program is not there. So the line asks first whether the program exists, drops whatever it or the shell
//! around it might print (but what it answers to a prompt, if the agent wants that), and ends well whatever happened. A shell tells of a program that was killed on its own
//! standard error, so the redirection is around the call, not on it.
//!
//! A line is ours only if it is one that we would write, to the byte. People may have lines of their own in which
//! ours occur.

use std::path::{Path, PathBuf};

use super::error::InstallError;
use crate::agent::{Agent, Runs};

/// The program to call and where it keeps its things.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HookCommand {
    binary: String,
    home: Option<String>,
    form: Form,
}

/// How a line is written. Lines stay in configurations for years, so the old forms are known as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Form {
    /// With the redirection at the call, which lets through what the shell says itself.
    AtTheCall,
    /// With the redirection around the call.
    AroundTheCall,
}

/// A command line of ours that was found in a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundCommand {
    /// The program it calls.
    pub command: HookCommand,
    /// The event it names, if it names one.
    pub event: Option<String>,
}

impl HookCommand {
    /// A call of the program at `binary`, with `--home` if a home is given. Both must be absolute and UTF-8:
    /// configurations are text.
    pub fn new(binary: &Path, home: Option<&Path>) -> Result<Self, InstallError> {
        Ok(Self {
            binary: text(binary)?,
            home: home.map(text).transpose()?,
            form: Form::AroundTheCall,
        })
    }

    /// A call of `herma`, wherever the search path has it: for what is made on another machine than it runs on.
    pub(crate) fn by_name() -> Self {
        Self { binary: "herma".to_owned(), home: None, form: Form::AroundTheCall }
    }

    /// The program.
    pub fn binary(&self) -> PathBuf {
        PathBuf::from(&self.binary)
    }

    /// Where it keeps its things, if that is not the usual place.
    pub fn home(&self) -> Option<PathBuf> {
        self.home.as_ref().map(PathBuf::from)
    }

    /// The arguments behind the program's name.
    fn arguments(&self, agent: Agent, event: Option<&str>) -> Vec<String> {
        let mut arguments = Vec::new();
        if let Some(home) = &self.home {
            arguments.push("--home".to_owned());
            arguments.push(quote(home));
        }
        arguments.push("hook".to_owned());
        arguments.push(agent.word().to_owned());
        arguments.extend(event.map(quote_if_needed));
        arguments
    }

    /// A line for a POSIX shell.
    pub fn line(&self, agent: Agent, event: Option<&str>) -> String {
        self.write(agent, event, false)
    }

    /// The same for an event that the agent wants answered.
    pub(crate) fn answering_line(&self, agent: Agent, event: Option<&str>) -> String {
        self.write(agent, event, true)
    }

    fn write(&self, agent: Agent, event: Option<&str>, answers: bool) -> String {
        let binary = quote(&self.binary);
        let arguments = self.arguments(agent, event).join(" ");
        let call = format!("{binary} {arguments}");
        let guarded = match (agent.runs(), self.form) {
            // Cursor may put a here-document behind the line, which then must reach the program: the outer braces
            // are what it is attached to. It also wants to read an answer, which the shell gives: what a program
            // says that is not the one we know must not be taken for one.
            (Runs::ShellForAnswer, Form::AroundTheCall) => {
                format!("{{ {{ {call} >/dev/null || :; echo '{{}}' || :; }} 2>/dev/null || :; }}")
            }
            (Runs::ShellForAnswer, Form::AtTheCall) => format!("{{ {call} 2>/dev/null || :; }}"),
            (_, Form::AroundTheCall) if answers => format!("{{ {call}; }} 2>/dev/null || :"),
            (_, Form::AroundTheCall) => format!("{{ {call}; }} >/dev/null 2>&1 || :"),
            (_, Form::AtTheCall) => format!("{call} >/dev/null 2>&1 || :"),
        };
        let is_there = if self.binary.starts_with('/') {
            format!("[ -x {binary} ]")
        } else {
            format!("command -v {binary} >/dev/null")
        };
        let line = format!("{is_there} || exit 0; {guarded}");
        match agent.runs() {
            // Codex hands the line to the user's login shell; Hermes splits it into words and runs them.
            Runs::Anything => format!("/bin/sh -c {}", quote(&line)),
            Runs::Shell | Runs::ShellForAnswer => line,
        }
    }

    /// The words of a call, for programs that need no shell.
    pub(crate) fn words(&self, agent: Agent) -> Vec<&str> {
        let mut words = vec![self.binary.as_str()];
        if let Some(home) = &self.home {
            words.extend(["--home", home]);
        }
        words.extend(["hook", agent.word()]);
        words
    }

    /// Understands a line that we wrote for this agent; `None` for every other one, whatever it holds.
    pub fn recognise(line: &str, agent: Agent) -> Option<FoundCommand> {
        let inner = match line.strip_prefix("/bin/sh -c ") {
            Some(quoted) => unquote(quoted)?.0,
            None => line.to_owned(),
        };
        let (binary, rest) = unquote(inner.strip_prefix("[ -x ")?)?;
        let (_, call) = rest.split_once(&format!("{} ", quote(&binary)))?;
        let (home, call) = match call.strip_prefix("--home ") {
            Some(rest) => unquote(rest).map(|(home, rest)| (Some(home), rest.trim_start()))?,
            None => (None, call),
        };
        let new = Self::new(binary.as_ref(), home.as_ref().map(Path::new)).ok()?;
        let behind = call.strip_prefix("hook ")?.strip_prefix(agent.word())?.trim_start();
        let event = match unquote(behind) {
            Some((event, _)) => Some(event),
            None => behind.split([' ', ';']).next().map(str::to_owned),
        };
        // The words only say what the line could be: it is ours if it would be written like this.
        [None, event]
            .into_iter()
            .flat_map(|event| {
                [Form::AroundTheCall, Form::AtTheCall].map(|form| (event.clone(), form))
            })
            .map(|(event, form)| FoundCommand { command: Self { form, ..new.clone() }, event })
            .find(|found| {
                let (command, event) = (&found.command, found.event.as_deref());
                [false, true].iter().any(|answers| command.write(agent, event, *answers) == line)
            })
    }
}

fn text(path: &Path) -> Result<String, InstallError> {
    match path.to_str() {
        Some(text) if path.is_absolute() && !text.contains('\0') => Ok(text.to_owned()),
        _ => Err(InstallError::Path(path.to_owned())),
    }
}

/// The text as one word of a POSIX shell, and of Python's `shlex`.
fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The word that [`quote`] made at the beginning of a text, and what follows it.
fn unquote(text: &str) -> Option<(String, &str)> {
    let mut word = String::new();
    let mut rest = text.strip_prefix('\'')?;
    loop {
        let (part, after) = rest.split_once('\'')?;
        word.push_str(part);
        let Some(more) = after.strip_prefix(r"\''") else { return Some((word, after)) };
        word.push('\'');
        rest = more;
    }
}

fn quote_if_needed(text: &str) -> String {
    if is_plain(text) { text.to_owned() } else { quote(text) }
}

fn is_plain(word: &str) -> bool {
    !word.is_empty()
        && word
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(binary: &str, home: Option<&str>) -> HookCommand {
        HookCommand::new(Path::new(binary), home.map(Path::new)).unwrap()
    }

    fn old(command: &HookCommand) -> HookCommand {
        HookCommand { form: Form::AtTheCall, ..command.clone() }
    }

    #[test]
    fn lines_are_guarded_in_the_form_each_host_needs() {
        let herma = command("/opt/herma", None);
        assert_eq!(
            herma.line(Agent::Claude, None),
            "[ -x '/opt/herma' ] || exit 0; { '/opt/herma' hook claude; } >/dev/null 2>&1 || :"
        );
        assert_eq!(
            herma.answering_line(Agent::Claude, None),
            "[ -x '/opt/herma' ] || exit 0; { '/opt/herma' hook claude; } 2>/dev/null || :"
        );
        assert_eq!(
            herma.line(Agent::Copilot, Some("preToolUse")),
            "[ -x '/opt/herma' ] || exit 0; { '/opt/herma' hook copilot preToolUse; } >/dev/null 2>&1 || :"
        );
        assert_eq!(
            herma.line(Agent::Cursor, None),
            "[ -x '/opt/herma' ] || exit 0; { { '/opt/herma' hook cursor >/dev/null || :; echo '{}' || :; } 2>/dev/null || :; }"
        );
        assert!(
            herma
                .line(Agent::Hermes, None)
                .starts_with("/bin/sh -c '[ -x '\\''/opt/herma'\\'' ] ||")
        );
    }

    #[test]
    fn every_line_is_known_again_whatever_the_paths() {
        for binary in [
            "/opt/herma",
            "/a b/it's \"x\" $HOME `y`\\/herma",
            "/ä/日本/hook claude;|&<>#/bin",
            "/new\nline/-x/--home",
        ] {
            for home in [None, Some("/h"), Some("/it's; a 'home' hook claude")] {
                let new = command(binary, home);
                for command in [old(&new), new] {
                    for event in [None, Some("preToolUse"), Some("an 'odd' one")] {
                        assert_known_again(&command, event);
                    }
                }
            }
        }
    }

    #[track_caller]
    fn assert_known_again(command: &HookCommand, event: Option<&str>) {
        for agent in Agent::ALL {
            let line = command.line(agent, event);
            let found = HookCommand::recognise(&line, agent).unwrap();
            assert_eq!(&found.command, command, "{line}");
            assert_eq!(found.event.as_deref(), event, "{line}");
            for other in Agent::ALL.into_iter().filter(|other| *other != agent) {
                assert_eq!(HookCommand::recognise(&line, other), None, "{line}");
            }
        }
    }

    #[test]
    fn lines_of_others_are_not_ours() {
        for line in [
            "",
            "herma hook claude",
            "/opt/herma hook claude",
            "echo herma hook claude-code",
            "echo run herma hook claude someday >> /tmp/x",
            "echo before; herma hook claude; echo after",
            "[ -x herma ] || exit 0; { herma hook claude; } >/dev/null 2>&1 || :",
            "prettier --write",
            "my-hook claude",
            "/usr/bin/tool hook claude",
            "grep -r 'herma hook claude' .",
            "'unclosed",
        ] {
            assert_eq!(HookCommand::recognise(line, Agent::Claude), None, "{line}");
        }
    }

    #[test]
    fn a_line_around_ours_is_not_ours() {
        let new = command("/opt/herma", Some("/h"));
        for command in [old(&new), new] {
            for agent in Agent::ALL {
                let line = command.line(agent, None);
                for around in [
                    format!("echo before; {line}"),
                    format!("{line}; echo after"),
                    format!("{line} "),
                    format!(" {line}"),
                    line.replace("exit 0", "exit 1"),
                    line.replace("/opt/herma", "/opt/other").replacen(
                        "/opt/other",
                        "/opt/herma",
                        1,
                    ),
                    line.replace("/dev/null", "/tmp/log"),
                    format!("sh -c {}", quote(&line)),
                ] {
                    assert_eq!(HookCommand::recognise(&around, agent), None, "{around}");
                }
            }
        }
    }

    #[test]
    fn paths_that_no_text_can_hold_are_refused() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        let odd = Path::new(OsStr::from_bytes(b"/a\xff/herma"));
        assert!(HookCommand::new(odd, None).is_err());
        assert!(HookCommand::new(Path::new("herma"), None).is_err());
    }
}
