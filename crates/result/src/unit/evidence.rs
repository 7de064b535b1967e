//! Account of everything that was there on either side.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::verdict::Side;

/// The account of a unit: how many places it offered, and what became of each.
///
/// A place is what a check pairs: a step of a curve, a value of a dump, a parameter, a row, a question, a setting. Reading and
/// pairing count; the policy decides what the counts lead to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Evidence {
    /// Places of things that both sides have, named by either side. Coverage is what was compared of them.
    #[serde(skip_serializing_if = "is_zero")]
    pub offered: u64,
    /// Compared by a rule that can fail, both values finite. A difference counts as compared.
    #[serde(skip_serializing_if = "is_zero")]
    pub compared: u64,
    /// Of these, equal without saying anything: all zero, one number throughout, or no element, on both sides.
    #[serde(skip_serializing_if = "is_zero")]
    pub equal_trivially: u64,
    /// Not judged, because it follows from a waived defect.
    #[serde(skip_serializing_if = "is_zero")]
    pub behind_waived: u64,
    /// Compared, and shown only: no rule judges it.
    #[serde(skip_serializing_if = "is_zero")]
    pub shown_only: u64,
    /// There on both sides and not compared, because the two cannot be compared.
    #[serde(skip_serializing_if = "is_zero")]
    pub not_compared: u64,
    /// Seen, and of a form that no reader knows.
    #[serde(skip_serializing_if = "is_zero")]
    pub unread: u64,
    /// Damaged, or without a value, on a side that has it.
    #[serde(skip_serializing_if = "is_zero", alias = "unreadable")]
    pub damaged: u64,
    /// Places with two values that differ on one side.
    #[serde(skip_serializing_if = "is_zero")]
    pub contradicting: u64,
    /// There on one side only: on the baseline's, and on the candidate's.
    #[serde(skip_serializing_if = "is_none_one_sided", deserialize_with = "sides")]
    pub one_sided: [u64; 2],
    /// Left out because the policy or a flag asked for it.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: u64,
    /// Ways of reading or pairing that are less than the intended one, by name: `position`, `other-step`, `other-rank`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<String>,
    /// Some places by what became of them: `damaged`, `unread`, `contradicting`, `left-out` or a fallback's name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub examples: BTreeMap<String, Vec<String>>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(super) fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn is_none_one_sided(counts: &[u64; 2]) -> bool {
    *counts == [0, 0]
}

/// Both counts; results of versions before the third have their sum, which is told as the candidate's.
fn sides<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[u64; 2], D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Sides([u64; 2]),
        Sum(u64),
    }
    Written::deserialize(deserializer).map(|written| match written {
        Written::Sides(sides) => sides,
        Written::Sum(sum) => [0, sum],
    })
}

impl Evidence {
    /// Examples that are kept of a kind.
    pub const EXAMPLES: usize = 3;

    /// All that was there.
    pub fn total(&self) -> u64 {
        let [baseline, candidate] = self.one_sided;
        let states = [
            self.compared,
            self.shown_only,
            self.not_compared,
            self.unread,
            self.damaged,
            baseline,
            candidate,
            self.left_out,
        ];
        states.into_iter().fold(0, u64::saturating_add)
    }

    /// Places that one side alone has.
    pub fn unpaired_count(&self) -> u64 {
        self.one_sided.iter().copied().fold(0, u64::saturating_add)
    }

    /// Evidence that should have been compared and was not: not comparable, one-sided, unread or damaged.
    pub fn unseen(&self) -> u64 {
        [self.not_compared, self.unpaired_count(), self.unread, self.damaged].into_iter().fold(0, u64::saturating_add)
    }

    /// Places whose agreement or difference says something.
    pub fn telling(&self) -> u64 {
        self.compared.saturating_sub(self.equal_trivially)
    }

    /// Whether nothing was counted, as in results of versions that did not count.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Counts places that only `side` has.
    pub fn add_alone(&mut self, side: Side, places: u64) {
        let [baseline, candidate] = &mut self.one_sided;
        let count = if side == Side::Baseline { baseline } else { candidate };
        *count = count.saturating_add(places);
    }

    /// Names a place of a `kind`; the first few are kept.
    pub fn example(&mut self, kind: &str, place: impl Into<String>) {
        let kept = self.examples.entry(kind.to_owned()).or_default();
        let place = place.into();
        if kept.len() < Self::EXAMPLES && !kept.contains(&place) {
            kept.push(place);
        }
    }

    /// Notes a way of reading or pairing that is less than the intended one, with a `place` where it was taken.
    pub fn fall_back(&mut self, way: &str, place: impl Into<String>) {
        if !self.fallbacks.iter().any(|known| known == way) {
            self.fallbacks.push(way.to_owned());
        }
        self.example(way, place);
    }
}

#[cfg(test)]
mod tests {
    use super::Evidence;

    #[test]
    fn states_add_up_and_empty_ones_are_not_written() {
        let evidence = Evidence { compared: 5, one_sided: [0, 2], damaged: 1, ..Evidence::default() };
        assert_eq!((evidence.total(), evidence.unseen()), (8, 3));
        let text = serde_json::to_string(&evidence).expect("counts are JSON");
        assert_eq!(text, r#"{"compared":5,"damaged":1,"one_sided":[0,2]}"#);
        assert_eq!(serde_json::from_str::<Evidence>(&text).expect("what was written is read"), evidence);
        let before = r#"{"compared":5,"one_sided":2,"unreadable":1}"#;
        assert_eq!(serde_json::from_str::<Evidence>(before).expect("the second version is read"), evidence);
        assert!(Evidence::default().is_empty());
    }

    #[test]
    fn counts_of_a_forged_result_do_not_overflow() {
        let evidence = Evidence { one_sided: [u64::MAX; 2], damaged: u64::MAX, ..Evidence::default() };
        assert_eq!((evidence.total(), evidence.unseen()), (u64::MAX, u64::MAX));
    }

    #[test]
    fn few_examples_are_kept_of_a_kind() {
        let mut evidence = Evidence::default();
        (0..9).for_each(|nth| evidence.fall_back("position", format!("line {}", nth / 2)));
        assert_eq!(evidence.fallbacks, ["position"]);
        assert_eq!(evidence.examples["position"], ["line 0", "line 1", "line 2"]);
    }
}
