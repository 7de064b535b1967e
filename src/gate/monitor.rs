//! The check of training monitors: the tables of both sides are judged rank by rank.

mod alone;
mod layouts;
mod rank;
pub(super) mod shares;
mod tables;
mod trainable;

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::discover::{Extent, FileSample, Inventory, RecognisedFile, Recogniser, RecognitionEvidence};
use super::outcome::CheckOutcome;
use super::wiring::GateCheck;
use crate::fetch::progress::Progress;
use crate::judge::monitor::picture::PictureRoom;
use crate::judge::monitor::rules;
use crate::judge::rule::policy::SELECTOR_UNUSED;
use crate::layout::Layout;
use crate::pair::layout::LayoutSigns;
use crate::pair::monitor::models;
use crate::pair::whole::Widths;
use crate::policy::Policy;
use crate::read::launch::LaunchArguments;
use crate::read::monitor::{
    self, Alerts, MonitorHeader, MonitorPlace, MonitorTables, MonitorVersion, RankTables, RowMemory,
};
use crate::result::finding::Finding;
use crate::result::unit::Unit;
use crate::verdict::{CheckId, PerSide, Side};
use tables::{open_rank_tables, tables_by_rank};

/// Tables of each rank of a side.
type Ranks = BTreeMap<u64, Vec<MonitorPlace>>;

/// The check of training monitors.
pub(super) const CHECK: GateCheck = GateCheck {
    // A table may be empty; its folder and name still say whose it is.
    recogniser: Recogniser { check: ID, evidence: RecognitionEvidence::Place, extent: Extent::Content, recognise },
    judge: |sides, _, shared| Ok(check(&sides.baseline, &sides.candidate, &shared.request.policy, shared.progress)),
    judge_alone: Some(of_candidate),
    judge_samples: None,
    measure: None,
    judge_tree: None,
};

const ID: CheckId = CheckId::Monitor;

/// Anomalies that a finding lists.
const SHOWN: usize = 5;

fn recognise(sample: &FileSample<'_>) -> Option<RecognisedFile> {
    if monitor::recognise_alerts(sample.head) {
        return Some(RecognisedFile::from_result(
            "anomalies of a monitor",
            monitor::read_alerts(sample.source.as_ref()),
        ));
    }
    let place = MonitorPlace::from_path(sample.path);
    let line = sample.head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    match MonitorHeader::parse(line) {
        Some(header) if header.version == MonitorVersion::V1 && place.kinds().len() != 1 => {
            Some(RecognisedFile::Ignored("a table of msprobe's monitor whose name tells no kind of tensor".to_owned()))
        }
        Some(_) => Some(RecognisedFile::read("training monitor", place)),
        None if place.is_named && place.is_windowed => Some(RecognisedFile::read("training monitor", place)),
        None => None,
    }
}

/// Judges the candidate's monitors, and reports the anomalies that its own monitor found.
fn of_candidate(candidate: &Inventory, policy: &Policy, progress: &dyn Progress) -> CheckOutcome {
    let mut outcome = alone::check(candidate, policy, progress);
    outcome.add_findings(anomalies(None, candidate));
    outcome
}

