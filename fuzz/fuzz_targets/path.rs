//! Paths inside a project, and names of refs.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| herma_fuzz::records::path(bytes));
