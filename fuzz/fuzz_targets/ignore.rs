//! Ignore files, and paths they are asked about.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| herma_fuzz::texts::ignore(bytes));
