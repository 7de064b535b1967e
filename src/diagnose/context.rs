//! Evidence of a dump that causes can use: the culprit, its operation on both sides, and its surroundings.

use std::rc::Rc;

use super::before::StepBefore;
use super::trace::{Trace, TracedPlaces};
use super::value_pair::{ValuePair, operations_of, values_of};
use super::values::{DataPair, TensorCache};
use crate::compare::dump::OperationComparison;
use crate::judge::dump::unit::UnitInput;
use crate::judge::dump::update::takes_weights;
use crate::judge::rule::Rule;
use crate::kind::TensorKind;
use crate::pair::unit::UnitPair;
use crate::read::dump::name::{Direction, OpName};
use crate::read::dump::{LeafValue, Operation, Operations};
use crate::read::json::Json;
use crate::result::finding::Finding;
use crate::result::unit::{Culprit, DumpUnit};
use crate::verdict::Side;

/// A judged unit with its dumps.
#[derive(Clone, Copy)]
pub struct DumpContext<'a> {
    /// The unit's dumps and how they compare.
    pub input: &'a UnitInput<'a>,
    /// The unit as judged.
    pub unit: &'a DumpUnit,
    /// Findings of the unit after the policy; those that a waiver covers are left out.
    pub findings: &'a [Finding],
    /// Dump folders of both sides, which hold the data.
    pub folders: UnitPair<'a>,
    /// The same step on other ranks.
    pub peers: &'a [Peer],
    /// The previous step of the rank; `None` where this is the first dumped one.
    pub before: Option<StepBefore<'a>>,
    /// Cache of data that was read already.
    pub cache: &'a TensorCache,
    /// Places of values that were traced already.
    pub traced: &'a TracedPlaces,
}

/// Another rank's unit of the same step.
#[derive(Clone, Debug, Default)]
pub struct Peer {
    /// The rank.
    pub rank: Option<u64>,
    /// The culprit's operation there: the baseline's, the candidate's, and how they compare. None where that rank has no
    /// such pair.
    pub operation: Option<PeerOperation>,
}

/// An operation of another rank, copied out of its dumps.
#[derive(Clone, Debug)]
pub struct PeerOperation {
    /// The baseline's operation, alone.
    pub baseline: Operations,
    /// The candidate's operation, alone.
    pub candidate: Operations,
    /// Result of comparing the two operations.
    pub comparison: OperationComparison,
}

impl Peer {
    /// The values of its operation on both sides.
    pub(super) fn values(&self) -> Option<impl Iterator<Item = ValuePair<'_>>> {
        let operation = self.operation.as_ref()?;
        let (baseline, candidate) = (operation.baseline.get(0)?, operation.candidate.get(0)?);
        Some(values_of(&operation.comparison, baseline, candidate))
    }
}

/// The culprit with its operation.
#[derive(Clone)]
pub(super) struct Suspect<'a> {
    pub(super) culprit: &'a Culprit,
    /// Position of the operation in the comparison.
    pub(super) order: usize,
    pub(super) name: OpName<'a>,
    pub(super) baseline: Operation<'a>,
    pub(super) candidate: Operation<'a>,
    pub(super) comparison: &'a OperationComparison,
    /// The value that differs first.
    pub(super) value: ValuePair<'a>,
}

impl<'a> DumpContext<'a> {
    /// The unit's culprit, unless it is not an operation of both dumps.
    pub(super) fn suspect(&self) -> Option<Suspect<'a>> {
        let culprit = self.unit.culprit.as_ref()?;
        let order = usize::try_from(culprit.order).ok()?;
        let comparison = self.input.comparison.operations.get(order)?;
        let (baseline, candidate) = operations_of(self.input, comparison)?;
        let value = values_of(comparison, baseline, candidate).find(|both| both.candidate.row == *culprit.tensor)?;
        let name = OpName::parse(candidate.name);
        Some(Suspect { culprit, order, name, baseline, candidate, comparison, value })
    }

    /// The data of a value, where both sides saved it in one shape and it can be read.
    pub(super) fn data(&self, both: &ValuePair<'_>) -> Option<Rc<DataPair>> {
        self.cache.data(self.folders, both)
    }

    /// Appearances of the values of the baseline.
    pub(super) fn trace(&self) -> Trace<'a> {
        self.trace_of(Side::Baseline)
    }

    /// Appearances of the values of one side.
    pub(super) fn trace_of(&self, side: Side) -> Trace<'a> {
        Trace::of(self.input, side, self.traced)
    }

    /// Findings of the unit of this rule.
    pub(super) fn findings_of(&self, rule: &'static Rule) -> impl Iterator<Item = &'a Finding> {
        self.findings.iter().filter(move |finding| finding.is(rule))
    }
}

