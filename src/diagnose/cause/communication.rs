//! Communication: every rank's own operations agree, and the first difference is what a collective gives.

use super::super::scene::Scene;
use super::super::{Diagnosis, Statement, Sureness};
use super::Cause;

pub(super) const CAUSE: Cause = Cause {
    in_dump,
    supported_by: &["determinism-collectives", "env-device-count-differs", "env-pair-differs"],
    links: &[super::RANDOMNESS_NOTES],
    ..Cause::new("communication")
};

fn in_dump(scene: &Scene<'_>) -> Option<Diagnosis> {
    let suspect = scene.suspect().filter(|suspect| suspect.culprit.op.starts_with("Distributed."))?;
    if !suspect.is_made() || suspect.is(&["argument-differs"]) {
        return None;
    }
    let sign = Statement::new("collective-differs")
        .with("op", suspect.culprit.op.as_str())
        .with("ranks", scene.peers.len() + 1);
    // With the other ranks' dumps at hand, what they sent is known to agree too.
    let sureness = if scene.peers.is_empty() { Sureness::Possible } else { Sureness::Certain };
    Some(Diagnosis::new(&CAUSE, suspect.culprit.tensor.as_str(), sureness).sign(sign))
}
