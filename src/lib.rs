//! precision-gate: does a model moved from GPU to Ascend NPU still compute the same numbers, and if not, where
//! did it first go wrong, and why?
//!
//! The pipeline, one folder per stage, each importing only those before it:
//!
//! ```text
//! fetch  →  read  →  pair  →  compare  →  judge  →  diagnose  →  history  →  report  →  signoff  →  publish
//! bytes     records   pairs    numbers     verdicts   causes       runs        documents   release    messages
//! ```
//!
//! The types of [`result`] hold all that is found; they are those of the crate `precision-gate-result`, which a program that
//! reads results needs alone.
//!
//! Beside the pipeline stand [`policy`] (what decides a verdict), [`msprobe`] (what msprobe 26.2.0 says of the same
//! artifacts), [`redact`] (what looks secret reaches no output), [`collect`] (config packs of this machine),
//! [`output`] (where every file is written), [`reproduce`] (the culprit of a written result as a script that runs alone) and
//! [`gate`], which runs the stages top to bottom.

#[doc(inline)]
pub use precision_gate_result::{error, exit, kind, verdict};

pub mod check;
pub mod collect;
pub mod compare;
pub mod diagnose;
pub mod documentation;
pub mod dtype;
pub mod fetch;
pub mod gate;
mod hash;
pub mod history;
pub mod judge;
pub mod language;
pub mod layout;
mod median;
pub mod msprobe;
pub mod nearest;
pub mod output;
pub mod pair;
pub mod policy;
#[cfg(feature = "network")]
pub mod publish;
pub mod read;
pub mod redact;
pub mod report;
pub mod reproduce;
pub mod result;
pub mod signoff;
