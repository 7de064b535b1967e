//! The previous step of a rank, for causes that lie between two steps.

use std::collections::HashMap;

use crate::compare::dump::OperationComparison;
use crate::judge::dump::unit::UnitInput;
use crate::judge::dump::update::StepParameters;
use crate::kind::TensorKind;
use crate::read::dump::name::{Direction, OpName};

use super::value_pair::{operations_of, values_of};

/// Max, min, mean and norm of a tensor.
pub(super) type Four = [f64; 4];

/// The previous step of the same rank.
#[derive(Clone, Copy, Debug)]
pub struct StepBefore<'a> {
    /// The step.
    pub step: u64,
    /// Trained leaf inputs of that step.
    pub parameters: &'a StepParameters,
    /// Gradients of that step.
    pub gradients: &'a ParameterGradients,
}

/// Gradients of a step as recorded.
#[derive(Clone, Debug, Default)]
pub struct ParameterGradients {
    /// Gradients of parameters by row, the baseline's and the candidate's.
    parameters: HashMap<String, [Four; 2]>,
    /// Number of values of backward calls that were compared.
    compared: usize,
}

impl ParameterGradients {
    /// The gradients of a unit.
    pub(crate) fn from_unit(input: &UnitInput<'_>) -> Self {
        let mut gradients = Self::default();
        for comparison in &input.comparison.operations {
            gradients.add(input, comparison);
        }
        gradients
    }

    fn add(&mut self, input: &UnitInput<'_>, comparison: &OperationComparison) {
        let Some((baseline, candidate)) = operations_of(input, comparison) else { return };
        let direction = OpName::parse(candidate.name).direction;
        if !matches!(direction, Some(Direction::Backward | Direction::ParametersGradient)) {
            return;
        }
        for both in values_of(comparison, baseline, candidate).filter(|both| both.measured().is_some()) {
            self.compared += 1;
            if both.kind == TensorKind::ParameterGradient {
                let sides = both.finite_statistics();
                self.parameters.extend(sides.map(|sides| (both.candidate.row.to_string(), sides)));
            }
        }
    }

    /// The gradient of the parameter of this row, the baseline's and the candidate's.
    pub(super) fn gradient(&self, row: &str) -> Option<&[Four; 2]> {
        self.parameters.get(row)
    }

    /// Number of values of backward calls that were compared.
    pub(super) fn compared_values(&self) -> usize {
        self.compared
    }
}
