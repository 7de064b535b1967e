//! Judging log-probabilities: alignment before any number, then the level in units of noise, then structure.
//!
//! An engine that samples and a trainer that learns have to give the same log-probabilities of the same tokens. docs/tokens.md
//! derives the limits.

pub mod cause;
mod groups;
pub mod noise;
mod notes;
pub mod rules;
mod told;
mod unit;

pub use cause::TokenCause;
pub use groups::RankClass;
pub use noise::Noise;
pub use rules::RULES;
pub(crate) use told::note_quantity_off;
pub use unit::{BaselineReference, JudgedTokens, TokensContext};
pub(crate) use unit::{judge_across, judge_own};
