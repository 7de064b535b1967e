//! Stage 9, *publish*: documents to messages beside a commit.
//!
//! Best effort by design: nothing here changes a verdict, and no verdict waits for it. Each failure becomes one warning.
//! A [`Session`] says "running" at its start and always ends with a verdict or with "did not finish"; comment, check,
//! status and pictures are settled with what is there already, so that repeats and races leave one of each. Forges differ
//! in a [`dialect::Forge`] each, which writes requests and reads answers; [`client`] sends them.
//!
//! Without a pull request (a night, a branch) an [`issue`] keeps a red suite in sight, and a [`webhook`] tells a chat;
//! [`attach`] puts the documents of a sign-off beside a release.
//!
//! Environment, event file and token come in as arguments. A result from elsewhere (`publish RESULT.json`) is data: it is
//! rendered again, and refused where its commit is not the head commit.

pub mod answer;
pub mod attach;
pub mod call;
mod check;
mod check_runs;
pub mod checkout;
pub mod client;
pub mod command;
pub mod comment;
mod desk;
pub mod dialect;
pub mod event;
pub mod forge;
mod forges;
pub mod github;
pub mod gitlab;
pub mod head;
mod image;
pub mod instruction;
pub mod issue;
mod job;
mod labels;
pub mod limit;
pub mod marker;
mod objects;
pub mod outputs;
pub mod proposal;
mod propose;
pub mod proposer;
pub mod session;
pub mod starter;
pub mod status;
mod sticky;
pub mod target;
pub mod tracker;
mod transport;
pub mod tree;
pub mod trust;
mod unfinished;
pub mod watch;
pub mod webhook;

pub use desk::{Story, worst};
pub use job::{Job, Settings, token};
pub use session::Session;
pub use unfinished::Why;
