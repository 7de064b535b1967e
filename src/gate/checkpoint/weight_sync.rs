//! Judging synchronisations of weights: the stages of one side are compared with each other, or those of both sides.

use std::collections::BTreeMap;

use crate::compare::weight_sync::{EarlierStep, SyncComparison, SyncPair, is_same_tensor, sync_digests, sync_tensors};
use crate::error::Result;
use crate::fetch::Files;
use crate::fetch::progress::Progress;
use crate::gate::discover::Inventory;
use crate::gate::outcome::{CheckOutcome, damaged_finding};
use crate::judge::checkpoint::weight_sync::{
    JudgedSync, Synchronisation, damaged_part, judge_lone_stage, judge_pointers, judge_sync,
};
use crate::pair::checkpoint::{TensorNameRule, align_checkpoints};
use crate::pair::weight_sync::{NamePairs, SyncLink, is_embedding, is_output, name_pairs, sync_links};
use crate::policy::Policy;
use crate::policy::tokens::CastType;
use crate::read::checkpoint::{Checkpoint, CheckpointParameter};
use crate::read::weight_sync::{NamedTensors, SyncDamage, SyncFile, SyncRecord, SyncRecords, SyncStage, TensorDigest};
use crate::read::weight_sync::{named_tensors, sync_records};
use crate::result::finding::Finding;
use crate::result::unit::{SyncUnit, Unit};
use crate::verdict::{CheckId, PerSide, Side};

const ID: CheckId = CheckId::Checkpoint;

/// Steps before that are looked through for stale tensors.
const EARLIER: usize = 16;

/// Judges the synchronisations of both sides, or of the candidate alone.
pub(super) fn judge(
    outcome: &mut CheckOutcome,
    baseline: Option<&Inventory>,
    candidate: &Inventory,
    policy: &Policy,
    progress: &dyn Progress,
) {
    let inventories = PerSide { baseline, candidate: Some(candidate) };
    let records = PerSide::of(|side| {
        let of = |inventory: &Inventory| sync_records(inventory.all_files(), inventory.artifacts::<SyncFile>());
        inventories[side].map(of).unwrap_or_default()
    });
    let files = PerSide::of(|side| inventories[side].map(Inventory::all_files));
    let links = sync_links(PerSide { baseline: &records.baseline.records, candidate: &records.candidate.records });
    let run = Run { files, records: &records, policy };
    progress.begin("comparing synchronised weights", links.links.len() as u64);
    for link in &links.links {
        let twins =
            links.twins.iter().filter(|[first, _]| [link.from.1, link.to.1].iter().any(|own| is_same(own, first)));
        let judged = run.link(link, twins);
        add(outcome, judged);
        progress.advance(1);
    }
    for (side, record) in &links.lone {
        add(outcome, judge_lone_stage(lone_unit(record, *side), false));
    }
    for record in &links.absent {
        add(outcome, judge_lone_stage(lone_unit(record, Side::Baseline), true));
    }
    run.pointers(outcome);
    for side in Side::BOTH {
        outcome.add_findings(records[side].damages.iter().map(|damage| damaged_part(damage, side)));
    }
}

fn add(outcome: &mut CheckOutcome, JudgedSync { unit, findings }: JudgedSync) {
    outcome.add_unit(Unit::Sync(Box::new(unit)), findings);
}

fn is_same(one: &SyncRecord, other: &SyncRecord) -> bool {
    std::ptr::eq(one, other)
}

fn lone_unit(record: &SyncRecord, side: Side) -> SyncUnit {
    let mut unit = SyncUnit { side: Some(side), ..SyncUnit::empty(record.step, record.rank) };
    let path = if record.stage == SyncStage::Received { &mut unit.to } else { &mut unit.from };
    path.clone_from(&record.path);
    unit
}

/// Tensors of both stages of a link, paired.
struct Judged {
    comparisons: Vec<SyncComparison>,
    missing: Vec<String>,
    extra: Vec<String>,
    left_out: Vec<String>,
    /// Entries of a list that are no tensors.
    damages: Vec<(Side, SyncDamage)>,
}

