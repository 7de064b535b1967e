//! Overflow that saturates: one side stays at the largest number of its type where the other becomes infinite.
//!
//! Ascend chips have both modes; in saturation mode an overflow is 65504 in fp16, and stays unseen. The evidence is the
//! number itself, in the data or in the recorded statistics, so it holds no other reading.

use super::super::context::{DumpContext, Suspect};
use super::super::entry::{ACCURACY_NOTES, Cause};
use crate::dtype::Dtype;
use crate::judge::config::rules as config_rules;
use crate::judge::dump::rules as dump_rules;
use crate::judge::loss::code as curve_rules;
use crate::read::dump::TensorRecord;
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};

pub(super) const CAUSE: Cause = Cause {
    in_dump,
    supported_by: &[
        &config_rules::INF_NAN_MODE,
        &curve_rules::NON_FINITE,
        &curve_rules::HIDDEN_FAILURE,
        &curve_rules::SPIKES,
    ],
    links: &[ACCURACY_NOTES],
    ..Cause::new("saturation")
};

/// Largest finite numbers of fp16, bf16 and fp32; a value may have been cast to a wider type since it saturated.
const LARGEST: [f64; 3] = [65504.0, 3.389_531_389_251_535_5e38, 3.402_823_466_385_288_6e38];

fn in_dump(context: &DumpContext<'_>) -> Option<Diagnosis> {
    let suspect = context.suspect().filter(|suspect| suspect.has_finding_of(&[&dump_rules::NON_FINITE_DIFFERS]))?;
    let (side, largest) = saturated_side(&suspect)?;
    let evidence = Statement::new("saturated").with("side", side).with("largest", largest);
    let diagnosis = Diagnosis::new(&CAUSE, suspect.culprit.tensor.as_str(), Sureness::Certain).because(evidence);
    Some(match side {
        "candidate" => diagnosis,
        _ => diagnosis.advise(Statement::new("saturation-of-baseline")),
    })
}

/// The side that saturates, and the number at which it does.
pub(super) fn saturated_side(suspect: &Suspect<'_>) -> Option<(&'static str, f64)> {
    let (baseline, candidate) = suspect.value.records()?;
    if let Some(stats) = suspect.value.comparison.stats() {
        if stats.saturated_candidate > 0 {
            return Some(("candidate", largest(&candidate)?));
        }
        if stats.saturated_baseline > 0 {
            return Some(("baseline", largest(&baseline)?));
        }
    }
    let stuck = |stays: TensorRecord<'_>, other: TensorRecord<'_>| {
        [(stays.max, other.max), (stays.min, other.min)].into_iter().find_map(|(stays, other)| {
            let (stays, other) = (stays.as_f64()?, other.as_f64()?);
            let largest = LARGEST.into_iter().find(|largest| equals_up_to_printing(stays.abs(), *largest))?;
            (other.is_infinite() && (other > 0.0) == (stays > 0.0)).then_some(largest)
        })
    };
    let of_candidate = stuck(candidate, baseline).map(|largest| ("candidate", largest));
    of_candidate.or_else(|| stuck(baseline, candidate).map(|largest| ("baseline", largest)))
}

/// The largest number of a tensor's own type.
fn largest(record: &TensorRecord<'_>) -> Option<f64> {
    let [fp16, bf16, fp32] = LARGEST;
    match Dtype::parse(record.dtype)? {
        Dtype::F16 => Some(fp16),
        Dtype::BF16 => Some(bf16),
        Dtype::F32 => Some(fp32),
        _ => None,
    }
}

/// Whether two numbers are equal up to the rounding of a printed decimal.
fn equals_up_to_printing(value: f64, largest: f64) -> bool {
    (value / largest - 1.0).abs() < 1e-9
}
