//! Stage 8, *report*: verdicts to documents.
//!
//! [`GateResult`] is the one model of a run. Every document is made from it, and from `operations.jsonl`,
//! alone; [`messages`] holds what people read, one folder per language.

mod account;
pub mod advice;
pub mod annotations;
pub mod badge;
pub mod causes;
mod checks;
pub mod code_quality;
mod code_texts;
mod compared;
pub mod curve;
mod ends;
pub mod error_place;
pub mod escape;
pub mod evaluation;
pub mod explain;
pub mod folder;
pub mod frame;
pub mod history;
pub mod history_page;
pub mod issue;
pub mod junit;
mod layouts;
pub mod lines;
pub mod mermaid;
pub mod messages;
pub mod metrics;
pub mod next_dump;
pub mod opening;
mod ordered;
pub mod outcomes;
pub mod page;
mod palette;
pub mod performance;
pub mod phrases;
pub mod pictures;
pub mod plot;
pub mod reference;
pub mod rewrite;
pub mod rows;
mod run;
mod samples;
pub mod sarif;
mod sentence;
pub mod sentences;
mod sides;
pub mod sink;
pub mod source;
pub mod source_rules;
mod standing;
pub mod summary;
pub mod templates;
pub mod terminal;
mod texts;
mod timeline;
pub mod trend;
pub mod view;
pub mod waiver;
pub mod write;
pub mod writer;
pub mod xlsx;

use crate::history::record::EnvironmentFacts;
use crate::msprobe::table::MsprobeTable;
use crate::result::GateResult;
use crate::result::operation::OperationLine;

/// Result of a run, as it goes to documents and history.
#[derive(Debug)]
pub struct JudgedRun {
    /// The result, without message texts.
    pub result: GateResult,
    /// Facts about the candidate's environment, read from its artifacts and kept in the history.
    pub facts: EnvironmentFacts,
}

/// Result of a run together with the lines and tables that its sink received.
#[derive(Debug)]
pub struct RunOutcome {
    /// The result, without message texts.
    pub result: GateResult,
    /// One line per compared tensor.
    pub operations: Vec<OperationLine<'static>>,
    /// Tables as msprobe writes them.
    pub tables: Vec<MsprobeTable>,
}
