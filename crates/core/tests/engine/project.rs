//! A project in a temporary directory, with an engine of its own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use herma_core::engine::NoProgress;
use herma_core::restore::RestoreOptions;
use herma_core::types::clock::Timestamp;
use herma_core::{
    Checkpoint, Clock, Engine, EngineOptions, Error, Project, RelPath, Restored, SaveOptions,
    Saved, Settings, Spec, Undone,
};
use herma_testkit::Bounded;
use herma_testkit::git::Repository;
use herma_testkit::tree::Tree;
use herma_worktree::reason::Reason;

/// A clock that moves one second with every look.
pub struct Ticking(std::sync::atomic::AtomicI64);

impl Clock for Ticking {
    fn now(&self) -> Timestamp {
        let seconds = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Timestamp { seconds, nanos: 0, offset_minutes: 60 }
    }
}

/// An engine with a clock that ticks.
pub fn engine(home: &Path, user_home: Option<&Path>, settings: Settings) -> Engine {
    let clock = Arc::new(Ticking(1_700_000_000.into()));
    engine_with_clock(home, user_home, settings, clock)
}

/// An engine with this clock.
pub fn engine_with_clock(
    home: &Path,
    user_home: Option<&Path>,
    settings: Settings,
    clock: Arc<dyn Clock>,
) -> Engine {
    Engine::new(EngineOptions {
        home: home.to_owned(),
        user_home: user_home.map(Path::to_owned),
        clock,
        // Also where there are few directories. What does without is tested beside the code, and by the program.
        settings: Settings { quick_check_from: 0, ..settings },
    })
}

/// A project and its engine; everything is removed when it is dropped.
pub struct TestProject {
    pub temp: tempfile::TempDir,
    pub root: PathBuf,
    pub engine: Engine,
}

impl TestProject {
    pub fn new() -> Self {
        Self::with(Settings::default())
    }

    pub fn with(settings: Settings) -> Self {
        Self::at(tempfile::tempdir().unwrap(), settings)
    }

    /// A project in this directory.
    pub fn at(temp: tempfile::TempDir, settings: Settings) -> Self {
        let root = temp.path().canonicalize().unwrap().join("project");
        std::fs::create_dir(&root).unwrap();
        let engine = engine(&temp.path().join("home"), None, settings);
        Self { temp, root, engine }
    }

    /// Another engine on the same store, as another process would have it.
    pub fn another_engine(&self) -> Engine {
        engine(&self.home(), None, self.engine.settings().clone())
    }

    pub fn home(&self) -> PathBuf {
        self.temp.path().join("home")
    }

    pub fn project(&self) -> Project {
        self.engine.project(&self.root).unwrap()
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub fn read(&self, path: &str) -> String {
        String::from_utf8(std::fs::read(self.path(path)).unwrap()).unwrap()
    }

    pub fn exists(&self, path: &str) -> bool {
        std::fs::symlink_metadata(self.path(path)).is_ok()
    }

    pub fn remove(&self, path: &str) {
        let path = self.path(path);
        if path.symlink_metadata().unwrap().is_dir() {
            std::fs::remove_dir_all(path).unwrap();
        } else {
            std::fs::remove_file(path).unwrap();
        }
    }

    pub fn chmod(&self, path: &str, mode: u32) {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(self.path(path), std::fs::Permissions::from_mode(mode)).unwrap();
    }

    pub fn mode(&self, path: &str) -> u32 {
        use std::os::unix::fs::PermissionsExt;
        std::fs::symlink_metadata(self.path(path)).unwrap().permissions().mode() & 0o7777
    }

    pub fn try_save(&self, reason: &str) -> Result<Saved, Error> {
        let options = SaveOptions { reason: reason.into(), ..SaveOptions::default() };
        self.engine.project(&self.root)?.save_with(&options, &NoProgress)
    }

    pub fn save(&self, reason: &str) -> Saved {
        self.try_save(reason).unwrap()
    }

    pub fn list(&self) -> Vec<Checkpoint> {
        self.engine.project(&self.root).unwrap().timeline().unwrap()
    }

    /// Why the newest checkpoint left something out, by path.
    pub fn left_out(&self) -> BTreeMap<String, Reason> {
        let receipt = self.project().receipt(&self.find("@")).unwrap();
        let named = receipt.left_out.into_iter();
        named.map(|item| (item.path.to_string(), item.reason)).collect()
    }

    /// What git finds in a checkpoint, as a tree.
    pub fn saved_tree(&self, checkpoint: &Checkpoint) -> Tree {
        self.repository().tree(&checkpoint.id.to_hex())
    }

    pub fn find(&self, spec: &str) -> Checkpoint {
        self.engine.project(&self.root).unwrap().find(&Spec::parse(spec).unwrap()).unwrap()
    }

    /// What names the oldest checkpoint.
    pub fn oldest(&self) -> String {
        self.list().last().expect("there is one").number.to_string()
    }

    pub fn restore_with(&self, spec: &str, options: &RestoreOptions) -> Result<Restored, Error> {
        let project = self.engine.project(&self.root)?;
        let target = project.find(&Spec::parse(spec)?)?;
        project.restore_with(&target, options, &NoProgress)
    }

    pub fn restore(&self, spec: &str) -> Restored {
        self.restore_with(spec, &RestoreOptions::default()).unwrap()
    }

    pub fn restore_paths(&self, spec: &str, paths: &[impl AsRef<[u8]>]) -> Result<Restored, Error> {
        let paths = paths.iter().map(|p| RelPath::new(p.as_ref()).unwrap()).collect();
        self.restore_with(spec, &RestoreOptions { paths, keep: Vec::new() })
    }

    pub fn undo(&self) -> Result<Undone, Error> {
        self.engine.project(&self.root).unwrap().undo_with(&NoProgress, false)
    }

    pub fn redo(&self) -> Result<Undone, Error> {
        self.engine.project(&self.root).unwrap().redo_with(&NoProgress, false)
    }

    pub fn tree(&self) -> Tree {
        Tree::read(&self.root)
    }

    pub fn store(&self) -> PathBuf {
        self.engine.store_dir()
    }

    pub fn repository(&self) -> Repository {
        Repository::at(self.store())
    }

    /// Runs git in a directory of the project, as its user would.
    #[track_caller]
    pub fn git_in(&self, directory: &str, args: &[&str]) {
        let mut command = herma_testkit::git::command();
        let output = command.current_dir(self.path(directory)).args(args).bounded_output();
        let output = output.unwrap();
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "git {args:?}: {words}");
    }

    /// `git fsck --strict` finds nothing to say.
    pub fn fsck(&self) {
        self.repository().fsck();
    }

    /// The same after checkpoints were dropped: their objects dangle until they are collected.
    pub fn fsck_but_dangling(&self) {
        self.repository().fsck_but_dangling();
    }

    /// Goes on with a new engine, as the next process would.
    pub fn reopen(&mut self) {
        self.engine = self.another_engine();
    }

    /// Loses the stat cache, as a power cut might.
    pub fn forget_cache(&self) {
        let id = self.engine.project(&self.root).unwrap().id().clone();
        let state = self.store().join("herma/projects").join(id.as_str());
        // There is none before the first save.
        let _ = std::fs::remove_file(state.join("stat-cache"));
    }

    pub fn base(&self) -> &Path {
        self.temp.path()
    }
}
