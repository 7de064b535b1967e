//! Completeness of both packs, and the steps and ranks that they hold.

use std::collections::BTreeSet;

use super::context::PackContext;
use super::listed::first_names;
use super::rules::{
    MEMBER_DAMAGED, MEMBER_MISPLACED, MEMBER_REFUSED, MEMBER_REPEATED, MEMBER_UNKNOWN, MEMBERS_UNLISTED, MIXES_RUNS,
    NO_FIRST_STEP, RANKS_DIFFER, STEPS_DIFFER,
};
use crate::error::Error;
use crate::read::pack::{Checker, MemberPlace, Pack};
use crate::result::finding::Finding;
use crate::verdict::Side;

/// Most members of one side with one fault that become findings of their own; the others are counted. A pack with many broken
/// members is broken as a whole, and a report of all of them would take minutes.
const MOST_MEMBERS: usize = 100;

/// Findings about the packs as such.
pub(super) fn pack_findings(context: &PackContext<'_>) -> Vec<Finding> {
    context.sides().into_iter().flat_map(|(side, pack)| of_pack(side, pack)).collect()
}

fn of_pack(side: Side, pack: &Pack) -> Vec<Finding> {
    let mut findings = at_most(side, pack, &pack.refused, |refused| {
        let finding = Finding::new(&MEMBER_REFUSED, &refused.name);
        finding.with("side", side.as_str()).with("reason", refused.reason)
    });
    if !pack.unknown.is_empty() {
        let finding = Finding::new(&MEMBER_UNKNOWN, &pack.path).with("side", side.as_str());
        findings
            .push(finding.with("count", pack.unknown.len()).with("members", first_names(pack.unknown.iter().cloned())));
    }
    if !pack.repeated.is_empty() {
        let finding = Finding::new(&MEMBER_REPEATED, &pack.path).with("side", side.as_str());
        findings.push(
            finding.with("count", pack.repeated.len()).with("members", first_names(pack.repeated.keys().cloned())),
        );
    }
    findings.extend(mixed_runs(side, pack));
    if let Some(Err(error)) = &pack.digests {
        findings.push(damaged(side, error));
    }
    findings
}

/// A finding for each of the first members with a fault, and one that counts the rest.
fn at_most<T>(side: Side, pack: &Pack, members: &[T], finding: impl Fn(&T) -> Finding) -> Vec<Finding> {
    let mut findings: Vec<Finding> = members.iter().take(MOST_MEMBERS).map(finding).collect();
    let rest = members.len().saturating_sub(MOST_MEMBERS);
    let code = findings.last().map(|one| one.code.clone()).unwrap_or_default();
    if rest > 0 {
        let unlisted = Finding::new(&MEMBERS_UNLISTED, &pack.path).with("side", side.as_str());
        findings.push(unlisted.with("count", rest).with("code", code));
    }
    findings
}

/// The finding about a pack that two runs wrote into: the steps that the second run did not reach come from the first one.
fn mixed_runs(side: Side, pack: &Pack) -> Option<Finding> {
    let step = |name: &str| match MemberPlace::from_name(name) {
        MemberPlace::Dataset((step, _)) | MemberPlace::Weights((step, _)) => Some(step),
        _ => None,
    };
    let again: BTreeSet<u64> = pack.repeated.keys().filter_map(|name| step(name)).collect();
    if again.is_empty() {
        return None;
    }
    let all: BTreeSet<u64> = pack.dataset.keys().chain(pack.weights.keys()).map(|(step, _)| *step).collect();
    let left: Vec<u64> = all.difference(&again).copied().collect();
    let finding = Finding::new(&MIXES_RUNS, &pack.path).with("side", side.as_str());
    (!left.is_empty()).then(|| finding.with("steps", ranges(&left)))
}

/// Findings about one checker's members, whether the packs can be compared or not.
pub(super) fn checker_findings(checker: Checker, context: &PackContext<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (side, pack) in context.sides() {
        findings.extend(at_most(side, pack, &errors(checker, pack), |error| damaged(side, error)));
        let misplaced: Vec<&String> =
            pack.misplaced.iter().filter(|(of, _)| *of == checker).map(|(_, path)| path).collect();
        findings.extend(at_most(side, pack, &misplaced, |path| {
            Finding::new(&MEMBER_MISPLACED, path.as_str()).with("side", side.as_str())
        }));
    }
    if context.baseline.has_any_of(checker) && context.candidate.has_any_of(checker) {
        findings.extend(coverage(checker, context));
    }
    findings
}

