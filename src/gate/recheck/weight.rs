//! Least severity of a finding by its code and by the numbers beside it, before any policy.

use super::said::{number, text};
use super::source;
use crate::dtype::Dtype;
use crate::gate::monitor::shares;
use crate::judge::dump::limits::{Band, band};
use crate::judge::dump::rules as dump;
use crate::judge::evaluation::generations::severity_of;
use crate::judge::evaluation::rules as evaluation;
use crate::judge::loss::completeness::{COVERAGE, must_be_whole};
use crate::judge::loss::{code, rl};
use crate::judge::monitor::precision::Precision;
use crate::judge::monitor::rules as monitor;
use crate::judge::register;
use crate::judge::rule::{Rule, artifacts};
use crate::judge::{checkpoint, config, location, partial_coverage};
use crate::kind::Role;
use crate::policy::Policy;
use crate::read::metric::{role, role_in_rl};
use crate::result::finding::{Fact, Finding};
use crate::result::outcome::RuleOutcome;
use crate::verdict::{Profile, Severity, Verdict};

/// Floating-point types, by whose noise a limit is recognised.
const FLOATS: [Dtype; 6] = [Dtype::F64, Dtype::F32, Dtype::F16, Dtype::BF16, Dtype::F8E4M3, Dtype::F8E5M2];

/// The least that `finding` weighs; `rules` are those of its unit, and `in_rl` says whether the runs are of reinforcement
/// learning. A code that does not exist weighs most.
pub(super) fn least(finding: &Finding, rules: &[RuleOutcome], in_rl: bool, policy: &Policy) -> Severity {
    let Some(rule) = register::find(&finding.code) else { return Severity::Fail };
    let is = |other: &Rule| rule.code == other.code;
    let strict = policy.profile == Profile::Strict || policy.profile == Profile::BitExact;
    let numeric = [&dump::OUTPUT_DIVERGES, &dump::OTHER_PRECISION, &dump::INPUT_DIFFERS];
    if policy.dump.preset.is_some() && numeric.iter().any(|rule| is(rule)) {
        // A chosen preset decides about numbers; what the gate itself thinks of them is shown.
        return Severity::Info;
    }
    let strict_ones = [
        &dump::OTHER_PRECISION,
        &dump::NEAR_TIE,
        &dump::CHECKSUM_DIFFERS,
        &dump::INPUT_DIFFERS,
        &checkpoint::rules::DRIFTS,
    ];
    if policy.profile == Profile::Strict && strict_ones.iter().any(|rule| is(rule)) {
        return Severity::Fail;
    }
    match () {
        () if is(&dump::INPUT_DIFFERS) => of_input(finding, policy),
        () if is(&dump::CHECKSUM_DIFFERS) => of_checksum(finding),
        () if is(&checkpoint::rules::DTYPE_DIFFERS) => of_dtypes(finding, policy),
        () if is(&partial_coverage::CHECKSUMMED) && number(finding, "unequal").is_some_and(|unequal| unequal > 0.0) => {
            Severity::Warn
        }
        () if is(&artifacts::SIDES_IDENTICAL) && policy.profile == Profile::Release => Severity::Fail,
        () if is(&location::UNPROVED) && policy.profile == Profile::Release => Severity::Incomplete,
        () if is(&config::rules::PIP_RULE_BROKEN) => {
            let weights = policy.config.pip.rules.iter().map(|rule| rule.severity);
            weights.map(|severity| severity.unwrap_or(rule.severity)).min().unwrap_or(rule.severity)
        }
        () if is(&config::rules::ENV_REQUIRED_VALUE) => {
            let weights = policy.config.env.required.iter().map(|rule| rule.severity);
            weights.map(|severity| severity.unwrap_or(rule.severity)).min().unwrap_or(rule.severity)
        }
        () if rule.check == crate::verdict::CheckId::Evaluation => of_evaluation(finding, rule, policy),
        () if is(&monitor::JUMP) => of_jump(finding, policy),
        () if is(&monitor::STEPS_MISSING) || is(&monitor::NAMES_MISSING) => of_missing_rows(finding, rule),
        () if rule.check == crate::verdict::CheckId::Performance => super::performance::weight(finding, rule, rules),
        () if rule.check == crate::verdict::CheckId::Source => source::least(finding, rule, policy),
        () if rule.check == crate::verdict::CheckId::History => Severity::Info,
        () if rule.check == crate::verdict::CheckId::Loss => of_curve(finding, rule, rules, in_rl, strict),
        () => rule.severity,
    }
}

