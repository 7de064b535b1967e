use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::result::unit::MonitorUnit;
use crate::verdict::Verdict;

const ID: CheckId = CheckId::Evaluation;
/// Models with tasks and their sums: as many units as an index below them may name.
const UNITS: usize = 12;

/// Units of two models: three tasks each, a group, all tasks, and another metric of a task.
fn check() -> Check {
    let unit = |index: usize| {
        let (task, scope) = [("a", "task"), ("b", "task"), ("c", "task"), ("g", "group"), ("*", "all"), ("a", "task")]
            .get(index % 6)
            .copied()
            .expect("one of six");
        let unit: EvaluationUnit = serde_json::from_value(json!({
            "model": format!("m{}", index / 6), "task": task, "metric": format!("m{}", index % 6), "filter": null,
            "scope": scope, "higher_is_better": null, "verdict": "pass", "baseline": null, "candidate": null,
            "drop": null, "interval": null, "margin": 0.0, "samples": 0, "paired": 0, "worse": 0, "better": 0,
            "test": null, "p_value": null, "p_adjusted": null, "detectable": null, "shard": null,
        }))
        .expect("a unit");
        Unit::Evaluation(Box::new(unit))
    };
    let units = (0..UNITS).map(unit).collect();
    Check { id: ID, verdict: Verdict::Pass, culprit: None, items: Vec::new(), samples: None, units }
}

fn observation((unit, rule): (usize, usize)) -> Observation {
    let rules = [&evaluation::rules::DROP, &evaluation::rules::SMALL_DROP, &evaluation::rules::DAMAGED];
    let rule = rules.get(rule).copied().expect("one of three");
    Observation::of_unit(ID, unit, Finding::new(rule, "place"))
}

/// Ranks of a monitor.
const RANKS: usize = 3;

fn monitor_check() -> Check {
    let units = (0..RANKS).map(|rank| Unit::Monitor(Box::new(MonitorUnit::empty(Some(rank as u64))))).collect();
    Check { id: CheckId::Monitor, verdict: Verdict::Pass, culprit: None, items: Vec::new(), samples: None, units }
}

/// An observation of a row of a rank, or of a rank as a whole.
fn row((rank, step, rule): (usize, Option<u64>, usize)) -> Observation {
    let rules = [&monitor::rules::JUMP, &monitor::rules::NOISE_HORIZON, &monitor::rules::NON_FINITE];
    let rule = rules.get(rule).copied().expect("one of three");
    let finding = Finding::new(rule, "place");
    let finding = match step {
        Some(step) => finding.with("unit", format!("step {step} rank {rank}")),
        None => finding,
    };
    Observation::of_unit(CheckId::Monitor, rank, finding)
}

fn rows(most: usize) -> impl Strategy<Value = Vec<Observation>> {
    let step = proptest::option::of(0..4_u64);
    proptest::collection::vec((0..RANKS, step, 0..3_usize).prop_map(row), 0..most)
}

/// Places of the roots, found by holding each observation against all.
fn walked(observations: &[Observation], check: &Check) -> Vec<usize> {
    let mut roots: Vec<usize> = Vec::new();
    for (place, new) in observations.iter().enumerate() {
        let new = Root::new(new);
        let is_before = |a: Root<'_>, b: Root<'_>| a.is_cause_of(b, check, || None);
        if roots.iter().any(|root| is_before(Root::new(&observations[*root]), new)) {
            continue;
        }
        roots.retain(|root| !is_before(new, Root::new(&observations[*root])));
        roots.push(place);
    }
    roots
}

proptest! {
    #[test]
    fn rows_of_a_monitor_have_the_roots_of_a_walk_over_all(observations in rows(24), others in rows(8)) {
        let check = monitor_check();
        let mut roots = Roots::default();
        observations.iter().for_each(|one| roots.add(one, &one.finding, Some(&check)));
        let is_same = |root: &Root<'_>, place: &usize| std::ptr::eq(root.observation, &observations[*place]);
        let found: Vec<Root<'_>> = roots.found.into_iter().flatten().collect();
        let expected = walked(&observations, &check);
        prop_assert!(found.len() == expected.len() && found.iter().zip(&expected).all(|(root, at)| is_same(root, at)));

        let accepted = AcceptedDefects::from_observations(&observations, &check);
        for other in &others {
            let is_cause = |root: &Observation| Root::new(root).is_cause_of(Root::new(other), &check, || None);
            prop_assert_eq!(accepted.first_cause(other, &check), observations.iter().position(is_cause));
        }
    }

    #[test]
    fn the_first_cause_is_that_of_a_walk_over_all(
        roots in proptest::collection::vec((0..=UNITS, 0..3_usize), 0..8),
        others in proptest::collection::vec((0..=UNITS, 0..3_usize), 20),
    ) {
        let check = check();
        let roots: Vec<Observation> = roots.into_iter().map(observation).collect();
        let accepted = AcceptedDefects::from_observations(&roots, &check);
        for other in others.into_iter().map(observation) {
            let is_cause = |root: &Observation| Root::new(root).is_cause_of(Root::new(&other), &check, || None);
            prop_assert_eq!(accepted.first_cause(&other, &check), roots.iter().position(is_cause));
        }
    }
}
