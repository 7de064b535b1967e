//! Judging a dump: which operation adds error, and how bad it is.
//!
//! An operation is suspected if the error of an output exceeds the noise of the loosest dtype it was computed from plus a small
//! multiple of the error of its inputs: inherited error does not count, added error does. A leaf input is an input that no
//! dumped operation produced; it is suspected if it differs while nothing before it does. Exact properties (type, shape,
//! integers) must be equal. The first suspect in execution order is the culprit.

pub mod alone;
mod call_in_line;
mod coverage;
mod decomposition;
pub(crate) mod domain;
pub mod element_limits;
pub mod flow;
mod input;
mod item;
mod kinks;
pub mod limits;
pub mod lines;
pub mod noise;
mod one_sided;
mod outlier;
mod poison;
pub mod preset;
mod quotients;
pub mod reference;
pub mod repeats;
pub mod rules;
mod shown;
pub mod suspicion;
mod tensor_outcome;
mod terms;
pub mod unit;
pub mod update;
mod upstream;
mod walk;
mod writes;

pub use rules::RULES;
