//! Walks over the paired rows of a rank, step by step, up to the first row that breaks a rule.

use std::collections::{BTreeMap, BTreeSet};

use super::account::{RowAccount, is_only_candidate_finite};
use super::cause::{self, Cause};
use super::layer;
use super::measure::{self, FileRounding, RowError};
use super::picture::{Picture, PictureRoom};
use super::precision::Precision;
use super::rules;
use super::update::{Circumstances, JudgedUpdates, Motion, PartlyNoise, Pattern};
use crate::dtype::Dtype;
use crate::hash::{FastMap, FastSet};
use crate::judge::apply_policy::decide;
use crate::judge::rule::Rule;
use crate::kind::{MonitorKind, Statistic};
use crate::pair::monitor::MonitorRowPair;
use crate::policy::Policy;
use crate::read::monitor::{MonitorKey, MonitorParameter, MonitorRow, MonitorStatistics};
use crate::result::finding::Finding;
use crate::result::identity::own_finding;
use crate::result::number::Number;
use crate::result::unit::{
    Culprit, CulpritKind, Evidence, MonitorCause, MonitorCulprit, MonitorMap, MonitorPoint, unit_place,
};
use crate::verdict::Severity;

/// Ratio of an error to the largest error before it, above which it is a jump.
const JUMP: f64 = 8.0;

/// Ratio of the largest element of a tensor to its root mean square.
const CREST: f64 = 4.0;

/// Settings of the walk over a rank.
#[derive(Clone, Copy)]
pub(crate) struct WalkSetting<'a> {
    /// The rank; `None` where ranks are merged.
    pub rank: Option<u64>,
    /// Policy that decides what counts.
    pub policy: &'a Policy,
    /// Rounding of the files.
    pub written: FileRounding,
    /// Number of decimals of the baseline's numbers; `None` where they are written in full.
    pub decimals: Option<u32>,
    /// Whether the first step of both runs is the same, so that parameters have to be equal there.
    pub has_start: bool,
    /// Whether both sides recorded a single rank.
    pub is_alone: bool,
    /// Number of steps that will be walked over.
    pub steps: usize,
    /// Size of the picture in documents.
    pub room: PictureRoom,
}

/// Rules that still apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    /// All rules.
    All,
    /// NaN, infinity, types and shapes.
    Exact,
    /// No rules: the first wrong row is known.
    Nothing,
}

/// The path of a parameter since the first step.
struct Way {
    first: MonitorStatistics,
    /// Largest relative movement so far.
    moved: f64,
    /// Largest error of this parameter that was accepted.
    error: f64,
}

/// A row that breaks a rule.
struct Defect {
    rule: &'static Rule,
    severity: Severity,
    statistic: &'static str,
    error: f64,
    limit: f64,
    /// Error above which it fails; `None` where every error fails.
    wrong: Option<f64>,
}

pub(crate) struct RankWalkResult {
    /// Findings about rows, and about the noise horizon.
    pub findings: Vec<Finding>,
    /// The first row that breaks a rule and counts.
    pub culprit: Option<Culprit>,
    /// Account of the paired rows.
    pub evidence: Evidence,
    /// Number of parameters whose gradient is noise.
    pub noise_driven: u64,
    /// Step from which only exact rules apply.
    pub horizon: Option<u64>,
    /// The coarsest element type of the baseline.
    pub precision: Precision,
    /// The largest ratio of a judged error to its limit; `None` where none was judged.
    pub worst: Option<f64>,
    /// The largest ratio of a difference of updates to its limit; `None` where none could be measured.
    pub worst_update: Option<f64>,
    /// The worst row of each step and kind.
    pub series: Vec<MonitorPoint>,
    /// Errors by layer and step.
    pub heatmap: Option<MonitorMap>,
    /// Key of the culprit's row.
    pub key: Option<MonitorKey>,
    /// Indexes of the policy's limits that matched a row.
    pub used: BTreeSet<usize>,
}

