//! Findings about a checkpoint: the first ones of each code, and the number of further ones.

use std::collections::BTreeMap;

use super::rules;
use crate::result::finding::Finding;
use crate::verdict::Severity;

/// Most findings of one code that a checkpoint lists. A finding takes some ten kilobytes of memory until every document is written, and a
/// file's header has room for a million parameters.
pub const MOST: usize = 500;

pub(super) struct CheckpointFindings<'a> {
    checkpoint: &'a str,
    listed: Vec<Finding>,
    counts: BTreeMap<String, Count>,
}

/// Number of findings of one code.
#[derive(Default)]
struct Count {
    listed: usize,
    /// Number of findings that are not listed, and their worst severity.
    rest: Option<(u64, Severity)>,
}

impl<'a> CheckpointFindings<'a> {
    /// Starts an empty list about `checkpoint`.
    pub(super) fn new(checkpoint: &'a str) -> Self {
        Self { checkpoint, listed: Vec::new(), counts: BTreeMap::new() }
    }

    /// Lists a finding, or only counts it once [`MOST`] of its code are listed.
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

    /// Returns the listed findings, and for each code with further ones a finding with their number and worst severity.
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
