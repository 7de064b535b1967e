//! Findings about the level and the structure of a mismatch.

use super::cause::TokenCause;
use super::groups::{Loudness, RankClass};
use super::noise::ExceededLimit;
use super::notes::place_of;
use super::rules;
use crate::compare::tokens::{Meter, StepRank};
use crate::read::tokens::TokensStep;
use crate::result::finding::Finding;
use crate::result::unit::{AnyUnit, LogprobsSide, LogprobsUnit};

/// Most loud answers that a finding names.
const NAMED: usize = 5;

/// The step that exceeds its limits most.
pub(super) struct WorstStep {
    pub(super) step: TokensStep,
    pub(super) exceeded: ExceededLimit,
}

/// Name of the two compared parties in findings: engine and trainer of one side, or both sides.
pub(super) fn compared_parties(side: LogprobsSide) -> &'static str {
    if side == LogprobsSide::Across { "sides" } else { "engines" }
}

/// The finding that engine and trainer disagree.
pub(super) fn divergence_finding(
    unit: &LogprobsUnit,
    worst: &WorstStep,
    cause: Option<&TokenCause>,
    meter: &Meter,
) -> Finding {
    let ExceededLimit { measure, value, limit, .. } = worst.exceeded;
    let step = match cause {
        Some(TokenCause::StaleWeights { first_step, .. }) => first_step,
        _ => &worst.step,
    };
    let mut finding = Finding::new(&rules::DIVERGE, place_of(step))
        .with("between", compared_parties(unit.side))
        .with("measure", measure)
        .with("value", value)
        .with("limit", limit)
        .with("noise", unit.noise.0)
        .with("tokens", unit.tokens)
        .with("steps", meter.steps.len());
    if let Some(step) = step.number() {
        finding = finding.with("step", step);
    }
    if let Some(mean) = unit.mean_abs {
        finding = finding.with("mean_abs", mean.0);
    }
    if !unit.quantity.is_empty() {
        finding = finding.with("quantity", unit.quantity.as_str());
    }
    if let Some(token) = &meter.first_loud {
        finding = finding.with("token_place", token.to_string()).with("a", token.a).with("b", token.b);
    }
    if unit.sequences_off > 0 {
        finding = finding.with("sequences_off", unit.sequences_off).with("sequences", unit.sequences);
    }
    cause.map_or(finding.clone(), |cause| with_cause(finding, cause))
}

fn with_cause(finding: Finding, cause: &TokenCause) -> Finding {
    let finding = finding.with("pattern", cause.code());
    match cause {
        TokenCause::Shifted { shift } => finding.with("shift", shift.to_string()),
        TokenCause::LogBase { factor } => finding.with("factor", *factor),
        TokenCause::StaleWeights { first_step, grows } => {
            let finding = finding.with("growth", if *grows { "frozen" } else { "behind" });
            first_step.number().map_or(finding.clone(), |step| finding.with("first_step", step))
        }
        TokenCause::RankWeights { class: RankClass::Rank(rank) } => finding.with("rank", *rank),
        TokenCause::RankWeights { class: RankClass::Class { modulus, remainder } } => {
            finding.with("modulus", *modulus).with("remainder", *remainder)
        }
        TokenCause::TokenRow { token } => finding.with("token", token.to_string()),
        TokenCause::Position { first_position } => finding.with("first_position", *first_position),
        _ => finding,
    }
}

/// The finding that some answers differ far more than the others; `None` where none does.
pub(super) fn loud_sequences_finding(unit: &LogprobsUnit, loudness: &Loudness<'_>, noise: f64) -> Option<Finding> {
    let mut loud: Vec<_> = loudness.loud().collect();
    loud.sort_by(|x, y| y.mean.total_cmp(&x.mean));
    let first = loud.first()?;
    let name = |sequence: &&crate::compare::tokens::MeasuredAnswer| {
        let part = StepRank { step: sequence.step.clone(), rank: sequence.rank };
        format!("{part}, answer {}", sequence.index)
    };
    let names: Vec<String> = loud.iter().take(NAMED).map(name).collect();
    let finding = Finding::new(&rules::SEQUENCES_OFF, unit.name())
        .with("between", compared_parties(unit.side))
        .with("sequences_off", unit.sequences_off)
        .with("sequences", unit.sequences)
        .with("value", first.mean)
        .with("noise", noise)
        .with("names", names);
    Some(match &unit.cause {
        Some(cause) => finding.with("pattern", cause.as_str()),
        None => finding.with("pattern", "sequences"),
    })
}

/// Adds to findings about single answers which of engine and trainer is off, where the other one agrees with the baseline's.
pub(crate) fn note_quantity_off<'a>(
    units: impl Iterator<Item = &'a LogprobsUnit>,
    findings: impl Iterator<Item = &'a mut Finding>,
) {
    let across = units.filter(|unit| unit.side == LogprobsSide::Across && unit.tokens > 0);
    let (off, agree): (Vec<_>, Vec<_>) = across.partition(|unit| unit.sequences_off > 0);
    let Some(first) = off.first() else { return };
    let other = if first.quantity == "engine" { "trainer" } else { "engine" };
    let is_alone = off.iter().all(|unit| unit.quantity == first.quantity);
    if is_alone && agree.iter().any(|unit| unit.quantity == other) {
        for finding in findings.filter(|finding| finding.is(&rules::SEQUENCES_OFF)) {
            finding.facts.insert("off".into(), first.quantity.as_str().into());
        }
    }
}
