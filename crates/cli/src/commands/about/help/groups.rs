//! The commands in five groups, by what somebody wants who types `herma help`.

use std::fmt::Write;

use clap::Command;

/// What agents and scripts call: named, and no more.
const PLUMBING: &str = "Plumbing";

/// The groups, and the commands of each.
pub(super) const GROUPS: [(&str, &[&str]); 5] = [
    ("Go back", &["undo", "redo", "restore"]),
    (
        "Look",
        &[
            "list", "show", "diff", "find", "grep", "ls", "cat", "has", "steps", "history",
            "blame", "report", "open", "try", "promote", "bisect",
        ],
    ),
    (
        "Keep",
        &[
            "save",
            "name",
            "unname",
            "pin",
            "unpin",
            "drop",
            "purge",
            "export",
            "import",
            "checkpoints",
            "config",
            "doctor",
        ],
    ),
    ("Agents", &["install", "uninstall", "run", "can-undo", "sessions", "resume", "mcp", "acp"]),
    (
        PLUMBING,
        &["step", "turn", "notice", "hook", "slash", "classify", "completions", "man", "help"],
    ),
];

/// How the help of the program itself is laid out. What clap has for this is one list of all commands.
pub(super) fn template(whole: &Command) -> String {
    let style = whole.get_styles();
    let (header, literal) = (style.get_header(), style.get_literal());
    let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    let widest = GROUPS.iter().flat_map(|(_, names)| *names).map(|name| name.len()).max();
    let widest = widest.unwrap_or(0);
    for (group, names) in GROUPS {
        let _ = writeln!(text, "\n{header}{group}:{header:#}");
        if group == PLUMBING {
            let _ = writeln!(text, "  {}", names.join(", "));
            continue;
        }
        for name in names {
            let command = whole.find_subcommand(name);
            let about = command.and_then(Command::get_about).map(ToString::to_string);
            let about = about.unwrap_or_default();
            let _ = writeln!(text, "  {literal}{name:widest$}{literal:#}  {about}");
        }
    }
    let _ =
        write!(text, "\n{header}Options of every command:{header:#}\n{{options}}{{after-help}}");
    text
}
