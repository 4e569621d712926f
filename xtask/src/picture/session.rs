//! The session that the picture shows. To show another one, change this file and run `cargo xtask picture`.

/// The day of the session, in UTC; everything happens on it at the times below.
pub const DAY: &str = "2026-11-03";

/// Columns of the terminal.
pub const COLUMNS: u16 = 88;

/// The project it begins with.
pub const FILES: &[(&str, &str)] = &[
    ("README.md", "# Shop\n\nRun `python -m shop`.\n"),
    ("config.py", "DEBUG = False\nPORT = 8000\n"),
    ("shop/cart.py", "def total(items):\n    return sum(items)\n"),
    ("docs/install.md", "# Install\n"),
    ("docs/usage.md", "# Usage\n"),
];

/// What happens, in this order.
pub const SESSION: &[Act] = &[
    Act::Type("15:48", "herma save -m 'the cart works'"),
    Act::Ask(
        "16:18",
        "clean the repo",
        &[
            Call {
                tool: "Edit",
                file: "config.py",
                command: "sed -i 's/^DEBUG.*/DEBUG = True/' config.py",
            },
            Call { tool: "Bash", file: "", command: "rm -rf docs README.md" },
        ],
    ),
    Act::Type("16:21", "echo 'CURRENCY = \"EUR\"' >> config.py  # by hand"),
    Act::Type("16:22", "herma list"),
    Act::Type("16:22", "herma undo"),
    Act::Type("16:23", "cat config.py"),
    Act::Type("16:23", "herma list"),
];

/// One thing that happens.
pub enum Act {
    /// Somebody types this at the prompt, at this time.
    Type(&'static str, &'static str),
    /// Claude Code is asked this, and does that: its hooks are called as it calls them.
    Ask(&'static str, &'static str, &'static [Call]),
}

/// What an agent does with one of its tools.
pub struct Call {
    /// `Edit` or `Bash`.
    pub tool: &'static str,
    /// The file that `Edit` is told.
    pub file: &'static str,
    /// What does it; `Bash` is told so.
    pub command: &'static str,
}
