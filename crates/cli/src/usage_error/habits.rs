//! What people type who know other programs, and what they mean.

/// Commands of other programs, and what to type here.
#[rustfmt::skip]
const COMMANDS: &[(&[&str], &str)] = &[
    (&["init", "setup", "start"], "Nothing has to be set up: `herma save` saves the project; `herma install` connects your agents."),
    (&["files", "dir"], "`herma ls N` lists what checkpoint N holds; `herma list` lists the checkpoints."),
    (&["checkpoint", "snapshot", "commit", "backup", "create", "add"], "`herma save` makes a checkpoint; `herma list` lists them; `herma checkpoints` looks after the store."),
    (&["revert", "reset", "back", "rewind"], "`herma undo` undoes the last prompt or restore; `herma restore N` goes back to a checkpoint."),
    (&["checkout", "switch"], "`herma restore N` brings back checkpoint N; `herma restore N FILE` one file of it."),
    (&["ui", "tui", "gui"], "`herma list` shows the timeline, `herma show N` one change; `herma undo` undoes the last prompt."),
    (&["delete", "rm", "remove"], "`herma drop N` removes a checkpoint; `herma purge FILE` removes a file from all of them."),
    (&["clean", "prune", "gc"], "`herma checkpoints prune` frees space; `herma drop N` removes a checkpoint."),
    (&["verify", "check", "fsck"], "`herma checkpoints verify` checks the store; `herma doctor` the setup."),
    (&["tag", "label"], "`herma name N NAME` gives checkpoint N a name."),
    (&["settings", "set", "get"], "`herma config` shows the settings; `herma config set KEY VALUE` changes one."),
    (&["hooks", "agents"], "`herma install` shows which agents call Herma; `herma steps` what they did."),
];

/// What to type instead of a command of another program.
pub(super) fn instead_of(command: &str) -> Option<&'static str> {
    let found = COMMANDS.iter().find(|(names, _)| names.contains(&command));
    found.map(|(_, instead)| *instead)
}

/// What to type where a command got an argument that it does not take. Both are fit to be shown.
pub(super) fn instead_of_argument(command: &str, argument: &str) -> Option<String> {
    let number = argument.strip_prefix('-').filter(|digits| digits.parse::<u32>().is_ok());
    let takes_checkpoint = ["restore", "show", "diff", "drop", "pin", "unpin", "name"];
    match command {
        "save" if !argument.starts_with('-') => Some(format!(
            "A save is always of the whole project; `herma save -m \"{argument}\"` says why."
        )),
        "run" | "can-undo" | "classify" | "acp" => {
            Some(format!("Put `--` before the command: `herma {command} -- {argument}`"))
        }
        "list" if argument.parse::<u32>().is_ok() => {
            Some(format!("`herma list -n {argument}` lists the newest {argument}."))
        }
        "list" if !argument.starts_with('-') => Some(format!(
            "`herma list --path {argument}` lists what changed there; `herma history {argument}`, its versions."
        )),
        "diff" if argument == "--since" => Some(
            "`herma steps --since 1h` lists what agents did in that time; `herma diff N` shows what changed since checkpoint N."
                .to_owned(),
        ),
        "restore" if ["--session", "--turn", "--since", "--only-agent", "--agent"].contains(&argument) => {
            Some(format!("`herma undo {argument}` undoes that; a restore goes to one state."))
        }
        _ if number.is_some() && takes_checkpoint.contains(&command) => {
            let back = number.unwrap_or_default();
            Some(format!("`herma {command} @-{back}` counts back from the newest checkpoint."))
        }
        "undo" if number.is_some() => {
            let step = number.unwrap_or_default();
            Some(format!(
                "`herma undo {step}` undoes change {step}; `herma undo` undoes the last prompt or restore."
            ))
        }
        _ => None,
    }
}
