//! Tasks that a policy requires.

use crate::gate::outcome::CheckOutcome;
use crate::judge::evaluation::run;
use crate::policy::Policy;
use crate::result::finding::Finding;
use crate::result::unit::Unit;

/// Findings about tasks that the policy names and of which nothing was judged.
pub(super) fn required_task_findings(outcome: &CheckOutcome, policy: &Policy) -> Vec<Finding> {
    let task = |unit: &Unit| match unit {
        Unit::Evaluation(unit) => Some((unit.task.clone(), unit.test.is_some())),
        Unit::Rollout(unit) => Some((unit.task.clone(), unit.paired > 0)),
        Unit::Generation(unit) => Some((unit.task.clone(), unit.compared > 0)),
        _ => None,
    };
    let tasks: Vec<(String, bool)> = outcome.check.units.iter().filter_map(task).collect();
    let tasks: Vec<(&str, bool)> = tasks.iter().map(|(task, is_tested)| (task.as_str(), *is_tested)).collect();
    run::missing_required_tasks(&tasks, &policy.evaluation)
}
