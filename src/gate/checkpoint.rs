//! The checkpoint check: checkpoints of both sides to a verdict each.

use std::collections::{BTreeMap, BTreeSet};

use super::discover::{Evidence, Extent, Inventory, Recognised, Recogniser, Sample};
use super::outcome::CheckOutcome;
use super::wiring::{GateCheck, Measuring};
use crate::compare::checkpoint as compare;
use crate::compare::measurements::Measurements;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::progress::Progress;
use crate::judge::checkpoint::{JudgedCheckpoint, Settings, judge, judge_alone, rules};
use crate::judge::rule::{artifacts, policy as policy_rules};
use crate::judge::run::checkpoints::Checkpoints;
use crate::pair::checkpoint as pair;
use crate::policy::Policy;
use crate::policy::checkpoint::CheckpointPolicy;
use crate::read::checkpoint::{self, Checkpoint, CheckpointPlace};
use crate::result::finding::Finding;
use crate::result::run::Looked;
use crate::result::unit::{CheckpointUnit, Evidence as Account, Unit};
use crate::verdict::{CheckId, Side};

/// The check of checkpoints.
pub(super) const CHECK: GateCheck = GateCheck {
    // Their tensors are told by the checksums of their archives.
    recogniser: Recogniser { check: ID, by: Evidence::Signature, extent: Extent::Directory, look: recognise },
    judge: |sides, _, shared| {
        let policy = &shared.request.policy;
        Ok(check(&sides.baseline, &sides.candidate, policy, shared.measurements, shared.progress))
    },
    health: Some(alone),
    several: None,
    measure: Some(measure),
    of_tree: None,
};

const ID: CheckId = CheckId::Checkpoint;

fn recognise(sample: &Sample<'_>) -> Option<Recognised> {
    let place = match checkpoint::recognise(sample.head, sample.source)? {
        Ok(checkpoint::Recognised::File) => Ok(CheckpointPlace::file(sample.path.to_owned())),
        Ok(checkpoint::Recognised::Index(shards)) => Ok(CheckpointPlace::sharded(sample.path.to_owned(), shards)),
        Ok(checkpoint::Recognised::Other(reason)) => return Some(Recognised::Ignored(reason)),
        Err(error) => Err(error),
    };
    Some(Recognised::of("checkpoint", place))
}

/// The checkpoints of a side: a shard belongs to its index.
fn places(inventory: &Inventory) -> Vec<CheckpointPlace> {
    checkpoint::without_shards(inventory.all::<CheckpointPlace>().to_vec())
}

/// Measures every checkpoint; what cannot be read is found again, and said, when the parts are judged.
fn measure(measuring: &Measuring<'_>) -> Result<()> {
    let Measuring { baseline, candidate, request, measurements, progress } = *measuring;
    let (places, others) = (places(baseline), places(candidate));
    let paired = pair::checkpoints(&places, &others);
    progress.begin("measuring checkpoints", paired.matched.len() as u64);
    for (b, c) in &paired.matched {
        let section = &request.policy.checkpoint;
        if let (Ok(b), Ok(c)) = (open(baseline, b, section), open(candidate, c, section)) {
            let pairs = pair::parameters(&b.checkpoint, &c.checkpoint, &section.prefixes);
            compare::parameters(&pairs, measurements, &|| {});
        }
        progress.advance(1);
    }
    Ok(())
}

/// Judges the candidate's checkpoints without a baseline.
fn alone(candidate: &Inventory, policy: &Policy, progress: &dyn Progress) -> CheckOutcome {
    let mut outcome = CheckOutcome::new(ID);
    let places = places(candidate);
    for place in &places {
        let JudgedCheckpoint { unit, findings } = match open(candidate, place, &policy.checkpoint) {
            Ok(opened) => alone_of(&place.path, &opened, progress),
            Err(error) => {
                let findings = vec![damaged(&place.path, Side::Candidate, &error)];
                JudgedCheckpoint { unit: CheckpointUnit::empty(&place.path), findings }
            }
        };
        outcome.add_unit(Unit::Checkpoint(Box::new(unit)), findings);
    }
    if !places.is_empty() {
        let (finding, looked) = motion(candidate, &places, &policy.checkpoint);
        outcome.say(finding);
        outcome.looked.push(looked);
    }
    outcome
}

/// Whether parameters move between the checkpoints of the run. Damage is a finding of its unit, and such a checkpoint is passed over.
fn motion(candidate: &Inventory, places: &[CheckpointPlace], section: &CheckpointPolicy) -> (Option<Finding>, Looked) {
    let (mut motion, mut count) = (Checkpoints::default(), 0);
    let mut before: Option<(u64, Checkpoint)> = None;
    for (step, place) in pair::in_order(places) {
        let Ok(Opened { checkpoint, .. }) = open(candidate, place, section) else { continue };
        count += 1;
        if let Some((since, before)) = &before {
            let pairs = pair::parameters(before, &checkpoint, &BTreeMap::new());
            motion.take(*since, pairs.matched.len(), compare::has_moved(&pairs));
        }
        before = Some((step, checkpoint));
    }
    motion.finish(count)
}

