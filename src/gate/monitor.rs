//! The check of training monitors: the tables of both sides are judged rank by rank.

mod alone;
mod layouts;
mod rank;
pub(super) mod shares;
mod tables;
mod trainable;

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::discover::{Evidence, Extent, Inventory, Recognised, Recogniser, Sample};
use super::outcome::CheckOutcome;
use super::wiring::GateCheck;
use crate::fetch::progress::Progress;
use crate::judge::monitor::picture::Room;
use crate::judge::monitor::rules;
use crate::judge::rule::policy::SELECTOR_UNUSED;
use crate::layout::Layout;
use crate::pair::layout::Signs;
use crate::pair::monitor::models;
use crate::pair::whole::Widths;
use crate::policy::Policy;
use crate::read::launch::Arguments;
use crate::read::monitor::{self, Alerts, Header, Place, RankTables, Tables, Taken, Version};
use crate::result::finding::Finding;
use crate::result::unit::Unit;
use crate::verdict::{CheckId, PerSide, Side};
use tables::{open, ranks};

/// Tables of each rank of a side.
type Ranks = BTreeMap<u64, Vec<Place>>;

/// The check of training monitors.
pub(super) const CHECK: GateCheck = GateCheck {
    // A table may be empty; its folder and name still say whose it is.
    recogniser: Recogniser { check: ID, by: Evidence::Place, extent: Extent::Content, look: recognise },
    judge: |sides, _, shared| Ok(check(&sides.baseline, &sides.candidate, &shared.request.policy, shared.progress)),
    health: Some(of_candidate),
    several: None,
    measure: None,
    of_tree: None,
};

const ID: CheckId = CheckId::Monitor;

/// Anomalies that a finding lists.
const SHOWN: usize = 5;

fn recognise(sample: &Sample<'_>) -> Option<Recognised> {
    if monitor::recognise_alerts(sample.head) {
        return Some(Recognised::of("anomalies of a monitor", monitor::read_alerts(sample.source.as_ref())));
    }
    let place = Place::of(sample.path);
    let line = sample.head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    match Header::parse(line) {
        Some(header) if header.version == Version::V1 && place.kinds().len() != 1 => {
            Some(Recognised::Ignored("a table of msprobe's monitor whose name tells no kind of tensor".to_owned()))
        }
        Some(_) => Some(Recognised::read("training monitor", place)),
        None if place.is_named && place.is_windowed => Some(Recognised::read("training monitor", place)),
        None => None,
    }
}

/// Judges the candidate's monitors, and reports the anomalies that its own monitor found.
fn of_candidate(candidate: &Inventory, policy: &Policy, progress: &dyn Progress) -> CheckOutcome {
    let mut outcome = alone::check(candidate, policy, progress);
    outcome.say(anomalies(None, candidate));
    outcome
}

/// Judges the monitors of both sides.
pub fn check(baseline: &Inventory, candidate: &Inventory, policy: &Policy, progress: &dyn Progress) -> CheckOutcome {
    let mut outcome = CheckOutcome::new(ID);
    let (baseline_ranks, candidate_ranks) = (ranks(baseline), ranks(candidate));
    let both: Vec<u64> = baseline_ranks.keys().filter(|rank| candidate_ranks.contains_key(*rank)).copied().collect();
    let (sides, numbered) =
        (PerSide { baseline, candidate }, PerSide { baseline: &baseline_ranks, candidate: &candidate_ranks });
    let numbers = PerSide::of(|side| numbered[side].keys().copied().collect());
    let arguments = PerSide::of(|side| Arguments::beside(sides[side].all_files()));
    let signs = || PerSide::of(|side| Signs::of_tables(&open_all(sides[side], numbered[side], &Taken::default())));
    let arranged = layouts::arrange(&numbers, &arguments, &policy.layout, signs);
    outcome.layout = arranged.layouts;
    outcome.say(arranged.findings);
    if arranged.is_refused {
        return outcome;
    }
    let judged = match &arranged.whole {
        Some(layouts) => vec![whole(&sides, &numbered, layouts, policy, progress)],
        None => rank_by_rank(&sides, &numbered, &both, policy, progress),
    };
    let (mut used, mut accounts) = (BTreeSet::new(), Vec::new());
    for rank::Judged { unit, findings, used: of_rank, accounts: of_sides } in judged {
        used.extend(of_rank);
        accounts.push(of_sides);
        outcome.add_unit(Unit::Monitor(Box::new(unit)), findings);
    }
    let (baseline_left, candidate_left) =
        (accounts.iter().map(|[baseline, _]| baseline), accounts.iter().map(|[_, candidate]| candidate));
    outcome.judge_unread(baseline_left, candidate_left, &BTreeSet::new());
    let mut findings = Vec::new();
    // A side without any rank is reported elsewhere, as a check with artifacts on one side only.
    if !baseline_ranks.is_empty() && !candidate_ranks.is_empty() && arranged.whole.is_none() {
        findings.extend(missing(&baseline_ranks, &candidate_ranks, Side::Candidate));
        findings.extend(missing(&candidate_ranks, &baseline_ranks, Side::Baseline));
    }
    if !both.is_empty() || arranged.whole.is_some() {
        let rules = policy.monitor.limits.iter().enumerate().filter(|(place, _)| !used.contains(place));
        findings.extend(rules.map(|(_, rule)| Finding::new(&SELECTOR_UNUSED, rule.selector())));
    }
    findings.extend(anomalies(Some(baseline), candidate));
    outcome.say(findings);
    outcome
}

