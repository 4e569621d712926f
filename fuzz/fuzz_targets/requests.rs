//! What a client sends to a server.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| herma_fuzz::program::requests(bytes));
