//! What happened to a conversation: to people, and to programs.

use std::path::Path;

use herma_chats::{Chat, Written};
use herma_fs::Dir;
use herma_sessions::rewind;
use herma_sessions::rewind::{Followed, LeftAlone};
use herma_store::path::escape;
use herma_view::json::{Serialize, list, object};
use herma_view::listing::counted;

use crate::command_env::{CommandEnv, CommandError, Outcome, Result};
use crate::terminal::quote;

/// What becomes of an agent's conversation.
pub(crate) enum Forked {
    /// It is looked through, and nothing is written yet.
    Planned(Box<Chat>),
    /// It is a new session now.
    Written(Box<Chat>, Written),
    /// It stays as it is, for a reason.
    Refused(String),
}

impl Forked {
    /// What is typed to go on with the new session, and where, if that is elsewhere.
    fn line(written: &Written, here: &Path) -> String {
        let words: Vec<String> = written.command.iter().map(|word| quote(word)).collect();
        let line = words.join(" ");
        let elsewhere = written.directory.as_ref().filter(|directory| *directory != here);
        match elsewhere.and_then(|directory| directory.to_str()) {
            Some(directory) => format!("cd {} && {line}", quote(directory)),
            None => line,
        }
    }
}

/// What is to be told of a conversation; nothing if none was concerned.
#[derive(Default)]
pub(crate) struct Told {
    followed: Option<Followed>,
    left_alone: Vec<LeftAlone>,
    forked: Option<Forked>,
    is_plan: bool,
    error: Option<CommandError>,
}

impl Told {
    /// The files moved, and the conversation did not.
    pub(crate) fn failed(error: CommandError) -> Self {
        Self { error: Some(error), ..Self::default() }
    }

    /// It followed the files.
    pub(crate) fn done(files: Option<&Dir>, followed: Followed) -> Result<Self> {
        let session = followed.session.as_deref();
        let left_alone = session.map(|session| rewind::left_alone(files, session));
        Ok(Self {
            followed: Some(followed),
            left_alone: left_alone.transpose()?.unwrap_or_default(),
            ..Self::default()
        })
    }

    /// It would.
    pub(crate) fn planned(files: Option<&Dir>, followed: Followed) -> Result<Self> {
        let mut told = Self::done(files, followed)?;
        told.is_plan = true;
        Ok(told)
    }

    /// Beside it what became of an agent's conversation, if one goes along.
    pub(crate) fn with(self, forked: Option<Forked>) -> Self {
        Self { forked, ..self }
    }

    /// Why it did not follow, if it did not.
    pub(crate) fn into_error(self) -> Option<CommandError> {
        self.error
    }

    /// The conversation and the new session, as programs read them.
    pub(crate) fn json(&self) -> (impl Serialize + use<>, impl Serialize + use<>) {
        (self.to_json(), self.chat_json())
    }

    /// As programs read it.
    fn to_json(&self) -> Option<impl Serialize + use<>> {
        let followed = self.followed.as_ref()?;
        let left =
            self.left_alone.iter().map(|left| object! { name: left.name.clone(), why: left.why });
        Some(object! {
            session: followed.session.clone(),
            messages_cut: followed.cut.messages,
            messages_brought_back: followed.brought_back.messages,
            jsonl_bytes_cut: followed.cut.jsonl_bytes,
            jsonl_bytes_brought_back: followed.brought_back.jsonl_bytes,
            not_rewound: list(left),
        })
    }

    /// The new session, as programs read it.
    fn chat_json(&self) -> Option<impl Serialize + use<>> {
        let (chat, written, refused) = match self.forked.as_ref()? {
            Forked::Planned(chat) => (Some(chat), None, None),
            Forked::Written(chat, written) => (Some(chat), Some(written.clone()), None),
            Forked::Refused(why) => (None, None, Some(why.clone())),
        };
        let directory = written.as_ref().and_then(|written| written.directory.clone());
        Some(object! {
            agent: chat.map(|chat| chat.agent()),
            messages_kept: chat.map(|chat| chat.kept()),
            messages_cut: chat.map(|chat| chat.cut()),
            session: written.as_ref().map(|written| written.session.clone()),
            command: written.map(|written| written.command),
            directory: directory.map(|path| path.to_string_lossy().into_owned()),
            refused: refused,
        })
    }

    /// Programs read one object: if that is about a failure, there is no report.
    pub(crate) fn stop_if_json(self, env: &CommandEnv) -> Result<Self> {
        match self.error {
            Some(error) if env.ui.json => Err(error),
            _ => Ok(self),
        }
    }

    /// Tells it, after what was told of the files; `outcome` is what came of those.
    pub(crate) fn tell(self, env: &CommandEnv, outcome: Outcome) -> Result<Outcome> {
        if let Some(error) = self.error {
            return Err(error);
        }
        if let Some(followed) = &self.followed {
            self.tell_messages(env, followed);
        }
        let mut is_partial = self.tell_forked(env);
        for left in &self.left_alone {
            let name = escape(left.name.as_bytes());
            let text = format!("{name} is not rewound: {}", left.why);
            if left.matters {
                is_partial = true;
                env.ui.warning(text);
            } else {
                env.ui.status(format_args!("{text}."));
            }
        }
        Ok(match outcome {
            Outcome::Done if is_partial => Outcome::LeftOut,
            outcome => outcome,
        })
    }

    /// Tells of a new session; is there none though there should be?
    fn tell_forked(&self, env: &CommandEnv) -> bool {
        match &self.forked {
            None => return false,
            Some(Forked::Refused(why)) => {
                env.ui.warning(format_args!("the conversation stays as it is: {why}"));
                return true;
            }
            Some(Forked::Planned(chat)) if chat.kept() == 0 => env.ui.status(
                "The conversation begins with the prompt that led to this: nothing of it would be left.",
            ),
            Some(Forked::Planned(chat)) => env.ui.status(format_args!(
                "A new session would have {} of the conversation with {}, without the last {}.",
                counted(chat.kept(), "message"),
                chat.agent(),
                chat.cut(),
            )),
            Some(Forked::Written(chat, written)) => {
                env.ui.status(format_args!(
                    "A new session has {} of the conversation with {}, without the last {}:",
                    counted(chat.kept(), "message"),
                    chat.agent(),
                    chat.cut(),
                ));
                env.ui.status(format_args!("  {}", Forked::line(written, &env.directory)));
            }
        }
        false
    }

    fn tell_messages(&self, env: &CommandEnv, followed: &Followed) {
        let words = |count: u64| counted(count, "message");
        let (cut, back) = (followed.cut, followed.brought_back);
        if self.is_plan {
            env.ui.status(format_args!(
                "The conversation would be rewound by {}.",
                words(cut.messages)
            ));
        } else if back.messages > 0 || back.jsonl_bytes > 0 {
            env.ui
                .status(format_args!("Brought back {} of the conversation.", words(back.messages)));
        } else if cut.messages > 0 || cut.jsonl_bytes > 0 {
            env.ui.status(format_args!(
                "Rewound the conversation by {}; `herma undo` brings them back.",
                words(cut.messages)
            ));
        } else {
            env.ui.status("The conversation was where it should be already.");
        }
    }
}
