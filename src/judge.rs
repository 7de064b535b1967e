//! Stage 5, *judge*: numbers to verdicts.
//!
//! Rules that every check shares live here ([`rule`], [`register`]), the types of what they find in [`result`](crate::result);
//! how each kind of artifact is judged lives in a file of its own. A judge sees measurements and a policy; it reads no
//! file and lays out no text.

pub mod apply_policy;
pub mod arrays;
pub mod checkpoint;
pub mod config;
pub mod culprit;
pub mod defect;
pub mod dump;
pub mod evaluation;
pub mod invariants;
pub mod layout;
pub mod location;
pub mod loss;
pub mod monitor;
mod noise_factor;
pub mod operators;
pub mod partial_coverage;
pub mod performance;
pub mod register;
pub mod rule;
pub mod run;
pub mod samples;
pub mod settle;
pub mod source;
pub mod tokens;
pub mod unread;
