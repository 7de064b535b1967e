//! Dumps with known truth: every cell of the tables the real tool wrote, minimal cases, and damage.

#![allow(
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    clippy::float_cmp,
    clippy::print_stdout,
    reason = "a test that panics has failed, and element counts are small"
)]

mod arguments;
mod build;
use crate::changes;
mod culprit;
mod damage;
mod findings;
mod hiding;
mod limits;
mod location;
mod names;
mod noise;
mod parity;
mod parts;
mod quick;
mod real;
#[allow(dead_code, reason = "shared with an example")]
pub(crate) mod real_case;
mod reference;
mod section7;
mod support;
