//! Evidence of training curves that causes can use: the loss of a run and its gradient norm.

use crate::judge::loss::mode::Weights;
use crate::judge::loss::rl;
use crate::judge::rule::Rule;
use crate::result::finding::Finding;
use crate::result::unit::{self, Check, CurveUnit};
use crate::verdict::{CheckId, Severity};

/// Relative difference of the first losses up to which both runs saw the same weights and data: rounding of one forward
/// pass.
pub(super) const EQUAL: f64 = 1e-5;

/// A run's curves, with the findings of the loss check.
pub(super) struct RunCurves<'a> {
    /// The loss.
    pub(super) loss: &'a CurveUnit,
    /// The gradient norm of the same run, where it was logged.
    pub(super) gradients: Option<&'a CurveUnit>,
    findings: Vec<&'a Finding>,
}

impl<'a> RunCurves<'a> {
    /// The first run's loss with its gradient norm; `None` where no loss was judged.
    pub(super) fn from_checks(checks: &'a [Check], findings: &'a [Finding]) -> Option<Self> {
        let curves = unit::curves(checks);
        let loss = curves.clone().find(|unit| unit.metric == "loss" && unit.mode != rl::MODE)?;
        let gradients = curves.clone().find(|unit| unit.metric == "grad_norm" && unit.run == loss.run);
        let told = |finding: &&Finding| finding.check == CheckId::Loss && finding.severity >= Severity::Warn;
        Some(Self { loss, gradients, findings: findings.iter().filter(told).collect() })
    }

    /// The first finding of one of `rules`.
    pub(super) fn finding(&self, rules: &[&Rule]) -> Option<&'a Finding> {
        self.findings.iter().copied().find(|finding| finding.is_any(rules))
    }

    /// Whether the curves are of two runs.
    pub(super) fn is_pair(&self) -> bool {
        self.loss.series.baseline.iter().flatten().next().is_some()
    }

    /// Whether both runs start from the same weights and data, as the first losses show.
    pub(super) fn starts_equal(&self) -> bool {
        let is_same = self.loss.mode == Weights::Same.as_str();
        is_same && relative_differences(self.loss).next().is_some_and(|(_, difference)| difference <= EQUAL)
    }
}

/// Step and relative difference of every step that is finite on both sides; 0 where both are equal.
pub(super) fn relative_differences(unit: &CurveUnit) -> impl Iterator<Item = (u64, f64)> + Clone {
    let series = &unit.series;
    let pairs = series.baseline.iter().zip(&series.candidate);
    series.step.iter().zip(pairs).filter_map(|(step, (baseline, candidate))| {
        let (baseline, candidate) = (baseline.as_ref()?.0, candidate.as_ref()?.0);
        let difference = (candidate - baseline).abs();
        let relative = if difference > 0.0 { difference / baseline.abs() } else { difference };
        relative.is_finite().then_some((*step, relative))
    })
}
