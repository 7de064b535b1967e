//! Judging one rank, or the whole model merged from ranks: its steps are read one after the other, paired and judged.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::shares::{StepsBySide, UnpairedRows, other_model};
use super::trainable::OnlyTrained;
use crate::error::Result;
use crate::judge::monitor::alone::non_finite_statistic;
use crate::judge::monitor::copies;
use crate::judge::monitor::measure::FileRounding;
use crate::judge::monitor::picture::PictureRoom;
use crate::judge::monitor::rules;
use crate::judge::monitor::walk::{RankWalk, RankWalkResult, WalkSetting};
use crate::kind::{MonitorKind, Statistic};
use crate::pair::monitor::{self as pair, PairedMonitorRows};
use crate::pair::whole::Widths;
use crate::policy::Policy;
use crate::read::account::UnreadNumbers;
use crate::read::monitor::{
    DifferingRow, KeyedRow, MonitorDamage, MonitorKey, MonitorRow, MonitorStep, MonitorTables, RankTables,
};
use crate::result::finding::{Finding, verdict_of};
use crate::result::number::Number;
use crate::result::outcome::RuleOutcome;
use crate::result::unit::{
    CulpritLayout, CurveSeries, Evidence, MonitorCause, MonitorSteps, MonitorUnit, UnitRanks, unit_place,
};
use crate::verdict::{PerSide, Side, Verdict};

/// Points of the culprit's series.
const MOST_POINTS: usize = 500;
/// Decimals by which the candidate's numbers may be rounded more coarsely: the last ones may all be zero by chance.
const COARSER: u32 = 2;
/// Decimals that V1 writes unless told otherwise.
const USUAL_DECIMALS: u32 = 6;

/// A judged rank; its verdict follows from the findings once the policy has applied them.
pub(super) struct Judged {
    pub(super) unit: MonitorUnit,
    pub(super) findings: Vec<Finding>,
    /// Places of the policy's limits that fitted a row.
    pub(super) used: BTreeSet<usize>,
    /// Numbers that were not read, of both sides.
    pub(super) accounts: [UnreadNumbers; 2],
}

/// Circumstances of the ranks that are judged.
pub(super) struct Ranks {
    /// Room for what documents draw.
    pub(super) room: PictureRoom,
    /// Widths of tensors that both sides' ranks hold, where ranks are merged.
    pub(super) widths: Option<Widths>,
    /// Whether both sides recorded a single rank.
    pub(super) is_alone: bool,
    /// Whether a thread is free to read the rows of one side while those of the other are read.
    pub(super) is_spare: bool,
}

