//! A third run of the same model, which both sides are measured against.

use std::collections::HashMap;

use super::units::{Errors, read_and_compare};
use crate::compare::measurements::Measurements;
use crate::judge::dump::reference::ReferenceErrors;
use crate::judge::dump::rules;
use crate::pair::dump::Renaming;
use crate::pair::unit::{UnitPair, pair_units};
use crate::policy::Policy;
use crate::read::dump::DumpFolder;
use crate::result::finding::Finding;

/// The dumps of a reference run.
pub(super) struct Reference<'a> {
    /// Its dump for every dump of the baseline, by the records of that.
    partners: HashMap<&'a str, &'a DumpFolder>,
    measurements: Measurements,
    renaming: &'a Renaming,
    policy: &'a Policy,
    /// Dumps of the baseline without a partner in the reference, by the path of their records, with the reason.
    missing: Vec<(String, String)>,
}

impl<'a> Reference<'a> {
    /// Pairs the reference's dumps with those of `baseline`, with the same selection of tensors as `measurements`.
    pub(super) fn new(
        reference: &'a [DumpFolder],
        baseline: &'a [DumpFolder],
        policy: &'a Policy,
        measurements: &Measurements,
        renaming: &'a Renaming,
    ) -> Self {
        let (pairs, _) = pair_units(reference, baseline);
        let partners = pairs.into_iter().map(|pair| (pair.candidate.records.as_str(), pair.baseline)).collect();
        Self { partners, measurements: measurements.uncounted_copy(), renaming, policy, missing: Vec::new() }
    }

    /// The errors of both sides of a unit against the reference; where there are none, the reason is noted.
    pub(super) fn errors(&mut self, pair: &UnitPair<'_>) -> Option<ReferenceErrors> {
        let records = pair.baseline.records.as_str();
        let found = match self.partners.get(records) {
            Some(reference) => self.measure(reference, pair),
            None => Err("it has no such step and rank".to_owned()),
        };
        found.map_err(|reason| self.missing.push((records.to_owned(), reason))).ok()
    }

    fn measure(&self, reference: &DumpFolder, pair: &UnitPair<'_>) -> Result<ReferenceErrors, String> {
        let said = |errors: Errors| errors.first().map_or_else(String::new, |(_, error)| error.to_string());
        // The reference has the baseline's names, so rules that rename the candidate do not apply to that comparison.
        let of_baseline = Renaming { prefixes: self.renaming.prefixes.clone(), ..Renaming::default() };
        let with = |side, renaming: &Renaming| {
            let pair = UnitPair { baseline: reference, candidate: side };
            read_and_compare(&pair, self.policy, renaming, &self.measurements)
                .map(|unit| unit.into_comparison())
                .map_err(said)
        };
        Ok(ReferenceErrors::new(&*with(pair.baseline, &of_baseline)?, &*with(pair.candidate, self.renaming)?))
    }

    /// The finding about units that have no counterpart in the reference.
    pub(super) fn finding(&self) -> Option<Finding> {
        let (records, reason) = self.missing.first()?;
        let finding = Finding::new(&rules::REFERENCE_MISSING, records).with("reason", reason.as_str());
        Some(finding.with("count", self.missing.len()))
    }
}
