//! What the system says about the user and the terminal. Nothing else reads the environment.

use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use herma_agents::install::Places;
use herma_core::Clock;
use herma_core::types::clock::Timestamp;
use herma_fs::process::foreground::Variable;
use jiff::tz::TimeZone;

use crate::options::{GlobalArgs, Switch};

/// What the system says about the user and the terminal.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    /// `$HERMES_HOME`.
    pub(crate) hermes_home: Option<PathBuf>,
    /// `$HOME`.
    pub(crate) user_home: Option<PathBuf>,
    /// Where a front end says that its terminal is: `$TERMINAL_CWD`, or `$MESSAGING_CWD`.
    pub(crate) terminal_directory: Option<PathBuf>,
    /// The present directory; `None` when it was deleted.
    pub(crate) directory: Option<PathBuf>,
    /// Did the user ask for no colour, or is the terminal unable to show any?
    pub(crate) no_color: bool,
    /// The pager's command line; empty means none.
    pub(crate) pager: String,
    /// The editor's command line, if the user named one.
    pub(crate) editor: Option<String>,
    /// Are these terminals?
    pub(crate) stdin_is_terminal: bool,
    pub(crate) stdout_is_terminal: bool,
    pub(crate) stderr_is_terminal: bool,
    /// Columns and lines of the terminal.
    pub(crate) size: Option<(usize, usize)>,
    /// May a process in the background be started?
    pub(crate) background: bool,
    /// The step under whose command we run.
    pub(crate) outer_step: Option<OuterStep>,
    /// Does this session want to be saved automatically, or not, whatever the settings say?
    pub(crate) checkpoints: Option<bool>,
    /// The shell that asks what could come next: `$COMPLETE`, without its directory.
    pub(crate) completing: Option<String>,
    /// Where the user's programs keep what they can make again: `$XDG_CACHE_HOME`.
    pub(crate) cache: Option<PathBuf>,
    /// How long to wait for another process: `$HERMES_CHECKPOINT_TIMEOUT`, within Hermes's bounds.
    pub(crate) timeout: Option<Duration>,
}

/// What `herma run` tells the command it runs, and so everything the command runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OuterStep {
    /// The number of the step.
    pub(crate) number: String,
    /// The id of the project it is a step of.
    pub(crate) project: String,
}

impl OuterStep {
    /// The variable with the number.
    pub(crate) const NUMBER: &'static str = "HERMA_STEP";
    /// The variable with the project.
    pub(crate) const PROJECT: &'static str = "HERMA_STEP_PROJECT";
}

impl Environment {
    /// Asks the system.
    pub(crate) fn read() -> Self {
        let is_dumb = set("TERM").is_none_or(|term| term == "dumb");
        let stdout_is_terminal = std::io::stdout().is_terminal();
        Self {
            hermes_home: set("HERMES_HOME").map(PathBuf::from),
            user_home: set("HOME").map(PathBuf::from),
            terminal_directory: set("TERMINAL_CWD")
                .or_else(|| set("MESSAGING_CWD"))
                .map(PathBuf::from),
            directory: std::env::current_dir().ok().or_else(herma_fs::process::deleted_directory),
            no_color: set("NO_COLOR").is_some() || is_dumb,
            pager: pager_command(std::env::var_os("HERMA_PAGER"), set("PAGER"), is_dumb),
            editor: set("VISUAL")
                .or_else(|| set("EDITOR"))
                .map(|command| command.to_string_lossy().trim().to_owned())
                .filter(|command| !command.is_empty()),
            stdin_is_terminal: std::io::stdin().is_terminal(),
            stdout_is_terminal,
            stderr_is_terminal: std::io::stderr().is_terminal(),
            size: terminal_size::terminal_size()
                .map(|(width, height)| (usize::from(width.0), usize::from(height.0))),
            background: set("HERMA_NO_BACKGROUND").is_none_or(|value| value == "0"),
            outer_step: set(OuterStep::NUMBER).zip(set(OuterStep::PROJECT)).map(
                |(number, project)| OuterStep {
                    number: number.to_string_lossy().into_owned(),
                    project: project.to_string_lossy().into_owned(),
                },
            ),
            checkpoints: set("HERMA_CHECKPOINTS")
                .and_then(|value| switch(&value))
                // Set by `hermes chat --checkpoints --tui`, which never says no.
                .or_else(|| {
                    set("HERMES_TUI_CHECKPOINTS").and_then(|value| switch(&value).filter(|on| *on))
                }),
            completing: set("COMPLETE").filter(|shell| shell != "0").map(|shell| {
                let name = Path::new(&shell).file_stem().unwrap_or_default();
                name.to_string_lossy().into_owned()
            }),
            cache: set("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute()),
            timeout: set("HERMES_CHECKPOINT_TIMEOUT").and_then(|value| timeout(&value)),
        }
    }

    /// The same, as a command line with these options has it.
    pub(crate) fn with_options(self, global: &GlobalArgs) -> Self {
        let switched = global.checkpoints.map(|switch| switch == Switch::On);
        Self { checkpoints: switched.or(self.checkpoints), ..self }
    }

    /// Where copies of old states are made if nobody says where.
    pub(crate) fn copies(&self) -> Option<PathBuf> {
        let in_home = || Some(self.user_home.as_ref()?.join(".cache"));
        let cache = self.cache.clone().or_else(in_home).filter(|path| path.is_absolute())?;
        Some(cache.join("herma/open"))
    }

    /// Where settings and checkpoints are kept, made absolute; `None` when nothing says where.
    pub(crate) fn home(&self, flag: Option<&Path>) -> Option<PathBuf> {
        let home = flag
            .map(Path::to_owned)
            .or_else(|| self.hermes_home.clone())
            .or_else(|| Some(self.user_home.as_ref()?.join(".hermes")))?;
        match &self.directory {
            Some(directory) => Some(directory.join(home)),
            None => home.is_absolute().then_some(home),
        }
    }
}

/// A variable that holds something.
fn set(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// What the value of a switch means; `None` if nobody can tell.
fn switch(value: &OsStr) -> Option<bool> {
    match value.to_str()?.trim().to_ascii_lowercase().as_str() {
        "1" | "on" | "true" | "yes" => Some(true),
        "0" | "off" | "false" | "no" => Some(false),
        _ => None,
    }
}

/// A number of seconds as Hermes takes it: between 10 and 60.
fn timeout(value: &OsStr) -> Option<Duration> {
    let seconds: i64 = value.to_str()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds.clamp(10, 60) as u64))
}

