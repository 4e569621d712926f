//! Which steps somebody means.

use std::collections::BTreeSet;

use herma_records::step::record::cut_name;
use herma_store::RelPath;

use super::{Step, StepId};
use crate::error::{Error, Result};
use crate::types::asked::WhichStep;

/// Which steps somebody means: those that fit everything that is said. Saying nothing means all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepChoice {
    /// Those that are called so.
    pub ids: Vec<StepId>,
    /// Steps of this agent.
    pub agent: Option<String>,
    /// Steps of this session.
    pub session: Option<String>,
    /// Steps of this turn.
    pub turn: Option<TurnChoice>,
    /// Steps that began at this time or later, in seconds since 1970.
    pub since: Option<i64>,
    /// Steps that began at this time or earlier.
    pub until: Option<i64>,
    /// Steps that changed something in these files and directories; all if there are none. Only lists ask.
    pub paths: Vec<RelPath>,
}

/// Which turn somebody means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnChoice {
    /// The one of the newest step that fits otherwise.
    Last,
    /// The one with this name.
    Named(String),
}

/// How much of the beginning of a session's id is enough.
const MIN_SESSION_CHARS: usize = 4;

/// The session somebody means by the beginning of its id, or the last one if none is named. An id that is no beginning of
/// exactly one is given back.
pub(crate) fn session_meant(steps: &[Step], named: Option<&str>) -> Result<Option<String>> {
    let sessions = || steps.iter().rev().filter_map(|step| step.start.facts.session.as_ref());
    let Some(named) = named else {
        return Ok(sessions().next().cloned());
    };
    let begins = |session: &&String| session.starts_with(named);
    let fitting: BTreeSet<&String> = sessions().filter(begins).collect();
    let is_beginning = named.chars().count() >= MIN_SESSION_CHARS;
    if fitting.iter().any(|session| *session == named) || !is_beginning {
        return Ok(Some(named.to_owned()));
    }
    let mut fitting = fitting.into_iter().cloned();
    match (fitting.next(), fitting.next()) {
        (Some(one), Some(other)) => {
            let sessions = [one, other].into_iter().chain(fitting).collect();
            Err(Error::SessionUnclear { begins: named.to_owned(), sessions })
        }
        (only, _) => Ok(Some(only.unwrap_or_else(|| named.to_owned()))),
    }
}

impl StepChoice {
    /// Is anything said?
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }

    /// Refuses a number that no step has, and a turn that several sessions have.
    pub(crate) fn check(&self, steps: &[Step]) -> Result<()> {
        let is_there = |id: StepId| steps.iter().any(|step| step.is(id));
        if let Some(missing) = self.ids.iter().copied().find(|id| !is_there(*id)) {
            return Err(Error::NoSuchStep(WhichStep::Id(missing)));
        }
        let Some(TurnChoice::Named(turn)) = &self.turn else { return Ok(()) };
        let chosen = self.pick(steps);
        let own = steps.iter().filter(|step| chosen.contains(&step.handle));
        let of_turn = own.map(|step| &step.start.facts).filter(|f| f.turn.as_ref() == Some(turn));
        let sessions: BTreeSet<&String> = of_turn.filter_map(|f| f.session.as_ref()).collect();
        if sessions.len() < 2 {
            return Ok(());
        }
        let sessions = sessions.into_iter().cloned().collect();
        Err(Error::TurnOfSeveral { turn: turn.clone(), sessions })
    }

    /// The chosen among the steps of a project, by their handles, with the steps that are part of them. Herma's own moves
    /// are chosen by number only, or when everything is.
    pub(crate) fn pick(&self, steps: &[Step]) -> BTreeSet<i64> {
        let mut fitting: Vec<&Step> = steps.iter().filter(|step| self.fits(step)).collect();
        if let Some(turn) = &self.turn {
            let wanted = match turn {
                TurnChoice::Named(name) => Some((None, cut_name(name))),
                TurnChoice::Last => {
                    let others = Self { ids: Vec::new(), ..self.clone() };
                    let mut newest = steps.iter().rev().filter(|step| others.fits(step));
                    newest.find_map(|step| {
                        let facts = &step.start.facts;
                        Some((facts.session.clone(), facts.turn.clone()?))
                    })
                }
            };
            fitting.retain(|step| {
                let facts = &step.start.facts;
                wanted.as_ref().is_some_and(|(session, turn)| {
                    facts.turn.as_ref() == Some(turn)
                        && (session.is_none() || facts.session == *session)
                })
            });
        }
        let mut chosen: BTreeSet<i64> = fitting.iter().map(|step| step.handle).collect();
        // Ascending, so that what is part of a part is found too.
        for step in steps {
            if step.start.within.is_some_and(|outer| chosen.contains(&outer)) {
                chosen.insert(step.handle);
            }
        }
        chosen
    }

    fn fits(&self, step: &Step) -> bool {
        let same = |wanted: &Option<String>, is: &Option<String>| {
            wanted.as_ref().is_none_or(|wanted| is.as_ref() == Some(&cut_name(wanted)))
        };
        let by_id = self.ids.is_empty() || self.ids.iter().any(|id| step.is(*id));
        let is_work = !step.kind.is_move() || !self.ids.is_empty() || self.is_all();
        let is_agent = self.agent.as_ref().is_none_or(|agent| step.agent() == cut_name(agent));
        by_id
            && is_work
            && is_agent
            && same(&self.session, &step.start.facts.session)
            && self.since.is_none_or(|since| step.started >= since)
            && self.until.is_none_or(|until| step.started <= until)
    }
}
