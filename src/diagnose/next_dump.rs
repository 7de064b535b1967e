//! The next dump: the data to collect to see more than this run did, as msprobe's own configuration.
//!
//! For a culprit in statistics, its tensors are collected; for a module, everything inside it; for a gradient that was
//! lost between two operations, both of them with their forward calls; for a curve, the step at which it departs. Keys
//! and meanings of the configuration are those of msprobe 26.2.0 (`config.json` of its PyTorch debugger).

use std::collections::{BTreeSet, HashMap};

use serde::Serialize;

use super::evidence::{GRADIENT_UNRECORDED, LOST_IN_GAP, MADE_BY_UNDUMPED, UNSEEN_ORDER};
use crate::dtype::Dtype;
use crate::judge::dump::rules as dump_rules;
use crate::judge::loss::code as curve_rules;
use crate::kind::TensorKind;
use crate::read::dump::name::{Direction, OpName};
use crate::read::dump::{Dump, Leaf};
use crate::result::diagnosis::Diagnosis;
use crate::result::finding::{Fact, Finding};
use crate::result::next_dump::NextDump;
use crate::result::unit::{self, AnyUnit, Check, Culprit, CurveUnit};
use crate::verdict::{CheckId, Verdict};

/// Size of everything inside a module relative to the module's own values: level mix against L0 in msprobe's published
/// sizes (314 GB against 7.8 GB; `docs/next-dump.md`).
const INSIDE_OVER_OWN: u64 = 40;

/// Parts of a result that a plan is made from.
#[derive(Clone, Copy)]
pub struct Situation<'a> {
    /// The culprit that the result names.
    pub culprit: Option<&'a Culprit>,
    /// The checks.
    pub checks: &'a [Check],
    /// Bytes recorded by the operations that the plan may name.
    pub sizes: &'a RecordedSizes,
    /// Likely causes.
    pub diagnoses: &'a [Diagnosis],
    /// The findings of all checks.
    pub findings: &'a [Finding],
}

/// Bytes of every recorded tensor of the candidate's operations that a plan may name.
#[derive(Debug, Default)]
pub struct RecordedSizes(HashMap<String, u64>);

impl RecordedSizes {
    /// Adds up the bytes that `candidate` recorded of every operation that a plan may name: `culprit`, the operation
    /// before a gap that `diagnoses` name, and the forward call of each where it is a backward one.
    pub fn of<'a>(culprit: &'a Culprit, diagnoses: impl IntoIterator<Item = &'a Diagnosis>, candidate: &Dump) -> Self {
        let diagnoses: Vec<&Diagnosis> = diagnoses.into_iter().collect();
        let beside = || diagnoses.iter().copied();
        let named = gaps(beside()).chain(moving(beside())).chain([culprit.op.as_str()]).flat_map(with_forward);
        let mut sizes: HashMap<String, u64> = named.map(|op| (op, 0)).collect();
        for operation in candidate.operations.iter() {
            if let Some(size) = sizes.get_mut(operation.name) {
                *size = operation.leaves.iter().filter_map(bytes_of).fold(0, u64::saturating_add);
            }
        }
        Self(sizes)
    }

    /// Bytes of these operations together; `None` where none is recorded.
    fn together(&self, names: &[String]) -> Option<u64> {
        let names: BTreeSet<&String> = names.iter().collect();
        let bytes = names.into_iter().filter_map(|name| self.0.get(name)).copied().fold(0, u64::saturating_add);
        (bytes > 0).then_some(bytes)
    }
}

/// Plans the dump to collect next; `None` where another dump would show no more than this run.
pub fn plan(situation: &Situation<'_>) -> Option<NextDump> {
    match situation.culprit {
        Some(culprit) if culprit.check == CheckId::Dump => from_culprit(culprit, situation),
        // A monitor's row can be dumped where it names a module; otherwise the step at which a curve departs is dumped.
        Some(culprit) => from_culprit(culprit, situation).or_else(|| from_curve(situation)),
        None => from_curve(situation),
    }
}