/// The records of both sides, and where their files are.
struct Run<'a> {
    files: PerSide<Option<&'a dyn Files>>,
    records: &'a PerSide<SyncRecords>,
    policy: &'a Policy,
}

impl Run<'_> {
    /// Judges two stages.
    fn link<'t>(&self, link: &SyncLink<'_>, twins: impl Iterator<Item = &'t [&'t SyncRecord; 2]>) -> JudgedSync {
        let ((of, from), (side, to)) = (link.from, link.to);
        let mut unit = SyncUnit::empty(to.step, to.rank);
        unit.side = (of == side).then_some(side);
        (unit.from, unit.to) = (from.path.clone(), to.path.clone());
        if link.is_other_rank {
            unit.evidence.fall_back("other-rank", &from.path);
        }
        let judged = match (from.digests(), to.digests()) {
            (Some(left), Some(right)) => Ok(self.digests(link, left, right)),
            _ => self.tensors(link),
        };
        let Judged { comparisons, missing, extra, left_out, damages } = match judged {
            Ok(judged) => judged,
            Err(findings) => return JudgedSync { unit, findings },
        };
        let cast = self.policy.tokens.cast.map(CastType::dtype);
        let fallbacks = std::mem::take(&mut unit.evidence);
        let sync = Synchronisation { unit, comparisons: &comparisons, missing, extra, left_out, cast };
        let mut judged = judge_sync(sync);
        judged.unit.evidence.fallbacks = fallbacks.fallbacks;
        judged.unit.evidence.examples.extend(fallbacks.examples);
        for [first, twin] in twins {
            let side = if is_same(first, from) { of } else { side };
            if !self.is_same_record(side, first, twin) {
                judged.unit.evidence.contradicting += 1;
                judged.unit.evidence.example("contradicting", &twin.path);
            }
        }
        for (side, damage) in &damages {
            judged.unit.evidence.damaged += damage.count;
            judged.unit.evidence.offered += damage.count;
            judged.unit.evidence.example("damaged", &damage.path);
            judged.findings.push(damaged_part(damage, *side));
        }
        judged
    }

    /// Compares the digests of two stages.
    fn digests(&self, link: &SyncLink<'_>, left: &[TensorDigest], right: &[TensorDigest]) -> Judged {
        let names = |rows: &'_ [TensorDigest]| rows.iter().map(|row| row.name.clone()).collect::<Vec<_>>();
        let mut pairing = self.pairing(&names(left), &names(right));
        let is_tied = |row: usize| {
            let own = left.get(row)?;
            let embedding = left.iter().find(|row| is_embedding(&row.name))?;
            (is_output(&own.name) && embedding.value == own.value).then_some(())
        };
        pairing.pairs.only_from.retain(|row| is_tied(*row).is_none());
        pairing.tie(&names(left), &names(right));
        let pairs: Vec<(&TensorDigest, &TensorDigest)> =
            pairing.pairs.matched.iter().filter_map(|(from, to)| Some((left.get(*from)?, right.get(*to)?))).collect();
        let earlier = self.before(link).into_iter().filter_map(|record| Some((record.step, record.digests()?)));
        pairing.judged(sync_digests(&pairs, &earlier.collect::<Vec<_>>()), &names(left), &names(right))
    }

    /// Compares the tensors of two stages; the error holds the findings about what cannot be opened.
    fn tensors(&self, link: &SyncLink<'_>) -> std::result::Result<Judged, Vec<Finding>> {
        let opened = [link.from, link.to].map(|(side, record)| (side, self.open(side, record)));
        let ((left, our_damages), (right, their_damages)) = match opened {
            [(_, Ok(left)), (_, Ok(right))] => ((left.tensors, left.damages), (right.tensors, right.damages)),
            opened => {
                let errors =
                    opened.into_iter().filter_map(|(side, tensors)| Some(damaged_finding(ID, side, &tensors.err()?)));
                return Err(errors.collect());
            }
        };
        let of = |side: Side, damages: Vec<SyncDamage>| damages.into_iter().map(move |damage| (side, damage));
        let damages = of(link.from.0, our_damages).chain(of(link.to.0, their_damages)).collect();
        let (left, right) = self.under_common_names(left, right);
        let names = |tensors: &[(String, CheckpointParameter)]| {
            tensors.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>()
        };
        let (our_names, their_names) = (names(&left), names(&right));
        let mut pairing = self.pairing(&our_names, &their_names);
        let embedding = left.iter().find(|(name, _)| is_embedding(name)).map(|(_, tensor)| tensor);
        let is_tied = |row: &usize| {
            let own = left.get(*row).filter(|(name, _)| is_output(name));
            own.zip(embedding).is_some_and(|((_, own), embedding)| is_same_tensor(own, embedding).unwrap_or(false))
        };
        pairing.pairs.only_from.retain(|row| !is_tied(row));
        pairing.tie(&our_names, &their_names);
        let pair = |(from, to): &(usize, usize)| {
            let ((name, from), (_, to)) = left.get(*from).zip(right.get(*to))?;
            Some(SyncPair { name, from, to })
        };
        let pairs: Vec<SyncPair<'_>> = pairing.pairs.matched.iter().filter_map(pair).collect();
        let comparisons = sync_tensors(&pairs, &|| self.earlier(link), &|| {});
        Ok(Judged { damages, ..pairing.judged(comparisons, &our_names, &their_names) })
    }

    /// Brings the tensors of both stages under common names, where some have no partner by name and either one side alone has
    /// Megatron's names or the policy maps names. Otherwise both stay as they are.
    fn under_common_names(&self, left: Named, right: Named) -> (Named, Named) {
        let section = &self.policy.checkpoint;
        let names = |tensors: &'_ Named| tensors.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        let pairs = self.pairing(&names(&left), &names(&right)).pairs;
        let is_megatron = |tensors: &Named| tensors.iter().any(|(name, _)| name.contains("decoder.layers."));
        let is_mapped = !section.names.is_empty() || is_megatron(&left) != is_megatron(&right);
        if pairs.only_from.is_empty() || pairs.only_to.is_empty() || !is_mapped {
            return (left, right);
        }
        let checkpoint =
            |tensors: Named| Checkpoint { parameters: tensors.into_iter().collect(), ..Checkpoint::default() };
        let rule = |rule: &crate::policy::checkpoint::NameRule| TensorNameRule {
            from: rule.from.clone(),
            to: rule.to.clone(),
            transpose: rule.transpose,
            axis: usize::from(rule.axis),
        };
        let rules: Vec<TensorNameRule> = section.names.iter().map(rule).collect();
        let PerSide { baseline, candidate } =
            align_checkpoints(checkpoint(left), checkpoint(right), &rules).checkpoints;
        (baseline.parameters.into_iter().collect(), candidate.parameters.into_iter().collect())
    }

    fn pairing(&self, left: &[String], right: &[String]) -> Pairing {
        let section = &self.policy.checkpoint;
        let mut pairs = name_pairs(&as_texts(left), &as_texts(right), &section.prefixes);
        let mut left_out = Vec::new();
        let mut is_kept = |name: Option<&String>| {
            let is_kept = !name.is_some_and(|name| section.ignore.iter().any(|pattern| pattern.matches(name)));
            left_out.extend(name.filter(|_| !is_kept).cloned());
            is_kept
        };
        pairs.matched.retain(|(from, _)| is_kept(left.get(*from)));
        pairs.only_from.retain(|place| is_kept(left.get(*place)));
        pairs.only_to.retain(|place| is_kept(right.get(*place)));
        Pairing { pairs, left_out }
    }

    fn open(&self, side: Side, record: &SyncRecord) -> Result<NamedTensors> {
        match self.files[side] {
            Some(files) => named_tensors(files, &record.path),
            None => Ok(NamedTensors::default()),
        }
    }

    /// The records of the link's first stage at earlier steps, the newest first; those of the same rank where there are any.
    fn before(&self, link: &SyncLink<'_>) -> Vec<&SyncRecord> {
        let (side, own) = link.from;
        let mut steps: BTreeMap<u64, &SyncRecord> = BTreeMap::new();
        let is_digests = own.digests().is_some();
        let of_stage = self.records[side].records.iter();
        let is_before = |record: &&SyncRecord| {
            record.stage == own.stage && record.step < link.to.1.step && record.digests().is_some() == is_digests
        };
        for record in of_stage.filter(is_before) {
            let is_own_rank = record.rank == own.rank;
            if is_own_rank || !steps.contains_key(&record.step) {
                steps.insert(record.step, record);
            }
        }
        steps.into_values().rev().take(EARLIER).collect()
    }

    /// The tensors of earlier steps. A file that cannot be opened is skipped here, and reported with its own step.
    fn earlier(&self, link: &SyncLink<'_>) -> Vec<EarlierStep> {
        let (side, _) = link.from;
        let opened = self.before(link).into_iter().filter_map(|record| {
            let tensors = self.open(side, record).ok()?.tensors;
            Some((record.step, tensors.into_iter().collect()))
        });
        opened.collect()
    }

    /// Whether two records of one stage hold the same.
    fn is_same_record(&self, side: Side, one: &SyncRecord, other: &SyncRecord) -> bool {
        if let (Some(one), Some(other)) = (one.digests(), other.digests()) {
            return one == other;
        }
        let (Ok(one), Ok(other)) = (self.open(side, one), self.open(side, other)) else { return false };
        let names = one.tensors.iter().map(|(name, _)| name).eq(other.tensors.iter().map(|(name, _)| name));
        let mut pairs = one.tensors.iter().zip(&other.tensors);
        names && pairs.all(|((_, one), (_, other))| is_same_tensor(one, other).unwrap_or(false))
    }

    /// Judges the reports of pointers.
    fn pointers(&self, outcome: &mut CheckOutcome) {
        for side in Side::BOTH {
            for report in &self.records[side].pointers {
                add(outcome, judge_pointers(report, side));
            }
        }
        let candidate = &self.records.candidate.pointers;
        for report in &self.records.baseline.pointers {
            if !candidate.iter().any(|other| (other.step, other.rank) == (report.step, report.rank)) {
                let mut unit = SyncUnit { side: Some(Side::Baseline), ..SyncUnit::empty(report.step, report.rank) };
                unit.to.clone_from(&report.path);
                add(outcome, judge_lone_stage(unit, true));
            }
        }
    }
}

