//! The rollout engine is not the model that is trained: stale or coarse weights, another temperature, another kernel.

use super::super::entry::Cause;
use super::super::evidence::finding_as_evidence;
use super::super::rl::Rollouts;
use crate::judge::loss::code as curve_rules;
use crate::judge::rule::Rule;
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};
use crate::result::finding::{Fact, Finding};
use crate::verdict::Severity;

pub(super) const CAUSE: Cause = Cause { in_rl, ..Cause::new("rollout-mismatch") };

/// Settings that differ, and a reward that teaches nothing, change what rollouts are like.
const EXPLAINS: [&Rule; 3] = [&curve_rules::RL_CONSTANT, &curve_rules::LEARNING_RATE, &curve_rules::RL_REWARD_DEAD];

fn in_rl(rollouts: &Rollouts<'_>) -> Option<Diagnosis> {
    let finding = rollouts.finding(&curve_rules::RL_MISMATCH)?;
    if EXPLAINS.iter().any(|rule| rollouts.finding(rule).is_some()) {
        return None;
    }
    // What begins after the reward fell does not explain why it did.
    let onset = |finding: &Finding| match finding.facts.get("onset") {
        Some(Fact::Count(step)) => Some(*step),
        _ => None,
    };
    let reward = rollouts.finding(&curve_rules::RL_REWARD_LOWER).and_then(onset);
    if onset(finding).zip(reward).is_some_and(|(mismatch, reward)| mismatch > reward) {
        return None;
    }
    let throughout = finding.text("course") == Some("throughout");
    // A policy that breaks down within a few steps is far from the engine's by itself.
    let falls = rollouts.findings_of(&curve_rules::RL_REWARD_LOWER).any(|lower| lower.text("course") == Some("drops"));
    let is_open = falls && !throughout && onset(finding).is_none();
    let sureness = if finding.severity == Severity::Fail && !is_open { Sureness::Likely } else { Sureness::Possible };
    let diagnosis = Diagnosis::new(&CAUSE, finding.place.as_str(), sureness).because(finding_as_evidence(finding));
    // A distance that is there from the first step on excludes weights that age, and one that begins later a setting of the engine.
    Some(match finding.text("course") {
        Some("throughout") => diagnosis.advise(Statement::new("rollout-mismatch-throughout")),
        Some(_) if finding.facts.contains_key("late") => {
            let advice = Statement::new("rollout-mismatch-later");
            diagnosis.advise(match finding.facts.get("onset") {
                Some(onset) => advice.with("onset", onset.clone()),
                None => advice,
            })
        }
        _ => diagnosis,
    })
}
