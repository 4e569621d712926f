//! Stores as Hermes v2 writes them, made by real git.
//!
//! Herma has to read such stores, add to them and survive what the original does to them meanwhile:
//! new commits on `refs/hermes/<project>`, history rewritten by its pruning, everything packed by its
//! `gc`. The commands and their order are the original's.

pub mod sessions;
pub mod v1;

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{fmt, fs};

use sha2::{Digest, Sha256};

use crate::env::TestEnv;
use crate::{Bounded, git};

/// The patterns Hermes writes to `info/exclude`, in its order.
pub const EXCLUDES: &str = "node_modules/ dist/ build/ target/ out/ .next/ .nuxt/ __pycache__/ *.pyc *.pyo \
    .cache/ .pytest_cache/ .mypy_cache/ .ruff_cache/ coverage/ .coverage .venv/ venv/ env/ .git/ .hg/ .svn/ \
    .worktrees/ *.so *.dylib *.dll *.o *.a *.jar *.class *.exe *.obj *.mp4 *.mov *.mkv *.webm *.zip *.tar \
    *.tar.gz *.tgz *.7z *.rar *.iso .env .env.* .env.local .env.*.local .DS_Store Thumbs.db *.log";

/// The size above which Hermes leaves a file out.
const MAX_FILE_SIZE: u64 = 10 << 20;

/// A store in Hermes's hands.
#[derive(Debug)]
pub struct HermesStore {
    store: PathBuf,
}

impl HermesStore {
    /// Sets up the store of `env` as Hermes does before its first checkpoint. `None`, loudly, when
    /// git is not installed.
    pub fn new(env: &TestEnv) -> Option<Self> {
        if !git::available() {
            return None;
        }
        let made = Self::at(env.store());
        Some(made.unwrap_or_else(|failed| panic!("{failed}")))
    }

    /// The store in this directory, set up if it is not there yet.
    pub fn at(store: PathBuf) -> Result<Self, Failed> {
        let hermes = Self { store };
        if !hermes.store.join("HEAD").exists() {
            hermes.init()?;
        }
        Ok(hermes)
    }

    fn init(&self) -> Result<(), Failed> {
        fs::create_dir_all(&self.store)?;
        let mut init = git::command();
        init.args(["init", "-q", "--bare"]).arg(&self.store);
        run(init)?;
        for (key, value) in [
            ("user.email", "hermes@local"),
            ("user.name", "Hermes Checkpoint"),
            ("commit.gpgsign", "false"),
            ("tag.gpgSign", "false"),
            ("gc.auto", "0"),
        ] {
            run(self.plain_git(&["config", key, value]))?;
        }
        for directory in ["indexes", "projects", "info"] {
            fs::create_dir_all(self.store.join(directory))?;
        }
        let patterns: Vec<_> = EXCLUDES.split_whitespace().collect();
        fs::write(self.store.join("info/exclude"), patterns.join("\n") + "\n")?;
        Ok(())
    }

    /// Takes a checkpoint of `directory`. Returns its id, or `None` when nothing had changed.
    #[track_caller]
    pub fn take(&self, directory: &Path, reason: &str) -> Option<String> {
        let taken = self.try_take(directory, reason);
        taken.unwrap_or_else(|failed| panic!("{failed}"))
    }

    /// [`HermesStore::take`] where it may fail: beside others, or when the disk is gone.
    pub fn try_take(&self, directory: &Path, reason: &str) -> Result<Option<String>, Failed> {
        let directory = directory.canonicalize()?;
        let project = project_hash(&directory);
        self.touch(&directory, &project)?;
        let reference = format!("refs/hermes/{project}");
        let tip = self.tip(&reference);
        let index = self.store.join("indexes").join(&project);
        let git = |args: &[&str]| self.project_git(&directory, &index, args);
        if index.exists() {
            match &tip {
                Some(tip) => drop(run(git(&["read-tree", tip]))?),
                None => fs::remove_file(&index)?,
            }
        }
        run(git(&["add", "-A"]))?;
        self.drop_large(&directory, &index)?;
        let unchanged = match &tip {
            Some(tip) => git(&["diff-index", "--cached", "--quiet", tip])
                .bounded_output()
                .is_ok_and(|o| o.status.success()),
            None => run(git(&["ls-files"]))?.is_empty(),
        };
        if unchanged {
            return Ok(None);
        }
        let tree = run(git(&["write-tree"]))?;
        let commit = self.commit(&tree, tip.as_deref(), reason)?;
        let mut update = self.plain_git(&["update-ref", &reference, &commit]);
        update.args(tip);
        run(update)?;
        Ok(Some(commit))
    }

