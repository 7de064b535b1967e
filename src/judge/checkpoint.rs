//! Judging checkpoints, parameter by parameter.
//!
//! A parameter's error is ‖c−b‖₂/‖b‖₂ over its finite elements. It has two limits, like tensors of a dump: up to the noise of its
//! element type it agrees; up to the error of another precision or algorithm it drifts (`warn`); above that it is wrong (`fail`).
//! Integers, shapes, and the places and signs of NaN and infinity must be equal.

mod codes;
pub mod rules;
mod settings;
mod told;
pub mod weight_sync;
mod whole;

use crate::compare::checkpoint::{ParameterComparison, ParameterOutcome, QuantisedStats, TensorChange};
use crate::compare::tensor::PairStats;
use crate::dtype::Dtype;
use crate::judge::dump::limits::{ErrorBand, band_of_dtype, looser_dtype};
use crate::pair::checkpoint::ParameterPairs;
use crate::policy::checkpoint::{CheckpointPolicy, ParameterRule};
use crate::result::finding::{Finding, verdict_of};
use crate::result::outcome::{Note, RuleOutcome};
use crate::result::unit::{CheckpointUnit, Evidence};
use crate::verdict::{Profile, Severity, Side};
use codes::{codes_dtype, codes_finding};
use told::CheckpointFindings;

/// Most outcomes of rules that a unit shows: a model has hundreds of parameters, and only the worst ones matter.
const SHOWN: usize = 20;
/// Number of outcomes that are gathered before only the worst ones are kept.
const GATHERED: usize = 1000;

pub use rules::RULES;
pub use settings::SettingsScope;
pub(crate) use settings::judge_settings;
pub use told::MOST as MOST_FINDINGS;
pub use whole::WholeModel;
pub(crate) use whole::judge_whole;

/// One judged checkpoint; its verdict follows from the findings once the policy has applied them.
#[derive(Debug)]
pub struct JudgedCheckpoint {
    /// The unit, without a verdict.
    pub unit: CheckpointUnit,
    /// Findings about it.
    pub findings: Vec<Finding>,
}

