//! The check of log-probabilities: records of both sides, or of the candidate alone, are judged comparison by comparison.

use super::discover::{Extent, FileSample, Inventory, RecognisedFile, Recogniser, RecognitionEvidence};
use super::outcome::{CheckOutcome, damaged_finding};
use super::wiring::GateCheck;
use crate::compare::tokens::{self as compare, SideMeasure, TokenMeasure};
use crate::fetch::progress::Progress;
use crate::judge::rule::artifacts::{DAMAGED, NEEDS_BASELINE};
use crate::judge::tokens::{
    BaselineReference, JudgedTokens, Noise, TokensContext, judge_across, judge_own, note_quantity_off, rules,
};
use crate::policy::Policy;
use crate::read::tokens::{self as read, OpenedTables, TokensFile};
use crate::result::finding::Finding;
use crate::result::unit::{LogprobsSide, Unit};
use crate::verdict::{CheckId, PerSide, Side};

/// The check of log-probabilities.
pub(super) const CHECK: GateCheck = GateCheck {
    // Their keys say more than what a checkpoint or a curve is known by.
    recogniser: Recogniser { check: ID, evidence: RecognitionEvidence::Place, extent: Extent::Content, recognise },
    judge: |sides, _, shared| Ok(check(&sides.baseline, &sides.candidate, &shared.request.policy, shared.progress)),
    judge_alone: Some(health),
    judge_samples: None,
    measure: None,
    judge_tree: None,
};

const ID: CheckId = CheckId::Tokens;

fn recognise(sample: &FileSample<'_>) -> Option<RecognisedFile> {
    let file = read::recognise(sample.path, sample.head, sample.source, sample.files.as_ref())?;
    Some(RecognisedFile::read(file.format.name(), file))
}

/// Judges the records of a candidate without a baseline.
fn health(candidate: &Inventory, policy: &Policy, progress: &dyn Progress) -> CheckOutcome {
    let mut outcome = CheckOutcome::new(ID);
    if !candidate.has_read(ID) {
        return outcome;
    }
    progress.begin("comparing log-probabilities", 0);
    let records = Records::open(candidate, Side::Candidate, &mut outcome);
    let noise = Noise::from_policy(&policy.tokens, None);
    let context = TokensContext { policy: &policy.tokens, noise, reference: None };
    let measured = records.own(noise);
    let is_comparable = measured.measured > 0 || measured.meter.non_finite.first.is_some() || is_explained(&measured);
    add(&mut outcome, &records, judge_own(LogprobsSide::Candidate, &measured, context));
    if !is_comparable {
        let finding = Finding::new(&NEEDS_BASELINE, ID.as_str()).of_check(ID).with("check", ID.as_str());
        outcome.add_findings([finding]);
    }
    outcome
}

/// Whether a finding says why nothing was measured.
fn is_explained(measured: &TokenMeasure) -> bool {
    let notes = &measured.notes;
    let noted = [notes.lengths.count, notes.positive.count, notes.unreadable.count, notes.constant.len() as u64];
    noted.into_iter().sum::<u64>() > 0
}

/// Judges the records of both sides.
fn check(baseline: &Inventory, candidate: &Inventory, policy: &Policy, progress: &dyn Progress) -> CheckOutcome {
    let mut outcome = CheckOutcome::new(ID);
    // A side without any record is reported elsewhere, as a check with artifacts on one side only.
    if !baseline.has_files_of(ID) || !candidate.has_files_of(ID) {
        return outcome;
    }
    progress.begin("comparing log-probabilities", 0);
    let records = PerSide {
        baseline: Records::open(baseline, Side::Baseline, &mut outcome),
        candidate: Records::open(candidate, Side::Candidate, &mut outcome),
    };
    let unknown = Noise::from_policy(&policy.tokens, None);
    let reference = records.baseline.own(unknown);
    let of_baseline = reference.meter.total();
    let mean = (of_baseline.tokens > 0).then(|| of_baseline.measures().mean_abs);
    let noise = Noise::from_policy(&policy.tokens, mean);
    let is_known = reference.measured > 0;
    let known = BaselineReference { measures: of_baseline.measures(), notes: &reference.notes };
    let context = TokensContext { policy: &policy.tokens, noise, reference: is_known.then_some(known) };
    let own = records.candidate.own(noise);
    let is_own = own.measured > 0 || own.meter.non_finite.first.is_some() || is_explained(&own);
    if is_own {
        add(&mut outcome, &records.candidate, judge_own(LogprobsSide::Candidate, &own, context));
    }
    if is_known || is_explained(&reference) {
        add(&mut outcome, &records.baseline, judge_own(LogprobsSide::Baseline, &reference, context));
    }
    let differences = own.holds.difference && reference.holds.difference;
    let all =
        compare::measure_across_sides(&records.baseline.opened.tables, &records.candidate.opened.tables, noise.nats);
    let judged = all.iter().map(|across| (across, is_own));
    judge_shared(&mut outcome, &records.candidate, judged, context, differences);
    let units = outcome.check.units.iter().filter_map(|unit| match unit {
        Unit::Logprobs(unit) => Some(&**unit),
        _ => None,
    });
    note_quantity_off(units, outcome.observations.iter_mut().map(|seen| &mut seen.finding));
    outcome
}