/// One checkpoint alone: compared with itself, its statistics count what is not finite.
fn alone_of(name: &str, opened: &Opened, progress: &dyn Progress) -> JudgedCheckpoint {
    let pairs = pair::parameters(&opened.checkpoint, &opened.checkpoint, &BTreeMap::new());
    progress.begin("looking through checkpoints", pairs.matched.len() as u64);
    let comparisons = compare::parameters(&pairs, &Measurements::default(), &|| progress.advance(1));
    let mut judged = judge_alone(name, &comparisons);
    leave_out(&mut judged.unit.evidence, opened.left_out.iter());
    judged
}

/// Judges the checkpoints of both sides.
pub fn check(
    baseline: &Inventory,
    candidate: &Inventory,
    policy: &Policy,
    measurements: &Measurements,
    progress: &dyn Progress,
) -> CheckOutcome {
    let mut outcome = CheckOutcome::new(ID);
    let (places, others) = (places(baseline), places(candidate));
    let paired = pair::checkpoints(&places, &others);
    let mut used = vec![false; policy.checkpoint.limits.len()];
    for (b, c) in &paired.matched {
        let judged = unit((baseline, b), (candidate, c), (policy, measurements), progress, &mut used);
        outcome.add_unit(Unit::Checkpoint(Box::new(judged.unit)), judged.findings);
    }
    let missing = paired.missing.iter();
    outcome.say(missing.map(|(place, side)| Finding::new(&rules::UNPAIRED, &place.path).with("side", side.as_str())));
    if !paired.matched.is_empty() {
        let unused = policy.checkpoint.limits.iter().zip(&used).filter(|(_, used)| !**used);
        outcome.say(unused.map(|(rule, _)| Finding::new(&policy_rules::SELECTOR_UNUSED, rule.name())));
    }
    outcome
}

/// One checkpoint of both sides, opened, compared and judged.
fn unit(
    (baseline, b): (&Inventory, &CheckpointPlace),
    (candidate, c): (&Inventory, &CheckpointPlace),
    (policy, measurements): (&Policy, &Measurements),
    progress: &dyn Progress,
    used: &mut [bool],
) -> JudgedCheckpoint {
    let name = c.path.as_str();
    let section = &policy.checkpoint;
    match (open(baseline, b, section), open(candidate, c, section)) {
        (Ok(b), Ok(c)) => {
            let pairs = pair::parameters(&b.checkpoint, &c.checkpoint, &section.prefixes);
            progress.begin("comparing checkpoints", pairs.matched.len() as u64);
            let comparisons = compare::parameters(&pairs, measurements, &|| progress.advance(1));
            let settings = Settings { policy: section, profile: policy.profile };
            let mut judged = judge(name, &pairs, &comparisons, settings, used);
            leave_out(&mut judged.unit.evidence, b.left_out.union(&c.left_out));
            judged
        }
        (b, c) => {
            let sides = [(Side::Baseline, b.err()), (Side::Candidate, c.err())];
            let findings = sides.into_iter().filter_map(|(side, error)| Some(damaged(name, side, &error?))).collect();
            JudgedCheckpoint { unit: CheckpointUnit::empty(name), findings }
        }
    }
}

/// Counts parameters that the policy leaves out.
fn leave_out<'a>(evidence: &mut Account, names: impl Iterator<Item = &'a String>) {
    for name in names {
        evidence.left_out += 1;
        evidence.example("left-out", name);
    }
}

/// A checkpoint without the parameters the policy leaves out, and their names.
struct Opened {
    checkpoint: Checkpoint,
    left_out: BTreeSet<String>,
}

fn open(inventory: &Inventory, place: &CheckpointPlace, section: &CheckpointPolicy) -> Result<Opened> {
    let mut checkpoint = place.open(inventory.all_files())?;
    let ignored = |name: &str| section.ignore.iter().any(|pattern| pattern.matches(name));
    let left_out: BTreeSet<String> = checkpoint.parameters.keys().filter(|name| ignored(name)).cloned().collect();
    checkpoint.parameters.retain(|name, _| !left_out.contains(name));
    Ok(Opened { checkpoint, left_out })
}

fn damaged(name: &str, side: Side, error: &Error) -> Finding {
    let rule = if error.kind() == ErrorKind::Unsupported { &artifacts::UNSUPPORTED } else { &artifacts::DAMAGED };
    Finding::new(rule, name)
        .of_check(ID)
        .with("side", side.as_str())
        .with("reason", error.message())
        .with("help", error.help().unwrap_or_default())
}
