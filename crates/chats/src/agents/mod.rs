//! One file per agent.

mod claude;
mod codex;

use crate::form::Form;

static FORMS: [&Form; 2] = [&claude::FORM, &codex::FORM];

/// The form of the agent that step records call so.
pub(crate) fn form_of(word: &str) -> Option<&'static Form> {
    FORMS.into_iter().find(|form| form.word == word)
}
