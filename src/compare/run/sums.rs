//! The sum identity of a linear layer: the gradient of its bias is the sum of the gradients of its outputs.

use super::copies::TensorCopy;
use crate::kind::TensorKind;
use crate::read::dump::{Leaf, Operation};

/// Error of a sum from rounding and the order of summation, as a share of the norms.
const ROUNDING: f64 = 2e-4;

/// Gradients of the outputs of a layer, over its backward calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct OutputGradients {
    sum: f64,
    bound: f64,
    /// Whether all calls are known by mean and norm.
    is_known: Option<bool>,
}

/// The gradient of a bias and the sum that it has to equal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BiasSum {
    /// Sum over the elements of the bias' gradient.
    pub bias: f64,
    /// Sum over the elements of the outputs' gradients.
    pub given: f64,
    /// Difference that rounding can make.
    pub tolerance: f64,
}

impl OutputGradients {
    /// Adds a backward call of a module of the class `class`; only linear layers keep the identity.
    pub(crate) fn add_call(&mut self, class: &str, operation: Operation<'_>) {
        let mut given = operation.leaves.iter().filter(|leaf| leaf.kind == TensorKind::Input).filter_map(Leaf::record);
        let one = given.next().and_then(|record| {
            let [.., mean, norm] = record.finite_statistics()?;
            Some((mean, norm, in_f64(record.elements())))
        });
        let is_linear = class.contains("Linear") || class == "Dense";
        match one.filter(|_| is_linear) {
            Some((mean, norm, elements)) => {
                self.sum += mean * elements;
                self.bound += norm * elements.sqrt();
                self.is_known = Some(self.is_known.unwrap_or(true));
            }
            None => self.is_known = Some(false),
        }
    }

    /// Both sums for the gradient of the bias; `None` where one is not known.
    pub(crate) fn sum_against(&self, bias: &TensorCopy) -> Option<BiasSum> {
        self.is_known.filter(|is_known| *is_known)?;
        let [.., mean, norm] = bias.statistics;
        let (mean, norm, elements) = (mean?, norm?, in_f64(bias.elements));
        let sum = BiasSum {
            bias: mean * elements,
            given: self.sum,
            tolerance: ROUNDING * norm.mul_add(elements.sqrt(), self.bound),
        };
        [sum.bias, sum.given, sum.tolerance].iter().all(|value| value.is_finite()).then_some(sum)
    }
}

impl BiasSum {
    /// The part of the bias' gradient that the outputs' gradients of this step do not explain.
    pub(crate) fn excess(&self) -> f64 {
        self.bias - self.given
    }

    /// Whether the identity holds.
    pub(crate) fn is_identity(&self) -> bool {
        self.excess().abs() <= self.tolerance
    }

    /// Whether the excess is the gradient of `before`, the step before; `None` where that is too small to tell.
    pub(crate) fn is_excess_from(&self, before: &Self) -> Option<bool> {
        let tolerance = self.tolerance + before.tolerance;
        (before.bias.abs() > 2.0 * tolerance).then(|| (self.excess() - before.bias).abs() <= tolerance)
    }
}

#[allow(clippy::cast_precision_loss, reason = "elements of a tensor lie below 2^53")]
fn in_f64(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(bias: f64, given: f64) -> BiasSum {
        BiasSum { bias, given, tolerance: 1e-3 }
    }

    #[test]
    fn a_gradient_that_was_not_reset_holds_that_of_the_step_before() {
        let before = sum(0.5, 0.5);
        assert!(before.is_identity());
        let after = sum(0.8, 0.3);
        assert!(!after.is_identity() && after.is_excess_from(&before) == Some(true));
        assert_eq!(sum(0.3, 0.3).is_excess_from(&before), Some(false));
        assert_eq!(after.is_excess_from(&sum(1e-3, 1e-3)), None, "too small to tell");
    }

    #[test]
    fn what_is_not_known_by_mean_and_norm_has_no_sum() {
        let bias =
            TensorCopy { elements: 4, ..TensorCopy::from_statistics([Some(1.0), Some(0.0), Some(0.5), Some(1.2)]) };
        assert_eq!(OutputGradients::default().sum_against(&bias), None);
        let given = OutputGradients { sum: 2.0, bound: 3.0, is_known: Some(true) };
        assert!(given.sum_against(&bias).is_some_and(|sum| sum.is_identity()));
        assert_eq!(given.sum_against(&TensorCopy::from_statistics([Some(1.0), Some(0.0), None, None])), None);
    }
}