/// Judges a rank, or the whole model.
pub(super) fn judge(sides: (&MonitorTables, &MonitorTables), policy: &Policy, ranks: &Ranks) -> Judged {
    let Ranks { room, widths, is_alone, is_spare } = ranks;
    let (room, is_alone) = (*room, *is_alone);
    let (baseline, candidate) = sides;
    let (rank, accounts) = (baseline.rank(), [baseline.account(), candidate.account()]);
    let mut findings = damage(sides);
    findings.extend(about_files(sides));
    let (baseline_steps, candidate_steps) = (baseline.steps(), candidate.steps());
    let steps = StepsBySide::from_steps(&baseline_steps, &candidate_steps);
    let counts = MonitorSteps {
        paired: steps.both.len() as u64,
        baseline: baseline_steps.len() as u64,
        candidate: candidate_steps.len() as u64,
    };
    let mut unit = MonitorUnit { steps: counts, ranks: put_together(sides), ..MonitorUnit::empty(rank) };
    let damaged: BTreeSet<MonitorKind> = baseline.damaged_kinds().union(&candidate.damaged_kinds()).copied().collect();
    let kinds = kinds(sides);
    if let Some(finding) = other_model(sides, &kinds.difference(&damaged).copied().collect()) {
        findings.push(finding);
        return Judged { unit, findings, used: BTreeSet::new(), accounts };
    }
    let versions_differ = baseline.version() != candidate.version();
    // The versions record moments at different times: V1 lacks those after the last update, V2 those before the first.
    let moments = [MonitorKind::ExpAvg, MonitorKind::ExpAvgSq].into_iter().filter(|_| versions_differ);
    let moments: BTreeSet<MonitorKind> = moments.collect();
    let excused: BTreeSet<MonitorKind> = damaged.union(&moments).copied().collect();
    let setting = WalkSetting {
        rank,
        policy,
        written: FileRounding::new(baseline.decimals(), candidate.decimals(), versions_differ)
            .with_parts(baseline.parts_per_row().max(candidate.parts_per_row())),
        decimals: baseline.decimals(),
        has_start: baseline.first_step(MonitorKind::ParamOrigin) == candidate.first_step(MonitorKind::ParamOrigin),
        is_alone,
        steps: steps.both.len(),
        room,
    };
    let total: u64 = baseline_steps.values().sum();
    let lacking = steps.baseline.iter().filter_map(|step| baseline_steps.get(step)).sum();
    let mut unpaired = UnpairedRows { steps: lacking, ..UnpairedRows::default() };
    let mut walk = RankWalk::new(setting);
    let (mut replaced, mut contradicting) = (0, 0);
    let (mut left_out, mut again) = (BTreeMap::new(), 0);
    let mut alone = [(baseline, &steps.baseline), (candidate, &steps.candidate)]
        .map(|(tables, steps)| offered_alone(tables, steps, &kinds, &moments, policy));
    let (mut seen, mut only_trained) = (BTreeSet::new(), OnlyTrained::from_tables(sides));
    let (mut parted, mut unmerged) = (PerSide::of(|_| None), Unmerged::default());
    for step in &steps.both {
        let of = |side, tables: &MonitorTables| tables.read_step(*step, None).map_err(|error| (side, error));
        let of_both = (|| of(Side::Baseline, baseline), || of(Side::Candidate, candidate));
        let (baseline_rows, candidate_rows) =
            if *is_spare { rayon::join(of_both.0, of_both.1) } else { (of_both.0(), of_both.1()) };
        let read = baseline_rows.and_then(|baseline_rows| Ok((baseline_rows, candidate_rows?)));
        let (baseline_rows, candidate_rows) = match read {
            Ok(both) => both,
            Err((side, error)) => {
                let finding = rules::with_rank(Finding::new(&rules::FILE_DAMAGED, error.subject()), rank);
                let finding = finding.with("what", "unreadable").with("reason", error.message());
                findings.push(finding.with("side", side.as_str()));
                break;
            }
        };
        replaced += baseline_rows.replaced + candidate_rows.replaced;
        contradicting += baseline_rows.contradicting + candidate_rows.contradicting;
        let broken = broken(&candidate_rows);
        only_trained.add_step(&candidate_rows, *step);
        note_parted(&mut parted.baseline, &baseline_rows, *step, policy);
        note_parted(&mut parted.candidate, &candidate_rows, *step, policy);
        let mut paired = pair::pair_monitor_rows(baseline_rows, candidate_rows, &kinds, versions_differ);
        widths.iter().for_each(|widths| widths.leave_out_incomparable(&mut paired));
        leave_out(&mut paired, policy, &mut left_out);
        unmerged.add(&paired);
        let without_partner = broken.iter().filter(|row| paired.only_candidate.contains(&row.key));
        findings.extend(without_partner.map(|row| row.finding(rank)));
        let expected = |keys: &[MonitorKey]| keys.iter().filter(|key| !moments.contains(&key.kind)).count() as u64;
        alone[0] += expected(&paired.only_baseline);
        alone[1] += expected(&paired.only_candidate);
        again += expected(&paired.again);
        seen.extend(paired.matched.iter().map(|pair| pair.key.kind));
        unpaired.add(&paired.only_baseline, &paired.only_candidate, &excused);
        walk.step(*step, &paired.matched);
    }
    let walked = walk.finish();
    let of_jumps = verdict_of(walked.findings.iter().filter(|finding| finding.is(&rules::JUMP)));
    findings.extend(walked.findings.iter().cloned());
    findings.extend(only_trained.finding());
    findings.extend(unpaired.findings(rank, total, &steps));
    if replaced > 0 {
        findings.push(rules::rank_finding(&rules::RANK_TWICE, rank).with("count", replaced));
    }
    if walked.evidence.compared == 0 && verdict_of(&findings) < Verdict::Incomplete {
        findings.push(rules::rank_finding(&rules::NOTHING_COMPARED, rank));
    }
    findings.extend(Side::BOTH.into_iter().filter_map(|side| {
        let (_, differing) = parted[side].as_ref()?;
        Some(copies::finding(differing, side))
    }));
    let of_updates = verdict_of(walked.findings.iter().filter(|finding| finding.is(&rules::UPDATE)));
    unit.rules = vec![
        RuleOutcome::new("monitor_jump", walked.worst, (Some(1.0), None), of_jumps),
        RuleOutcome::new("monitor_update", walked.worst_update, (None, Some(1.0)), of_updates),
    ];
    unit.culprit_series = series(sides, &walked, &steps.both);
    let used = walked.used.clone();
    let key = walked.key.clone();
    fill(&mut unit, walked, seen);
    place_culprit(&mut unit, key, &parted, candidate);
    place_trained(&mut unit, &only_trained);
    [unit.unmatched_baseline, unit.unmatched_candidate] = alone;
    unit.evidence.one_sided = alone;
    // A place that a side wrote again is offered once only.
    unit.evidence.offered += alone.into_iter().sum::<u64>() - again;
    unit.evidence.contradicting += contradicting;
    unit.evidence.shown_only = baseline.left_out().max(candidate.left_out());
    unmerged.note(&mut unit.evidence);
    for (name, rows) in left_out {
        unit.evidence.left_out += rows;
        unit.evidence.example("left-out", &*name);
    }
    let tables: Vec<&RankTables> = baseline.rank_tables().iter().chain(candidate.rank_tables()).collect();
    note_damage(&mut unit.evidence, &tables);
    Judged { unit, findings, used, accounts }
}

