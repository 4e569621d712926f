//! What an editor and an agent say to each other.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| herma_fuzz::program::traffic(bytes));
