//! Config packs: paired records to numbers.

pub mod setting;
pub mod statistics;
pub mod version;
