//! Judges one output of an operator: its status, and the reason.

use super::errors::RowErrors;
use super::limits::{OperatorLimits, limits};
use super::mask::is_mask;
use crate::compare::operators::{
    ErrorRatio, OperatorLevel, OutputMeasure, PerRatio, RatioKind, is_empty, is_unjudged, measure,
};
use crate::kind::Direction;
use crate::pair::operators::OutputPair;
use crate::policy::operators::OperatorsPolicy;
use crate::read::operators::{OperatorOutput, OperatorStatus};
use crate::verdict::Side;

/// Reason of a status.
#[derive(Clone, Debug, PartialEq)]
pub enum RowReason {
    /// A ratio of errors is above its limit.
    Ratio {
        /// The ratio.
        kind: RatioKind,
        /// Its value.
        value: f64,
        /// Its limit.
        limit: f64,
    },
    /// NaN or infinite on the candidate only, or infinite against NaN.
    NonFinite,
    /// NaN or infinite on the baseline only.
    BaselineNonFinite,
    /// The element types differ: baseline and candidate.
    Dtype(String, String),
    /// Share of unequal elements, for outputs that are not floating point.
    Elements(f64),
    /// The status that the tool wrote.
    Tool,
    /// The status that the tool wrote, for an output that may hold a mask.
    Mask,
}

impl RowReason {
    /// The name of the rule, as results have it.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Ratio { kind, .. } => kind.as_str(),
            Self::NonFinite => "non-finite",
            Self::BaselineNonFinite => "baseline-non-finite",
            Self::Dtype(..) => "dtype",
            Self::Elements(_) => "elements",
            Self::Tool => "status",
            Self::Mask => "mask",
        }
    }
}

/// State of a row in the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowEvidence {
    /// Its numbers were judged; in a run without a baseline, the tool's status.
    Compared,
    /// Compared, but every number is zero on both sides, so that agreement says nothing.
    Trivial,
    /// A side checked it, but its numbers could not be compared with the other side's.
    NotCompared,
    /// Nothing to compare: the tool skipped it, does not judge its type, or reports it in another row.
    Nothing,
}

/// One row, judged.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedRow {
    /// The row's name.
    pub name: String,
    /// The operator.
    pub api: String,
    /// Direction; `None` where the row is about the operator.
    pub direction: Option<Direction>,
    /// Number of the output.
    pub output: Option<u64>,
    /// Element type on the candidate; empty where nothing was computed.
    pub dtype: String,
    /// Level; `None` where no ratio was judged.
    pub level: Option<OperatorLevel>,
    /// Ratios of errors; `None` where none could be computed.
    pub ratios: Option<PerRatio<ErrorRatio>>,
    /// The largest ratio over its limit, except that of the largest relative error.
    pub worst: Option<f64>,
    /// Status in the baseline's table; `None` where the candidate was judged alone.
    pub baseline: Option<OperatorStatus>,
    /// Status in the candidate's table.
    pub candidate: OperatorStatus,
    /// Status that msprobe's comparison gives; `None` where there is none.
    pub msprobe: Option<OperatorStatus>,
    /// The gate's status.
    pub status: OperatorStatus,
    /// Its reason; `None` for a pass and a skip.
    pub reason: Option<RowReason>,
    /// The side that skipped what the other one checked.
    pub skipped_on: Option<Side>,
    /// Index of the policy's limits that decided.
    pub rule: Option<usize>,
    /// Its state in the account.
    pub evidence: RowEvidence,
    /// Its errors on both sides; `None` where one side was judged alone.
    pub errors: Option<Box<RowErrors>>,
    /// Cosine similarity with the CPU, where it shows that the candidate computes something else; `None` otherwise.
    pub other_result: Option<f64>,
}

impl JudgedRow {
    fn of(output: &OperatorOutput) -> Self {
        Self {
            name: output.name.clone(),
            api: output.api().to_owned(),
            direction: Some(output.direction),
            output: output.output,
            dtype: output.dtype.clone(),
            level: None,
            ratios: None,
            worst: None,
            baseline: None,
            candidate: output.status,
            msprobe: None,
            status: OperatorStatus::Skip,
            reason: None,
            skipped_on: None,
            rule: None,
            evidence: RowEvidence::Nothing,
            errors: None,
            other_result: None,
        }
    }

    /// Its operation, under the name that a dump would give it.
    pub(super) fn operation(&self) -> String {
        self.direction.map_or_else(|| self.api.clone(), |direction| format!("{}.{direction}", self.api))
    }

