//! The real agents, from npm and PyPI, in versions that were looked at.
//!
//! Each gets a directory of its own below one directory. What is there in the right version is left alone; what
//! is made appears under its name only when it is complete, so an interrupted download is made again. Nothing
//! goes to where npm or pip put things for the user.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::Value;

use crate::Result;

/// Where a program comes from.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// An npm package that is one archive for one platform: `{}` in the name is the platform.
    Archive { package: &'static str },
    /// An npm package with what it needs.
    Npm { package: &'static str },
    /// A PyPI package in a virtual environment.
    Python { package: &'static str },
}

/// A program that can be had.
#[derive(Debug)]
pub struct Package {
    /// Its directory.
    directory: &'static str,
    source: Source,
    /// The version everything here was tried with.
    version: &'static str,
    /// The program below its directory.
    program: &'static str,
}

/// Several agents want a newer node than distributions have.
pub const NODE: Package = Package {
    directory: "node24",
    source: Source::Archive { package: "node-{}" },
    version: "24.9.0",
    program: "bin/node",
};

pub const CLAUDE: Package = Package {
    directory: "claude-latest",
    source: Source::Archive { package: "@anthropic-ai/claude-code-{}" },
    version: "2.1.325",
    program: "claude",
};

pub const CODEX: Package = npm("codex", "@openai/codex", "0.166.0", "codex");
pub const GEMINI: Package = npm("gemini", "@google/gemini-cli", "0.61.0", "gemini");
pub const OPENCODE: Package = npm("opencode", "opencode-ai", "1.18.33", "opencode");
pub const COPILOT: Package = npm("copilot", "@github/copilot", "1.0.102", "copilot");
pub const CLINE: Package = npm("cline", "cline", "3.0.65", "cline");
pub const QWEN: Package = npm("qwen24", "@qwen-code/qwen-code", "0.24.4", "qwen");

pub const KILO: Package = npm("kilo", "@kilocode/cli", "7.7.7", "kilo");
pub const PI: Package = npm("pi", "@earendil-works/pi-coding-agent", "0.87.1", "pi");
pub const KIMI: Package = npm("kimi", "@moonshot-ai/kimi-code", "2.1.0", "kimi");
pub const DROID: Package = npm("droid", "droid", "0.215.0", "droid");
pub const GROK: Package = npm("grok", "@xai-official/grok", "1.0.41", "grok");

pub const INSPECTOR: Package =
    npm("mcp-inspector", "@modelcontextprotocol/inspector", "2.12.0", "mcp-inspector");
pub const MCP_LIBRARY: Package = Package {
    directory: "mcp-library",
    source: Source::Npm { package: "@modelcontextprotocol/sdk" },
    version: "1.32.2",
    program: "../@modelcontextprotocol/sdk/package.json",
};

pub const GOOSE: Package = Package {
    directory: "goose",
    source: Source::Archive { package: "@aaif/goose-binary-{}" },
    version: "1.52.0",
    program: "bin/goose",
};

pub const HERMES: Package = Package {
    directory: "hermes",
    source: Source::Python { package: "hermes-agent" },
    version: "0.19.0",
    program: "bin/hermes",
};

/// It wants Python 3.12.
pub const VIBE: Package = Package {
    directory: "vibe",
    source: Source::Python { package: "mistral-vibe" },
    version: "3.0.2",
    program: "bin/vibe",
};

const fn npm(
    directory: &'static str,
    package: &'static str,
    version: &'static str,
    program: &'static str,
) -> Package {
    Package { directory, source: Source::Npm { package }, version, program }
}

impl Package {
    /// The version everything here was tried with.
    pub fn version(&self) -> &'static str {
        self.version
    }
}

/// The directory the agents are in.
#[derive(Clone, Debug)]
pub struct Agents {
    directory: PathBuf,
    others: Others,
}

/// What happens to an agent that is there in another version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// The directory is this program's own: it is replaced.
    Replace,
    /// Somebody named the directory: it is left alone, and that is an error.
    Refuse,
}

impl Agents {
    /// The agents below this directory, which need not be there yet.
    pub fn below(directory: PathBuf, others: Others) -> Self {
        Self { directory, others }
    }

    /// The directory of a package.
    pub fn directory(&self, package: &Package) -> PathBuf {
        self.directory.join(package.directory)
    }

    /// The program of a package.
    pub fn program(&self, package: &Package) -> PathBuf {
        let directory = self.directory.join(package.directory);
        match package.source {
            Source::Npm { .. } => directory.join("node_modules/.bin").join(package.program),
            _ => directory.join(package.program),
        }
    }

    /// The directory of the package's program, for a `PATH`.
    pub fn bin(&self, package: &Package) -> PathBuf {
        let program = self.program(package);
        program.parent().map(Path::to_owned).unwrap_or_default()
    }

