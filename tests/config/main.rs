//! The config check against real packs: msprobe's rows, the gate's verdicts, damage, secrets.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test may panic")]

mod cases;
mod common;
mod damage;
mod pack;
mod secrets;
mod tables;
