//! `herma config`

use std::ffi::OsString;
use std::io::Write;

use clap::{Args, Subcommand};
use herma_fs::process::foreground::{Foreground, Running};
use herma_settings::file::SettingsFile;
use herma_settings::{Key, Loaded, Origin, Value, set, unset};
use herma_view::json::{PathJson, Serialize, lazy_object, list, object};

use crate::command_env::{CommandEnv, CommandError, Kind, Outcome, Result};
use crate::terminal::{Label, escape, shown};

/// Show or change the settings
#[derive(Args, Debug)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    command: Option<ConfigCommand>,
}

#[derive(Subcommand, Debug)]
enum ConfigCommand {
    /// Show the settings in force, and where each comes from
    Show,
    /// Print the value in force of one setting
    Get {
        /// The setting, such as `checkpoints.max_snapshots`
        key: String,
    },
    /// Change one setting; comments and layout of the file stay
    Set {
        /// The setting, such as `checkpoints.max_snapshots`
        key: String,
        /// Its value; for a list any number, or all in one, such as `[a, b]` or `[]`
        #[arg(value_name = "VALUE", allow_negative_numbers = true)]
        values: Vec<String>,
    },
    /// Remove one setting from the file, so that its default applies
    Unset {
        /// The setting, such as `checkpoints.max_snapshots`
        key: String,
    },
    /// Open the file in your editor, then say what is wrong with it
    ///
    /// The editor is `$VISUAL`, else `$EDITOR`.
    Edit,
}

pub(crate) fn cmd_config(env: &CommandEnv, args: &ConfigArgs) -> Result<Outcome> {
    match &args.command {
        None | Some(ConfigCommand::Show) => show(env),
        Some(ConfigCommand::Get { key }) => get(env, key),
        Some(ConfigCommand::Set { key, values }) => set_key(env, key, values),
        Some(ConfigCommand::Unset { key }) => unset_key(env, key),
        Some(ConfigCommand::Edit) => edit(env),
    }
}

fn show(env: &CommandEnv) -> Result<Outcome> {
    let settings = &env.settings;
    if !env.ui.json {
        let mut out = env.ui.listing();
        for (key, value, origin) in settings.all() {
            let from = match origin {
                Origin::Default => "default".to_owned(),
                Origin::File(Some(line)) => format!("config.yaml:{line}"),
                Origin::File(None) => "config.yaml".to_owned(),
                Origin::Session => "only this session".to_owned(),
            };
            let about = format!("# {from}; {}", key.about);
            let about = env.ui.theme.paint(Label::Faint, &about);
            let setting = format!("{}: {}", key.full_name(), escape(value.to_string().as_bytes()));
            writeln!(out, "{setting:<36} {about}")?;
        }
        out.finish()?;
    }
    tell_whether_it_reads(env, settings)
}

/// Says what is wrong with the settings; to programs, what they are as well.
fn tell_whether_it_reads(env: &CommandEnv, settings: &Loaded) -> Result<Outcome> {
    env.ui.answer_json(lazy_object! {
        schema: "herma.config/1",
        file: PathJson::of(&settings.file),
        settings: list(settings.all().map(|(key, value, origin)| to_json(key, value, origin))),
        problems: list(settings.problems.iter().map(ToString::to_string)),
        warnings: settings.warnings.clone(),
    })?;
    if !env.ui.json {
        for problem in &settings.problems {
            env.ui.warning(format_args!("{problem}; the default is used"));
        }
        for warning in &settings.warnings {
            env.ui.warning(warning);
        }
    }
    Ok(if settings.problems.is_empty() { Outcome::Done } else { Outcome::Problems })
}

fn to_json(key: &Key, value: &Value, origin: Origin) -> impl Serialize + use<> {
    let (origin, line) = match origin {
        Origin::Default => ("default", None),
        Origin::File(line) => ("file", line),
        Origin::Session => ("session", None),
    };
    object! {
        key: key.full_name(),
        value: value.to_json(),
        origin,
        line,
    }
}

/// The answer of a command about one setting, for programs.
fn answer_one(
    env: &CommandEnv,
    key: &Key,
    value: &Value,
    origin: Origin,
    problems: &[String],
) -> Result<()> {
    env.ui.answer_json(lazy_object! {
        schema: "herma.config/1",
        file: PathJson::of(&env.settings.file),
        settings: vec![to_json(key, value, origin)],
        problems,
        warnings: [(); 0],
    })
}

fn find(name: &str) -> Result<&'static Key> {
    Key::find(name).ok_or_else(|| {
        let unknown = format!("there is no setting `{}`", escape(name.as_bytes()));
        let error = CommandError::usage(unknown).with_state("The file is as it was.");
        match Key::like(name) {
            Some(key) => error.with_hint(format!("Did you mean `{}`?", key.full_name())),
            None => error.with_hint("`herma config show` lists the settings."),
        }
    })
}