/// The ranks of both sides, where they are merged into a whole model.
fn put_together((baseline, candidate): (&MonitorTables, &MonitorTables)) -> Option<UnitRanks> {
    let ranks = UnitRanks { baseline: baseline.merged_ranks(), candidate: candidate.merged_ranks() };
    (!ranks.candidate.is_empty()).then_some(ranks)
}

/// The first copies that differ between ranks of a side, and the step by which they are ordered.
type Parted = Option<(i64, DifferingRow)>;

/// Notes the first copies that differ, but for those that the policy leaves out.
fn note_parted(parted: &mut Parted, step: &MonitorStep, update: i64, policy: &Policy) {
    if parted.is_none() {
        let mut differing = step.differing.iter();
        let first = differing.find(|differing| !is_ignored(policy, &[&differing.name, &differing.key.name]));
        *parted = first.map(|differing| (update, differing.clone()));
    }
}

/// Names the culprit's place in the whole model. Copies that differ before the first wrong row become the culprit.
fn place_culprit(unit: &mut MonitorUnit, key: Option<MonitorKey>, parted: &PerSide<Parted>, candidate: &MonitorTables) {
    if unit.ranks.is_none() {
        return;
    }
    let place = |update, key: &MonitorKey| (update, key.kind, key.micro_step);
    let update = unit.culprit.as_ref().and_then(|culprit| Some(culprit.monitor.as_ref()?.update));
    let known = update.zip(key.as_ref()).map(|(update, key)| place(update, key));
    let mut key = key;
    if let (None, Some((update, differing))) = (&parted.baseline, &parted.candidate)
        && known.is_none_or(|known| place(*update, &differing.key) < known)
    {
        unit.culprit = Some(copies::culprit(differing, *update));
        key = Some(differing.key.clone());
    }
    if let Some((culprit, key)) = unit.culprit.as_mut().zip(key) {
        let ranks = candidate.holding_ranks(key.kind, &key.name);
        culprit.layout = Some(CulpritLayout { module: key.split_module().0.to_owned(), ranks, shard: None });
    }
}

/// Makes a parameter that trains on the candidate only the culprit, where no earlier row is wrong.
fn place_trained(unit: &mut MonitorUnit, only_trained: &OnlyTrained) {
    let Some((culprit, update)) = only_trained.culprit() else { return };
    let known = unit.culprit.as_ref().and_then(|known| Some(known.monitor.as_ref()?.update));
    if known.is_none_or(|known| update < known) {
        unit.culprit = Some(culprit);
        unit.culprit_series = None;
    }
}

/// Rows of the whole model that are not compared, because the ranks of one side cannot be merged.
#[derive(Debug, Default)]
struct Unmerged {
    rows: u64,
    names: BTreeSet<String>,
}

impl Unmerged {
    fn add(&mut self, paired: &PairedMonitorRows) {
        self.rows += paired.unmerged.len() as u64;
        self.names.extend(paired.unmerged.iter().map(|key| format!("{} {}", key.kind.as_str(), key.name)));
    }

    fn note(self, evidence: &mut Evidence) {
        evidence.shown_only += self.rows;
        self.names.into_iter().for_each(|name| evidence.example("not-merged", name));
    }
}

/// A row of the candidate that is not finite.
struct Broken {
    key: MonitorKey,
    step: u64,
    statistic: &'static str,
}

