//! Inputs of the model's forward pass, at every step that both packs hold: the data of a run does not depend on its training.
//!
//! There is one finding per input, with the first place at which it differs and the number of such places.

use std::collections::BTreeMap;

use super::context::PackContext;
use super::digest;
use super::rules::{
    DATASET_DIFFERS, DATASET_KIND, DATASET_NON_FINITE, DATASET_ONE_SIDED, DATASET_ORDER, DATASET_WITHIN,
    RECORD_MALFORMED,
};
use crate::compare::config::statistics::{StatisticDistance, sixteen_bit_resolution};
use crate::judge::rule::Rule;
use crate::policy::config::DatasetPolicy;
use crate::read::json::Json;
use crate::read::pack::{ForwardInput, PackStatistics};
use crate::result::finding::Finding;

/// Largest relative difference of mean and norm of integers, which are float32 sums of exact values in another order.
const INTEGER_SUMS: f64 = 1e-6;

pub(super) fn judge(context: &PackContext<'_>) -> Vec<Finding> {
    let mut walk = Walk { policy: &context.policy.dataset, place: (0, 0), seen: BTreeMap::new(), compared: 0 };
    for (place, baseline) in &context.baseline.dataset {
        if let (Ok(baseline), Some(Ok(candidate))) = (baseline, context.candidate.dataset.get(place)) {
            walk.place = *place;
            walk.group(baseline, candidate, "");
        }
    }
    let mut findings: Vec<Finding> = walk.seen.into_iter().map(|((tag, _), seen)| seen.finding(&tag)).collect();
    if walk.compared > 0 && !digest::digests_agree(context) {
        findings.push(Finding::new(&DATASET_ORDER, "dataset").with("compared", walk.compared));
    }
    findings
}

/// The first of several equal observations, and the worst.
struct Seen {
    rule: &'static Rule,
    first: (u64, u64),
    places: usize,
    worst: f64,
    statistic: &'static str,
    detail: [String; 2],
}

impl Seen {
    fn finding(self, tag: &str) -> Finding {
        let [baseline, candidate] = self.detail;
        Finding::new(self.rule, tag)
            .with("step", self.first.0)
            .with("rank", self.first.1)
            .with("places", self.places)
            .with("worst", self.worst)
            .with("statistic", self.statistic)
            .with("baseline", baseline)
            .with("candidate", candidate)
    }
}

struct Walk<'a> {
    policy: &'a DatasetPolicy,
    place: (u64, u64),
    /// Findings by input and code, so that the order of findings is that of names.
    seen: BTreeMap<(String, &'static str), Seen>,
    compared: usize,
}

impl Walk<'_> {
    fn note(&mut self, rule: &'static Rule, tag: &str, (statistic, worst): (&'static str, f64), detail: [String; 2]) {
        let place = self.place;
        let new = || Seen { rule, first: place, places: 0, worst: 0.0, statistic, detail };
        let seen = self.seen.entry((tag.to_owned(), rule.code)).or_insert_with(new);
        seen.places += 1;
        if worst > seen.worst {
            (seen.worst, seen.statistic) = (worst, statistic);
        }
    }

    fn group(&mut self, baseline: &[(String, ForwardInput)], candidate: &[(String, ForwardInput)], tag: &str) {
        let find = |items: &'_ [(String, ForwardInput)], key: &str| items.iter().position(|(name, _)| name == key);
        for (key, value) in baseline {
            let tag = joined(tag, key);
            match find(candidate, key).and_then(|position| candidate.get(position)) {
                Some((_, other)) => self.input(value, other, &tag),
                None => self.note(&DATASET_ONE_SIDED, &tag, ("", 0.0), [kind(value).into(), "absent".into()]),
            }
        }
        for (key, value) in candidate.iter().filter(|(key, _)| find(baseline, key).is_none()) {
            self.note(&DATASET_ONE_SIDED, &joined(tag, key), ("", 0.0), ["absent".into(), kind(value).into()]);
        }
    }

    fn input(&mut self, baseline: &ForwardInput, candidate: &ForwardInput, tag: &str) {
        match (baseline, candidate) {
            (ForwardInput::Tensor(a), ForwardInput::Tensor(b)) => self.tensor(a, b, tag),
            (ForwardInput::Group(a), ForwardInput::Group(b)) => {
                if [a, b].iter().any(|items| is_malformed(items)) {
                    self.note(&RECORD_MALFORMED, tag, ("", 0.0), [String::new(), String::new()]);
                }
                self.group(a, b, tag);
            }
            (ForwardInput::Plain(a), ForwardInput::Plain(b)) => {
                // msprobe records the empty text for everything that is not a tensor; another collector may record more.
                if a != b {
                    self.note(&DATASET_KIND, tag, ("", 0.0), [kind(baseline).into(), kind(candidate).into()]);
                }
            }
            _ => self.note(&DATASET_KIND, tag, ("", 0.0), [kind(baseline).into(), kind(candidate).into()]),
        }
    }

    fn tensor(&mut self, a: &PackStatistics, b: &PackStatistics, tag: &str) {
        self.compared += 1;
        let distance = StatisticDistance::between(a, b);
        let shown = || [a, b].map(text);
        if distance.non_finite_on_one {
            self.note(&DATASET_DIFFERS, tag, ("non-finite", f64::INFINITY), shown());
        } else if self.beyond(&distance, a, b) {
            self.note(&DATASET_DIFFERS, tag, distance.worst(), shown());
        } else if !distance.exact {
            self.note(&DATASET_WITHIN, tag, distance.worst(), shown());
        }
        if distance.non_finite_on_both {
            self.note(&DATASET_NON_FINITE, tag, ("", 0.0), shown());
        }
    }

    /// Whether any statistic differs by more than its computation explains.
    fn beyond(&self, distance: &StatisticDistance, a: &PackStatistics, b: &PackStatistics) -> bool {
        let relative = self.policy.relative.get();
        let (picked, summed) = if distance.integral {
            (0.0, INTEGER_SUMS)
        } else {
            (relative, relative.max(2.0 * sixteen_bit_resolution(a, b)))
        };
        let limits = [picked, picked, summed, summed];
        let values = distance.relative.iter().zip(distance.absolute).zip(limits);
        values
            .into_iter()
            .any(|((relative, absolute), limit)| *relative > limit && absolute > self.policy.absolute.get())
    }
}

/// Whether a group holds statistics as numbers; it is a malformed tensor then, because it lacks others of the four.
fn is_malformed(items: &[(String, ForwardInput)]) -> bool {
    let numbers = items.iter().filter(|(key, value)| {
        matches!(value, ForwardInput::Plain(Json::Int(_) | Json::Float(_) | Json::BigInt(_)))
            && crate::read::pack::STATISTICS.contains(&key.as_str())
    });
    numbers.count() > 0
}

fn joined(tag: &str, key: &str) -> String {
    if tag.is_empty() { key.to_owned() } else { format!("{tag}.{key}") }
}

fn kind(input: &ForwardInput) -> &'static str {
    match input {
        ForwardInput::Tensor(_) => "tensor",
        ForwardInput::Group(_) => "group",
        ForwardInput::Plain(_) => "plain value",
    }
}

/// The statistics as text: `max 1, min 0, mean 0.5, norm 2`.
fn text(statistics: &PackStatistics) -> String {
    let named = crate::read::pack::STATISTICS.iter().zip(statistics.0);
    named.map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
}
