//! The agents by name, and how they run a command line. All else there is to say of one is in its file in `agents/`.

macro_rules! agents {
    ($($name:ident = $word:literal, $title:literal, $runs:ident;)*) => {
        /// An agent that can call Herma.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Agent {
            $(#[doc = $title] $name,)*
        }

        impl Agent {
            /// All of them, in the order lists show them.
            pub const ALL: [Self; [$($word),*].len()] = [$(Self::$name),*];

            /// Its word, its title, and how it runs a line.
            const fn row(self) -> (&'static str, &'static str, Runs) {
                match self {
                    $(Self::$name => ($word, $title, Runs::$runs),)*
                }
            }
        }
    };
}

agents! {
    Claude = "claude", "Claude Code", Shell;
    Codex = "codex", "Codex CLI", Anything;
    Gemini = "gemini", "Gemini CLI", Shell;
    OpenCode = "opencode", "OpenCode", Shell;
    Copilot = "copilot", "Copilot CLI", Shell;
    Cline = "cline", "Cline", Shell;
    Goose = "goose", "Goose", Shell;
    Qwen = "qwen", "Qwen Code", Shell;
    Cursor = "cursor", "Cursor", ShellForAnswer;
    Crush = "crush", "Crush", Shell;
    Hermes = "hermes", "Hermes Agent", Anything;
    Kilo = "kilo", "Kilo CLI", Shell;
    Pi = "pi", "Pi", Shell;
    Vibe = "vibe", "Mistral Vibe", Shell;
    Kimi = "kimi", "Kimi Code", Shell;
    Droid = "droid", "Droid", Anything;
    Grok = "grok", "Grok", Shell;
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
