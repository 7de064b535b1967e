//! Reader of Python source: that of the linter, a crate of its own, with changes between commits and notebooks.

mod blob;
pub mod change;
pub mod notebook;

pub use precision_gate_source::read::{Lines, MOST_BYTES, Module, Touched, diff, files};
