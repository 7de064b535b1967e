//! Tensor files and their comparison, against what real tools wrote and measured.

#![allow(
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "a test that panics has failed, and exact numbers are what is tested"
)]

mod checkpoints;
#[path = "../data/mod.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod data;
mod files;
mod hiding;
mod listing;
mod msprobe_cells;
#[path = "../changes/tree.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod tree;