    fn drop_large(&self, directory: &Path, index: &Path) -> Result<(), Failed> {
        let listing = run(self.project_git(directory, index, &["ls-files", "-z"]))?;
        let large = |name: &&str| {
            let size = fs::symlink_metadata(directory.join(name)).map_or(0, |m| m.len());
            !name.is_empty() && size > MAX_FILE_SIZE
        };
        for name in listing.split('\0').filter(large) {
            run(self.project_git(directory, index, &["rm", "-q", "--cached", "--", name]))?;
        }
        Ok(())
    }

    /// Keeps the last `count` checkpoints of every project by writing them again as a new chain, as
    /// Hermes does when there are more than `max_snapshots`; then [`HermesStore::gc`].
    #[track_caller]
    pub fn prune(&self, count: usize) {
        let pruned = self.try_prune(count);
        pruned.unwrap_or_else(|failed| panic!("{failed}"));
    }

    fn try_prune(&self, count: usize) -> Result<(), Failed> {
        let references =
            run(self.plain_git(&["for-each-ref", "--format=%(refname)", "refs/hermes/"]))?;
        for reference in references.lines() {
            let history = run(self.plain_git(&["rev-list", reference]))?;
            let history: Vec<_> = history.lines().collect();
            if history.len() <= count {
                continue;
            }
            let mut parent: Option<String> = None;
            for commit in history[..count].iter().rev() {
                let tree = run(self.plain_git(&["rev-parse", &format!("{commit}^{{tree}}")]))?;
                let subject = run(self.plain_git(&["log", "-1", "--format=%s", commit]))?;
                let subject = if subject.is_empty() { "checkpoint".to_owned() } else { subject };
                parent = Some(self.commit(&tree, parent.as_deref(), &subject)?);
            }
            if let Some(newest) = parent {
                run(self.plain_git(&["update-ref", reference, &newest]))?;
            }
        }
        self.try_gc()
    }

    /// What Hermes runs after pruning: everything reachable is packed, the rest deleted at once.
    #[track_caller]
    pub fn gc(&self) {
        let collected = self.try_gc();
        collected.unwrap_or_else(|failed| panic!("{failed}"));
    }

    /// [`HermesStore::gc`] where it may fail.
    pub fn try_gc(&self) -> Result<(), Failed> {
        run(self.plain_git(&["reflog", "expire", "--expire=now", "--all"]))?;
        run(self.plain_git(&["gc", "--prune=now", "--quiet"]))?;
        Ok(())
    }

    fn commit(&self, tree: &str, parent: Option<&str>, reason: &str) -> Result<String, Failed> {
        let mut command = self.plain_git(&["commit-tree", tree]);
        if let Some(parent) = parent {
            command.args(["-p", parent]);
        }
        command.args(["-m", reason]);
        run(command)
    }

    fn tip(&self, reference: &str) -> Option<String> {
        let output =
            self.plain_git(&["rev-parse", "--verify", "-q", reference]).bounded_output().ok()?;
        let id = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        (!id.is_empty()).then_some(id)
    }

    /// Writes `projects/<hash>.json` in place, as Hermes does.
    fn touch(&self, directory: &Path, project: &str) -> Result<(), Failed> {
        let path = self.store.join("projects").join(format!("{project}.json"));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |d| d.as_secs_f64());
        let created =
            fs::read_to_string(&path).ok().and_then(|text| created_at(&text)).unwrap_or(now);
        let workdir = python_json(directory.as_os_str().as_bytes());
        let text = format!(
            "{{\"workdir\": {workdir}, \"created_at\": {created:?}, \"last_touch\": {now:?}}}"
        );
        Ok(fs::write(path, text)?)
    }

    /// Git without the test kit's identity: the store's own config names Hermes.
    fn plain_git(&self, args: &[&str]) -> Command {
        let mut command = git::command();
        command.env("GIT_DIR", &self.store).current_dir(&self.store);
        command
            .args(["-c", "user.name=Hermes Checkpoint", "-c", "user.email=hermes@local"])
            .args(args);
        command
    }

    fn project_git(&self, directory: &Path, index: &Path, args: &[&str]) -> Command {
        let mut command = self.plain_git(args);
        command.env("GIT_WORK_TREE", directory).env("GIT_INDEX_FILE", index).current_dir(directory);
        command
    }
}

