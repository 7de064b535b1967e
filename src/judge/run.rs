//! Invariants of a single run: rules that every sound run keeps, whatever it trains.
//!
//! Each rule about parameters, gradients, modes and data has its own file; those about curves and answers are with their checks.
//! `judge/invariants.rs` lists all of them.

pub mod checkpoints;
pub mod data;
pub mod gradients;
pub mod modes;
pub mod motion;
pub mod replicas;
pub mod rules;
pub mod sums;
pub mod watch;
