//! The configuration of Cursor, which anybody may have written.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| herma_fuzz::hosts::install(
    herma_fuzz::Host::Cursor,
    bytes
));
