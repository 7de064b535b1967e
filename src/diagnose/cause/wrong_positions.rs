//! Queries and keys rotated by wrong positions: the fused projection agrees, and the lengths of what attention gets from it do too.

use super::super::context::{DumpContext, Suspect};
use super::super::entry::Cause;
use super::wrong_split::fused_before;
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};

pub(super) const CAUSE: Cause = Cause { in_dump, ..Cause::new("wrong-positions") };

fn in_dump(context: &DumpContext<'_>) -> Option<Diagnosis> {
    let suspect = context.suspect()?;
    let (fused, block) = fused_before(context, &suspect)?;
    let apart = difference_beside_norm(&suspect)?;
    let context_parallel = context.input.candidate.parts.as_deref().map_or(1, |parts| u64::from(parts.layout.cp));
    let evidence = Statement::new("rotated-otherwise")
        .with("op", suspect.culprit.op.as_str())
        .with("fused", fused)
        .with("module", block)
        .with("error", apart);
    let advice = Statement::new("wrong-positions").with("context_parallel", context_parallel);
    Some(Diagnosis::new(&CAUSE, suspect.culprit.tensor.as_str(), Sureness::Likely).because(evidence).advise(advice))
}

/// The largest difference of an input's statistics where its norm agrees: a rotation keeps the norm and changes all else, while other
/// columns of the projection have another norm, and the same values in another order differ in nothing.
fn difference_beside_norm(suspect: &Suspect<'_>) -> Option<f64> {
    let of = |name: &str| suspect.culprit.metrics.get(name).map(|number| number.0.abs());
    let norm = of("norm_difference")?;
    let apart = ["max_difference", "min_difference", "mean_difference"].into_iter().filter_map(of).fold(0.0, f64::max);
    (norm <= suspect.limit() && apart > suspect.limit()).then_some(apart)
}
