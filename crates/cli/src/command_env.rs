//! What every command works with: the engine, the settings, the terminal, and the project around it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use herma_core::types::clock::Timestamp;
use herma_core::{Checkpoint, Clock, Engine, EngineOptions, Error, Project, RelPath, Saved, Spec};
use herma_settings::{Loaded, Overrides};
use herma_view::here;

/// What a command may fail with belongs to it.
pub(crate) use crate::command_error::{
    ANOTHER_HOME, CommandError, Kind, MAKE_AGAIN, Result, WithState,
};
use crate::conversations::pending::unfinished;
use crate::environment::{Environment, OuterStep, SystemClock, time_zone};
use crate::options::GlobalArgs;
use crate::terminal::ui::Ui;
use crate::terminal::{shown, time};

/// What to type when a purge was interrupted.
pub(crate) const FINISH_PURGE: &str = "`herma checkpoints gc` finishes what it began; then run the same `herma purge` again for the rest.";

/// How a command that did not fail ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Done.
    #[default]
    Done,
    /// Done, but something was left out, and named.
    LeftOut,
    /// Looked, and found something that needs the user.
    Problems,
    /// Not done: the user said no.
    Aborted,
    /// Looked for something that is not there, and the answer says so.
    NotFound,
    /// Another process is doing it.
    Busy,
    /// Done with what can be read; some saved data is damaged, and was named.
    Damaged,
    /// A command was run in our place, and ended with this code.
    Command(u8),
}

impl Outcome {
    /// The exit code.
    pub(crate) const fn exit_code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Problems | Self::Aborted => 1,
            Self::LeftOut => 3,
            Self::NotFound => 10,
            Self::Busy => 11,
            Self::Damaged => 12,
            Self::Command(code) => code,
        }
    }
}

/// What every command works with.
pub(crate) struct CommandEnv {
    pub(crate) ui: Ui,
    pub(crate) engine: Engine,
    pub(crate) settings: Loaded,
    /// Where settings and checkpoints are kept.
    pub(crate) home: PathBuf,
    /// The project the user named, if they did.
    pub(crate) named_root: Option<PathBuf>,
    /// The directory paths on the command line are relative to.
    pub(crate) directory: PathBuf,
    pub(crate) environment: Environment,
    /// Did the user say which one?
    pub(crate) is_directory_given: bool,
    clock: Arc<dyn Clock>,
}

impl CommandEnv {
    /// Reads the settings and prepares the engine. Touches neither project nor store.
    pub(crate) fn new(
        ui: Ui,
        environment: &Environment,
        global: &GlobalArgs,
        mut overrides: Overrides,
    ) -> Result<Self> {
        let home = environment.home(global.home.as_deref()).ok_or_else(|| {
            CommandError::usage("cannot tell where checkpoints are kept: `HOME` is not set")
                .with_hint("Set `HERMES_HOME`, or use `--home DIR`.")
        })?;
        check_home(&home)?;
        let directory = start_directory(environment, global)?;
        let mut settings = Loaded::read(&home);
        if let Some(on) = environment.checkpoints {
            settings.switch(on);
        }
        overrides.wait = overrides.wait.or(environment.timeout);
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let engine = Engine::new(EngineOptions {
            home: home.clone(),
            user_home: environment.user_home.clone(),
            clock: Arc::clone(&clock),
            settings: settings.for_engine(overrides),
        });
        check_directory(&engine, &directory, global)?;
        let named_root = global.root.as_ref().map(|root| directory.join(root));
        Ok(Self {
            ui,
            engine,
            settings,
            home,
            named_root,
            directory,
            environment: environment.clone(),
            is_directory_given: global.directory.is_some(),
            clock,
        })
    }

    /// Starts cleaning up in the background if a save said that it is time to. The save is done with or without it, so
    /// it is no error if that cannot be: the next save tries again.
    pub(crate) fn clean_if_due(&self, saved: &Saved) {
        if saved.due.is_some() && self.environment.background {
            let arguments = [OsStr::new("--home"), self.home.as_os_str(), OsStr::new("maintain")];
            let _ = herma_fs::process::background::spawn_detached(&arguments);
        }
    }

    /// The step of this project under whose command we run, if we do.
    pub(crate) fn outer_step(&self, project: &Project) -> Option<i64> {
        let outer = self.environment.outer_step.as_ref()?;
        if outer.project != project.id().as_str() {
            return None;
        }
        let number = outer.number.parse().ok();
        if number.is_none() {
            let name = OuterStep::NUMBER;
            self.ui.warning(format_args!("`{name}` is no step's number and was ignored"));
        }
        number
    }

