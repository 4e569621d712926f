//! What a restore or an undo does not bring back.

use herma_core::OutsideOfStep;
use herma_core::restore::Plan;
use herma_view::outside;

use crate::terminal::Ui;

/// Names it, and says whether what is undone is older than the last step.
pub(crate) fn tell(ui: &Ui, plan: &Plan) {
    name_all(ui, &plan.outside);
    if let Some(words) = plan.passed.as_ref().map(outside::passed_in_words) {
        ui.status(words);
    }
}

/// Names what is not brought back.
pub(crate) fn name_all(ui: &Ui, steps: &[OutsideOfStep]) {
    if steps.is_empty() {
        return;
    }
    let title = "Not brought back, because no checkpoint holds it:";
    ui.status_of(title, outside::named(steps).into_iter(), "--json");
}