/// The walk over the rows of a rank.
pub(crate) struct RankWalk<'a> {
    setting: WalkSetting<'a>,
    reach: Reach,
    /// Exact rules that a waived defect broke. Later defects of the same rule follow from it.
    accepted: Vec<&'static Rule>,
    precision: Precision,
    /// The largest error of the rows so far.
    growth: f64,
    /// The largest difference of a gradient so far, relative to the largest gradient of its step.
    gradient: f64,
    parameters: FastMap<MonitorParameter, Way>,
    /// The largest accepted error of a parameter, which later rows inherit.
    handed_on: f64,
    /// Movement of the parameters so far.
    motion: Motion,
    /// Parameters of which a part is noise.
    parted: PartlyNoise,
    /// Parameters whose gradient is noise.
    noise_driven: FastSet<MonitorParameter>,
    /// Modules of the noise-driven parameters, by model and stage.
    noisy_modules: FastMap<(u64, i64), FastSet<String>>,
    horizon: Option<u64>,
    findings: Vec<Finding>,
    culprit: Option<Culprit>,
    key: Option<MonitorKey>,
    /// Indexes of the policy's limits that matched a row.
    used: BTreeSet<usize>,
    /// Account of the rows.
    account: RowAccount,
    /// The first row that is finite on the candidate side only, with its step.
    first_blind: Option<(String, u64)>,
    /// Number of rows after the culprit that exceed their limit too.
    spread: u64,
    /// The first update with recorded parameters.
    start: Option<i64>,
    worst: Option<f64>,
    worst_update: Option<f64>,
    picture: Picture,
    /// Number of steps walked over so far.
    steps: usize,
}

/// The current step, shared by its rows.
struct StepView<'p> {
    update: i64,
    is_start: bool,
    pairs: &'p [MonitorRowPair],
    largest: BTreeMap<(u64, MonitorKind), [f64; 4]>,
    /// Outputs of modules with a noise-driven parameter.
    noisy_outputs: Vec<&'p MonitorRow>,
    /// Judged updates of the step, once its gradients are known.
    updates: Option<JudgedUpdates>,
}

impl StepView<'_> {
    /// The largest statistics of the kind and model of a row.
    fn largest_of(&self, pair: &MonitorRowPair) -> Option<[f64; 4]> {
        self.largest.get(&(pair.key.model, pair.key.kind)).copied()
    }
}

impl<'a> RankWalk<'a> {
    /// Starts a walk.
    pub(crate) fn new(setting: WalkSetting<'a>) -> Self {
        Self {
            reach: Reach::All,
            accepted: Vec::new(),
            precision: Precision::default(),
            growth: 0.0,
            gradient: 0.0,
            parameters: FastMap::default(),
            handed_on: 0.0,
            motion: Motion::default(),
            parted: PartlyNoise::default(),
            noise_driven: FastSet::default(),
            noisy_modules: FastMap::default(),
            horizon: None,
            findings: Vec::new(),
            culprit: None,
            key: None,
            account: RowAccount::default(),
            first_blind: None,
            spread: 0,
            used: BTreeSet::new(),
            start: None,
            worst: None,
            worst_update: None,
            picture: Picture::new(setting.room, setting.steps),
            steps: 0,
            setting,
        }
    }

    /// Walks over the rows of a step, which come in the order in which the step computes them.
    pub(crate) fn step(&mut self, update: i64, pairs: &[MonitorRowPair]) {
        let mut largest: BTreeMap<(u64, MonitorKind), [f64; 4]> = BTreeMap::new();
        for pair in pairs {
            measure::raise(largest.entry((pair.key.model, pair.key.kind)).or_default(), pair);
        }
        if largest.keys().any(|(_, kind)| *kind == MonitorKind::ParamOrigin) {
            self.start = self.start.or(Some(update));
        }
        let mut view = StepView {
            update,
            is_start: self.setting.has_start && self.start == Some(update),
            pairs,
            largest,
            noisy_outputs: Vec::new(),
            updates: None,
        };
        self.picture.begin_step(self.steps, u64::try_from(update).unwrap_or(0));
        for (place, pair) in pairs.iter().enumerate() {
            self.row(&mut view, pair, place);
        }
        self.account.step(pairs);
        self.steps += 1;
    }

