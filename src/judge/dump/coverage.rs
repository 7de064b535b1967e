//! Accounting for evidence: every value of either side ends in exactly one state, and gaps become findings.

use super::flow::OperationFlow;
use super::input::UnitInput;
use super::item::is_input;
use super::rules;
use crate::compare::dump::{Basis, LeafComparison, OperationComparison, ValueCoverage};
use crate::dtype::Dtype;
use crate::judge::rule::Rule;
use crate::kind::TensorKind;
use crate::read::dump::{DamageKind, Dump, DumpDamage, Leaf, Operation};
use crate::result::finding::Finding;
use crate::result::unit::{DumpUnit, Evidence};
use crate::verdict::{Severity, Side};

/// Whether a value of both sides could be compared. An empty tensor or a mask of infinities holds nothing to compare. A value that
/// is NaN on both sides is counted elsewhere, if nothing finite is made of it.
fn is_comparable(coverage: ValueCoverage, left: Leaf<'_>, right: Leaf<'_>) -> bool {
    let is_float = |leaf: Leaf<'_>| {
        leaf.record().and_then(|record| record.element).is_some_and(|element| element.unit_roundoff() > 0.0)
    };
    match coverage {
        ValueCoverage::Empty | ValueCoverage::Infinite | ValueCoverage::NotANumber | ValueCoverage::LeftOut => false,
        ValueCoverage::NoNumbers => is_float(left) && is_float(right),
        _ => true,
    }
}

/// Whether all elements of both sides are one and the same number.
fn is_trivial(left: Leaf<'_>, right: Leaf<'_>) -> bool {
    let range =
        |leaf: Leaf<'_>| leaf.record().and_then(|record| record.finite_statistics()).map(|[max, min, ..]| [max, min]);
    let is_one = |[max, min]: [f64; 2]| max.total_cmp(&min).is_eq() || max == 0.0 && min == 0.0;
    range(left).is_some_and(is_one) && range(left) == range(right)
}

/// Whether all elements of both sides are zero.
fn is_zero(leaf: &LeafComparison) -> bool {
    let all_zero = |sum: f64, nan: u64, inf: u64| sum == 0.0 && nan == 0 && inf == 0;
    leaf.stats().is_some_and(|stats| {
        stats.elements > 0
            && all_zero(stats.sum_sq_baseline, stats.nan_baseline, stats.inf_baseline)
            && all_zero(stats.sum_sq_candidate, stats.nan_candidate, stats.inf_candidate)
    })
}

/// Whether an operation has NaN among its inputs and only numbers among its results: rows that a mask hides are NaN in many healthy
/// runs.
fn is_masking(operation: &OperationComparison, candidate: Operation<'_>) -> bool {
    let has = |wants_input: bool, coverage: fn(ValueCoverage) -> bool| {
        let is_covered = |leaf: &&LeafComparison| leaf.measured.as_ref().is_some_and(|one| coverage(one.coverage));
        operation.leaves.iter().filter(is_covered).any(|leaf| {
            let value = leaf.pair.candidate().and_then(|index| candidate.leaves.get(index));
            let is_float = value.and_then(Leaf::record).and_then(|record| record.element).is_some_and(Dtype::is_float);
            is_float && value.is_some_and(|value| is_input(value.kind) == wants_input)
        })
    };
    let is_nan = |coverage| coverage == ValueCoverage::NotANumber;
    has(true, is_nan) && !has(false, is_nan) && has(false, |coverage| coverage == ValueCoverage::Whole)
}

/// Values with one kind of gap: they were not compared, or only in part.
struct Unseen {
    rule: &'static Rule,
    /// The side that lacks something; `None` where both do.
    side: Option<Side>,
    /// Row name of the first value.
    first: String,
    count: u64,
}

/// The states of a unit's values, with one entry per kind of gap.
#[derive(Default)]
pub(super) struct Census {
    evidence: Evidence,
    unmatched: [u64; 2],
    /// Number of tensors of which something was compared, and of compared plain values.
    tensors: u64,
    plain: u64,
    /// Number of values that are NaN on both sides since the last compared output; a compared output shows that something finite
    /// was made of them.
    not_a_number: u64,
    /// Tensors whose statistics are NaN on both sides (a single NaN element is enough), and of which nothing finite was made yet:
    /// row name of the first, and their number.
    unmasked: Option<(String, u64)>,
    unseen: Vec<Unseen>,
}

