//! Does a curve contradict itself? Its rules against their limits, and its findings against its rules.

use std::collections::BTreeSet;

use super::outcome::{covered, held};
use super::refusal::{Checked, Contradiction, claims, demand, shown};
use super::said::{Key, Said, number};
use super::{series, trend, weight};
use crate::judge::loss::limits::Limits;
use crate::judge::loss::mode::Weights;
use crate::judge::loss::start::FORWARD_NOISE;
use crate::judge::loss::{code, completeness, rl};
use crate::judge::rule::Rule;
use crate::kind::Role;
use crate::policy::loss::preset::Preset;
use crate::result::finding::{Finding, verdict_of};
use crate::result::number::Number;
use crate::result::outcome::{Note, RuleOutcome};
use crate::result::unit::CurveUnit;
use crate::verdict::{Profile, Verdict};

/// The rule of a metric that nobody judges.
const SHOWN_ONLY: &str = "mean_change";
/// Rules about the level of a loss; a published rule may decide in their place.
const LEVEL: [&str; 12] = [
    "bit_exact",
    "step_1_rel",
    "head_max_rel",
    "mean_rel",
    "tail_signed_rel",
    "spread",
    "outliers",
    "longest_run",
    "max_rel",
    "abrupt_onset",
    "spikes",
    "change_apart",
];
/// Rules among these that a loss with values on both sides always has.
const ALWAYS: [&str; 7] = ["step_1_rel", "head_max_rel", "mean_rel", "tail_signed_rel", "spread", "max_rel", "spikes"];
/// Rules that never do worse than warn.
const WARNS: [&str; 4] = ["max_rel", "abrupt_onset", "spikes", "change_apart"];
/// Rules that do not do worse than warn where randomness explains them.
const EXPLAINED: [&str; 5] = ["head_max_rel", "mean_rel", "tail_signed_rel", "spread", "outliers"];
/// Two runs whose changes correlate from 0.9 on may differ by randomness alone.
const TOGETHER: f64 = 0.1 + 1e-12;

/// A curve and what is said of it.
struct Curve<'a> {
    unit: &'a CurveUnit,
    findings: Vec<&'a Finding>,
    profile: Profile,
    at: &'a str,
}

/// Refuses a curve that contradicts itself.
pub(super) fn check(unit: &CurveUnit, key: &Key, said: &Said<'_>, profile: Profile, at: &str) -> Checked {
    series::check(unit, at)?;
    let curve = Curve { unit, findings: said.all(key).collect(), profile, at };
    curve.names()?;
    curve.evidence()?;
    demand(unit.role.is_none_or(|role| role == curve.role()), at, || "has a role that its name does not give".into())?;
    if unit.verdict == Verdict::Skipped {
        let shown_only = unit.rules.iter().all(|outcome| outcome.rule == SHOWN_ONLY) && curve.findings.is_empty();
        return demand(shown_only, at, || "is skipped, and has rules or findings that count".into());
    }
    claims(unit.verdict, verdict_of(said.counting(key).iter().copied()), at)?;
    unit.rules.iter().try_for_each(|outcome| curve.rule(outcome))?;
    curve.findings.iter().try_for_each(|finding| curve.finding(finding))?;
    curve.mode()?;
    curve.complete()
}