    fn with(self, status: OperatorStatus, reason: RowReason) -> Self {
        Self { status, reason: Some(reason), ..self }
    }
}

/// Judges an output of both sides; `msprobe` is the status of msprobe's comparison.
pub fn judge(pair: &OutputPair<'_>, msprobe: OperatorStatus, policy: &OperatorsPolicy) -> JudgedRow {
    let row = judge_numbers(pair, msprobe, policy);
    let errors = row.reason.is_some().then(|| Box::new(RowErrors::of(pair)));
    JudgedRow { evidence: evidence(pair, &row), other_result: other_result(pair), errors, ..row }
}

/// The cosine similarity of the candidate's output where it is lower than any precision makes it, and the baseline's is not.
fn other_result(pair: &OutputPair<'_>) -> Option<f64> {
    /// Similarity that rounding leaves in every type that is trained in, and one that it does not reach.
    const ROUNDING: f64 = 0.999;
    const NO_ROUNDING: f64 = 0.99;
    let (baseline, candidate) = (pair.baseline.cosine?, pair.candidate.cosine?);
    (baseline >= ROUNDING && candidate < NO_ROUNDING).then_some(candidate)
}

/// State of an output of both sides in the account. The tool's status does not replace numbers.
fn evidence(pair: &OutputPair<'_>, row: &JudgedRow) -> RowEvidence {
    let (baseline, candidate) = (pair.baseline, pair.candidate);
    let by_numbers =
        row.status != OperatorStatus::Skip && row.reason != Some(RowReason::Tool) && row.skipped_on.is_none();
    let is_unjudged = |output: &OperatorOutput| {
        output.status == OperatorStatus::Skip && !has_numbers(output) || is_of_no_type(output)
    };
    if by_numbers && is_zero(baseline) && is_zero(candidate) {
        RowEvidence::Trivial
    } else if by_numbers {
        RowEvidence::Compared
    } else if is_unjudged(baseline) && is_unjudged(candidate) {
        RowEvidence::Nothing
    } else {
        RowEvidence::NotCompared
    }
}

/// Whether an output is of a type that the tool does not judge.
fn is_of_no_type(output: &OperatorOutput) -> bool {
    is_unjudged(output) && !output.dtype.is_empty() && !is_empty(&output.shape)
}

/// Whether every recorded number is zero, including the cosine similarity.
fn is_zero(output: &OperatorOutput) -> bool {
    let numbers = [output.cosine, output.max_abs, output.rmse, output.small, output.max_rel, output.mean_rel];
    output.cosine.is_some() && numbers.into_iter().flatten().all(|number| number.abs() <= 0.0)
}

fn judge_numbers(pair: &OutputPair<'_>, msprobe: OperatorStatus, policy: &OperatorsPolicy) -> JudgedRow {
    let (baseline, candidate) = (pair.baseline, pair.candidate);
    let row = JudgedRow { baseline: Some(baseline.status), msprobe: Some(msprobe), ..JudgedRow::of(candidate) };
    let row = match measure(pair) {
        OutputMeasure::Nothing => row,
        OutputMeasure::NonFinite => return row.with(OperatorStatus::Error, RowReason::NonFinite),
        OutputMeasure::BaselineNonFinite => return row.with(OperatorStatus::Warning, RowReason::BaselineNonFinite),
        OutputMeasure::Dtype => {
            return row.with(OperatorStatus::Error, RowReason::Dtype(baseline.dtype.clone(), candidate.dtype.clone()));
        }
        OutputMeasure::Binary(None) => row,
        // A share of NaN may hide any number of unequal elements.
        OutputMeasure::Binary(Some(share)) if share > 0.0 || share.is_nan() => {
            return row.with(OperatorStatus::Error, RowReason::Elements(share));
        }
        OutputMeasure::Binary(Some(_)) => return JudgedRow { status: OperatorStatus::Pass, ..row },
        OutputMeasure::Ratios(ratios) => {
            let limits = limits(candidate.api(), candidate.direction, policy);
            let row = JudgedRow { ratios: Some(ratios), level: Some(limits.level), rule: limits.rule, ..row };
            let row = by_ratios(row, &ratios, &limits);
            JudgedRow { skipped_on: lacks_an_error(pair), ..row }
        }
    };
    if row.status == OperatorStatus::Skip { skipped(row, pair) } else { row }
}

