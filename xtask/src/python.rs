//! `cargo xtask python`: builds the wheel, installs it into an environment made for it, and tests it there. Where the extension is built
//! already, as in CI, `--module` puts it there with the package's other files: cargo would build everything anew for the wheel.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Result, workspace};

/// The version of Hermes whose store is shared in tests, and that is measured against.
pub const HERMES: &str = "hermes-agent==0.19.0";

/// No wheel may be larger.
const MAX_WHEEL_BYTES: u64 = 10 << 20;
/// Importing the module may take so many milliseconds more than importing `sqlite3`.
const MAX_IMPORT_MS: f64 = 30.0;
const IMPORT_ROUNDS: usize = 15;
/// What is tested however the package was installed.
const TESTS: &[&str] = &["tests", "README.md", "--pyargs", "herma"];

/// How the extension is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Quickly.
    Dev,
    /// To be used.
    Release,
}

/// An environment of its own, made anew.
pub struct Venv {
    dir: PathBuf,
}

/// Runs the chore.
pub fn check(args: &[String]) -> Result<()> {
    let (mut hermes, mut release, mut module) = (false, false, None);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--hermes" => hermes = true,
            "--wheel" => release = true,
            "--module" => module = Some(args.next().ok_or("python: --module needs a path")?),
            _ => return Err(format!("python: unknown option {arg}").into()),
        }
    }
    let package = workspace::root()?.join("crates/python");
    let venv = Venv::new("venv")?;
    venv.install(&["pytest>=8"])?;
    if let Some(module) = module {
        venv.install_module(&package, module)?;
        return venv.pytest(&package, TESTS);
    }
    venv.install(&["maturin>=1.9,<2"])?;
    let wheel = venv.build_wheel(if release { Profile::Release } else { Profile::Dev })?;
    venv.install(&[&wheel])?;
    venv.pytest(&package, TESTS)?;
    venv.pytest(&package, &["with_wheel"])?;
    if release {
        check_size(&wheel)?;
        venv.check_import_time()?;
    }
    if hermes {
        let both = Venv::with_hermes(&wheel)?;
        both.pytest(&package, &["with_hermes"])?;
    }
    Ok(())
}

fn place() -> Result<PathBuf> {
    Ok(workspace::target()?.join("python"))
}

impl Venv {
    /// An empty environment below the target directory.
    pub fn new(name: &str) -> Result<Self> {
        let dir = place()?.join(name);
        if dir.exists() {
            fs::remove_dir_all(&dir)?;
        }
        let python = std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
        workspace::run(Command::new(python).args(["-m", "venv"]).arg(&dir))?;
        Ok(Self { dir })
    }

    /// An environment with the real Hermes and the wheel.
    pub fn with_hermes(wheel: &Path) -> Result<Self> {
        let venv = Self::new("hermes-venv")?;
        venv.install(&[OsStr::new(HERMES), OsStr::new("pytest>=8"), wheel.as_os_str()])?;
        Ok(venv)
    }

    /// Its interpreter, which sees nothing of the user's.
    pub fn python(&self) -> Command {
        let mut command = Command::new(self.dir.join("bin/python"));
        command
            .env("VIRTUAL_ENV", &self.dir)
            .env_remove("PYTHONPATH")
            .env_remove("PYTHONHOME")
            .env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }

    /// Installs packages from the index, or from files.
    pub fn install(&self, packages: &[impl AsRef<OsStr>]) -> Result<()> {
        let mut command = self.python();
        command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        workspace::run(command.args(packages))
    }

    /// Installs the package's own files, and the extension as built by cargo.
    fn install_module(&self, package: &Path, module: &str) -> Result<()> {
        let place = self
            .python()
            .args(["-c", "import sysconfig; print(sysconfig.get_path('platlib'))"])
            .output()?;
        let place = PathBuf::from(String::from_utf8(place.stdout)?.trim());
        workspace::run(Command::new("cp").arg("-R").arg(package.join("python/herma")).arg(&place))?;
        fs::copy(module, place.join("herma/_herma.abi3.so"))?;
        Ok(())
    }

    /// Builds the wheel; maturin must be installed.
    pub fn build_wheel(&self, profile: Profile) -> Result<PathBuf> {
        let wheels = place()?.join("wheels");
        if wheels.exists() {
            fs::remove_dir_all(&wheels)?;
        }
        let mut command = self.python();
        command
            .args(["-m", "maturin", "build", "--quiet", "--out"])
            .arg(&wheels)
            .arg("--manifest-path")
            .arg(workspace::root()?.join("crates/python/Cargo.toml"));
        if profile == Profile::Release {
            command.arg("--release");
        }
        workspace::run(&mut command)?;
        let entry = fs::read_dir(&wheels)?.next();
        let entry = entry.ok_or("python: maturin built no wheel")??;
        Ok(entry.path())
    }

    fn pytest(&self, package: &Path, args: &[&str]) -> Result<()> {
        let mut command = self.python();
        command.current_dir(package).args(["-m", "pytest", "-q"]);
        workspace::run(command.args(args))
    }

    fn check_import_time(&self) -> Result<()> {
        let (ours, theirs) = (self.import_time("herma.hermes")?, self.import_time("sqlite3")?);
        println!("import herma.hermes: {ours:.1} ms, import sqlite3: {theirs:.1} ms");
        if ours - theirs > MAX_IMPORT_MS {
            return Err(format!("python: the import takes {:.1} ms more", ours - theirs).into());
        }
        Ok(())
    }

    /// The shortest of several imports, each in a process of its own, in milliseconds.
    fn import_time(&self, module: &str) -> Result<f64> {
        let program = format!(
            "import time; start = time.perf_counter(); import {module}; \
             print((time.perf_counter() - start) * 1000)"
        );
        let mut shortest = f64::INFINITY;
        for _ in 0..IMPORT_ROUNDS {
            let output = self
                .python()
                .env_remove("PYTHONDONTWRITEBYTECODE")
                .args(["-c", &program])
                .output()?;
            let text = String::from_utf8_lossy(&output.stdout);
            shortest = shortest.min(text.trim().parse()?);
        }
        Ok(shortest)
    }
}

fn check_size(wheel: &Path) -> Result<()> {
    let bytes = fs::metadata(wheel)?.len();
    let megabytes = bytes as f64 / f64::from(1 << 20);
    println!("{}: {megabytes:.1} MB", wheel.display());
    if bytes > MAX_WHEEL_BYTES {
        return Err("python: the wheel is larger than 10 MB".into());
    }
    Ok(())
}