impl Census {
    /// Counts every value of both sides.
    pub(super) fn from_flows(input: &UnitInput<'_>, flows: &[OperationFlow]) -> Self {
        let mut census = Self::default();
        for (operation, flow) in input.comparison.operations.iter().zip(flows) {
            census.operation(input, operation, flow);
        }
        census.evidence.offered += census.not_a_number;
        if let Some((first, count)) = census.unmasked.take() {
            census.unseen.push(Unseen { rule: &rules::NOT_A_NUMBER_ON_BOTH, side: None, first, count });
        }
        // Plain arguments that agree are no evidence about computed numbers.
        census.evidence.equal_trivially += census.plain;
        if census.tensors == 0 && census.evidence.total() > census.plain {
            census.evidence.shown_only = std::mem::take(&mut census.evidence.compared);
        }
        census
    }

    fn operation(&mut self, input: &UnitInput<'_>, operation: &OperationComparison, flow: &OperationFlow) {
        match operation.operations(input.baseline, input.candidate) {
            (Some(_), Some(candidate)) if flow.is_other_node => {
                let all = operation.leaves.len() as u64;
                self.evidence.shown_only += all;
                self.note(&rules::DECOMPOSED_OTHERWISE, None, || candidate.name.to_owned());
            }
            (Some(baseline), Some(candidate)) => {
                operation.leaves.iter().zip(&flow.leaves).for_each(|(leaf, flow)| {
                    if flow.is_unread {
                        self.evidence.shown_only += 1;
                        return;
                    }
                    let left = leaf.pair.baseline().and_then(|index| baseline.leaves.get(index));
                    let right = leaf.pair.candidate().and_then(|index| candidate.leaves.get(index));
                    self.value(leaf, left, right);
                });
                if is_masking(operation, candidate) {
                    self.unmasked = None;
                }
            }
            (Some(only), None) => self.count_one_sided(Side::Baseline, only.leaves.len()),
            (None, Some(only)) => self.count_one_sided(Side::Candidate, only.leaves.len()),
            (None, None) => {}
        }
    }

    fn count_one_sided(&mut self, side: Side, count: usize) {
        let [baseline, candidate] = &mut self.unmatched;
        *(if side == Side::Baseline { baseline } else { candidate }) += count as u64;
        self.evidence.add_alone(side, count as u64);
    }

    fn value(&mut self, leaf: &LeafComparison, left: Option<Leaf<'_>>, right: Option<Leaf<'_>>) {
        let (Some(left), Some(right), Some(measured)) = (left, right, &leaf.measured) else {
            self.evidence.offered += 1;
            return self.count_one_sided(if left.is_some() { Side::Baseline } else { Side::Candidate }, 1);
        };
        let row = || right.row.to_string();
        if let (Some(left), Some(right)) = (left.record(), right.record()) {
            let missing = match (left.requires_grad, right.requires_grad) {
                (Some(_), None) => Some(Side::Candidate),
                (None, Some(_)) => Some(Side::Baseline),
                _ => None,
            };
            missing.into_iter().for_each(|side| self.note(&rules::REQUIRES_GRAD_MISSING, Some(side), row));
        }
        let evidence = &mut self.evidence;
        evidence.offered += u64::from(is_comparable(measured.coverage, left, right));
        match measured.coverage {
            // Each one has a finding of its own.
            _ if leaf.unreadable().is_some() => evidence.damaged += 1,
            ValueCoverage::Whole | ValueCoverage::Contradicting(_) => {
                evidence.compared += 1;
                evidence.equal_trivially += u64::from(is_trivial(left, right) || is_zero(leaf));
                if right.kind == TensorKind::Output && measured.basis != Basis::Plain {
                    self.not_a_number = 0;
                }
                *(if measured.basis == Basis::Plain { &mut self.plain } else { &mut self.tensors }) += 1;
                if let ValueCoverage::Contradicting(side) = measured.coverage {
                    self.note(&rules::STATISTICS_CONTRADICT, Some(side), row);
                }
            }
            ValueCoverage::Empty | ValueCoverage::NoNumbers | ValueCoverage::Infinite => evidence.not_compared += 1,
            ValueCoverage::LeftOut => evidence.left_out += 1,
            ValueCoverage::Damaged => {
                evidence.damaged += 1;
                evidence.example("damaged", row());
            }
            ValueCoverage::NotANumber => {
                evidence.not_compared += 1;
                self.not_a_number += 1;
                match measured.basis {
                    Basis::Statistics => self.unmasked.get_or_insert_with(|| (row(), 0)).1 += 1,
                    _ => self.note(&rules::NOT_A_NUMBER_ON_BOTH, None, row),
                }
            }
            ValueCoverage::StatisticMissing(side) => {
                evidence.add_alone(side.other(), 1);
                self.note(&rules::STATISTICS_MISSING, Some(side), row);
            }
            ValueCoverage::StatisticUnreadable(side) => {
                evidence.damaged += 1;
                self.note(&rules::STATISTICS_UNREADABLE, Some(side), row);
            }
            ValueCoverage::DataMissing(side) => {
                evidence.add_alone(side.other(), 1);
                self.note(&rules::DATA_MISSING, Some(side), row);
            }
        }
    }

