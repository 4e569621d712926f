//! The settings of a user.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| herma_fuzz::program::settings(text));
