//! What the store had lost when somebody saved or restored.

use herma_core::Lost;
use herma_view::listing::counted_entries;

use crate::terminal::{Ui, escape};

/// Tells what the store had lost.
pub(crate) fn warn_of_losses(ui: &Ui, lost: &Lost) {
    if lost.files > 0 {
        let count = counted_entries(
            lost.files as usize,
            "file was missing in the store and was",
            "files were missing in the store and were",
        );
        ui.warning(format_args!("{count} saved again."));
    }
    if !lost.packs.is_empty() {
        let count =
            counted_entries(lost.packs.len(), "pack of the store is", "packs of the store are");
        ui.warning(format_args!("{count} gone or not as at the last save:"));
        ui.name_some(
            lost.packs.iter().map(|pack| escape(pack.as_bytes())),
            "herma checkpoints verify",
        );
        ui.detail("`herma checkpoints verify` tells what that costs.");
    }
}
