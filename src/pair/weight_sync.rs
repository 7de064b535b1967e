//! Pairing of synchronisations of weights: the stages of a step and rank, and tensors by name.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::parameter::rewritten;
use crate::read::weight_sync::{SyncRecord, SyncStage};
use crate::verdict::{PerSide, Side};

/// Most records of one stage, step and rank that are compared with the records of the next stage.
const MOST_TWINS: usize = 4;

/// Two stages that have to hold the same tensors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SyncLink<'a> {
    /// The earlier stage, with its side.
    pub from: (Side, &'a SyncRecord),
    /// The later stage, with its side.
    pub to: (Side, &'a SyncRecord),
    /// Whether the earlier stage is that of another rank.
    pub is_other_rank: bool,
}

/// Stages of both sides, paired.
#[derive(Debug, Default)]
pub(crate) struct SyncLinks<'a> {
    /// Pairs, in order of step and rank.
    pub links: Vec<SyncLink<'a>>,
    /// Stages without a partner.
    pub lone: Vec<(Side, &'a SyncRecord)>,
    /// Stages of the baseline whose step and rank the candidate has no stage of.
    pub absent: Vec<&'a SyncRecord>,
    /// Records of one stage, step and rank of a side.
    pub twins: Vec<[&'a SyncRecord; 2]>,
}

/// Key of a synchronisation: whether by digests alone, step and rank.
type Key = (bool, u64, Option<u64>);

/// Records of a synchronisation by stage.
type Stages<'a> = BTreeMap<SyncStage, Vec<&'a SyncRecord>>;

/// Pairs the stages of each side, then the remaining stages across the sides.
pub(crate) fn sync_links<'a>(records: PerSide<&'a [SyncRecord]>) -> SyncLinks<'a> {
    let mut paired = SyncLinks::default();
    let mut lone: PerSide<Vec<&SyncRecord>> = PerSide::default();
    for side in Side::BOTH {
        lone[side] = paired.of_side(side, &by_key(records[side]));
    }
    paired.across(lone);
    let keys: BTreeSet<Key> = records.candidate.iter().map(key).collect();
    let mut told = BTreeSet::new();
    let is_absent = |record: &&SyncRecord| !keys.contains(&key(record)) && told.insert(key(record));
    paired.absent = records.baseline.iter().filter(is_absent).collect();
    paired.lone.retain(|(side, record)| *side == Side::Candidate || keys.contains(&key(record)));
    paired.links.sort_by_key(|link| (link.to.1.step, link.to.1.rank, link.from.1.stage));
    paired
}

fn key(record: &SyncRecord) -> Key {
    (record.digests().is_some(), record.step, record.rank)
}

fn by_key(records: &[SyncRecord]) -> BTreeMap<Key, Stages<'_>> {
    let mut keys: BTreeMap<Key, Stages<'_>> = BTreeMap::new();
    for record in records {
        keys.entry(key(record)).or_default().entry(record.stage).or_default().push(record);
    }
    keys
}