    fn row<'p>(&mut self, view: &mut StepView<'p>, pair: &'p MonitorRowPair, place: usize) {
        if is_only_candidate_finite(pair) {
            self.first_blind.get_or_insert_with(|| (pair.candidate.name.to_string(), pair.candidate.step));
        }
        if let Some(precision) = Precision::from_row(&pair.baseline, self.setting.decimals) {
            self.precision = self.precision.max(precision);
        }
        if pair.key.kind == MonitorKind::ParamUpdated && view.updates.is_none() {
            view.updates = Some(self.judge_updates(view.pairs));
        }
        let defect = match self.exact_defect(pair) {
            Some(defect) => Some(defect),
            None if self.is_noise_driven(view, pair) => None,
            None => self.update_defect(view, pair).or_else(|| self.inexact_defect(view, pair)),
        };
        if let Some(defect) = defect {
            self.record_defect(defect, view, pair, place);
        }
        self.note_noise(view, pair);
        self.parted.note(pair, self.precision.noise() + 2.0 * self.gradient);
    }

    /// Returns the defect of a row under the exact rules: NaN, infinity, types and shapes.
    fn exact_defect(&mut self, pair: &MonitorRowPair) -> Option<Defect> {
        let (statistic, rule) = if let Some(statistic) = non_finite(pair) {
            (statistic, &rules::NON_FINITE)
        } else if differ(
            pair,
            |row| row.dtype.as_deref(),
            |one, other| Dtype::parse(one).is_some_and(|dtype| Dtype::parse(other) == Some(dtype)),
        ) {
            ("dtype", &rules::DTYPE_DIFFERS)
        } else if differ(pair, |row| row.shape.as_deref(), |one, other| sizes(one).eq(sizes(other))) {
            ("shape", &rules::SHAPE_DIFFERS)
        } else {
            return None;
        };
        let error = if *rule == rules::NON_FINITE {
            f64::INFINITY
        } else {
            measure::error(pair, |_| 0.0).map_or(0.0, |measured| measured.error)
        };
        self.picture.add(&pair.key, &pair.candidate.name, pair.candidate.step, error, f64::INFINITY);
        (self.reach <= Reach::Exact && !self.accepted.contains(&rule)).then_some(Defect {
            rule,
            severity: rule.severity,
            statistic,
            error,
            limit: 0.0,
            wrong: None,
        })
    }

    /// Judges the updates of a step, as long as numbers are judged. Parameters with limits in the policy are left out.
    fn judge_updates(&mut self, pairs: &[MonitorRowPair]) -> JudgedUpdates {
        if self.reach > Reach::All {
            return JudgedUpdates::default();
        }
        let at = Circumstances {
            written: self.setting.written,
            decimals: self.setting.decimals,
            precision: self.precision,
            growth: self.growth.max(self.gradient),
        };
        let limits = &self.setting.policy.monitor.limits;
        let (noise_driven, parted) = (&self.noise_driven, &self.parted);
        let is_noise = |pair: &MonitorRowPair| {
            let has_limit = limits.iter().any(|rule| rule.fits(&pair.candidate.name, pair.key.kind));
            has_limit || noise_driven.contains(&pair.key.parameter())
        };
        let updates = self.motion.judge(pairs, at, is_noise, |pair| parted.has(&pair.key.parameter()));
        if let Some(ratio) = updates.worst {
            self.worst_update = Some(self.worst_update.map_or(ratio, |worst| worst.max(ratio)));
        }
        updates
    }

    /// Returns the defect of a parameter's update, if it is wrong.
    fn update_defect(&mut self, view: &StepView<'_>, pair: &MonitorRowPair) -> Option<Defect> {
        let is_update = pair.key.kind == MonitorKind::ParamUpdated && self.reach == Reach::All && !pair.is_repeat;
        let wrong = view.updates.as_ref().filter(|_| is_update)?.wrong_update(&pair.key.parameter())?;
        self.show(pair, wrong.error, wrong.limit);
        Some(Defect {
            rule: &rules::UPDATE,
            severity: Severity::Fail,
            statistic: wrong.statistic.as_str(),
            error: wrong.error,
            limit: wrong.limit,
            wrong: None,
        })
    }

    /// Returns the defect of a row whose error exceeds its limit and the errors before it.
    fn inexact_defect(&mut self, view: &StepView<'_>, pair: &MonitorRowPair) -> Option<Defect> {
        let kind = pair.key.kind;
        if kind == MonitorKind::ParamOrigin && view.is_start {
            self.parameter_movement(pair);
            let unequal = measure::start_error(pair, self.setting.written);
            self.show(pair, unequal.map_or(0.0, |measured| measured.error), self.precision.limit());
            let [_, wrong] = self.limits(pair);
            return self.judge(unequal?, 0.0, wrong);
        }
        let noise = self.precision.noise();
        let measured = self.error(view, pair, noise + 2.0 * self.gradient)?;
        // A row below its floor is noise, which does not count as growth.
        let growth = if self.is_noise(view, pair) { measured.error } else { self.error(view, pair, noise)?.error };
        let share =
            if kind.is_parameter() { self.parameter_movement(pair) * self.precision.share_of_movement() } else { 0.0 };
        let share = share.max(self.share_of_noise(pair));
        let own =
            self.parameters.get(&pair.key.parameter()).filter(|_| kind.is_parameter()).map_or(0.0, |own| own.error);
        let is_given = is_integer(&pair.baseline) && cause::is_input(pair, view.pairs);
        let [noise_limit, wrong] = self.limits(pair);
        let limit = if is_given { Precision::Fp32.limit() } else { noise_limit.max(share) };
        // Accepted errors of parameters show in everything that is computed from them.
        let handed_on = if kind.is_parameter() { 0.0 } else { self.handed_on };
        let before = if is_given { 0.0 } else { JUMP * self.growth.max(own).max(handed_on) };
        self.show(pair, measured.error, limit.max(before));
        if self.reach > Reach::All {
            return None;
        }
        if measured.error > limit && measured.error > before {
            let defect = self.judge(measured, limit, wrong);
            if defect.is_some() {
                return defect;
            }
        }
        self.grow(pair, growth - share, measured.error);
        None
    }

    /// Share by which a partly noise-driven parameter, and the output of its module, may differ. An element moves by at most one full update
    /// per step on each side. The root mean square is assumed to be a quarter of the largest element.
    fn share_of_noise(&self, pair: &MonitorRowPair) -> f64 {
        let travelled = self.motion.travelled();
        let parameter = match pair.key.kind {
            kind if kind.is_parameter() => pair.key.parameter(),
            MonitorKind::Actv if pair.key.split_module().1.starts_with(".output") => {
                MonitorParameter { name: format!("{}.bias", pair.key.split_module().0).into(), ..pair.key.parameter() }
            }
            _ => return 0.0,
        };
        let is_parted = travelled > 0.0 && self.parted.has(&parameter) && self.parameters.contains_key(&parameter);
        let largest = pair.baseline.statistics.largest().filter(|largest| is_parted && *largest > 0.0);
        largest.map_or(0.0, |largest| 2.0 * travelled / (largest / CREST))
    }

    /// The error of a row. A gradient or moment may differ by `noise` times the largest of its kind.
    fn error(&self, view: &StepView<'_>, pair: &MonitorRowPair, noise: f64) -> Option<RowError> {
        let kind = pair.key.kind;
        let largest = view.largest_of(pair).filter(|_| is_summed(kind)).unwrap_or_default();
        measure::error(pair, |statistic: Statistic| {
            self.setting.written.unit + noise * largest.get(statistic as usize).copied().unwrap_or(0.0)
        })
    }

    /// Limits of a row, above which it is suspicious and above which it is wrong: from the policy, else from the precision.
    fn limits(&mut self, pair: &MonitorRowPair) -> [f64; 2] {
        let (name, kind) = (&*pair.candidate.name, pair.key.kind);
        let mut rules = self.setting.policy.monitor.limits.iter().enumerate();
        let rule = rules.find(|(_, rule)| rule.fits(name, kind)).map(|(place, rule)| {
            self.used.insert(place);
            rule
        });
        let noise = rule.and_then(|rule| rule.noise).map_or(self.precision.limit(), |noise| noise.get());
        let wrong =
            rule.and_then(|rule| rule.wrong).map_or(self.precision.wrong_limit().max(noise), |wrong| wrong.get());
        [noise.min(wrong), wrong]
    }

    /// The defect of an error above its limit; `None` where numbers are no longer judged.
    fn judge(&self, measured: RowError, limit: f64, wrong: f64) -> Option<Defect> {
        if self.reach > Reach::All {
            return None;
        }
        let is_wrong = measured.error > wrong.max(limit);
        let severity = if is_wrong { Severity::Fail } else { Severity::Warn };
        let statistic = measured.statistic.as_str();
        Some(Defect { rule: &rules::JUMP, severity, statistic, error: measured.error, limit, wrong: Some(wrong) })
    }

    /// Returns the largest relative movement of a parameter since the first step.
    fn parameter_movement(&mut self, pair: &MonitorRowPair) -> f64 {
        let first = pair.baseline.statistics;
        let parameter = self.parameters.entry(pair.key.parameter()).or_insert(Way { first, moved: 0.0, error: 0.0 });
        parameter.moved = parameter.moved.max(measure::relative_movement(&parameter.first, &pair.baseline.statistics));
        parameter.moved
    }

    /// Adds the error of an accepted row to the errors that later rows are compared with.
    fn grow(&mut self, pair: &MonitorRowPair, growth: f64, error: f64) {
        if growth.is_finite() {
            self.growth = self.growth.max(growth);
        }
        if let Some(parameter) = self.parameters.get_mut(&pair.key.parameter()).filter(|_| pair.key.kind.is_parameter())
        {
            parameter.error = parameter.error.max(error);
            self.handed_on = self.handed_on.max(error);
        }
        if self.growth > self.precision.horizon() && self.reach == Reach::All {
            self.horizon = Some(pair.candidate.step);
            self.reach = self.reach.max(Reach::Exact);
        }
    }

    /// Records the noise of a gradient, and of the parameter that it drives.
    fn note_noise(&mut self, view: &StepView<'_>, pair: &MonitorRowPair) {
        let kind = pair.key.kind;
        if !kind.is_gradient() || self.reach > Reach::All {
            return;
        }
        let largest = view.largest_of(pair).unwrap_or_default();
        // A gradient that is exactly zero moves nothing.
        let is_zero = self.setting.written.unit <= 0.0 && sizes_of(&pair.baseline.statistics, largest).0 <= 0.0;
        if kind != MonitorKind::ActvGrad && self.is_noise(view, pair) && !is_zero {
            let parameter = pair.key.parameter();
            if let Some((module, _)) = parameter.name.rsplit_once('.')
                && !self.noise_driven.contains(&parameter)
            {
                let modules = self.noisy_modules.entry((parameter.model, parameter.stage)).or_default();
                modules.insert(module.to_owned());
            }
            self.noise_driven.insert(parameter);
        }
        let share = measure::share_of_largest(pair, largest, self.setting.written.unit);
        if share.is_finite() {
            self.gradient = self.gradient.max(share);
        }
    }

    /// Whether a gradient or moment of the baseline lies below its floor, so that it is mathematically zero.
    fn is_noise(&self, view: &StepView<'_>, pair: &MonitorRowPair) -> bool {
        let kind = pair.key.kind;
        let Some(largest) = view.largest_of(pair).filter(|_| is_summed(kind)) else { return false };
        let (size, most) = sizes_of(&pair.baseline.statistics, largest);
        size < (self.precision.noise() + 2.0 * self.gradient) * most
    }

    /// Whether a row is driven by a gradient that is only noise: the parameter, the output of its module, and rows with the same statistics
    /// as that output.
    fn is_noise_driven<'p>(&self, view: &mut StepView<'p>, pair: &'p MonitorRowPair) -> bool {
        match pair.key.kind {
            kind if kind.is_parameter() => self.noise_driven.contains(&pair.key.parameter()),
            MonitorKind::Actv => {
                let module = pair.key.name.rsplit_once('.').and_then(|(port, _)| port.strip_suffix(".output"));
                let noisy = self.noisy_modules.get(&(pair.key.model, pair.key.stage));
                let is_output = module.zip(noisy).is_some_and(|(module, noisy)| noisy.contains(module));
                if is_output {
                    view.noisy_outputs.push(&pair.baseline);
                }
                is_output || view.noisy_outputs.iter().any(|noisy| cause::have_same_statistics(noisy, &pair.baseline))
            }
            _ => false,
        }
    }

    fn show(&mut self, pair: &MonitorRowPair, error: f64, threshold: f64) {
        let ratio = error / threshold;
        self.spread += u64::from(self.key.is_some() && ratio > 1.0);
        self.picture.add(&pair.key, &pair.candidate.name, pair.candidate.step, error, ratio);
        if self.reach == Reach::All && !ratio.is_nan() {
            self.worst = Some(self.worst.map_or(ratio, |worst| worst.max(ratio)));
        }
    }

    /// Records a defect: its finding, and the culprit if the finding counts.
    fn record_defect(&mut self, defect: Defect, view: &StepView<'_>, pair: &MonitorRowPair, place: usize) {
        let is_non_finite = defect.rule == &rules::NON_FINITE;
        let cause = if is_non_finite { MonitorCause::NonFinite.into() } else { self.cause(view, pair) };
        let culprit = self.culprit_of(&defect, cause, view, pair, place);
        let model = pair.key.model;
        let has = |kind: MonitorKind| u64::from(kind < pair.key.kind && view.largest.contains_key(&(model, kind)));
        let finding = finding_of(&defect, cause, &culprit, pair)
            .with("forward", has(MonitorKind::Actv))
            .with("gradients", has(MonitorKind::GradReduced).max(has(MonitorKind::GradUnreduced)));
        let finding = match layer::of_output(pair, view.pairs, place).filter(|_| shows_layer(cause.cause)) {
            Some(known) => known.note(finding),
            None => finding,
        };
        let types = layer::types_around(pair, view.pairs).filter(|_| defect.rule == &rules::DTYPE_DIFFERS);
        let finding = match types {
            Some((input, others)) => finding.with("input_type", input).with("others", others),
            None => finding,
        };
        let finding = match self.wrong_backward(&defect, view, pair).filter(|_| cause.cause == MonitorCause::Backward) {
            Some(module) => finding.with("module", module),
            None => finding,
        };
        let finding = match view.updates.as_ref().filter(|_| defect.rule == &rules::UPDATE) {
            Some(updates) => with_updates(finding, updates, &pair.key.name),
            None => finding,
        };
        let decision = decide(&finding.code, &finding.place, finding.severity, self.setting.policy);
        let (counts, severity, is_waived) = (decision.counts(), decision.severity, decision.waiver.is_some());
        self.findings.push(finding);
        if is_waived {
            // Numbers after a waived defect say nothing, but a defect under another exact rule is a new one.
            self.reach = self.reach.max(Reach::Exact);
            self.accepted.push(defect.rule);
        }
        if !counts {
            // Later rows inherit an accepted error.
            let is_update = defect.rule == &rules::UPDATE;
            let inherited =
                if is_update { self.error(view, pair, 0.0).map_or(0.0, |own| own.error) } else { defect.error };
            if inherited.is_finite() {
                self.grow(pair, inherited, inherited);
            }
            return;
        }
        self.picture.keep_culprit(&pair.key, pair.candidate.step);
        self.culprit = Some(culprit);
        self.key = Some(pair.key.clone());
        self.reach = if severity >= Severity::Fail { Reach::Nothing } else { self.reach.max(Reach::Exact) };
    }

    /// The module whose backward makes a wrong gradient out of one that agrees.
    fn wrong_backward<'p>(&self, defect: &Defect, view: &StepView<'p>, pair: &'p MonitorRowPair) -> Option<&'p str> {
        let (module, output) = layer::of_input_gradient(pair, view.pairs)?;
        self.error(view, output, 0.0).is_some_and(|own| own.error <= defect.limit).then_some(module)
    }

    fn cause(&self, view: &StepView<'_>, pair: &MonitorRowPair) -> Cause {
        cause::row_cause(pair, view.pairs, view.is_start, self.setting.is_alone)
    }

    fn culprit_of(
        &self,
        defect: &Defect,
        cause: Cause,
        view: &StepView<'_>,
        pair: &MonitorRowPair,
        place: usize,
    ) -> Culprit {
        let statistic = Statistic::ALL.into_iter().find(|statistic| statistic.as_str() == defect.statistic);
        let value = |row: &MonitorRow| statistic.and_then(|statistic| row.statistics.get(statistic)).map(Number);
        let numbers = [
            ("error", Some(Number(defect.error))),
            ("limit", Some(Number(defect.limit))),
            ("wrong", defect.wrong.map(Number)),
            ("before", Some(Number(self.growth))),
            ("baseline", value(&pair.baseline)),
            ("candidate", value(&pair.candidate)),
        ];
        let name = pair.candidate.name.to_string();
        let mut culprit = Culprit {
            order: place as u64,
            step: pair.candidate.step,
            rank: self.setting.rank,
            op: name.clone(),
            tensor: name.clone(),
            code: defect.rule.code.to_owned(),
            metrics: numbers.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect(),
            monitor: Some(MonitorCulprit {
                name,
                stage: pair.key.stage,
                micro_step: pair.key.micro_step,
                update: view.update,
                statistic: defect.statistic.to_owned(),
                cause: cause.cause,
                factor: cause.factor,
            }),
            ..Culprit::new(defect.rule.check, CulpritKind::Monitor(pair.key.kind))
        };
        culprit.finding = own_finding(&culprit);
        culprit
    }

    pub(crate) fn finish(mut self) -> RankWalkResult {
        let (series, heatmap) = self.picture.finish();
        let evidence = self.account.finish();
        if let Some(culprit) = &mut self.culprit {
            culprit.spread = self.spread;
        }
        if let Some((name, step)) = self.first_blind {
            let finding = rules::with_rank(Finding::new(&rules::BASELINE_NON_FINITE, name), self.setting.rank);
            self.findings.push(finding.with("step", step).with("count", self.account.blind));
        }
        if let Some((name, step)) = self.account.first_broken {
            let finding = rules::with_rank(Finding::new(&rules::NON_FINITE_BOTH, name), self.setting.rank);
            self.findings.push(finding.with("step", step).with("count", self.account.broken));
        }
        if let Some(step) = self.horizon {
            let finding = rules::rank_finding(&rules::NOISE_HORIZON, self.setting.rank).with("step", step);
            self.findings.push(finding.with("limit", self.precision.horizon()));
        }
        RankWalkResult {
            findings: self.findings,
            culprit: self.culprit,
            key: self.key,
            used: self.used,
            evidence,
            noise_driven: self.noise_driven.len() as u64,
            horizon: self.horizon,
            precision: self.precision,
            worst: self.worst,
            worst_update: self.worst_update,
            series,
            heatmap,
        }
    }
}

