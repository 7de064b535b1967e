//! Tests of two samples of runs: whether the numbers of both sides' runs come from the same distribution.
//!
//! A run gives one number. Each test gives a probability, an estimate of the shift with its interval, and the smallest
//! shift that it would have found. No limits and no texts here.

pub mod calibration;
pub mod correction;
pub mod rank_sum;
pub mod rates;
pub mod shift;
pub mod signed_rank;
pub mod student;

mod counts;
mod quantile;

pub use quantile::normal as normal_quantile;
