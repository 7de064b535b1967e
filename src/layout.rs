//! Parallel layouts: how a run cuts one model over its ranks.
//!
//! Sizes are those of tensor (`tp`), pipeline (`pp`, with `vpp` chunks of the model on each stage), data (`dp`), context (`cp`)
//! and expert (`ep`) parallelism. Ranks are counted with `tp` fastest, then `cp`, `dp`, `pp`; the expert rank is the data rank
//! modulo `ep` (docs/layouts.md).

pub mod names;
pub mod placement;

pub use precision_gate_result::layout::{Coordinates, Layout, LayoutConfidence, LayoutSource, RankOrder};