    fn note(&mut self, rule: &'static Rule, side: Option<Side>, row: impl Fn() -> String) {
        match self.unseen.iter_mut().find(|known| known.rule == rule && known.side == side) {
            Some(known) => known.count += 1,
            None => self.unseen.push(Unseen { rule, side, first: row(), count: 1 }),
        }
    }

    /// Enters the counts into `unit`.
    pub(super) fn enter_counts(&self, unit: &mut DumpUnit) {
        [unit.unmatched_baseline, unit.unmatched_candidate] = self.unmatched;
        unit.compared = self.evidence.compared;
        let unmatched = self.unmatched.iter().sum::<u64>();
        unit.not_compared = self.evidence.total() - self.evidence.compared - unmatched;
        unit.evidence = self.evidence.clone();
    }

    /// One finding per kind of gap and side. `has_other_task` says that the two dumps were made for different tasks, which explains
    /// statistics and data that one of them lacks.
    pub(super) fn findings(&self, input: &UnitInput<'_>, place: &str, has_other_task: bool) -> Vec<Finding> {
        let same_framework = input.baseline.framework == input.candidate.framework;
        let finding = |unseen: &Unseen| {
            Finding::new(unseen.rule, unseen.first.as_str())
                .with_severity(unseen.severity(same_framework))
                .with("unit", place)
                .with("side", unseen.side.map_or("", Side::as_str))
                .with("count", unseen.count)
        };
        let explained = [&rules::STATISTICS_MISSING, &rules::DATA_MISSING];
        self.unseen.iter().filter(|unseen| !(has_other_task && explained.contains(&unseen.rule))).map(finding).collect()
    }
}

/// Gaps with the same severity on either side.
const FROM_EITHER: [&Rule; 3] =
    [&rules::STATISTICS_UNREADABLE, &rules::STATISTICS_CONTRADICT, &rules::DECOMPOSED_OTHERWISE];

impl Unseen {
    /// Severity of the gap. A candidate that lacks a record could hide anything; a baseline that lacks it comes from an older release
    /// or another framework.
    fn severity(&self, same_framework: bool) -> Severity {
        let by_candidate = self.side == Some(Side::Candidate);
        match self.rule {
            rule if *rule == rules::REQUIRES_GRAD_MISSING && (!by_candidate || !same_framework) => Severity::Info,
            rule if FROM_EITHER.contains(&rule) => rule.severity,
            rule if by_candidate => rule.severity,
            _ => Severity::Warn,
        }
    }
}

/// Findings about parts of the files of both sides that could not be used.
pub(super) fn damage_findings(input: &UnitInput<'_>, place: &str) -> Vec<Finding> {
    let of_side = |side: Side, dump: &Dump| -> Vec<Finding> {
        let finding = |damage: &DumpDamage| {
            let rule = match damage.kind {
                DamageKind::SideFile => &rules::SIDE_FILE_UNREADABLE,
                DamageKind::Record => &rules::RECORD_UNREADABLE,
                DamageKind::Repeated => &rules::RECORD_REPEATED,
            };
            Finding::new(rule, damage.place.as_str())
                .with("unit", place)
                .with("side", side.as_str())
                .with("count", damage.count)
                .with("reason", damage.reason.as_str())
        };
        dump.damage.iter().map(finding).collect()
    };
    [of_side(Side::Baseline, input.baseline), of_side(Side::Candidate, input.candidate)].concat()
}
