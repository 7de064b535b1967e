//! The curves of two runs, paired as the policy says.

use crate::error::Result;
use crate::pair::curve::{CurvePairing, pair_curves};
use crate::policy::loss::{Kind, LossPolicy};
use crate::read::curve::CurveFile;

/// The curves of two runs, of the kind that the policy declares.
pub(super) fn paired_curves<'a>(
    baseline: &'a [CurveFile],
    candidate: &'a [CurveFile],
    policy: &LossPolicy,
) -> Result<CurvePairing<'a>> {
    let pairing = pair_curves(baseline, candidate)?;
    Ok(match policy.kind {
        Kind::Auto => pairing,
        Kind::Rl => pairing.with_declared_kind(true),
        Kind::Supervised => pairing.with_declared_kind(false),
    })
}