    /// The present moment.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The present moment and the zone the user is in, for times that are written without one.
    pub(crate) fn local_now(&self) -> herma_sessions::resume::Now {
        let now = self.now();
        herma_sessions::resume::Now {
            time: jiff::Timestamp::new(now.seconds, now.nanos as i32).unwrap_or_default(),
            zone: time_zone().clone(),
        }
    }

    /// The project around the directory; says so when a restore of it was interrupted.
    pub(crate) fn open_project(&self) -> Result<Project> {
        let project = self.open_project_quietly()?;
        let interrupted = project.interrupted()?.map(|interrupted| interrupted.started);
        if let Some(started) = interrupted.or_else(|| unfinished(&project)) {
            let age = time::age(started, self.now());
            self.ui.warning(format_args!(
                "a restore of this project that began {age} was not finished."
            ));
            self.ui.detail("`herma restore --continue` finishes it; `herma undo` undoes it.");
        }
        Ok(project)
    }

    /// The project, or a line beside it if one is named.
    pub(crate) fn open_line(&self, line: Option<&str>) -> Result<Project> {
        let project = self.open_project()?;
        Ok(line.map_or(Ok(project.clone()), |line| project.line(line))?)
    }

    /// Says so when a purge was interrupted.
    pub(crate) fn warn_of_purge(&self) -> Result<()> {
        if self.engine.interrupted_purge()?.is_some() {
            self.ui.warning("a purge was not finished.");
            self.ui.detail(FINISH_PURGE);
        }
        Ok(())
    }

    /// Like [`Self::open_project`], for commands that deal with an interrupted restore themselves.
    pub(crate) fn open_project_quietly(&self) -> Result<Project> {
        let root = match &self.named_root {
            Some(root) => root.clone(),
            // A directory that was deleted is still the one that is meant.
            None => match self.engine.find_lost_root(&self.directory) {
                Some(root) => root,
                None => self.engine.find_root(&self.directory)?,
            },
        };
        let project = self.engine.project(&root)?;
        self.stand_in(&project);
        Ok(project)
    }

    /// Does the person stand in a directory of the project, and not in the project itself?
    pub(crate) fn is_inside(&self, project: &Project) -> bool {
        project.rel_path(&self.directory).is_ok_and(|inside| !inside.as_bytes().is_empty())
    }

    /// Paths of this project are named as from the present directory, unless a program reads.
    fn stand_in(&self, project: &Project) {
        let directory = match project.rel_path(&self.directory) {
            _ if self.ui.json => project.root().to_owned(),
            Ok(inside) => project.root().join(OsStr::from_bytes(inside.as_bytes())),
            Err(_) => self.directory.clone(),
        };
        here::stand(project.root(), &directory);
    }

    /// The checkpoint a person named. Where a time chose it, says which it is.
    pub(crate) fn find(&self, project: &Project, text: &str) -> Result<Checkpoint> {
        let found = find(project, text)?;
        self.tell_chosen(project, text, &found);
        Ok(found)
    }

    /// The checkpoint a person named, of this project or of a line beside it, and the one it is of.
    pub(crate) fn find_on_lines(
        &self,
        project: &Project,
        text: &str,
    ) -> Result<(Project, Checkpoint)> {
        let found = find_on_lines(project, text)?;
        self.tell_chosen(&found.0, text, &found.1);
        Ok(found)
    }

    /// Says which checkpoint a time chose.
    pub(crate) fn tell_chosen(&self, project: &Project, text: &str, chosen: &Checkpoint) {
        let is_name = chosen.names.iter().any(|name| name == text);
        if matches!(Spec::parse(text), Ok(Spec::Time { .. })) && !is_name {
            let (number, when) = (chosen.number, time::local(chosen.time));
            let age = time::age(chosen.time.seconds, self.now());
            let timeline = project.timeline().unwrap_or_default();
            let later = timeline.iter().filter(|one| one.time.seconds > chosen.time.seconds);
            let next = later.min_by_key(|one| one.time.seconds).map_or_else(String::new, |next| {
                let age = time::age(next.time.seconds, self.now());
                format!("; the next, {}, {age}", next.number)
            });
            self.ui.status(format_args!(
                "`{text}` is checkpoint {number}, the last one saved by then: {when} ({age}{next})."
            ));
        }
    }

