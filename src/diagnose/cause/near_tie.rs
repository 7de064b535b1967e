//! A near tie: a choice (an expert, the largest element, a comparison) differs because its inputs tie.
//!
//! Judging recognises a tie by noise in the inputs. Where inputs are equal to the last bit, the data show it: both
//! sides chose different places with the same values.

use super::super::context::{DumpContext, Suspect};
use super::super::entry::Cause;
use super::wrong_weights_or_data::is_choice;
use crate::judge::dump::rules as dump_rules;
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};

pub(super) const CAUSE: Cause = Cause { in_dump, ..Cause::new("near-tie") };

fn in_dump(context: &DumpContext<'_>) -> Option<Diagnosis> {
    let suspect = context.suspect()?;
    let is_tie = suspect.has_finding_of(&[&dump_rules::NEAR_TIE])
        || suspect.has_finding_of(&[&dump_rules::INTEGER_DIFFERS]) && chooses_equals(context, &suspect);
    if !is_tie || !is_choice(context, &suspect) {
        return None;
    }
    let input_error = suspect.culprit.metrics.get("received").map_or(0.0, |number| number.0);
    let evidence =
        Statement::new("choice-differs").with("op", suspect.culprit.op.as_str()).with("received", input_error);
    let share = suspect.culprit.metrics.get("unequal_share").map(|number| number.0);
    let share = share.map(|share| Statement::new("choices-moved").with("share", share));
    Some(
        Diagnosis::new(&CAUSE, suspect.culprit.tensor.as_str(), Sureness::Certain).because(evidence).because_all(share),
    )
}

/// Whether the culprit holds indices along the last axis of an input, and both sides' indices stand for values that
/// are equal within the limit.
fn chooses_equals(context: &DumpContext<'_>, suspect: &Suspect<'_>) -> bool {
    let chosen = context.data(&suspect.value).filter(|_| suspect.is_result());
    let input = suspect.inputs().find(|both| both.dtypes().is_some_and(|(dtype, _)| dtype.is_float()));
    let Some((chosen, input)) = chosen.zip(input.and_then(|input| context.data(&input))) else { return false };
    let rows = input.baseline.len() / input.width;
    if rows == 0 || chosen.baseline.len() % rows != 0 {
        return false;
    }
    let per_row = chosen.baseline.len() / rows;
    let value = |values: &[f64], place: usize, index: f64| {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to lie in the row")]
        let column = (index >= 0.0 && index < super::super::values::count_of(input.width)).then_some(index as usize)?;
        values.get(place / per_row * input.width + column).copied()
    };
    chosen.baseline.iter().zip(&chosen.candidate).enumerate().all(|(place, (baseline, candidate))| {
        let baseline = value(&input.baseline, place, *baseline);
        let candidate = value(&input.candidate, place, *candidate);
        baseline.zip(candidate).is_some_and(|(a, b)| (a - b).abs() <= 1e-6 * a.abs().max(b.abs()))
    })
}
