//! Rules about a single curve, applied to both sides of a pair: a finding that only the candidate has counts, and one that both
//! sides have is a note.

use super::alone::curve::{self, Curve, RunFacts};
use super::alone::rules;
use super::code;
use super::judged::JudgedCurve;
use super::rule_results::RuleResults;
use super::settings::{LossSettings, own_policy};
use crate::error::Result;
use crate::judge::rule::Rule;
use crate::kind::{Role, curve_name};
use crate::pair::curve::source::CurveSource;
use crate::pair::curve::{CurvePairing, PairedSources};
use crate::read::curve::DeclaredSettings;
use crate::read::metric;
use crate::result::finding::Finding;
use crate::verdict::Severity;

/// Adds to each judged curve the findings that its candidate side shows by itself. `declared` holds the settings that the logs of
/// baseline and candidate declare.
///
/// # Errors
/// Errors of the disk, where points lie there.
pub(crate) fn add_own_findings(
    pairing: &CurvePairing<'_>,
    declared: [&DeclaredSettings; 2],
    settings: LossSettings<'_>,
    judged: &mut [JudgedCurve],
) -> Result<()> {
    let is_adversarial = curve::is_adversarial(pairing.pairs.iter().map(|pair| pair.metric.as_str()));
    for sources in pairing.pairs.iter().filter(|sources| is_due(sources, settings)) {
        let unit = |curve: &&mut JudgedCurve| {
            let unit = &curve.unit;
            unit.metric == sources.metric && unit.rank == sources.rank && unit.run == sources.run
        };
        let Some(judged) = judged.iter_mut().find(unit) else { continue };
        let [of_baseline, of_candidate] = sources.load_sides()?;
        let of = |source: &CurveSource<'_>, declared| {
            let run = RunFacts { is_rl: sources.is_rl, is_adversarial, declared };
            let mut results = RuleResults::new(place_of(sources), settings.profile);
            rules::judge(&Curve::new(&sources.metric, source, run), &mut results);
            results.findings
        };
        let candidate = of(&of_candidate, declared[1]);
        if candidate.is_empty() {
            continue;
        }
        let baseline = of(&of_baseline, declared[0]);
        let differs = judged.findings.iter().any(|finding| finding.severity >= Severity::Warn);
        judged.findings.extend(weighed(candidate, &baseline, differs));
    }
    Ok(())
}

/// Name of a curve in findings.
fn place_of(sources: &PairedSources<'_>) -> String {
    let name = curve_name(&sources.metric, sources.rank);
    if sources.run.is_empty() { name } else { format!("{}: {name}", sources.run) }
}

/// Whether the rules about a single curve apply to a metric.
fn is_due(sources: &PairedSources<'_>, settings: LossSettings<'_>) -> bool {
    let left_out = own_policy(&settings.policy.metrics, &sources.metric).is_some_and(|own| own.ignore);
    let roles = [Role::Loss, Role::EvalLoss, Role::GradNorm, Role::LearningRate, Role::Throughput, Role::Time];
    !left_out && roles.contains(&metric::role(&sources.metric))
}

/// Rules about a level: of two runs that agree, one may lie just above the limit and the other just below it.
const LEVELS: [&Rule; 4] = [&code::ENDS_HIGH, &code::OVERFITS, &code::AT_CHANCE, &code::THROUGHPUT_COLLAPSE];

/// The candidate's findings with the severity that follows from the baseline's; `differs` says whether the curves differ.
///
/// A finding that the baseline has too is a note, and so is one about a level where the curves agree.
fn weighed(candidate: Vec<Finding>, baseline: &[Finding], differs: bool) -> Vec<Finding> {
    let weigh = |finding: Finding| {
        let is_alike = baseline.iter().any(|other| other.code == finding.code);
        let is_note = is_alike || finding.is_any(&LEVELS) && !differs;
        let severity = if is_note { Severity::Info } else { finding.severity };
        finding.with_severity(severity).with("alike", u64::from(is_alike))
    };
    // A constant norm comes from clipping and says nothing in a comparison.
    candidate.into_iter().filter(|finding| !finding.is(&code::GRADIENT_CONSTANT)).map(weigh).collect()
}
