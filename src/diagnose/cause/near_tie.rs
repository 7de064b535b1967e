//! A near tie: a choice (an expert, the largest element, a comparison) falls otherwise where its inputs tie.

use super::super::scene::Scene;
use super::super::{Diagnosis, Statement, Sureness};
use super::Cause;

pub(super) const CAUSE: Cause = Cause { in_dump, ..Cause::new("near-tie") };

fn in_dump(scene: &Scene<'_>) -> Option<Diagnosis> {
    let suspect = scene.suspect().filter(|suspect| suspect.is(&["near-tie"]))?;
    let received = suspect.culprit.metrics.get("received").map_or(0.0, |number| number.0);
    let sign = Statement::new("choice-differs").with("op", suspect.culprit.op.as_str()).with("received", received);
    let share = suspect.culprit.metrics.get("unequal_share").map(|number| number.0);
    let share = share.map(|share| Statement::new("choices-moved").with("share", share));
    Some(Diagnosis::new(&CAUSE, suspect.culprit.tensor.as_str(), Sureness::Certain).sign(sign).signs(share))
}
