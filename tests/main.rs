//! All tests of the program and its library, one module an area: `cargo test --test all curves::` runs those of curves.
#![allow(clippy::indexing_slicing, reason = "a test that indexes beyond what is there fails, as it should")]

mod advice;
#[allow(dead_code, reason = "shared with fuzz targets")]
// The fuzz targets take this folder by its path, too.
#[path = "changes/mod.rs"]
mod changes;
mod command_line;
mod config;
mod contract;
mod course;
mod curves;
mod data;
mod diagnoses;
mod docs;
mod dump_layouts;
mod dumps;
mod errors;
mod evaluation;
mod explain;
mod forge;
mod formats;
mod generations;
mod health;
mod history;
mod judging;
mod layouts;
mod locations;
mod monitor;
mod monitor_layouts;
mod mutations;
mod operators;
mod output;
mod performance;
mod pipelines;
mod policies;
mod quickstart;
mod reports;
mod reproduce;
mod rollouts;
mod samples;
mod signoff;
mod source;
mod tensors;
mod tokens;
mod tools;
mod walk;
mod weight_sync;
mod wording;