    /// Makes the home, if it is not there.
    pub(crate) fn make_home(&self) -> Result<()> {
        let made = herma_fs::Dir::ensure_path(&self.home);
        made.map(drop).map_err(|error| CommandError::from(error).with_hint(ANOTHER_HOME))
    }

    /// A path from the command line, made absolute.
    pub(crate) fn absolute(&self, path: &Path) -> PathBuf {
        self.directory.join(path)
    }

    /// Paths from the command line, inside the project.
    pub(crate) fn project_paths(
        &self,
        project: &Project,
        paths: &[PathBuf],
    ) -> Result<Vec<RelPath>> {
        paths.iter().map(|path| Ok(project.rel_path(&self.absolute(path))?)).collect()
    }
}

/// The same, also of a line beside the project, and the one it is of.
pub(crate) fn find_on_lines(project: &Project, text: &str) -> Result<(Project, Checkpoint)> {
    match Spec::parse(text) {
        Ok(spec @ Spec::OnLine(..)) => Ok(project.find_on_lines(&spec)?),
        _ => Ok((project.clone(), find(project, text)?)),
    }
}

/// The checkpoint a person named, without a word about it.
pub(crate) fn find(project: &Project, text: &str) -> Result<Checkpoint> {
    let found = Spec::parse(text).map_err(|error| CommandError::from(Error::from(error)));
    let found =
        found.and_then(|spec| project.find(&spec).map_err(|error| with_oldest(project, error)));
    found.map_err(|error| with_message(project, text, error))
}

/// Names the checkpoint that was saved with these words, if that is what somebody wrote.
fn with_message(project: &Project, text: &str, error: CommandError) -> CommandError {
    let timeline = project.timeline().unwrap_or_default();
    let is_it = |saved: &&Checkpoint| saved.subject().eq_ignore_ascii_case(text.as_bytes());
    let Some(saved) = timeline.iter().find(is_it) else { return error };
    let number = saved.number;
    error.with_only_hint(format!("That is the message of checkpoint {number}: write `{number}`."))
}

/// Says how far back a project goes, where somebody wanted to go further.
pub(crate) fn with_oldest(project: &Project, error: Error) -> CommandError {
    let Error::NothingThatOld { text } = &error else { return error.into() };
    let written = shown(text);
    let oldest = project.timeline().ok().and_then(|all| all.last().cloned());
    let mut error = CommandError::from(error);
    if let Some(oldest) = oldest {
        let (number, when) = (oldest.number, time::local(oldest.time));
        error.hints = vec![format!(
            "The oldest state is checkpoint {number}, of {when}: write `{number}` instead of `{written}`."
        )];
    }
    error
}

/// Refuses a home that is something else, or would be below it.
fn check_home(home: &Path) -> Result<()> {
    let Some(file) = home.ancestors().find(|path| path.is_file()) else { return Ok(()) };
    let (home, file) = (shown(home), shown(file));
    let message = format!("{home} cannot be Herma's home: {file} is a file");
    Err(CommandError::usage(message).with_hint(ANOTHER_HOME))
}

fn start_directory(environment: &Environment, global: &GlobalArgs) -> Result<PathBuf> {
    let directory = match (&environment.directory, &global.directory) {
        (Some(present), Some(asked)) => present.join(asked),
        (Some(present), None) => present.clone(),
        (None, Some(asked)) if asked.is_absolute() => asked.clone(),
        (None, _) => return Err(deleted()),
    };
    Ok(directory)
}

fn deleted() -> CommandError {
    CommandError::usage("the present directory was deleted")
        .with_hint("Go to one that exists, or name one with `-C DIR`.")
}

/// Refuses a directory that is not there, unless it was a project's: that can be made again.
fn check_directory(engine: &Engine, directory: &Path, global: &GlobalArgs) -> Result<()> {
    if directory.is_dir() || engine.find_lost_root(directory).is_some() {
        return Ok(());
    }
    if global.directory.is_none() {
        return Err(deleted());
    }
    let shown = shown(directory);
    Err(if herma_fs::stat_path(directory).is_ok_and(|found| found.is_some()) {
        CommandError::usage(format!("{shown} is not a directory"))
            .with_hint("Name the directory it is in.")
    } else {
        CommandError::usage(format!("there is no directory {shown}"))
    })
}
