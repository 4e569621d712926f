//! The index of the user's own git.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| herma_fuzz::records::git_index(bytes));
