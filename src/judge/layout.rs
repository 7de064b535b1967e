//! Parallel layouts of both sides: whether they are known, and whether what is there fits them.

use std::collections::BTreeMap;

use super::rule::rules;
use super::run::rules::REPLICAS_DIFFER;
use crate::read::dump::{COPIES, Differing, Operations, Parts};
use crate::result::finding::Finding;
use crate::result::number::Number;
use crate::result::unit::{Culprit, CulpritKind, unit_place};
use crate::verdict::Side;

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

/// The first value of the model whose copies differ between ranks.
pub fn of_copies(parts: &Parts, side: Side, step: u64) -> Option<Finding> {
    let differing = parts.differing.first()?;
    let ranks: Vec<String> = differing.ranks.iter().map(u64::to_string).collect();
    let finding = Finding::new(&REPLICAS_DIFFER, differing.row.as_str())
        .with("side", side.as_str())
        .with("unit", unit_place(step, None));
    let finding = finding.with("ranks", ranks).with("error", differing.error).with("of_layout", 1_u64);
    Some(if differing.is_tied { finding.with("tied", 1_u64) } else { finding })
}

/// The culprit of a step whose values agree with the baseline's, and whose copies part.
pub fn culprit(differing: &Differing, operations: &Operations, step: u64) -> Culprit {
    let names = operations.iter().map(|operation| operation.name);
    let metrics = [("error", differing.error), ("limit", COPIES)];
    let metrics: BTreeMap<String, Number> =
        metrics.into_iter().map(|(name, value)| (name.to_owned(), Number(value))).collect();
    let mut culprit = Culprit {
        check: REPLICAS_DIFFER.check,
        finding: String::new(),
        order: names.take_while(|name| *name != differing.operation).count() as u64,
        step,
        rank: None,
        op: differing.operation.clone(),
        tensor: differing.row.clone(),
        kind: CulpritKind::Tensor(differing.kind),
        side: None,
        code: String::new(),
        metrics: metrics.into(),
        reference: None,
        stack: Vec::new(),
        spread: 0,
        location: None,
        baseline: None,
        candidate: None,
        mask: String::new(),
        layout: None,
        monitor: None,
        operator: None,
        performance: None,
    };
    blame_copies(&mut culprit);
    culprit
}

/// Makes a culprit stand for copies that differ.
pub fn blame_copies(culprit: &mut Culprit) {
    REPLICAS_DIFFER.code.clone_into(&mut culprit.code);
    culprit.finding = culprit.own_finding();
}
