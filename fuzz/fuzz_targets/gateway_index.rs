//! The sessions a gateway knows.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: (u64, &str)| herma_fuzz::sessions::gateway_index(
    input.1, input.0
));
