//! Stage 3, *pair*: which record of the candidate belongs to which of the baseline. It sees names, shapes and
//! steps, never values.

pub mod call;
pub mod parameter;
pub mod setting;
pub mod similarity;
