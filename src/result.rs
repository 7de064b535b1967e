//! The result of a run: the types of `result.json` and `operations.jsonl`, and of them what only this program does.
//!
//! The types stand in a crate of their own, `precision-gate-result`: a program that reads results needs that alone. Here
//! findings get their names, results their seal, and commands their words.

pub mod advice;
pub mod identity;
pub mod load;
pub mod seal;

pub use precision_gate_result::{
    ArtifactRow, GateResult, Mode, Run, SCHEMA_VERSION, Source, Target, Tool, Verified, confirm, diagnosis, finding,
    history, layout, next_dump, number, observation, operation, outcome, place, run, samples, time, trend, unit,
};

/// Name and version of this program.
pub(crate) fn this_tool() -> Tool {
    Tool { name: env!("CARGO_PKG_NAME").into(), version: env!("CARGO_PKG_VERSION").into() }
}
