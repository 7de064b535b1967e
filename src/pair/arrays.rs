//! Pairing of files of arrays by their paths, and of their arrays by name.

use std::collections::BTreeMap;

use crate::read::arrays::{ArrayFile, NamedArray};

/// Things of both sides, paired, and those of one side alone.
#[derive(Debug)]
pub(crate) struct ArrayPairs<T> {
    /// Baseline and candidate, in the order of the candidate's.
    pub both: Vec<(T, T)>,
    /// Those that only the baseline has.
    pub only_baseline: Vec<T>,
    /// Those that only the candidate has.
    pub only_candidate: Vec<T>,
}

/// Pairs files by path, else by path without extension; a single file on each side is always a pair.
pub(crate) fn pair_files<'a>(baseline: &'a [ArrayFile], candidate: &'a [ArrayFile]) -> ArrayPairs<&'a ArrayFile> {
    let pairs = by_key(baseline.iter().collect(), candidate.iter().collect(), |file| file.path.clone());
    let rest = by_key(pairs.only_baseline, pairs.only_candidate, |file| stem(&file.path).to_owned());
    let both = pairs.both.into_iter().chain(rest.both).collect();
    alone(ArrayPairs { both, only_baseline: rest.only_baseline, only_candidate: rest.only_candidate })
}

/// Pairs the arrays of two files by name; a single array in each file is always a pair.
pub(crate) fn pair_arrays(baseline: Vec<NamedArray>, candidate: Vec<NamedArray>) -> ArrayPairs<NamedArray> {
    alone(by_key(baseline, candidate, |array| array.name.clone()))
}

/// Pairs the only item of each side, where nothing else was paired.
fn alone<T>(mut pairs: ArrayPairs<T>) -> ArrayPairs<T> {
    if pairs.both.is_empty() && pairs.only_baseline.len() == 1 && pairs.only_candidate.len() == 1 {
        pairs.both.extend(pairs.only_baseline.pop().zip(pairs.only_candidate.pop()));
    }
    pairs
}

/// Pairs items by a key. Items of one side with equal keys are paired in order.
fn by_key<T>(baseline: Vec<T>, candidate: Vec<T>, key: impl Fn(&T) -> String) -> ArrayPairs<T> {
    let mut known: BTreeMap<String, Vec<(usize, T)>> = BTreeMap::new();
    for (place, item) in baseline.into_iter().enumerate().rev() {
        known.entry(key(&item)).or_default().push((place, item));
    }
    let mut pairs = ArrayPairs { both: Vec::new(), only_baseline: Vec::new(), only_candidate: Vec::new() };
    for item in candidate {
        match known.get_mut(&key(&item)).and_then(Vec::pop) {
            Some((_, partner)) => pairs.both.push((partner, item)),
            None => pairs.only_candidate.push(item),
        }
    }
    let mut left: Vec<(usize, T)> = known.into_values().flatten().collect();
    left.sort_by_key(|(place, _)| *place);
    pairs.only_baseline = left.into_iter().map(|(_, item)| item).collect();
    pairs
}

fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() => path.get(..path.len() - ending.len() - 1).unwrap_or(path),
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(paths: &[&str]) -> Vec<ArrayFile> {
        paths.iter().map(|path| ArrayFile { path: (*path).to_owned(), picture: None }).collect()
    }

    #[test]
    fn files_pair_by_path_then_by_stem_then_alone() {
        let (left, right) = (of(&["a/x.npy", "b.pt", "c.npy"]), of(&["a/x.npy", "b.npy", "d.npy"]));
        let pairs = pair_files(&left, &right);
        let both: Vec<(&str, &str)> = pairs.both.iter().map(|(b, c)| (b.path.as_str(), c.path.as_str())).collect();
        assert_eq!(both, [("a/x.npy", "a/x.npy"), ("b.pt", "b.npy")]);
        assert_eq!((pairs.only_baseline[0].path.as_str(), pairs.only_candidate[0].path.as_str()), ("c.npy", "d.npy"));
        assert_eq!(pair_files(&of(&["out.npy"]), &of(&["logits.npy"])).both.len(), 1);
    }
}