fn by_ratios(row: JudgedRow, ratios: &PerRatio<ErrorRatio>, limits: &OperatorLimits) -> JudgedRow {
    let all = RatioKind::ALL.map(|kind| (kind, ratios.get(kind), limits.ratios.get(kind)));
    if all.iter().all(|(_, ratio, _)| matches!(ratio, ErrorRatio::Unknown)) {
        return row;
    }
    if all.iter().any(|(_, ratio, _)| *ratio == ErrorRatio::NonFinite) {
        return row.with(OperatorStatus::Error, RowReason::NonFinite);
    }
    if all.iter().any(|(_, ratio, _)| *ratio == ErrorRatio::BaselineNonFinite) {
        return row.with(OperatorStatus::Warning, RowReason::BaselineNonFinite);
    }
    let over = |(kind, ratio, limit): &(RatioKind, ErrorRatio, f64)| {
        let value = ratio.value()?;
        // A limit of 0 allows no error at all.
        let excess = if *limit > 0.0 {
            value / limit
        } else if value > 0.0 {
            f64::INFINITY
        } else {
            0.0
        };
        Some((excess, RowReason::Ratio { kind: *kind, value, limit: *limit }))
    };
    let measured = all.iter().filter(|(kind, ..)| *kind != RatioKind::MaxRel).filter_map(over);
    let worst = measured.max_by(|(one, _), (other, _)| one.total_cmp(other));
    let row = JudgedRow { worst: worst.as_ref().map(|(excess, _)| *excess), ..row };
    let largest = all.iter().filter(|(kind, ..)| *kind == RatioKind::MaxRel).find_map(over);
    match (worst, largest) {
        (Some((excess, reason)), _) if excess > 1.0 => row.with(OperatorStatus::Error, reason),
        (_, Some((excess, reason))) if excess > 1.0 => row.with(OperatorStatus::Warning, reason),
        // Errors that are NaN on both sides say nothing.
        (None, None) => row,
        _ => JudgedRow { status: OperatorStatus::Pass, ..row },
    }
}

/// Judges an output whose numbers were not compared. The tool's status counts where the candidate's is worse, and an output that only one
/// side checked is marked.
fn skipped(row: JudgedRow, pair: &OutputPair<'_>) -> JudgedRow {
    let (baseline, candidate) = (pair.baseline, pair.candidate);
    if candidate.status > baseline.status && candidate.status >= OperatorStatus::Warning {
        return row.with(OperatorStatus::Warning, RowReason::Tool);
    }
    let is_checked = |output: &OperatorOutput| has_numbers(output) && !is_unjudged(output);
    let skipped_on = match (is_checked(baseline), is_checked(candidate)) {
        (true, false) => Some(Side::Candidate),
        (false, true) => Some(Side::Baseline),
        _ => None,
    };
    JudgedRow { skipped_on, ..row }
}

/// The side that lacks an error measure which the other side computed.
fn lacks_an_error(pair: &OutputPair<'_>) -> Option<Side> {
    let errors = |output: &OperatorOutput| [output.rmse, output.mean_rel, output.small, output.max_rel];
    let lacks = |one: &OperatorOutput, other: &OperatorOutput| {
        errors(one).iter().zip(errors(other)).any(|(one, other)| one.is_none() && other.is_some())
    };
    if lacks(pair.candidate, pair.baseline) {
        Some(Side::Candidate)
    } else if lacks(pair.baseline, pair.candidate) {
        Some(Side::Baseline)
    } else {
        None
    }
}

fn has_numbers(output: &OperatorOutput) -> bool {
    let numbers = [output.cosine, output.max_abs, output.binary, output.rmse, output.small, output.max_rel];
    numbers.into_iter().chain([output.mean_rel]).any(|number| number.is_some())
}

/// Judges an output of the candidate without a baseline, by the tool's status.
pub(crate) fn judge_alone(output: &OperatorOutput) -> JudgedRow {
    let evidence = match output.status {
        OperatorStatus::Skip => RowEvidence::Nothing,
        _ if has_numbers(output) => RowEvidence::Compared,
        _ => RowEvidence::NotCompared,
    };
    let row = JudgedRow { evidence, ..JudgedRow::of(output) };
    match output.status {
        OperatorStatus::Error if is_mask(output) => row.with(OperatorStatus::Warning, RowReason::Mask),
        status @ (OperatorStatus::Error | OperatorStatus::Warning) => row.with(status, RowReason::Tool),
        status => JudgedRow { status, ..row },
    }
}
