//! Judging rollouts of both sides: steps and prompts are paired, answers counted, scores tested.

use std::collections::HashSet;

use crate::gate::outcome::CheckOutcome;
use crate::judge::evaluation::rollouts::{JudgedRollouts, RolloutPair, RolloutTally, judge_rollouts};
use crate::policy::Policy;
use crate::read::account::UnreadNumbers;
use crate::read::evaluation::Rollouts;
use crate::result::observation::Observation;
use crate::result::unit::Unit;
use crate::verdict::{CheckId, PerSide, Side};

const ID: CheckId = CheckId::Evaluation;

/// Rollouts of a side by folder, with their answers counted.
pub(super) type Tallied = Vec<(Rollouts, RolloutTally)>;

/// Judges the rollouts of both sides.
pub(super) fn judge(outcome: &mut CheckOutcome, baseline: &Tallied, candidate: &Tallied, policy: &Policy) {
    let (empty, uncounted) = (Rollouts::default(), RolloutTally::default());
    for (our, their) in pairs(baseline, candidate) {
        let found = [our.map(|place| (baseline, place)), their.map(|place| (candidate, place))];
        let [our, their] = found.map(|side| side.and_then(|(all, place)| all.get(place)));
        let Some(task) = their.or(our).map(|(rollouts, _)| rollouts.account.task.as_str()) else { continue };
        if !policy.evaluation.judges(task) {
            continue;
        }
        let of = |side: Side| if side == Side::Baseline { our } else { their };
        let rollouts = PerSide::of(|side| of(side).map_or(&empty, |(rollouts, _)| rollouts));
        let tallies = PerSide::of(|side| of(side).map_or(&uncounted, |(_, tally)| tally));
        add(outcome, judge_rollouts(RolloutPair { task, rollouts, tallies }));
    }
}

/// Pairs folders by path, then by name. If one folder is left on each side, the two are paired whatever their names. Other
/// folders stay without a partner.
fn pairs(baseline: &Tallied, candidate: &Tallied) -> Vec<(Option<usize>, Option<usize>)> {
    let (mut left, mut right): (Vec<usize>, Vec<usize>) =
        ((0..baseline.len()).collect(), (0..candidate.len()).collect());
    let mut pairs = Vec::new();
    let keys: [fn(&Rollouts) -> &str; 2] = [|rollouts| &rollouts.account.path, |rollouts| &rollouts.account.task];
    for key in keys {
        let of = |all: &Tallied, place: usize| all.get(place).map(|(rollouts, _)| key(rollouts).to_owned());
        let mut taken = HashSet::new();
        left.retain(|our| {
            let same = right
                .iter()
                .copied()
                .find(|their| !taken.contains(their) && of(baseline, *our) == of(candidate, *their));
            same.is_none_or(|their| {
                taken.insert(their);
                pairs.push((Some(*our), Some(their)));
                false
            })
        });
        right.retain(|their| !taken.contains(their));
    }
    if let ([our], [their]) = (left.as_slice(), right.as_slice()) {
        pairs.push((Some(*our), Some(*their)));
    } else {
        pairs.extend(left.into_iter().map(|our| (Some(our), None)));
        pairs.extend(right.into_iter().map(|their| (None, Some(their))));
    }
    pairs.sort_unstable();
    pairs
}

fn add(outcome: &mut CheckOutcome, judged: JudgedRollouts) {
    let first = outcome.check.units.len();
    for unit in judged.units {
        outcome.add_unit(Unit::Rollout(Box::new(unit)), []);
    }
    let about = |(finding, places): (_, Vec<usize>)| {
        let units = places.into_iter().map(|place| first + place).collect();
        Observation { units, ..Observation::of_check(ID, finding) }
    };
    outcome.observations.extend(judged.findings.into_iter().map(about));
}

/// Accounts of the numbers that the readers of rollouts left unread.
pub(super) fn accounts(rollouts: &Tallied) -> impl Iterator<Item = &UnreadNumbers> {
    rollouts.iter().map(|(rollouts, _)| &rollouts.run.account)
}
