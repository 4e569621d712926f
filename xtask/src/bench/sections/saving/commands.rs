//! What only Herma does, and what git has a word for, too: steps, running a command, differences, checks.

use std::time::Duration;

use super::{DIFF, FEW, HERMA, RESTORE_STEP, RUN, START, STEP, STEP_WALK, Saving, UNDO, VERIFY};
use crate::Result;
use crate::bench::measure::time;
use crate::bench::peers::{Git, Herma, HermaKind, Peer};

const GIT: &str = "git";
const READ_DATA: &str = "verify, every file read";

impl Saving<'_> {
    /// Measures the commands beside saving and restoring.
    pub(super) fn other_commands(&mut self) -> Result<()> {
        let herma = Herma::new(self.places, self.ground.root(), HermaKind::Plain);
        let git = self.git();
        for round in 1..=self.options.rounds {
            self.say(&format!("steps, round {round} of {}", self.options.rounds));
            self.walk(STEP_WALK)?;
            let step = self.step(&herma, round)?;
            self.record.time(STEP, HERMA, step);
            self.go_back(&herma, UNDO, &["undo", "--session", &call(round)])?;
            let saved = herma.saved_id()?;
            self.step(&herma, round + self.options.rounds)?;
            self.go_back(&herma, RESTORE_STEP, &["restore", &saved])?;
            let file = self.ground.paths(1)[0].to_owned();
            let mut run = herma.command(&["run", "--", "sh", "-c", "echo \"$1\" >> \"$0\""]);
            let run = time(run.arg(file).arg(format!("run {round}")))?;
            self.record.time(RUN, HERMA, run);
            let start = time(&mut herma.command(&["--version"]))?;
            self.record.time(START, HERMA, start);
        }
        for round in 1..=FEW {
            self.say(&format!("differences and checks, round {round} of {FEW}"));
            self.save_all("", 0)?;
            self.ground.change(100)?;
            let mut commands = vec![
                (DIFF, HERMA, herma.command(&["diff", "--stat"])),
                (VERIFY, HERMA, herma.command(&["checkpoints", "verify"])),
                (READ_DATA, HERMA, herma.command(&["checkpoints", "verify", "--read-data"])),
            ];
            if let Some(git) = &git {
                commands.push((DIFF, GIT, git.command(&["diff", "--stat", "HEAD"])));
                let check = ["fsck", "--connectivity-only", "--no-dangling"];
                commands.push((VERIFY, GIT, git.command(&check)));
                commands.push((READ_DATA, GIT, git.command(&["fsck", "--no-dangling"])));
            }
            for (work, who, mut command) in commands {
                self.record.time(work, who, time(&mut command)?);
            }
        }
        Ok(())
    }

    /// Git, if it takes part.
    fn git(&self) -> Option<Git> {
        let takes_part = self.peers.iter().any(|peer| peer.name() == GIT);
        takes_part.then(|| Git::new(self.places, self.ground.root()).ok())?
    }

    /// Goes back over the step that was just made, and sees that it did.
    fn go_back(&mut self, herma: &Herma, work: &str, args: &[&str]) -> Result<()> {
        let after = self.ground.content(herma.root(), 1)?;
        let spent = time(&mut herma.command(args))?;
        self.record.time(work, HERMA, spent);
        match self.ground.content(herma.root(), 1)? == after {
            true => Err(format!("herma: {work}: the file stayed as it was").into()),
            false => Ok(()),
        }
    }

    /// Both halves of a step around a change, which takes no time itself.
    fn step(&mut self, herma: &Herma, round: usize) -> Result<Duration> {
        let call = call(round);
        let step = |args: &[&str]| {
            let mut command = herma.command(&["step"]);
            time(command.args(args).args(["--call", &call]))
        };
        let begin = step(&["begin", "--agent", "bench", "--tool", "edit", "--session", &call])?;
        self.ground.change(1)?;
        Ok(begin + step(&["end"])?)
    }
}

/// What the agent calls a step and the session it is alone in.
fn call(round: usize) -> String {
    format!("call {round}")
}
