//! Limits so wide that a known defect passes.
//!
//! A limit replaces the built-in one, and may be wider for an operation that is known to need it. A limit that applies to
//! every operation and lets a defect of known size pass would switch the check off, so it is refused. Such a limit for named
//! operations is only reported. Defects are sized on a tensor of unit scale, so that `absolute` can be compared too.

mod defect;
mod evaluation;
mod names;
mod operators;

use super::outcome::CheckOutcome;
use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind, Result};
use crate::judge::dump::limits::{ErrorBand, band_of_dtype};
use crate::judge::partial_coverage::LIMIT_WIDE;
use crate::judge::rule::policy::SELECTOR_UNUSED;
use crate::policy::Policy;
use crate::policy::checkpoint::ParameterRule;
use crate::policy::dump::{DirectionName, LimitRule};
use crate::policy::value::{Pattern, Tolerance};
use crate::result::finding::Finding;
use crate::verdict::{CheckId, Verdict};
use names::{MANY, OPERATIONS, PARAMETERS};

pub(super) use defect::{DEFECTS, KnownDefect};

/// Types whose limits are compared with the defects. Types of eight bits are missing: they round as coarsely as some defects.
const DTYPES: [Dtype; 4] = [Dtype::F64, Dtype::F32, Dtype::F16, Dtype::BF16];

/// The keys of the policy with limits, in the order of [`KnownDefect::cases`].
pub(super) const KEYS: [&str; 2] = [DUMP, CHECKPOINT];
const DUMP: &str = "dump.limits";
const CHECKPOINT: &str = "checkpoint.limits";
const MONITOR: &str = "monitor.limits";

/// A limit of the policy for dumps, checkpoints or monitors.
struct Limit {
    /// The key of the policy that holds it: the check, and `limits`.
    key: &'static str,
    name: String,
    is_named: bool,
    dtypes: Vec<Dtype>,
    /// Limits `noise`, `wrong` and `absolute` of errors relative to scale.
    given: [Option<Tolerance>; 3],
    by_scale: bool,
    /// Limits that count elements.
    elements: LimitRule,
}

fn limits(policy: &Policy) -> Vec<Limit> {
    let of_dumps = policy.dump.limits.iter().map(|rule| Limit {
        key: DUMP,
        name: rule.selector(),
        is_named: names_operations(rule),
        dtypes: dtypes(rule.dtype.map(|dtype| dtype.0)),
        given: [rule.noise, rule.wrong, rule.absolute],
        by_scale: rule.judges_scale(),
        elements: rule.clone(),
    });
    let of_checkpoints = policy.checkpoint.limits.iter().map(|rule| Limit {
        key: CHECKPOINT,
        name: rule.selector(),
        is_named: names_parameters(rule),
        dtypes: dtypes(rule.dtype.map(|dtype| dtype.0)),
        given: [rule.noise, rule.wrong, rule.absolute],
        by_scale: true,
        elements: LimitRule::default(),
    });
    let of_monitors = policy.monitor.limits.iter().map(|rule| Limit {
        key: MONITOR,
        name: rule.selector(),
        is_named: names_tensors(rule.name.as_ref()),
        dtypes: dtypes(None),
        given: [rule.noise, rule.wrong, None],
        by_scale: true,
        elements: LimitRule::default(),
    });
    of_dumps.chain(of_checkpoints).chain(of_monitors).collect()
}

/// The types that a limit is for, of those that are compared with the defects.
fn dtypes(wanted: Option<Dtype>) -> Vec<Dtype> {
    DTYPES.into_iter().filter(|dtype| wanted.is_none_or(|wanted| wanted == *dtype)).collect()
}

fn names_operations(rule: &LimitRule) -> bool {
    let Some(pattern) = &rule.op else { return false };
    let wanted = [DirectionName::Forward, DirectionName::Backward];
    let wanted = wanted.into_iter().filter(|direction| rule.direction.is_none_or(|only| only == *direction));
    let scoped = |name: &str, direction| match (name.starts_with("Module."), direction) {
        (true, DirectionName::Forward) => name.to_owned(),
        (true, DirectionName::Backward) => name.replace(".forward.", ".backward."),
        (false, DirectionName::Forward) => format!("{name}.forward"),
        (false, DirectionName::Backward) => format!("{name}.backward"),
    };
    let fitted = |direction| OPERATIONS.iter().filter(|name| pattern.matches(&scoped(name, direction))).count();
    wanted.map(fitted).max().unwrap_or_default() < MANY
}

fn names_parameters(rule: &ParameterRule) -> bool {
    names_tensors(rule.parameter.as_ref())
}

