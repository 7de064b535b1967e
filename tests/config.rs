//! The config check against real packs: msprobe's rows, the gate's verdicts, damage, secrets.
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may panic, and says what it counted"
)]

mod cases;
mod common;
mod damage;
mod findings;
mod pack;
mod secrets;
mod tables;
mod unpacked;
