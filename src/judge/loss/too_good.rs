//! Curves that are too good to be true.
//!
//! Leaked answers, a score in percent compared with a fraction, a loss over half of the tokens: such a run looks better and is wrong.

use super::rule_results::RuleResults;
use super::secondary_metrics::SCORE;
use crate::compare::curve::{CurveMeasures, finite_points};
use crate::judge::rule::artifacts::TOO_GOOD;
use crate::kind::Role;
use crate::median::upper_median;
use crate::pair::curve::CurvePair;
use crate::verdict::CheckId;

/// Factor that no change of hardware explains: of the baseline's best score or reward, and of its loss over the candidate's.
const TIMES: f64 = 3.0;

/// Warns of a score, reward or loss that is better than two runs of one case can be.
pub(super) fn judge(pair: &CurvePair<'_>, measures: &CurveMeasures, results: &mut RuleResults) {
    let found = match pair.role {
        Role::EvalScore | Role::Reward => score(pair).or_else(|| first_step(pair, measures)),
        Role::Loss | Role::EvalLoss if !pair.is_rl => loss(pair),
        _ => None,
    };
    let Some((kind, step, value, reference)) = found else { return };
    results.add_finding(&TOO_GOOD, |finding| {
        let finding = finding.of_check(CheckId::Loss).with("kind", kind).with("value", value);
        finding.with("reference", reference).with("step", step.map(|step| step.to_string()).unwrap_or_default())
    });
}

/// Kind of the finding, step, the candidate's value, and the baseline's value.
type Found = (&'static str, Option<u64>, f64, f64);

/// The first value above three times the baseline's best.
fn score(pair: &CurvePair<'_>) -> Option<Found> {
    let (steps, baseline, candidate) = finite_points(&pair.points);
    let best = baseline.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let above = steps.iter().zip(candidate.iter()).find(|(_, value)| best > 0.0 && **value > TIMES * best);
    above.map(|(step, value)| ("best", Some(step), *value, best))
}

/// A first step that is better by as much as would fail if it were worse. In reinforcement learning answers are sampled, and the
/// first step shows nothing.
fn first_step(pair: &CurvePair<'_>, measures: &CurveMeasures) -> Option<Found> {
    let (steps, baseline, candidate) = finite_points(&pair.points);
    let (b, c) = (*baseline.first()?, *candidate.first()?);
    let is_better = SCORE.fail.is_some_and(|fail| (c - b) / measures.median.max(1.0) > fail);
    (is_better && !pair.is_rl && baseline.len() > 1).then_some(("first", steps.get(0), c, b))
}

/// A loss that lies below a third of the baseline's, over all steps.
fn loss(pair: &CurvePair<'_>) -> Option<Found> {
    let (_, baseline, candidate) = finite_points(&pair.points);
    let (b, c) = (upper_median(baseline.to_vec())?, upper_median(candidate.to_vec())?);
    (c >= 0.0 && c * TIMES < b).then_some(("third", None, c, b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::curve::{CurveScale, measure};
    use crate::pair::curve::pair_curves;
    use crate::read::curve::{self, CurveFile};
    use crate::verdict::Profile;

    fn file(metric: &str, values: &[f64]) -> CurveFile {
        let rows = (1..).zip(values).map(|(step, value): (u32, &f64)| format!("{step},{value}\n"));
        let text = format!("step,{metric}\n{}", rows.collect::<String>());
        let source = std::sync::Arc::new(crate::fetch::MemorySource::new("log.csv", text.into_bytes()));
        curve::read(source, curve::CurveFormat::Table, &crate::fetch::Room::unlimited()).expect("a curve").remove(0)
    }

    fn kind(metric: &str, baseline: &[f64], candidate: &[f64]) -> Option<String> {
        let (baseline, candidate) = ([file(metric, baseline)], [file(metric, candidate)]);
        let pairing = pair_curves(&baseline, &candidate).expect("in memory");
        let pair = pairing.pairs[0].load().expect("in memory");
        let measures = measure(&pair.points, CurveScale { floor: 1e-5, resolution: 0.0, steps: None }).expect("finite");
        let mut results = RuleResults::new(metric.into(), Profile::Default);
        judge(&pair, &measures, &mut results);
        let [finding] = &results.findings[..] else { return None };
        assert_eq!((finding.code.as_str(), finding.check), ("too-good", CheckId::Loss));
        let Some(crate::result::finding::Fact::Text(kind)) = finding.facts.get("kind") else { panic!("a kind") };
        Some(kind.clone())
    }

    #[test]
    fn what_is_better_than_a_repeat_can_be_is_told() {
        let score = [0.5, 0.6, 0.7];
        for (metric, baseline, candidate, expected) in [
            ("accuracy", &score[..], &[50.0, 60.0, 70.0][..], Some("best")),
            ("accuracy", &score, &[0.99, 0.99, 0.99], Some("first")),
            ("accuracy", &score, &[0.5, 0.75, 0.9], None),
            ("reward", &score, &[5.0, 6.0, 7.0], Some("best")),
            ("reward", &[-3.0, -2.0, -1.0], &[-2.99, -1.9, -0.2], None),
            ("loss", &[3.0, 2.0, 1.0], &[0.9, 0.6, 0.3], Some("third")),
            ("loss", &[3.0, 2.0, 1.0], &[2.9, 1.5, 0.8], None),
        ] {
            assert_eq!(kind(metric, baseline, candidate).as_deref(), expected, "{metric} {candidate:?}");
        }
    }
}
