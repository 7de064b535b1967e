//! Several runs of each side: whether the candidate's runs come from where the baseline's come from.

pub mod curves;
pub mod decide;
pub mod dumps;
pub mod rules;
pub mod runs;
pub mod scores;
