//! The ways to name a checkpoint.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| herma_fuzz::records::id(text));