/// Judges the comparison of checkpoint `name`. `used` notes which of the policy's limits fitted a parameter.
pub fn judge(
    name: &str,
    pairs: &ParameterPairs<'_>,
    comparisons: &[ParameterComparison<'_>],
    settings: CheckpointSettings<'_>,
    used: &mut [bool],
) -> JudgedCheckpoint {
    let equal = comparisons.iter().filter(|comparison| is_equal(&comparison.outcome)).count();
    let mut judge = Judge { name, settings, told: CheckpointFindings::new(name), outcomes: Vec::new(), equal };
    let mut evidence = Evidence::default();
    let (states, weights): (Vec<_>, Vec<_>) = comparisons.iter().partition(|comparison| comparison.is_state);
    judge.states(pairs, &states, &mut evidence);
    for comparison in weights {
        count(comparison, &mut evidence);
        match &comparison.outcome {
            ParameterOutcome::Compared { dtypes, stats, quantised, .. } => {
                judge.compared(comparison, *dtypes, (stats, quantised.as_ref()), used);
            }
            ParameterOutcome::ShapesDiffer(..) if comparison.explanation.change == Some(TensorChange::Transposed) => {
                judge.say(Finding::new(&rules::TRANSPOSED, comparison.name));
            }
            ParameterOutcome::ShapesDiffer(baseline, candidate) => {
                judge.exact(
                    &rules::SHAPE_DIFFERS,
                    comparison.name,
                    &format!("{baseline:?}"),
                    &format!("{candidate:?}"),
                );
            }
            ParameterOutcome::LeftOut => {}
            ParameterOutcome::Unread(side, reason) => {
                let finding = Finding::new(&rules::UNREAD, comparison.name).with("side", side.as_str());
                judge.say(finding.with("reason", reason.as_str()));
            }
        }
    }
    judge.missing(pairs);
    if evidence.compared == 0 {
        judge.say(Finding::new(&rules::NOTHING_COMPARED, name));
    }
    evidence.one_sided = [pairs.only_baseline.len() as u64, pairs.only_candidate.len() as u64];
    evidence.offered = evidence.offered.saturating_add(evidence.unpaired_count());
    let unit = CheckpointUnit {
        compared: evidence.compared,
        not_compared: evidence.not_compared + evidence.damaged + evidence.left_out,
        evidence,
        unmatched_candidate: pairs.only_candidate.len() as u64,
        unmatched_baseline: pairs.only_baseline.len() as u64,
        rules: worst(judge.outcomes),
        ..CheckpointUnit::empty(name)
    };
    JudgedCheckpoint { unit, findings: judge.told.finish() }
}

/// Judges a checkpoint without a baseline, whose parameters were compared with themselves: NaN and infinity fail.
pub(crate) fn judge_alone(name: &str, comparisons: &[ParameterComparison<'_>]) -> JudgedCheckpoint {
    let mut unit = CheckpointUnit::empty(name);
    let mut told = CheckpointFindings::new(name);
    for comparison in comparisons.iter().filter(|comparison| !comparison.is_state) {
        count(comparison, &mut unit.evidence);
        let finding = match &comparison.outcome {
            ParameterOutcome::Compared { stats, .. } if stats.nan_candidate + stats.inf_candidate > 0 => {
                Finding::new(&rules::NON_FINITE, comparison.name)
                    .with_severity(Severity::Fail)
                    .with("nan_candidate", stats.nan_candidate)
                    .with("inf_candidate", stats.inf_candidate)
                    .with("elements", stats.elements)
            }
            ParameterOutcome::Unread(_, reason) => Finding::new(&rules::UNREAD, comparison.name)
                .with("side", Side::Candidate.as_str())
                .with("reason", reason.as_str()),
            _ => continue,
        };
        told.add(finding);
    }
    unit.compared = unit.evidence.compared;
    unit.not_compared = unit.evidence.unseen();
    if unit.compared == 0 {
        told.add(Finding::new(&rules::NOTHING_COMPARED, name));
    }
    JudgedCheckpoint { unit, findings: told.finish() }
}

/// Counts a parameter of both sides by its outcome. A parameter without elements, or without a finite one in the baseline, counts as
/// not compared.
fn count(comparison: &ParameterComparison<'_>, evidence: &mut Evidence) {
    evidence.offered += u64::from(!matches!(comparison.outcome, ParameterOutcome::LeftOut));
    match &comparison.outcome {
        ParameterOutcome::Compared { stats, is_trivial, .. } if is_measured(stats) => {
            evidence.compared += 1;
            evidence.equal_trivially += u64::from(*is_trivial);
        }
        ParameterOutcome::Compared { .. } | ParameterOutcome::ShapesDiffer(..) => {
            evidence.not_compared += 1;
            evidence.example("not-compared", comparison.name);
        }
        ParameterOutcome::LeftOut => evidence.left_out += 1,
        ParameterOutcome::Unread(..) => {
            evidence.damaged += 1;
            evidence.example("damaged", comparison.name);
        }
    }
}

/// Whether the baseline has a finite element to compare the candidate with.
fn is_measured(stats: &PairStats) -> bool {
    stats.elements > stats.nan_baseline.saturating_add(stats.inf_baseline)
}

/// Whether the cause of a difference is worth looking for: the parameter differs by more than noise, or in its shape.
pub(crate) fn is_beyond_noise(comparison: &ParameterComparison<'_>, settings: CheckpointSettings<'_>) -> bool {
    match &comparison.outcome {
        // The causes that are looked for in elements do not show in quantised codes.
        ParameterOutcome::Compared { quantised: Some(_), .. } => false,
        ParameterOutcome::Compared { dtypes, stats, .. } if is_measured(stats) => {
            let dtype = looser_dtype(Some(dtypes.0), Some(dtypes.1)).unwrap_or(dtypes.0);
            let rule = settings.policy.limits.iter().find(|rule| rule.fits(comparison.name, dtype));
            relative_l2(stats, rule) > band_of(dtype, rule).noise
        }
        ParameterOutcome::ShapesDiffer(..) => true,
        _ => false,
    }
}

/// Policy and profile that checkpoints are judged by.
#[derive(Clone, Copy, Debug)]
pub struct CheckpointSettings<'a> {
    /// The section of the policy.
    pub policy: &'a CheckpointPolicy,
    /// Profile, which sets how severe the gate is.
    pub profile: Profile,
}

/// The worst outcomes, by verdict, then by how much of the limit they use.
fn worst(mut outcomes: Vec<RuleOutcome>) -> Vec<RuleOutcome> {
    let margin = |outcome: &RuleOutcome| outcome.margin.map_or(f64::NEG_INFINITY, |margin| margin.0);
    outcomes.sort_by(|a, b| b.verdict.cmp(&a.verdict).then(margin(a).total_cmp(&margin(b))));
    outcomes.truncate(SHOWN);
    outcomes
}

/// Whether both sides hold the same values.
fn is_equal(outcome: &ParameterOutcome) -> bool {
    matches!(outcome, ParameterOutcome::Compared { stats, .. } if stats.unequal == 0)
}

struct Judge<'a> {
    name: &'a str,
    settings: CheckpointSettings<'a>,
    told: CheckpointFindings<'a>,
    outcomes: Vec<RuleOutcome>,
    /// Tensors that are equal on both sides.
    equal: usize,
}