    /// Sees to it that the package is there.
    pub fn ensure(&self, package: &Package) -> Result<()> {
        if self.is_there(package) {
            return Ok(());
        }
        let there = self.directory.join(package.directory);
        if self.others == Others::Refuse && there.exists() {
            let found = self.installed_version(package);
            let found = found.as_deref().unwrap_or("unknown");
            let (there, wanted) = (there.display(), package.version);
            return Err(format!("{there} has version {found} instead of {wanted}").into());
        }
        fs::create_dir_all(&self.directory)?;
        eprintln!("── installing {} {}", package.directory, package.version);
        let start = Instant::now();
        self.install(package).map_err(|error| {
            let name = package.directory;
            format!("{name} could not be installed, so nothing can be said about it: {error}")
        })?;
        if !self.is_there(package) {
            let program = self.program(package);
            return Err(format!("{} was not installed", program.display()).into());
        }
        eprintln!("   {:.1} s", start.elapsed().as_secs_f64());
        Ok(())
    }

    fn is_there(&self, package: &Package) -> bool {
        self.program(package).exists()
            && self.installed_version(package).as_deref() == Some(package.version)
    }

    fn installed_version(&self, package: &Package) -> Option<String> {
        let directory = self.directory.join(package.directory);
        let file = match package.source {
            Source::Archive { .. } => directory.join("package.json"),
            Source::Npm { package } => {
                directory.join("node_modules").join(package).join("package.json")
            }
            Source::Python { .. } => return self.installed_python(package),
        };
        let facts: Value = serde_json::from_slice(&fs::read(file).ok()?).ok()?;
        let version = facts["version"].as_str()?;
        Some(version.trim_start_matches('v').to_owned())
    }

    fn installed_python(&self, package: &Package) -> Option<String> {
        let Source::Python { package: name } = package.source else {
            return None;
        };
        let python = self.directory.join(package.directory).join("bin/python3");
        let code = "import sys, importlib.metadata as m; print(m.version(sys.argv[1]))";
        let output = Command::new(python).args(["-c", code, name]).output().ok()?;
        let version = String::from_utf8(output.stdout).ok()?;
        Some(version.trim().to_owned())
    }

    fn install(&self, package: &Package) -> Result<()> {
        let place = self.directory.join(package.directory);
        if let Source::Python { package: name } = package.source {
            // A virtual environment knows its own path, so it is made where it stays.
            quietly(Command::new("python3").args(["-m", "venv"]).arg(&place))?;
            let wanted = format!("{name}=={}", package.version);
            let mut pip = Command::new(place.join("bin/pip"));
            return quietly(pip.args(["install", "--quiet", &wanted]));
        }
        let partial = self.directory.join(format!("{}.partial", package.directory));
        make_anew(&partial)?;
        match package.source {
            Source::Archive { package: name } => {
                let name = name.replace("{}", &platform());
                unpack_archive(&partial, &format!("{name}@{}", package.version))?;
            }
            Source::Npm { package: name } => {
                self.install_tree(&partial, &format!("{name}@{}", package.version))?;
            }
            Source::Python { .. } => {}
        }
        if place.exists() {
            fs::remove_dir_all(&place)?;
        }
        Ok(fs::rename(partial, place)?)
    }

    /// Installs a package with what it needs, with the node that will run it.
    fn install_tree(&self, place: &Path, wanted: &str) -> Result<()> {
        self.ensure(&NODE)?;
        fs::write(place.join("package.json"), "{\"private\": true}\n")?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", wanted]);
        npm.env("PATH", with_first(&self.bin(&NODE)));
        quietly(npm.current_dir(place))
    }
}

/// The caller's `PATH` with one directory before all others.
pub fn with_first(directory: &Path) -> std::ffi::OsString {
    let mut path = directory.as_os_str().to_owned();
    if let Some(rest) = std::env::var_os("PATH") {
        path.push(":");
        path.push(rest);
    }
    path
}

/// What npm packages call this platform.
fn platform() -> String {
    let system = match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    };
    let machine = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{system}-{machine}")
}

fn unpack_archive(place: &Path, wanted: &str) -> Result<()> {
    let mut npm = Command::new("npm");
    quietly(npm.args(["pack", "--loglevel=error", wanted]).current_dir(place))?;
    let archive = fs::read_dir(place)?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .find(|path| path.extension().is_some_and(|extension| extension == "tgz"))
        .ok_or_else(|| format!("npm packed nothing for {wanted}"))?;
    let mut tar = Command::new("tar");
    tar.args(["--strip-components=1", "-xzf"]).arg(&archive);
    quietly(tar.current_dir(place))?;
    Ok(fs::remove_file(archive)?)
}

fn make_anew(directory: &Path) -> Result<()> {
    if directory.exists() {
        fs::remove_dir_all(directory)?;
    }
    Ok(fs::create_dir_all(directory)?)
}

/// Runs a command and shows what it said only if it failed.
fn quietly(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output =
        command.stdin(Stdio::null()).output().map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    // The cause comes first, advice about it later.
    let first: Vec<_> = words.lines().take(6).collect();
    let first = first.join("\n");
    Err(format!("{program} ended with {}:\n{first}", output.status).into())
}