/// Whether the layer of an output tells where the fault is: its inputs and parameters come before it.
fn shows_layer(cause: MonitorCause) -> bool {
    matches!(cause, MonitorCause::Forward | MonitorCause::NonFinite)
}

fn finding_of(defect: &Defect, cause: Cause, culprit: &Culprit, pair: &MonitorRowPair) -> Finding {
    let mut finding = Finding::new(defect.rule, &*pair.candidate.name)
        .with_severity(defect.severity)
        .with("unit", unit_place(culprit.step, culprit.rank))
        .with("step", culprit.step)
        .with("kind", pair.key.kind.as_str())
        .with("cause", cause.cause.as_str())
        .with("statistic", defect.statistic);
    finding = rules::with_rank(finding, culprit.rank);
    if let Some(factor) = cause.factor {
        finding = finding.with("factor", factor);
    }
    for (name, norm) in ["clip_baseline", "clip_candidate"].into_iter().zip(cause.clip_norms) {
        if let Some(norm) = norm {
            finding = finding.with(name, norm);
        }
    }
    for (name, count) in [("unreduced", cause.unreduced), ("own", cause.own)] {
        if count > 0 {
            finding = finding.with(name, count);
        }
    }
    let text = |row: &MonitorRow| match defect.statistic {
        "dtype" => row.dtype.clone(),
        "shape" => row.shape.clone(),
        _ => None,
    };
    for (side, row) in [("baseline", &pair.baseline), ("candidate", &pair.candidate)] {
        if let Some(text) = text(row) {
            finding = finding.with(side, &*text);
        }
    }
    let told = culprit.metrics.iter().filter(|(_, number)| number.0.is_finite());
    told.fold(finding, |finding, (name, number)| match finding.facts.contains_key(name) {
        true => finding,
        false => finding.with(name, number.0),
    })
}

