//! One run judged by itself: rules that every sound run keeps, whatever it trains.
//!
//! Each rule about parameters, gradients, modes and data has its file; those about curves and answers stand with their checks.
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
