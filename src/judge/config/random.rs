//! Calls of random functions before the first forward pass, paired one to one.

use std::collections::BTreeSet;

use super::context::PackContext;
use super::listed::first_names;
use super::rules::{
    RANDOM_COUNT, RANDOM_EMPTY, RANDOM_REWRITTEN, RANDOM_UNMATCHED, RECORD_MALFORMED, SEED_ALL, SEED_NOT_SEEN,
};
use crate::pair::call::{self, CallFrame};
use crate::read::pack::{RandomCall, RandomCalls};
use crate::result::finding::Finding;
use crate::verdict::Side;

/// Similarity of two source lines below which the line counts as rewritten; it is msprobe's own bound.
const REWRITTEN: f64 = 0.4;

/// Functions that set a seed, as far as they are recorded.
const SEEDING: [&str; 2] = ["torch.manual_seed", "mindspore.manual_seed"];

pub(super) fn judge(context: &PackContext<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (rank, baseline) in &context.baseline.random {
        let (Ok(baseline), Some(Ok(candidate))) = (baseline, context.candidate.random.get(rank)) else { continue };
        findings.extend(judge_rank(context, *rank, baseline, candidate));
    }
    findings.push(Finding::new(&SEED_ALL, "random"));
    findings
}

fn judge_rank(context: &PackContext<'_>, rank: u64, baseline: &RandomCalls, candidate: &RandomCalls) -> Vec<Finding> {
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
        findings.extend(Function { context, rank, op }.judge(calls_of(baseline, op), calls_of(candidate, op)));
    }
    findings
}

fn calls_of<'a>(calls: &'a RandomCalls, op: &str) -> &'a [RandomCall] {
    calls.iter().find(|(known, _)| known == op).map_or(&[], |(_, entries)| entries)
}

/// One random function on one rank.
struct Function<'a> {
    context: &'a PackContext<'a>,
    rank: u64,
    op: &'a str,
}

impl Function<'_> {
    fn judge(&self, baseline: &[RandomCall], candidate: &[RandomCall]) -> Vec<Finding> {
        let paired = call::pair_calls(baseline, candidate);
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
                let lines = first_names(entries.iter().map(|entry| self.line(entry)));
                findings.push(finding.with("count", entries.len()).with("lines", lines));
            }
        }
        findings
    }

    /// The place of a call: `train.py:41 in draw: torch.rand(2)`.
    fn line(&self, entry: &RandomCall) -> String {
        let frame = entry.stack.as_deref().unwrap_or_default().last().map(|frame| CallFrame::parse(frame));
        let frame = frame.unwrap_or_default();
        let text = format!("{}:{} in {}: {}", frame.file_name(), frame.line, frame.function, frame.code);
        self.context.redactor.text(&text)
    }
}