/// Adds facts about all updates of the step to a finding.
fn with_updates(finding: Finding, updates: &JudgedUpdates, first: &str) -> Finding {
    /// Names that a finding lists.
    const SHOWN: usize = 5;
    let finding = finding.with("count", updates.count()).with("of", updates.measured.max(updates.count()));
    let finding = finding.with("names", updates.names(first, SHOWN));
    let Some((pattern, ratio)) = updates.pattern else { return finding };
    let finding = finding.with("pattern", pattern.as_str());
    let finding = match &updates.shown {
        Some(shown) if matches!(pattern, Pattern::Scaled | Pattern::Other) => finding
            .with("shown", shown.name.as_str())
            .with("moved_baseline", shown.moved.baseline)
            .with("moved_candidate", shown.moved.candidate),
        _ => finding,
    };
    match ratio {
        Some(share) if pattern == Pattern::Decay => finding.with("share", share),
        Some(ratio) => finding.with("ratio", ratio),
        None => finding,
    }
}

/// Whether a tensor is a sum of others, so that its noise scales with them.
fn is_summed(kind: MonitorKind) -> bool {
    kind.is_gradient() || kind.is_moment() || kind == MonitorKind::Comm
}

/// The size of a tensor and the largest one of its kind: by norm, else by magnitude.
fn sizes_of(statistics: &MonitorStatistics, largest: [f64; 4]) -> (f64, f64) {
    let most = |statistic: Statistic| largest.get(statistic as usize).copied().unwrap_or(0.0);
    match statistics.get(Statistic::Norm) {
        Some(norm) => (norm.abs(), most(Statistic::Norm)),
        None => (statistics.largest().unwrap_or(f64::INFINITY), most(Statistic::Max).max(most(Statistic::Min))),
    }
}

