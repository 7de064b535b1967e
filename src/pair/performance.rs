//! Pairing of profiles: ranks with ranks, and the operators of an NPU with those of a GPU.

use std::collections::BTreeSet;

/// Names of one operator on an NPU and on a GPU.
const FUSED: [(&str, &str); 6] = [
    ("npu::npu_fusion_attention", "aten::_scaled_dot_product_flash_attention"),
    ("npu::npu_fusion_attention_grad", "aten::_scaled_dot_product_flash_attention_backward"),
    ("npu::npu_fusion_attention_v2", "aten::_scaled_dot_product_flash_attention"),
    ("npu::npu_fusion_attention_grad_v2", "aten::_scaled_dot_product_flash_attention_backward"),
    ("npu::npu_apply_adam_w", "aten::_fused_adamw_"),
    ("npu::npu_apply_adam", "aten::_fused_adam_"),
];

/// Ranks of both sides with their partners.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RankPairs {
    /// Rank of the baseline and of the candidate.
    pub both: Vec<(Option<u64>, Option<u64>)>,
    /// Ranks that only the baseline has.
    pub only_baseline: Vec<Option<u64>>,
    /// Ranks that only the candidate has.
    pub only_candidate: Vec<Option<u64>>,
}

/// Pairs ranks by their numbers. Two sides of one process each are a pair where one of them has no rank number.
pub(crate) fn pair_ranks(baseline: &BTreeSet<Option<u64>>, candidate: &BTreeSet<Option<u64>>) -> RankPairs {
    let single = |ranks: &BTreeSet<Option<u64>>| ranks.first().copied().filter(|_| ranks.len() == 1);
    if let (Some(baseline_rank), Some(candidate_rank)) = (single(baseline), single(candidate))
        && (baseline_rank.is_none() || candidate_rank.is_none())
    {
        return RankPairs { both: vec![(baseline_rank, candidate_rank)], ..RankPairs::default() };
    }
    RankPairs {
        both: baseline.intersection(candidate).map(|rank| (*rank, *rank)).collect(),
        only_baseline: baseline.difference(candidate).copied().collect(),
        only_candidate: candidate.difference(baseline).copied().collect(),
    }
}

/// The name under which an operator of either device is paired.
pub(crate) fn across_devices(name: &str) -> &str {
    FUSED.iter().find(|(npu, _)| *npu == name).map_or(name, |(_, gpu)| gpu)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(ranks: &[Option<u64>]) -> BTreeSet<Option<u64>> {
        ranks.iter().copied().collect()
    }

    #[test]
    fn ranks_are_paired_by_their_numbers() {
        let paired = pair_ranks(&set(&[Some(0), Some(1)]), &set(&[Some(1), Some(2)]));
        assert_eq!(paired.both, [(Some(1), Some(1))]);
        assert_eq!((paired.only_baseline, paired.only_candidate), (vec![Some(0)], vec![Some(2)]));
    }

    #[test]
    fn a_single_process_is_a_pair_of_any_single_rank() {
        assert_eq!(pair_ranks(&set(&[None]), &set(&[Some(0)])).both, [(None, Some(0))]);
        assert_eq!(pair_ranks(&set(&[Some(0)]), &set(&[Some(1)])).both, []);
        assert_eq!(pair_ranks(&set(&[None]), &set(&[Some(0), Some(1)])).both, []);
    }

    #[test]
    fn fused_operators_have_partners_on_the_other_device() {
        assert_eq!(across_devices("npu::npu_apply_adam_w"), "aten::_fused_adamw_");
        assert_eq!(across_devices("aten::mm"), "aten::mm");
    }
}
