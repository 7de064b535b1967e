//! A difference of gradient norms that grows by a factor from layer to layer: no single operator is to blame.

use super::super::curves::RunCurves;
use super::super::entry::Cause;
use super::super::evidence::finding_as_evidence;
use crate::judge::loss::code as curve_rules;
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};
use crate::result::finding::Fact;

pub(super) const CAUSE: Cause = Cause { in_curves, ..Cause::new("amplification") };

fn in_curves(curves: &RunCurves<'_>) -> Option<Diagnosis> {
    let finding = curves.finding(&[&curve_rules::GROWTH_BY_LAYER]).filter(|_| curves.is_pair())?;
    let is_growth = finding.facts.get("shape") == Some(&Fact::from("amplification"));
    let diagnosis = || Diagnosis::new(&CAUSE, finding.place.as_str(), Sureness::Certain);
    is_growth.then(|| diagnosis().because(finding_as_evidence(finding)).advise(Statement::new("amplification")))
}
