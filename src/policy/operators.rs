//! Operator tests: how the check of operators judges.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::dump::DirectionName;
use super::value::{Pattern, Tolerance};

/// A level of operators, as msprobe calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum LevelName {
    /// The widest limits.
    L0,
    /// Narrower ones.
    L1,
    /// The narrowest.
    L2,
}

/// Operator tests.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct OperatorsPolicy {
    /// Operators that are left out on both sides.
    pub ignore: Vec<Pattern>,
    /// Levels or limits of some operators in place of the built-in ones; the first that fits decides.
    pub limits: Vec<ApiRule>,
}

/// A level or limits for the operators a selector fits.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ApiRule {
    /// Operators by name: `Functional.gelu.*`.
    #[schemars(example = &"Functional.gelu.*")]
    pub api: Option<Pattern>,
    /// Direction.
    pub direction: Option<DirectionName>,
    /// Level, in place of that of the operator.
    pub level: Option<LevelName>,
    /// Largest ratio of the roots of the mean square errors.
    pub rmse_ratio: Option<Tolerance>,
    /// Largest ratio of the mean relative errors.
    pub mean_rel_ratio: Option<Tolerance>,
    /// Largest ratio of the shares of wrong elements near zero.
    pub small_ratio: Option<Tolerance>,
    /// Largest ratio of the largest relative errors; above it, an output is doubtful.
    pub max_rel_ratio: Option<Tolerance>,
}

impl ApiRule {
    /// Whether it fits an operator in a direction; `None` is a direction that the table does not name.
    pub fn fits(&self, api: &str, direction: Option<DirectionName>) -> bool {
        self.api.as_ref().is_none_or(|pattern| pattern.matches(api))
            && self.direction.is_none_or(|wanted| Some(wanted) == direction)
    }

    /// The selector, as people recognise it.
    pub fn selector(&self) -> String {
        let direction = self.direction.map(|direction| match direction {
            DirectionName::Forward => "forward".to_owned(),
            DirectionName::Backward => "backward".to_owned(),
        });
        let parts = [self.api.as_ref().map(|pattern| pattern.as_str().to_owned()), direction];
        let selector = parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
        if selector.is_empty() { "*".to_owned() } else { selector }
    }
}

impl OperatorsPolicy {
    /// Whether an operator is left out.
    pub fn ignores(&self, api: &str) -> bool {
        self.ignore.iter().any(|pattern| pattern.matches(api))
    }
}
