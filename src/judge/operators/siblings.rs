//! Other rows of a table that bear on a finding: the other direction of its operator, and operators of the same kind.

use std::collections::BTreeMap;

use super::output::{JudgedRow, RowEvidence};
use super::rules::operator;
use crate::hash::FastMap;
use crate::kind::Direction;
use crate::read::operators::OperatorStatus;
use crate::result::finding::Finding;

/// Siblings that a finding names.
const MOST: usize = 3;

/// The worst status of an operator whose outputs were compared: forward, backward, and of rows without direction.
type Worst = [Option<OperatorStatus>; 3];

/// The operators of a table whose outputs were compared.
pub(super) struct ComparedOperators<'a> {
    /// Whether rows of two sides were compared: a tool's word about one device alone says no more than its row.
    has_two_sides: bool,
    /// Operators by what they compute, in the order of their names.
    of_kind: FastMap<&'a str, BTreeMap<&'a str, Worst>>,
}

impl<'a> ComparedOperators<'a> {
    pub(super) fn of(rows: &'a [JudgedRow]) -> Self {
        let mut of_kind: FastMap<&str, BTreeMap<&str, Worst>> = FastMap::default();
        for row in rows.iter().filter(|row| row.evidence == RowEvidence::Compared) {
            let [forward, backward, neither] =
                of_kind.entry(kind_of(&row.api)).or_default().entry(&row.api).or_default();
            let worst = match row.direction {
                Some(Direction::Forward) => forward,
                Some(Direction::Backward) => backward,
                None => neither,
            };
            *worst = (*worst).max(Some(row.status));
        }
        Self { has_two_sides: rows.iter().any(|row| row.baseline.is_some()), of_kind }
    }

    /// Adds to a finding what they say about it.
    pub(super) fn told(&self, finding: Finding) -> Finding {
        self.with_siblings(self.with_failing(finding))
    }

    /// Adds whether forward, backward or both of a finding's operator are wrong, where both were judged.
    fn with_failing(&self, finding: Finding) -> Finding {
        let own = operator(&finding);
        let worst =
            self.of_kind.get(kind_of(own)).and_then(|operators| operators.get(own)).filter(|_| self.has_two_sides);
        let Some([Some(forward), Some(backward), _]) = worst else { return finding };
        let failing = match (*forward == OperatorStatus::Error, *backward == OperatorStatus::Error) {
            (true, true) => "both",
            (true, false) => "forward",
            (false, true) => "backward",
            (false, false) => return finding,
        };
        finding.with("failing", failing)
    }

    /// Adds operators of the same kind whose outputs were judged and are right: what all of them share, such as an autocast, is no
    /// reason.
    fn with_siblings(&self, finding: Finding) -> Finding {
        let own = operator(&finding);
        let Some(operators) = self.of_kind.get(kind_of(own)) else { return finding };
        let siblings = || operators.iter().filter(|(api, _)| **api != own);
        let is_right = |worst: &Worst| worst.iter().max().is_none_or(|worst| *worst < Some(OperatorStatus::Warning));
        if siblings().any(|(_, worst)| !is_right(worst)) {
            return finding;
        }
        let names: Vec<String> = siblings().take(MOST).map(|(api, _)| (*api).to_owned()).collect();
        if names.is_empty() { finding } else { finding.with("siblings", names) }
    }
}

/// The function of an operator, or the product that it is one of.
fn kind_of(api: &str) -> &str {
    const PRODUCTS: [&str; 9] = ["linear", "matmul", "__matmul__", "mm", "bmm", "addmm", "baddbmm", "einsum", "conv2d"];
    let function = api.split('.').nth(1).unwrap_or(api);
    if PRODUCTS.contains(&function) { "product" } else { function }
}
