//! Reader of Python source: files of a folder, their text, their tree, and the lines that a change touches.
//!
//! Nothing is run or imported. A file becomes a [`Module`] that rules can ask: its nodes in one flat list
//! ([`tree`]), the full names behind its imports (`names`) and its comments. Only `build` knows the parser.

mod build;
mod comments;
mod depth;
pub mod diff;
pub mod encoding;
pub mod files;
mod lines;
pub mod module;
mod names;
mod touched;
pub mod tree;
pub mod words;

pub use comments::{Comment, Ignore};
pub use lines::Lines;
pub use module::{Module, Unread, UnreadReason};
pub use touched::Touched;
pub use tree::{Kind, Node, NodeId};

/// The largest file that is read whatever the memory, 10 MiB: generated modules of a megabyte exist, larger ones hold data.
pub const MOST_BYTES: u64 = 10 << 20;
