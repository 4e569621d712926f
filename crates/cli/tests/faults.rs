//! The program under faults: killed, refused and short-changed at every call that changes storage, run
//! many times at once, without rights, on full disks.
//!
//! `HERMA_FAULT_STEP=1 cargo test --release -p herma --test faults` visits every call; without it, every
//! 13th is visited. `--nocapture` shows how many that were.
// Helpers of tests are tests: they prepare files, run programs, and say what was skipped or visited.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, clippy::print_stderr)]

mod faults {
    mod adoption;
    mod cap;
    mod copies;
    mod copy;
    mod crash;
    mod crash_checks;
    mod crash_elsewhere;
    mod crash_order;
    mod crash_syncs;
    mod crowd;
    mod disturb;
    mod errors;
    mod exchange;
    #[cfg(target_os = "linux")]
    mod foreign;
    mod full_disk;
    mod kill;
    mod killed_holders;
    mod many;
    mod mcp;
    mod memory;
    mod other_commands;
    #[cfg(target_os = "linux")]
    mod plain;
    mod power_cut;
    mod purge_scene;
    mod real_errors;
    mod resume;
    mod rights;
    mod scene;
    mod sessions;
    mod settings_files;
    mod shape_kills;
    mod shapes;
    mod signals;
    mod step_scenes;
    mod surroundings;
    mod sweep;
    mod syscalls;
    mod transcript;
    mod writers;

    use herma_testkit::TestEnv;
    use herma_testkit::git::Repository;

    fn test_env() -> TestEnv {
        TestEnv::with_program(env!("CARGO_BIN_EXE_herma"))
    }

    /// What a command printed with `--json`.
    #[track_caller]
    fn json(output: &herma_testkit::Output) -> serde_json::Value {
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|e| panic!("one JSON object on stdout: {e}\n{output}"))
    }

    /// Asserts that git finds nothing wrong with a store.
    #[track_caller]
    fn assert_sound(store: &Repository) {
        let said = unsound(store);
        assert!(said.is_empty(), "git fsck says: {}", said.join("\n"));
    }

    /// What git finds wrong with a store. What a killed process wrote and nothing names is no damage: it waits for
    /// collection.
    fn unsound(store: &Repository) -> Vec<String> {
        let args = ["fsck", "--strict", "--full", "--no-dangling", "--no-progress"];
        let output = store.git(args);
        let said = output.text().lines().chain(output.error_text().lines());
        // A store without branches has an unborn HEAD, which is meant.
        let said = said.filter(|line| !line.starts_with("notice:"));
        let failed = (!output.status.success()).then(|| output.status.to_string());
        said.map(str::to_owned).chain(failed).collect()
    }

    /// Is a program there? The calling test counts as skipped if not, and returns.
    fn has_program(name: &str) -> bool {
        let found = std::env::var_os("PATH").is_some_and(|path| {
            std::env::split_paths(&path).any(|directory| directory.join(name).is_file())
        });
        herma_testkit::skips::needs(name, found, format!("{name} is not installed"))
    }
}
