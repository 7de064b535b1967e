//! Call stacks in documents: the frames that readers of dumps know.

pub use crate::read::frame::StackFrame;
pub(crate) use crate::read::frame::{calling_frame, innermost_model_frame, innermost_user_frame};
