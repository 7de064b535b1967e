//! Findings about a checkpoint: of each kind the first ones, and how many more there are.

use std::collections::BTreeMap;

use super::rules;
use crate::result::finding::Finding;
use crate::verdict::Severity;

/// Findings of one code that a checkpoint lists; a finding takes some ten kilobytes of memory until every document is written,
/// and a header has room for a million parameters.
pub const MOST: usize = 500;

/// Findings of one checkpoint.
pub(super) struct Told<'a> {
    checkpoint: &'a str,
    listed: Vec<Finding>,
    counts: BTreeMap<String, Count>,
}

/// Findings of a code.
#[derive(Default)]
struct Count {
    listed: usize,
    /// Those beyond, and the worst severity of them.
    rest: Option<(u64, Severity)>,
}

impl<'a> Told<'a> {
    /// None yet about `checkpoint`.
    pub(super) fn about(checkpoint: &'a str) -> Self {
        Self { checkpoint, listed: Vec::new(), counts: BTreeMap::new() }
    }

    /// Lists a finding, or counts it.
    pub(super) fn add(&mut self, finding: Finding) {
        if !self.counts.contains_key(&finding.code) {
            self.counts.insert(finding.code.clone(), Count::default());
        }
        let Some(count) = self.counts.get_mut(&finding.code) else { return };
        if count.listed < MOST {
            count.listed += 1;
            self.listed.push(finding.with("checkpoint", self.checkpoint));
        } else {
            let (rest, worst) = count.rest.unwrap_or((0, finding.severity));
            count.rest = Some((rest + 1, worst.max(finding.severity)));
        }
    }

    /// All that are listed, and for each code that has more a finding that weighs as much as the worst of the rest.
    pub(super) fn finish(self) -> Vec<Finding> {
        let Self { checkpoint, mut listed, counts } = self;
        for (code, count) in counts {
            let Some((rest, worst)) = count.rest else { continue };
            let finding =
                Finding::new(&rules::UNLISTED, checkpoint).with_severity(worst).with("checkpoint", checkpoint);
            listed.push(finding.with("code", code).with("count", rest));
        }
        listed
    }
}