/// What agents say in variables. No others are looked at.
pub(crate) fn agent_variables() -> Vec<(&'static str, OsString)> {
    herma_agents::variables().filter_map(|name| Some((name, set(name)?))).collect()
}

/// What a program finds in its environment that is run in a copy of a state: git looks no further up than to `directory`, and for no
/// other repository than the one it finds there.
pub(crate) fn apart(directory: &Path) -> Vec<Variable> {
    let mut ceilings: Vec<PathBuf> = directory.parent().map(Path::to_owned).into_iter().collect();
    let set_by_user = set(CEILINGS).unwrap_or_default();
    ceilings.extend(std::env::split_paths(&set_by_user).filter(|path| path.is_absolute()));
    let ceilings = std::env::join_paths(ceilings).ok();
    let mut variables: Vec<Variable> = OF_ONE_REPOSITORY.map(|name| (name, None)).into();
    variables.extend(ceilings.map(|ceilings| (CEILINGS, Some(ceilings))));
    variables
}

/// Above these directories git does not look for a repository.
const CEILINGS: &str = "GIT_CEILING_DIRECTORIES";

/// By these git is told which repository it works in; a hook that started us has them.
const OF_ONE_REPOSITORY: [&str; 7] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_PREFIX",
];

/// Where this user's agents keep their settings; `None` without a home.
pub(crate) fn agent_places(user_home: Option<&Path>) -> Option<Places> {
    let home = user_home.filter(|home| home.is_absolute())?.to_owned();
    let variables = herma_agents::place_variables();
    let variables = variables.filter_map(|name| Some((name, set(name)?.into()))).collect();
    Some(Places { has_cline_documents: home.join("Documents/Cline").is_dir(), home, variables })
}

/// Where this program is. A link that leads to it from the search path is preferred: package managers keep the
/// link and move what is behind it.
pub(crate) fn own_program() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?.canonicalize().ok()?;
    let is_it = |candidate: &PathBuf| candidate.canonicalize().is_ok_and(|found| found == program);
    let linked = in_search_path(program.file_name()?).into_iter().find(is_it);
    Some(linked.unwrap_or(program))
}

/// A program of this name in the search path.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    in_search_path(name.as_ref()).into_iter().find(|candidate| candidate.is_file())
}

/// Where a program of this name may be, in the order of the search path.
fn in_search_path(name: &OsStr) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories = std::env::split_paths(&path).filter(|directory| directory.is_absolute());
    directories.map(|directory| directory.join(name)).collect()
}

/// `HERMA_PAGER`, which may be set to nothing to have no pager, then `PAGER`, then `less`.
fn pager_command(own: Option<OsString>, common: Option<OsString>, is_dumb: bool) -> String {
    let default = if is_dumb { "" } else { "less -FRX" };
    match own.or(common) {
        Some(command) => command.to_string_lossy().trim().to_owned(),
        None => default.to_owned(),
    }
}

