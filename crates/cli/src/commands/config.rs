//! `herma config`

use std::io::Write;

use clap::{Args, Subcommand};
use herma_fs::Dir;

use crate::command_env::{CommandEnv, CommandError, Outcome, Result};
use crate::render::json::{PathJson, Serialize, lazy_object, list, object};
use crate::settings::file::SettingsFile;
use crate::settings::{KEYS, Key, Origin, Value, set};
use crate::terminal::{Label, escape};

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
    /// Change one setting; comments and layout of the file stay as they are
    Set {
        /// The setting, such as `checkpoints.max_snapshots`
        key: String,
        /// Its value; for a list any number, or all in one, such as `[a, b]` or `[]`
        #[arg(value_name = "VALUE", allow_negative_numbers = true)]
        values: Vec<String>,
    },
}

pub(crate) fn cmd_config(env: &CommandEnv, args: &ConfigArgs) -> Result<Outcome> {
    match &args.command {
        None | Some(ConfigCommand::Show) => show(env),
        Some(ConfigCommand::Set { key, values }) => set_key(env, key, values),
    }
}

fn show(env: &CommandEnv) -> Result<Outcome> {
    let settings = &env.settings;
    let outcome = if settings.problems.is_empty() { Outcome::Done } else { Outcome::Problems };
    if env.ui.json {
        env.ui.write_json(&object! {
            schema: "herma.config/1",
            file: PathJson::of(&settings.file),
            settings: list(settings.all().map(|(key, value, origin)| to_json(key, value, origin))),
            problems: list(settings.problems.iter().map(ToString::to_string)),
            warnings: settings.warnings.clone(),
        })?;
        return Ok(outcome);
    }
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
    for problem in &settings.problems {
        env.ui.warning(format_args!("{problem}; the default is used"));
    }
    for warning in &settings.warnings {
        env.ui.warning(warning);
    }
    Ok(outcome)
}

fn to_json(key: &Key, value: &Value, origin: Origin) -> impl Serialize {
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

fn set_key(env: &CommandEnv, name: &str, words: &[String]) -> Result<Outcome> {
    let key = Key::find(name).ok_or_else(|| {
        let known: Vec<_> = KEYS.iter().map(Key::full_name).collect();
        CommandError::usage(format!("there is no setting `{}`", escape(name.as_bytes())))
            .with_state("The file is as it was.")
            .with_hint(format!("There are {}", known.join(", ")))
    })?;
    let value = key.parse_words(words).ok_or_else(|| {
        CommandError::usage(format!("`{}` must be {}", key.full_name(), key.accepts()))
            .with_state("The file is as it was.")
    })?;
    let file = SettingsFile::open(&env.settings.file)?;
    let before = file.read_text()?;
    let after = set(before.as_deref().unwrap_or_default(), key, &value)?;
    Dir::ensure_path(&env.home)?;
    file.sweep();
    file.replace(before.as_deref().map(str::as_bytes), Some(after.as_bytes()), 0o600)?;
    env.ui.answer_json(lazy_object! {
        schema: "herma.config/1",
        file: PathJson::of(&env.settings.file),
        settings: vec![to_json(key, &value, Origin::File(None))],
        problems: [(); 0],
        warnings: [(); 0],
    })?;
    let value = escape(value.to_string().as_bytes());
    env.ui.status(format_args!("{} is now {value}", key.full_name()));
    Ok(Outcome::Done)
}
