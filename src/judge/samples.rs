//! Several runs of each side: whether the candidate's runs come from the same distribution as the baseline's.

pub mod curves;
pub mod decide;
pub mod dumps;
pub mod rules;
pub mod runs;
pub mod scores;
