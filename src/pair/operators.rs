//! Pairing of operator tests: tables by folder and time stamp, rows by the operator's name.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::hash::FastMap;
use crate::read::operators::{OperatorOutput, OperatorPlace, TableKind};

/// The tables that one test wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OperatorTest {
    /// Folder of the tables; empty at the root.
    pub folder: String,
    /// Time stamp in their names; empty without one.
    pub stamp: String,
    /// Rank that their path names.
    pub rank: Option<u64>,
    /// One row per output.
    pub details: Option<OperatorPlace>,
    /// One row per operator.
    pub results: Option<OperatorPlace>,
}

impl OperatorTest {
    /// Path of its details, or of its results where it has none.
    pub(crate) fn path(&self) -> &str {
        self.details.as_ref().or(self.results.as_ref()).map_or("", |place| &place.path)
    }

    fn of(place: &OperatorPlace) -> Self {
        let OperatorPlace { folder, stamp, rank, .. } = place.clone();
        let mut test = Self { folder, stamp, rank, details: None, results: None };
        test.take(place);
        test
    }

    fn take(&mut self, place: &OperatorPlace) {
        let is_details = matches!(place.kind, TableKind::Details | TableKind::ComparedDetails);
        if is_details { self.details = Some(place.clone()) } else { self.results = Some(place.clone()) }
    }
}

/// Groups the tables of a side by the test that wrote them, in order of folder and time stamp.
pub(crate) fn operator_tests(places: &[OperatorPlace]) -> Vec<OperatorTest> {
    let mut places: Vec<&OperatorPlace> = places.iter().collect();
    places.sort_by_key(|place| (&place.folder, place.rank, &place.stamp, place.kind, &place.path));
    let (results, details): (Vec<&OperatorPlace>, Vec<&OperatorPlace>) =
        places.into_iter().partition(|place| matches!(place.kind, TableKind::Results | TableKind::ComparedResults));
    let mut tests: Vec<OperatorTest> = details.into_iter().map(OperatorTest::of).collect();
    let mut of_folder: HashMap<(String, Option<u64>), Vec<usize>> = HashMap::new();
    for (nth, test) in tests.iter().enumerate() {
        of_folder.entry((test.folder.clone(), test.rank)).or_default().push(nth);
    }
    let mut alone = Vec::new();
    for place in results {
        let known = of_folder.get(&(place.folder.clone(), place.rank)).map_or(&[][..], Vec::as_slice);
        let is_free = |nth: &&usize| tests.get(**nth).is_some_and(|test| test.results.is_none());
        let same = |nth: &&usize| tests.get(**nth).is_some_and(|test| test.stamp == place.stamp);
        let twin = known.iter().filter(is_free).find(same);
        // Tables without a time stamp belong together where the folder holds one test only.
        let only = known.first().filter(|_| known.len() == 1).filter(is_free);
        let only =
            only.filter(|nth| tests.get(**nth).is_some_and(|test| test.stamp.is_empty() || place.stamp.is_empty()));
        match twin.or(only).copied().and_then(|nth| tests.get_mut(nth)) {
            Some(test) => test.take(place),
            None => alone.push(OperatorTest::of(place)),
        }
    }
    tests.extend(alone);
    tests.sort_by(|a, b| {
        let key = |test: &OperatorTest| (test.folder.clone(), test.rank, test.stamp.clone(), test.path().to_owned());
        key(a).cmp(&key(b))
    });
    tests
}

/// Tests of both sides.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct PairedTests {
    /// Places of the tests of both sides, baseline and candidate, in the candidate's order.
    pub both: Vec<(usize, usize)>,
    /// Places of those of the baseline alone.
    pub only_baseline: Vec<usize>,
    /// Places of those of the candidate alone.
    pub only_candidate: Vec<usize>,
}

/// Pairs the tests of both sides: those of one folder in order of time stamps, then those of one rank. The rest is paired in
/// order of time stamps where both sides have the same number left.
pub(crate) fn pair_tests(baseline: &[OperatorTest], candidate: &[OperatorTest]) -> PairedTests {
    let mut baseline_places: Vec<usize> = (0..baseline.len()).collect();
    let mut candidate_places: Vec<usize> = (0..candidate.len()).collect();
    let mut both = Vec::new();
    if let ([one], [other]) = (baseline_places.as_slice(), candidate_places.as_slice()) {
        return PairedTests { both: vec![(*one, *other)], ..PairedTests::default() };
    }
    let folder = |test: &OperatorTest| Some((test.folder.clone(), test.rank));
    let rank = |test: &OperatorTest| test.rank.map(|rank| (String::new(), Some(rank)));
    for key in [&folder as &dyn Fn(&OperatorTest) -> Option<(String, Option<u64>)>, &rank] {
        let (more, baseline_left, candidate_left) =
            by_key((baseline, &baseline_places), (candidate, &candidate_places), key);
        both.extend(more);
        (baseline_places, candidate_places) = (baseline_left, candidate_left);
    }
    if baseline_places.len() == candidate_places.len() {
        let sort = |places: &mut Vec<usize>, tests: &[OperatorTest]| {
            places.sort_by_key(|nth| tests.get(*nth).map(|test| test.stamp.clone()));
        };
        sort(&mut baseline_places, baseline);
        sort(&mut candidate_places, candidate);
        both.extend(baseline_places.drain(..).zip(candidate_places.drain(..)));
    }
    both.sort_by_key(|(_, place)| *place);
    PairedTests { both, only_baseline: baseline_places, only_candidate: candidate_places }
}

