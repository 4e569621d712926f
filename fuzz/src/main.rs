//! One program for all targets: linking it once is most of what building takes.
//!
//! `HERMA_FUZZ_TARGET` says which target is meant, and nothing in it asks for the list. Everything else is for
//! libFuzzer, which reads the arguments.
#![no_main]

use std::sync::OnceLock;

use herma_fuzz::targets;
use herma_fuzz::targets::{TARGETS, Target};

static CHOSEN: OnceLock<Target> = OnceLock::new();

fn choose() -> Target {
    let name = std::env::var("HERMA_FUZZ_TARGET").unwrap_or_default();
    if let Some(target) = targets::named(&name) {
        return target;
    }
    if name.is_empty() {
        TARGETS.iter().for_each(|(name, _)| println!("{name}"));
        std::process::exit(0);
    }
    eprintln!("HERMA_FUZZ_TARGET: no target is called {name}");
    std::process::exit(2);
}

libfuzzer_sys::fuzz_target!(
    init: CHOSEN.get_or_init(choose),
    |bytes: &[u8]| CHOSEN.get_or_init(choose)(bytes)
);
