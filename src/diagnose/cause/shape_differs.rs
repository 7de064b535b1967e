//! Shapes differ, and nothing before explains that: another batch, sequence length or parallel layout.

use super::super::scene::Scene;
use super::super::{Diagnosis, Statement, Sureness};
use super::Cause;

pub(super) const CAUSE: Cause = Cause { in_dump, is_last_resort: true, ..Cause::new("shape-differs") };

fn in_dump(scene: &Scene<'_>) -> Option<Diagnosis> {
    let suspect = scene.suspect().filter(|suspect| suspect.is(&["shape-differs"]))?;
    let sign = Statement::new("first-shape").with("op", suspect.culprit.op.as_str());
    Some(Diagnosis::new(&CAUSE, suspect.culprit.tensor.as_str(), Sureness::Certain).sign(sign))
}
