//! Does a file of source contradict its findings? And do they count as the target's policy says?

use super::refusal::{Checked, claims, demand};
use super::said::{Key, Said, everything, text};
use crate::judge::rule::Rule;
use crate::judge::source::find;
use crate::policy::Policy;
use crate::result::GateResult;
use crate::result::finding::{Finding, verdict_of};
use crate::result::unit::SourceUnit;
use crate::verdict::Severity;

/// Refuses a file that contradicts itself.
pub(super) fn check(unit: &SourceUnit, key: &Key, said: &Said<'_>, at: &str) -> Checked {
    let counting = said.counting(key);
    claims(unit.verdict, verdict_of(counting.iter().copied()), at)?;
    demand(unit.findings == counting.len() as u64, at, || {
        format!("counts {} findings, and there are {}", unit.findings, counting.len())
    })?;
    let is_unread = |finding: &Finding| finding.code == "source-not-read";
    demand(unit.is_read != said.all(key).any(is_unread) || !unit.is_read, at, || {
        "was read, which its findings deny".into()
    })?;
    said.all(key).try_for_each(|finding| {
        let place = finding.source.as_ref().filter(|place| place.at.file == unit.file);
        demand(place.is_some_and(|place| place.at.line > 0 && place.at.column > 0), at, || {
            "has a finding on no line of it".into()
        })
    })
}

/// Refuses findings that do not count, and would under the target's policy.
pub(super) fn fits(result: &GateResult, policy: &Policy) -> Checked {
    let is_changed_only = policy.source.as_ref().is_none_or(|source| source.changed_only.0);
    everything(result).filter_map(|finding| Some((finding, finding.source.as_ref()?))).try_for_each(
        |(finding, place)| {
            let counts = place.changed != Some(false) || !is_changed_only;
            demand(place.counts || !counts, &finding.place, || "does not count, and the policy counts it".into())
        },
    )
}

/// The least that a finding weighs: as the policy says, else as its rule.
pub(super) fn least(finding: &Finding, rule: &Rule, policy: &Policy) -> Severity {
    let Some(known) = find(rule.code) else { return rule.severity };
    match policy.source.as_ref().and_then(|source| source.severity(rule.code)) {
        Some(setting) => setting.severity().unwrap_or(Severity::Info),
        None if known.is_off => Severity::Info,
        // A pair of formats of at least 32 bits weighs less.
        None if [text(finding, "on_npu"), text(finding, "elsewhere")].iter().all(|format| is_wide(*format)) => {
            rule.severity.min(Severity::Warn)
        }
        None => rule.severity,
    }
}

fn is_wide(format: Option<&str>) -> bool {
    matches!(format, Some("float32" | "float64"))
}
