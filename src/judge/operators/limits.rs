//! Limits of an operator: from the policy, else from its level.

use crate::compare::operators::{OperatorLevel, PerRatio};
use crate::kind::Direction;
use crate::policy::dump::DirectionName;
use crate::policy::operators::{LevelName, OperatorsPolicy};
use crate::policy::value::Tolerance;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OperatorLimits {
    /// Its level.
    pub(super) level: OperatorLevel,
    /// The largest ratios.
    pub(super) ratios: PerRatio<f64>,
    /// Index of the policy's rule that decided; `None` where the built-in level did.
    pub(super) rule: Option<usize>,
}

/// Limits of `api` in a direction.
pub(super) fn limits(api: &str, direction: Direction, policy: &OperatorsPolicy) -> OperatorLimits {
    let direction = match direction {
        Direction::Forward => DirectionName::Forward,
        Direction::Backward => DirectionName::Backward,
    };
    let own = policy.limits.iter().enumerate().find(|(_, rule)| rule.fits(api, Some(direction)));
    let Some((place, rule)) = own else {
        let level = OperatorLevel::from_api(api);
        return OperatorLimits { level, ratios: level.limits(), rule: None };
    };
    let level = rule.level.map_or_else(|| OperatorLevel::from_api(api), named);
    let built_in = level.limits();
    let limit = |given: Option<Tolerance>, built_in: f64| given.map_or(built_in, Tolerance::get);
    let ratios = PerRatio {
        rmse: limit(rule.rmse_ratio, built_in.rmse),
        mean_rel: limit(rule.mean_rel_ratio, built_in.mean_rel),
        small: limit(rule.small_ratio, built_in.small),
        max_rel: limit(rule.max_rel_ratio, built_in.max_rel),
    };
    OperatorLimits { level, ratios, rule: Some(place) }
}

fn named(name: LevelName) -> OperatorLevel {
    match name {
        LevelName::L0 => OperatorLevel::L0,
        LevelName::L1 => OperatorLevel::L1,
        LevelName::L2 => OperatorLevel::L2,
    }
}