/// Judges the ranks that both sides have, each by itself.
fn rank_by_rank(
    sides: &PerSide<&Inventory>,
    ranks: &PerSide<&Ranks>,
    both: &[u64],
    policy: &Policy,
    progress: &dyn Progress,
) -> Vec<rank::Judged> {
    progress.begin("comparing monitors", both.len() as u64);
    let is_alone = ranks.baseline.len() <= 1 && ranks.candidate.len() <= 1;
    let is_spare = both.len() < rayon::current_num_threads();
    let ranks_of = rank::Ranks { room: Room::of(both.len()), widths: None, is_alone, is_spare };
    let taken = Taken::default();
    let judge = |number: &u64| {
        let tables = |side: Side| Some(open(sides[side], *number, ranks[side].get(number)?, (&taken, both.len())));
        let (baseline, candidate) = (tables(Side::Baseline)?, tables(Side::Candidate)?);
        let models = models::of_sides(&PerSide { baseline: &baseline, candidate: &candidate });
        let tables = (baseline.with_models(models.baseline), candidate.with_models(models.candidate));
        let tables = (Tables::from(tables.0), Tables::from(tables.1));
        let judged = rank::judge((&tables.0, &tables.1), policy, &ranks_of);
        progress.advance(1);
        Some(judged)
    };
    both.par_iter().filter_map(judge).collect()
}

/// Judges the whole model, into which the ranks of each side are merged.
fn whole(
    sides: &PerSide<&Inventory>,
    ranks: &PerSide<&Ranks>,
    layouts: &PerSide<Layout>,
    policy: &Policy,
    progress: &dyn Progress,
) -> rank::Judged {
    progress.begin("comparing monitors", 1);
    let merges = layouts::merges_micro_steps(layouts);
    let taken = Taken::default();
    let tables =
        PerSide::of(|side| Tables::of_whole(open_all(sides[side], ranks[side], &taken), layouts[side].clone(), merges));
    let both = (&tables.baseline, &tables.candidate);
    let widths = Widths::of(both, layouts.baseline.tp != layouts.candidate.tp);
    let ranks_of = rank::Ranks { room: Room::of(1), widths: Some(widths), is_alone: false, is_spare: true };
    let judged = rank::judge(both, policy, &ranks_of);
    progress.advance(1);
    judged
}

/// Opens the tables of all ranks of a side; `taken` counts the memory of all open tables.
fn open_all(side: &Inventory, ranks: &Ranks, taken: &Taken) -> Vec<RankTables> {
    ranks.par_iter().map(|(rank, places)| open(side, *rank, places, (taken, ranks.len()))).collect()
}

/// The ranks that `side` lacks.
fn missing(has: &BTreeMap<u64, Vec<Place>>, lacks: &BTreeMap<u64, Vec<Place>>, side: Side) -> Option<Finding> {
    let ranks: Vec<String> = has.keys().filter(|rank| !lacks.contains_key(*rank)).map(u64::to_string).collect();
    let first = ranks.first()?;
    let finding = Finding::new(&rules::RANKS_MISSING, format!("rank {first}")).with("side", side.as_str());
    let shown: Vec<String> = ranks.iter().take(SHOWN).cloned().collect();
    Some(finding.with("count", ranks.len()).with("ranks", shown))
}

/// Finding about anomalies that only the candidate's monitor reported. It does not affect the verdict.
fn anomalies(baseline: Option<&Inventory>, candidate: &Inventory) -> Option<Finding> {
    let all =
        |side: &Inventory| side.all::<Alerts>().iter().flat_map(|alerts| alerts.0.clone()).collect::<BTreeSet<_>>();
    let (baseline_alerts, candidate_alerts) = (baseline.map(all).unwrap_or_default(), all(candidate));
    let mut only: Vec<&(String, u64, String)> = candidate_alerts.difference(&baseline_alerts).collect();
    only.sort_by_key(|(tag, step, rule)| (*step, tag, rule));
    let (tag, step, _) = only.first()?;
    let shown = only.iter().take(SHOWN).map(|(tag, step, rule)| format!("{tag} ({rule}, {step})")).collect::<Vec<_>>();
    let finding = Finding::new(&rules::ANOMALIES, tag.clone()).with("count", only.len()).with("step", *step);
    Some(finding.with("both", candidate_alerts.intersection(&baseline_alerts).count()).with("names", shown))
}
