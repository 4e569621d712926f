//! The promise about the disk, with the program as people use it: saves start their own cleaning in the
//! background, and the store never has more than it may.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use herma_testkit::bounded::Done;
use herma_testkit::random::Random;
use herma_testkit::tree::bytes_below;

use super::{assert_sound, json, test_env};

const CAP: u64 = 50 << 20;
const PROJECTS: usize = 50;
const SAVES: usize = 2_000;
/// Nothing makes this smaller, so that the saves are four times what the store may have.
const CHANGED: usize = 100_000;

#[test]
#[ignore = "takes minutes: cargo xtask faults --full cap::"]
fn the_store_stays_within_its_limit_by_itself() {
    let mut env = test_env();
    env.set("HERMA_NO_BACKGROUND", "");
    let first = env.work_dir("project-0");
    first.run(["config", "set", "max_total_size_mb", "50"]).success();
    let store = env.store();
    let most = AtomicU64::new(0);
    let samples = AtomicU64::new(0);
    let done = AtomicBool::new(false);
    let mut largest = 0;
    thread::scope(|scope| {
        let (most, samples, done, store) = (&most, &samples, &done, &store);
        scope.spawn(move || {
            while !done.load(Ordering::SeqCst) {
                most.fetch_max(bytes_below(store), Ordering::SeqCst);
                samples.fetch_add(1, Ordering::SeqCst);
                thread::sleep(Duration::from_millis(2));
            }
        });
        let _done = Done(done);
        for step in 0..SAVES {
            let project = env.work_dir(format!("project-{}", step % PROJECTS));
            let before = bytes_below(store);
            project.write_bytes("data.bin", &Random::new(step as u64).bytes(CHANGED));
            project.write("step.txt", &step.to_string());
            project.run(["save"]).success();
            // Later ones are no larger, but something may be cleaned up meanwhile.
            if step < PROJECTS {
                largest = largest.max(bytes_below(store).saturating_sub(before));
            }
        }
    });
    let (most, samples) = (most.into_inner(), samples.into_inner());
    let kept: Vec<usize> = (0..PROJECTS)
        .map(|number| {
            let project = env.work_dir(format!("project-{number}"));
            let list = json(&project.run(["list", "--json"]).success());
            list["checkpoints"].as_array().expect("a list").len()
        })
        .collect();
    eprintln!(
        "{SAVES} saves of {largest} bytes: at most {most} of {CAP} bytes in {samples} samples; {} to {} \
         checkpoints left per project",
        kept.iter().min().unwrap(),
        kept.iter().max().unwrap(),
    );
    assert!(most > CAP / 2, "the limit was put to the test: {most}");
    assert!(most <= CAP + largest, "{most} of {CAP} + {largest}");
    assert!(kept.iter().all(|count| *count > 1), "flattened: {kept:?}");
    env.work_dir("project-0").run(["checkpoints", "gc"]).success();
    assert_sound(&env.repository());
}