fn from_culprit(culprit: &Culprit, situation: &Situation<'_>) -> Option<NextDump> {
    let next = NextDump {
        reason: "tensors".into(),
        step: culprit.step,
        ranks: culprit.rank.into_iter().collect(),
        task: "tensor".into(),
        level: "L1".into(),
        list: Vec::new(),
        bytes: None,
    };
    let name = OpName::parse(&culprit.op);
    if is_module(&culprit.op) {
        let own = situation.sizes.together(std::slice::from_ref(&culprit.op));
        let bytes = own.map(|bytes| bytes.saturating_mul(INSIDE_OVER_OWN));
        return Some(NextDump {
            reason: "inside-module".into(),
            level: "mix".into(),
            list: vec![culprit.op.clone()],
            bytes,
            ..next
        });
    }
    if !is_call(&name) {
        return None;
    }
    let gap = gap_before(situation.diagnoses, culprit);
    let has_tensors = data_of(situation.checks, culprit) == Some("tensor");
    if gap.is_none() && (has_tensors || !is_in_statistics(culprit)) {
        return None;
    }
    let mut list = with_forward(&culprit.op);
    list.splice(0..0, moving(situation.diagnoses).map(str::to_owned));
    let reason = if gap.is_some() { "gap" } else { "tensors" };
    list.extend(gap.as_deref().map(with_forward).unwrap_or_default());
    let bytes = situation.sizes.together(&list);
    Some(NextDump { reason: reason.into(), list, bytes, ..next })
}

/// Whether elements would show more than the culprit's statistics do; a differing shape, type or argument is already
/// fully known.
fn is_in_statistics(culprit: &Culprit) -> bool {
    !culprit.is_any(&[
        &dump_rules::DTYPE_DIFFERS,
        &dump_rules::SHAPE_DIFFERS,
        &dump_rules::ARGUMENT_DIFFERS,
        &dump_rules::REQUIRES_GRAD_DIFFERS,
    ])
}

fn is_module(op: &str) -> bool {
    op.starts_with("Module.") || op.starts_with("Cell.")
}

/// Whether msprobe can be told to collect it: a call by its full name.
fn is_call(name: &OpName<'_>) -> bool {
    let is_pass = matches!(name.direction, Some(Direction::Forward | Direction::Backward));
    is_pass && name.call.is_some() && name.base.contains('.')
}

/// A call, preceded by its forward call if it is a backward one.
fn with_forward(op: &str) -> Vec<String> {
    let name = OpName::parse(op);
    let forward = match (name.direction, name.call) {
        (Some(Direction::Backward), Some(call)) if is_module(op) => Some(format!("{}.forward.{call}", name.base)),
        (Some(Direction::Backward), Some(call)) => Some(format!("{}.{call}.forward", name.base)),
        _ => None,
    };
    forward.into_iter().chain([op.to_owned()]).collect()
}

/// The last operation before a gap, where a diagnosis found that the culprit only received a gradient that was lost
/// there.
fn gap_before(diagnoses: &[Diagnosis], culprit: &Culprit) -> Option<String> {
    let before = gaps(diagnoses).next().filter(|_| culprit.kind == TensorKind::Input)?;
    (is_call(&OpName::parse(before)) && !is_module(before)).then(|| before.to_owned())
}

/// The last operation before each gap that a diagnosis found.
fn gaps<'a>(diagnoses: impl IntoIterator<Item = &'a Diagnosis>) -> impl Iterator<Item = &'a str> {
    named(diagnoses, &[LOST_IN_GAP, MADE_BY_UNDUMPED, GRADIENT_UNRECORDED], "before")
}

/// The operation that may have moved the elements of an operand, where a diagnosis found one.
fn moving<'a>(diagnoses: impl IntoIterator<Item = &'a Diagnosis>) -> impl Iterator<Item = &'a str> {
    named(diagnoses, &[UNSEEN_ORDER], "moving")
}

/// The texts of a fact in the evidence of some codes.
fn named<'a>(
    diagnoses: impl IntoIterator<Item = &'a Diagnosis>,
    codes: &'a [&'a str],
    fact: &'a str,
) -> impl Iterator<Item = &'a str> {
    let evidence = diagnoses.into_iter().flat_map(|diagnosis| &diagnosis.evidence);
    let own = evidence.filter(|evidence| evidence.is_any(codes));
    own.filter_map(|evidence| match evidence.facts.get(fact) {
        Some(Fact::Text(text)) => Some(text.as_str()),
        _ => None,
    })
}

fn data_of<'a>(checks: &'a [Check], culprit: &Culprit) -> Option<&'a str> {
    let mut units = unit::dumps(checks);
    units.find(|unit| unit.step == culprit.step && unit.rank == culprit.rank).map(|unit| unit.data.as_str())
}

fn bytes_of(leaf: Leaf<'_>) -> Option<u64> {
    let record = leaf.record()?;
    let elements = record.shape.iter().try_fold(1_u64, |product, len| product.checked_mul(*len))?;
    elements.checked_mul(Dtype::parse(record.dtype)?.size() as u64)
}