impl Curve<'_> {
    fn role(&self) -> Role {
        trend::role_of(self.unit)
    }

    fn is_rl(&self) -> bool {
        trend::is_rl(self.unit)
    }

    /// Whether its values are held to be equal to the last bit.
    fn is_exact(&self) -> bool {
        let settings = matches!(self.role(), Role::LearningRate | Role::Constant);
        self.profile == Profile::BitExact && self.role().is_judged() && !settings
    }

    fn says(&self, rule: &Rule) -> bool {
        self.findings.iter().any(|finding| finding.code == rule.code)
    }

    fn value(&self, rule: &str) -> Option<f64> {
        let outcome = self.unit.rules.iter().find(|outcome| outcome.rule == rule)?;
        outcome.value.map(|value| value.0)
    }

    /// Every paired step is in one state; a window counts as the steps it covers.
    fn evidence(&self) -> Checked {
        let states = &self.unit.evidence;
        demand(states.is_empty() || states.total() >= self.unit.paired, self.at, || {
            "its evidence does not add up to its paired steps".into()
        })
    }

    /// Rules are named once.
    fn names(&self) -> Checked {
        let names: BTreeSet<&str> = self.unit.rules.iter().map(|outcome| outcome.rule.as_str()).collect();
        demand(names.len() == self.unit.rules.len(), self.at, || "has a rule twice".into())
    }

    fn rule(&self, outcome: &RuleOutcome) -> Checked {
        let at = format!("{}, rule {}", self.at, shown(&outcome.rule));
        let follows = match outcome.rule.as_str() {
            completeness::COVERAGE => self.coverage(outcome, &at)?,
            SHOWN_ONLY if outcome.verdict == Verdict::Skipped => None,
            "non_finite" => self.count(outcome, &at, &code::NON_FINITE)?,
            "hidden_failure" => self.count(outcome, &at, &code::HIDDEN_FAILURE)?,
            name => match name.strip_prefix("preset:") {
                Some(preset) => self.preset(outcome, preset, &at)?,
                None => self.measured(outcome, &at)?,
            },
        };
        let Some(rule) = follows.filter(|_| outcome.verdict > Verdict::Pass) else { return Ok(()) };
        demand(self.says(rule), &at, || format!("fails, but there is no finding `{}`", rule.code))
    }

    /// A value against its limits; the code that a finding about it has, where it counts.
    fn measured(&self, outcome: &RuleOutcome, at: &str) -> Followed {
        let name = outcome.rule.as_str();
        let unknown = || Contradiction::new(at, "the rule does not exist");
        let rule = weight::code_of(name).filter(|_| name != SHOWN_ONLY).ok_or_else(unknown)?;
        let value = outcome.value.ok_or_else(|| Contradiction::new(at, "has no value"))?.0;
        held(outcome, at)?;
        let is_trend = self.is_rl() && rl::NAMES.iter().any(|(rule, _)| *rule == name);
        let is_level = if self.is_rl() { is_trend } else { LEVEL.contains(&name) && self.role() == Role::Loss };
        let not_judged = is_level && self.says(&code::NOT_JUDGED);
        let beside = outcome.note(Note::BESIDE_PRESET).is_some();
        demand(beside == (is_level && !not_judged && !self.unit.preset.is_empty()), at, || {
            "is shown next to a preset that did not decide, or decides next to one".into()
        })?;
        if not_judged {
            demand(outcome.verdict == Verdict::Skipped, at, || "has a verdict, and the loss was not judged".into())?;
            return Ok(None);
        }
        demand(self.allowed(outcome, value).contains(&outcome.verdict), at, || {
            format!("says {}, which does not follow from its value and limits", outcome.verdict.as_str())
        })?;
        Ok((!beside).then_some(rule))
    }

    /// The verdicts that a value leads to: one, or the milder one too where randomness may explain it.
    fn allowed(&self, outcome: &RuleOutcome, value: f64) -> Vec<Verdict> {
        let (name, limits) = (outcome.rule.as_str(), limits_of(outcome));
        let strict = matches!(self.profile, Profile::Strict | Profile::BitExact);
        let profile = |verdict| if strict && verdict == Verdict::Warn { Verdict::Fail } else { verdict };
        let raw = outcome.direction.verdict(value, limits.warn, limits.fail);
        if WARNS.contains(&name) && self.role() == Role::Loss {
            return vec![profile(raw.min(Verdict::Warn))];
        }
        let mut allowed = vec![profile(raw)];
        if EXPLAINED.contains(&name) && self.role() == Role::Loss && self.may_be_random() {
            allowed.push(profile(raw.min(Verdict::Warn)));
        }
        allowed
    }

    /// Whether what is measured lets randomness explain the differences.
    fn may_be_random(&self) -> bool {
        let declared_same = self.unit.mode_source == "declared" && self.unit.mode == Weights::Same.as_str();
        let together = self.value("change_apart").is_some_and(|apart| apart <= TOGETHER);
        let outcome = self.unit.rules.iter().find(|outcome| outcome.rule == "mean_rel");
        let warns = outcome.and_then(|outcome| Some(outcome.value?.0 > outcome.warn?.0)).unwrap_or(false);
        let preset = !self.unit.preset.is_empty();
        !declared_same && together && (!warns || preset || self.says(&code::RANDOMNESS))
    }

    fn coverage(&self, outcome: &RuleOutcome, at: &str) -> Followed {
        held(outcome, at)?;
        let (both, of) =
            covered(outcome).ok_or_else(|| Contradiction::new(at, "does not say how many steps it counted"))?;
        let share = if of == 0 { 0.0 } else { f64::from(both) / f64::from(of) };
        let needed = outcome.fail.map_or(f64::NAN, |limit| limit.0);
        let fits = outcome.value == Some(Number(share));
        demand(fits && outcome.warn.is_none(), at, || "its numbers do not fit each other".into())?;
        let holds = share >= needed && both > 0;
        let whole = both == of && both > 0;
        let gap = if holds {
            Verdict::Warn
        } else if completeness::must_be_whole(self.role(), self.is_rl()) || share <= 0.0 {
            Verdict::Incomplete
        } else {
            Verdict::Warn
        };
        let lead = if self.is_rl() { Role::Reward } else { Role::Loss };
        let told = share > 0.0 && (self.is_rl() || self.role() != lead) && outcome.verdict == Verdict::Skipped;
        let expected = if whole { Verdict::Pass } else { gap };
        demand(outcome.verdict == expected || !whole && told, at, || {
            format!("says {}, which does not follow from its value and limit", outcome.verdict.as_str())
        })?;
        Ok((outcome.verdict > Verdict::Pass).then_some(&code::COVERAGE))
    }

    /// Steps of which none is allowed.
    fn count(&self, outcome: &RuleOutcome, at: &str, rule: &'static Rule) -> Followed {
        let count = outcome.value.map_or(0.0, |value| value.0);
        let whole = count >= 0.0 && count.fract() == 0.0;
        held(outcome, at)?;
        let limits = outcome.warn.is_none() && outcome.fail == Some(Number(0.0));
        demand(whole && limits, at, || "is not a count of steps with the limit 0".into())?;
        let mild = rule.code == code::HIDDEN_FAILURE.code;
        let verdict = outcome.verdict;
        let follows = if count > 0.0 {
            verdict == Verdict::Fail || mild && verdict > Verdict::Pass
        } else {
            verdict == Verdict::Pass
        };
        demand(follows, at, || format!("counts {count} steps, and says {}", verdict.as_str()))?;
        let of_series = rule.code != code::NON_FINITE.code || count > 0.0 || !series::has_broken(&self.unit.series);
        demand(of_series, at, || "counts no step, and the series has one".into())?;
        Ok(Some(rule))
    }

    /// Code of the finding that a published rule leads to; checks the rule's value and limit.
    fn preset(&self, outcome: &RuleOutcome, name: &str, at: &str) -> Followed {
        let known = Preset::ALL.into_iter().find(|preset| preset.as_str() == name);
        let chosen = known.filter(|_| self.unit.preset == name);
        let preset = chosen.ok_or_else(|| Contradiction::new(at, "is not the preset that the curve names"))?;
        let value = outcome.value.map_or(f64::NAN, |value| value.0);
        let fail = outcome.fail.map_or(f64::NAN, |limit| limit.0);
        held(outcome, at)?;
        // One of them passes by an absolute difference, too.
        let within = value <= fail || preset == Preset::Mindformers;
        match outcome.verdict {
            Verdict::Pass => demand(within, at, || "passes beyond its limit".into()).map(|()| None),
            Verdict::Fail => Ok(Some(&code::PRESET)),
            Verdict::Incomplete => Ok(Some(&code::PRESET_EMPTY)),
            other => Err(Contradiction::new(at, format!("says {}, which no preset does", other.as_str()))),
        }
    }

    /// A finding about a measured rule repeats one that does not hold.
    fn finding(&self, finding: &Finding) -> Checked {
        let repeats = |outcome: &&RuleOutcome| {
            let same = outcome.value == number(finding, "value").map(Number);
            weight::code_of(&outcome.rule).is_some_and(|code| code.code == finding.code)
                && same
                && outcome.verdict > Verdict::Pass
                && outcome.note(Note::BESIDE_PRESET).is_none()
        };
        let is_measured = LEVEL.iter().chain(&["last_rel", "grad_norm_mean_rel", "learning_rate", "worse_mean"]);
        let is_measured = is_measured.copied().chain(rl::NAMES.iter().map(|(name, _)| *name));
        let is_measured = is_measured.filter_map(weight::code_of).any(|code| code.code == finding.code);
        demand(!is_measured || self.unit.rules.iter().any(|outcome| repeats(&outcome)), self.at, || {
            format!("has a finding {} that no rule leads to", shown(&finding.code))
        })
    }

    /// Checks that the mode and its source fit the curve's role.
    fn mode(&self) -> Checked {
        let source = matches!(self.unit.mode_source.as_str(), "declared" | "inferred");
        if self.is_rl() {
            return demand(source, self.at, || "does not say who chose its mode".into());
        }
        let has_mode =
            matches!(self.role(), Role::Loss | Role::EvalLoss | Role::AuxiliaryLoss | Role::ValueLoss | Role::GradNorm);
        let known = [Weights::Same, Weights::Own].iter().any(|weights| weights.as_str() == self.unit.mode);
        let fits = if has_mode { known && source } else { self.unit.mode.is_empty() };
        demand(fits, self.at, || format!("{} is not one of its modes", shown(&self.unit.mode)))?;
        if self.role() != Role::Loss || self.unit.mode_source != "inferred" {
            return Ok(());
        }
        let same = self.value("step_1_rel").is_some_and(|value| value <= FORWARD_NOISE);
        let is_same = self.unit.mode == Weights::Same.as_str();
        demand(same || !is_same, self.at, || "its mode is not the one that its first step shows".into())?;
        let counted = self.value("mean_rel").is_some() && self.unit.preset.is_empty() && !self.says(&code::NOT_JUDGED);
        // An equal first step is not enough for the same weights; why it is not, is said.
        let said = self.says(&code::FIRST_STEP) || same && self.says(&code::UNIFORM_START);
        demand(is_same || !counted || said, self.at, || {
            format!(
                "is judged by looser limits without being declared, but there is no finding `{}`",
                code::FIRST_STEP.code
            )
        })
    }

    /// The rules that a curve of its kind always has.
    fn complete(&self) -> Checked {
        if trend::is_alone(self.unit) {
            return trend::check(self.unit, self.at);
        }
        if self.is_rl() {
            trend::check(self.unit, self.at)?;
        }
        let there = |name: &str| self.unit.rules.iter().any(|outcome| outcome.rule == name);
        let finite = series::has_finite(&self.unit.series);
        let mut due = vec![];
        if self.role().is_judged() {
            due.extend([completeness::COVERAGE, "non_finite"]);
        }
        let own: &[&str] = match self.role() {
            Role::LearningRate => &["learning_rate"],
            Role::Constant => &["constant"],
            _ if self.is_rl() => &[],
            Role::Loss => &ALWAYS,
            Role::EvalLoss => &["mean_rel", "last_rel"],
            Role::AuxiliaryLoss | Role::ValueLoss => &["mean_rel"],
            Role::GradNorm => &["grad_norm_mean_rel"],
            Role::EvalScore | Role::Reward => &["worse_mean"],
            _ => &[],
        };
        due.extend(own.iter().filter(|_| finite));
        if self.role() == Role::Loss {
            due.push("hidden_failure");
            due.extend(Some("bit_exact").filter(|_| finite && self.profile == Profile::BitExact));
        }
        due.extend(Some("bit_exact").filter(|_| self.is_rl() && finite && self.is_exact()));
        let preset = format!("preset:{}", self.unit.preset);
        due.extend(
            Some(preset.as_str()).filter(|_| finite && !self.unit.preset.is_empty() && !self.says(&code::NOT_JUDGED)),
        );
        let missing = due.into_iter().find(|name| !there(name));
        demand(missing.is_none(), self.at, || format!("lacks the rule `{}`", missing.unwrap_or_default()))
    }
}

/// Code of the findings that follow from a rule, where it counts.
type Followed = Result<Option<&'static Rule>, Contradiction>;

/// The limits of a rule as it was applied.
pub(super) fn limits_of(outcome: &RuleOutcome) -> Limits {
    Limits { warn: outcome.warn.map(|limit| limit.0), fail: outcome.fail.map(|limit| limit.0) }
}
