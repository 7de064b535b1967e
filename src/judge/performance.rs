//! Judging profiles: is a step as fast as before, and where did the time go?
//!
//! docs/performance-check.md derives the rules, with their false alarms and what they miss.

pub mod causes;
mod comparable;
pub mod culprit;
mod kinds;
pub mod rank;
pub mod rules;
pub mod test;
mod witness;

pub use rules::RULES;