/// An input fails where its error is beyond the wrong limit of every type whose noise its limit may hold.
fn of_input(finding: &Finding, policy: &Policy) -> Severity {
    let (Some(error), Some(limit)) = (number(finding, "error"), number(finding, "limit")) else {
        return Severity::Fail;
    };
    let fits = |band: &Band| band.noise <= limit * (1.0 + 1e-9);
    let wrong = FLOATS.iter().map(|dtype| band(Some(*dtype))).filter(fits).map(|band| band.wrong).fold(0.0, f64::max);
    let within = error <= wrong || !policy.dump.limits.is_empty();
    if within && error.is_finite() { Severity::Warn } else { Severity::Fail }
}

/// A row of a monitor that jumps warns up to the error that is wrong for its type.
fn of_jump(finding: &Finding, policy: &Policy) -> Severity {
    let numbers = (number(finding, "error"), number(finding, "limit"), number(finding, "wrong"));
    let (Some(error), Some(limit), Some(wrong)) = numbers else { return Severity::Fail };
    let is_of_type = Precision::ALL.into_iter().any(|precision| precision.wrong().to_bits() == wrong.to_bits());
    let is_known = is_of_type || !policy.monitor.limits.is_empty();
    if is_known && error <= wrong.max(limit) { Severity::Warn } else { Severity::Fail }
}

fn of_evaluation(finding: &Finding, rule: &Rule, policy: &Policy) -> Severity {
    let is = |other: &Rule| rule.code == other.code;
    let exact = policy.profile == Profile::BitExact;
    let count = |name: &str| match finding.facts.get(name) {
        Some(Fact::Count(count)) => Some(*count),
        _ => None,
    };
    match () {
        () if is(&evaluation::DUPLICATE_SAMPLES) && count("contradictory") != Some(0) => Severity::Incomplete,
        () if is(&evaluation::SAMPLES_MISSING) && policy.evaluation.accept_scores => Severity::Info,
        () if is(&evaluation::NOT_DETECTABLE) && policy.profile == Profile::Release => Severity::Incomplete,
        () if exact && (is(&evaluation::ANSWERS_CHANGED) || is(&evaluation::UNEXPLAINED)) => Severity::Fail,
        () if !exact && (is(&evaluation::DIVERGES) || is(&evaluation::STOP_DIFFERS)) => {
            let parted = count("wrong").zip(count("compared"));
            parted.map_or(rule.severity, |(wrong, compared)| severity_of(wrong, compared))
        }
        () => rule.severity,
    }
}

/// Rows of a monitor that one side lacks, as a share of those that it should have.
fn of_missing_rows(finding: &Finding, rule: &Rule) -> Severity {
    let count = |name: &str| match finding.facts.get(name) {
        Some(Fact::Count(count)) => Some(*count),
        _ => None,
    };
    let rows = count("rows").zip(count("total"));
    rows.map_or(rule.severity, |(rows, total)| shares::severity(rule, rows, total))
}

/// Statistics beside a checksum may say that the difference is noise.
fn of_checksum(finding: &Finding) -> Severity {
    let within = number(finding, "error").zip(number(finding, "limit")).is_some_and(|(error, limit)| error <= limit);
    if within { Severity::Warn } else { Severity::Fail }
}

/// Another floating-point type is a warning, another kind of type is not.
fn of_dtypes(finding: &Finding, policy: &Policy) -> Severity {
    let float =
        |side: &str| text(finding, side).and_then(Dtype::parse).is_some_and(|dtype| dtype.unit_roundoff() > 0.0);
    let warns = float("baseline") && float("candidate") && policy.profile != Profile::BitExact;
    if warns { Severity::Warn } else { Severity::Fail }
}

