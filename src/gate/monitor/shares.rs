//! Rows that only one side has: by steps, kinds and names, and as a share of the baseline.

use std::collections::{BTreeMap, BTreeSet};

use crate::judge::monitor::rules;
use crate::judge::rule::Rule;
use crate::kind::MonitorKind;
use crate::read::monitor::{MonitorKey, MonitorTables};
use crate::result::finding::Finding;
use crate::verdict::Severity;

/// Share of the baseline's rows that may be missing without more than a warning.
const MOST: f64 = 0.05;
/// Names that a finding lists.
const SHOWN: usize = 5;

/// Rows of one side only.
#[derive(Debug, Default)]
pub(super) struct UnpairedRows {
    /// Rows of the baseline at steps that the candidate lacks.
    pub(super) steps: u64,
    /// Other rows of the baseline.
    pub(super) names: u64,
    /// Rows of the candidate.
    pub(super) candidate: u64,
    /// Names of some of them.
    pub(super) shown: BTreeSet<String>,
}

impl UnpairedRows {
    /// Notes rows of one step; those of `excused` kinds are explained already.
    pub(super) fn add(&mut self, baseline: &[MonitorKey], candidate: &[MonitorKey], excused: &BTreeSet<MonitorKind>) {
        let counts = |key: &&MonitorKey| !excused.contains(&key.kind);
        self.names += baseline.iter().filter(counts).count() as u64;
        self.candidate += candidate.iter().filter(counts).count() as u64;
        for key in baseline.iter().chain(candidate).filter(counts) {
            if self.shown.len() < SHOWN {
                self.shown.insert(format!("{} {}", key.kind.as_str(), key.name));
            }
        }
    }

    /// Findings about them, of `total` rows of the baseline.
    pub(super) fn findings(&self, rank: Option<u64>, total: u64, steps: &StepsBySide) -> Vec<Finding> {
        let finding = |rule: &'static Rule, rows: u64| {
            let severity = missing_rows_severity(rule, rows, total);
            rules::rank_finding(rule, rank).with_severity(severity).with("rows", rows).with("total", total)
        };
        let mut findings = Vec::new();
        if !steps.baseline.is_empty() || !steps.candidate.is_empty() {
            let first = steps.baseline.first().or(steps.candidate.first()).copied().unwrap_or_default();
            let finding = finding(&rules::STEPS_MISSING, self.steps);
            findings.push(
                finding
                    .with("baseline_only", steps.baseline.len())
                    .with("candidate_only", steps.candidate.len())
                    .with("first", u64::try_from(first).unwrap_or(0)),
            );
        }
        if self.names + self.candidate > 0 {
            let names: Vec<String> = self.shown.iter().cloned().collect();
            findings.push(
                finding(&rules::NAMES_MISSING, self.names)
                    .with("candidate_rows", self.candidate)
                    .with("names", names)
                    .with("is_other", 0_u64),
            );
        }
        findings
    }
}

/// Severity of a finding about `rows` of `total` that are missing: a warning up to the share that may be.
#[allow(clippy::cast_precision_loss, reason = "a share needs no exact count")]
pub(in crate::gate) fn missing_rows_severity(rule: &Rule, rows: u64, total: u64) -> Severity {
    if rows as f64 > MOST * total as f64 { rule.severity } else { Severity::Warn }
}

/// Steps of one side only.
#[derive(Debug, Default)]
pub(super) struct StepsBySide {
    /// Of the baseline.
    pub(super) baseline: Vec<i64>,
    /// Of the candidate.
    pub(super) candidate: Vec<i64>,
    /// Of both.
    pub(super) both: Vec<i64>,
}

impl StepsBySide {
    pub(super) fn from_steps(baseline: &BTreeMap<i64, u64>, candidate: &BTreeMap<i64, u64>) -> Self {
        let lacks = |steps: &BTreeMap<i64, u64>, other: &BTreeMap<i64, u64>| {
            steps.keys().filter(|step| !other.contains_key(*step)).copied().collect()
        };
        Self {
            baseline: lacks(baseline, candidate),
            candidate: lacks(candidate, baseline),
            both: baseline.keys().filter(|step| candidate.contains_key(*step)).copied().collect(),
        }
    }
}

/// Finding that the two models differ: they share fewer than half of the baseline's tensors.
pub(super) fn other_model(sides: (&MonitorTables, &MonitorTables), kinds: &BTreeSet<MonitorKind>) -> Option<Finding> {
    let (baseline, candidate) = sides;
    let (baseline_names, candidate_names) = (baseline.names(), candidate.names());
    let judged = baseline_names.iter().filter(|(kind, _)| kinds.contains(kind));
    let (total, common) = judged.fold((0_usize, 0_usize), |(total, common), name| {
        (total + 1, common + usize::from(candidate_names.contains(name)))
    });
    if total == 0 || 2 * common >= total {
        return None;
    }
    let lacking = baseline_names.iter().filter(|name| !candidate_names.contains(*name)).take(SHOWN);
    let names: Vec<String> = lacking.map(|(kind, name)| format!("{} {name}", kind.as_str())).collect();
    Some(
        rules::rank_finding(&rules::NAMES_MISSING, baseline.rank())
            .with("rows", total - common)
            .with("total", total)
            .with("candidate_rows", 0_u64)
            .with("names", names)
            .with("is_other", 1_u64),
    )
}
