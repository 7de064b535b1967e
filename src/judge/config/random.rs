//! Calls of random functions before the first forward pass, paired one to one.

use std::collections::BTreeSet;

use super::context::Context;
use super::listed::listed;
use super::rules::{
    RANDOM_COUNT, RANDOM_EMPTY, RANDOM_REWRITTEN, RANDOM_UNMATCHED, RECORD_MALFORMED, SEED_ALL, SEED_NOT_SEEN,
};
use crate::pair::call::{self, Frame};
use crate::read::pack::{Calls, Distinct};
use crate::result::finding::Finding;
use crate::verdict::Side;

/// Similarity of two source lines below which the line counts as rewritten; it is msprobe's own bound.
const REWRITTEN: f64 = 0.4;

/// Functions that set a seed, as far as they are recorded.
const SEEDING: [&str; 2] = ["torch.manual_seed", "mindspore.manual_seed"];

pub(super) fn judge(context: &Context<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (rank, baseline) in &context.baseline.random {
        let (Ok(baseline), Some(Ok(candidate))) = (baseline, context.candidate.random.get(rank)) else { continue };
        findings.extend(judge_rank(context, *rank, baseline, candidate));
    }
    findings.push(Finding::new(&SEED_ALL, "random"));
    findings
}

fn judge_rank(context: &Context<'_>, rank: u64, baseline: &Calls, candidate: &Calls) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (side, calls) in [(Side::Baseline, baseline), (Side::Candidate, candidate)] {
        let entries = || calls.iter().flat_map(|(_, entries)| entries);
        if calls.iter().all(|(_, entries)| entries.is_empty()) {
            findings.push(Finding::new(&RANDOM_EMPTY, format!("random/rank{rank}.json")).with("side", side.as_str()));
        } else if !calls.iter().any(|(op, entries)| SEEDING.contains(&op.as_str()) && !entries.is_empty()) {
            findings.push(Finding::new(&SEED_NOT_SEEN, format!("random/rank{rank}.json")).with("side", side.as_str()));
        }
        let broken = entries().filter(|entry| entry.count.is_none() || entry.stack.is_none()).count();
        if broken > 0 {
            let finding = Finding::new(&RECORD_MALFORMED, format!("random/rank{rank}.json"));
            findings.push(finding.with("step", 0_u64).with("rank", rank).with("places", broken));
        }
    }
    if findings.iter().any(|finding| finding.is(&RANDOM_EMPTY)) {
        return findings;
    }
    let ops: BTreeSet<&str> = baseline.iter().chain(candidate).map(|(op, _)| op.as_str()).collect();
    for op in ops {
        findings.extend(Function { context, rank, op }.judge(of(baseline, op), of(candidate, op)));
    }
    findings
}

fn of<'a>(calls: &'a Calls, op: &str) -> &'a [Distinct] {
    calls.iter().find(|(known, _)| known == op).map_or(&[], |(_, entries)| entries)
}

/// One random function on one rank.
struct Function<'a> {
    context: &'a Context<'a>,
    rank: u64,
    op: &'a str,
}

impl Function<'_> {
    fn judge(&self, baseline: &[Distinct], candidate: &[Distinct]) -> Vec<Finding> {
        let paired = call::pair(baseline, candidate);
        let mut findings = Vec::new();
        for (a, b, likeness) in &paired.matched {
            let (count_a, count_b) = (a.count.unwrap_or(0), b.count.unwrap_or(0));
            let finding = |rule| {
                Finding::new(rule, self.op)
                    .with("rank", self.rank)
                    .with("baseline", count_a.to_string())
                    .with("candidate", count_b.to_string())
                    .with("baseline_line", self.line(a))
                    .with("candidate_line", self.line(b))
            };
            if count_a != count_b {
                findings.push(finding(&RANDOM_COUNT));
            } else if *likeness < REWRITTEN {
                findings.push(finding(&RANDOM_REWRITTEN));
            }
        }
        for (side, entries) in [(Side::Baseline, paired.only_baseline), (Side::Candidate, paired.only_candidate)] {
            if !entries.is_empty() {
                let finding =
                    Finding::new(&RANDOM_UNMATCHED, self.op).with("rank", self.rank).with("side", side.as_str());
                let lines = listed(entries.iter().map(|entry| self.line(entry)));
                findings.push(finding.with("count", entries.len()).with("lines", lines));
            }
        }
        findings
    }

    /// The place of a call: `train.py:41 in draw: torch.rand(2)`.
    fn line(&self, entry: &Distinct) -> String {
        let frame = entry.stack.as_deref().unwrap_or_default().last().map(|frame| Frame::parse(frame));
        let frame = frame.unwrap_or_default();
        let text = format!("{}:{} in {}: {}", frame.base(), frame.line, frame.function, frame.code);
        self.context.redactor.text(&text)
    }
}
