//! Stage 3, *pair*: which record of the candidate belongs to which of the baseline. It sees names, shapes and
//! steps; values only to choose between calls that are alike in everything else.

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
