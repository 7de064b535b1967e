//! Content digests of data and weight files, which the gate's own collector records.

use super::context::PackContext;
use super::listed::first_names;
use super::rules::{DIGEST_DIFFERS, DIGEST_ONE_SIDED};
use crate::result::finding::Finding;
use crate::verdict::Side;

pub(super) fn judge(context: &PackContext<'_>) -> Vec<Finding> {
    let (Some(Ok(baseline)), Some(Ok(candidate))) = (&context.baseline.digests, &context.candidate.digests) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    for (file, digest) in baseline {
        if let Some(other) = candidate.get(file).filter(|other| *other != digest) {
            let finding = Finding::new(&DIGEST_DIFFERS, file);
            findings.push(finding.with("baseline", digest.as_str()).with("candidate", other.as_str()));
        }
    }
    for (side, here, there) in [(Side::Baseline, baseline, candidate), (Side::Candidate, candidate, baseline)] {
        let only: Vec<&String> = here.keys().filter(|file| !there.contains_key(*file)).collect();
        if let Some(first) = only.first() {
            let finding = Finding::new(&DIGEST_ONE_SIDED, first.as_str()).with("side", side.as_str());
            findings.push(
                finding.with("count", only.len()).with("files", first_names(only.iter().map(|file| file.as_str()))),
            );
        }
    }
    findings
}

/// Whether both sides recorded digests of the same files, at least one, and all of them are equal.
pub(super) fn digests_agree(context: &PackContext<'_>) -> bool {
    let (Some(Ok(baseline)), Some(Ok(candidate))) = (&context.baseline.digests, &context.candidate.digests) else {
        return false;
    };
    !baseline.is_empty() && baseline == candidate
}
