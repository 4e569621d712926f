//! The command line as its users meet it: the program is run, and what it prints is compared.

mod cli {
    mod config;
    mod diff;
    mod documents;
    mod restore;
    mod save_and_list;
    mod usage;

    use herma_testkit::TestEnv;

    fn test_env() -> TestEnv {
        TestEnv::with_program(env!("CARGO_BIN_EXE_herma"))
    }

    /// What a command printed with `--json`.
    #[track_caller]
    fn json(output: &herma_testkit::Output) -> serde_json::Value {
        serde_json::from_slice(&output.stdout).expect("one JSON object on stdout")
    }
}
