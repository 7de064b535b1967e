//! Dumps with known truth: every cell of the tables the real tool wrote, minimal cases, and damage.

#![allow(
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    clippy::float_cmp,
    clippy::print_stdout,
    reason = "a test that panics has failed, and element counts are small"
)]

mod build;
mod culprit;
mod damage;
mod parity;
mod parts;
mod quick;
mod section7;
mod support;
