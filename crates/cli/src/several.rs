//! Several changes by their numbers, as the list prints a prompt of several calls: `15-17`, or `3-5,7`.

use std::ops::RangeInclusive;

use herma_core::steps::StepId;
use herma_core::types::address::parse_range;
use herma_core::{Checkpoint, Project};

use crate::command_env::{Result, find};

/// Nobody means more than so many.
const MOST: u64 = 10_000;

/// Several changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Several {
    ranges: Vec<RangeInclusive<u64>>,
}

impl Several {
    /// Reads them; `None` if the text is one number, or something else.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let one = |text: &str| StepId::parse(text)?.number().map(|number| number..=number);
        let text = text.strip_prefix('#').unwrap_or(text);
        let ranges: Option<Vec<_>> =
            text.split(',').map(|part| parse_range(part).or_else(|| one(part))).collect();
        let several = Self { ranges: ranges? };
        let (first, last) = (several.first(), several.last());
        (first < last && last - first < MOST).then_some(several)
    }

    /// The lowest number.
    pub(crate) fn first(&self) -> u64 {
        self.ranges.iter().map(|range| *range.start()).min().unwrap_or_default()
    }

    /// The highest number.
    pub(crate) fn last(&self) -> u64 {
        self.ranges.iter().map(|range| *range.end()).max().unwrap_or_default()
    }

    /// Is this one of them?
    pub(crate) fn has(&self, number: u64) -> bool {
        self.ranges.iter().any(|range| range.contains(&number))
    }

    /// All that are meant.
    pub(crate) fn ids(&self) -> Vec<StepId> {
        self.ranges.iter().cloned().flatten().map(StepId::Number).collect()
    }

    /// The states before the first and after the last.
    pub(crate) fn ends(&self, project: &Project) -> Result<[Checkpoint; 2]> {
        let after = find(project, &self.last().to_string())?;
        Ok([find(project, &format!("{}^", self.first()))?, after])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_changes_are_written_as_the_list_prints_them() {
        let ends = |text: &str| Several::parse(text).map(|s| (s.first(), s.last(), s.ids().len()));
        assert_eq!(ends("15-17"), Some((15, 17, 3)));
        assert_eq!(ends("#3-5,7"), Some((3, 7, 4)));
        assert_eq!(ends("3,5"), Some((3, 5, 2)));
        for other in ["15", "17-15", "15-15", "1-99999999999", "15-", "a-b", "@-2", "", "s3,s4"] {
            assert_eq!(ends(other), None, "{other:?}");
        }
    }
}