type Key = (String, Option<u64>);

/// Pairs the tests of equal keys in order, and gives what is left of both sides.
fn by_key(
    (baseline, baseline_places): (&[OperatorTest], &[usize]),
    (candidate, candidate_places): (&[OperatorTest], &[usize]),
    key: &dyn Fn(&OperatorTest) -> Option<Key>,
) -> (Vec<(usize, usize)>, Vec<usize>, Vec<usize>) {
    let mut waiting: BTreeMap<Key, VecDeque<usize>> = BTreeMap::new();
    let (mut both, mut baseline_left, mut candidate_left) = (Vec::new(), Vec::new(), Vec::new());
    for nth in baseline_places {
        match baseline.get(*nth).and_then(key) {
            Some(key) => waiting.entry(key).or_default().push_back(*nth),
            None => baseline_left.push(*nth),
        }
    }
    for nth in candidate_places {
        let first = candidate.get(*nth).and_then(key).and_then(|key| waiting.get_mut(&key)?.pop_front());
        match first {
            Some(first) => both.push((first, *nth)),
            None => candidate_left.push(*nth),
        }
    }
    baseline_left.extend(waiting.into_values().flatten());
    baseline_left.sort_unstable();
    (both, baseline_left, candidate_left)
}

/// An output of both sides.
#[derive(Clone, Copy, Debug)]
pub struct OutputPair<'a> {
    /// The baseline's.
    pub baseline: &'a OperatorOutput,
    /// The candidate's.
    pub candidate: &'a OperatorOutput,
}

/// Rows of two tables.
#[derive(Debug)]
pub struct PairedRows<'a> {
    /// Outputs of both sides, in the candidate's order.
    pub both: Vec<OutputPair<'a>>,
    /// Outputs of the baseline alone, in its order.
    pub only_baseline: Vec<&'a OperatorOutput>,
    /// Outputs of the candidate alone, in its order.
    pub only_candidate: Vec<&'a OperatorOutput>,
}

/// Pairs the rows of two tables by name; rows with the same name are paired in order.
pub(crate) fn pair_outputs<'a>(baseline: &'a [OperatorOutput], candidate: &'a [OperatorOutput]) -> PairedRows<'a> {
    // The first row of each name that waits, and for each row the next one of its name.
    let mut waiting: FastMap<&str, Option<usize>> = FastMap::default();
    let mut next = vec![None; baseline.len()];
    for ((nth, output), next) in baseline.iter().enumerate().zip(&mut next).rev() {
        *next = waiting.insert(&output.name, Some(nth)).flatten();
    }
    let mut left: Vec<Option<&OperatorOutput>> = baseline.iter().map(Some).collect();
    let (mut both, mut only_candidate) = (Vec::new(), Vec::new());
    for output in candidate {
        let first = waiting.get_mut(output.name.as_str());
        let nth = first.and_then(|first| std::mem::replace(first, first.and_then(|nth| *next.get(nth)?)));
        match nth.and_then(|nth| left.get_mut(nth)?.take()) {
            Some(partner) => both.push(OutputPair { baseline: partner, candidate: output }),
            None => only_candidate.push(output),
        }
    }
    PairedRows { both, only_baseline: left.into_iter().flatten().collect(), only_candidate }
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    fn place(path: &str) -> OperatorPlace {
        let kind = if path.contains("result") { TableKind::Results } else { TableKind::Details };
        OperatorPlace::from_path(path, kind)
    }

    fn made(paths: &[&str]) -> Vec<OperatorTest> {
        operator_tests(&paths.iter().map(|path| place(path)).collect::<Vec<_>>())
    }

    #[test]
    fn tables_of_one_test_belong_together() {
        let found = made(&[
            "a/accuracy_checking_result_20260101000002.csv",
            "a/accuracy_checking_details_20260101000001.csv",
            "a/accuracy_checking_details_20260101000002.csv",
            "b/result.csv",
            "b/details.csv",
        ]);
        let have: Vec<(bool, bool)> =
            found.iter().map(|test| (test.details.is_some(), test.results.is_some())).collect();
        assert_eq!(have, [(true, false), (true, true), (true, true)]);
    }

    #[test]
    fn tests_pair_by_folder_then_rank_then_time() {
        let baseline = made(&["d/details_20260101000001.csv", "d/details_20260101000002.csv", "gpu_rank1/details.csv"]);
        let candidate =
            made(&["d/details_20260201000005.csv", "d/details_20260201000009.csv", "npu_rank1/details.csv"]);
        assert_eq!(pair_tests(&baseline, &candidate).both, [(0, 0), (1, 1), (2, 2)]);
        let baseline = made(&["a/details_20260101000001.csv", "b/details_20260101000002.csv"]);
        let candidate = made(&["y/details_20260101000009.csv", "z/details_20260101000003.csv"]);
        assert_eq!(pair_tests(&baseline, &candidate).both, [(1, 0), (0, 1)], "in the order of time");
        let paired = pair_tests(&baseline, &candidate[..1]);
        assert_eq!((paired.both.len(), paired.only_baseline.len(), paired.only_candidate.len()), (0, 2, 1));
    }
}
