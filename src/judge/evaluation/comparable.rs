//! Findings about everything that cannot be compared: one-sided models, tasks and samples, other questions, damage.

use std::collections::BTreeMap;

use super::rules;
use crate::judge::rule::Rule;
use crate::pair::evaluation::{PairedMetric, PairedModel, PairedTask, SettingDifference};
use crate::policy::evaluation::EvaluationPolicy;
use crate::read::evaluation::{EvaluationDamage, EvaluationRun, EvaluationSample, EvaluationTask};
use crate::result::finding::Finding;
use crate::verdict::{Severity, Side};

/// Most settings that a finding lists.
const SHOWN: usize = 8;

/// Findings about a model that only `side` has.
pub(super) fn missing_model_findings(side: Side, run: &EvaluationRun) -> Vec<Finding> {
    let lacking = other_side(side).as_str();
    let mut findings = vec![Finding::new(&rules::MODEL_MISSING, &run.model).with("side", lacking)];
    findings.extend(damages(&run.damages, side, None));
    findings
}

/// Findings about a model of both sides, beside its tasks.
pub(super) fn model_findings(model: &PairedModel<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (side, run) in [(Side::Baseline, model.baseline), (Side::Candidate, model.candidate)] {
        if !run.older.is_empty() {
            let finding = Finding::new(&rules::OLDER_RUN_IGNORED, &model.name).with("side", side.as_str());
            findings.push(finding.with("count", run.older.len()).with("path", run.path.as_str()));
        }
        findings.extend(damages(&run.damages, side, None));
    }
    let (of_model, of_arguments): (Vec<&SettingDifference>, Vec<&SettingDifference>) =
        model.settings.iter().partition(|setting| is_model(&setting.name));
    for (rule, settings) in [(&rules::MODEL_DIFFERS, of_model), (&rules::MODEL_ARGS_DIFFER, of_arguments)] {
        if settings.is_empty() {
            continue;
        }
        let names: Vec<String> = settings.iter().take(SHOWN).map(|setting| written(setting)).collect();
        findings.push(Finding::new(rule, &model.name).with("names", names).with("count", settings.len()));
    }
    findings
}

/// Whether a setting identifies the model, rather than how it is run.
fn is_model(name: &str) -> bool {
    matches!(name, "model" | "model_dtype" | "model_num_parameters")
}

fn written(setting: &SettingDifference) -> String {
    let side = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
    format!("{}: {} / {}", setting.name, side(&setting.baseline), side(&setting.candidate))
}

pub(super) fn other_side(side: Side) -> Side {
    match side {
        Side::Baseline => Side::Candidate,
        Side::Candidate => Side::Baseline,
    }
}

/// The finding about a task that `side` lacks.
pub(super) fn missing_task_finding(side: Side, task: &str) -> Finding {
    Finding::new(&rules::TASK_MISSING, task).with("side", side.as_str()).with("task", task)
}

/// Findings about a task of both sides.
pub(super) fn task_findings(
    task: &PairedTask,
    sides: [Option<&EvaluationTask>; 2],
    policy: &EvaluationPolicy,
) -> Vec<Finding> {
    let about = About { task, sides: [(Side::Baseline, sides[0]), (Side::Candidate, sides[1])] };
    let mut findings: Vec<Finding> = task.unequal.iter().map(|difference| about.unequal(difference)).collect();
    findings.extend(about.limits());
    findings.extend(about.questions());
    findings.extend(about.unpaired());
    findings.extend(about.duplicates());
    for (side, of_side) in about.sides {
        findings.extend(of_side.map(|of_side| damages(&of_side.damages, side, Some(&task.name))).unwrap_or_default());
    }
    findings.extend(about.errors());
    findings.extend(about.samples_missing(policy.accept_scores));
    let missing = task.metrics_missing.iter().map(|(side, metric)| {
        Finding::new(&rules::METRIC_MISSING, format!("{} {metric}", task.name))
            .with("side", side.as_str())
            .with("task", task.name.as_str())
            .with("metric", metric.as_str())
    });
    findings.extend(missing);
    findings
}

