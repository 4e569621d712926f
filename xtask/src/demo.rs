//! Plays the README's session in a temporary directory.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{Result, workspace};

/// The project the session begins with.
const FILES: [(&str, &str); 3] = [
    ("README.md", "# Shop\n"),
    ("package.json", "{\"name\": \"shop\"}\n"),
    ("src/cart.py", "def total(items):\n    return sum(items)\n"),
];

/// Builds `herma` and runs every command of the session, showing what it prints.
pub fn play() -> Result<()> {
    workspace::run(workspace::cargo()?.args([
        "build",
        "--quiet",
        "--release",
        "--package",
        "herma",
    ]))?;
    let readme = fs::read_to_string(workspace::root()?.join("README.md"))?;
    let session = readme.split("```console\n").nth(1).and_then(|rest| rest.split("```").next());
    let session = session.ok_or("the README has no session")?;
    let place = std::env::temp_dir().join(format!("herma-demo-{}", std::process::id()));
    let shop = place.join("shop");
    for (name, content) in FILES {
        let path = shop.join(name);
        fs::create_dir_all(path.parent().ok_or("a file needs a directory")?)?;
        fs::write(path, content)?;
    }
    let played = play_session(session, &place, &shop);
    fs::remove_dir_all(&place)?;
    played
}

fn play_session(session: &str, place: &Path, shop: &Path) -> Result<()> {
    let programs = workspace::target()?.join("release");
    let path = std::env::var("PATH").unwrap_or_default();
    for command in session.lines().filter_map(|line| line.strip_prefix("$ ")) {
        println!("$ {command}");
        let status = Command::new("sh")
            .args(["-c", command])
            .current_dir(shop)
            .env("PATH", format!("{}:{path}", programs.display()))
            .env("HERMES_HOME", place.join("home"))
            .env("HERMA_NO_BACKGROUND", "1")
            .status()?;
        if !status.success() {
            return Err(format!("`{command}` ended with {status}").into());
        }
    }
    Ok(())
}
