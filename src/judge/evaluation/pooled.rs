//! Pooled units: the right and wrong answers of several tasks together. They show a loss that is too small in each single task.

use std::collections::{BTreeMap, BTreeSet};

use super::measure::TestInput;
use crate::result::unit::EvaluationScope;

/// A task's answers that enter a pool.
#[derive(Clone, Debug)]
pub(super) struct Member {
    /// The task.
    pub(super) task: String,
    /// The metric.
    pub(super) metric: String,
    /// The filter.
    pub(super) filter: Option<String>,
    /// Whether a larger value is better.
    pub(super) higher_is_better: bool,
    /// Whether answers are drawn at random.
    pub(super) is_sampled: bool,
    /// Input of the test.
    pub(super) evidence: TestInput,
    /// Number of pairs in the test.
    pub(super) paired: u64,
    /// Number of sample ids on either side.
    pub(super) samples: u64,
    /// Sums of the values over the pairs: baseline, candidate.
    pub(super) sums: (f64, f64),
}

/// Answers of several tasks.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pool {
    /// Name of the group; `*` for all tasks.
    pub(super) name: String,
    /// Whether the pool is a group or all tasks.
    pub(super) scope: EvaluationScope,
    /// The metric.
    pub(super) metric: String,
    /// The filter.
    pub(super) filter: Option<String>,
    /// Whether a larger value is better.
    pub(super) higher_is_better: bool,
    /// Whether answers of any task are drawn at random.
    pub(super) is_sampled: bool,
    /// Number of answers that got worse.
    pub(super) worse: u64,
    /// Number of answers that got better.
    pub(super) better: u64,
    /// Number of pairs.
    pub(super) paired: u64,
    /// Number of sample ids on either side.
    pub(super) samples: u64,
    /// Rates of right answers over the pairs: baseline, candidate.
    pub(super) rates: (f64, f64),
}

/// The pools of a model: one per group, and one of all tasks where no group holds them all. Pools of a single task are left out.
pub(super) fn pools(members: &[Member], groups: &BTreeMap<String, Vec<String>>) -> Vec<Pool> {
    let mut by_task: BTreeMap<&str, Vec<&Member>> = BTreeMap::new();
    for member in members {
        by_task.entry(&member.task).or_default().push(member);
    }
    let all: BTreeSet<&str> = by_task.keys().copied().collect();
    let mut pools = Vec::new();
    let mut is_covered = false;
    let mut seen: BTreeSet<BTreeSet<&str>> = BTreeSet::new();
    for group in groups.keys() {
        let tasks: BTreeSet<&str> = leaves(group, groups).intersection(&all).copied().collect();
        is_covered |= tasks == all;
        // A group of groups may hold the same tasks as another group.
        if seen.insert(tasks.clone()) {
            pools.extend(of_tasks(group, EvaluationScope::Group, &by_task, &tasks));
        }
    }
    if !is_covered {
        pools.extend(of_tasks("*", EvaluationScope::All, &by_task, &all));
    }
    pools
}

/// Names in a group and in the groups below it. A group that contains itself adds nothing.
fn leaves<'a>(group: &'a str, groups: &'a BTreeMap<String, Vec<String>>) -> BTreeSet<&'a str> {
    let (mut tasks, mut open, mut seen) = (BTreeSet::new(), vec![group], BTreeSet::from([group]));
    while let Some(name) = open.pop() {
        for inner in groups.get(name).into_iter().flatten() {
            tasks.insert(inner.as_str());
            if groups.contains_key(inner) && seen.insert(inner.as_str()) {
                open.push(inner);
            }
        }
    }
    tasks
}

/// A pool's key: metric, filter and direction.
type Key<'a> = (&'a str, &'a Option<String>, bool);

fn of_tasks(
    name: &str,
    scope: EvaluationScope,
    members: &BTreeMap<&str, Vec<&Member>>,
    tasks: &BTreeSet<&str>,
) -> Vec<Pool> {
    let mut by_metric: BTreeMap<Key<'_>, Vec<&Member>> = BTreeMap::new();
    for member in tasks.iter().filter_map(|task| members.get(task)).flatten() {
        by_metric.entry((&member.metric, &member.filter, member.higher_is_better)).or_default().push(member);
    }
    let several = by_metric.into_values().filter(|members| members.len() > 1);
    several.filter_map(|members| of_members(name, scope, &members)).collect()
}

fn of_members(name: &str, scope: EvaluationScope, members: &[&Member]) -> Option<Pool> {
    let first = members.first()?;
    let mut pool = Pool {
        name: name.to_owned(),
        scope,
        metric: first.metric.clone(),
        filter: first.filter.clone(),
        higher_is_better: first.higher_is_better,
        is_sampled: members.iter().any(|member| member.is_sampled),
        worse: 0,
        better: 0,
        paired: 0,
        samples: 0,
        rates: (0.0, 0.0),
    };
    for member in members {
        let TestInput::Counts { worse, better } = member.evidence else { continue };
        pool.worse += worse;
        pool.better += better;
        pool.paired += member.paired;
        pool.samples += member.samples;
        pool.rates.0 += member.sums.0;
        pool.rates.1 += member.sums.1;
    }
    let count = pool.paired as f64;
    pool.rates = (pool.rates.0 / count, pool.rates.1 / count);
    (pool.paired > 0).then_some(pool)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(task: &str, worse: u64) -> Member {
        Member {
            task: task.to_owned(),
            metric: "acc".to_owned(),
            filter: None,
            higher_is_better: true,
            is_sampled: false,
            evidence: TestInput::Counts { worse, better: 1 },
            paired: 100,
            samples: 100,
            sums: (60.0, 61.0 - worse as f64),
        }
    }

    fn names(members: &[Member], groups: &[(&str, &[&str])]) -> Vec<(String, u64)> {
        let groups = groups.iter().map(|(name, tasks)| {
            ((*name).to_owned(), tasks.iter().map(|task| (*task).to_owned()).collect::<Vec<String>>())
        });
        pools(members, &groups.collect()).into_iter().map(|pool| (pool.name, pool.worse)).collect()
    }

    #[test]
    fn groups_and_all_tasks_are_pooled() {
        let members = [member("a", 1), member("b", 2), member("c", 4)];
        let of = |name: &str, worse| (name.to_owned(), worse);
        assert_eq!(names(&members, &[]), [of("*", 7)]);
        assert_eq!(names(&members, &[("g", &["a", "b"])]), [of("g", 3), of("*", 7)]);
        assert_eq!(names(&members, &[("g", &["a", "b", "c"])]), [of("g", 7)], "the group holds all");
        assert_eq!(names(&members, &[("g", &["h", "c"]), ("h", &["a", "b"])]), [of("g", 7), of("h", 3)]);
        assert_eq!(names(&members, &[("g", &["h"]), ("h", &["g", "a", "b"])]), [of("g", 3), of("*", 7)], "a circle");
        assert_eq!(names(&members[..1], &[("g", &["a"])]), [], "one task is itself");
        assert_eq!(names(&[], &[]), []);
    }

    #[test]
    fn a_pool_has_the_rates_of_its_pairs() {
        let found = &pools(&[member("a", 1), member("b", 3)], &BTreeMap::new())[0];
        assert_eq!((found.paired, found.samples, found.better), (200, 200, 2));
        assert!((found.rates.0 - 0.6).abs() < 1e-12 && (found.rates.1 - 0.59).abs() < 1e-12);
    }
}