fn as_texts(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

/// Names with their tensors.
type Named = Vec<(String, CheckpointParameter)>;

/// Names of two stages, paired, and those that the policy leaves out.
struct Pairing {
    pairs: NamePairs,
    left_out: Vec<String>,
}

impl Pairing {
    /// Pairs an output matrix that only the later stage has with the embedding of the earlier one, because the two are tied.
    fn tie(&mut self, left: &[String], right: &[String]) {
        let Some(embedding) = left.iter().position(|name| is_embedding(name)) else { return };
        let Self { pairs, .. } = self;
        let outputs: Vec<usize> = pairs
            .only_to
            .iter()
            .copied()
            .filter(|place| right.get(*place).is_some_and(|name| is_output(name)))
            .collect();
        pairs.only_to.retain(|place| !outputs.contains(place));
        pairs.matched.extend(outputs.into_iter().map(|output| (embedding, output)));
    }

    fn judged(self, comparisons: Vec<SyncComparison>, left: &[String], right: &[String]) -> Judged {
        let named = |places: &[usize], names: &[String]| {
            places.iter().filter_map(|place| names.get(*place).cloned()).collect::<Vec<_>>()
        };
        Judged {
            comparisons,
            missing: named(&self.pairs.only_from, left),
            extra: named(&self.pairs.only_to, right),
            left_out: self.left_out,
            damages: Vec::new(),
        }
    }
}
