//! Findings about the alignment of answers, which come before all numeric ones.

use super::noise::Noise;
use super::rules;
use crate::compare::tokens::{NoteCount, Quantity, TokenMeasure};
use crate::judge::rule::Rule;
use crate::read::tokens::{PromptDifference, TokensStep};
use crate::result::finding::Finding;
use crate::result::unit::LogprobsSide;
use crate::verdict::Severity;

/// Fewest tokens for which equal bits are suspicious.
const FEWEST_EQUAL: u64 = 64;
/// Factor over the loudest earlier step that a step exceeds where its old weights show.
const RISES: f64 = 3.0;
/// Least level that is assumed for earlier steps, relative to the noise.
const LEAST_BEFORE: f64 = 0.2;

/// Findings of a comparison called `name`. Faults in the baseline's own records only warn.
pub(super) fn findings(name: &str, side: LogprobsSide, measured: &TokenMeasure, noise: Noise) -> Vec<Finding> {
    let notes = &measured.notes;
    let mut all = Vec::new();
    let of_side = |finding: Finding| match side {
        LogprobsSide::Across => finding,
        side => finding.with("side", side.as_str()),
    };
    let found = |rule: &Rule, place: &str| of_side(Finding::new(rule, place));
    if let Some(((place, difference), count)) = first(&notes.prompts) {
        all.push(prompt(found(&rules::PROMPT_DIFFERS, place), *difference).with("count", count));
    }
    if let Some(first) = &measured.meter.non_finite.first {
        let [of_a, of_b] = measured.meter.non_finite.count;
        let quantity = match side {
            _ if measured.is_of_differences() => "difference",
            LogprobsSide::Across => "both",
            _ if of_a > 0 => Quantity::Engine.as_str(),
            _ => Quantity::Trainer.as_str(),
        };
        let finding =
            found(&rules::NON_FINITE, &first.to_string()).with("count", of_a + of_b).with("pattern", "overflow");
        let finding = finding.with("engine_count", of_a).with("trainer_count", of_b);
        let finding = finding.with("quantity", quantity);
        all.push(match measured.meter.non_finite.kind() {
            Some(kind) => finding.with("broken", kind),
            None => finding,
        });
    }
    if let Some(((place, [(one, of_one), (other, of_other)]), count)) = first(&notes.lengths) {
        let finding = found(&rules::LENGTH_DIFFERS, place).with("count", count).with("one", *one).with("other", *other);
        all.push(finding.with("one_length", *of_one).with("other_length", *of_other));
    }
    if let Some(((place, (quantity, value)), count)) = first(&notes.positive) {
        let finding = found(&rules::NOT_LOG_PROBABILITIES, place).with("count", count).with("value", *value);
        let finding = finding.with("quantity", quantity.as_str());
        all.push(finding.with("kind", if notes.are_probabilities { "probabilities" } else { "positive" }));
    }
    if let Some((step, quantity, value)) = notes.constant.first() {
        let finding = found(&rules::CONSTANT, &place_of(step)).with("count", notes.constant.len());
        all.push(finding.with("quantity", quantity.as_str()).with("value", *value));
    }
    if let Some(((place, reason), count)) = first(&notes.unreadable) {
        all.push(found(&rules::ANSWERS_DAMAGED, place).with("count", count).with("reason", reason.as_str()));
    }
    if let Some(((place, tokens), count)) = first(&notes.masks) {
        all.push(found(&rules::MASK_DIFFERS, place).with("count", count).with("tokens", *tokens));
    }
    if let Some(((place, tokens), count)) = first(&notes.zeros) {
        all.push(found(&rules::MASK_MISSING, place).with("count", count).with("tokens", *tokens));
    }
    all.extend(nothing_judged(name, measured).map(&of_side));
    if side == LogprobsSide::Candidate {
        all.extend(version_behind(measured, noise.nats).map(&of_side));
    }
    if side == LogprobsSide::Baseline {
        for finding in &mut all {
            finding.severity = finding.severity.min(Severity::Warn);
        }
    }
    all
}

fn first<T>(noted: &NoteCount<T>) -> Option<(&(String, T), u64)> {
    Some((noted.first.as_ref()?, noted.count))
}

/// A step as the place of a finding.
pub(super) fn place_of(step: &TokensStep) -> String {
    match step {
        TokensStep::Number(step) => format!("step {step}"),
        TokensStep::Name(name) => name.clone(),
    }
}

fn prompt(finding: Finding, difference: PromptDifference) -> Finding {
    let finding = finding.with("pattern", "prompt");
    let id = |id: Option<i64>| id.map_or_else(|| "none".to_owned(), |id| id.to_string());
    match difference {
        PromptDifference::FirstMissing { token } => finding.with("what", "missing").with("token", id(Some(token))),
        PromptDifference::FirstAdded { token } => finding.with("what", "added").with("token", id(Some(token))),
        PromptDifference::At { place, engine, trainer } => {
            let finding = finding.with("what", "other").with("position", place);
            finding.with("engine", id(engine)).with("trainer", id(trainer))
        }
    }
}

/// Finding about steps without a token to judge, unless another finding explains them.
fn nothing_judged(name: &str, measured: &TokenMeasure) -> Option<Finding> {
    let notes = &measured.notes;
    let noted = [notes.lengths.count, notes.positive.count, notes.unreadable.count, notes.constant.len() as u64];
    let [of_a, of_b] = measured.meter.non_finite.count;
    let is_told = noted.into_iter().sum::<u64>() > 0 || of_a + of_b > 0;
    let is_empty = |step: &&TokensStep| measured.meter.steps.get(*step).is_none_or(|sums| sums.tokens == 0);
    let steps = notes.by_step();
    let empty: Vec<&TokensStep> = steps.keys().copied().filter(is_empty).collect();
    if empty.is_empty() || is_told {
        return None;
    }
    let place = empty.first().map_or_else(|| name.to_owned(), |step| place_of(step));
    Some(Finding::new(&rules::NOTHING_JUDGED, place).with("count", empty.len()).with("masked", measured.meter.masked))
}

/// Finding about the first step whose weight version lags more than the first step's. It fails where the level rises too.
fn version_behind(measured: &TokenMeasure, noise: f64) -> Option<Finding> {
    let lags = &measured.notes.lags;
    let (_, usual) = lags.first_key_value()?;
    let (step, lag) = lags.iter().find(|(_, lag)| *lag > usual)?;
    let level = |step: &TokensStep| measured.meter.steps.get(step).map(|sums| sums.measures().mean_abs);
    let here = level(&TokensStep::Number(*step)).unwrap_or(f64::NAN);
    let earlier = measured.meter.steps.range(..TokensStep::Number(*step)).map(|(_, sums)| sums.measures().mean_abs);
    let before = earlier.fold(LEAST_BEFORE * noise, f64::max);
    let severity = if here > RISES * before && here > noise { Severity::Fail } else { Severity::Warn };
    let finding = Finding::new(&rules::VERSION_BEHIND, format!("step {step}")).with_severity(severity);
    let finding = finding.with("step", *step).with("lag", lag.unsigned_abs()).with("pattern", "stale-weights");
    Some(
        finding
            .with("usual", usual.unsigned_abs())
            .with("version", step.cast_signed().saturating_sub(*lag).to_string()),
    )
}

/// Whether all bits are equal, over enough tokens to be suspicious.
pub(super) fn has_equal_bits(tokens: u64, equal: u64) -> bool {
    tokens >= FEWEST_EQUAL && equal == tokens
}
