//! Memory limit for the scores of a side. Each score becomes a unit with findings, and with rows in every document.

use super::damage::EvaluationDamage;
use super::run::{EvaluationRun, EvaluationTask};

/// Bytes of memory that a score of one side needs: half of the 40 kB that a pair takes at the peak, while documents are written
/// and both sides differ (docs/performance.md, `evaluation-tasks`).
const OF_SCORE: u64 = 20 << 10;

/// Removes tasks whose scores do not fit into `memory`, in the order of runs and tasks, and records this as damage of their run.
pub(super) fn drop_beyond_memory(runs: &mut [EvaluationRun], memory: u64) {
    let most = memory / OF_SCORE;
    let mut left = most;
    for run in runs {
        let (mut tasks, mut scores) = (0_u64, 0_u64);
        run.tasks.retain(|_, task| {
            let own = units(task);
            let rest = left.checked_sub(own);
            left = rest.unwrap_or(left);
            if rest.is_none() {
                tasks += 1;
                scores += own;
            }
            rest.is_some()
        });
        if tasks > 0 {
            let limit = format!("the {most} that fit into {memory} bytes of memory, a quarter of `--max-memory`");
            let reason = format!("not read, as they are beyond {limit}: scores {scores}, of tasks {tasks}");
            run.damages.push(EvaluationDamage { path: run.path.clone(), line: None, reason });
        }
    }
}

/// Number of units of a task: its scores, or the metrics of its samples under all filters if these are more.
fn units(task: &EvaluationTask) -> u64 {
    let samples = task.samples.iter().flat_map(|samples| samples.by_filter.values());
    let of_samples: usize = samples.filter_map(|samples| samples.first()).map(|sample| sample.values.len()).sum();
    task.scores.len().max(of_samples).max(1) as u64
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::read::account::UnreadNumbers;
    use crate::read::evaluation::{Harness, Score, ScoreName};

    fn run(tasks: &[(&str, usize)]) -> EvaluationRun {
        let score = Score { value: 0.5, error: None, higher_is_better: None };
        let name = |metric: usize| ScoreName { metric: metric.to_string(), filter: None };
        let task = |scores: usize| EvaluationTask {
            scores: (0..scores).map(|one| (name(one), score)).collect(),
            ..EvaluationTask::default()
        };
        EvaluationRun {
            harness: Harness::LmEval,
            model: "m".to_owned(),
            path: "m/results.json".to_owned(),
            settings: BTreeMap::new(),
            tasks: tasks.iter().map(|(name, scores)| ((*name).to_owned(), task(*scores))).collect(),
            groups: BTreeMap::new(),
            older: Vec::new(),
            damages: Vec::new(),
            account: UnreadNumbers::default(),
        }
    }

    #[test]
    fn tasks_beyond_the_memory_are_damage_that_names_file_and_limit() {
        let mut runs = [run(&[("a", 2), ("b", 3), ("c", 0)]), run(&[("a", 1), ("b", 1)])];
        drop_beyond_memory(&mut runs, 4 * OF_SCORE + 1);
        let kept = |run: &EvaluationRun| run.tasks.keys().cloned().collect::<Vec<_>>();
        assert_eq!(kept(&runs[0]), ["a", "c"], "a task without scores is a unit too");
        assert_eq!(kept(&runs[1]), ["a"]);
        let said = |run: &EvaluationRun| {
            run.damages.iter().map(|damage| (damage.path.clone(), damage.reason.clone())).collect::<Vec<_>>()
        };
        let reason = |counts: &str| {
            let limit =
                format!("the 4 that fit into {} bytes of memory, a quarter of `--max-memory`", 4 * OF_SCORE + 1);
            vec![("m/results.json".to_owned(), format!("not read, as they are beyond {limit}: {counts}"))]
        };
        assert_eq!(said(&runs[0]), reason("scores 3, of tasks 1"));
        assert_eq!(said(&runs[1]), reason("scores 1, of tasks 1"));
    }

    #[test]
    fn nothing_is_left_out_that_fits() {
        let mut runs = [run(&[("a", 2), ("b", 3)])];
        drop_beyond_memory(&mut runs, 5 * OF_SCORE);
        assert_eq!((runs[0].tasks.len(), runs[0].damages.len()), (2, 0));
    }
}