/// Number of elements of a shape; shapes are as recorded, and may be nonsense.
pub(super) fn element_count(shape: &[u64]) -> u64 {
    shape.iter().fold(1, |product: u64, len| product.saturating_mul(*len))
}

impl<'a> Suspect<'a> {
    /// The values of the operation on both sides.
    pub(super) fn values(&self) -> impl Iterator<Item = ValuePair<'a>> {
        values_of(self.comparison, self.baseline, self.candidate)
    }

    /// Input values of the operation: its arguments and, for a module, its parameters.
    pub(super) fn inputs(&self) -> impl Iterator<Item = ValuePair<'a>> {
        self.values().filter(|both| matches!(both.kind, TensorKind::Input | TensorKind::Parameter))
    }

    /// Whether the first value that differs is a result of the operation.
    pub(super) fn is_result(&self) -> bool {
        self.culprit.kind != TensorKind::Input && self.culprit.kind != TensorKind::Parameter
    }

    /// Whether it is a module, whose result other recorded calls may have made.
    pub(super) fn is_module(&self) -> bool {
        ["Module.", "Cell."].into_iter().any(|prefix| self.candidate.name.starts_with(prefix))
    }

    /// Whether the operation ran in the backward pass.
    pub(super) fn is_backward(&self) -> bool {
        matches!(self.name.direction, Some(Direction::Backward | Direction::ParametersGradient))
            || self.name.base.ends_with("_grad")
    }

    /// The API name of the call: `linear` for `Functional.linear`, the class `Linear` for a module.
    pub(super) fn api(&self) -> &str {
        self.name.function()
    }

    /// Whether the culprit's finding is of one of `rules`.
    pub(super) fn has_finding_of(&self, rules: &[&Rule]) -> bool {
        self.culprit.is_any(rules)
    }

    /// Error of the culprit relative to scale; infinite where the difference has no size.
    pub(super) fn error(&self) -> f64 {
        self.value.measured().map_or(0.0, |measured| measured.error)
    }

    /// Largest relative error of one rounding to the culprit's type; `None` where that is unknown.
    pub(super) fn unit_roundoff(&self) -> Option<f64> {
        let (record, _) = self.value.records()?;
        Some(record.element?.unit_roundoff())
    }

    /// The error of what the culprit's operation received.
    pub(super) fn received(&self) -> f64 {
        self.culprit.metrics.get("received").map_or(0.0, |number| number.0)
    }

    /// The limit up to which the culprit's error would have been acceptable.
    pub(super) fn limit(&self) -> f64 {
        self.culprit.metrics.get("limit").map_or(0.0, |number| number.0)
    }

    /// A plain argument of the call on the candidate side, by keyword or position.
    pub(super) fn argument(&self, keyword: &str, position: Option<usize>) -> Option<&'a Json> {
        let rows = [
            Some(format!("{}.input.{keyword}", self.candidate.name)),
            position.map(|position| format!("{}.input.{position}", self.candidate.name)),
        ];
        let plain = |row: &String| {
            self.candidate.leaves.iter().find_map(|leaf| match leaf.value {
                LeafValue::Plain { value, .. } if leaf.row == **row => Some(value),
                _ => None,
            })
        };
        rows.iter().flatten().find_map(plain)
    }

    /// The numbers among the call's plain arguments, with the keyword or position they stand at.
    pub(super) fn numbers(&self) -> impl Iterator<Item = (&'a str, f64)> {
        self.candidate.leaves.iter().filter_map(|leaf| match leaf.value {
            LeafValue::Plain { value, .. } if leaf.kind == TensorKind::Input => {
                let place = leaf.row.below_operation().trim_start_matches(".input.");
                Some((place, value.as_f64()?))
            }
            _ => None,
        })
    }
}

/// Whether the suspect is a weight.
pub(super) fn is_weight(suspect: &Suspect<'_>) -> bool {
    is_weight_of(&suspect.value, suspect.api())
}

/// Whether a value is a module's parameter, or a trained argument at the place of a weight: after the first of a call that has
/// weights, or a vector, which no activation of a batch is.
pub(super) fn is_weight_of(value: &ValuePair<'_>, api: &str) -> bool {
    let Some(record) = value.candidate.record() else { return false };
    let trained = record.requires_grad == Some(true);
    let row = value.candidate.row.to_string();
    let is_first = row.ends_with(".input.0") || row.ends_with("_input.0") || row.ends_with("_input");
    let has_weights = takes_weights(api) || matches!(api, "mm" | "matmul" | "baddbmm");
    let is_vector = record.shape.iter().filter(|len| **len > 1).count() == 1 && record.shape.len() == 1;
    value.kind == TensorKind::Parameter || trained && (has_weights && !is_first || is_vector)
}
