//! Qwen Code: the `hooks` of `settings.json`, which may hold comments.
//!
//! Timeouts: the code of Qwen 0.24.4 reads numbers below 1000 as seconds and others as milliseconds, "their old
//! meaning". When it was run, `1` and `1000` were both cut at one second, and with `20000` a slow hook was cut
//! after twenty (docs/AGENTS.md, "When Herma itself fails"). How other versions read it was not tried. One that
//! knows milliseconds only would cut `20` at once, and then nothing is saved; one that knows seconds only would
//! wait too long with `20000`, but Herma answers within five. So it is `20000`.

use std::path::PathBuf;

use super::hooks_json::HooksJson;
use super::hooks_json::claude_events;
use super::json::Dialect;
use super::places::Places;
use super::places::Scope;
use super::target::Target;
use crate::agent::Agent;

const HOOKS: HooksJson = HooksJson {
    dialect: Dialect::Comments,
    ..HooksJson::like_claude(Agent::Qwen, &claude_events(20_000))
};

pub(super) fn directory(places: &Places) -> PathBuf {
    places.home.join(".qwen")
}

pub(super) fn targets(places: &Places, scope: &Scope) -> Vec<Target> {
    let of_user = directory(places).join("settings.json");
    vec![Target::shared(
        scope.choose(".qwen/settings.json", of_user),
        HOOKS,
    )]
}
