//! Limits of operator tests so wide that a known defect passes.

use super::defect::{DEFECTS, KnownDefect};
use super::names::{MANY, OPERATIONS};
use crate::compare::operators::{OperatorLevel, error_floor};
use crate::error::{Error, ErrorKind, Result};
use crate::policy::operators::{ApiRule, LevelName, OperatorsPolicy};
use crate::policy::value::Tolerance;
use crate::verdict::CheckId;

/// The check of these limits.
pub(super) const CHECK: CheckId = CheckId::Operators;
/// Types whose floors the limits are held against; the coarsest has the smallest ratios.
const DTYPES: [&str; 3] = ["float32", "float16", "bfloat16"];

/// Refuses limits for all operators that let a known defect pass.
///
/// # Errors
/// `Policy`, with the limit and the defect.
pub(super) fn refuse_blind(policy: &OperatorsPolicy) -> Result<()> {
    let blind = policy.limits.iter().filter(|rule| !names_operators(rule)).find_map(|rule| Some((rule, passes(rule)?)));
    let Some((rule, defect)) = blind else { return Ok(()) };
    let message = format!("the limit of `{}` is so wide that a known defect passes: {}", rule.selector(), defect.what);
    Err(Error::new(ErrorKind::Policy, "operators.limits", message)
        .with_help("narrow it, or name the few operators that need it: `api: 'Functional.gelu.*'`"))
}

/// Limits for named operators that are as wide, each with the defect.
pub(super) fn wide_limits(policy: &OperatorsPolicy) -> impl Iterator<Item = (String, &'static KnownDefect)> {
    let named = policy.limits.iter().filter(|rule| names_operators(rule));
    named.filter_map(|rule| Some((rule.selector(), passes(rule)?)))
}

fn names_operators(rule: &ApiRule) -> bool {
    let fitted = |rule: &ApiRule| OPERATIONS.iter().filter(|name| rule.fits(name, rule.direction)).count();
    rule.api.is_some() && fitted(rule) < MANY
}

/// The largest known defect that a rule lets pass. On values of unit scale, the root mean square error and the mean relative
/// error both equal the defect's size.
fn passes(rule: &ApiRule) -> Option<&'static KnownDefect> {
    let level = match rule.level {
        Some(LevelName::L2) => OperatorLevel::L2,
        Some(LevelName::L1) => OperatorLevel::L1,
        Some(LevelName::L0) | None => OperatorLevel::L0,
    };
    let limit = |given: Option<Tolerance>, built_in: f64| given.map_or(built_in, Tolerance::get);
    let rmse = limit(rule.rmse_ratio, level.limits().rmse);
    let mean_rel = limit(rule.mean_rel_ratio, level.limits().mean_rel);
    let floors = || DTYPES.into_iter().filter_map(error_floor);
    let is_seen = |defect: &KnownDefect| floors().all(|floor| defect.size / floor > rmse.min(mean_rel));
    DEFECTS.iter().rev().find(|defect| !is_seen(defect))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;

    fn read(yaml: &str) -> OperatorsPolicy {
        Policy::parse("p.yml", &format!("operators: {yaml}"), &[]).expect("sound").operators
    }

    #[test]
    fn limits_for_everything_that_let_a_defect_pass_are_refused() {
        for yaml in [
            "{limits: [{rmse-ratio: 1e6, mean-rel-ratio: 1e6}]}",
            "{limits: [{api: '*', rmse-ratio: 30, mean-rel-ratio: 30}]}",
            "{limits: [{api: 'Functional.*', rmse-ratio: 1000, mean-rel-ratio: 1000}]}",
        ] {
            let error = refuse_blind(&read(yaml)).expect_err(yaml).to_string();
            assert!(error.contains("operators.limits: the limit of"), "{error}");
        }
    }

    #[test]
    fn limits_that_see_the_defects_or_name_operators_are_accepted() {
        for yaml in [
            "{}",
            "{limits: [{level: L0}]}",
            "{limits: [{rmse-ratio: 10, mean-rel-ratio: 10, max-rel-ratio: 1000}]}",
            "{limits: [{rmse-ratio: 1e6}]}",
            "{limits: [{api: 'Functional.gelu.*', rmse-ratio: 1e6, mean-rel-ratio: 1e6}]}",
        ] {
            refuse_blind(&read(yaml)).expect(yaml);
        }
        let wide = read("{limits: [{api: 'Functional.gelu.*', rmse-ratio: 1e6, mean-rel-ratio: 1e6}]}");
        assert_eq!(wide_limits(&wide).count(), 1);
    }
}
