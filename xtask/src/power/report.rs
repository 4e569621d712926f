//! What cuts did, for a person: a row for each kind of run, and a sentence for each way to mount.

use super::cuts::Tally;
use super::disk::Mount;

/// The heads of the columns of a row.
pub fn print_heads() {
    println!(
        "{:<16} {:<20} {:>5} {:>8} {:>8} {:>5} {:>8} {:>7} {:>9} {:>9} {:>5} {:>6} {:>6}",
        "mount",
        "what",
        "cuts",
        "answers",
        "damaged",
        "lost",
        "inexact",
        "failed",
        "finished",
        "reversed",
        "wide",
        "harm",
        "s"
    );
}

/// One run. `finished` and `reversed` are restores that were cut short, `wide` those among them that had many
/// files; `harm` are the cuts after which anything was wrong.
pub fn print_row(mount: Mount, what: &str, tally: &Tally) {
    println!(
        "{:<16} {:<20} {:>5} {:>8} {:>8} {:>5} {:>8} {:>7} {:>9} {:>9} {:>5} {:>6} {:>6.0}",
        mount.name(),
        what,
        tally.cuts,
        tally.answers,
        tally.damaged,
        tally.lost,
        tally.inexact,
        tally.failed,
        tally.finished,
        tally.reversed,
        tally.wide,
        tally.bad,
        tally.took.as_secs_f64(),
    );
}

/// The runs of one way to mount, in a sentence.
pub fn print_summary(mount: Mount, tally: &Tally, control: Option<&Tally>) {
    let control = match control {
        Some(control) => format!("without syncs {} of {} cuts did harm", control.bad, control.cuts),
        None => "no control".to_owned(),
    };
    println!(
        "{}: {} of {} cuts did harm; {} stores damaged, {} acknowledged checkpoints lost, {} restores inexact, {} \
         commands failed; {control}",
        mount.name(),
        tally.bad,
        tally.cuts,
        tally.damaged,
        tally.lost,
        tally.inexact,
        tally.failed,
    );
}
