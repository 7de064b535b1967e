//! The config check: packs of both sides to a verdict per checker.

use super::discover::{self, Extent, FileSample, Inventory, Keep, RecognisedFile, Recogniser};
use super::outcome::CheckOutcome;
use super::wiring::GateCheck;
use crate::fetch::progress::Progress;
use crate::judge::config::{self, JudgedPacks, PackContext};
use crate::judge::rule::artifacts::AMBIGUOUS;
use crate::msprobe::config::{self as msprobe, CheckerReport};
use crate::policy::Policy;
use crate::read::pack::{self, Checker, Pack};
use crate::redact::Redactor;
use crate::result::finding::Finding;
use crate::result::observation::Observation;
use crate::result::unit::{ConfigItem, Evidence, ItemState};
use crate::verdict::{CheckId, Side, Verdict};

/// The check of config packs.
pub(super) const CHECK: GateCheck = GateCheck {
    recogniser: Recogniser {
        check: ID,
        evidence: discover::RecognitionEvidence::Signature,
        extent: Extent::Content,
        recognise,
    },
    judge: |sides, _, shared| Ok(check(&sides.baseline, &sides.candidate, &shared.request.policy)),
    judge_alone: Some(alone),
    judge_samples: None,
    measure: None,
    judge_tree: None,
};

const ID: CheckId = CheckId::Config;

fn recognise(sample: &FileSample<'_>) -> Option<RecognisedFile> {
    if sample.head.starts_with(b"PK") && pack::recognise(sample.source) {
        return Some(RecognisedFile::from_result("config pack", pack::read(sample.source.clone())));
    }
    let member = pack::read_unpacked(sample.files.as_ref(), sample.path, sample.source)?;
    let keep: Keep = Box::new(move |artifacts| artifacts.push(member));
    Some(RecognisedFile::Read { kind: "config pack", note: "member of an unpacked pack", keep })
}

/// Judges the candidate's packs without a baseline.
fn alone(candidate: &Inventory, policy: &Policy, _: &dyn Progress) -> CheckOutcome {
    let mut outcome = CheckOutcome::new(ID);
    let packs: &[Pack] = candidate.artifacts();
    for pack in packs {
        let label = if packs.len() > 1 { pack.path.as_str() } else { "" };
        let redactor = Redactor::new(named(pack));
        let judged = config::alone::judge_pack(pack, &policy.config, &redactor);
        add_judged(&mut outcome, judged, &[], label);
    }
    outcome
}

/// Judges the packs of both sides.
///
/// One pack a side is a pair, whatever the packs are called; of several, those with the same path below their
/// side's root are, and packs left over make the check incomplete.
pub fn check(baseline: &Inventory, candidate: &Inventory, policy: &Policy) -> CheckOutcome {
    let mut outcome = CheckOutcome::new(ID);
    let (baseline_packs, candidate_packs): (&[Pack], &[Pack]) = (baseline.artifacts(), candidate.artifacts());
    if let ([baseline_pack], [candidate_pack]) = (baseline_packs, candidate_packs) {
        judge_pair(&mut outcome, baseline_pack, candidate_pack, policy, "");
        return outcome;
    }
    if baseline_packs.is_empty() || candidate_packs.is_empty() {
        // A pack that was there and could not be read stops msprobe before its first checker.
        let damaged = baseline.has_damaged(ID) || candidate.has_damaged(ID);
        unread(&mut outcome, baseline_packs.iter().chain(candidate_packs), damaged);
        return outcome;
    }
    judge_pairs(&mut outcome, baseline_packs, candidate_packs, policy);
    outcome
}

fn judge_pairs(outcome: &mut CheckOutcome, baseline: &[Pack], candidate: &[Pack], policy: &Policy) {
    let partner = |pack: &Pack, others: &[Pack]| others.iter().position(|other| other.path == pack.path);
    for pack in baseline {
        if let Some(other) = partner(pack, candidate).and_then(|position| candidate.get(position)) {
            judge_pair(outcome, pack, other, policy, &pack.path);
        }
    }
    let left = |packs: &[Pack], others: &[Pack]| -> Vec<String> {
        packs.iter().filter(|pack| partner(pack, others).is_none()).map(|pack| pack.path.clone()).collect()
    };
    let left = [(Side::Baseline, left(baseline, candidate)), (Side::Candidate, left(candidate, baseline))];
    let most = left.iter().map(|(_, paths)| paths.len()).max().unwrap_or_default();
    for (side, paths) in left {
        // A single pack is not ambiguous; only the side with several packs is asked to name one.
        let Some(first) = paths.first().filter(|_| paths.len() > 1 || most == 1) else { continue };
        let finding = Finding::new(&AMBIGUOUS, first.as_str()).of_check(ID).with("kind", "pack");
        let finding = finding.with("side", side.as_str()).with("count", paths.len()).with("paths", paths);
        outcome.add_findings([finding]);
    }
}

