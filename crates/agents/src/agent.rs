//! The agents by name.

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

    /// The word the command line, records and JSON use.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::OpenCode => "opencode",
            Self::Copilot => "copilot",
            Self::Cline => "cline",
            Self::Goose => "goose",
            Self::Qwen => "qwen",
            Self::Cursor => "cursor",
            Self::Crush => "crush",
            Self::Hermes => "hermes",
        }
    }

    /// The name its makers use.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex CLI",
            Self::Gemini => "Gemini CLI",
            Self::OpenCode => "OpenCode",
            Self::Copilot => "Copilot CLI",
            Self::Cline => "Cline",
            Self::Goose => "Goose",
            Self::Qwen => "Qwen Code",
            Self::Cursor => "Cursor",
            Self::Crush => "Crush",
            Self::Hermes => "Hermes Agent",
        }
    }

    /// Does it tell when a tool has run?
    pub const fn tells_ends(self) -> bool {
        !matches!(self, Self::Crush)
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