/// Whether a pattern names some parameters, or tensors of their modules.
fn names_tensors(pattern: Option<&Pattern>) -> bool {
    let of_module = |name: &str| name.rsplit_once('.').map_or(String::new(), |(module, _)| format!("{module}.output"));
    let count = |pattern: &Pattern| {
        let fitted = |names: Vec<String>| names.iter().filter(|name| pattern.matches(name)).count();
        let outputs = PARAMETERS.iter().map(|name| of_module(name)).collect();
        fitted(PARAMETERS.iter().map(|name| (*name).to_owned()).collect()).max(fitted(outputs))
    };
    pattern.is_some_and(|pattern| count(pattern) < MANY)
}

impl Limit {
    /// Mildest verdict on a defect over all types of the limit.
    fn verdict(&self, defect: &KnownDefect) -> Verdict {
        self.dtypes.iter().map(|dtype| self.verdict_in(defect, *dtype)).min().unwrap_or(Verdict::Fail)
    }

    fn verdict_in(&self, defect: &KnownDefect, dtype: Dtype) -> Verdict {
        let [noise, wrong, absolute] = self.given;
        if absolute.is_some_and(|absolute| defect.size <= absolute.get()) {
            return Verdict::Pass;
        }
        let by_scale = || verdict(defect.size, band_of_dtype(Some(dtype)), [noise, wrong]);
        let of_scale = if self.by_scale { by_scale() } else { Verdict::Pass };
        if misses(&self.elements, defect) { Verdict::Fail } else { of_scale }
    }

    /// The largest known defect that the limit lets pass.
    fn passes(&self) -> Option<&'static KnownDefect> {
        DEFECTS.iter().rev().find(|defect| self.verdict(defect) == Verdict::Pass)
    }
}

/// Whether a defect of every element lies beyond a limit that counts elements.
fn misses(limit: &LimitRule, defect: &KnownDefect) -> bool {
    limit.tolerance().is_some_and(|[relative, absolute]| defect.size > relative + absolute)
        || limit.cosine.is_some_and(|least| defect.cosine < least.get())
        || limit.max_relative.is_some_and(|most| defect.size > most.get())
}

fn verdict(size: f64, band: ErrorBand, [noise, wrong]: [Option<Tolerance>; 2]) -> Verdict {
    let noise = noise.map_or(band.noise, Tolerance::get);
    let wrong = wrong.map_or(band.wrong, Tolerance::get).max(noise);
    if size <= noise {
        Verdict::Pass
    } else if size > wrong {
        Verdict::Fail
    } else {
        Verdict::Warn
    }
}

/// Refuses limits for all operations or parameters that let a known defect pass.
///
/// # Errors
/// `Policy`, with the limit and the defect.
pub(super) fn refuse_blind(policy: &Policy) -> Result<()> {
    evaluation::refuse_blind(&policy.evaluation)?;
    operators::refuse_blind(&policy.operators)?;
    let mut blind = limits(policy).into_iter().filter(|limit| !limit.is_named);
    let Some((limit, defect)) =
        blind.find_map(|limit| Some((limit.passes()?, limit))).map(|(defect, limit)| (limit, defect))
    else {
        return Ok(());
    };
    let name = if limit.name.is_empty() { "*" } else { &limit.name };
    let message = format!("the limit of `{name}` is so wide that a known defect passes: {}", defect.what);
    Err(Error::new(ErrorKind::Policy, limit.key, message).with_help(
        "narrow it, or name the few operations or parameters that need it; `precision-gate selftest` tries limits out",
    ))
}

/// Findings about limits for named operations or parameters that let a known defect pass, of those limits that were used.
pub(super) fn wide_limits(part: &CheckOutcome, policy: &Policy) -> Vec<Finding> {
    let is_idle = |name: &str| {
        part.observations
            .iter()
            .map(|one| &one.finding)
            .any(|finding| finding.is(&SELECTOR_UNUSED) && finding.place == name)
    };
    let fitted = limits(policy)
        .into_iter()
        .filter(|limit| limit.key.split('.').next() == Some(part.check.id.as_str()) && !is_idle(&limit.name));
    let wide = fitted.filter(|_| !part.check.units.is_empty()).filter_map(|limit| Some((limit.passes()?, limit)));
    let finding =
        |name: &str, defect: &str| Finding::new(&LIMIT_WIDE, name).of_check(part.check.id).with("defect", defect);
    let mut findings: Vec<Finding> = wide.map(|(defect, limit)| finding(&limit.name, defect.code)).collect();
    if part.check.id == CheckId::Evaluation && !part.check.units.is_empty() {
        let wide = evaluation::wide_margins(&policy.evaluation).filter(|key| !is_idle(key));
        findings.extend(wide.map(|key| finding(key, evaluation::ANSWERS)));
    }
    if part.check.id == operators::CHECK && !part.check.units.is_empty() {
        let wide = operators::wide_limits(&policy.operators).filter(|(name, _)| !is_idle(name));
        findings.extend(wide.map(|(name, defect)| finding(&name, defect.code)));
    }
    findings
}