/// Judges the answers that both sides have. Where the candidate's own comparison decides, different answers are no fault.
fn judge_shared<'a>(
    outcome: &mut CheckOutcome,
    records: &Records,
    all: impl Iterator<Item = (&'a SideMeasure, bool)>,
    context: TokensContext<'_>,
    is_of_differences: bool,
) {
    let (mut is_told, mut is_any) = (false, false);
    for (across, is_own) in all {
        is_any = true;
        let [candidate, baseline] = across.answers;
        let is_most = across.shared > 0 && 2 * across.shared >= candidate.min(baseline);
        if is_most || (!is_own && across.shared > 0) {
            add(outcome, records, judge_across(across, is_own, context));
        } else if !is_told {
            is_told = true;
            let rule = if is_own { &rules::RESAMPLED } else { &rules::NOT_COMPARABLE };
            let finding = Finding::new(rule, ID.as_str()).with("shared", across.shared);
            outcome.add_findings([finding.with("answers", candidate).with("baseline_answers", baseline)]);
        }
    }
    if !is_any && !is_of_differences && outcome.check.units.is_empty() {
        outcome.add_findings([Finding::new(&rules::NOT_COMPARABLE, ID.as_str()).with("shared", 0_u64)]);
    }
}

/// Adds a comparison, with what could not be read of its records.
fn add(outcome: &mut CheckOutcome, records: &Records, judged: JudgedTokens) {
    let JudgedTokens { mut unit, mut findings } = judged;
    if unit.side != LogprobsSide::Across {
        let lines =
            records.opened.tables.iter().flat_map(|table| table.damages.iter().map(move |damage| (table, damage)));
        for (table, damage) in lines {
            unit.evidence.damaged += 1;
            let place = damage.line.map_or_else(|| table.path.clone(), |line| format!("{}:{line}", table.path));
            unit.evidence.example("damaged", format!("{place}: {}", damage.reason));
        }
        let first = records.opened.tables.iter().find_map(|table| Some((table, table.damages.first()?)));
        if let Some((table, damage)) = first {
            let place = damage.line.map_or_else(|| table.path.clone(), |line| format!("{}, line {line}", table.path));
            let finding = Finding::new(&DAMAGED, place).of_check(ID).with("side", records.side.as_str());
            findings.push(finding.with("reason", damage.reason.as_str()).with("help", ""));
        }
        for table in &records.opened.tables {
            unit.evidence.unread += table.unread.len() as u64;
            table.unread.iter().for_each(|name| unit.evidence.example("unread", name.as_str()));
        }
    }
    outcome.add_unit(Unit::Logprobs(Box::new(unit)), findings);
}

/// Records of a side.
struct Records {
    opened: OpenedTables,
    side: Side,
}

impl Records {
    /// Opens the records of a side; adds findings about those that cannot be opened.
    fn open(inventory: &Inventory, side: Side, outcome: &mut CheckOutcome) -> Self {
        let opened = read::open_all(inventory.all_files(), inventory.artifacts::<TokensFile>());
        outcome.add_findings(opened.damaged.iter().map(|(_, error)| damaged_finding(ID, side, error)));
        Self { opened, side }
    }

    /// The comparison of engine and trainer within the side.
    fn own(&self, noise: Noise) -> TokenMeasure {
        compare::measure_side(&self.opened.tables, noise.nats)
    }
}
