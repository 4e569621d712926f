//! Choosing what to undo, hunk by hunk, as `git add -p` does.

use herma_core::{Preview, RelPath, UndoPlan};
use herma_diff::lines::hunks::apply_chosen;
use herma_diff::lines::{hunks, is_binary};
use herma_diff::{Change, PatchLine, PatchLineKind, PatchOptions, Side};
use herma_view::changes::hunk_choices::{Choices, Understood};
use herma_view::changes::patch_lines::write_patch_line;
use herma_view::changes::write_patch;
use herma_view::here;

use crate::command_error::{CommandError, Kind, Result};
use crate::terminal::Ui;

const CONTEXT: usize = 3;
/// Files above this are undone whole or not at all.
const MAX_FILE_BYTES: u64 = 32 << 20;

const HELP: &str = "\
y - undo this
n - leave this as it is
q - leave this and everything after it as it is
a - take this and everything after it in the file back
d - leave this and everything after it in the file as it is
s - split this hunk into smaller ones
j - decide later, go to the next hunk that is not decided
k - go to the hunk before
? - print this";

/// A file as it is, and as it would be.
type Texts = (Vec<u8>, Vec<u8>);

/// What one file's questions came to.
enum Decision {
    Quit,
    Done,
}

/// Asks about everything a plan would change, and leaves in it what was said yes to.
pub(crate) fn choose(ui: &Ui, preview: &Preview, plan: &mut UndoPlan) -> Result<()> {
    let mut quit = false;
    for (path, word) in &preview.modes {
        let question = format!("Do this: {word} {}", here::path(path));
        quit = quit || whole(ui, plan, &question, path)?;
        if quit {
            plan.leave(path);
        }
    }
    for change in &preview.changes {
        if quit {
            plan.leave(&change.path);
            continue;
        }
        quit = matches!(one_file(ui, preview, plan, change)?, Decision::Quit);
    }
    Ok(())
}

/// Asks about something that has no parts; was it the last question?
fn whole(ui: &Ui, plan: &mut UndoPlan, question: &str, path: &herma_core::RelPath) -> Result<bool> {
    loop {
        let answer = ui.ask_for_word(&format!("{question} [y,n,q,?]? "))?;
        match answer.as_deref() {
            Some("y" | "a") => return Ok(false),
            Some("n" | "d") => {
                plan.leave(path);
                return Ok(false);
            }
            None | Some("q") => {
                plan.leave(path);
                return Ok(true);
            }
            Some(_) => ui.status(HELP),
        }
    }
}

fn one_file(ui: &Ui, preview: &Preview, plan: &mut UndoPlan, change: &Change) -> Result<Decision> {
    let quit_or = |quit: bool| if quit { Decision::Quit } else { Decision::Done };
    let Some((old, new)) = texts(preview, change)? else {
        show(ui, preview, change)?;
        let what = match (change.old, change.new) {
            (None, _) => "Bring back",
            (_, None) => "Delete",
            _ if change.from.is_some() => "Move back",
            _ => "Undo the change of",
        };
        let question = format!("{what} {}", here::path(&change.path));
        return Ok(quit_or(whole(ui, plan, &question, &change.path)?));
    };
    let mut choices = Choices::new(hunks(&old, &new, CONTEXT));
    ui.status(here::path(&change.path));
    let quit = ask_about_hunks(ui, &mut choices)?;
    let chosen = choices.chosen();
    if chosen.is_empty() {
        plan.leave(&change.path);
    } else if chosen.len() < choices.count() {
        // Hunks of the very texts they are applied to always apply.
        let bytes = apply_chosen(&old, chosen)
            .map_err(|e| CommandError::new(Kind::Failed, e.to_string()))?;
        plan.set_content(&change.path, &bytes);
    }
    Ok(quit_or(quit))
}

/// Asks until every hunk is decided; was it the last question?
fn ask_about_hunks(ui: &Ui, choices: &mut Choices<'_>) -> Result<bool> {
    while let Some(at) = choices.next_open() {
        let mut out = ui.data();
        choices.present().render(&mut |line| write_patch_line(&mut out, ui, line))?;
        out.finish()?;
        let letters = if choices.present().split().len() > 1 {
            "y,n,q,a,d,s,j,k,?"
        } else {
            "y,n,q,a,d,j,k,?"
        };
        let number = at + 1;
        let count = choices.count();
        let prompt = format!("({number}/{count}) Undo this hunk [{letters}]? ");
        match choices.answer(ui.ask_for_word(&prompt)?.as_deref()) {
            Understood::Yes => {}
            Understood::Unknown => ui.status(HELP),
            Understood::Quit => return Ok(true),
        }
    }
    Ok(false)
}

/// Both texts of a file that is there before and after, under one name, and has hunks.
fn texts(preview: &Preview, change: &Change) -> Result<Option<Texts>> {
    let (Some(old), Some(new)) = (change.old, change.new) else { return Ok(None) };
    if change.from.is_some() || change.is_type_change() || old.id == new.id {
        return Ok(None);
    }
    let old = preview.old_side().content(&change.path, &old.id, MAX_FILE_BYTES)?;
    let new = preview.new_side().content(&change.path, &new.id, MAX_FILE_BYTES)?;
    Ok(old.zip(new).filter(|(old, new)| !is_binary(old) && !is_binary(new)))
}

fn show(ui: &Ui, preview: &Preview, change: &Change) -> Result<()> {
    let mut out = ui.data();
    let changes = std::slice::from_ref(change);
    let (old, new) = (preview.old_side(), preview.new_side());
    write_patch(&mut out, ui, changes, [&old, &new], &PatchOptions::default())?;
    Ok(out.finish()?)
}

/// The whole preview as a patch.
pub(crate) fn write_preview(ui: &Ui, preview: &Preview) -> Result<()> {
    let sides: [&dyn Side; 2] = [&preview.old_side(), &preview.new_side()];
    write_patch_and(ui, &preview.changes, sides, &preview.modes)
}

/// Changes as a patch, and the paths of which none can tell.
pub(crate) fn write_patch_and(
    ui: &Ui,
    changes: &[Change],
    sides: [&dyn Side; 2],
    modes: &[(RelPath, &'static str)],
) -> Result<()> {
    let mut out = ui.listing();
    write_patch(&mut out, ui, changes, sides, &PatchOptions::default())?;
    for (path, word) in modes {
        let bytes = format!("{word} {}", here::path(path));
        let kind = PatchLineKind::Header;
        write_patch_line(&mut out, ui, PatchLine { kind, bytes: bytes.as_bytes() })?;
    }
    Ok(out.finish()?)
}
