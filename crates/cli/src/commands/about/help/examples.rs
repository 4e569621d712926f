//! Three examples for every command: what to type, and what that does. `examples.txt` has them as they are shown; a test reads each
//! of them as a command line.

const EXAMPLES: &str = include_str!("examples.txt");

/// The examples of a command, by the words that call it, below each other; nothing if it has none.
pub(super) fn text(command: &str) -> &'static str {
    let blocks = EXAMPLES.split("\n\n");
    let found =
        blocks.filter_map(|block| block.split_once(":\n")).find(|(name, _)| *name == command);
    found.map_or("", |(_, examples)| examples.trim_end())
}

/// The same as pairs: what to type, and what that does.
pub(crate) fn of(command: &str) -> Vec<(&'static str, &'static str)> {
    let lines = text(command).lines().filter_map(|line| line.trim_start().split_once("  "));
    lines.map(|(line, what)| (line, what.trim_start())).collect()
}
