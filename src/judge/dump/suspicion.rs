//! Judgement of exact differences: each breaks a rule, or an earlier difference explains it.

use super::item::{Item, is_input};
use super::limits::{AMPLIFICATION, ErrorBand};
use super::rules;
use super::upstream::Upstream;
use crate::compare::dump::{Basis, ExactDifference, Measurement};
use crate::judge::rule::Rule;
use crate::kind::TensorKind;
use crate::read::dump::name::OpName;
use crate::verdict::Severity;

/// A rule that a value breaks by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suspicion {
    /// The rule.
    pub rule: &'static Rule,
    /// Severity of the broken rule at this value.
    pub severity: Severity,
    /// Whether its operation or value can be the culprit.
    pub is_culprit: bool,
}

/// A suspicion that makes its operation or value a culprit.
pub(super) fn culprit_suspicion(rule: &'static Rule, severity: Severity) -> Option<Suspicion> {
    Some(Suspicion { rule, severity, is_culprit: true })
}

/// Suspicion from an exact difference of an input; `None` where the errors before the operation explain it.
pub(super) fn input_suspicion(
    exact: ExactDifference,
    item: &Item<'_>,
    before: Upstream,
    limits: ErrorBand,
    items: &[Item<'_>],
    name: &OpName<'_>,
    is_leaf: bool,
) -> Option<Suspicion> {
    let measured = item.measurement()?;
    let explained = before.error > limits.noise;
    match exact {
        ExactDifference::Checksum if !before.identical => None,
        ExactDifference::Checksum if is_in_place_artefact(items, name) => {
            Some(Suspicion { rule: &rules::IN_PLACE_ARGUMENT, severity: Severity::Warn, is_culprit: false })
        }
        ExactDifference::Checksum => culprit_suspicion(&rules::CHECKSUM_DIFFERS, checksum_severity(measured, limits)),
        // Integers that no dumped operation made are data; only the result of a dumped operation may tie.
        ExactDifference::Integer if is_leaf && !before.error.is_infinite() => {
            culprit_suspicion(&rules::INTEGER_DIFFERS, Severity::Fail)
        }
        ExactDifference::Integer if explained => None,
        ExactDifference::Integer if before.error > 0.0 && is_tie_sized(item) => {
            culprit_suspicion(&rules::NEAR_TIE, Severity::Warn)
        }
        ExactDifference::Integer => culprit_suspicion(&rules::INTEGER_DIFFERS, Severity::Fail),
        // Another choice before, of an expert or a branch, explains any shape and any argument after it.
        ExactDifference::NonFinite | ExactDifference::Shape | ExactDifference::Argument | ExactDifference::Kind
            if before.error.is_infinite() =>
        {
            None
        }
        ExactDifference::NonFinite => culprit_suspicion(&rules::NON_FINITE_DIFFERS, Severity::Fail),
        ExactDifference::Argument
            if measured.error <= AMPLIFICATION.mul_add(before.error, limits.noise) && before.error > 0.0 =>
        {
            None
        }
        ExactDifference::Argument => culprit_suspicion(&rules::ARGUMENT_DIFFERS, Severity::Fail),
        ExactDifference::Dtype => culprit_suspicion(&rules::DTYPE_DIFFERS, Severity::Fail),
        ExactDifference::Shape => culprit_suspicion(&rules::SHAPE_DIFFERS, Severity::Fail),
        ExactDifference::RequiresGrad => culprit_suspicion(&rules::REQUIRES_GRAD_DIFFERS, Severity::Fail),
        ExactDifference::Kind => culprit_suspicion(&rules::ARGUMENT_DIFFERS, Severity::Fail),
    }
}

/// Suspicion from an exact difference of an output; `None` where the operation's inputs explain it.
pub(super) fn output_suspicion(
    exact: ExactDifference,
    item: &Item<'_>,
    inputs: &Upstream,
    limits: ErrorBand,
    items: &[Item<'_>],
) -> Option<Suspicion> {
    let measured = item.measurement()?;
    let input_differs_by = |wanted: &[ExactDifference]| {
        items
            .iter()
            .filter(|item| is_input(item.kind))
            .filter_map(|item| item.measurement()?.exact)
            .any(|exact| wanted.contains(&exact))
    };
    use ExactDifference::{Argument, Checksum, Dtype, Integer, Kind, NonFinite, RequiresGrad, Shape};
    match exact {
        Checksum if !inputs.identical => None,
        Checksum => culprit_suspicion(&rules::CHECKSUM_DIFFERS, checksum_severity(measured, limits)),
        Integer if inputs.error > limits.noise => None,
        Integer if is_tie_sized(item) && ties(inputs, items, limits) => {
            culprit_suspicion(&rules::NEAR_TIE, Severity::Warn)
        }
        Integer => culprit_suspicion(&rules::INTEGER_DIFFERS, Severity::Fail),
        NonFinite if inputs.error.is_infinite() => None,
        NonFinite => culprit_suspicion(&rules::NON_FINITE_DIFFERS, Severity::Fail),
        Dtype if input_differs_by(&[Dtype, Argument, Kind]) => None,
        Dtype => culprit_suspicion(&rules::DTYPE_DIFFERS, Severity::Fail),
        Shape if input_differs_by(&[Shape, Argument, Integer, Kind]) || inputs.error.is_infinite() => None,
        Shape => culprit_suspicion(&rules::SHAPE_DIFFERS, Severity::Fail),
        RequiresGrad if input_differs_by(&[RequiresGrad]) => None,
        RequiresGrad => culprit_suspicion(&rules::REQUIRES_GRAD_DIFFERS, Severity::Fail),
        Argument | Kind if inputs.error > limits.noise => None,
        Argument | Kind => culprit_suspicion(&rules::ARGUMENT_DIFFERS, Severity::Fail),
    }
}

/// Whether an integer result may differ because its inputs tie: they carry noise, or the values that the operation returns beside
/// the indices agree.
fn ties(inputs: &Upstream, items: &[Item<'_>], limits: ErrorBand) -> bool {
    let selected = || {
        let mut values = items.iter().filter(|item| !is_input(item.kind) && item.dtype().is_some()).peekable();
        values.peek().is_some()
            && values.all(|item| {
                item.measurement().is_some_and(|measured| measured.exact.is_none() && measured.error <= limits.noise)
            })
    };
    inputs.error > 0.0 || selected()
}

/// Whether few enough elements differ for ties: if more than half of them do, ties are not the cause.
fn is_tie_sized(item: &Item<'_>) -> bool {
    let metrics = item.details().map_or(&[][..], |details| &details.metrics);
    let share = metrics.iter().find(|(name, _)| *name == "unequal_share");
    share.is_none_or(|(_, share)| *share <= 0.5)
}

/// Severity of different checksums: a warning if recorded statistics agree within noise; without statistics it fails.
fn checksum_severity(measured: &Measurement, limits: ErrorBand) -> Severity {
    if measured.basis == Basis::Statistics && measured.error <= limits.noise { Severity::Warn } else { Severity::Fail }
}

/// Whether the checksum of an argument was taken while the call was already writing to it: the call may write in place, nothing but
/// checksums differs, and every output is identical.
pub(super) fn is_in_place_artefact(items: &[Item<'_>], name: &OpName<'_>) -> bool {
    let mut outputs = items.iter().filter(|item| item.kind == TensorKind::Output).peekable();
    let only_checksums = items
        .iter()
        .filter_map(Item::measurement)
        .all(|measured| measured.identical || measured.exact == Some(ExactDifference::Checksum));
    may_write_in_place(name)
        && only_checksums
        && outputs.peek().is_some()
        && outputs.all(|item| item.measurement().is_some_and(|measured| measured.identical))
}

/// Whether a call may write in place: names that end in one underscore, the `__i…__` operators, `__setitem__`, and normalisations
/// that update running statistics.
fn may_write_in_place(name: &OpName<'_>) -> bool {
    let api = name.api();
    let in_place_operator = api.starts_with("__i") && api.ends_with("__") && !matches!(api, "__invert__" | "__index__");
    (api.ends_with('_') && !api.ends_with("__"))
        || in_place_operator
        || api == "__setitem__"
        || api.contains("_norm")
        || api.contains("BatchNorm")
}
