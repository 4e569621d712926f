//! The kept end of a conversation, and what a command set out to do with it.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| herma_fuzz::records::kept(bytes));
