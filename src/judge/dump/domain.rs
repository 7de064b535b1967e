//! The numbers for which a function is defined, and inputs that go beyond them.

use crate::kind::TensorKind;
use crate::read::dump::name::{Direction, OpName};
use crate::read::dump::{Leaf, LeafValue, Operation, TensorRecord};

/// An input that goes beyond the numbers for which its function is defined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct OutsideDomain {
    /// The input's largest or smallest value.
    pub end: f64,
    /// The bound of the domain on that side.
    pub bound: f64,
}

impl OutsideDomain {
    /// Whether the input goes below its function's domain, not above.
    pub(crate) fn is_below(self) -> bool {
        self.end < self.bound
    }
}

/// The input of an operation that goes beyond its function's domain.
pub(crate) fn of_operation(operation: Operation<'_>) -> Option<OutsideDomain> {
    let inputs = operation.leaves.iter().filter(|leaf| leaf.kind == TensorKind::Input);
    outside_domain(operation.name, inputs.filter_map(Leaf::record), exponent(operation))
}

/// Whether the first of `inputs` goes beyond the domain of the function that `op` is a forward call of.
pub(crate) fn outside_domain<'r>(
    op: &str,
    mut inputs: impl Iterator<Item = TensorRecord<'r>>,
    exponent: Option<f64>,
) -> Option<OutsideDomain> {
    let name = OpName::parse(op);
    if name.direction.is_some_and(|direction| direction != Direction::Forward) {
        return None;
    }
    let (lower, upper) = match name.function().trim_end_matches('_') {
        "log" | "log2" | "log10" | "sqrt" | "rsqrt" => (0.0, f64::INFINITY),
        "pow" | "__pow" | "__ipow" | "float_power" if exponent?.fract().abs() > 0.0 => (0.0, f64::INFINITY),
        "log1p" => (-1.0, f64::INFINITY),
        "acosh" | "arccosh" => (1.0, f64::INFINITY),
        "acos" | "asin" | "arccos" | "arcsin" | "atanh" | "arctanh" => (-1.0, 1.0),
        _ => return None,
    };
    let input = inputs.next()?;
    let (max, min) = (input.max.as_f64()?, input.min.as_f64()?);
    if min.is_finite() && min < lower {
        Some(OutsideDomain { end: min, bound: lower })
    } else {
        (max.is_finite() && max > upper).then_some(OutsideDomain { end: max, bound: upper })
    }
}

/// The first number among the plain arguments of a call.
pub(crate) fn exponent(operation: Operation<'_>) -> Option<f64> {
    operation.leaves.iter().find_map(|leaf| match leaf.value {
        LeafValue::Plain { value, .. } if leaf.kind == TensorKind::Input => value.as_f64(),
        _ => None,
    })
}