fn of_curve(finding: &Finding, rule: &Rule, rules: &[RuleOutcome], in_rl: bool, strict: bool) -> Severity {
    let is = |other: &Rule| rule.code == other.code;
    let metric = finding.place.rsplit(": ").next().unwrap_or_default();
    let role = if in_rl { role_in_rl(metric) } else { role(metric) };
    let lead = must_be_whole(role, in_rl);
    let count = number(finding, "count").unwrap_or(f64::INFINITY);
    match () {
        () if is(&code::COVERAGE) => {
            // Above the share that is needed the rule only warns.
            let warns = rules.iter().any(|outcome| outcome.rule == COVERAGE && outcome.verdict == Verdict::Warn);
            let none = number(finding, "share").is_none_or(|share| share <= 0.0);
            if !warns && (lead || none) { Severity::Incomplete } else { Severity::Warn }
        }
        () if is(&code::NON_FINITE) => Severity::Fail,
        () if is(&code::NON_FINITE_BASELINE) && count.is_infinite() => Severity::Incomplete,
        () if is(&code::HIDDEN_FAILURE) => match text(finding, "side") {
            Some("both") => Severity::Warn,
            Some("baseline") => Severity::Incomplete,
            _ => Severity::Fail,
        },
        () if is(&code::ONE_SIDED) => {
            let needed = matches!(role, Role::Reward | Role::EvalScore | Role::GradNorm) && in_rl;
            if needed || role == Role::Loss { Severity::Incomplete } else { Severity::Warn }
        }
        () => of_outcome(finding, rule, rules).unwrap_or(if strict && is_measured(rule) {
            Severity::Fail
        } else {
            rule.severity
        }),
    }
}

/// Severity that follows from the rule outcome that the finding repeats; `None` where no outcome has its value.
fn of_outcome(finding: &Finding, rule: &Rule, rules: &[RuleOutcome]) -> Option<Severity> {
    let value = number(finding, "value")?;
    let same = |outcome: &&RuleOutcome| {
        let number = outcome.value.map_or(f64::NAN, |value| value.0);
        code_of(&outcome.rule).is_some_and(|code| code.code == rule.code)
            && (number.to_bits() == value.to_bits() || number.is_nan() && value.is_nan())
    };
    rules.iter().filter(same).filter_map(|outcome| severity(outcome.verdict)).min()
}

/// The severity that leads to a verdict; `None` where nothing is said.
pub(super) fn severity(verdict: Verdict) -> Option<Severity> {
    match verdict {
        Verdict::Fail => Some(Severity::Fail),
        Verdict::Incomplete => Some(Severity::Incomplete),
        Verdict::Warn => Some(Severity::Warn),
        Verdict::Pass | Verdict::Skipped => None,
    }
}

/// Whether findings of the code repeat a measured rule of their curve.
fn is_measured(rule: &Rule) -> bool {
    MEASURED.iter().chain(&rl::NAMES).any(|(_, code)| code.code == rule.code)
}

/// The measured rules of curves, with the codes of their findings.
const MEASURED: [(&str, &Rule); 21] = [
    ("bit_exact", &code::DIFFERENCE),
    ("step_1_rel", &code::STEP_1),
    ("head_max_rel", &code::HEAD),
    ("mean_rel", &code::MEAN),
    ("tail_signed_rel", &code::TAIL),
    ("spread", &code::SPREAD),
    ("outliers", &code::SPREAD),
    ("longest_run", &code::DEPARTURE),
    ("max_rel", &code::PEAK),
    ("abrupt_onset", &code::ONSET),
    ("spikes", &code::SPIKES),
    ("change_apart", &code::ORDER),
    ("median_rel", &code::MEAN),
    ("last_rel", &code::TAIL),
    ("grad_norm_mean_rel", &code::GRAD_NORM),
    ("learning_rate", &code::LEARNING_RATE),
    ("worse_mean", &code::WORSE),
    ("declared_mean_rel", &code::MEAN),
    ("declared_difference", &code::DIFFERENCE),
    ("declared_worse", &code::WORSE),
    ("mean_change", &code::DIFFERENCE),
];

/// The code of findings about a measured rule of a curve.
pub(super) fn code_of(rule: &str) -> Option<&'static Rule> {
    MEASURED.iter().chain(&rl::NAMES).find(|(name, _)| *name == rule).map(|(_, code)| *code)
}
