//! One file per agent.

mod claude;
mod codex;
mod copilot;
mod gemini;
pub(crate) mod goose;
pub(crate) mod opencode;
mod qwen;

use crate::form::Form;

static FORMS: [&Form; 5] =
    [&claude::FORM, &codex::FORM, &copilot::FORM, &gemini::FORM, &qwen::FORM];

/// The form of the agent that step records call so.
pub(crate) fn form_of(word: &str) -> Option<&'static Form> {
    FORMS.into_iter().find(|form| form.word == word)
}
