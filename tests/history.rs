//! History: records that survive parallel writers, and what a run says in the light of those before it.
#![allow(clippy::indexing_slicing, reason = "a test that indexes beyond what is there fails, as it should")]

mod branch;
use crate::data;
mod folder;
mod nights;
mod page;
mod records;
mod support;
mod thirty_nights;
