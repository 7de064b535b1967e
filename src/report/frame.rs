//! Call stacks in documents: the frames that readers of dumps know.

pub use crate::read::frame::{Frame, innermost_of_model, innermost_own};
