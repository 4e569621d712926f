//! The engine, driven through its doors.
#![allow(
    unreachable_pub,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    dead_code,
    reason = "a test binary has no other crates, and prepares its files with std"
)]

mod engine {
    mod arrival;
    pub mod authorship;
    mod authorship_model;
    mod calls;
    mod can_undo;
    mod can_undo_gaps;
    pub mod changed_rules;
    pub mod child;
    mod cleaning;
    mod cleaning_crowd;
    mod cleaning_plans;
    mod collect_attacks;
    pub mod collect_damage;
    mod collect_foreign;
    mod craft;
    mod crafted;
    mod crafted_store;
    mod defects_capture;
    mod defects_cleaning;
    mod defects_clock;
    mod defects_disk;
    mod defects_history;
    mod defects_legacy;
    mod defects_places;
    mod defects_refusals;
    mod defects_rollback;
    mod defects_upkeep;
    mod defects_volumes;
    pub mod differential;
    mod differential_ignore;
    mod green;
    pub mod guards;
    mod hermes;
    mod hostile_steps;
    mod import_legacy;
    pub mod interleavings;
    mod kept_of_files;
    pub mod ledger;
    mod legacy_kills;
    mod limits_of_projects;
    mod looks;
    mod lost_objects;
    mod lost_receipts;
    mod lost_refs;
    mod missing_projects;
    mod model;
    mod model_cleaning;
    mod model_crash;
    mod model_run;
    mod model_state;
    mod mounts;
    mod names;
    mod newest_ones;
    mod numbers;
    mod oracle;
    mod outside;
    mod owners;
    mod past;
    mod paths;
    #[cfg(target_os = "linux")]
    mod plain;
    pub mod project;
    pub mod purge;
    mod purge_elsewhere;
    mod purge_litter;
    mod repair;
    mod restore_guards;
    mod reviewed;
    mod round_trip;
    mod rows_of_steps;
    mod rule_interleavings;
    mod safety_proof;
    mod save_guards;
    mod script;
    mod secret_content;
    mod session_changes;
    mod shares;
    mod single_paths;
    mod special;
    mod step_failures;
    mod step_guards;
    mod step_kills;
    mod step_list;
    mod step_properties;
    pub mod steps;
    mod steps_reviewed;
    mod store_files;
    mod taken_up;
    mod undo_cases;
    pub mod undo_history;
    pub mod upkeep;
    mod verify;
}
