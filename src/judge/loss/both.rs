//! Rules of one run, applied to both sides of a pair: what only the candidate has counts, what both have alike is a note.

use super::alone::curve::{self, Curve, OfRun};
use super::alone::rules;
use super::code;
use super::judged::JudgedCurve;
use super::rule_results::RuleResults;
use super::settings::{Settings, own_policy};
use crate::error::Result;
use crate::judge::rule::Rule;
use crate::kind::{Role, curve_name};
use crate::pair::curve::source::Source;
use crate::pair::curve::{CurvePairing, PairedSources};
use crate::read::curve::Declared;
use crate::read::metric;
use crate::result::finding::Finding;
use crate::verdict::Severity;

/// Adds what each curve shows by itself to the curves that were judged, by what the logs of both sides declare.
///
/// # Errors
/// Errors of the disk, where points lie there.
pub fn add(
    pairing: &CurvePairing<'_>,
    declared: [&Declared; 2],
    settings: Settings<'_>,
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
        let of = |source: &Source<'_>, declared| {
            let run = OfRun { is_rl: sources.is_rl, is_adversarial, declared };
            let mut results = RuleResults::new(place_of(sources), settings.profile);
            rules::judge(&Curve::new(&sources.metric, source, run), &mut results);
            results.findings
        };
        let ours = of(&of_candidate, declared[1]);
        if ours.is_empty() {
            continue;
        }
        let theirs = of(&of_baseline, declared[0]);
        let differs = judged.findings.iter().any(|finding| finding.severity >= Severity::Warn);
        judged.findings.extend(weighed(ours, &theirs, differs));
    }
    Ok(())
}

/// Name of a curve in findings.
fn place_of(sources: &PairedSources<'_>) -> String {
    let name = curve_name(&sources.metric, sources.rank);
    if sources.run.is_empty() { name } else { format!("{}: {name}", sources.run) }
}

/// Whether a curve can show anything by itself that counts.
fn is_due(sources: &PairedSources<'_>, settings: Settings<'_>) -> bool {
    let left_out = own_policy(&settings.policy.metrics, &sources.metric).is_some_and(|own| own.ignore);
    let roles = [Role::Loss, Role::EvalLoss, Role::GradNorm, Role::LearningRate, Role::Throughput, Role::Time];
    !left_out && roles.contains(&metric::role(&sources.metric))
}

/// Rules about a level, which two runs that agree may lie on both sides of.
const LEVELS: [&Rule; 4] = [&code::ENDS_HIGH, &code::OVERFITS, &code::AT_CHANCE, &code::THROUGHPUT_COLLAPSE];

/// The candidate's findings with their weight beside the baseline's; `differs` says whether the curves do.
fn weighed(ours: Vec<Finding>, theirs: &[Finding], differs: bool) -> Vec<Finding> {
    let weigh = |finding: Finding| {
        let is_alike = theirs.iter().any(|other| other.code == finding.code);
        let is_note = is_alike || finding.is_any(&LEVELS) && !differs;
        let severity = if is_note { Severity::Info } else { finding.severity };
        finding.with_severity(severity).with("alike", u64::from(is_alike))
    };
    // A norm behind clipping is no news beside another run's.
    ours.into_iter().filter(|finding| !finding.is(&code::GRADIENT_CONSTANT)).map(weigh).collect()
}
