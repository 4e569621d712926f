//! The code that keeps the promises, and the tests that must notice its mutants.

/// Code that keeps a promise.
pub struct Part {
    /// A folder or a file, as the mutants in it are called.
    pub path: &'static str,
    /// The packages with the tests that must notice.
    pub packages: &'static [&'static str],
    /// The programs whose tests must notice.
    pub programs: &'static [&'static str],
    /// Parts of the names of the tests that are tried first; none means all.
    pub filters: &'static [&'static str],
}

const ENGINE: &[&str] = &["--lib", "--test=engine"];

/// What is tried quickly comes first.
pub const PARTS: [Part; 12] = [
    Part {
        path: "crates/store/src/refs",
        packages: &["herma-store"],
        programs: &["--lib"],
        filters: &["refs::"],
    },
    Part {
        path: "crates/reversal/src",
        packages: &["herma-reversal", "herma-core"],
        programs: ENGINE,
        filters: &[
            "overlay::",
            "properties::",
            "rules::",
            "undo::",
            "steps::",
            "steps_reviewed::",
            "session_changes::",
        ],
    },
    Part {
        path: "crates/core/src/undo",
        packages: &["herma-core"],
        programs: ENGINE,
        filters: &[
            "undo::",
            "guards::",
            "steps::",
            "step_failures::",
            "steps_reviewed::",
            "session_changes::",
            "looks::",
            "outside::",
            "changed_rules::",
        ],
    },
    Part {
        path: "crates/core/src/steps",
        packages: &["herma-core"],
        programs: ENGINE,
        filters: &[
            "steps::",
            "guards::",
            "calls::",
            "step_failures::",
            "step_list::",
            "defects_rollback::",
            "outside::",
            "hostile_steps::",
            "steps_reviewed::",
        ],
    },
    Part {
        path: "crates/cli/src/hook",
        packages: &["herma"],
        programs: &["--bin=herma", "--test=cli"],
        filters: &["hook::"],
    },
    Part {
        path: "crates/core/src/save",
        packages: &["herma-core"],
        programs: ENGINE,
        filters: &[
            "save::",
            "engine::steps::",
            "safety_proof::",
            "guards::",
            "changed_rules::",
            "purge::",
            "round_trip::",
            "defects_capture::",
            "lost_objects::",
            "lost_receipts::",
            "looks::",
            "names::",
            "paths::",
            "secret_content::",
        ],
    },
    Part {
        path: "crates/core/src/restore",
        packages: &["herma-core"],
        programs: ENGINE,
        filters: &[
            "restore::",
            "guards::",
            "arrival::",
            "hermes::",
            "kept_of_files::",
            "lost_receipts::",
            "mounts::a_file_mounted_over",
            "defects_r",
            "round_trip::",
            "single_paths::",
            "safety_proof::",
            "names::",
            "paths::",
        ],
    },
    Part {
        path: "crates/agents/src/agents",
        packages: &["herma-agents"],
        programs: &["--lib", "--test=readers", "--test=install"],
        filters: &[],
    },
    Part {
        path: "crates/agents/src/install",
        packages: &["herma-agents"],
        programs: &["--lib", "--test=install"],
        filters: &[],
    },
    Part {
        path: "crates/store/src/gc",
        packages: &["herma-store", "herma-core"],
        programs: ENGINE,
        filters: &[
            "gc::",
            "cleaning::",
            "collect_attacks::",
            "collect_damage::",
            "collect_foreign::",
            "upkeep::",
        ],
    },
    Part {
        path: "crates/core/src/cleanup",
        packages: &["herma-core"],
        programs: ENGINE,
        filters: &[
            "cleanup::",
            "cleaning::",
            "cleaning_plans::",
            "defects_cleaning::",
            "kept_of_files::",
            "newest_ones::",
            "upkeep::",
        ],
    },
    Part {
        path: "crates/sessions/src/removal",
        packages: &["herma-sessions"],
        programs: &["--lib", "--test=sessions"],
        filters: &[],
    },
];

impl Part {
    pub fn of(mutant: &str) -> Option<&'static Self> {
        let is_in = |part: &&Self| {
            mutant.strip_prefix(part.path).is_some_and(|rest| rest.starts_with(['/', '.']))
        };
        PARTS.iter().find(is_in)
    }

    /// Its place in the list.
    pub fn rank(&self) -> Option<usize> {
        PARTS.iter().position(|part| part.path == self.path)
    }

    /// How cargo-mutants is told where it is.
    pub fn files(&self) -> [String; 4] {
        let file = "--file".to_owned();
        [file.clone(), format!("{}/**", self.path), file, format!("{}.rs", self.path)]
    }
}
