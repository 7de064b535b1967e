//! Was a result judged by the target's policy? Its profile, modes, presets and limits.

use super::curve::limits_of;
use super::evaluation;
use super::limits::{Due, due};
use super::operators;
use super::performance;
use super::refusal::{Checked, demand, shown};
use super::said::Said;
use super::trend;
use crate::dtype::Dtype;
use crate::gate::baseline_name::SCHEME;
use crate::judge::apply_policy::decide;
use crate::judge::dump::element_limits::{ALLCLOSE, COSINE, KINDS};
use crate::judge::dump::limits::band;
use crate::judge::dump::rules;
use crate::judge::loss::limits::Limits;
use crate::judge::loss::mode::Weights;
use crate::judge::loss::own_policy;
use crate::judge::partial_coverage;
use crate::judge::register;
use crate::kind::Role;
use crate::policy::Policy;
use crate::policy::dump::{LeastCosine, LimitRule, MissedShare};
use crate::policy::loss::{Kind, Mode};
use crate::policy::value::Tolerance;
use crate::read::metric;
use crate::result::GateResult;
use crate::result::number::Number;
use crate::result::outcome::RuleOutcome;
use crate::result::unit::{CheckpointUnit, CurveUnit, DumpUnit, MonitorUnit, Unit};
use crate::verdict::{Profile, Severity, Verdict};

/// Floating-point types that a parameter can have.
const FLOATS: [Dtype; 6] = [Dtype::F64, Dtype::F32, Dtype::F16, Dtype::BF16, Dtype::F8E4M3, Dtype::F8E5M2];

/// Refuses a result that was judged by a milder policy, or by other limits.
pub(super) fn check(result: &GateResult, said: &Said<'_>, policy: &Policy) -> Checked {
    demand(is_as_severe(result.profile, policy.profile), "profile", || {
        let [found, wanted] = [result.profile, policy.profile].map(word);
        format!("was judged by the profile `{found}`, and the target's policy says `{wanted}`")
    })?;
    trend::kind(result, policy)?;
    let has_noise = !policy.loss.noise.0.is_empty() || policy.baseline.location.starts_with(SCHEME);
    for check in &result.checks {
        for unit in &check.units {
            let at = format!("checks.{}, {}", check.id.as_str(), shown(&unit.name()));
            match unit {
                Unit::Curve(unit) => curve(unit, policy, has_noise, &at)?,
                Unit::Dump(unit) => dump(result, unit, policy, &at)?,
                Unit::Checkpoint(unit) => checkpoint(unit, policy, &at)?,
                Unit::Monitor(unit) => monitor(unit, policy, &at)?,
                Unit::Operators(unit) => operators::fits(unit, result, policy, &at)?,
                // Judged with all of its check, whose tests count.
                Unit::Evaluation(_) | Unit::Generation(_) | Unit::Source(_) => {}
                Unit::Performance(unit) => performance::fits(unit, result, policy, &at)?,
            }
        }
        evaluation::fits(check, result, said, policy)?;
    }
    Ok(())
}

/// Whether nothing that fails under `wanted` passes under `found`.
fn is_as_severe(found: Profile, wanted: Profile) -> bool {
    use Profile::{BitExact, Default, Release, Strict};
    match wanted {
        Default => true,
        Strict => matches!(found, Strict | BitExact | Release),
        BitExact => found == BitExact,
        Release => found == Release,
    }
}

fn word(profile: Profile) -> &'static str {
    match profile {
        Profile::Default => "default",
        Profile::Strict => "strict",
        Profile::BitExact => "bit-exact",
        Profile::Release => "release",
    }
}

fn curve(unit: &CurveUnit, policy: &Policy, has_noise: bool, at: &str) -> Checked {
    let own = own_policy(&policy.loss.metrics, &unit.metric);
    let role = trend::role_of(unit);
    let ignored = own.is_some_and(|own| own.ignore);
    let counts = !ignored && role.is_judged();
    demand(!counts || unit.verdict != Verdict::Skipped, at, || "was not judged, and the policy judges it".into())?;
    if unit.verdict == Verdict::Skipped {
        return Ok(());
    }
    if metric::role(&unit.metric) == Role::Loss && !trend::is_alone(unit) {
        let wanted = policy.loss.preset.map_or("", |preset| preset.as_str());
        demand(unit.preset == wanted, at, || "was judged by a preset other than the policy's".into())?;
    }
    if trend::is_rl(unit) {
        let source = if policy.loss.kind == Kind::Rl { "declared" } else { "inferred" };
        demand(unit.mode_source == source, at, || "was judged in a mode other than the policy's".into())?;
        trend::limits(unit, has_noise, at)?;
        return unit.rules.iter().try_for_each(|outcome| limits(outcome, unit, policy, has_noise, at));
    }
    let declared = match policy.loss.mode {
        Mode::Auto => None,
        Mode::SameWeights => Some(Weights::Same.as_str()),
        Mode::OwnWeights => Some(Weights::Own.as_str()),
    };
    let fits = match declared {
        _ if unit.mode.is_empty() => true,
        Some(mode) => unit.mode == mode && unit.mode_source == "declared",
        None => unit.mode_source == "inferred",
    };
    demand(fits, at, || "was judged in a mode other than the policy's".into())?;
    unit.rules.iter().try_for_each(|outcome| limits(outcome, unit, policy, has_noise, at))
}