/// A task with its results on both sides.
struct About<'a> {
    task: &'a PairedTask,
    sides: [(Side, Option<&'a EvaluationTask>); 2],
}

impl About<'_> {
    fn finding(&self, rule: &Rule) -> Finding {
        Finding::new(rule, &self.task.name).with("task", self.task.name.as_str())
    }

    fn unequal(&self, difference: &SettingDifference) -> Finding {
        let rule = match difference.name.as_str() {
            "version" => &rules::VERSION_DIFFERS,
            "shots" => &rules::SHOTS_DIFFER,
            _ => &rules::GENERATION_SETTINGS_DIFFER,
        };
        let side = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
        let finding = self.finding(rule).with("baseline", side(&difference.baseline));
        finding.with("candidate", side(&difference.candidate))
    }

    fn limits(&self) -> Option<Finding> {
        let (baseline, candidate) = self.task.limits?;
        let shared = self.task.metrics.iter().map(|metric| metric.pairs.len()).max().unwrap_or(0);
        let finding = self.finding(&rules::LIMIT_DIFFERS).with("baseline", baseline).with("candidate", candidate);
        Some(finding.with("shared", shared))
    }

    /// The largest count of any metric, with its number of samples. Metrics of one filter leave out the same samples.
    fn most(&self, of: impl Fn(&PairedMetric) -> u64) -> (u64, u64) {
        let counts = self.task.metrics.iter().map(|metric| (of(metric), metric.samples));
        counts.max().unwrap_or_default()
    }

    fn questions(&self) -> Vec<Finding> {
        let documents = (&rules::DOCS_DIFFER, self.most(|metric| metric.left_out.documents));
        let prompts = (&rules::PROMPTS_DIFFER, self.most(|metric| metric.left_out.prompts));
        let some = [documents, prompts].into_iter().filter(|(_, (count, _))| *count > 0);
        some.map(|(rule, (count, total))| self.finding(rule).with("count", count).with("total", total)).collect()
    }

    /// Reports one-sided samples that no damage explains. Pairing has removed those that a limit explains.
    fn unpaired(&self) -> Option<Finding> {
        if self.sides.iter().any(|(_, side)| side.is_some_and(|side| !side.damages.is_empty())) {
            return None;
        }
        let (baseline, total) = self.most(|metric| metric.left_out.only_baseline);
        let (candidate, of_other) = self.most(|metric| metric.left_out.only_candidate);
        (baseline + candidate > 0).then(|| {
            self.finding(&rules::SAMPLES_UNPAIRED)
                .with("baseline_only", baseline)
                .with("candidate_only", candidate)
                .with("total", total.max(of_other))
        })
    }

    fn duplicates(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let by_filter: BTreeMap<&Option<String>, &PairedMetric> =
            self.task.metrics.iter().map(|metric| (&metric.filter, metric)).collect();
        for (filter, metric) in by_filter {
            let (twice, contradictory) = (metric.left_out.twice, metric.left_out.contradictory);
            if twice + contradictory == 0 {
                continue;
            }
            let severity = if contradictory > 0 { Severity::Incomplete } else { rules::DUPLICATE_SAMPLES.severity };
            let mut finding = self.finding(&rules::DUPLICATE_SAMPLES).with_severity(severity);
            if let Some(filter) = filter {
                finding = finding.with("filter", filter.as_str());
            }
            let side = self.which(|task| {
                task.samples
                    .as_ref()
                    .is_some_and(|samples| samples.by_filter.get(filter).is_some_and(|samples| repeats(samples)))
            });
            findings.push(
                finding.with("count", twice + contradictory).with("side", side).with("contradictory", contradictory),
            );
        }
        findings
    }

    /// Name of the only side for which `holds` is true, else `both`.
    fn which(&self, holds: impl Fn(&EvaluationTask) -> bool) -> &'static str {
        let [baseline, candidate] = self.sides.map(|(_, side)| side.is_some_and(&holds));
        match (baseline, candidate) {
            (true, false) => Side::Baseline.as_str(),
            (false, true) => Side::Candidate.as_str(),
            _ => "both",
        }
    }

    fn errors(&self) -> Vec<Finding> {
        let (left_out, total) = self.most(failed_samples);
        let mut findings = Vec::new();
        for (side, task) in self.sides {
            let Some(task) = task else { continue };
            let count = failed(task) + task.errors;
            if count > 0 {
                let finding = self.finding(&rules::METRIC_ERROR).with("count", count).with("side", side.as_str());
                findings.push(finding.with("total", total.max(count)));
            }
        }
        if findings.is_empty() && left_out > 0 {
            let finding = self.finding(&rules::METRIC_ERROR).with("count", left_out).with("total", total);
            findings.push(finding.with("side", "both"));
        }
        findings
    }

    fn samples_missing(&self, accept: bool) -> Option<Finding> {
        let has = |task: &EvaluationTask, metric: &PairedMetric| task.has_values(&metric.filter, &metric.metric);
        let is_answered =
            |metric: &PairedMetric| self.sides.iter().any(|(_, side)| side.is_some_and(|task| has(task, metric)));
        let lacks = |task: &EvaluationTask| {
            let mut answered = self.task.metrics.iter().filter(|metric| is_answered(metric));
            task.damages.is_empty() && (task.samples.is_none() || answered.any(|metric| !has(task, metric)))
        };
        // A metric can have a score although its samples hold no values of it.
        let is_whole = self.sides.iter().all(|(_, side)| side.is_none_or(|side| side.damages.is_empty()));
        let is_some = self.sides.iter().any(|(_, side)| side.is_some_and(lacks))
            || is_whole && self.task.metrics.iter().any(|metric| !metric.has_samples);
        let is_tested = self.task.unequal.is_empty() && !self.task.metrics.is_empty();
        let severity = if accept { Severity::Info } else { rules::SAMPLES_MISSING.severity };
        (is_some && is_tested)
            .then(|| self.finding(&rules::SAMPLES_MISSING).with_severity(severity).with("side", self.which(lacks)))
    }
}

