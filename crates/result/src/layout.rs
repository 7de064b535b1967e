//! Parallel layouts: how a run cuts one model over its ranks.
//!
//! Sizes are those of tensor (`tp`), pipeline (`pp`, with `vpp` chunks of the model on each stage), data (`dp`), context (`cp`)
//! and expert (`ep`) parallelism. Ranks are counted with `tp` fastest, then `cp`, `dp`, `pp`; the expert rank is the data rank
//! modulo `ep` (docs/layouts.md).

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The layout of one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Layout {
    /// Ranks that share each projection.
    pub tp: u32,
    /// Stages that the layers are spread over.
    pub pp: u32,
    /// Chunks of the model on each stage.
    pub vpp: u32,
    /// Ranks with different samples.
    pub dp: u32,
    /// Ranks that share each sequence.
    pub cp: u32,
    /// Ranks that share the experts.
    pub ep: u32,
    /// Whether norms see a part of the sequence each.
    pub sp: bool,
    /// Whether parameters are sharded over data-parallel ranks and gathered where they are used.
    pub fsdp: bool,
    /// Batches of one rank that make one update together.
    pub micro_batches: u32,
    /// Source that the layout is known from.
    pub source: LayoutSource,
    /// Certainty of it.
    pub confidence: LayoutConfidence,
    /// Order of the sizes in the numbers of ranks; no part of a result.
    #[serde(skip)]
    pub order: RankOrder,
}

/// Order of the sizes in the numbers of ranks, the fastest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum RankOrder {
    /// Tensor, context, data, pipeline.
    #[default]
    #[serde(rename = "tp-cp-dp-pp")]
    DataFirst,
    /// Tensor, context, pipeline, data.
    #[serde(rename = "tp-cp-pp-dp")]
    StagesFirst,
}

/// Source that a layout is known from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LayoutSource {
    /// The policy.
    Declared,
    /// Arguments of the run: a launch script or a file of arguments beside the artifacts, or pickled ones in a checkpoint.
    Arguments,
    /// Names of files and their metadata.
    Files,
    /// Signs in the recorded values.
    Inferred,
}

/// Certainty of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LayoutConfidence {
    /// Several layouts fit.
    Possible,
    /// One sign says it.
    Likely,
    /// Declared, or two signs say it.
    Certain,
}

/// Place of a rank in a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Coordinates {
    /// Stage.
    pub pp: u32,
    /// Data rank.
    pub dp: u32,
    /// Part of the sequence.
    pub cp: u32,
    /// Part of each projection.
    pub tp: u32,
}

impl Layout {
    /// One rank that holds everything.
    pub fn single(source: LayoutSource) -> Self {
        Self {
            tp: 1,
            pp: 1,
            vpp: 1,
            dp: 1,
            cp: 1,
            ep: 1,
            sp: false,
            fsdp: false,
            micro_batches: 1,
            source,
            confidence: LayoutConfidence::Certain,
            order: RankOrder::default(),
        }
    }

    /// Number of ranks.
    pub fn world(&self) -> u64 {
        [self.tp, self.cp, self.dp, self.pp].iter().map(|size| u64::from(*size)).fold(1, u64::saturating_mul)
    }

    /// Whether both cut the model alike, wherever that is known from.
    pub fn cuts_as(&self, other: &Self) -> bool {
        let cut =
            |layout: &Self| (layout.tp, layout.pp, layout.vpp, layout.dp, layout.cp, layout.ep, layout.sp, layout.fsdp);
        cut(self) == cut(other) && self.micro_batches == other.micro_batches
    }

    /// The place of a rank.
    pub fn place(&self, rank: u64) -> Coordinates {
        let (mut rest, size) = (rank, |size: u32| u64::from(size.max(1)));
        let mut next = |of: u32| {
            let own = rest % size(of);
            rest /= size(of);
            u32::try_from(own).unwrap_or_default()
        };
        let (tp, cp) = (next(self.tp), next(self.cp));
        match self.order {
            RankOrder::DataFirst => {
                let dp = next(self.dp);
                Coordinates { pp: next(self.pp), dp, cp, tp }
            }
            RankOrder::StagesFirst => {
                let pp = next(self.pp);
                Coordinates { pp, dp: next(self.dp), cp, tp }
            }
        }
    }

    /// The chunk of the whole model that is chunk `local` of the ranks of a stage.
    pub fn chunk(&self, local: u32, place: Coordinates) -> u32 {
        local.saturating_mul(self.pp).saturating_add(place.pp)
    }

    /// Part of the experts that a rank holds.
    pub fn expert_part(&self, place: Coordinates) -> u32 {
        place.dp % self.ep.max(1)
    }

    /// The layer of the whole model that is `layer` of chunk `chunk` on stage `stage`, of `local` layers in each chunk.
    pub fn layer(&self, stage: u32, chunk: u32, layer: u64, local: u64) -> u64 {
        u64::from(chunk).saturating_mul(u64::from(self.pp)).saturating_add(u64::from(stage)).saturating_mul(local)
            + layer
    }
}

impl fmt::Display for Layout {
    /// Writes the sizes that are not 1, as people do: `TP 2, PP 2, SP`; of one rank `1 rank`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes = [
            ("TP", self.tp),
            ("PP", self.pp),
            ("VPP", self.vpp),
            ("CP", self.cp),
            ("DP", self.dp),
            ("EP", self.ep),
            ("micro-batches", self.micro_batches),
        ];
        let mut parts: Vec<String> =
            sizes.iter().filter(|(_, size)| *size > 1).map(|(name, size)| format!("{name} {size}")).collect();
        parts.extend(self.sp.then(|| "SP".to_owned()));
        parts.extend(self.fsdp.then(|| "FSDP".to_owned()));
        if parts.is_empty() { formatter.write_str("1 rank") } else { formatter.write_str(&parts.join(", ")) }
    }
}

/// The layouts of both runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Layouts {
    /// That of the trusted run.
    pub baseline: Layout,
    /// That of the run being judged.
    pub candidate: Layout,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_placed_with_tensor_parallelism_fastest() {
        let layout = Layout { tp: 2, cp: 2, dp: 2, pp: 2, ep: 2, ..Layout::single(LayoutSource::Declared) };
        assert_eq!(layout.world(), 16);
        let seen: std::collections::BTreeSet<_> = (0..16).map(|rank| layout.place(rank)).collect();
        assert_eq!(seen.len(), 16);
        assert_eq!(layout.place(0b1101), Coordinates { pp: 1, dp: 1, cp: 0, tp: 1 });
        assert_eq!(layout.expert_part(layout.place(0b0100)), 1);
    }

    #[test]
    fn layers_of_chunks_are_counted_over_stages() {
        let layout = Layout { pp: 2, vpp: 2, ..Layout::single(LayoutSource::Declared) };
        let layers: Vec<u64> =
            [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(stage, chunk)| layout.layer(stage, chunk, 0, 1)).into();
        assert_eq!(layers, [0, 1, 2, 3]);
    }
}