/// Where systems keep their time zones, each in a file of its name.
const ZONES: &str = "/usr/share/zoneinfo";

/// The user's time zone. `/etc/localtime` is read as it is, and `TZ` taken for the name of a file: to look through the whole
/// database of zones would take as long as everything else a small command does.
pub(crate) fn time_zone() -> &'static TimeZone {
    static ZONE: OnceLock<TimeZone> = OnceLock::new();
    ZONE.get_or_init(|| match std::env::var_os("TZ") {
        Some(name) => zone_named(&name).unwrap_or_else(TimeZone::system),
        None => zone_in(Path::new("/etc/localtime")).unwrap_or(TimeZone::UTC),
    })
}

/// The zone `TZ` names, if it names one as most do. Everything else it may hold is left to the library.
fn zone_named(name: &OsStr) -> Option<TimeZone> {
    let name = name.to_str()?;
    if matches!(name, "" | "UTC") {
        return Some(TimeZone::UTC);
    }
    let is_plain = |part: &str| {
        let is_usual = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+');
        !part.is_empty() && part.chars().all(is_usual)
    };
    let is_name = name.split('/').all(is_plain);
    is_name.then(|| zone_in(&Path::new(ZONES).join(name)))?
}

fn zone_in(file: &Path) -> Option<TimeZone> {
    let bytes = std::fs::read(file).ok()?;
    TimeZone::tzif("local", &bytes).ok()
}

/// The system's clock, with the offset of the user's time zone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let now = jiff::Timestamp::now();
        let offset = time_zone().to_offset(now);
        Timestamp {
            seconds: now.as_second(),
            // Negative only before 1970.
            nanos: now.subsec_nanosecond().unsigned_abs(),
            offset_minutes: offset.seconds() / 60,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment() -> Environment {
        Environment {
            hermes_home: None,
            user_home: Some("/home/you".into()),
            terminal_directory: None,
            directory: Some("/work".into()),
            no_color: true,
            pager: String::new(),
            editor: None,
            stdin_is_terminal: false,
            stdout_is_terminal: false,
            stderr_is_terminal: false,
            size: None,
            background: false,
            outer_step: None,
            checkpoints: None,
            completing: None,
            cache: None,
            timeout: None,
        }
    }

    #[test]
    fn a_switch_is_a_word_and_a_timeout_is_within_bounds() {
        let switched = |value: &str| switch(OsStr::new(value));
        assert_eq!((switched("on"), switched(" TRUE ")), (Some(true), Some(true)));
        assert_eq!((switched("0"), switched("no")), (Some(false), Some(false)));
        assert_eq!((switched("perhaps"), switched("")), (None, None));
        let seconds = |value: &str| timeout(OsStr::new(value)).map(|time| time.as_secs());
        assert_eq!((seconds("30"), seconds("1"), seconds("900")), (Some(30), Some(10), Some(60)));
        assert_eq!((seconds("-5"), seconds("30s"), seconds("")), (Some(10), None, None));
    }

    #[test]
    fn a_time_zone_is_found_by_its_name_alone() {
        let winter = jiff::Timestamp::from_second(1_700_000_000).unwrap();
        let hours = |name: &str| {
            let zone = zone_named(OsStr::new(name))?;
            Some(zone.to_offset(winter).seconds() / 3600)
        };
        assert_eq!((hours(""), hours("UTC")), (Some(0), Some(0)));
        if Path::new(ZONES).join("Asia/Tokyo").exists() {
            assert_eq!(hours("Asia/Tokyo"), Some(9));
        }
        for other in [
            "../../../etc/passwd",
            "/etc/localtime",
            "JST-9",
            ":Asia/Tokyo",
            "Asia",
            "Nowhere/At_all",
        ] {
            assert_eq!(hours(other), None, "{other}");
        }
    }

    #[test]
    fn flag_wins_over_environment_over_default_home() {
        let mut environment = environment();
        assert_eq!(environment.home(None), Some("/home/you/.hermes".into()));
        environment.hermes_home = Some("relative".into());
        assert_eq!(environment.home(None), Some("/work/relative".into()));
        let flag = Path::new("/elsewhere");
        assert_eq!(environment.home(Some(flag)), Some("/elsewhere".into()));
        environment.hermes_home = None;
        environment.user_home = None;
        assert_eq!(environment.home(None), None);
    }

    #[test]
    fn an_empty_pager_means_none() {
        assert_eq!(pager_command(Some("".into()), Some("more".into()), false), "");
        assert_eq!(pager_command(None, Some("more".into()), false), "more");
        assert_eq!(pager_command(None, None, false), "less -FRX");
        assert_eq!(pager_command(None, None, true), "");
    }
}