impl Judge<'_> {
    fn say(&mut self, finding: Finding) {
        self.told.add(finding);
    }

    /// Adds the finding about a property that must be equal and is not.
    fn exact(&mut self, rule: &crate::judge::rule::Rule, parameter: &str, baseline: &str, candidate: &str) {
        self.say(Finding::new(rule, parameter).with("baseline", baseline).with("candidate", candidate));
    }

    /// Adds a note about the states of random generators, with the number of those that differ; they differ in healthy runs too.
    fn states(&mut self, pairs: &ParameterPairs<'_>, states: &[&ParameterComparison<'_>], evidence: &mut Evidence) {
        let names: Vec<String> = states
            .iter()
            .map(|state| state.name)
            .chain(pairs.one_sided_states.iter().copied())
            .map(str::to_owned)
            .collect();
        evidence.shown_only = names.len() as u64;
        let Some(first) = names.first().cloned() else { return };
        let differing = states.iter().filter(|state| !is_equal(&state.outcome)).count() + pairs.one_sided_states.len();
        let listed: Vec<String> = names.iter().take(SHOWN).cloned().collect();
        let finding = Finding::new(&rules::STATE, first).with("count", names.len()).with("differing", differing);
        self.say(finding.with("names", listed));
    }

    fn compared(
        &mut self,
        comparison: &ParameterComparison<'_>,
        dtypes: (Dtype, Dtype),
        (stats, quantised): (&PairStats, Option<&QuantisedStats>),
        used: &mut [bool],
    ) {
        let parameter = comparison.name;
        if dtypes.0 != dtypes.1 {
            self.dtypes_differ(parameter, dtypes, quantised.is_some());
        }
        // Where codes are wrong, values that are not finite come from them.
        let dtype = looser_dtype(Some(dtypes.0), Some(dtypes.1)).unwrap_or(dtypes.0);
        let own = self.settings.policy.limits.iter().find(|rule| rule.fits(parameter, dtype));
        let codes = quantised
            .filter(|_| is_measured(stats) && relative_l2(stats, own) > 0.0)
            .and_then(|quantised| codes_finding(parameter, dtypes, stats, quantised));
        let is_said = codes.is_some();
        codes.into_iter().for_each(|finding| self.say(finding));
        self.non_finite(parameter, stats, quantised.map(|_| codes_dtype(dtypes)));
        let counts = |stats: &PairStats, finding: Finding| {
            finding.with("unequal", stats.unequal).with("elements", stats.elements)
        };
        if quantised.is_none() && dtypes.0.unit_roundoff() <= 0.0 && dtypes.1.unit_roundoff() <= 0.0 {
            if stats.unequal > 0 {
                self.say(counts(stats, Finding::new(&rules::INTEGER_DIFFERS, parameter)));
            }
            return;
        }
        if self.settings.profile == Profile::BitExact && stats.unequal > 0 {
            self.say(counts(stats, Finding::new(&rules::NOT_BIT_EXACT, parameter)));
        }
        let rule = self.rule(parameter, dtype, used);
        if !is_measured(stats) {
            return;
        }
        let (error, band) = (relative_l2(stats, rule), limits(dtype, rule, stats, quantised));
        if !is_said || error > band.wrong {
            self.measured(comparison, error, band, zeroed(stats));
        }
    }

    fn dtypes_differ(&mut self, parameter: &str, (baseline, candidate): (Dtype, Dtype), is_quantised: bool) {
        let both_float = baseline.unit_roundoff() > 0.0 && candidate.unit_roundoff() > 0.0;
        let same_kind = (both_float && baseline.is_complex() == candidate.is_complex()) || is_quantised;
        let severity =
            if same_kind && self.settings.profile != Profile::BitExact { Severity::Warn } else { Severity::Fail };
        let finding = Finding::new(&rules::DTYPE_DIFFERS, parameter).with_severity(severity);
        self.say(finding.with("baseline", baseline.to_string()).with("candidate", candidate.to_string()));
    }

    fn non_finite(&mut self, parameter: &str, stats: &PairStats, codes: Option<Dtype>) {
        let (nan, inf) = ((stats.nan_baseline, stats.nan_candidate), (stats.inf_baseline, stats.inf_candidate));
        let rule = match stats.nonfinite_mismatches {
            0 if nan.0 + inf.0 == 0 => return,
            0 => &rules::NON_FINITE,
            _ => &rules::NON_FINITE_DIFFERS,
        };
        let finding = Finding::new(rule, parameter)
            .with("nan_baseline", nan.0)
            .with("nan_candidate", nan.1)
            .with("inf_baseline", inf.0)
            .with("inf_candidate", inf.1)
            .with("elements", stats.elements);
        self.say(match codes {
            Some(dtype) => finding.with("quantised", dtype.to_string()),
            None => finding,
        });
    }

    fn rule(&self, parameter: &str, dtype: Dtype, used: &mut [bool]) -> Option<&ParameterRule> {
        let mut rules = self.settings.policy.limits.iter().zip(used);
        let (rule, used) = rules.find(|(rule, _)| rule.fits(parameter, dtype))?;
        *used = true;
        Some(rule)
    }

    fn measured(&mut self, comparison: &ParameterComparison<'_>, error: f64, band: ErrorBand, zeroed: Option<Side>) {
        let parameter = comparison.name;
        let explained = comparison.explanation.change.as_ref().filter(|_| error > band.noise);
        let finding = if let Some(change) = explained {
            Some(self.explained(parameter, change).with("limit", band.noise))
        } else if error > band.wrong {
            let finding = Finding::new(&rules::DIVERGES, parameter).with("limit", band.wrong);
            Some(match zeroed {
                Some(side) => finding.with("side", side.as_str()).with("equal", self.equal),
                None => finding,
            })
        } else if error > band.noise {
            let strict = self.settings.profile == Profile::Strict;
            let severity = if strict { Severity::Fail } else { Severity::Warn };
            Some(Finding::new(&rules::DRIFTS, parameter).with_severity(severity).with("limit", band.noise))
        } else {
            None
        };
        let limits = (Some(band.noise), Some(band.wrong));
        let of = Note::new(Note::PARAMETER).with(Note::PARAMETER, parameter);
        self.outcomes.push(RuleOutcome::new("relative-l2", Some(error), limits, verdict_of(&finding)).noting([of]));
        if self.outcomes.len() >= GATHERED {
            self.outcomes = worst(std::mem::take(&mut self.outcomes));
        }
        if let Some(finding) = finding {
            let ranks = ranks_of(&comparison.explanation.files);
            let finding = finding.with("error", error);
            self.say(if ranks.is_empty() { finding } else { finding.with("ranks", ranks) });
        }
    }

    /// The finding about a difference whose cause its elements show.
    fn explained(&self, parameter: &str, change: &TensorChange) -> Finding {
        match change {
            TensorChange::Transposed => Finding::new(&rules::TRANSPOSED, parameter),
            TensorChange::Swapped { with } => Finding::new(&rules::SWAPPED, parameter).with("with", with.as_str()),
            TensorChange::Stale { with } => Finding::new(&rules::STALE, parameter).with("with", with.as_str()),
            TensorChange::Permuted { over } => Finding::new(&rules::PERMUTED, parameter).with("over", over.clone()),
            TensorChange::Scaled { factor } => Finding::new(&rules::SCALED, parameter).with("factor", *factor),
            TensorChange::Rounded { to } => {
                let is_exact = matches!(self.settings.profile, Profile::Strict | Profile::BitExact);
                let severity = if is_exact { Severity::Fail } else { Severity::Warn };
                Finding::new(&rules::ROUNDED, parameter).with_severity(severity).with("dtype", to.to_string())
            }
        }
    }

    fn missing(&mut self, pairs: &ParameterPairs<'_>) {
        if let Some(prefix) = pairs.common_prefix() {
            let count = pairs.only_candidate.len();
            let finding = Finding::new(&rules::PREFIX_DIFFERS, self.name).with("prefix", prefix).with("count", count);
            return self.say(finding);
        }
        for (names, side) in [(&pairs.only_baseline, Side::Candidate), (&pairs.only_candidate, Side::Baseline)] {
            for name in names {
                self.say(Finding::new(&rules::MISSING, *name).with("side", side.as_str()));
            }
        }
    }
}

