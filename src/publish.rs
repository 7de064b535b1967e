//! Stage 9, *publish*: documents to messages beside a commit.
//!
//! Publishing is best effort: it never changes or delays a verdict, and each of its failures becomes one warning. A [`Session`]
//! reports "running" at its start and always ends with a verdict or with "did not finish". Comment, check, status and pictures
//! are matched with those that exist already, so that repeats and races leave one of each. Each forge has its own
//! [`dialect::Forge`], which writes requests and reads answers; [`client`] sends them.
//!
//! For runs without a pull request (nightly runs, branches) an [`issue`] tracks a red suite, and a [`webhook`] notifies a chat;
//! [`attach`] uploads the documents of a sign-off to a release.
//!
//! Environment, event file and token are arguments. A result from elsewhere (`publish RESULT.json`) is treated as data: it is
//! rendered again, and refused if its commit is not the head commit.

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

pub use desk::{Story, worst_story};
pub use job::{Job, PublishSettings, forge_token};
pub use session::Session;
pub use unfinished::UnfinishedReason;