impl Broken {
    /// The finding about a row without a partner: it is not finite, whatever the baseline would hold there.
    fn finding(&self, rank: Option<u64>) -> Finding {
        rules::with_rank(Finding::new(&rules::NON_FINITE, &*self.key.name), rank)
            .with("unit", unit_place(self.step, rank))
            .with("step", self.step)
            .with("kind", self.key.kind.as_str())
            .with("cause", MonitorCause::NonFinite.as_str())
            .with("statistic", self.statistic)
            .with("unpaired", 1_u64)
    }
}

/// Rows of a step of the candidate that are not finite.
fn broken(step: &MonitorStep) -> Vec<Broken> {
    let of = |keyed: &KeyedRow| {
        let statistic = non_finite_statistic(&keyed.row)?;
        Some(Broken { key: keyed.key.clone(), step: keyed.row.step, statistic })
    };
    step.rows.iter().filter_map(of).collect()
}

/// Number of rows at steps that only one side has, without rows for which no partner is expected.
fn offered_alone(
    tables: &MonitorTables,
    steps: &[i64],
    kinds: &BTreeSet<MonitorKind>,
    moments: &BTreeSet<MonitorKind>,
    policy: &Policy,
) -> u64 {
    let counts = |keyed: &KeyedRow| {
        let kind = &keyed.key.kind;
        kinds.contains(kind) && !moments.contains(kind) && !is_ignored(policy, &[&keyed.row.name, &keyed.key.name])
    };
    let rows = steps.iter().filter_map(|step| tables.read_step(*step, None).ok());
    rows.map(|step| step.rows.iter().filter(|keyed| counts(keyed)).count() as u64).sum()
}

/// Counts damaged tables.
pub(super) fn note_damage(evidence: &mut Evidence, sides: &[&RankTables]) {
    for (path, _) in sides.iter().flat_map(|tables| tables.damage()) {
        evidence.damaged += 1;
        evidence.example("damaged", path);
    }
}

/// Whether the policy leaves out a row by one of its names.
pub(super) fn is_ignored(policy: &Policy, names: &[&str]) -> bool {
    policy.monitor.ignore.iter().any(|pattern| names.iter().any(|name| pattern.matches(name)))
}

/// Removes the rows that the policy ignores, and counts them by tensor.
fn leave_out(paired: &mut PairedMonitorRows, policy: &Policy, left_out: &mut BTreeMap<Arc<str>, u64>) {
    if policy.monitor.ignore.is_empty() {
        return;
    }
    let mut keeps = |names: &[&Arc<str>]| {
        let is_ignored = is_ignored(policy, &names.iter().map(|name| &***name).collect::<Vec<_>>());
        if let (true, Some(name)) = (is_ignored, names.first()) {
            *left_out.entry((*name).clone()).or_default() += 1;
        }
        !is_ignored
    };
    paired.matched.retain(|pair| keeps(&[&pair.key.name, &pair.candidate.name]));
    paired.only_baseline.retain(|key| keeps(&[&key.name]));
    paired.only_candidate.retain(|key| keeps(&[&key.name]));
    paired.again.retain(|key| !is_ignored(policy, &[&key.name]));
    paired.unmerged.retain(|key| !is_ignored(policy, &[&key.name]));
}

fn fill(unit: &mut MonitorUnit, walked: RankWalkResult, kinds: BTreeSet<MonitorKind>) {
    unit.compared = walked.evidence.compared;
    unit.evidence = walked.evidence;
    unit.noise_driven = walked.noise_driven;
    unit.horizon = walked.horizon;
    unit.kinds = kinds.into_iter().collect();
    walked.precision.as_str().clone_into(&mut unit.dtype);
    unit.culprit = walked.culprit;
    unit.series = walked.series;
    unit.heatmap = walked.heatmap;
}

/// The kinds to compare: all of them, or those that both sides wrote where the versions differ.
fn kinds((baseline, candidate): (&MonitorTables, &MonitorTables)) -> BTreeSet<MonitorKind> {
    let (baseline_kinds, candidate_kinds) = (baseline.kinds(), candidate.kinds());
    if baseline.version() == candidate.version() {
        baseline_kinds.union(&candidate_kinds).copied().collect()
    } else {
        baseline_kinds.intersection(&candidate_kinds).copied().collect()
    }
}

