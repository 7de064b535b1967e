//! Judging training curves.
//!
//! The questions come in this order, because each one decides whether the next makes sense: are both curves there
//! ([`completeness`]), do the learning rates agree, do both runs start from the same weights ([`mode`]), how far apart are
//! the losses ([`level`]), and how do the other metrics compare ([`secondary_metrics`]). A published rule ([`preset`]) may
//! decide in place of `level`. It never replaces `completeness`, because a rule that skips missing steps would pass a curve
//! that nobody saw.

pub mod alone;
pub mod both;
pub mod code;
pub mod completeness;
pub mod curve_limits;
pub mod downsample;
pub mod ending;
pub mod evidence;
#[cfg(test)]
mod files;
pub mod growth;
mod judged;
pub mod level;
pub mod limits;
pub mod mode;
pub mod noise;
mod other_batches;
pub mod patterns;
pub mod preset;
pub mod repeats;
pub mod rl;
pub mod rule_results;
mod scale;
mod scattered;
pub mod secondary_metrics;
mod settings;
pub mod sources;
pub mod standstill;
pub mod start;
pub mod timeline;
mod too_good;
pub mod updates;

use std::collections::BTreeSet;

use rayon::prelude::*;

use crate::compare::curve::{CurveMeasures, CurveScale, measure};
use crate::error::Result;
use crate::kind::Role;
use crate::pair::curve::align::StepCoverage;
use crate::pair::curve::{CurvePair, CurvePairing, PairedSources, groups};
use crate::policy::loss::preset::Preset;
use crate::policy::loss::{Kind, MetricPolicy};
use crate::read::curve::series::Order;
use crate::read::metric;
use crate::result::finding::Finding;
use crate::result::unit::{CurveUnit, Evidence, Replaced};
use crate::verdict::Verdict;
pub use code::RULES;
use completeness::Surroundings;
use curve_limits::CurveLimits;
use evidence::CurveUse;
pub use judged::JudgedCurve;
use level::LevelContext;
use limits::LimitPair;
use mode::{ResolvedMode, Weights};
use noise::{MetricNoise, RepeatMeasures};
use other_batches::OtherBatches;
use rule_results::RuleResults;
use scale::{scale, weighing_steps};
use scattered::Scattered;
pub use settings::LossSettings;
pub(crate) use settings::own_policy;
use start::Start;

/// Judges every pair. Returns the judged curves, and the findings that belong to no curve. Only as many pairs as fit into
/// memory have their points loaded at a time.
///
/// # Errors
/// Errors of the disk, where points lie there.
pub fn judge(pairing: &CurvePairing<'_>, settings: LossSettings<'_>) -> Result<(Vec<JudgedCurve>, Vec<Finding>)> {
    let runs: BTreeSet<&str> = pairing.pairs.iter().map(|pair| pair.run.as_str()).collect();
    let mut judged = Vec::new();
    for run in runs {
        let of_run = pairing.pairs.iter().filter(|pair| pair.run == run).collect();
        let mut of_run = Run::new(of_run, settings)?.judge()?;
        // A dead reward explains the other differences of the run, so its curve comes first.
        of_run.sort_by_key(|curve| !curve.findings.iter().any(|finding| finding.is(&code::RL_REWARD_DEAD)));
        judged.extend(of_run);
    }
    judged.extend(rl_alone(pairing, settings)?);
    let mut general = sources::unpaired_findings(pairing, &settings.policy.metrics);
    general.extend(updates::judge(pairing));
    Ok((judged, general))
}

/// Differences of two repeats of one case, for the metrics that are judged by their level or trend.
///
/// # Errors
/// Errors of the disk, where points lie there.
pub(crate) fn repeat_measures(pairing: &CurvePairing<'_>) -> Result<Vec<(String, RepeatMeasures)>> {
    let levels = [Role::Loss, Role::GradNorm, Role::AuxiliaryLoss, Role::ValueLoss, Role::EvalLoss];
    // Without a floor: the record keeps every difference of the case, however small.
    let scale = CurveScale { floor: 0.0, resolution: 0.0, steps: None };
    let of = |pair: &PairedSources<'_>| {
        let pair = pair.load()?;
        let scale = CurveScale { steps: weighing_steps(&pair), ..scale };
        let measured = match pair.is_rl {
            true => rl::trend_repeat_measures(&pair),
            false => measure(&pair.points, scale).map(|measures| RepeatMeasures::Level(Box::new(measures))),
        };
        Ok(measured.map(|measured| (pair.metric.clone(), measured)))
    };
    let due = pairing.pairs.iter().filter(|pair| pair.is_rl || levels.contains(&pair.role));
    due.map(of).filter_map(Result::transpose).collect()
}