/// Verdict of the limits for all operations, or all parameters, on a defect; of the built-in ones where there are none.
pub(super) fn by_global_limits(key: &str, defect: &KnownDefect, policy: &Policy) -> Verdict {
    let limits = limits(policy).into_iter().filter(|limit| limit.key == key && !limit.is_named);
    let built_in = DTYPES.into_iter().map(|dtype| verdict(defect.size, band_of_dtype(Some(dtype)), [None; 2]));
    limits.map(|limit| limit.verdict(defect)).chain(built_in).min().unwrap_or(Verdict::Fail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(yaml: &str) -> Option<String> {
        let policy = Policy::parse("p.yml", yaml, &[]).expect("sound");
        refuse_blind(&policy).err().map(|error| error.to_string())
    }

    #[test]
    fn limits_for_everything_that_let_a_defect_pass_are_refused() {
        for limits in [
            "dump: {limits: [{op: '*', noise: 100, wrong: 1000}]}",
            "dump: {limits: [{noise: 0.2}]}",
            "dump: {limits: [{absolute: 1}]}",
            "dump: {limits: [{op: 'Functional.*', noise: 1}]}",
            "dump: {limits: [{op: '*', direction: backward, noise: 2}]}",
            "dump: {limits: [{op: '{Functional,Tensor,Torch}.*.forward', noise: 2}]}",
            "dump: {limits: [{op: 'Module.*', noise: 2}]}",
            "dump: {limits: [{op: '[A-Z]*', noise: 2}]}",
            "dump: {limits: [{dtype: float32, noise: 2}]}",
            "dump: {limits: [{rtol: 0.1, atol: 0.1}]}",
            "dump: {limits: [{rtol: 0.1, atol: 0.1, misses: 0.5}]}",
            "dump: {limits: [{op: '*', cosine: 0.99}]}",
            "dump: {limits: [{max-relative: 0.5}]}",
            "dump: {limits: [{rtol: 1e-3, atol: 1e-5, absolute: 1}]}",
            "dump: {limits: [{op: 'Functional.softmax.*', noise: 1}, {noise: 1}]}",
            "checkpoint: {limits: [{parameter: '*', noise: 10, wrong: 100}]}",
            "checkpoint: {limits: [{parameter: '*.weight', noise: 10}]}",
            "checkpoint: {limits: [{absolute: 9}]}",
            "monitor: {limits: [{noise: 0.2}]}",
            "monitor: {limits: [{name: '*.output', kind: actv, noise: 1}]}",
        ] {
            let error = refused(limits).unwrap_or_else(|| panic!("{limits} is accepted"));
            assert!(error.contains("so wide that a known defect passes"), "{error}");
        }
    }

    #[test]
    fn limits_that_see_the_defects_or_name_operations_are_accepted() {
        for limits in [
            "dump: {limits: [{op: 'Functional.linear.*', noise: 100}]}",
            "dump: {limits: [{op: '*softmax*', direction: backward, noise: 100}]}",
            "dump: {limits: [{op: '*', noise: 1.0e-3, wrong: 0.1, absolute: 1.0e-6}]}",
            "dump: {limits: [{noise: 0.1}]}",
            "dump: {limits: [{rtol: 1e-3, atol: 1e-5}]}",
            "dump: {limits: [{rtol: 1e-3, atol: 1e-5, misses: 0.001, cosine: 0.9}]}",
            "dump: {limits: [{cosine: 0.99, wrong: 0.1}]}",
            "dump: {limits: [{max-relative: 0.1}]}",
            "dump: {limits: [{dtype: float8_e5m2, noise: 0.5, wrong: 1.5}]}",
            "checkpoint: {limits: [{parameter: '*.bias', noise: 10}]}",
            "checkpoint: {limits: [{noise: 0.01, wrong: 0.1}]}",
            "monitor: {limits: [{name: '*.router.output', noise: 1}, {noise: 0.01}]}",
            "loss: {mode: auto}",
        ] {
            assert_eq!(refused(limits), None, "{limits}");
        }
    }
}