/// The side that holds only zeros while the other does not.
fn zeroed(stats: &PairStats) -> Option<Side> {
    match (stats.sum_sq_baseline > 0.0, stats.sum_sq_candidate > 0.0) {
        (true, false) => Some(Side::Candidate),
        (false, true) => Some(Side::Baseline),
        _ => None,
    }
}

/// Names of the ranks that files belong to; none for files that hold a whole model.
fn ranks_of(files: &[String]) -> Vec<String> {
    let rank = |file: &String| {
        let mut parts = file.rsplit('/');
        let (name, folder) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let is_part = name.ends_with(".distcp") || name.contains("zero_pp_rank_");
        if folder.starts_with("mp_rank_") { Some(folder.to_owned()) } else { is_part.then(|| name.to_owned()) }
    };
    let ranks: std::collections::BTreeSet<String> = files.iter().filter_map(rank).collect();
    ranks.into_iter().collect()
}

/// The error ‖c−b‖₂/‖b‖₂: 0 if no element differs by more than the absolute tolerance of the rule (0 without one), infinite if only
/// the baseline is all zero.
fn relative_l2(stats: &PairStats, rule: Option<&ParameterRule>) -> f64 {
    let absolute = rule.and_then(|rule| rule.absolute).map_or(0.0, |tolerance| tolerance.get());
    if stats.max_abs_diff <= absolute {
        return 0.0;
    }
    // Roots before the ratio: squares of small numbers may have vanished.
    match (stats.sum_sq_diff.sqrt(), stats.sum_sq_baseline.sqrt()) {
        (diff, norm) if norm > 0.0 => diff / norm,
        _ => f64::INFINITY,
    }
}

