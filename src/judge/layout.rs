//! Parallel layouts of both sides: whether they are known, and whether the recorded ranks and values fit them.

use std::collections::{BTreeMap, BTreeSet};

use super::rule::rules;
use super::run::rules::REPLICAS_DIFFER;
use crate::layout::Layout;
use crate::pair::layout::LayoutContradiction;
use crate::read::dump::{AssembledParts, COPIES, DifferingCopies, Operations};
use crate::result::finding::Finding;
use crate::result::identity::own_finding;
use crate::result::number::Number;
use crate::result::unit::{Culprit, CulpritKind, unit_place};
use crate::verdict::{PerSide, Side};

/// Most missing ranks that a finding names.
const MOST_RANKS: usize = 16;

rules! {
    CheckId::Dump;

    /// Both sides cut the model otherwise, and are put together before they are compared.
    DIFFERS = "layout-differs", Info;
    /// A layout that nothing declares was found in what the run recorded.
    INFERRED = "layout-inferred", Info;
    /// Both sides hold other parts of the same parameters, and nothing tells how they were cut.
    UNCERTAIN = "layout-uncertain", Incomplete;
    /// Ranks that the layout needs are not there.
    RANKS_MISSING = "layout-ranks-missing", Incomplete;
    /// The records are of another layout than the one that is declared.
    CONTRADICTED = "layout-contradicted", Incomplete;
    /// Values of ranks that hold parts cannot be put together.
    NOT_MERGEABLE = "layout-not-mergeable", Incomplete;
}

/// The finding that the two sides cut the model differently.
pub(crate) fn layout_difference(layouts: &PerSide<Layout>) -> Finding {
    let finding = Finding::new(&DIFFERS, "layout").with("baseline", layouts.baseline.to_string());
    finding.with("candidate", layouts.candidate.to_string())
}

/// The finding that a size of the layout contradicts the declared one.
pub(crate) fn layout_contradiction(contradiction: &LayoutContradiction) -> Finding {
    let LayoutContradiction { side, size, declared, found } = *contradiction;
    let finding = Finding::new(&CONTRADICTED, "layout").with("side", side.as_str()).with("size", size);
    finding.with("declared", declared).with("found", found)
}

/// The finding that the ranks `there` are not those of the layout; `None` where they are.
pub(crate) fn ranks_mismatch(side: Side, layout: &Layout, there: &BTreeSet<u64>) -> Option<Finding> {
    let (world, found) = (layout.world(), there.len());
    let finding = |rule| Finding::new(rule, "layout").with("side", side.as_str()).with("declared", world);
    if there.iter().any(|rank| *rank >= world) {
        return Some(finding(&CONTRADICTED).with("size", "ranks").with("found", found));
    }
    let missing: Vec<String> =
        (0..world).filter(|rank| !there.contains(rank)).take(MOST_RANKS).map(|rank| rank.to_string()).collect();
    (!missing.is_empty()).then(|| finding(&RANKS_MISSING).with("found", found).with("ranks", missing))
}

/// The finding about the first value of the model whose copies differ between ranks; `None` if none do.
pub(crate) fn differing_copies(parts: &AssembledParts, side: Side, step: u64) -> Option<Finding> {
    let differing = parts.differing.first()?;
    let ranks: Vec<String> = differing.ranks.iter().map(u64::to_string).collect();
    let finding = Finding::new(&REPLICAS_DIFFER, differing.row.as_str())
        .with("side", side.as_str())
        .with("unit", unit_place(step, None));
    let finding = finding.with("ranks", ranks).with("error", differing.error).with("of_layout", 1_u64);
    Some(if differing.is_tied { finding.with("tied", 1_u64) } else { finding })
}

/// The culprit of a step whose values agree with the baseline's, but whose copies differ between ranks.
pub(crate) fn copies_culprit(differing: &DifferingCopies, operations: &Operations, step: u64) -> Culprit {
    let names = operations.iter().map(|operation| operation.name);
    let metrics = [("error", differing.error), ("limit", COPIES)];
    let metrics: BTreeMap<String, Number> =
        metrics.into_iter().map(|(name, value)| (name.to_owned(), Number(value))).collect();
    let mut culprit = Culprit {
        order: names.take_while(|name| *name != differing.operation).count() as u64,
        step,
        op: differing.operation.clone(),
        tensor: differing.row.clone(),
        metrics: metrics.into(),
        ..Culprit::new(REPLICAS_DIFFER.check, CulpritKind::Tensor(differing.kind))
    };
    blame_copies(&mut culprit);
    culprit
}

/// Makes a culprit stand for copies that differ.
pub(crate) fn blame_copies(culprit: &mut Culprit) {
    REPLICAS_DIFFER.code.clone_into(&mut culprit.code);
    culprit.finding = own_finding(culprit);
}