fn errors(checker: Checker, pack: &Pack) -> Vec<&Error> {
    match checker {
        Checker::Env => pack.env.iter().filter_map(|part| part.as_ref().err()).collect(),
        Checker::Pip => pack.pip.iter().filter_map(|part| part.as_ref().err()).collect(),
        Checker::Dataset => pack.dataset.values().filter_map(|part| part.as_ref().err()).collect(),
        Checker::Weights => pack.weights.values().filter_map(|part| part.as_ref().err()).collect(),
        Checker::Hyperparameters => [&pack.hyper_static, &pack.hyper_dynamic]
            .into_iter()
            .flatten()
            .filter_map(|part| part.as_ref().err())
            .collect(),
        Checker::Random => pack.random.values().filter_map(|part| part.as_ref().err()).collect(),
    }
}

fn damaged(side: Side, error: &Error) -> Finding {
    Finding::new(&MEMBER_DAMAGED, error.subject())
        .with("side", side.as_str())
        .with("reason", error.message())
        .with("help", error.help().unwrap_or_default())
}

/// Steps and ranks that only one side has.
fn coverage(checker: Checker, context: &PackContext<'_>) -> Vec<Finding> {
    let places = |pack: &Pack| -> BTreeSet<(u64, u64)> {
        match checker {
            Checker::Dataset => pack.dataset.keys().copied().collect(),
            Checker::Weights => pack.weights.keys().copied().collect(),
            Checker::Random => pack.random.keys().map(|rank| (0, *rank)).collect(),
            _ => BTreeSet::new(),
        }
    };
    let (baseline_places, candidate_places) = (places(context.baseline), places(context.candidate));
    let mut findings = Vec::new();
    if baseline_places.is_empty() || candidate_places.is_empty() {
        // A side has nothing where it belongs, which another finding reports.
        return findings;
    }
    for (side, places) in [(Side::Baseline, &baseline_places), (Side::Candidate, &candidate_places)] {
        if let Some((first, _)) = places.first().filter(|(step, _)| *step > 0) {
            let finding = Finding::new(&NO_FIRST_STEP, checker.as_str());
            findings.push(finding.with("side", side.as_str()).with("first", *first));
        }
    }
    let sets = |pick: fn(&(u64, u64)) -> u64| {
        let [baseline, candidate]: [BTreeSet<u64>; 2] =
            [&baseline_places, &candidate_places].map(|places| places.iter().map(pick).collect());
        let only = |a: &BTreeSet<u64>, b: &BTreeSet<u64>| ranges(&a.difference(b).copied().collect::<Vec<_>>());
        (baseline != candidate).then(|| (only(&baseline, &candidate), only(&candidate, &baseline)))
    };
    let by_axis = [(&STEPS_DIFFER, sets(|(step, _)| *step)), (&RANKS_DIFFER, sets(|(_, rank)| *rank))];
    let mut whole_axis = false;
    for (rule, difference) in by_axis {
        if let Some((baseline, candidate)) = difference {
            whole_axis = true;
            let finding = Finding::new(rule, checker.as_str());
            findings.push(finding.with("baseline", baseline).with("candidate", candidate));
        }
    }
    if !whole_axis && baseline_places != candidate_places {
        // Same steps and same ranks, but not in the same combinations.
        let places = |a: &BTreeSet<(u64, u64)>, b| {
            a.difference(b).map(|(step, rank)| format!("step{step}/rank{rank}")).collect::<Vec<_>>().join(", ")
        };
        let finding = Finding::new(&STEPS_DIFFER, checker.as_str());
        let finding = finding.with("baseline", places(&baseline_places, &candidate_places));
        findings.push(finding.with("candidate", places(&candidate_places, &baseline_places)));
    }
    findings
}

/// Sorted numbers as text: `0-3, 7`.
fn ranges(numbers: &[u64]) -> String {
    let mut parts: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match parts.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*number) => *last = *number,
            _ => parts.push((*number, *number)),
        }
    }
    let text = |(first, last): &(u64, u64)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    parts.iter().map(text).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::ranges;

    #[test]
    fn runs_of_numbers_are_shortened() {
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "0-2, 5, 7-8");
        assert_eq!(ranges(&[]), "");
    }
}
