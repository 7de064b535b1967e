//! Findings about the places both sides come from, and about a baseline's standing.

use super::rule::{Rule, rules};
use crate::policy::value::Date;
use crate::result::finding::Finding;
use crate::verdict::{Profile, Severity, Side};

rules! {
    CheckId::Artifacts;

    /// Nothing lies at a location.
    MISSING = "location-missing", Incomplete absence;
    /// The files at a location are not those that were demanded: another digest, a run of a fork.
    REFUSED = "location-refused", Incomplete absence;
    /// The run, job, release or package that a forge's artifact came from.
    ORIGIN = "baseline-origin", Info;
    /// The forge deletes the baseline soon.
    EXPIRING = "baseline-expiring", Warn;
    /// A forge's artifact without a digest; the profile `release` requires one.
    UNPROVED = "baseline-unproved", Info;
    /// The baseline is not what its manifest says.
    CHANGED = "baseline-changed", Incomplete;
    /// The profile demands a baseline with a manifest, and there is none.
    UNVERIFIED = "baseline-unverified", Incomplete;
    /// The baseline is older than the policy allows.
    OLD = "baseline-old", Warn;
    /// Code, data, weights or configuration moved since the baseline was recorded.
    MOVED = "baseline-moved", Warn;

    /// The baseline or limits that a stranger's change is judged against are part of that change.
    IN_CHANGE = "input-in-change", Incomplete;
}
/// Number of days before a forge deletes a baseline from which on there is a warning.
const EXPIRES_SOON: i32 = 14;

/// Facts about a forge's artifact, as its transport found them.
#[derive(Clone, Debug, Default)]
pub(crate) struct OriginFacts {
    /// The run, job, release or package, in words.
    pub what: String,
    /// The commit.
    pub commit: Option<String>,
    /// The day it was made.
    pub created: Option<String>,
    /// The day it is deleted.
    pub expires: Option<String>,
    /// Number of newer runs without the artifact.
    pub passed_over: usize,
    /// Whether its bytes were proved against a digest.
    pub is_proved: bool,
}

/// Findings about a baseline that a forge gave.
pub(crate) fn origin_findings(location: &str, origin: &OriginFacts, profile: Profile, today: Date) -> Vec<Finding> {
    let days =
        |day: &Option<String>| day.clone().and_then(|day| Date::try_from(day).ok()).map(|day| today.days_since(day));
    let age = days(&origin.created);
    let mut findings = vec![
        Finding::new(&ORIGIN, location)
            .with("what", origin.what.as_str())
            .with("commit", origin.commit.clone().unwrap_or_default())
            .with("age", age.map_or_else(String::new, |age| age.max(0).to_string()))
            .with("passed_over", origin.passed_over),
    ];
    if let Some(left) = days(&origin.expires).map(|since| -since).filter(|left| *left <= EXPIRES_SOON) {
        findings.push(
            Finding::new(&EXPIRING, location)
                .with("days", u64::try_from(left).unwrap_or(0))
                .with("what", origin.what.as_str()),
        );
    }
    if !origin.is_proved {
        let finding = Finding::new(&UNPROVED, location).with("what", origin.what.as_str());
        let severity = if profile == Profile::Release { Severity::Incomplete } else { Severity::Info };
        findings.push(finding.with_severity(severity));
    }
    findings
}

/// The finding that a location holds nothing, or not the required content; `reason` and `help` explain it.
pub(crate) fn absence_finding(rule: &Rule, location: &str, side: Side, reason: &str, help: &str) -> Finding {
    Finding::new(rule, location).with("side", side.as_str()).with("reason", reason).with("help", help)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(text: &str) -> Date {
        Date::try_from(text.to_owned()).expect("a date")
    }

    #[test]
    fn a_baseline_that_is_deleted_soon_or_not_proved_is_warned_of() {
        let origin = |expires: &str| OriginFacts {
            what: "run 1".into(),
            created: Some("2026-11-01".into()),
            expires: Some(expires.into()),
            is_proved: true,
            ..OriginFacts::default()
        };
        let codes = |expires: &str| {
            let found = origin_findings("x", &origin(expires), Profile::Default, date("2026-11-21"));
            found.into_iter().map(|finding| finding.code).collect::<Vec<_>>()
        };
        assert_eq!(codes("2026-12-31"), ["baseline-origin"]);
        assert_eq!(codes("2026-12-01"), ["baseline-origin", "baseline-expiring"]);
        assert_eq!(codes("2026-11-20"), ["baseline-origin", "baseline-expiring"]);
        let unproved = OriginFacts { is_proved: false, ..origin("2026-12-31") };
        for (profile, severity) in [(Profile::Default, Severity::Info), (Profile::Release, Severity::Incomplete)] {
            let found = origin_findings("x", &unproved, profile, date("2026-11-21"));
            let told: Vec<_> = found.iter().map(|finding| (finding.code.as_str(), finding.severity)).collect();
            assert_eq!(told, [("baseline-origin", Severity::Info), ("baseline-unproved", severity)]);
        }
    }
}
