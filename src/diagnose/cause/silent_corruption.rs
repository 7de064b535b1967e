//! Silent data corruption: a device that computes wrongly, not an algorithm.
//!
//! An algorithm errs everywhere; a faulty unit errs where it worked: in a tile of the result, or in a few elements. In
//! statistics the tell is that one rank alone errs in an operation that every rank runs. In curves it is a single step
//! that strays far, out of agreement to the last digits, and heals at once.

use super::super::context::{DumpContext, Peer, Suspect};
use super::super::curves::{EQUAL, RunCurves, relative_differences};
use super::super::entry::Cause;
use super::super::evidence::finding_as_evidence;
use super::super::factor;
use super::super::location::location;
use super::super::part::{Outlier, WrongPart};
use super::super::shard::fills_shards;
use super::reduced_precision::is_product;
use crate::compare::dump::Basis;
use crate::dtype::Dtype;
use crate::judge::dump::rules as dump_rules;
use crate::judge::loss::code as curve_rules;
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};

pub(super) const CAUSE: Cause = Cause {
    in_dump,
    in_curves,
    explained_by: &["saturation", "overflow"],
    supported_by: &[&curve_rules::SPIKES, &curve_rules::PEAK],
    ..Cause::new("silent-corruption")
};

fn in_dump(context: &DumpContext<'_>) -> Option<Diagnosis> {
    let suspect = context.suspect()?;
    if !suspect.is_result() {
        return of_given_element(context, &suspect);
    }
    if !suspect.has_finding_of(&[&dump_rules::OUTPUT_DIVERGES, &dump_rules::OTHER_PRECISION, &dump_rules::OUTLIERS])
        || suspect.error().is_infinite()
    {
        return None;
    }
    // Everything that a rank computes is wrong, not just a tile or a few elements.
    let shards = context.folders.candidate.shards(&suspect.culprit.tensor);
    if !shards.is_empty() && location(context).is_some_and(|found| fills_shards(&shards, &found)) {
        return None;
    }
    let place = suspect.culprit.tensor.as_str();
    let alone = is_alone(context, &suspect).then(|| {
        Statement::new("one-rank-alone")
            .with("rank", context.input.rank.unwrap_or_default())
            .with("ranks", context.peers.len() + 1)
    });
    let data = context.data(&suspect.value);
    if let Some(region) = data.as_ref().and_then(|data| data.confined_error(suspect.limit(), is_product(&suspect))) {
        let (rows, columns) = region.size();
        let confined = Statement::new("error-confined")
            .with("rows", rows)
            .with("columns", columns)
            .with("first_row", region.rows.0)
            .with("first_column", region.columns.0)
            .with("places", region.places)
            .with("of", region.of);
        let sureness = if alone.is_some() { Sureness::Certain } else { Sureness::Likely };
        return Some(Diagnosis::new(&CAUSE, place, sureness).because(confined).because_all(alone));
    }
    if let Some(data) = data.filter(|_| !follows_indices(&suspect)) {
        let shape = suspect.value.records().map_or(&[][..], |(record, _)| record.shape);
        let found = match suspect.has_finding_of(&[&dump_rules::OUTLIERS]) {
            true => data.largest_error().map(|outlier| outlier_at("one-element-wrong", &outlier)),
            false => data.wrong_part(shape, suspect.limit()).map(|part| part_of(&part)),
        };
        if let Some(evidence) = found {
            return Some(Diagnosis::new(&CAUSE, place, Sureness::Likely).because(evidence).because_all(alone));
        }
    }
    let by_statistics = suspect.value.measured().is_some_and(|measured| measured.basis == Basis::Statistics);
    if let Some(evidence) = one_end(&suspect).filter(|_| by_statistics && !suspect.is_backward()) {
        return Some(Diagnosis::new(&CAUSE, place, Sureness::Likely).because(evidence).because_all(alone));
    }
    let alone = alone.filter(|_| by_statistics && suspect.has_finding_of(&[&dump_rules::OUTPUT_DIVERGES]))?;
    let tolerance = (4.0 * suspect.limit()).clamp(1e-4, 0.01);
    let diagnosis = Diagnosis::new(&CAUSE, place, Sureness::Likely).because(alone.clone());
    Some(match factor::factor_of_value(context, &suspect.value, tolerance) {
        Some(factor) => {
            let scaled = Statement::new("formula-scaled").with("factor", factor);
            let advice = Statement { facts: alone.facts, ..Statement::new("one-rank-scaled") };
            diagnosis.because(scaled).advise(advice)
        }
        None => diagnosis,
    })
}

/// One element of a given tensor that differs while all others are equal to the bit: memory or a copy changed it.
fn of_given_element(context: &DumpContext<'_>, suspect: &Suspect<'_>) -> Option<Diagnosis> {
    /// Fewest elements of which a single one tells anything.
    const FEWEST: usize = 16;
    let data = context.data(&suspect.value).filter(|_| suspect.has_finding_of(&[&dump_rules::INPUT_DIFFERS]))?;
    let unequal = data.baseline.iter().zip(&data.candidate).filter(|(b, c)| b.to_bits() != c.to_bits()).count();
    let found = data.largest_error().filter(|found| unequal == 1 && found.of >= FEWEST)?;
    let place = suspect.culprit.tensor.as_str();
    let evidence = outlier_at("one-element-differs", &found).with("tensor", place);
    let element = suspect.value.records().and_then(|(record, _)| record.element);
    let bit = element.and_then(|element| flipped_bit(element, [found.baseline, found.candidate]));
    let bit = bit.map(|bit| Statement::new("one-bit-flipped").with("bit", u64::from(bit)));
    let diagnosis = Diagnosis::new(&CAUSE, place, Sureness::Likely).because(evidence).because_all(bit);
    Some(diagnosis.advise(Statement::new("one-element-differs")))
}

