//! Runs of both sides for tests: their names, and the pairs of equal seeds.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::rules::METRIC_MISSING;
use crate::policy::samples::Pair;
use crate::result::finding::Finding;
use crate::result::samples::SampledRun;
use crate::verdict::{PerSide, Side};

/// Fewest pairs for runs to be paired.
const LEAST_PAIRS: usize = 3;

/// Runs of both sides.
#[derive(Clone, Debug, Default)]
pub struct SampleRuns {
    /// Runs of the baseline, and of the candidate.
    pub sides: PerSide<Vec<SampledRun>>,
    /// Indexes of the baseline's and the candidate's run of one seed; empty where runs are not paired.
    pub pairs: Vec<[usize; 2]>,
}

impl SampleRuns {
    /// Runs by their names and seeds, paired as the policy says.
    pub fn new(sides: PerSide<Vec<SampledRun>>, pair: Pair) -> Self {
        let pairs = if pair == Pair::None { Vec::new() } else { pairs(&sides) };
        Self { sides, pairs }
    }

    /// Findings about runs without the metric at `place`; `has` says for each run whether it has the metric.
    pub(crate) fn missing_metric_findings(&self, place: &str, has: &PerSide<Vec<bool>>) -> Vec<Finding> {
        let told = |side: Side| {
            let absent: Vec<usize> =
                has[side].iter().enumerate().filter(|(_, has)| !**has).map(|(place, _)| place).collect();
            let finding = Finding::new(&METRIC_MISSING, place).with("side", side.as_str()).with("count", absent.len());
            let finding = finding.with("of", has[side].len());
            (!absent.is_empty()).then(|| finding.with("runs", self.names(side, &absent)))
        };
        Side::BOTH.into_iter().filter_map(told).collect()
    }

    /// Names of some runs of a side.
    pub fn names(&self, side: Side, places: &[usize]) -> Vec<String> {
        let runs = &self.sides[side];
        places.iter().filter_map(|place| runs.get(*place)).map(|run| run.name.clone()).collect()
    }
}

/// The seed in a name: `seed3`, `seed-3` or `seed_3`.
pub(crate) fn seed_of(name: &str) -> Option<u64> {
    static SEED: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?i)(?:^|[^a-z])seed[-_ ]?(\d+)").expect("invariant: a constant, used by tests"));
    SEED.captures(name)?.get(1)?.as_str().parse().ok()
}

/// Pairs of runs with the same seed. There have to be at least three, each seed once per side, and all runs of the smaller side among them;
/// else there are none.
fn pairs(PerSide { baseline, candidate }: &PerSide<Vec<SampledRun>>) -> Vec<[usize; 2]> {
    let by_seed = |runs: &[SampledRun]| -> Option<BTreeMap<u64, usize>> {
        let seeds: Vec<(u64, usize)> =
            runs.iter().enumerate().filter_map(|(place, run)| Some((run.seed?, place))).collect();
        let map: BTreeMap<u64, usize> = seeds.iter().copied().collect();
        (map.len() == seeds.len()).then_some(map)
    };
    let (Some(baseline_seeds), Some(candidate_seeds)) = (by_seed(baseline), by_seed(candidate)) else {
        return Vec::new();
    };
    let pairs: Vec<[usize; 2]> =
        baseline_seeds.iter().filter_map(|(seed, place)| Some([*place, *candidate_seeds.get(seed)?])).collect();
    let is_whole = pairs.len() >= LEAST_PAIRS && pairs.len() == baseline.len().min(candidate.len());
    if is_whole { pairs } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(names: &[&str]) -> Vec<SampledRun> {
        let run = |name: &&str| SampledRun { name: (*name).to_owned(), seed: seed_of(name), left_out: None };
        names.iter().map(run).collect()
    }

    #[test]
    fn names_tell_seeds_and_numbers_of_runs_do_not() {
        for (name, expected) in [
            ("seed-3.jsonl", Some(3)),
            ("out_Seed12", Some(12)),
            ("seed_0/log.txt", Some(0)),
            ("run-03.csv", None),
            ("aniseed5", None),
            ("seedling", None),
        ] {
            assert_eq!(seed_of(name), expected, "{name}");
        }
    }

    #[test]
    fn runs_are_paired_by_seed_alone() {
        let [baseline, candidate] = [runs(&["seed-0", "seed-1", "seed-2"]), runs(&["seed-2", "seed-0", "seed-1"])];
        let both = SampleRuns::new(PerSide { baseline: baseline.clone(), candidate: candidate.clone() }, Pair::Auto);
        assert_eq!(both.pairs, [[0, 1], [1, 2], [2, 0]]);
        assert!(SampleRuns::new(PerSide { baseline: baseline.clone(), candidate }, Pair::None).pairs.is_empty());
        assert!(
            SampleRuns::new(
                PerSide { baseline: baseline.clone(), candidate: runs(&["seed-2", "seed-0", "run-1"]) },
                Pair::Auto
            )
            .pairs
            .is_empty()
        );
        assert!(
            SampleRuns::new(PerSide { baseline, candidate: runs(&["seed-2", "seed-0", "x-seed-0"]) }, Pair::Auto)
                .pairs
                .is_empty()
        );
    }
}