/// Adds an item per checker for packs without a readable partner, of which nothing was compared.
fn unread<'a>(outcome: &mut CheckOutcome, packs: impl Iterator<Item = &'a Pack>, damaged: bool) {
    let packs: Vec<&Pack> = packs.collect();
    for checker in Checker::ALL {
        let there = packs.iter().any(|pack| pack.has_any_of(checker));
        let state = if there { ItemState::Unread } else { ItemState::Absent };
        let failed = (there && damaged).then_some(());
        outcome.check.items.push(ConfigItem {
            name: checker.as_str().into(),
            verdict: Verdict::Skipped,
            state,
            evidence: Evidence::default(),
            msprobe: failed.map(|()| "failed".into()),
            msprobe_error: failed.map(|()| "RuntimeError".into()),
            findings: 0,
        });
    }
    if packs.is_empty() {
        outcome.check.items.clear();
    }
}

fn judge_pair(outcome: &mut CheckOutcome, baseline: &Pack, candidate: &Pack, policy: &Policy, label: &str) {
    let redactor = Redactor::new(named(baseline).chain(named(candidate)));
    let reports = msprobe::compare(baseline, candidate, &redactor);
    let context = PackContext { baseline, candidate, policy: &policy.config, redactor: &redactor };
    add_judged(outcome, config::judge(&context), &reports, label);
    let summary = msprobe::summary(&reports);
    let tables = std::iter::once(summary).chain(reports.into_iter().filter_map(|report| report.table));
    outcome.tables.extend(tables.map(|mut table| {
        table.name.push_str(&suffix(label));
        table
    }));
}

/// Adds the findings of a pack or a pair of packs, with an item per checker.
fn add_judged(outcome: &mut CheckOutcome, judged: JudgedPacks, reports: &[CheckerReport], label: &str) {
    let JudgedPacks { general, checkers } = judged;
    outcome.add_findings(general.into_iter().map(|finding| labelled(finding, label)));
    for (checker, findings) in checkers {
        let report = reports.iter().find(|report| report.checker == checker);
        let state = if findings.is_some() { ItemState::Compared } else { ItemState::Absent };
        let place = add_item(outcome, checker, report, state);
        let of_item = |finding| Observation::of_item(ID, place, labelled(finding, label));
        outcome.observations.extend(findings.into_iter().flatten().map(of_item));
    }
}

/// Part of a file's name from a path: `a/b.zip` to `_a_b`.
fn suffix(label: &str) -> String {
    let stem = label.strip_suffix(".zip").unwrap_or(label);
    let safe: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
    if safe.is_empty() { safe } else { format!("_{safe}") }
}

/// Adds an item, or merges it with that of an earlier pair of packs; returns its place among the items.
fn add_item(outcome: &mut CheckOutcome, checker: Checker, report: Option<&CheckerReport>, state: ItemState) -> usize {
    let item = ConfigItem {
        name: checker.as_str().into(),
        verdict: Verdict::Skipped,
        state,
        evidence: Evidence::default(),
        msprobe: report.map(|report| report.level_text().to_owned()),
        msprobe_error: report.and_then(|report| report.error).map(|error| error.to_string()),
        findings: 0,
    };
    match outcome.check.items.iter_mut().enumerate().find(|(_, known)| known.name == item.name) {
        None => {
            outcome.check.items.push(item);
            outcome.check.items.len() - 1
        }
        Some((place, known)) => {
            if item.state == ItemState::Compared {
                known.state = item.state;
            }
            let rank = |level: &Option<String>| {
                ["pass", "warning", "error", "failed"].iter().position(|known| level.as_deref() == Some(known))
            };
            if rank(&item.msprobe) > rank(&known.msprobe) {
                known.msprobe = item.msprobe;
            }
            known.msprobe_error = known.msprobe_error.take().or(item.msprobe_error);
            place
        }
    }
}

/// A finding whose place names the pack, where there are several.
fn labelled(mut finding: Finding, label: &str) -> Finding {
    if !label.is_empty() {
        finding.place = format!("{label}: {}", finding.place);
    }
    finding
}

fn named(pack: &Pack) -> impl Iterator<Item = (&str, &crate::read::json::Json)> {
    let env = pack.env.iter().flatten().flatten();
    env.chain(pack.settings()).map(|(name, value)| (name.as_str(), value))
}