/// The only bit, counted from the lowest, in which two values of a type differ.
#[allow(clippy::cast_possible_truncation, reason = "the values are of the narrower type")]
fn flipped_bit(element: Dtype, values: [f64; 2]) -> Option<u32> {
    let [one, other] = match element {
        Dtype::F32 => values.map(|value| (value as f32).to_bits()),
        Dtype::BF16 => values.map(|value| (value as f32).to_bits() >> 16),
        Dtype::F16 => values.map(|value| u32::from(half::f16::from_f64(value).to_bits())),
        _ => return None,
    };
    ((one ^ other).count_ones() == 1).then(|| (one ^ other).trailing_zeros())
}

/// Calls whose errors lie where their indices point.
fn follows_indices(suspect: &Suspect<'_>) -> bool {
    let api = suspect.api().to_ascii_lowercase();
    ["embedding", "index", "gather", "scatter", "getitem", "setitem", "take"].iter().any(|name| api.contains(name))
}

fn outlier_at(code: &'static str, outlier: &Outlier) -> Statement {
    Statement::new(code)
        .with("element", outlier.place)
        .with("of", outlier.of)
        .with("baseline", outlier.baseline)
        .with("candidate", outlier.candidate)
}

fn part_of(part: &WrongPart) -> Statement {
    let axes: Vec<String> = part.axes.iter().map(ToString::to_string).collect();
    Statement::new("part-wrong").with("places", part.places).with("of", part.of).with("axes", axes)
}

/// One end of a product's range that is off while the other one, mean and norm agree: a single element. Rounding and other
/// formulas show at both ends.
fn one_end(suspect: &Suspect<'_>) -> Option<Statement> {
    /// Least ratio of the error of the wrong extreme to all other errors.
    const OUTSTANDING_END: f64 = 50.0;
    let of = |name: &str| suspect.culprit.metrics.get(name).map(|number| number.0.abs());
    let (max, min) = (of("max_difference")?, of("min_difference")?);
    let sums = [of("mean_difference")?, of("norm_difference")?];
    let (end, off, other) = if max > min { ("largest", max, min) } else { ("smallest", min, max) };
    let rest = sums.into_iter().fold(other, f64::max);
    let is_alone = rest <= suspect.limit() && off > OUTSTANDING_END * rest && off > suspect.limit();
    (is_alone && is_product(suspect)).then(|| Statement::new("one-end-differs").with("end", end).with("error", off))
}

/// Whether every other rank ran the same operation on tensors of the same shape, and agrees.
fn is_alone(context: &DumpContext<'_>, suspect: &Suspect<'_>) -> bool {
    !context.peers.is_empty() && context.peers.iter().all(|peer| agrees(peer, suspect))
}

fn agrees(peer: &Peer, suspect: &Suspect<'_>) -> bool {
    let shape = suspect.value.records().map(|(record, _)| record.shape);
    let limit = suspect.limit();
    peer.values().is_some_and(|values| {
        let mut outputs = values.filter(|both| both.kind == suspect.value.kind);
        let same = outputs.find(|both| both.candidate.row == suspect.value.candidate.row);
        same.is_some_and(|both| {
            both.records().map(|(record, _)| record.shape) == shape
                && both.measured().is_some_and(|measured| measured.exact.is_none() && measured.error <= limit)
        })
    })
}

/// Steps in agreement before the fault, at least.
const CALM: usize = 10;
/// Least ratio of the faulty step's difference to those of the steps after it.
const OUTSTANDING: f64 = 3.0;
/// A difference this large is not drift.
const JUMP: f64 = 1e-2;

fn in_curves(curves: &RunCurves<'_>) -> Option<Diagnosis> {
    if curves.finding(&[&curve_rules::HIDDEN_FAILURE, &curve_rules::NON_FINITE, &curve_rules::LEARNING_RATE]).is_some()
    {
        return None;
    }
    let finding = curves.finding(&[&curve_rules::ONSET, &curve_rules::PEAK])?;
    let calm = relative_differences(curves.loss).take_while(|(_, difference)| *difference <= EQUAL).count();
    let mut rest = relative_differences(curves.loss).skip(calm);
    let (step, jump) = rest.next()?;
    let after = rest.map(|(_, difference)| difference).fold(0.0, f64::max);
    if calm < CALM || jump < JUMP || jump < OUTSTANDING * after {
        return None;
    }
    let evidence = Statement::new("single-step-strays").with("step", step).with("value", jump).with("calm", calm);
    let evidence = evidence.with("after", after);
    let diagnosis = Diagnosis::new(&CAUSE, curves.loss.metric.as_str(), Sureness::Likely).because(evidence);
    Some(diagnosis.because(finding_as_evidence(finding)).advise(Statement::new("silent-corruption-in-curve")))
}
