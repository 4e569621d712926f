//! The journal of a restore, and where undo and redo stand.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| herma_fuzz::core::journal(bytes));