/// Judges the mismatch metrics of rollout and training that only the candidate logs: their limits need no baseline.
fn rl_alone(pairing: &CurvePairing<'_>, settings: LossSettings<'_>) -> Result<Vec<JudgedCurve>> {
    if !pairing.has_rl() {
        return Ok(Vec::new());
    }
    let ignored = |metric: &str| own_policy(&settings.policy.metrics, metric).is_some_and(|own| own.ignore);
    let due = pairing.candidate_only.iter().filter(|((metric, _), _)| !ignored(metric));
    due.filter_map(|(id, source)| rl::judge_alone(id, source, settings).transpose()).collect()
}

/// Place of a curve among those of its run.
#[derive(Clone, Copy)]
struct Beside<'p> {
    /// Whether it is the first curve of the run that is judged.
    is_first: bool,
    /// The gradient norm of the run; only for a loss.
    gradients: Option<&'p CurvePair<'p>>,
}

/// The curves of one run, with the facts that they share.
struct Run<'r, 'a> {
    pairs: Vec<&'r PairedSources<'a>>,
    /// The loss of supervised training and the reward of reinforcement learning, with their coverage.
    leads: Vec<(&'r PairedSources<'a>, StepCoverage)>,
    mode: ResolvedMode,
    schedules_differ: bool,
    /// Evidence that the two sides log the training loss of different batches.
    other_batches: Option<OtherBatches>,
    /// Whether the runs start from different weights and their training losses are of different data.
    is_apart: bool,
    /// Whether a metric other than the reward shows that the candidate took another path, and is not just late.
    is_on_another_way: bool,
    settings: LossSettings<'r>,
}

impl<'r, 'a> Run<'r, 'a> {
    fn new(pairs: Vec<&'r PairedSources<'a>>, settings: LossSettings<'r>) -> Result<Self> {
        let (mut leads, mut lead) = (Vec::new(), None);
        for role in [Role::Loss, Role::Reward] {
            let Some(first) = pairs.iter().find(|pair| pair.role == role) else { continue };
            let pair = first.load()?;
            if role == Role::Loss {
                lead = measure(&pair.points, scale(&pair, settings.policy));
            }
            leads.push((*first, pair.points.coverage));
        }
        let first = lead.as_ref().and_then(|measures| measures.first);
        let start = lead.as_ref().and_then(Start::from_measures);
        let mut schedules_differ = false;
        for pair in pairs.iter().filter(|pair| pair.role == Role::LearningRate) {
            schedules_differ |= secondary_metrics::schedule_difference(pair.load()?.points.iter())
                .is_some_and(|at| at.value > secondary_metrics::SCHEDULE);
        }
        let mode = ResolvedMode::resolve(settings.policy.mode, first, start);
        let other_batches = other_batches::find(&pairs, lead.as_ref(), settings.policy)?;
        let fixed = CurveLimits::resolve(mode.weights, settings.policy, None).mean;
        let apart = |lead: &CurveMeasures| level::sees_other_data(lead, mode.weights, fixed);
        let is_apart = mode.weights == Weights::Own && lead.as_ref().is_some_and(apart);
        let agreed = Self::is_on_another_way(&pairs, settings)?;
        Ok(Self { pairs, leads, mode, schedules_differ, other_batches, is_apart, is_on_another_way: agreed, settings })
    }

