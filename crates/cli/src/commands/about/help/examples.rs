//! Three examples for every command: what to type, and what that does. Tests read each of them as a command line.

use std::fmt::Write;

/// What to type, and what that does.
type Example = (&'static str, &'static str);

/// The examples of a command, by the words that call it.
pub(crate) fn of(command: &str) -> &'static [Example] {
    let found = EXAMPLES.iter().find(|(name, _)| *name == command);
    found.map_or(&[], |(_, examples)| examples)
}

/// The examples of a command below each other, as its help shows them.
pub(super) fn text(command: &str) -> String {
    let examples = of(command);
    let widest = examples.iter().map(|(line, _)| line.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (line, what) in examples {
        let _ = write!(text, "\n  {line:widest$}  {what}");
    }
    text
}

#[rustfmt::skip]
const EXAMPLES: &[(&str, &[Example])] = &[
    ("herma", &[
        ("herma save -m \"before the agent\"", "save the project"),
        ("herma list", "what was saved, and when"),
        ("herma undo", "go back one move"),
    ]),
    ("herma undo", &[
        ("herma undo", "go back one move"),
        ("herma undo 13 --dry-run", "what undoing step 13 would change"),
        ("herma undo 13 -- src/main.rs", "what step 13 did to one file"),
    ]),
    ("herma redo", &[
        ("herma redo", "go forward again after `herma undo`"),
        ("herma redo --dry-run", "what that would change"),
        ("herma redo --json", "the same, for a program"),
    ]),
    ("herma restore", &[
        ("herma restore 12", "go back to checkpoint 12"),
        ("herma restore 12 src/main.rs", "bring back one file"),
        ("herma restore before-refactor --all", "hand edits go, too"),
    ]),
    ("herma list", &[
        ("herma list", "all checkpoints"),
        ("herma list -n 5", "the five newest"),
        ("herma list --json", "all of them, for a program"),
    ]),
    ("herma show", &[
        ("herma show", "the newest checkpoint"),
        ("herma show 12", "why and when 12 was saved, what it lacks"),
        ("herma show before-refactor", "the one with that name"),
    ]),
    ("herma diff", &[
        ("herma diff", "what changed since the newest checkpoint"),
        ("herma diff 12 src", "what changed in src since checkpoint 12"),
        ("herma diff 12 15 --stat", "lines per file between two checkpoints"),
    ]),
    ("herma steps", &[
        ("herma steps", "what agents changed, newest first"),
        ("herma steps --since 2h", "only in the last two hours"),
        ("herma steps --agent claude --all", "all that Claude Code did"),
    ]),
    ("herma history", &[
        ("herma history src/main.rs", "its versions, and who made them"),
        ("herma history notes/gone.md", "also of a file that is gone"),
        ("herma history a.txt --json", "the same, for a program"),
    ]),
    ("herma blame", &[
        ("herma blame src/main.rs", "who wrote each line"),
        ("herma blame src/main.rs --no-pager", "without a pager"),
        ("herma blame src/main.rs --json", "the same, for a program"),
    ]),
    ("herma save", &[
        ("herma save -m \"before refactor\"", "save, and say why"),
        ("herma save --name before-refactor", "save under a name, which keeps it"),
        ("herma save --rehash", "read every file again"),
    ]),
    ("herma name", &[
        ("herma name @ works", "name the newest checkpoint"),
        ("herma name 12 before-refactor", "name checkpoint 12"),
        ("herma name works tests-pass", "give a second name"),
    ]),
    ("herma unname", &[
        ("herma unname works", "remove a name"),
        ("herma unname works --quiet", "and say nothing"),
        ("herma unname works --json", "the same, for a program"),
    ]),
    ("herma pin", &[
        ("herma pin 12", "cleaning never removes checkpoint 12"),
        ("herma pin @", "nor the newest"),
        ("herma pin @-2", "nor the one two before it"),
    ]),
    ("herma unpin", &[
        ("herma unpin 12", "cleaning may remove checkpoint 12"),
        ("herma unpin @", "the newest may go, too"),
        ("herma unpin works", "so may one with a name"),
    ]),
    ("herma drop", &[
        ("herma drop 12", "remove checkpoint 12, after asking"),
        ("herma drop 12 --yes", "without asking"),
        ("herma drop works", "the one with that name"),
    ]),
    ("herma purge", &[
        ("herma purge .env --dry-run", "which checkpoints have the file"),
        ("herma purge .env", "remove it from all of them"),
        ("herma purge .env --copies", "and its copies at other paths"),
    ]),
    ("herma checkpoints", &[
        ("herma checkpoints", "what the store holds and costs"),
        ("herma checkpoints prune", "free space"),
        ("herma checkpoints verify", "check that all can be brought back"),
    ]),
    ("herma checkpoints status", &[
        ("herma checkpoints status", "what the store holds and costs"),
        ("herma checkpoints status --limit 5", "the five largest projects"),
        ("herma checkpoints status --json", "the same, for a program"),
    ]),
    ("herma checkpoints prune", &[
        ("herma checkpoints prune --dry-run", "what would go"),
        ("herma checkpoints prune --yes", "delete it without asking"),
        ("herma checkpoints prune --max-size-mb 200", "down to 200 MB"),
    ]),
    ("herma checkpoints clear", &[
        ("herma checkpoints clear", "delete everything, after asking"),
        ("herma checkpoints clear --yes", "without asking"),
        ("herma checkpoints clear --home DIR", "in another home"),
    ]),
    ("herma checkpoints clear-legacy", &[
        ("herma checkpoints clear-legacy", "delete those of version 1"),
        ("herma checkpoints clear-legacy --yes", "without asking"),
        ("herma checkpoints clear-legacy --home DIR", "in another home"),
    ]),
    ("herma checkpoints import-legacy", &[
        ("herma checkpoints import-legacy", "import the history of version 1"),
        ("herma checkpoints import-legacy --pin", "and keep it for good"),
        ("herma checkpoints import-legacy --json", "say it to a program"),
    ]),
    ("herma checkpoints gc", &[
        ("herma checkpoints gc", "free what nothing needs"),
        ("herma checkpoints gc --quiet", "and say nothing"),
        ("herma checkpoints gc --json", "the same, for a program"),
    ]),
    ("herma checkpoints verify", &[
        ("herma checkpoints verify", "check what the store says it has"),
        ("herma checkpoints verify --read-data", "read every file of it"),
        ("herma checkpoints verify --json", "the same, for a program"),
    ]),
    ("herma checkpoints repair", &[
        ("herma checkpoints repair", "repair what is damaged"),
        ("herma checkpoints repair --quiet", "only name what cannot be"),
        ("herma checkpoints repair --json", "the same, for a program"),
    ]),
    ("herma config", &[
        ("herma config", "the settings in force"),
        ("herma config set checkpoints.enabled true", "change one"),
        ("herma config show --json", "all of them, for a program"),
    ]),
    ("herma config show", &[
        ("herma config show", "the settings, and where they come from"),
        ("herma config show --no-pager", "without a pager"),
        ("herma config show --json", "the same, for a program"),
    ]),
    ("herma config set", &[
        ("herma config set checkpoints.enabled true", "let agents be saved"),
        ("herma config set max_file_size_mb 50", "save larger files"),
        ("herma config set checkpoints.enabled false", "stop saving agents"),
    ]),
    ("herma doctor", &[
        ("herma doctor", "check the setup"),
        ("herma doctor --adopt", "reconnect a project that was moved"),
        ("herma doctor --json", "the same, for a program"),
    ]),
    ("herma install", &[
        ("herma install claude", "let Claude Code's work be undone"),
        ("herma install --all", "that of every agent you use"),
        ("herma install codex --dry-run", "what would change in which file"),
    ]),
    ("herma uninstall", &[
        ("herma uninstall claude", "remove what `herma install` added"),
        ("herma uninstall --all", "from every agent"),
        ("herma uninstall codex --dry-run", "what would change in which file"),
    ]),
    ("herma run", &[
        ("herma run -- make clean", "run it, know what it changed"),
        ("herma run --name before-upgrade -- npm update", "name the state before it"),
        ("herma run --agent aider -- aider", "a whole session of an agent"),
    ]),
    ("herma can-undo", &[
        ("herma can-undo -- rm -r build", "could this be undone?"),
        ("herma can-undo --shell \"make && rm x\"", "a line for a shell"),
        ("herma can-undo --json -- git push", "the answer, for a program"),
    ]),
    ("herma sessions", &[
        ("herma sessions list", "the sessions of Hermes"),
        ("herma sessions search refactor", "who said that?"),
        ("herma sessions prune --dry-run", "which old ones would go"),
    ]),
    ("herma sessions list", &[
        ("herma sessions list", "the latest activity first"),
        ("herma sessions list --newer-than 7", "those of this week"),
        ("herma sessions list --title refactor", "by their titles"),
    ]),
    ("herma sessions show", &[
        ("herma sessions show 20260422_1200", "what was said in it"),
        ("herma sessions show 2026 --no-pager", "the beginning of an id is enough"),
        ("herma sessions show 2026 --json", "the same, for a program"),
    ]),
    ("herma sessions search", &[
        ("herma sessions search refactor", "messages with that word"),
        ("herma sessions search api tests", "with both words"),
        ("herma sessions search api --newer-than 7", "said this week"),
    ]),
    ("herma sessions stats", &[
        ("herma sessions stats", "sessions, messages and bytes"),
        ("herma sessions stats --home DIR", "in another home"),
        ("herma sessions stats --json", "the same, for a program"),
    ]),
    ("herma sessions export", &[
        ("herma sessions export all.jsonl", "write all of them to a file"),
        ("herma sessions export - --title api", "some of them to stdout"),
        ("herma sessions export one.jsonl --session-id 2026", "one of them"),
    ]),
    ("herma sessions rename", &[
        ("herma sessions rename 2026 The API", "give it a title"),
        ("herma sessions rename 2026 \"The API\"", "the same"),
        ("herma sessions rename 2026 API --json", "for a program"),
    ]),
    ("herma sessions delete", &[
        ("herma sessions delete 20260422_1200", "delete it, after asking"),
        ("herma sessions delete 2026 --yes", "without asking"),
        ("herma sessions delete 2026 --yes --json", "for a program"),
    ]),
    ("herma sessions prune", &[
        ("herma sessions prune --dry-run", "which would go"),
        ("herma sessions prune --older-than 90", "those of three months ago"),
        ("herma sessions prune --orphan-files", "files that belong to none"),
    ]),
    ("herma sessions archive", &[
        ("herma sessions archive --older-than 30", "move old ones into files"),
        ("herma sessions archive 20260422_1200", "one of them"),
        ("herma sessions archive --dry-run", "which would be moved"),
    ]),
    ("herma resume", &[
        ("herma resume list", "the sessions with a record"),
        ("herma resume show s1", "what session s1 was doing"),
        ("herma resume save s1 --task \"Port the API\"", "write its record"),
    ]),
    ("herma resume save", &[
        ("herma resume save s1 --task \"Port the API\"", "write a record"),
        ("herma resume save s1 --task T --status blocked", "and how far it is"),
        ("herma resume save s1 --from-json r.json", "as a program has it"),
    ]),
    ("herma resume update", &[
        ("herma resume update s1 --status completed", "the task is done"),
        ("herma resume update s1 --progress tests=completed", "a step is"),
        ("herma resume update s1 --decision \"keep v1\"", "add a decision"),
    ]),
    ("herma resume show", &[
        ("herma resume show s1", "the record of a session"),
        ("herma resume show s1 --no-pager", "without a pager"),
        ("herma resume show s1 --json", "the same, for a program"),
    ]),
    ("herma resume list", &[
        ("herma resume list", "the sessions with a record"),
        ("herma resume list --no-pager", "without a pager"),
        ("herma resume list --json", "the same, for a program"),
    ]),
    ("herma resume delete", &[
        ("herma resume delete s1", "remove the record of a session"),
        ("herma resume delete s1 --quiet", "and say nothing"),
        ("herma resume delete s1 --json", "the same, for a program"),
    ]),
    ("herma resume gc", &[
        ("herma resume gc --dry-run", "which records are out of date"),
        ("herma resume gc", "remove them"),
        ("herma resume gc --days 30", "keep unfinished tasks for longer"),
    ]),
    ("herma resume inject", &[
        ("herma resume inject s2", "what s2 should know"),
        ("herma resume inject s2 --parent s1", "of the session before it"),
        ("herma resume inject s2 --json", "the same, for a program"),
    ]),
    ("herma mcp", &[
        ("herma mcp", "tools for an agent, over stdin and stdout"),
        ("herma mcp --all-tools", "every tool, for other programs"),
        ("herma mcp --socket run/herma.sock", "for many clients"),
    ]),
    ("herma acp", &[
        ("herma acp -- gemini --acp", "save before Gemini CLI works"),
        ("herma acp --name me -- my-agent", "say whose work it is"),
        ("herma acp --wait 10 -- my-agent", "give a save ten seconds"),
    ]),
    ("herma step", &[
        ("herma step begin --agent me --tool edit", "save, print a number"),
        ("herma step end 7", "save, say what step 7 changed"),
        ("herma step end --unknown 7", "only note that it is over"),
    ]),
    ("herma step begin", &[
        ("herma step begin --agent me --tool edit", "say who does what"),
        ("herma step begin --call c1 --path a.txt", "by the agent's own id"),
        ("herma step begin --command \"make\"", "the command it runs"),
    ]),
    ("herma step end", &[
        ("herma step end 7", "say what step 7 changed"),
        ("herma step end --call c1", "by the agent's own id"),
        ("herma step end 7 --unknown", "only note that it is over"),
    ]),
    ("herma turn", &[
        ("herma turn begin --session s1", "a prompt begins a turn"),
        ("herma turn begin --session s1 --prompt \"fix it\"", "and what it was"),
        ("herma turn end --session s1", "the turn is over"),
    ]),
    ("herma turn begin", &[
        ("herma turn begin --session s1", "a prompt begins a turn"),
        ("herma turn begin --session s1 --prompt \"fix it\"", "and what it was"),
        ("herma turn begin --session s1 --agent me", "and whose work follows"),
    ]),
    ("herma turn end", &[
        ("herma turn end --session s1", "the turn is over"),
        ("herma turn end --session s1 --quiet", "and say nothing"),
        ("herma turn end --session s1 --json", "the same, for a program"),
    ]),
    ("herma hook", &[
        ("herma hook claude", "what Claude Code calls"),
        ("herma hook cursor beforeShellExecution", "what Cursor calls"),
        ("herma hook codex", "what Codex calls"),
    ]),
    ("herma slash", &[
        ("herma slash /rollback", "the list, as a chat shows it"),
        ("herma slash \"/rollback diff 2\"", "what changed since an entry"),
        ("herma slash /diff --platform telegram", "in Telegram's form"),
    ]),
    ("herma classify", &[
        ("herma classify -- git status", "does this only read?"),
        ("herma classify -- make", "may this change files?"),
        ("herma classify --json -- ls", "the answer, for a program"),
    ]),
    ("herma completions", &[
        ("herma completions bash", "what to put into .bashrc"),
        ("herma completions zsh", "what to put into .zshrc"),
        ("herma completions fish", "what to put into config.fish"),
    ]),
    ("herma man", &[
        ("herma man", "the manual page of herma"),
        ("herma man man1", "all pages, as files"),
        ("herma man /usr/local/share/man/man1", "where man finds them"),
    ]),
    ("herma help", &[
        ("herma help", "all commands"),
        ("herma help undo", "all about going back"),
        ("herma help retention", "how long checkpoints are kept"),
    ]),
];
