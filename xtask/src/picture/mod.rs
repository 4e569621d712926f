//! `cargo xtask picture`: the picture in the README, made from a session that is really played.
//!
//! * [`session`]: what is played; the file to edit
//! * [`play`]: playing it in a terminal, with a clock that stands
//! * [`ids`]: ids that are the same each time
//! * [`svg`]: drawing what the terminal shows
//!
//! `--check` draws it anew and compares.

mod ids;
mod play;
mod session;
mod svg;

use std::fs;

use crate::{Result, workspace};

const PLACE: &str = "docs/session.svg";
const TITLE: &str = "shop";
const DESCRIPTION: &str = "A terminal session with Herma";

/// Makes the picture, or compares it.
pub fn run(args: &[String]) -> Result<()> {
    let check = match args {
        [] => false,
        [one] if one == "--check" => true,
        _ => return Err("`cargo xtask picture` takes only `--check`".into()),
    };
    let screen = play::play(&play::programs()?)?;
    let picture = ids::replace(&svg::draw(screen.screen(), TITLE, DESCRIPTION)?);
    let place = workspace::root()?.join(PLACE);
    if !check {
        return Ok(fs::write(place, picture)?);
    }
    if fs::read_to_string(place)? == picture {
        return Ok(());
    }
    Err(format!("{PLACE} does not show what happens now: `cargo xtask picture` makes it anew")
        .into())
}
