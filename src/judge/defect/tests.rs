use proptest::prelude::*;
use serde_json::json;

use super::*;
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

proptest! {
    #[test]
    fn the_first_cause_is_that_of_a_walk_over_all(
        roots in proptest::collection::vec((0..=UNITS, 0..3_usize), 0..8),
        others in proptest::collection::vec((0..=UNITS, 0..3_usize), 20),
    ) {
        let check = check();
        let roots: Vec<Observation> = roots.into_iter().map(observation).collect();
        let accepted = Accepted::of(&roots, &check);
        for other in others.into_iter().map(observation) {
            let is_cause = |root: &Observation| Root::of(root).is_before(Root::of(&other), &check, || None);
            prop_assert_eq!(accepted.first_before(&other, &check), roots.iter().position(is_cause));
        }
    }
}
