//! Does the config check contradict itself? Its checkers against the findings of their codes.

use super::refusal::{Checked, demand, shown};
use crate::result::finding::{Finding, verdict_of};
use crate::result::unit::{Check, ConfigItem};
use crate::verdict::{CheckId, Checker, Verdict};

/// Levels that msprobe can give a checker.
const LEVELS: [&str; 4] = ["pass", "warning", "error", "failed"];

/// Part of the check that a finding belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// One checker.
    Of(Checker),
    /// One of several checkers, or the packs as such.
    Any,
}

/// Refuses a config check that contradicts itself.
pub(super) fn check(check: &Check, findings: &[Finding], place: &str) -> Checked {
    demand(check.units.is_empty(), place, || "has units, which the config check has not".into())?;
    let known: Vec<Option<Checker>> = check.items.iter().map(checker).collect();
    demand(known.iter().all(Option::is_some) && known.is_sorted_by(|a, b| a < b), place, || {
        "has a checker twice, out of order, or one that does not exist".into()
    })?;
    demand(known.is_empty() || known.len() == Checker::ALL.len(), place, || "lacks a checker".into())?;
    let any: Vec<&Finding> = findings.iter().filter(|finding| part(finding) == Some(Part::Any)).collect();
    for (item, checker) in check.items.iter().zip(known.iter().flatten()) {
        let at = format!("{place}, {}", shown(&item.name));
        let own: Vec<&Finding> = findings.iter().filter(|finding| part(finding) == Some(Part::Of(*checker))).collect();
        self::item(item, &own, &any, &at)?;
    }
    let counted: usize = check.items.iter().map(|item| item.findings).fold(0, usize::saturating_add);
    let there = findings.iter().filter(|finding| part(finding).is_some()).count();
    demand(counted <= there, place, || format!("counts {counted} findings, and there are {there}"))
}

fn item(item: &ConfigItem, own: &[&Finding], any: &[&Finding], at: &str) -> Checked {
    let level = item.msprobe.as_deref().is_none_or(|level| LEVELS.contains(&level));
    demand(level, at, || "msprobe says no such thing".into())?;
    let most = own.len() + any.len();
    demand((own.len()..=most).contains(&item.findings), at, || {
        format!("counts {} findings, and there are {}", item.findings, own.len())
    })?;
    let least = if item.findings == 0 { Verdict::Skipped } else { verdict_of(own.iter().copied()) };
    let worst = verdict_of(own.iter().chain(any).copied());
    // A checker of a pack without a readable partner was not compared, and has no finding of its own.
    let alone = item.verdict == Verdict::Incomplete && item.findings == 0;
    let fits = item.findings == 0 && item.verdict <= Verdict::Pass
        || (least..=worst).contains(&item.verdict) && item.findings > 0;
    demand(fits || alone, at, || format!("says {}, and its findings come to {}", item.verdict.as_str(), least.as_str()))
}

/// The checker of an item.
pub(super) fn checker(item: &ConfigItem) -> Option<Checker> {
    Checker::ALL.into_iter().find(|checker| checker.as_str() == item.name)
}

/// Part of the check that a finding belongs to; `None` where it is of another check.
pub(super) fn part(finding: &Finding) -> Option<Part> {
    if finding.check != CheckId::Config {
        return None;
    }
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| finding.code.starts_with(prefix));
    Some(match finding.code.as_str() {
        "determinism-hash-seed"
        | "determinism-collectives"
        | "determinism-inf-nan-mode"
        | "determinism-cublas-workspace"
        | "determinism-not-in-pack" => Part::Of(Checker::Env),
        "determinism-dropout" => Part::Of(Checker::Hyperparameters),
        _ if starts(&["env-"]) => Part::Of(Checker::Env),
        _ if starts(&["pip-"]) => Part::Of(Checker::Pip),
        _ if starts(&["dataset-"]) => Part::Of(Checker::Dataset),
        _ if starts(&["weights-"]) => Part::Of(Checker::Weights),
        _ if starts(&["hyperparameter-"]) => Part::Of(Checker::Hyperparameters),
        _ if starts(&["random-"]) => Part::Of(Checker::Random),
        _ => Part::Any,
    })
}
