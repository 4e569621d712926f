//! The agents by name, and how they run a command line. All else there is to say of one is in its file in `agents/`.

/// An agent that can call Herma.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Agent {
    /// Claude Code.
    Claude,
    /// Codex CLI.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// OpenCode.
    OpenCode,
    /// Copilot CLI.
    Copilot,
    /// Cline, the command line and the editor extension.
    Cline,
    /// Goose.
    Goose,
    /// Qwen Code.
    Qwen,
    /// Cursor.
    Cursor,
    /// Crush.
    Crush,
    /// Hermes Agent.
    Hermes,
}

/// How an agent runs the command line of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runs {
    /// By a POSIX shell.
    Shell,
    /// By the user's login shell, which may be one that does not know the syntax, or by none at all.
    Anything,
    /// By a POSIX shell, with a here-document behind the line perhaps, and reads an answer.
    ShellForAnswer,
}

impl Agent {
    /// All of them, in the order lists show them.
    pub const ALL: [Self; 11] = [
        Self::Claude,
        Self::Codex,
        Self::Gemini,
        Self::OpenCode,
        Self::Copilot,
        Self::Cline,
        Self::Goose,
        Self::Qwen,
        Self::Cursor,
        Self::Crush,
        Self::Hermes,
    ];

    /// Its word, its title, and how it runs a line.
    const fn row(self) -> (&'static str, &'static str, Runs) {
        match self {
            Self::Claude => ("claude", "Claude Code", Runs::Shell),
            Self::Codex => ("codex", "Codex CLI", Runs::Anything),
            Self::Gemini => ("gemini", "Gemini CLI", Runs::Shell),
            Self::OpenCode => ("opencode", "OpenCode", Runs::Shell),
            Self::Copilot => ("copilot", "Copilot CLI", Runs::Shell),
            Self::Cline => ("cline", "Cline", Runs::Shell),
            Self::Goose => ("goose", "Goose", Runs::Shell),
            Self::Qwen => ("qwen", "Qwen Code", Runs::Shell),
            Self::Cursor => ("cursor", "Cursor", Runs::ShellForAnswer),
            Self::Crush => ("crush", "Crush", Runs::Shell),
            Self::Hermes => ("hermes", "Hermes Agent", Runs::Anything),
        }
    }

    /// The word the command line, records and JSON use.
    pub const fn word(self) -> &'static str {
        self.row().0
    }

    /// The name its makers use.
    pub const fn title(self) -> &'static str {
        self.row().1
    }

    pub(crate) const fn runs(self) -> Runs {
        self.row().2
    }

    /// The agent a word means.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|agent| agent.word() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_is_found_by_its_word() {
        for agent in Agent::ALL {
            assert_eq!(Agent::from_word(agent.word()), Some(agent));
        }
        assert_eq!(Agent::from_word("aider"), None);
    }
}
