//! No network but loopback: the runs take place in a network namespace that has nothing else.
//!
//! The agents have been installed by then. Where namespaces are not to be had, agents are told to stay offline by
//! their own switches, and the report says that this was all.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::Result;

/// Set in the program that runs inside.
const INSIDE: &str = "HERMA_E2E_ALONE";

const UNSHARE: [&str; 4] = ["--user", "--map-root-user", "--net", "--"];

/// How far the runs are cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// There is only loopback.
    Namespace,
    /// The agents were asked.
    Asked,
}

impl Isolation {
    /// For the report.
    pub fn words(self) -> &'static str {
        match self {
            Self::Namespace => "in a network namespace with loopback only",
            Self::Asked => "NOT cut off from the network: `unshare --net` is not possible here",
        }
    }
}

/// Is this the program that runs without a network?
pub fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// Starts this program again without a network, if that is possible and has not been done.
pub fn enter(args: &[String]) -> Result<Isolation> {
    if is_inside() {
        return Ok(Isolation::Namespace);
    }
    let works = Command::new("unshare")
        .args(UNSHARE)
        .args(["sh", "-c", "ip link set lo up"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !works {
        return Ok(Isolation::Asked);
    }
    let error = Command::new("unshare")
        .args(UNSHARE)
        .args(["sh", "-c", "ip link set lo up && exec \"$@\"", "sh"])
        .arg(std::env::current_exe()?)
        .arg("e2e")
        .args(args)
        .env(INSIDE, "1")
        .exec();
    Err(error.into())
}
