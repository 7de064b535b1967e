//! Stage 3, *pair*: finds for each record of the candidate its counterpart in the baseline. It uses names, shapes and steps,
//! and values only to choose between calls that are alike in everything else.

pub mod arrays;
pub mod call;
pub mod checkpoint;
pub mod curve;
pub mod dump;
pub mod evaluation;
pub mod layout;
pub mod monitor;
pub mod operators;
pub mod parameter;
pub mod performance;
pub mod setting;
pub mod similarity;
pub mod tokens;
pub mod unit;
pub mod weight_sync;
pub mod whole;