fn limits(outcome: &RuleOutcome, unit: &CurveUnit, policy: &Policy, has_noise: bool, at: &str) -> Checked {
    let found = limits_of(outcome);
    let fits = match due(&outcome.rule, unit, &policy.loss, has_noise) {
        Due::These(limits) => found == limits,
        Due::TheseOrNone(limits) => found == limits || found == Limits::NONE,
        Due::AtMost(most) => found.warn.is_none() && found.fail.is_some_and(|limit| limit <= most),
        Due::Unknown => true,
    };
    demand(fits, at, || format!("the rule {} has other limits than the target's policy", shown(&outcome.rule)))
}

/// A published rule that the policy chose has to have decided, and limits that count elements have to be its own.
fn dump(result: &GateResult, unit: &DumpUnit, policy: &Policy, at: &str) -> Checked {
    let foreign = unit.rules.iter().find(|outcome| !is_own_limit(outcome, policy));
    demand(foreign.is_none(), at, || "was judged by a limit that the target's policy does not hold".into())?;
    limit_is_applied(result, unit, policy, at)?;
    let Some(preset) = policy.dump.preset.filter(|_| !unit.data.is_empty()) else { return Ok(()) };
    let needs_data = super::said::everything(result).any(|finding| finding.code == rules::PRESET_NEEDS_DATA.code);
    let by_it = unit.rules.iter().any(|outcome| outcome.rule == preset.as_str());
    demand(by_it || needs_data, at, || "was not judged by the policy's preset".into())
}

/// Whether an outcome is not that of a limit which counts elements, or is that of one in the policy.
fn is_own_limit(outcome: &RuleOutcome, policy: &Policy) -> bool {
    if !KINDS.contains(&outcome.rule.as_str()) {
        return true;
    }
    policy.dump.limits.iter().any(|rule| limit_of(rule, &outcome.rule) == outcome.fail)
}

/// The policy's limit of a kind that counts elements.
fn limit_of(rule: &LimitRule, kind: &str) -> Option<Number> {
    let limit = match kind {
        ALLCLOSE => rule.tolerance().map(|_| rule.misses.map_or(0.0, MissedShare::get)),
        COSINE => rule.cosine.map(LeastCosine::get),
        _ => rule.max_relative.map(Tolerance::get),
    };
    limit.map(Number)
}

/// A first limit for every operation was applied to the tensors of a unit, unless a finding says why their elements were not
/// counted.
fn limit_is_applied(result: &GateResult, unit: &DumpUnit, policy: &Policy, at: &str) -> Checked {
    let fits_all = |rule: &&LimitRule| rule.needs_elements() && rule.name().is_empty();
    let Some(rule) = policy.dump.limits.first().filter(fits_all).filter(|_| unit.compared > 0) else { return Ok(()) };
    let applied = |kind: &str| unit.rules.iter().any(|outcome| outcome.rule == kind);
    let is_applied = KINDS.into_iter().all(|kind| limit_of(rule, kind).is_none() || applied(kind));
    let uncounted = [
        &rules::LIMIT_NEEDS_DATA,
        &rules::TENSOR_UNREADABLE,
        &rules::DATA_MISSING,
        &rules::SHAPE_DIFFERS,
        &partial_coverage::CHECKSUMMED,
        &partial_coverage::NARROWED,
        &partial_coverage::STOPPED,
    ];
    let is_told =
        || super::said::everything(result).any(|finding| uncounted.iter().any(|rule| rule.code == finding.code));
    demand(is_applied || is_told(), at, || "was not judged by the policy's limit for all operations".into())
}

/// A rank is judged up to its culprit; what this policy lets through it has to have been judged beyond.
fn monitor(unit: &MonitorUnit, policy: &Policy, at: &str) -> Checked {
    let Some(culprit) = &unit.culprit else { return Ok(()) };
    let severity = register::find(&culprit.code).map_or(Severity::Fail, |rule| rule.severity);
    demand(decide(&culprit.code, &culprit.tensor, severity, policy).counts(), at, || {
        format!("was judged up to {}, which the target's policy lets through", shown(&culprit.tensor))
    })
}

/// Without limits of the policy's own, those of a parameter are the ones of an element type.
fn checkpoint(unit: &CheckpointUnit, policy: &Policy, at: &str) -> Checked {
    if !policy.checkpoint.limits.is_empty() {
        return Ok(());
    }
    let known = |outcome: &RuleOutcome| {
        FLOATS.iter().map(|dtype| band(Some(*dtype))).any(|band| {
            outcome.warn == Some(Number(band.noise)) && outcome.fail == Some(Number(band.wrong.max(band.noise)))
        })
    };
    let other = unit.rules.iter().find(|outcome| !known(outcome));
    demand(other.is_none(), at, || {
        format!("{} has other limits than the target's policy", shown(other.map_or("", RuleOutcome::subject)))
    })
}