impl<'a> SyncLinks<'a> {
    /// Pairs the stages of a side; returns those without a partner.
    fn of_side(&mut self, side: Side, keys: &BTreeMap<Key, Stages<'a>>) -> Vec<&'a SyncRecord> {
        let mut used: BTreeSet<(Key, SyncStage)> = BTreeSet::new();
        for (key, stages) in keys {
            for twins in stages.values() {
                let others = twins.iter().skip(1).take(MOST_TWINS);
                self.twins.extend(others.filter_map(|twin| Some([*twins.first()?, *twin])));
            }
            for (from, to) in linked_stages(stages) {
                used.extend([(*key, from), (*key, to)]);
                self.link((side, stages.get(&from)), (side, stages.get(&to)), false);
            }
            let has = |stage| stages.contains_key(&stage);
            if has(SyncStage::Received) && !has(SyncStage::Sent) && !has(SyncStage::Exported) {
                // One rank may send for all.
                if let Some((other, stage)) = sender_of_another_rank(*key, keys) {
                    used.extend([(other, stage), (*key, SyncStage::Received)]);
                    let from = keys.get(&other).and_then(|stages| stages.get(&stage));
                    self.link((side, from), (side, stages.get(&SyncStage::Received)), true);
                }
            }
        }
        let lone = keys.iter().flat_map(|(key, stages)| stages.iter().map(move |(stage, all)| (*key, *stage, all)));
        lone.filter(|(key, stage, _)| !used.contains(&(*key, *stage))).flat_map(|(.., all)| all.clone()).collect()
    }

    /// Pairs the stages that have no partner on their own side across the two sides.
    fn across(&mut self, lone: PerSide<Vec<&'a SyncRecord>>) {
        let mut candidate: BTreeMap<Key, Vec<&SyncRecord>> = BTreeMap::new();
        for record in &lone.candidate {
            candidate.entry(key(record)).or_default().push(record);
        }
        for baseline in lone.baseline {
            match candidate.remove(&key(baseline)) {
                Some(records) => {
                    for record in records {
                        let (own, other) = ((Side::Baseline, baseline), (Side::Candidate, record));
                        let (from, to) = if baseline.stage <= record.stage { (own, other) } else { (other, own) };
                        self.links.push(SyncLink { from, to, is_other_rank: false });
                    }
                }
                None => self.lone.push((Side::Baseline, baseline)),
            }
        }
        self.lone.extend(candidate.into_values().flatten().map(|record| (Side::Candidate, record)));
    }

    fn link(
        &mut self,
        (of, from): (Side, Option<&Vec<&'a SyncRecord>>),
        (side, to): (Side, Option<&Vec<&'a SyncRecord>>),
        is_other_rank: bool,
    ) {
        for to in to.into_iter().flatten().take(MOST_TWINS) {
            for from in from.into_iter().flatten().take(MOST_TWINS) {
                self.links.push(SyncLink { from: (of, *from), to: (side, *to), is_other_rank });
            }
        }
    }
}

/// Pairs of stages of one step and rank that have to hold the same tensors: exported as on disk, received as sent.
fn linked_stages(stages: &Stages<'_>) -> Vec<(SyncStage, SyncStage)> {
    let has = |stage| stages.contains_key(&stage);
    let (original, exported) = (has(SyncStage::Original), has(SyncStage::Exported));
    let (sent, received) = (has(SyncStage::Sent), has(SyncStage::Received));
    let mut ways = Vec::new();
    if original && exported {
        ways.push((SyncStage::Original, SyncStage::Exported));
    }
    if exported && !original && sent {
        ways.push((SyncStage::Exported, SyncStage::Sent));
    }
    if received && sent {
        ways.push((SyncStage::Sent, SyncStage::Received));
    } else if received && exported {
        ways.push((SyncStage::Exported, SyncStage::Received));
    }
    ways
}

/// The stage that another rank sent at the same step, where it is the only one that did.
fn sender_of_another_rank((is_digests, step, _): Key, keys: &BTreeMap<Key, Stages<'_>>) -> Option<(Key, SyncStage)> {
    let of_step = keys.range((is_digests, step, None)..=(is_digests, step, Some(u64::MAX)));
    let mut senders = of_step.filter_map(|(key, stages)| {
        let stage = [SyncStage::Sent, SyncStage::Exported].into_iter().find(|stage| stages.contains_key(stage))?;
        Some((*key, stage))
    });
    let first = senders.next()?;
    senders.next().is_none().then_some(first)
}

/// Names of two stages, paired by their places.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct NamePairs {
    /// Pairs of the earlier and the later stage, in order of the later.
    pub matched: Vec<(usize, usize)>,
    /// Names of the earlier stage alone.
    pub only_from: Vec<usize>,
    /// Names of the later stage alone.
    pub only_to: Vec<usize>,
}

/// Pairs names after the policy's `prefixes` were rewritten; the rest without `model.` and `module.` in front.
pub(crate) fn name_pairs(from: &[&str], to: &[&str], prefixes: &BTreeMap<String, String>) -> NamePairs {
    let mut pairs = NamePairs::default();
    let places = |key: &dyn Fn(&str) -> String| -> HashMap<String, usize> {
        from.iter().enumerate().map(|(place, name)| (key(name), place)).collect()
    };
    let as_they_are = places(&|name| rewritten(name, prefixes));
    let mut used = BTreeSet::new();
    let mut left = Vec::new();
    for (place, name) in to.iter().enumerate() {
        match as_they_are.get(&rewritten(name, prefixes)) {
            Some(own) => {
                used.insert(*own);
                pairs.matched.push((*own, place));
            }
            None => left.push((place, *name)),
        }
    }
    let plain = places(&|name| plain(&rewritten(name, prefixes)).to_owned());
    for (place, name) in left {
        match plain.get(self::plain(&rewritten(name, prefixes))).filter(|own| !used.contains(*own)) {
            Some(own) => {
                used.insert(*own);
                pairs.matched.push((*own, place));
            }
            None => pairs.only_to.push(place),
        }
    }
    // A name that occurs twice counts once.
    let known: BTreeSet<&str> = used.iter().filter_map(|place| from.get(*place).copied()).collect();
    let is_alone = |(_, name): &(usize, &&str)| !known.contains(**name);
    pairs.only_from = from.iter().enumerate().filter(is_alone).map(|(place, _)| place).collect();
    pairs.matched.sort_by_key(|(_, to)| *to);
    pairs
}

/// A name without the wrappers in front of it.
fn plain(name: &str) -> &str {
    let short = name.strip_prefix("model.").or_else(|| name.strip_prefix("module."));
    short.map_or(name, plain)
}

/// Whether a tensor is the output matrix, which may be the embedding itself.
pub fn is_output(name: &str) -> bool {
    ends_so(name, &["lm_head.weight", "output_layer.weight", "embed_out.weight"])
}

/// Whether a tensor is the embedding.
pub(crate) fn is_embedding(name: &str) -> bool {
    ends_so(
        name,
        &["embed_tokens.weight", "word_embeddings.weight", "wte.weight", "tok_embeddings.weight", "embed_in.weight"],
    )
}

fn ends_so(name: &str, endings: &[&str]) -> bool {
    endings.iter().any(|ending| name.strip_suffix(ending).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::weight_sync::SyncTensors;

    fn record(stage: SyncStage, step: u64, rank: u64) -> SyncRecord {
        let path = format!("{stage:?}{step}r{rank}");
        SyncRecord { path, stage, step, rank: Some(rank), tensors: SyncTensors::File }
    }

    fn told(links: &SyncLinks<'_>) -> (Vec<String>, Vec<String>, Vec<String>) {
        let pair = |link: &SyncLink<'_>| {
            let other = if link.is_other_rank { " other" } else { "" };
            format!("{}>{}{other}", link.from.1.path, link.to.1.path)
        };
        let lone = |(side, record): &(Side, &SyncRecord)| format!("{} {}", side.as_str(), record.path);
        (
            links.links.iter().map(pair).collect(),
            links.lone.iter().map(lone).collect(),
            links.absent.iter().map(|record| record.path.clone()).collect(),
        )
    }

    #[test]
    fn stages_of_a_step_and_rank_pair() {
        use SyncStage::{Exported, Original, Received, Sent};
        let all = [
            record(Original, 1, 0),
            record(Exported, 1, 0),
            record(Sent, 1, 0),
            record(Received, 1, 0),
            record(Sent, 2, 0),
            record(Received, 2, 1),
            record(Sent, 3, 0),
        ];
        let links = sync_links(PerSide { baseline: &[], candidate: &all });
        let (pairs, lone, _) = told(&links);
        assert_eq!(pairs, ["Original1r0>Exported1r0", "Sent1r0>Received1r0", "Sent2r0>Received2r1 other"]);
        assert_eq!(lone, ["candidate Sent3r0"]);
    }

    #[test]
    fn what_each_side_has_alone_pairs_across_and_a_step_that_is_gone_is_told() {
        let baseline =
            [record(SyncStage::Sent, 1, 0), record(SyncStage::Sent, 2, 0), record(SyncStage::Received, 2, 0)];
        let candidate = [record(SyncStage::Received, 1, 0)];
        let links = sync_links(PerSide { baseline: &baseline, candidate: &candidate });
        let (pairs, lone, absent) = told(&links);
        assert_eq!(pairs, ["Sent1r0>Received1r0", "Sent2r0>Received2r0"]);
        assert!(lone.is_empty());
        assert_eq!(absent, ["Sent2r0"]);
    }

    #[test]
    fn names_pair_as_they_are_and_then_without_wrappers() {
        let none = BTreeMap::new();
        let pairs = name_pairs(&["model.a", "module.model.b", "c"], &["b", "model.a", "d"], &none);
        assert_eq!(pairs, NamePairs { matched: vec![(1, 0), (0, 1)], only_from: vec![2], only_to: vec![2] });
        let twice = name_pairs(&["a", "a"], &["a", "a"], &none);
        assert_eq!((twice.matched.len(), twice.only_from.len()), (2, 0));
    }

    #[test]
    fn the_output_matrix_and_the_embedding_are_known_by_their_ends() {
        assert!(is_output("lm_head.weight") && is_output("model.lm_head.weight") && !is_output("x_lm_head.weight"));
        assert!(is_embedding("model.embed_tokens.weight") && !is_embedding("lm_head.weight"));
    }
}