/// The limits of a parameter: those of its element type; for a quantised one those of bfloat16, widened by the rounding to its
/// codes.
fn limits(
    dtype: Dtype,
    rule: Option<&ParameterRule>,
    stats: &PairStats,
    quantised: Option<&QuantisedStats>,
) -> ErrorBand {
    let Some(quantised) = quantised else { return band_of(dtype, rule) };
    let (typical, most) = quantised.rounding(stats);
    let ErrorBand { noise, wrong } = band_of_dtype(Some(Dtype::BF16));
    let noise = rule.and_then(|rule| rule.noise).map_or(noise + typical, |tolerance| tolerance.get());
    let wrong = rule.and_then(|rule| rule.wrong).map_or((wrong + most).max(noise), |tolerance| tolerance.get());
    ErrorBand { noise: noise.min(wrong), wrong }
}

fn band_of(dtype: Dtype, rule: Option<&ParameterRule>) -> ErrorBand {
    let ErrorBand { noise, wrong } = band_of_dtype(Some(dtype));
    let noise = rule.and_then(|rule| rule.noise).map_or(noise, |tolerance| tolerance.get());
    let wrong = rule.and_then(|rule| rule.wrong).map_or(wrong.max(noise), |tolerance| tolerance.get());
    ErrorBand { noise: noise.min(wrong), wrong }
}
