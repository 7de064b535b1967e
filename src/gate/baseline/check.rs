//! Compares a run's baseline with its manifest: whether the files are the recorded ones, and whether they are still current.

use super::manifest::{Approval, BaselineOrigin, Manifest, changed};
use super::{facts, verify};
use crate::error::Result;
use crate::fetch::Digest;
use crate::fetch::progress::Progress;
use crate::gate::discover::Inventory;
use crate::judge::location as rules;
use crate::policy::Policy;
use crate::policy::location::PolicyLocation;
use crate::policy::value::Date;
use crate::result::Verified;
use crate::result::finding::Finding;
use crate::verdict::Profile;

/// Changes that one finding lists.
const MOST: usize = 8;

/// All findings about a run's baseline; `manifest` is the baseline's, where the run named it by one.
///
/// The release profile reads every byte of the baseline again; other profiles compare the digest of what is judged.
///
/// # Errors
/// Where files of the repository that the policy names cannot be read.
pub fn findings(
    manifest: Option<&Manifest>,
    baseline: &Inventory,
    candidate: &Inventory,
    policy: &Policy,
    progress: &dyn Progress,
) -> Result<Vec<Finding>> {
    let Some(manifest) = manifest else { return Ok(without_manifest(baseline, policy)) };
    let mut findings: Vec<Finding> = changed_bytes(manifest, baseline, policy, progress).into_iter().collect();
    findings.extend(age(manifest, policy));
    let now = facts::recorded_facts(candidate);
    let root = policy.source_root.as_ref().map(PolicyLocation::trusted).transpose()?;
    let root = root.map_or(std::path::Path::new("."), AsRef::as_ref);
    let sources = if manifest.recorded.sources.is_empty() {
        std::collections::BTreeMap::new()
    } else {
        facts::source_digests(root, &policy.baselines.sources)?
    };
    findings.extend(moved(&manifest.recorded, &now, &sources, baseline));
    Ok(findings)
}

/// Proof that the baseline fits its manifest; `None` where `standing` holds a finding that denies it. `standing` are the
/// findings before any waiver was applied, because a waiver does not make a baseline a verified one.
pub fn verified(manifest: &Manifest, standing: &[Finding], profile: Profile) -> Option<Verified> {
    if standing.iter().any(|finding| finding.is(&rules::CHANGED)) {
        return None;
    }
    let BaselineOrigin { commit, image, hardware, versions, .. } = manifest.recorded.clone();
    let Approval { by, reason, date, .. } = manifest.approval.clone();
    Some(Verified {
        manifest: manifest.name.clone(),
        digest: Digest::of(manifest.text().ok()?.as_bytes()).to_string(),
        every_byte: profile == Profile::Release,
        approved_by: by,
        approved_on: date,
        reason,
        commit,
        image,
        hardware,
        versions,
    })
}

/// The finding of the release profile, which accepts no baseline without recorded digests.
fn without_manifest(baseline: &Inventory, policy: &Policy) -> Vec<Finding> {
    if policy.profile != Profile::Release {
        return Vec::new();
    }
    vec![Finding::new(&rules::UNVERIFIED, baseline.location()).with("reason", "the run names it only by its location")]
}

fn changed_bytes(
    manifest: &Manifest,
    baseline: &Inventory,
    policy: &Policy,
    progress: &dyn Progress,
) -> Option<Finding> {
    let reason = if policy.profile == Profile::Release {
        match verify::file_facts(baseline.all_files(), progress) {
            Ok(found) => verify::differences(manifest, &found).into_iter().next(),
            Err(error) => Some(error.to_string()),
        }
    } else {
        let digest = baseline.digest();
        (digest != manifest.digest).then(|| format!("it has {digest}, recorded {}", manifest.digest))
    };
    let finding = Finding::new(&rules::CHANGED, baseline.location()).with("manifest", manifest.name.as_str());
    reason.map(|reason| finding.with("reason", reason))
}

fn age(manifest: &Manifest, policy: &Policy) -> Option<Finding> {
    let limit = policy.baselines.max_age_days?;
    let recorded = Date::try_from(manifest.approval.date.clone()).ok()?;
    let age = u64::try_from(policy.today.days_since(recorded)).unwrap_or(0);
    let finding = Finding::new(&rules::OLD, &manifest.name).with("age", age).with("limit", u64::from(limit));
    (age > u64::from(limit)).then_some(finding)
}

/// Findings about changes since the baseline was recorded. Package versions are not compared here: they differ between the
/// two platforms anyway, and the config check judges them.
fn moved(
    recorded: &BaselineOrigin,
    now: &BaselineOrigin,
    sources: &std::collections::BTreeMap<String, Digest>,
    baseline: &Inventory,
) -> Vec<Finding> {
    let shared = |map: &std::collections::BTreeMap<String, String>| {
        let both = map.iter().filter(|(name, _)| recorded.inputs.contains_key(*name) && now.inputs.contains_key(*name));
        both.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    let mut parts = vec![
        ("code or configuration", changed("source", &recorded.sources, sources)),
        ("data or weights", changed("input", &shared(&recorded.inputs), &shared(&now.inputs))),
    ];
    if !recorded.seed.is_empty() && !now.seed.is_empty() && recorded.seed != now.seed {
        parts.push(("the seed", vec![format!("{} -> {}", recorded.seed, now.seed)]));
    }
    parts
        .into_iter()
        .filter(|(_, changes)| !changes.is_empty())
        .map(|(what, mut changes)| {
            let more = changes.len().saturating_sub(MOST);
            changes.truncate(MOST);
            if more > 0 {
                changes.push(format!("{more} more"));
            }
            Finding::new(&rules::MOVED, baseline.location()).with("what", what).with("changes", changes)
        })
        .collect()
}
