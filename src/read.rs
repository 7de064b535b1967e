//! Stage 2, *read*: bytes to plain records.
//!
//! One file per format. A reader turns bytes into records and does not depend on comparison, thresholds or
//! verdicts. Artifacts are untrusted: every reader has limits and answers damage with one clear error.

pub mod account;
pub mod archive;
pub mod arrays;
pub mod checkpoint;
pub mod curve;
mod decimal;
pub mod dump;
pub mod ending;
pub mod evaluation;
pub mod frame;
pub(crate) mod joined;
pub mod json;
pub mod launch;
pub mod metric;
pub mod monitor;
pub mod msprobe_settings;
mod npy;
mod npz;
pub mod operators;
pub mod overflow_check;
pub mod pack;
pub mod performance;
mod pickle;
pub mod picture;
mod safetensors;
pub mod source;
pub mod sqlite;
pub mod tensor;
pub mod tensor_file;
pub mod tokens;
mod torch;
pub mod weight_sync;
mod word_search;
