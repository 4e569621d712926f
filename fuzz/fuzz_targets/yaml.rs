//! Resume records.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| herma_fuzz::texts::yaml(text));
