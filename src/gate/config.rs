//! The config check: packs of both sides to a verdict per checker.

use super::CheckOutcome;
use crate::judge::unit::ConfigItem;
use crate::msprobe;
use crate::policy::Policy;
use crate::read::pack::{Checker, Pack};
use crate::redact::Redactor;
use crate::verdict::{CheckId, Verdict};

/// Judges the packs of both sides.
pub fn check(baseline: &[Pack], candidate: &[Pack], _policy: &Policy) -> CheckOutcome {
    let mut outcome = CheckOutcome::new(CheckId::Config);
    if let ([baseline], [candidate]) = (baseline, candidate) {
        let redactor = Redactor::new(named(baseline).chain(named(candidate)));
        let reports = msprobe::config::compare(baseline, candidate, &redactor);
        for checker in Checker::ALL {
            let report = reports.iter().find(|report| report.checker == checker);
            outcome.check.items.push(ConfigItem {
                name: checker.as_str().into(),
                verdict: Verdict::Skipped,
                msprobe: report.map(|report| report.level_text().to_owned()),
                msprobe_error: report.and_then(|report| report.error).map(|error| error.to_string()),
                findings: 0,
            });
        }
        outcome.tables.extend(reports.into_iter().filter_map(|report| report.table));
    }
    outcome
}

fn named(pack: &Pack) -> impl Iterator<Item = (&str, &crate::read::json::Json)> {
    let env = pack.env.iter().flatten().flatten();
    env.chain(pack.settings()).map(|(name, value)| (name.as_str(), value))
}