/// Number of samples whose values the harness could not compute; 0 where it stores no values of the metric.
pub(super) fn failed_samples(metric: &PairedMetric) -> u64 {
    if metric.has_samples { metric.left_out.failed } else { 0 }
}

/// Whether an id is repeated in samples that are sorted by id.
fn repeats(samples: &[EvaluationSample]) -> bool {
    samples.iter().zip(samples.iter().skip(1)).any(|(one, next)| one.id == next.id)
}

/// Number of failed samples of a task, under the filter that has most.
fn failed(task: &EvaluationTask) -> u64 {
    let filters = task.samples.iter().flat_map(|samples| samples.by_filter.values());
    let count = |samples: &Vec<EvaluationSample>| samples.iter().filter(|sample| sample.is_failed).count() as u64;
    filters.map(count).max().unwrap_or(0)
}

/// One finding per damaged file, with its first line that cannot be read.
fn damages(damages: &[EvaluationDamage], side: Side, task: Option<&str>) -> Vec<Finding> {
    let mut by_path: BTreeMap<&str, (&EvaluationDamage, usize)> = BTreeMap::new();
    for damage in damages {
        by_path.entry(&damage.path).or_insert((damage, 0)).1 += 1;
    }
    let finding = |(path, (damage, count)): (&str, (&EvaluationDamage, usize))| {
        let mut finding = Finding::new(&rules::DAMAGED, path)
            .with("path", path)
            .with("side", side.as_str())
            .with("reason", damage.reason.as_str());
        if let Some(line) = damage.line {
            finding = finding.with("line", line).with("count", count);
        }
        match task {
            Some(task) => finding.with("task", task),
            None => finding,
        }
    };
    by_path.into_iter().map(finding).collect()
}