/// Why something could not be done, in words.
#[derive(Debug)]
pub struct Failed(String);

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failed {}

impl From<std::io::Error> for Failed {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

/// What a git command prints, without the last line's end.
fn run(mut command: Command) -> Result<String, Failed> {
    let output = command.bounded_output()?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        return Err(Failed(format!("{command:?}: {words}")));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.trim_end_matches('\n').to_owned())
}

/// The name Hermes gives a project: the start of the hash of its canonical path.
pub fn project_hash(directory: &Path) -> String {
    let digest = Sha256::digest(directory.as_os_str().as_bytes());
    digest.iter().take(8).fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes everything");
        text
    })
}

fn created_at(text: &str) -> Option<f64> {
    let (_, rest) = text.split_once("\"created_at\": ")?;
    rest.split([',', '}']).next()?.parse().ok()
}

/// A string as Python's `json.dumps` writes it: ASCII only, stray bytes as lone surrogates.
fn python_json(bytes: &[u8]) -> String {
    let mut units: Vec<u16> = Vec::new();
    for chunk in bytes.utf8_chunks() {
        units.extend(chunk.valid().encode_utf16());
        units.extend(chunk.invalid().iter().map(|byte| 0xdc00 + u16::from(*byte)));
    }
    let mut out = String::from("\"");
    for unit in units {
        match unit {
            0x22 => out.push_str("\\\""),
            0x5c => out.push_str("\\\\"),
            0x0a => out.push_str("\\n"),
            0x0d => out.push_str("\\r"),
            0x09 => out.push_str("\\t"),
            0x20..=0x7e => out.push(unit as u8 as char),
            _ => write!(out, "\\u{unit:04x}").expect("a string takes everything"),
        }
    }
    out + "\""
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;

    #[test]
    fn a_store_grows_packs_and_is_rewritten_as_hermes_does_it() {
        let env = TestEnv::new();
        let Some(hermes) = HermesStore::new(&env) else {
            return;
        };
        let project = env.work_dir("p").files([("a.txt", "0"), ("debug.log", "x"), ("sub/b", "b")]);
        let first = hermes.take(project.path(), "before write_file").expect("there is something");
        assert_eq!(hermes.take(project.path(), "again"), None);
        let reference = format!("refs/hermes/{}", project_hash(project.path()));
        for n in 1..5 {
            project.write("a.txt", &n.to_string());
            hermes.take(project.path(), &format!("change {n}")).expect("it changed");
        }
        env.fsck();
        assert_eq!(
            env.archive_tree(&first),
            Tree::of_files([("a.txt", "0"), ("sub/b", "b")]).as_git()
        );
        hermes.prune(2);
        env.fsck();
        let log = env.git(["log", "--format=%s|%an <%ae>", &reference]).success();
        let author = "Hermes Checkpoint <hermes@local>";
        assert_eq!(log.text(), format!("change 4|{author}\nchange 3|{author}\n"));
        env.git(["cat-file", "-e", &first]).code(1);
    }

    #[test]
    fn project_records_are_what_python_writes() {
        assert_eq!(python_json("/a \"é\"\\".as_bytes()), r#""/a \"\u00e9\"\\""#);
        assert_eq!(python_json(b"\xff"), r#""\udcff""#);
        assert_eq!(python_json("\u{1f4a9}\n".as_bytes()), r#""\ud83d\udca9\n""#);
        assert_eq!(created_at("{\"created_at\": 1.5, \"x\": 2}"), Some(1.5));
        // sha256("/home/you/x")
        assert_eq!(project_hash(Path::new("/home/you/x")).len(), 16);
    }
}
