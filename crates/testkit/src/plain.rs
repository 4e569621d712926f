//! A file system without hard links, and whose renames can neither exchange nor refuse a name that is taken.
//!
//! exFAT is such a one, and so are many behind FUSE. A mount of one needs rights and programs; a seccomp filter needs neither, so
//! what works here is tested everywhere: for the calling thread, and for all threads and processes it starts,
//! `renameat2` with flags answers `EINVAL`, `link` and `linkat` answer `EPERM`.

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

/// Runs a test in a thread for which every file system is such a one.
pub fn without_links(test: impl FnOnce() + Send) {
    let finished = std::thread::scope(|scope| {
        let work = || {
            refuse(flagged_renames(), libc::EINVAL);
            refuse(links(), libc::EPERM);
            test();
        };
        scope.spawn(work).join()
    });
    if let Err(panic) = finished {
        std::panic::resume_unwind(panic);
    }
}

/// What is refused: calls by their number, and for which arguments.
type Calls = BTreeMap<i64, Vec<SeccompRule>>;

fn flagged_renames() -> Calls {
    let flags = SeccompCondition::new(4, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, 0);
    let rule = SeccompRule::new(vec![flags.unwrap()]).unwrap();
    BTreeMap::from([(libc::SYS_renameat2, vec![rule])])
}

fn links() -> Calls {
    let mut calls = BTreeMap::from([(libc::SYS_linkat, Vec::new())]);
    #[cfg(target_arch = "x86_64")]
    calls.insert(libc::SYS_link, Vec::new());
    calls
}

/// From now on these calls of this thread are answered with an error.
fn refuse(calls: Calls, errno: i32) {
    let architecture = std::env::consts::ARCH.try_into().unwrap();
    let refused = SeccompAction::Errno(errno as u32);
    let filter = SeccompFilter::new(calls, SeccompAction::Allow, refused, architecture).unwrap();
    let program: BpfProgram = filter.try_into().unwrap();
    seccompiler::apply_filter(&program).unwrap();
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, RenameFlags};
    use rustix::io::Errno;

    use super::*;

    #[test]
    fn only_here_and_in_what_is_started_here_something_is_missing() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let exchange =
            || rustix::fs::renameat_with(CWD, at("a"), CWD, at("b"), RenameFlags::EXCHANGE);
        std::fs::write(at("a"), "a").unwrap();
        std::fs::write(at("b"), "b").unwrap();
        without_links(|| {
            assert_eq!(exchange(), Err(Errno::INVAL));
            let linked = std::fs::hard_link(at("a"), at("c")).unwrap_err();
            assert_eq!(linked.raw_os_error(), Some(libc::EPERM));
            let mut ln = std::process::Command::new("ln");
            let ln = crate::Bounded::bounded_status(ln.args([at("a"), at("c")]));
            assert!(!ln.unwrap().success());
            std::fs::rename(at("a"), at("c")).unwrap();
            std::fs::rename(at("c"), at("a")).unwrap();
        });
        exchange().unwrap();
    }
}
