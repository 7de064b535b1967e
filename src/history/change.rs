//! Differences between two runs of a suite, the likeliest reason first.

use std::collections::{BTreeMap, BTreeSet};

use super::record::{Record, RecordedMeasure};
use serde::Serialize;

use crate::result::history::{Change, ChangeKind};
use crate::result::number::Number;
use crate::verdict::CheckId;

/// Most changed limits that are listed: a new preset changes all of them.
const MOST_LIMITS: usize = 20;
/// Characters of a digest that are shown: `sha256:` and enough to tell two apart.
const SHOWN_DIGEST: usize = 19;

/// All differences between two runs that their records show, the likeliest reason first.
pub fn changes(before: &Record, after: &Record) -> Vec<Change> {
    let mut list = List(Vec::new());
    list.add(ChangeKind::Commit, "", &before.commit, &after.commit);
    list.add_all(ChangeKind::Version, &before.facts.versions, &after.facts.versions);
    list.add_all(ChangeKind::Environment, &before.facts.environment, &after.facts.environment);
    list.add_all(ChangeKind::Content, &shortened(&before.facts.digests), &shortened(&after.facts.digests));
    list.add(ChangeKind::Candidate, "", &before.candidate, &after.candidate);
    let (old, new) = (&before.baseline, &after.baseline);
    list.add(ChangeKind::Baseline, "label", &old.label, &new.label);
    list.add(ChangeKind::Baseline, "name", &old.name, &new.name);
    list.add(ChangeKind::Baseline, "manifest", short(&old.manifest), short(&new.manifest));
    list.add(ChangeKind::Baseline, "digest", short(&old.digest), short(&new.digest));
    list.add(ChangeKind::Policy, "", short(&before.policy), short(&after.policy));
    list.add(ChangeKind::Profile, "", &word(before.profile), &word(after.profile));
    list.add_limits(&before.measures, &after.measures);
    list.add(ChangeKind::Tool, "", &before.tool, &after.tool);
    list.0
}

struct List(Vec<Change>);

impl List {
    fn add(&mut self, kind: ChangeKind, name: &str, before: &str, after: &str) {
        if before != after {
            self.0.push(Change { kind, name: name.into(), before: before.into(), after: after.into() });
        }
    }

    /// Adds differences between facts. Where one run has no facts at all (no config pack that night), they are unknown, not removed.
    fn add_all(&mut self, kind: ChangeKind, before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) {
        if before.is_empty() || after.is_empty() {
            return;
        }
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let of = |map: &BTreeMap<String, String>, name: &String| map.get(name).cloned().unwrap_or_default();
        for name in names {
            self.add(kind, name, &of(before, name), &of(after, name));
        }
    }

    fn add_limits(&mut self, before: &[RecordedMeasure], after: &[RecordedMeasure]) {
        let old: BTreeMap<_, String> = before.iter().map(|measure| (key(measure), limits(measure))).collect();
        let moved = after.iter().filter_map(|measure| {
            let (old, new) = (old.get(&key(measure))?, limits(measure));
            (*old != new).then_some((measure, old, new))
        });
        for (measure, old, new) in moved.take(MOST_LIMITS) {
            self.add(ChangeKind::Limit, &format!("{} {}", measure.unit, measure.rule), old, &new);
        }
    }
}

fn key(measure: &RecordedMeasure) -> (CheckId, &str, &str) {
    (measure.check, &measure.unit, &measure.rule)
}

/// Limits of a measure as text: `warn 0.002, fail 0.01`.
fn limits(measure: &RecordedMeasure) -> String {
    let limit = |word: &str, limit: Option<Number>| limit.map(|limit| format!("{word} {}", limit.0));
    let limits = [limit("warn", measure.warn), limit("fail", measure.fail)];
    limits.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn shortened(digests: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    digests.iter().map(|(name, digest)| (name.clone(), short(digest).to_owned())).collect()
}

fn short(digest: &str) -> &str {
    digest.get(..SHOWN_DIGEST).unwrap_or(digest)
}

/// The word that a value is serialised as.
fn word(value: impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::record;
    use super::*;

    #[test]
    fn what_changed_is_named_and_the_rest_is_not() {
        let (mut before, mut after) = (record(2, &[]), record(3, &[]));
        before.facts.versions =
            [("torch-npu", "2.5"), ("numpy", "1.26")].map(|(name, version)| (name.into(), version.into())).into();
        after.facts.versions =
            [("torch-npu", "2.6"), ("numpy", "1.26"), ("cann", "8.2")].map(|(a, b)| (a.into(), b.into())).into();
        after.facts.environment = [("HCCL_ALGO".into(), "ring".into())].into();
        after.baseline.digest = "sha256:9".into();
        after.measures[0].fail = Some(Number(0.02));
        let said: Vec<String> = changes(&before, &after)
            .iter()
            .map(|change| format!("{:?} {}: {} -> {}", change.kind, change.name, change.before, change.after))
            .collect();
        assert_eq!(
            said,
            [
                format!("Commit : {} -> {}", before.commit, after.commit),
                "Version cann:  -> 8.2".to_owned(),
                "Version torch-npu: 2.5 -> 2.6".to_owned(),
                "Baseline digest: sha256:1 -> sha256:9".to_owned(),
                "Limit loss mean_rel: warn 0.002, fail 0.01 -> warn 0.002, fail 0.02".to_owned(),
            ],
            "an environment that one run does not tell is unknown, not changed"
        );
        assert_eq!(changes(&before, &before), []);
    }
}