fn get(env: &CommandEnv, name: &str) -> Result<Outcome> {
    let key = find(name)?;
    let (value, origin) = env.settings.of(key);
    let problems = env.settings.problems.iter().filter(|problem| problem.concerns(key));
    let problems: Vec<_> = problems.map(ToString::to_string).collect();
    answer_one(env, key, value, origin, &problems)?;
    if !env.ui.json {
        env.ui.print(escape(value.to_string().as_bytes()))?;
        for problem in &problems {
            env.ui.warning(format_args!("{problem}; the default is used"));
        }
    }
    Ok(if problems.is_empty() { Outcome::Done } else { Outcome::Problems })
}

fn set_key(env: &CommandEnv, name: &str, words: &[String]) -> Result<Outcome> {
    let key = find(name)?;
    let value = key.parse_words(words).ok_or_else(|| {
        CommandError::usage(format!("`{}` must be {}", key.full_name(), key.accepts()))
            .with_state("The file is as it was.")
    })?;
    let file = SettingsFile::open(&env.settings.file)?;
    let before = file.read_text()?;
    let after = set(before.as_deref().unwrap_or_default(), key, &value)?;
    env.make_home()?;
    file.sweep();
    file.replace(before.as_deref().map(str::as_bytes), Some(after.as_bytes()), 0o600)?;
    answer_one(env, key, &value, Origin::File(None), &[])?;
    let value = escape(value.to_string().as_bytes());
    env.ui.status(format_args!("{} is now {value}", key.full_name()));
    Ok(Outcome::Done)
}

fn unset_key(env: &CommandEnv, name: &str) -> Result<Outcome> {
    let key = find(name)?;
    let file = SettingsFile::open(&env.settings.file)?;
    let before = file.read_text()?;
    let after = unset(before.as_deref().unwrap_or_default(), key)?;
    if let Some(after) = &after {
        file.sweep();
        file.replace(before.as_deref().map(str::as_bytes), Some(after.as_bytes()), 0o600)?;
    }
    let default = key.default();
    answer_one(env, key, &default, Origin::Default, &[])?;
    let (name, default) = (key.full_name(), escape(default.to_string().as_bytes()));
    match after {
        Some(_) => env.ui.status(format_args!("{name} is {default} again, its default")),
        None => env.ui.status(format_args!("{name} was not set: it is {default}, its default")),
    }
    Ok(Outcome::Done)
}

fn edit(env: &CommandEnv) -> Result<Outcome> {
    let at = shown(&env.settings.file);
    let editor = env.environment.editor.as_deref().ok_or_else(|| {
        CommandError::new(Kind::Failed, "no editor is known")
            .with_state("The file is as it was.")
            .with_hint(format!(
                "Set `EDITOR`, such as `EDITOR=nano herma config edit`, or open {at}."
            ))
    })?;
    env.make_home()?;
    let file = SettingsFile::open(&env.settings.file)?;
    let is_new = file.read()?.is_none();
    if is_new {
        file.replace(None, Some(b""), 0o600)?;
    }
    let edited = run_editor(env, editor);
    // One that nobody wrote anything into would stay for nothing.
    if is_new && file.read()?.is_some_and(|text| text.is_empty()) {
        file.replace(Some(b""), None, 0o600)?;
    }
    edited?;
    let settings = Loaded::read(&env.home);
    let outcome = tell_whether_it_reads(env, &settings)?;
    if settings.problems.is_empty() && settings.warnings.is_empty() {
        env.ui.status(format_args!("{at} reads well."));
    } else {
        env.ui.hint("`herma config edit` opens it again.");
    }
    Ok(outcome)
}

fn run_editor(env: &CommandEnv, editor: &str) -> Result<()> {
    let failed = |what: String| {
        CommandError::new(
            Kind::Failed,
            format!("the editor `{}` {what}", escape(editor.as_bytes())),
        )
        .with_state("The file is as the editor left it.")
        .with_hint("`VISUAL`, or else `EDITOR`, says which editor is started.")
    };
    let mut words = editor.split_whitespace().map(OsString::from);
    let program = words.next().unwrap_or_default();
    let mut arguments: Vec<OsString> = words.collect();
    arguments.push(env.settings.file.clone().into());
    let prepared =
        Foreground::prepare().map_err(|error| failed(format!("cannot be waited for: {error}")))?;
    let running = prepared.start(&program, &arguments, &env.directory, &[]);
    let ended = running.and_then(Running::wait);
    match ended.map_err(|error| failed(format!("could not be started: {error}")))?.exit_code() {
        0 => Ok(()),
        code => Err(failed(format!("ended with {code}"))),
    }
}
