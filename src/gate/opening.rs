//! Opening both sides of a run: the artifacts of each are listed, and the baseline is compared with its manifest.

use super::baseline;
use super::baseline::manifest::Manifest;
use super::checks::search;
use super::discover::Inventory;
use super::loss::{self, UnreadLog};
use super::request::Request;
use super::samples;
use super::side;
use super::sides::Sides;
use super::surroundings::Surroundings;
use super::training::Training;
use crate::error::Result;
use crate::fetch::Source;
use crate::fetch::progress::Progress;
use crate::policy::Policy;
use crate::verdict::{CheckId, Side};

/// Opens both locations, and compares the baseline with its manifest.
pub(super) fn open(request: &Request, surroundings: &Surroundings<'_>, progress: &dyn Progress) -> Result<Sides> {
    let Surroundings { fetcher, manifest, training, .. } = *surroundings;
    let policy = &request.policy;
    let pattern = loss::log_pattern(&policy.loss)?;
    let opening = side::Opening { fetcher, policy, search: search(pattern.as_ref()), progress };
    progress.begin("looking for artifacts", 0);
    if request.is_alone() {
        return open_alone(request, opening, training);
    }
    if request.several.has_several() {
        let mut sides = samples::open(request, opening)?;
        // A manifest lists the files of all runs.
        let whole = manifest.map(|_| side::open(&request.baseline, Side::Baseline, opening)).transpose()?;
        hold(&mut sides, whole.as_ref(), (manifest, policy), progress)?;
        return Ok(sides);
    }
    let (baseline, candidate) = rayon::join(
        || side::open(&request.baseline, Side::Baseline, opening),
        || side::open_candidate(&request.candidate, opening, training),
    );
    let reference = &policy.reference.location;
    let open = || side::open_reference(reference.trusted()?, opening);
    let reference = if reference.is_empty() { None } else { Some(open()?) };
    let mut sides =
        Sides { baseline: baseline?, candidate: candidate?, reference, verified: None, samples: None, is_alone: false };
    if !sides.baseline.is_unknown() {
        hold(&mut sides, None, (manifest, policy), progress)?;
    }
    if let Some(check) = request.checks.first().filter(|_| request.checks.len() < Request::ALL_CHECKS.len()) {
        let unread = |file: &Source| UnreadLog::from_file(file, pattern.as_ref(), &[]);
        let explain = |file: &Source| unread(file).filter(|_| *check == CheckId::Loss).map(|log| log.error());
        sides.baseline.expect_file_of(*check, explain);
        sides.candidate.expect_file_of(*check, explain);
    }
    sides.baseline.mark_cut_twins_damaged(&sides.candidate);
    sides.candidate.mark_cut_twins_damaged(&sides.baseline);
    Ok(sides)
}

/// Compares the baseline, or the `whole` location with all of its runs, with its manifest.
fn hold(
    sides: &mut Sides,
    whole: Option<&Inventory>,
    (manifest, policy): (Option<&Manifest>, &Policy),
    progress: &dyn Progress,
) -> Result<()> {
    let baseline = whole.unwrap_or(&sides.baseline);
    let standing = baseline::check::findings(manifest, baseline, &sides.candidate, policy, progress)?;
    sides.verified = manifest.and_then(|manifest| baseline::check::verified(manifest, &standing, policy.profile));
    sides.baseline.location_findings.extend(standing);
    Ok(())
}

/// Opens the candidate's location only; the baseline is an empty side.
fn open_alone(request: &Request, opening: side::Opening<'_>, training: Option<Training>) -> Result<Sides> {
    let candidate = side::open_candidate(&request.candidate, opening, training)?;
    let baseline = side::empty_inventory("", opening)?;
    Ok(Sides { baseline, candidate, reference: None, verified: None, samples: None, is_alone: true })
}
