//! Ids on one line, and base64.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| herma_fuzz::sessions::escapes(text));
