//! State of the invariants that the curves of one run were checked for.

use super::curve::{Curve, RunFacts};
use super::{gradient, ranks, throughput};
use crate::error::Result;
use crate::judge::loss::code;
use crate::judge::loss::judged::JudgedCurve;
use crate::judge::rule::Rule;
use crate::judge::run::rules::SAME_DATA;
use crate::kind::Role;
use crate::pair::curve::CurvePairing;
use crate::read::curve::DeclaredSettings;
use crate::result::finding::Finding;
use crate::result::run::{Invariant, Looked};
use crate::verdict::Severity;

/// Least number of points of a curve that is checked.
const LEAST: usize = 5;

/// Rules whose findings break an invariant, by invariant.
const LEARNING_RATE: [&Rule; 2] = [&code::LEARNING_RATE_ZERO, &code::LEARNING_RATE_SCHEDULE];
const GRADIENT: [&Rule; 3] = [&code::GRADIENT_NON_FINITE, &code::GRADIENT_ZERO, &code::NON_FINITE];
const CURVE: [&Rule; 7] = [
    &code::NON_FINITE,
    &code::FROZEN,
    &code::EXPLODING,
    &code::ENDS_HIGH,
    &code::OVERFITS,
    &code::AT_CHANCE,
    &code::PERIODIC,
];
const UPDATES: [&Rule; 2] = [&code::UPDATES_SKIPPED, &code::UPDATES_OVERFLOWED];

/// The state of every invariant that the curves of a judged run show.
///
/// # Errors
/// Errors of the disk, where points lie there.
pub(crate) fn curve_invariants(
    pairing: &CurvePairing<'_>,
    curves: &[JudgedCurve],
    general: &[Finding],
) -> Result<Vec<Looked>> {
    let mut looked = vec![updates(pairing, general)];
    let declared = DeclaredSettings::default();
    for sources in &pairing.pairs {
        let shape = sources.candidate.series.shape();
        let judged =
            curves.iter().filter(|curve| curve.unit.metric == sources.metric && curve.unit.rank == sources.rank);
        let findings = || judged.clone().flat_map(|curve| &curve.findings);
        let holds = |rules: &[&Rule]| !findings().any(|finding| breaks(finding, rules));
        let run = RunFacts { is_rl: sources.is_rl, is_adversarial: false, declared: &declared };
        let source = sources.candidate.load()?;
        let curve = Curve::new(&sources.metric, &source, run);
        let over = |invariant, rules: &[&Rule]| Looked::over(invariant, holds(rules), [("points", shape.len)]);
        let is_short = shape.len < LEAST;
        looked.extend(match curve.role {
            Role::LearningRate if gradient::is_rounded(&curve) => {
                Some(Looked::not(Invariant::LearningRate, "learning-rate-rounded"))
            }
            Role::LearningRate if is_short => Some(Looked::not(Invariant::LearningRate, "too-few-points")),
            Role::LearningRate => Some(over(Invariant::LearningRate, &LEARNING_RATE)),
            Role::GradNorm if findings().any(|finding| finding.is(&code::GRADIENT_CONSTANT)) => {
                Some(Looked::not(Invariant::GradientNorm, "constant-norm"))
            }
            Role::GradNorm if is_short => Some(Looked::not(Invariant::GradientNorm, "too-few-points")),
            Role::GradNorm => Some(over(Invariant::GradientNorm, &GRADIENT)),
            Role::Loss | Role::EvalLoss if is_short && holds(&CURVE) => {
                Some(Looked::not(Invariant::Curve, "too-few-points"))
            }
            Role::Loss | Role::EvalLoss => Some(over(Invariant::Curve, &CURVE)),
            _ if throughput::is_speed(&curve) && shape.len >= throughput::LEAST => {
                Some(over(Invariant::Throughput, &[&code::THROUGHPUT_COLLAPSE]))
            }
            _ if throughput::is_speed(&curve) => Some(Looked::not(Invariant::Throughput, "too-few-points")),
            _ => None,
        });
        if ranks::is_before_reduction(&sources.metric) && (sources.rank.is_some() || curve.equal_ranks.0 > 1) {
            looked.push(over(Invariant::Data, &[&SAME_DATA]));
        }
    }
    Ok(looked)
}

fn updates(pairing: &CurvePairing<'_>, general: &[Finding]) -> Looked {
    let [.., candidate] = &pairing.updates;
    let Some(updates) = candidate else { return Looked::not(Invariant::Updates, "no-updates") };
    let holds = !general.iter().any(|finding| breaks(finding, &UPDATES));
    Looked::over(Invariant::Updates, holds, [("updates", updates.records.len())])
}

fn breaks(finding: &Finding, rules: &[&Rule]) -> bool {
    finding.severity >= Severity::Warn && finding.is_any(rules)
}