/// Findings about damaged tables.
fn damage((baseline, candidate): (&MonitorTables, &MonitorTables)) -> Vec<Finding> {
    let sides = [(Side::Baseline, baseline), (Side::Candidate, candidate)];
    let of = |(side, tables): (Side, &MonitorTables)| {
        tables.rank_tables().iter().flat_map(move |rank| damage_of(side, rank)).collect()
    };
    sides.into_iter().flat_map::<Vec<Finding>, _>(of).collect()
}

/// Findings about damaged tables of one side.
pub(super) fn damage_of(side: Side, tables: &RankTables) -> Vec<Finding> {
    let finding = |(path, damage): (&str, &MonitorDamage)| {
        let finding = Finding::new(&rules::FILE_DAMAGED, path).with("rank", tables.rank).with("side", side.as_str());
        match damage {
            MonitorDamage::Empty => finding.with("what", "empty"),
            MonitorDamage::Header => finding.with("what", "header"),
            MonitorDamage::Cut { line } => finding.with("what", "cut").with("line", *line),
            MonitorDamage::Lines { count, first } => {
                finding.with("what", "lines").with("count", *count).with("line", *first)
            }
            MonitorDamage::Unreadable(reason) => finding.with("what", "unreadable").with("reason", reason.as_str()),
        }
    };
    tables.damage().map(finding).collect()
}

/// Findings about versions, statistics and digits.
fn about_files(sides: (&MonitorTables, &MonitorTables)) -> Vec<Finding> {
    let (baseline, candidate) = sides;
    let of = |rule| rules::rank_finding(rule, baseline.rank());
    let mut findings = Vec::new();
    if baseline.is_empty() || candidate.is_empty() {
        return findings;
    }
    if !baseline.has_statistics() || !candidate.has_statistics() {
        findings.push(of(&rules::NO_STATISTICS));
    }
    let versions_differ = baseline.version() != candidate.version();
    if versions_differ {
        let compared = kinds(sides);
        let all = baseline.names().into_iter().chain(candidate.names()).map(|(kind, _)| kind);
        let left_out: BTreeSet<&str> = all.filter(|kind| !compared.contains(kind)).map(MonitorKind::as_str).collect();
        let left_out: Vec<String> = left_out.into_iter().map(str::to_owned).collect();
        findings.push(of(&rules::VERSIONS_DIFFER).with("left_out", left_out.len()).with("kinds", left_out));
    }
    let expected = baseline.decimals().unwrap_or(if versions_differ { USUAL_DECIMALS } else { 0 });
    if let Some(decimals) = candidate.decimals().filter(|decimals| decimals + COARSER <= expected) {
        let finding = of(&rules::ROUNDING_DIFFERS);
        findings.push(finding.with("candidate", u64::from(decimals)).with("baseline", u64::from(expected)));
    }
    findings
}

/// The culprit's statistic on both sides over all steps.
fn series(sides: (&MonitorTables, &MonitorTables), walked: &RankWalkResult, steps: &[i64]) -> Option<CurveSeries> {
    let (culprit, key) = (walked.culprit.as_ref()?, walked.key.as_ref()?);
    let statistic = culprit.monitor.as_ref().and_then(|facts| facts.statistic());
    let update = culprit.monitor.as_ref()?.update;
    let every = steps.len().div_ceil(MOST_POINTS).max(1);
    let mut series = CurveSeries::default();
    for (nth, step) in steps.iter().enumerate() {
        if nth % every != 0 && *step != update {
            continue;
        }
        let Ok((baseline, candidate)) = both(sides, *step, key) else { break };
        let value = |row: &MonitorRow| {
            let value = match statistic {
                Some(statistic) => row.statistics.get(statistic),
                None => Statistic::ALL.into_iter().find_map(|statistic| row.statistics.get(statistic)),
            };
            value.map(Number)
        };
        let written = baseline.as_ref().or(candidate.as_ref()).map(|row| row.step);
        let Some(step) = written else { continue };
        series.step.push(step);
        series.baseline.push(baseline.as_ref().and_then(value));
        series.candidate.push(candidate.as_ref().and_then(value));
    }
    Some(series)
}

fn both(
    (baseline, candidate): (&MonitorTables, &MonitorTables),
    step: i64,
    key: &MonitorKey,
) -> Result<(Option<MonitorRow>, Option<MonitorRow>)> {
    let row = |tables: &MonitorTables| {
        let mut rows = tables.read_step(step, Some(key.kind))?.rows.into_iter();
        Ok(rows.find(|keyed| keyed.key == *key).map(|keyed| keyed.row))
    };
    Ok((row(baseline)?, row(candidate)?))
}
