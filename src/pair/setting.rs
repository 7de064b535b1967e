//! Settings of two runs, by name.
//!
//! Full dotted names first; then, among what is left and only where it is unambiguous on both sides, the last
//! part of the name, an alias, and another spelling of the same words (`micro-batchsize`). Nothing is paired
//! twice, and likeness alone pairs nothing: `beta1` and `beta2` are alike.

use std::collections::BTreeMap;

use super::similarity;
use crate::read::json::Json;

/// Likeness from which two left-over names are mentioned together.
const SIMILAR: f64 = 0.8;

/// Built-in aliases of the last part of a name: every name of a group means the same.
const ALIASES: [&[&str]; 5] = [
    &["learning_rate", "lr", "learningrate"],
    &["batch_size", "batch", "bs", "batch_size_per_gpu"],
    &["epochs", "num_epochs", "max_epochs", "epoch", "num_train_epochs"],
    &["weight_decay", "wd", "weightdecay"],
    &["dropout_rate", "dropout", "drop_rate"],
];

pub(crate) type Setting = (String, Json);

/// Settings of both sides, paired.
#[derive(Debug, Default)]
pub(crate) struct PairedSettings<'a> {
    /// Baseline and candidate, in the baseline's order within each way of matching.
    pub matched: Vec<(&'a Setting, &'a Setting)>,
    /// Settings that only the baseline has.
    pub only_baseline: Vec<&'a Setting>,
    /// Settings that only the candidate has.
    pub only_candidate: Vec<&'a Setting>,
}

/// Pairs settings; `aliases` (canonical name to further names) are joined with the built-in ones.
pub(crate) fn pair_settings<'a>(
    baseline: &'a [Setting],
    candidate: &'a [Setting],
    aliases: &BTreeMap<String, Vec<String>>,
) -> PairedSettings<'a> {
    let canonical = canonical_names(aliases);
    let full = |name: &str| name.replace('-', "_").to_lowercase();
    let alias = |name: &str| {
        let last = last_part(name);
        canonical.get(&last).cloned().unwrap_or(last)
    };
    let spelling = |name: &str| last_part(name).replace('_', "");
    let mut paired = PairedSettings {
        matched: Vec::new(),
        only_baseline: baseline.iter().collect(),
        only_candidate: candidate.iter().collect(),
    };
    paired.match_by(&full);
    paired.match_by(&last_part);
    paired.match_by(&alias);
    paired.match_by(&spelling);
    paired
}

/// The last part of a dotted name, in lower case, with `_` for `-`.
pub fn last_part(name: &str) -> String {
    name.rsplit('.').next().unwrap_or(name).replace('-', "_").to_lowercase()
}

fn canonical_names(aliases: &BTreeMap<String, Vec<String>>) -> BTreeMap<String, String> {
    let mut canonical = BTreeMap::new();
    for (name, others) in aliases {
        for other in others.iter().chain([name]) {
            canonical.insert(last_part(other), last_part(name));
        }
    }
    for group in ALIASES {
        // A group of the policy that shares a name with a built-in group takes the whole group over.
        let known = group.iter().find_map(|name| canonical.get(*name)).cloned();
        let target = known.unwrap_or_else(|| group.first().copied().unwrap_or_default().to_owned());
        for name in group {
            canonical.entry((*name).to_owned()).or_insert_with(|| target.clone());
        }
    }
    canonical
}

impl PairedSettings<'_> {
    /// Pairs what is left and has the same key, where the key occurs once on each side.
    fn match_by(&mut self, key: &dyn Fn(&str) -> String) {
        let unique = |settings: &[&Setting]| {
            let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
            for (index, setting) in settings.iter().enumerate() {
                counts.entry(key(&setting.0)).and_modify(|(count, _)| *count += 1).or_insert((1, index));
            }
            counts.retain(|_, (count, _)| *count == 1);
            counts
        };
        let candidate = unique(&self.only_candidate);
        let baseline = unique(&self.only_baseline);
        let mut taken = (Vec::new(), Vec::new());
        for (index, setting) in self.only_baseline.iter().enumerate() {
            let key = key(&setting.0);
            let Some((_, partner)) = candidate.get(&key).filter(|_| baseline.contains_key(&key)) else { continue };
            let Some(other) = self.only_candidate.get(*partner) else { continue };
            self.matched.push((setting, other));
            taken.0.push(index);
            taken.1.push(*partner);
        }
        taken.1.sort_unstable();
        remove(&mut self.only_baseline, &taken.0);
        remove(&mut self.only_candidate, &taken.1);
    }

    /// The left-over name of the candidate that is most like a left-over name of the baseline, if any is.
    pub(crate) fn similar_name(&self, name: &str) -> Option<&str> {
        let name = last_part(name);
        let ratios = self.only_candidate.iter().map(|other| (similarity::ratio(&name, &last_part(&other.0)), other));
        let best = ratios.filter(|(ratio, _)| *ratio > SIMILAR).max_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(best.1.0.as_str())
    }
}

/// Removes the elements at `sorted` places.
fn remove<T>(items: &mut Vec<T>, sorted: &[usize]) {
    let mut index = 0;
    items.retain(|_| {
        let keep = sorted.binary_search(&index).is_err();
        index += 1;
        keep
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(names: &[&str]) -> Vec<Setting> {
        names.iter().map(|name| ((*name).to_owned(), Json::Null)).collect()
    }

    fn pairs(baseline: &[&str], candidate: &[&str]) -> (Vec<(String, String)>, usize, usize) {
        let (a, b) = (settings(baseline), settings(candidate));
        let paired = pair_settings(&a, &b, &BTreeMap::from([("rate".into(), vec!["eta".into(), "lr".into()])]));
        let matched = paired.matched.iter().map(|(a, b)| (a.0.clone(), b.0.clone())).collect();
        (matched, paired.only_baseline.len(), paired.only_candidate.len())
    }

    fn two(a: &str, b: &str) -> (String, String) {
        (a.into(), b.into())
    }

    #[test]
    fn full_names_come_first_and_nothing_is_paired_twice() {
        assert_eq!(
            pairs(&["optim.lr", "sched.lr"], &["sched.lr", "optim.lr"]).0,
            [two("optim.lr", "optim.lr"), two("sched.lr", "sched.lr")]
        );
        assert_eq!(
            pairs(&["optim.lr", "optim.learning_rate"], &["optim.lr"]),
            (vec![two("optim.lr", "optim.lr")], 1, 0)
        );
    }

    #[test]
    fn fallbacks_pair_only_what_is_unambiguous() {
        assert_eq!(pairs(&["train.lr"], &["lr"]).0, [two("train.lr", "lr")]);
        assert_eq!(pairs(&["a.lr", "b.lr"], &["lr"]), (vec![], 2, 1));
        assert_eq!(pairs(&["eta"], &["learning-rate"]).0, [two("eta", "learning-rate")]);
        assert_eq!(pairs(&["micro-batch-size"], &["micro-batchsize"]).0, [two("micro-batch-size", "micro-batchsize")]);
        assert_eq!(pairs(&["adam_beta1"], &["adam_beta2"]), (vec![], 1, 1));
    }
}
