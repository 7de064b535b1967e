//! Tensor files and their comparison, against what real tools wrote and measured.

#![allow(
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "a test that panics has failed, and exact numbers are what is tested"
)]

mod checkpoints;
mod files;
mod hiding;
mod listing;
mod msprobe_cells;
use crate::changes::tree;
