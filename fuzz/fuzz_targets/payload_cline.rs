//! What Cline may send to its hook.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| herma_fuzz::hosts::payload(
    herma_fuzz::Host::Cline,
    bytes
));