    /// Whether a metric other than the reward shows that the candidate took another path, and is not just late.
    fn is_on_another_way(pairs: &[&PairedSources<'_>], settings: LossSettings<'_>) -> Result<bool> {
        let ignored = |metric: &str| own_policy(&settings.policy.metrics, metric).is_some_and(|own| own.ignore);
        for pair in pairs.iter().filter(|pair| rl::is_witness(pair) && !ignored(&pair.metric)) {
            let noise = settings.noise.and_then(|band| band.metrics.get(&pair.metric));
            if rl::witness_warns(&pair.load()?, noise) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn judge(&self) -> Result<Vec<JudgedCurve>> {
        let mut judged = Vec::new();
        for group in groups(&self.pairs) {
            judged.extend(group.par_iter().map(|pair| self.load_and_judge(pair)).collect::<Result<Vec<_>>>()?);
        }
        Ok(judged)
    }

    fn load_and_judge(&self, sources: &PairedSources<'_>) -> Result<JudgedCurve> {
        let pair = sources.load()?;
        let measures = measure(&pair.points, scale(&pair, self.settings.policy));
        // The gradient norm of the run, in which a hidden failure of the loss shows.
        let gradients = self.pairs.iter().find(|pair| pair.metric == "grad_norm").filter(|_| pair.role == Role::Loss);
        let gradients = gradients.map(|gradients| gradients.load()).transpose()?;
        let beside = Beside { is_first: self.is_first(sources), gradients: gradients.as_ref() };
        Ok(self.judge_pair(&pair, measures.as_ref(), beside))
    }

    fn judge_pair(&self, pair: &CurvePair<'_>, measures: Option<&CurveMeasures>, beside: Beside<'_>) -> JudgedCurve {
        let noise = self.settings.noise.and_then(|band| band.metrics.get(&pair.metric));
        let limits = CurveLimits::resolve(self.mode.weights, self.settings.policy, noise);
        let mut results = RuleResults::new(place(pair), self.settings.profile);
        let own = own_policy(&self.settings.policy.metrics, &pair.metric);
        let counts = self.counts(pair.role, own);
        if counts {
            if pair.role == Role::Loss || beside.is_first {
                sources::add_source_notes(pair, &mut results);
            }
            sources::add_obstacle(pair, &mut results);
            self.judge_role(pair, measures, &limits, noise, beside.gradients, &mut results);
        }
        if let (Some(own), Some(measures), true) = (own, measures, counts) {
            secondary_metrics::judge_declared(pair, own, measures, &self.settings.policy.hardware, &mut results);
        }
        let left_out = own.is_some_and(|own| own.ignore);
        if !counts {
            secondary_metrics::show_change(measures, &mut results);
        }
        if !counts && !left_out {
            unjudged(pair, measures, &mut results);
        }
        // A metric that no rule judges counts all the same once there is a finding about it.
        let counts = counts || !results.findings.is_empty();
        let judged = results.rules.iter().any(|outcome| outcome.verdict != Verdict::Skipped);
        let has_own_limits = own.is_some_and(|own| own.mean.or(own.difference).or(own.worse).is_some());
        let judged = judged && (evidence::carries_verdict(pair.role) || has_own_limits);
        let used = match (left_out, judged) {
            (true, _) => CurveUse::LeftOut,
            (false, true) => CurveUse::Judged,
            (false, false) => CurveUse::Shown,
        };
        let unit = self.unit(pair, measures, &limits, noise, &mut results);
        let unit = CurveUnit { evidence: evidence::curve_evidence(pair, used), ..unit };
        JudgedCurve { unit, findings: results.findings, counts }
    }

    /// Whether a metric is the first of the run that is judged. Findings that concern the whole run are added to it.
    fn is_first(&self, sources: &PairedSources<'_>) -> bool {
        let counted = |pair: &&&PairedSources<'_>| {
            self.counts(pair.role, own_policy(&self.settings.policy.metrics, &pair.metric))
        };
        self.pairs.iter().find(counted).is_some_and(|first| std::ptr::eq(*first, sources))
    }

    /// Whether a metric is judged: by its role, or because the policy names limits for it.
    fn counts(&self, role: Role, own: Option<&MetricPolicy>) -> bool {
        match own {
            Some(own) if own.ignore => false,
            Some(own) if own.mean.is_some() || own.worse.is_some() || own.difference.is_some() => {
                !role.is_performance() || self.settings.policy.hardware.is_equal() || own.worse.is_some()
            }
            _ => role.is_judged(),
        }
    }

    fn judge_role(
        &self,
        pair: &CurvePair<'_>,
        measures: Option<&CurveMeasures>,
        limits: &CurveLimits,
        noise: Option<&MetricNoise>,
        gradients: Option<&CurvePair<'_>>,
        results: &mut RuleResults,
    ) {
        if !pair.role.is_performance() {
            let needed = self.settings.policy.coverage.get();
            let has_other_losses =
                self.pairs.iter().any(|other| other.role == Role::Loss && other.metric != pair.metric);
            let around = Surroundings { gradients, lead: self.lead(pair), has_other_losses, needed };
            completeness::judge(pair, &around, results);
        }
        if pair.role.is_performance() {
            completeness::fail_non_finite(pair, results);
        }
        let Some(measures) = measures else { return };
        too_good::judge(pair, measures, results);
        if pair.is_rl {
            return self.judge_rl(pair, measures, noise, results);
        }
        match pair.role {
            Role::Loss => self.judge_loss(pair, measures, limits, noise, results),
            Role::EvalLoss => level::judge_eval(measures, pair.points.len(), limits, results),
            Role::AuxiliaryLoss | Role::ValueLoss | Role::GradNorm => {
                let scattered = self.scatter_on_other_data(pair).map(|scattered| scattered.widen(limits));
                level::judge_noisy(pair.role, measures, scattered.as_ref().unwrap_or(limits), results);
            }
            Role::LearningRate => secondary_metrics::judge_schedule(pair, results),
            Role::EvalScore | Role::Reward => {
                let room = self.scatter_on_other_data(pair).map(|scattered| scattered.score_room());
                secondary_metrics::judge_score(pair, measures, room.unwrap_or_default(), results);
            }
            // Performance, metrics that are only shown, and roles that only reinforcement learning has.
            _ => {}
        }
    }

    /// Scatter of a secondary metric, where the runs see different data; `None` elsewhere.
    fn scatter_on_other_data(&self, pair: &CurvePair<'_>) -> Option<Scattered> {
        if self.is_apart { Scattered::from_pair(pair, true, LimitPair::NONE) } else { None }
    }

    fn judge_rl(
        &self,
        pair: &CurvePair<'_>,
        measures: &CurveMeasures,
        noise: Option<&MetricNoise>,
        results: &mut RuleResults,
    ) {
        if self.settings.noise.is_some() && noise.is_none() && pair.role == Role::Reward {
            results.add_finding(&code::NO_NOISE, |finding| finding.with("metric", pair.metric.as_str()));
        }
        match (pair.role, self.preset_of(pair)) {
            (Role::LearningRate, _) => secondary_metrics::judge_schedule(pair, results),
            (Role::Constant, _) => rl::judge_constant(pair, results),
            (_, Some(preset)) => {
                results.judge_preset(preset, preset::apply(preset, pair));
                results.show_beside_preset(|results| {
                    rl::judge(pair, measures, self.settings.profile, noise, self.is_on_another_way, results)
                });
            }
            (_, None) => rl::judge(pair, measures, self.settings.profile, noise, self.is_on_another_way, results),
        }
    }

    /// The published rule that decides about a loss.
    fn preset_of(&self, pair: &CurvePair<'_>) -> Option<Preset> {
        self.settings.policy.preset.filter(|_| metric::role(&pair.metric) == Role::Loss)
    }

    fn judge_loss(
        &self,
        pair: &CurvePair<'_>,
        measures: &CurveMeasures,
        limits: &CurveLimits,
        noise: Option<&MetricNoise>,
        results: &mut RuleResults,
    ) {
        let scattered = self.scattered(pair, limits, noise);
        let widened = scattered.as_ref().map(|scattered| scattered.widen(limits));
        let context = LevelContext {
            mode: self.mode,
            limits: widened.as_ref().unwrap_or(limits),
            mean: limits.mean,
            profile: self.settings.profile,
        };
        if self.schedules_differ {
            results.add_finding(&code::NOT_JUDGED, |finding| finding);
            return results.show_only(|results| level::judge(measures, &context, results));
        }
        if let Some(found) = self.other_batches.filter(|_| pair.metric == "loss") {
            results.add_finding(&code::OTHER_BATCHES, |finding| found.add_facts(finding));
            return results.show_only(|results| level::judge(measures, &context, results));
        }
        if self.settings.noise.is_some() && noise.is_none() {
            results.add_finding(&code::NO_NOISE, |finding| finding.with("metric", pair.metric.as_str()));
        }
        match self.settings.policy.preset {
            Some(preset) => {
                results.judge_preset(preset, preset::apply(preset, pair));
                results.show_beside_preset(|results| level::judge(measures, &context, results));
            }
            None => {
                level::judge(measures, &context, results);
                if let Some(scattered) = scattered {
                    scattered.judge_windows(limits, results);
                }
                patterns::judge(pair, results);
            }
        }
    }

    /// Scatter of a loss whose runs start from different weights; `None` where the policy or recorded repeats set the limit of
    /// its mean instead.
    fn scattered(&self, pair: &CurvePair<'_>, limits: &CurveLimits, noise: Option<&MetricNoise>) -> Option<Scattered> {
        let is_set = self.settings.policy.limits.mean.is_some() || noise.is_some();
        let due = self.mode.weights == Weights::Own && !is_set;
        if due { Scattered::from_pair(pair, self.is_apart, limits.mean) } else { None }
    }

    /// Coverage of the run's loss, or of its reward; `None` where `pair` itself is that metric.
    fn lead(&self, pair: &CurvePair<'_>) -> Option<&StepCoverage> {
        let role = if pair.is_rl { Role::Reward } else { Role::Loss };
        let lead = self.leads.iter().find(|(lead, _)| lead.role == role);
        lead.filter(|(lead, _)| lead.metric != pair.metric).map(|(_, coverage)| coverage)
    }

    fn unit(
        &self,
        pair: &CurvePair<'_>,
        measures: Option<&CurveMeasures>,
        limits: &CurveLimits,
        noise: Option<&MetricNoise>,
        results: &mut RuleResults,
    ) -> CurveUnit {
        let (mode, mode_source) = self.mode_of(pair);
        let is_loss = pair.role == Role::Loss;
        CurveUnit {
            metric: pair.metric.clone(),
            role: Some(pair.role),
            better: metric::better_direction(&pair.metric, pair.role),
            run: pair.run.clone(),
            rank: pair.rank,
            baseline_file: pair.baseline.path.clone(),
            candidate_file: pair.candidate.path.clone(),
            format: format(pair),
            preset: self.preset_of(pair).map(|preset| preset.as_str().to_owned()).unwrap_or_default(),
            mode: mode.to_owned(),
            mode_source: mode_source.to_owned(),
            verdict: Verdict::Skipped,
            paired: pair.points.len() as u64,
            paired_by: pair.paired_by().to_owned(),
            values: pair.points.values.map(|values| values.as_str().to_owned()).unwrap_or_default(),
            values_source: pair.points.values.map(|values| values.evidence().to_owned()).unwrap_or_default(),
            replaced: replaced(pair),
            first_diverging_step: if is_loss { first_diverging(pair, measures, limits) } else { None },
            is_shown_only: false,
            evidence: Evidence::default(),
            non_finite_steps: completeness::one_sided_non_finite(&pair.points).take(completeness::LISTED).collect(),
            rules: std::mem::take(&mut results.rules),
            series: downsample::downsample(pair, noise),
            windows: rl::windows_of_pair(pair),
        }
    }

    /// The mode that a metric is judged in, and the source of it: `declared` or `inferred`.
    fn mode_of(&self, pair: &CurvePair<'_>) -> (&'static str, &'static str) {
        let levels = [Role::Loss, Role::EvalLoss, Role::AuxiliaryLoss, Role::ValueLoss, Role::GradNorm];
        match pair.is_rl {
            true if self.settings.policy.kind == Kind::Rl => (rl::MODE, "declared"),
            true => (rl::MODE, "inferred"),
            false if levels.contains(&pair.role) => (self.mode.weights.as_str(), self.mode.source()),
            false => ("", ""),
        }
    }
}

/// Adds findings about a metric that no rule judges: it is not finite on the candidate alone, its name suggests a loss or reward
/// that a pass should rest on, or its mean moved.
fn unjudged(pair: &CurvePair<'_>, measures: Option<&CurveMeasures>, results: &mut RuleResults) {
    completeness::fail_non_finite(pair, results);
    let moved = secondary_metrics::large_change(pair, measures);
    if metric::looks_like_goal(&pair.metric) || moved.is_some() {
        results.add_finding(&code::SHOWN_ONLY, |finding| {
            let finding = finding.with("metric", pair.metric.as_str());
            moved.map_or(finding.clone(), |moved| finding.with("moved", moved))
        });
    }
}

/// The first step after which the difference never returns into the band, or after which the candidate is not
/// finite any more.
fn first_diverging(pair: &CurvePair<'_>, measures: Option<&CurveMeasures>, limits: &CurveLimits) -> Option<u64> {
    let departure = measures.and_then(|measures| measures.first_lasting_departure(limits.band()));
    departure.into_iter().chain(completeness::lasting_failure(&pair.points)).min()
}

/// Number of points of both sides that later points of the same step replaced.
fn replaced(pair: &CurvePair<'_>) -> Replaced {
    let orders = [&pair.baseline.series.order, &pair.candidate.series.order];
    let sum = |of: fn(&Order) -> u64| orders.iter().map(|order| of(order)).sum();
    Replaced { resumed: sum(|order| order.resumed), repeated: sum(|order| order.repeated) }
}

/// Formats that a curve was read from.
fn format(pair: &CurvePair<'_>) -> String {
    match (pair.baseline.format, pair.candidate.format) {
        (baseline, candidate) if baseline == candidate => baseline.to_owned(),
        (baseline, candidate) => format!("{baseline}, {candidate}"),
    }
}

/// Name of a curve in findings.
fn place(pair: &CurvePair<'_>) -> String {
    if pair.run.is_empty() { pair.name() } else { format!("{}: {}", pair.run, pair.name()) }
}