/// The step at which a diagnosis places the fault, else that at which the loss leaves its band or breaks. Trainers count
/// their steps from 1, msprobe from 0.
fn from_curve(situation: &Situation<'_>) -> Option<NextDump> {
    let is_failed_loss = |unit: &&CurveUnit| unit.metric == "loss" && unit.verdict == Verdict::Fail;
    let losses = unit::curves(situation.checks).filter(is_failed_loss);
    losses.filter(|unit| unit.paired_by != "position").find_map(|unit| {
        let seen = unit.non_finite_steps.first().copied().into_iter().chain(unit.first_diverging_step).min();
        let step = told_step(situation.diagnoses).or_else(|| start_that_differs(unit, situation.findings)).or(seen)?;
        let counts_from_zero = unit.series.step.first() == Some(&0);
        Some(NextDump {
            reason: "curve".into(),
            step: if counts_from_zero { step } else { step.saturating_sub(1) },
            ranks: Vec::new(),
            task: "statistics".into(),
            level: "mix".into(),
            list: Vec::new(),
            bytes: None,
        })
    })
}

/// The first step of a curve that differs there already, before any update: no later step shows more.
fn start_that_differs(unit: &CurveUnit, findings: &[Finding]) -> Option<u64> {
    let is_finite = unit.non_finite_steps.is_empty();
    let differs = findings.iter().any(|finding| curve_rules::is_first_loss(finding) && finding.place == unit.name());
    unit.series.step.first().copied().filter(|_| is_finite && differs)
}

/// The step that a piece of evidence of the likeliest cause names.
fn told_step(diagnoses: &[Diagnosis]) -> Option<u64> {
    diagnoses.first()?.evidence.iter().find_map(|evidence| match evidence.facts.get("step") {
        Some(Fact::Count(step)) => Some(*step),
        _ => None,
    })
}

/// The plan as msprobe's `config.json`, writing to `dump_path`.
pub fn msprobe_config<'a>(plan: &'a NextDump, dump_path: &'a str) -> MsprobeConfig<'a> {
    let section = Section { scope: [], list: &plan.list, data_mode: ["all"] };
    let is_tensor = plan.task == "tensor";
    MsprobeConfig {
        task: &plan.task,
        dump_path,
        rank: &plan.ranks,
        step: [plan.step],
        level: &plan.level,
        statistics: (!is_tensor).then_some(section),
        tensor: is_tensor.then_some(section),
    }
}

/// msprobe's `config.json`, with the keys in its own order.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct MsprobeConfig<'a> {
    task: &'a str,
    dump_path: &'a str,
    rank: &'a [u64],
    step: [u64; 1],
    level: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    statistics: Option<Section<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tensor: Option<Section<'a>>,
}

/// Whether a file was written by `next-dump`: writing its own values again gives the same bytes.
pub fn is_written_config(bytes: &[u8]) -> bool {
    let Ok(value) = serde_json::from_slice::<serde_json::Value>(bytes) else { return false };
    let keys =
        value.as_object().map(|entries| entries.keys().map(String::as_str).collect::<Vec<_>>()).unwrap_or_default();
    let is_ours = matches!(keys.as_slice(), ["task", "dump_path", "rank", "step", "level", "statistics" | "tensor"]);
    is_ours && serde_json::to_string_pretty(&value).is_ok_and(|text| (text + "\n").as_bytes() == bytes)
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Section<'a> {
    scope: [&'a str; 0],
    list: &'a [String],
    data_mode: [&'a str; 1],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backward_call_comes_with_its_forward_call() {
        assert_eq!(
            with_forward("Tensor.permute.0.backward"),
            ["Tensor.permute.0.forward", "Tensor.permute.0.backward"]
        );
        assert_eq!(
            with_forward("Module.fc.Linear.backward.1"),
            ["Module.fc.Linear.forward.1", "Module.fc.Linear.backward.1"]
        );
        assert_eq!(with_forward("Torch.einsum.0.forward"), ["Torch.einsum.0.forward"]);
    }

    #[test]
    fn the_configuration_has_the_keys_msprobe_reads() {
        let next = NextDump {
            reason: "tensors".into(),
            step: 2,
            ranks: vec![1],
            task: "tensor".into(),
            level: "L1".into(),
            list: vec!["Torch.einsum.0.forward".into()],
            bytes: Some(12),
        };
        let text = serde_json::to_string(&msprobe_config(&next, "./dump")).expect("it is JSON");
        assert_eq!(
            text,
            r#"{"task":"tensor","dump_path":"./dump","rank":[1],"step":[2],"level":"L1","tensor":{"scope":[],"list":["Torch.einsum.0.forward"],"data_mode":["all"]}}"#
        );
    }
}
