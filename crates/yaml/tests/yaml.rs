//! What is written, read by the rules of version 1.2, and by `PyYAML`, whose own texts are read here.
// Helpers of tests are tests: they run Python, and say what was skipped.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, clippy::print_stderr)]

mod yaml {
    mod pyyaml;
    mod round_trip;
    mod values;
}