/// Judges the monitors of both sides.
pub fn check(baseline: &Inventory, candidate: &Inventory, policy: &Policy, progress: &dyn Progress) -> CheckOutcome {
    let mut outcome = CheckOutcome::new(ID);
    let (baseline_ranks, candidate_ranks) = (tables_by_rank(baseline), tables_by_rank(candidate));
    let both: Vec<u64> = baseline_ranks.keys().filter(|rank| candidate_ranks.contains_key(*rank)).copied().collect();
    let (sides, numbered) =
        (PerSide { baseline, candidate }, PerSide { baseline: &baseline_ranks, candidate: &candidate_ranks });
    let numbers = PerSide::of(|side| numbered[side].keys().copied().collect());
    let arguments = PerSide::of(|side| LaunchArguments::find_beside_artifacts(sides[side].all_files()));
    let signs =
        || PerSide::of(|side| LayoutSigns::of_tables(&open_all(sides[side], numbered[side], &RowMemory::default())));
    let arranged = layouts::arrange(&numbers, &arguments, &policy.layout, signs);
    outcome.layout = arranged.layouts;
    outcome.add_findings(arranged.findings);
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
    outcome.add_findings(findings);
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
    let ranks_of = rank::Ranks { room: PictureRoom::for_ranks(both.len()), widths: None, is_alone, is_spare };
    let taken = RowMemory::default();
    let judge = |number: &u64| {
        let tables =
            |side: Side| Some(open_rank_tables(sides[side], *number, ranks[side].get(number)?, (&taken, both.len())));
        let (baseline, candidate) = (tables(Side::Baseline)?, tables(Side::Candidate)?);
        let models = models::models_of_both_sides(&PerSide { baseline: &baseline, candidate: &candidate });
        let tables = (baseline.with_models(models.baseline), candidate.with_models(models.candidate));
        let tables = (MonitorTables::from(tables.0), MonitorTables::from(tables.1));
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
    let taken = RowMemory::default();
    let tables = PerSide::of(|side| {
        MonitorTables::from_ranks(open_all(sides[side], ranks[side], &taken), layouts[side].clone(), merges)
    });
    let both = (&tables.baseline, &tables.candidate);
    let widths = Widths::from_tables(both, layouts.baseline.tp != layouts.candidate.tp);
    let ranks_of =
        rank::Ranks { room: PictureRoom::for_ranks(1), widths: Some(widths), is_alone: false, is_spare: true };
    let judged = rank::judge(both, policy, &ranks_of);
    progress.advance(1);
    judged
}

/// Opens the tables of all ranks of a side; `taken` counts the memory of all open tables.
fn open_all(side: &Inventory, ranks: &Ranks, taken: &RowMemory) -> Vec<RankTables> {
    ranks.par_iter().map(|(rank, places)| open_rank_tables(side, *rank, places, (taken, ranks.len()))).collect()
}

/// The ranks that `side` lacks.
fn missing(
    has: &BTreeMap<u64, Vec<MonitorPlace>>,
    lacks: &BTreeMap<u64, Vec<MonitorPlace>>,
    side: Side,
) -> Option<Finding> {
    let ranks: Vec<String> = has.keys().filter(|rank| !lacks.contains_key(*rank)).map(u64::to_string).collect();
    let first = ranks.first()?;
    let finding = Finding::new(&rules::RANKS_MISSING, format!("rank {first}")).with("side", side.as_str());
    let shown: Vec<String> = ranks.iter().take(SHOWN).cloned().collect();
    Some(finding.with("count", ranks.len()).with("ranks", shown))
}

/// Finding about anomalies that only the candidate's monitor reported. It does not affect the verdict.
fn anomalies(baseline: Option<&Inventory>, candidate: &Inventory) -> Option<Finding> {
    let all = |side: &Inventory| {
        side.artifacts::<Alerts>().iter().flat_map(|alerts| alerts.0.clone()).collect::<BTreeSet<_>>()
    };
    let (baseline_alerts, candidate_alerts) = (baseline.map(all).unwrap_or_default(), all(candidate));
    let mut only: Vec<&(String, u64, String)> = candidate_alerts.difference(&baseline_alerts).collect();
    only.sort_by_key(|(tag, step, rule)| (*step, tag, rule));
    let (tag, step, _) = only.first()?;
    let shown = only.iter().take(SHOWN).map(|(tag, step, rule)| format!("{tag} ({rule}, {step})")).collect::<Vec<_>>();
    let finding = Finding::new(&rules::ANOMALIES, tag.clone()).with("count", only.len()).with("step", *step);
    Some(finding.with("both", candidate_alerts.intersection(&baseline_alerts).count()).with("names", shown))
}