/// Name of the statistic that is finite on the baseline side only, or `nans` where the candidate has more NaN.
fn non_finite(pair: &MonitorRowPair) -> Option<&'static str> {
    let (baseline, candidate) = (&pair.baseline, &pair.candidate);
    let is_new = |statistic: &Statistic| {
        let finite = |row: &MonitorRow| row.statistics.get(*statistic).map(f64::is_finite);
        finite(baseline) == Some(true) && finite(candidate) == Some(false)
    };
    if let Some(statistic) = Statistic::ALL.into_iter().find(is_new) {
        return Some(statistic.as_str());
    }
    let more = candidate.nans.unwrap_or(0.0) > baseline.nans.filter(|nans| nans.is_finite()).unwrap_or(0.0);
    // A count of NaN that is itself NaN, beside finite statistics, counts as lost.
    let is_lost = baseline.nans.is_none_or(f64::is_finite) && candidate.nans.is_some_and(f64::is_nan);
    ((more || is_lost) && baseline.statistics.are_finite()).then_some("nans")
}

/// Whether a text differs between the sides; one that a side lacks does not count.
fn differ<'p>(
    pair: &'p MonitorRowPair,
    text: impl Fn(&'p MonitorRow) -> Option<&'p str>,
    same: impl Fn(&str, &str) -> bool,
) -> bool {
    let told = |row: &'p MonitorRow| text(row).filter(|text| *text != "nan");
    let both = told(&pair.baseline).zip(told(&pair.candidate));
    both.is_some_and(|(baseline, candidate)| baseline != candidate && !same(baseline, candidate))
}

/// The sizes in a shape, whatever separates them.
fn sizes(shape: &str) -> impl Iterator<Item = &str> {
    shape.split(|letter: char| !letter.is_ascii_digit()).filter(|size| !size.is_empty())
}

/// Whether a tensor holds integers.
fn is_integer(row: &MonitorRow) -> bool {
    match row.dtype.as_deref() {
        Some(name) => Dtype::parse(name).is_some_and(|dtype| dtype.unit_roundoff() <= 0.0),
        None => {
            let ends = [row.statistics.get(Statistic::Min), row.statistics.get(Statistic::Max)];
            ends.into_iter().all(|end| end.is_some_and(|end| end.is_finite() && end.fract().abs() <= 0.0))
        }
    }
}
