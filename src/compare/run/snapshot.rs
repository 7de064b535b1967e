//! One step and rank of a dump, as far as a run can be judged by itself: parameters, gradients, sums of gradients,
//! modes, first values.

use std::collections::BTreeMap;

use super::copies::TensorCopy;
use super::modes::CallMode;
use super::sums::{BiasSum, OutputGradients};
use crate::kind::{MonitorKind, Statistic, TensorKind};
use crate::read::dump::name::{Direction, OpName};
use crate::read::dump::{Dump, Leaf, Operation};
use crate::read::monitor::{KeyedRow, MonitorStep};

/// A parameter at a step and rank.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// The values.
    pub copy: TensorCopy,
    /// Whether it requires a gradient; `None` where that was not recorded.
    pub is_trainable: Option<bool>,
}

/// Parameters of a rank at one moment, by name.
pub type Parameters = BTreeMap<String, Parameter>;

/// Parameters of one kind among the rows of a monitor's step, by stage and name.
pub(crate) fn monitored_parameters(rows: &MonitorStep, kind: MonitorKind) -> Parameters {
    let parameter = |keyed: &KeyedRow| {
        let statistics = [Statistic::Max, Statistic::Min, Statistic::Mean, Statistic::Norm];
        let copy = TensorCopy::from_statistics(statistics.map(|one| keyed.row.statistics.get(one)));
        let (stage, name) = (keyed.key.stage, &keyed.key.name);
        let name = if stage > 0 { format!("{stage}:{name}") } else { name.to_string() };
        (name, Parameter { copy, is_trainable: None })
    };
    rows.rows.iter().filter(|keyed| keyed.key.kind == kind).map(parameter).collect()
}

/// One step and rank.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Parameters of the modules that ran, by the module's path and their own name.
    pub parameters: Parameters,
    /// Their gradients.
    pub gradients: BTreeMap<String, TensorCopy>,
    /// Gradients of biases, each with the gradients of the outputs that should add up to it.
    pub sums: BTreeMap<String, BiasSum>,
    /// Calls whose result depends on whether the model trains.
    pub modes: Vec<CallMode>,
    /// Whether no result requires a gradient although an input does.
    pub is_gradient_off: bool,
    /// Whether an operation ran backward.
    pub has_backward: bool,
    /// The first input tensor of the first operation.
    pub first_input: Option<TensorCopy>,
    /// Floating-point results of the first operation that has one.
    pub first_outputs: Vec<TensorCopy>,
}

impl Snapshot {
    /// Collects everything from a dump.
    pub(crate) fn from_dump(dump: &Dump) -> Self {
        let mut found = Self::default();
        let mut given: BTreeMap<String, OutputGradients> = BTreeMap::new();
        let mut flow = Flow::default();
        for operation in dump.operations.iter() {
            let name = OpName::parse(operation.name);
            match name.direction {
                Some(Direction::ParametersGradient) => found.gradients_of(&name, operation),
                Some(Direction::Backward) => {
                    found.has_backward = true;
                    if let Some(module) = module_of(&name) {
                        given.entry(module.to_owned()).or_default().add_call(name.api(), operation);
                    }
                }
                _ => {
                    flow.take(operation);
                    found.forward(&name, operation);
                }
            }
        }
        found.is_gradient_off = flow.is_off && !flow.is_on && !found.has_backward;
        for (module, given) in given {
            let name = format!("{module}.bias");
            let sum = found.gradients.get(&name).and_then(|bias| given.sum_against(bias));
            found.sums.extend(sum.map(|sum| (name, sum)));
        }
        found
    }

    fn forward(&mut self, name: &OpName<'_>, operation: Operation<'_>) {
        if let Some(module) = module_of(name) {
            for leaf in operation.leaves.iter().filter(|leaf| leaf.kind == TensorKind::Parameter) {
                let Some(record) = leaf.record() else { continue };
                let own = leaf.row.below_operation();
                let own = own.strip_prefix(".parameters").unwrap_or(own).trim_start_matches('.');
                let parameter =
                    Parameter { copy: TensorCopy::from_record(&record), is_trainable: record.requires_grad };
                self.parameters.entry(joined(module, own)).or_insert(parameter);
            }
        }
        self.modes.extend(CallMode::from_operation(name, operation));
        let tensors =
            |kind: TensorKind| operation.leaves.iter().filter(move |leaf| leaf.kind == kind).filter_map(Leaf::record);
        if self.first_input.is_none() {
            self.first_input = tensors(TensorKind::Input).next().map(|record| TensorCopy::from_record(&record));
        }
        if self.first_outputs.is_empty() {
            let floats = tensors(TensorKind::Output).filter(|record| record.element.is_some_and(|it| it.is_float()));
            self.first_outputs = floats.map(|record| TensorCopy::from_record(&record)).collect();
        }
    }

    fn gradients_of(&mut self, name: &OpName<'_>, operation: Operation<'_>) {
        let Some(module) = module_of(name) else { return };
        for leaf in operation.leaves.iter() {
            let Some(record) = leaf.record() else { continue };
            let own = leaf.row.below_operation().trim_start_matches('.');
            self.gradients.entry(joined(module, own)).or_insert_with(|| TensorCopy::from_record(&record));
        }
    }
}

/// Whether gradients are tracked, judged by input and output tensors.
#[derive(Default)]
struct Flow {
    is_off: bool,
    is_on: bool,
}

impl Flow {
    fn take(&mut self, operation: Operation<'_>) {
        let (mut needs, mut gives, mut is_float) = (false, false, false);
        for leaf in operation.leaves.iter() {
            let Some(record) = leaf.record() else { continue };
            let requires = record.requires_grad == Some(true);
            if leaf.kind == TensorKind::Output {
                is_float |= record.element.is_some_and(|element| element.is_float());
                gives |= requires;
            } else {
                needs |= requires;
            }
        }
        self.is_on |= gives;
        self.is_off |= needs && is_float && !gives;
    }
}

/// Path of the module of a record, without its class; `None` for other operations.
pub(super) fn module_of<'a>(name: &OpName<'a>) -> Option<&'a str> {
    let below = name.base.strip_prefix("Module.").or_else(|| name.base.strip_prefix("Cell."))?;
    Some(below.rsplit_once('.').map_or("", |(path, _)| path))
}

fn joined(module: &str, own: &str) -> String {
    if module.is_empty() { own.to_owned() } else { format!("{module}.{own}") }
}
