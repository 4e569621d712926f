//! Installing and uninstalling on configurations as people have them: the bytes before and after.

mod install {
    mod commands;
    mod configurations;
    mod edits;
    mod guard;
    mod hermes;
    mod own_files;
    mod packages;
    mod properties;
    mod shared_json;
    mod switches;
    mod toml;

    use std::path::{Path, PathBuf};

    use herma_agents::Agent;
    use herma_agents::install::{HookCommand, Places, Scope, Target};

    fn places() -> Places {
        Places {
            home: PathBuf::from("/home/user"),
            variables: Vec::new(),
            has_cline_documents: false,
        }
    }

    fn command() -> HookCommand {
        HookCommand::new(Path::new("/usr/local/bin/herma"), None).expect("it is absolute")
    }

    fn other_command() -> HookCommand {
        let home = Some(Path::new("/data/it's mine"));
        HookCommand::new(Path::new("/opt/new version/herma"), home).expect("it is absolute")
    }

    /// The file of an agent that has one.
    fn target(agent: Agent) -> Target {
        let mut targets =
            agent.targets(&places(), &Scope::User).expect("every agent has a user level");
        assert_eq!(targets.len(), 1, "{agent:?}");
        targets.remove(0)
    }

    #[track_caller]
    fn installed(target: &Target, before: Option<&str>, command: &HookCommand) -> String {
        let edited = target.file.install(before.map(str::as_bytes), command);
        let edited = edited.unwrap_or_else(|error| panic!("{error}\n{}", before.unwrap_or("")));
        String::from_utf8(edited.after.expect("there is a file")).expect("it is text")
    }

    #[track_caller]
    fn uninstalled(target: &Target, before: &str) -> Option<String> {
        let edited = target.file.uninstall(before.as_bytes());
        let edited = edited.unwrap_or_else(|error| panic!("{error}\n{before}"));
        edited.after.map(|bytes| String::from_utf8(bytes).expect("it is text"))
    }

    /// Installs, installs again, installs another path, goes back to the first, and uninstalls: at the end
    /// every byte is where it was.
    #[track_caller]
    fn assert_round_trip(name: &str, target: &Target, before: Option<&str>) {
        let once = installed(target, before, &command());
        assert_eq!(installed(target, Some(&once), &command()), once, "{name}: idempotent");
        let found = target.file.look(once.as_bytes()).expect("it can be read");
        assert!(found.present && found.missing.is_empty(), "{name}: {once}");
        assert_eq!(uninstalled(target, &once).as_deref(), before, "{name}: {once}");
        let moved = installed(target, Some(&once), &other_command());
        assert_ne!(moved, once, "{name}: another path is put in");
        assert_eq!(uninstalled(target, &moved).as_deref(), before, "{name}: {moved}");
        let back = installed(target, Some(&moved), &command());
        assert_eq!(back, once, "{name}: replaced in place");
    }
}
