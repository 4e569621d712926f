//! What a file says of its rows, besides their objects.

use std::collections::{BTreeMap, BTreeSet};

use herma_records::checkpoint::address::check_name_form;
use herma_records::order::Order;
use herma_records::step::marks::Marks;
use herma_records::step::record::{self, MAX_RECORD};
use herma_records::step::{Step, StepEnd};
use herma_store::ObjectId;
use herma_store::refs::scheme::MAX_NUMBER;
use serde::{Deserialize, Serialize};

use crate::frame::{CUTS, HEAD, ORDER, ROWS, RecordKind, STEP, TURNS, may_skip};
use crate::{ExchangeError, Result};

/// Nobody has more rows.
const MAX_ROWS: usize = 1 << 20;
/// The records that are held whole are no larger, except steps.
const MAX_WHOLE: u64 = 256 << 20;
const MAX_HEAD: u64 = 64 << 10;
/// Turns and the order have files of this size at most.
const MAX_SMALL: u64 = 1 << 20;
/// As many steps as a project remembers.
const MAX_STEPS: usize = 5000;

/// What the file is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// When it was written, in seconds since 1970.
    pub written: i64,
    /// How many rows it has.
    pub rows: u64,
    /// How many objects they take.
    pub objects: u64,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Its number.
    pub number: u64,
    /// Its commit.
    pub commit: ObjectId,
    /// Its receipt and modes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<ObjectId>,
    /// Its names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Is it pinned?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
    /// Did a check pass in its state?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub green: bool,
}

/// Everything but the objects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contents {
    /// What the file is.
    pub head: Head,
    /// The rows, by their numbers.
    pub rows: Vec<Row>,
    /// The commits whose parents are not in the file.
    pub cuts: BTreeSet<ObjectId>,
    /// The order of rows that were taken over.
    pub order: Option<Order>,
    /// What agents did, by the handles of the steps.
    pub steps: Vec<Step>,
    /// The prompts that were last heard of.
    pub turns: Option<Marks>,
}

impl Contents {
    /// The records, in the order they are written.
    pub(crate) fn records(&self) -> Vec<(RecordKind, Vec<u8>)> {
        let json = |value: Result<Vec<u8>, serde_json::Error>| {
            value.expect("strings and numbers always serialise")
        };
        let cuts = self.cuts.iter().flat_map(|id| *id.as_bytes()).collect();
        let mut records = vec![
            (HEAD, json(serde_json::to_vec(&self.head))),
            (ROWS, json(serde_json::to_vec(&self.rows))),
            (CUTS, cuts),
        ];
        records.extend(self.order.iter().map(|order| (ORDER, json(serde_json::to_vec(order)))));
        records.extend(self.steps.iter().map(|step| (STEP, record::encode(step))));
        records.extend(self.turns.iter().map(|turns| (TURNS, turns.encode())));
        records
    }

    /// How large a record of this kind may be; `None` if it is passed over.
    pub(crate) fn limit_of(kind: RecordKind) -> Result<Option<u64>> {
        Ok(match kind {
            HEAD => Some(MAX_HEAD),
            ROWS | CUTS => Some(MAX_WHOLE),
            ORDER | TURNS => Some(MAX_SMALL),
            STEP => Some(MAX_RECORD),
            other if may_skip(other) => None,
            other => {
                let name = herma_store::path::escape(&other);
                return Err(ExchangeError::bad(format!(
                    "it needs a reader that knows records of kind `{name}`"
                )));
            }
        })
    }

    /// Takes in a record.
    pub(crate) fn take(
        &mut self,
        kind: RecordKind,
        bytes: &[u8],
        seen: &mut BTreeSet<RecordKind>,
    ) -> Result<()> {
        if kind != STEP && !seen.insert(kind) {
            return Err(ExchangeError::bad("it has a record twice"));
        }
        let bad = |what: &str| ExchangeError::bad(format!("{what} cannot be read"));
        match kind {
            HEAD => self.head = serde_json::from_slice(bytes).map_err(|_| bad("its head"))?,
            ROWS => {
                self.rows = serde_json::from_slice(bytes).map_err(|_| bad("its list of rows"))?;
            }
            CUTS => {
                if !bytes.len().is_multiple_of(20) {
                    return Err(bad("its list of cuts"));
                }
                self.cuts = bytes.chunks_exact(20).filter_map(ObjectId::from_slice).collect();
            }
            ORDER => {
                self.order = Some(Order::parse(bytes).ok_or_else(|| bad("the order of its rows"))?);
            }
            STEP => {
                if self.steps.len() >= MAX_STEPS {
                    return Err(ExchangeError::bad("it has more steps than a project remembers"));
                }
                self.steps.push(record::decode(bytes).ok_or_else(|| bad("a step"))?);
            }
            TURNS => self.turns = Some(Marks::parse(bytes).ok_or_else(|| bad("its prompts"))?),
            _ => {}
        }
        Ok(())
    }

    /// Checks what can be checked without the objects, after all records were taken in.
    pub(crate) fn check(&self, seen: &BTreeSet<RecordKind>) -> Result<()> {
        if ![HEAD, ROWS, CUTS].iter().all(|kind| seen.contains(kind)) {
            return Err(ExchangeError::bad("its head, its rows or its cuts are missing"));
        }
        if self.rows.is_empty()
            || self.rows.len() > MAX_ROWS
            || self.rows.len() as u64 != self.head.rows
        {
            return Err(ExchangeError::bad("it has no rows, too many, or others than it says"));
        }
        let numbers: BTreeMap<u64, &Row> = self.rows.iter().map(|row| (row.number, row)).collect();
        let is_sorted = self.rows.is_sorted_by(|one, next| one.number < next.number);
        let are_numbers = self.rows.iter().all(|row| (1..=MAX_NUMBER).contains(&row.number));
        if !is_sorted || !are_numbers {
            return Err(ExchangeError::bad("the numbers of its rows cannot be"));
        }
        let commits: BTreeSet<ObjectId> = self.rows.iter().map(|row| row.commit).collect();
        if commits.len() != self.rows.len() {
            return Err(ExchangeError::bad("two rows are the same checkpoint"));
        }
        if !self.cuts.is_subset(&commits) {
            return Err(ExchangeError::bad("history ends at what is no row of it"));
        }
        let names: Vec<&String> = self.rows.iter().flat_map(|row| &row.names).collect();
        let unique: BTreeSet<&String> = names.iter().copied().collect();
        if unique.len() != names.len() || names.iter().any(|name| check_name_form(name).is_err()) {
            return Err(ExchangeError::bad("a name is given twice, or cannot be one"));
        }
        let mut last = i64::MIN;
        for step in &self.steps {
            let is_row = step.number.is_some_and(|number| numbers.contains_key(&number));
            if !is_row || step.handle <= last || matches!(step.end, StepEnd::Open) {
                return Err(ExchangeError::bad("a step is none of its rows"));
            }
            last = step.handle;
        }
        Ok(())
    }
}
