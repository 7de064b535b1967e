//! Parallel layouts, where they are declared.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::layout::{Layout, LayoutSource, RankOrder};
use crate::verdict::Side;

/// Parallel layouts of both runs; one that is left out is found in what the run left.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct LayoutPolicy {
    /// The trusted run's.
    pub baseline: Option<LayoutSizes>,
    /// That of the run being judged.
    pub candidate: Option<LayoutSizes>,
}

/// Sizes of a layout; one that is left out is 1.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct LayoutSizes {
    /// Tensor parallelism.
    pub tp: NonZeroU32,
    /// Pipeline parallelism: stages.
    pub pp: NonZeroU32,
    /// Chunks of the model on each stage.
    pub vpp: NonZeroU32,
    /// Data parallelism.
    pub dp: NonZeroU32,
    /// Context parallelism.
    pub cp: NonZeroU32,
    /// Expert parallelism.
    pub ep: NonZeroU32,
    /// Whether norms see a part of the sequence each.
    pub sequence_parallel: bool,
    /// Whether parameters are sharded over data-parallel ranks.
    pub fsdp: bool,
    /// Batches of one rank that make one update together.
    pub micro_batches: NonZeroU32,
    /// Order of the sizes in the numbers of ranks, the fastest first.
    pub order: RankOrder,
    /// Order of the samples over data-parallel ranks.
    pub sample_order: SampleOrder,
}

/// Order of the samples over data-parallel ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SampleOrder {
    /// Each rank takes a block, as Megatron does.
    #[default]
    Blocks,
    /// Ranks take turns, as torch does.
    Strided,
}

impl Default for LayoutSizes {
    fn default() -> Self {
        let one = NonZeroU32::MIN;
        Self {
            tp: one,
            pp: one,
            vpp: one,
            dp: one,
            cp: one,
            ep: one,
            sequence_parallel: false,
            fsdp: false,
            micro_batches: one,
            order: RankOrder::default(),
            sample_order: SampleOrder::default(),
        }
    }
}

impl LayoutPolicy {
    /// The layout that is declared for a side.
    pub(crate) fn declared_layout(&self, side: Side) -> Option<Layout> {
        let sizes = match side {
            Side::Baseline => self.baseline.as_ref(),
            Side::Candidate => self.candidate.as_ref(),
        }?;
        Some(Layout {
            tp: sizes.tp.get(),
            pp: sizes.pp.get(),
            vpp: sizes.vpp.get(),
            dp: sizes.dp.get(),
            cp: sizes.cp.get(),
            ep: sizes.ep.get(),
            sp: sizes.sequence_parallel,
            fsdp: sizes.fsdp,
            micro_batches: sizes.micro_batches.get(),
            order: sizes.order,
            ..Layout::single(LayoutSource::Declared)
        })
    }
}
