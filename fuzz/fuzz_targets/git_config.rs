//! The `config` of a store.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| herma_fuzz::core::git_config(bytes));
