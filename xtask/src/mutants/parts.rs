//! The code that keeps the promises, and the tests that must notice its mutants.

/// Code that keeps a promise: folders and files, as the mutants in them are called.
pub const PARTS: [&str; 13] = [
    "crates/store/src/refs",
    "crates/store/src/gc",
    "crates/reversal/src",
    "crates/records/src/checkpoint/receipt",
    "crates/core/src/save",
    "crates/core/src/restore",
    "crates/core/src/undo",
    "crates/core/src/steps",
    "crates/core/src/cleanup",
    "crates/cli/src/hook",
    "crates/agents/src/agents",
    "crates/agents/src/install",
    "crates/sessions/src/removal",
];

/// The packages with the tests that must notice.
pub const PACKAGES: [&str; 7] = [
    "herma-store",
    "herma-reversal",
    "herma-records",
    "herma-core",
    "herma",
    "herma-agents",
    "herma-sessions",
];

/// The programs with these tests.
pub const PROGRAMS: [&str; 7] = [
    "--lib",
    "--bin=herma",
    "--test=engine",
    "--test=cli",
    "--test=readers",
    "--test=install",
    "--test=sessions",
];

/// How cargo-mutants is told where the parts are.
pub fn files() -> impl Iterator<Item = String> {
    let file = || "--file".to_owned();
    PARTS
        .into_iter()
        .flat_map(move |part| [file(), format!("{part}/**"), file(), format!("{part}.rs")])
}
