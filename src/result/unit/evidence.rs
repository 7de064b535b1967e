//! Account of everything that was there on either side.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The states that the evidence of a unit ended in, and how much of it ended in each.
///
/// Evidence is a step of a curve, a value of a dump, a parameter of a checkpoint. One that both sides have counts once;
/// it is in exactly one state, so the states add up to all that was there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Evidence {
    /// Compared, and judged by the unit's rules.
    #[serde(skip_serializing_if = "is_zero")]
    pub compared: u64,
    /// Compared, and shown only: no rule judges it.
    #[serde(skip_serializing_if = "is_zero")]
    pub shown_only: u64,
    /// There on both sides and not compared, because the two cannot be compared.
    #[serde(skip_serializing_if = "is_zero")]
    pub not_compared: u64,
    /// There on one side only.
    #[serde(skip_serializing_if = "is_zero")]
    pub one_sided: u64,
    /// Damaged, or without a value, on a side that has it.
    #[serde(skip_serializing_if = "is_zero")]
    pub unreadable: u64,
    /// Left out because the policy or a flag asked for it.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Evidence {
    /// All that was there.
    pub fn total(&self) -> u64 {
        let states =
            [self.compared, self.shown_only, self.not_compared, self.one_sided, self.unreadable, self.left_out];
        states.into_iter().fold(0, u64::saturating_add)
    }

    /// Evidence that should have been compared and was not: not comparable, one-sided or unreadable.
    pub fn unseen(&self) -> u64 {
        self.not_compared.saturating_add(self.one_sided).saturating_add(self.unreadable)
    }

    /// Whether nothing was counted, as in results of versions that did not count.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::Evidence;

    #[test]
    fn states_add_up_and_empty_ones_are_not_written() {
        let evidence = Evidence { compared: 5, one_sided: 2, unreadable: 1, ..Evidence::default() };
        assert_eq!((evidence.total(), evidence.unseen()), (8, 3));
        let text = serde_json::to_string(&evidence).expect("counts are JSON");
        assert_eq!(text, r#"{"compared":5,"one_sided":2,"unreadable":1}"#);
        assert_eq!(serde_json::from_str::<Evidence>(&text).expect("what was written is read"), evidence);
        assert!(Evidence::default().is_empty());
    }

    #[test]
    fn counts_of_a_forged_result_do_not_overflow() {
        let evidence = Evidence { one_sided: u64::MAX, unreadable: u64::MAX, ..Evidence::default() };
        assert_eq!((evidence.total(), evidence.unseen()), (u64::MAX, u64::MAX));
    }
}
