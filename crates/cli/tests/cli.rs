//! The command line as its users meet it: the program is run, and what it prints is compared.

mod cli {
    mod acp;
    mod addresses;
    mod attempts;
    mod authors;
    mod bisect;
    mod can_undo;
    mod chats;
    mod checkpoints;
    mod checkpoints_damage;
    mod checkpoints_legacy;
    mod classify;
    mod completions;
    mod config;
    mod deleted_project;
    mod diff;
    mod doctor_agents;
    mod documents;
    mod exchange;
    mod exchange_formats;
    mod green;
    mod hook;
    mod install;
    mod install_choice;
    mod install_obstacles;
    mod lost_packs;
    mod maintenance;
    mod many_agents;
    mod mcp;
    mod mcp_agents;
    mod mcp_client;
    mod mcp_clients;
    mod mcp_hostile;
    mod mcp_programs;
    mod newcomers;
    mod notice;
    mod open;
    mod past;
    mod places;
    mod prune;
    mod purge;
    mod restore;
    mod resume;
    mod reviewed;
    mod run;
    mod run_terminal;
    mod save_and_list;
    mod sessions;
    mod sessions_care;
    mod slash;
    mod steps;
    mod stories;
    mod transcript;
    mod typed;
    mod undo_cases;
    #[path = "../../../core/tests/engine/undo_history.rs"]
    #[allow(
        unreachable_pub,
        dead_code,
        clippy::unwrap_used,
        clippy::disallowed_methods,
        reason = "it belongs to the engine's tests, which need more of it"
    )]
    mod undo_history;
    mod undo_patch;
    mod undo_steps;
    mod usage;
    mod wrong_inputs;

    use herma_testkit::TestEnv;

    fn test_env() -> TestEnv {
        TestEnv::with_program(env!("CARGO_BIN_EXE_herma"))
    }

    /// A shell with the environment the program under test would have.
    #[allow(clippy::disallowed_methods)]
    fn shell(env: &TestEnv, project: &herma_testkit::env::WorkDir<'_>) -> std::process::Command {
        let mut command = std::process::Command::new("sh");
        command.env_clear().envs(env.variables()).current_dir(project.path());
        command
    }

    /// Text that does not compress to nothing, different for every seed.
    fn random_text(seed: u64, lines: u64) -> String {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let line = |_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            format!("{state:016x}\n")
        };
        (0..lines).map(line).collect()
    }

    /// The output with `[SIZE]` for sizes and single spaces, since both depend on the times in commits.
    fn without_sizes(output: &herma_testkit::Output) -> String {
        let mut text = String::new();
        for line in output.to_string().lines() {
            let mut words: Vec<&str> = line.split_whitespace().collect();
            for at in (1..words.len()).rev() {
                let unit = words[at].trim_end_matches(['.', ':', ',']);
                let is_number = words[at - 1].parse::<f64>().is_ok();
                if is_number && matches!(unit, "B" | "KB" | "MB" | "GB") {
                    words[at - 1] = "[SIZE]";
                    words.remove(at);
                }
            }
            text.push_str(&words.join(" "));
            text.push('\n');
        }
        text
    }

    /// What a command printed with `--json`.
    #[track_caller]
    fn json(output: &herma_testkit::Output) -> serde_json::Value {
        serde_json::from_slice(&output.stdout).expect("one JSON object on stdout")
    }
}
