//! Stage 6, *diagnose*: from findings to likely causes, one file per cause.
//!
//! Three kinds of evidence are looked at. A dump's culprit, with the operation around it and, within bounds, its
//! data a second time ([`in_dump`], while the dump is at hand); training curves; and what the config check found.
//! [`story`] joins them: what one kind of evidence says of a cause that another one found becomes further evidence of it.
//!
//! A diagnosis carries codes and facts, no sentences; `templates/messages/<language>/diagnoses.yaml` holds the texts.
//! Where evidence is thin nothing is said: a wrong cause costs more than none.

mod before;
pub mod cause;
mod context;
mod curves;
mod factor;
mod fingerprint;
mod formula;
mod location;
pub mod next_dump;
mod part;
mod rl;
pub mod runnable;
mod story;
mod trace;
mod updates;
mod value_pair;
mod values;

use crate::result::diagnosis::{Diagnosis, Statement, Sureness};
use cause::Cause;

pub use before::{Before, Gradients};
pub use context::{Context, Peer, PeerOperation};
pub use location::location;
pub use story::{Run, in_dump, story};
pub use values::TensorCache;

impl Diagnosis {
    /// A diagnosis of `cause` at `place`, with the cause's general advice.
    fn new(cause: &Cause, place: impl Into<String>, sureness: Sureness) -> Self {
        Self {
            cause: cause.code.to_owned(),
            place: place.into(),
            sureness,
            evidence: Vec::new(),
            advice: Statement::new(cause.code),
        }
    }

    /// Adds evidence.
    #[must_use]
    fn because(mut self, evidence: Statement) -> Self {
        self.evidence.push(evidence);
        self
    }

    /// Adds all evidence; there may be none.
    #[must_use]
    fn because_all(mut self, evidence: impl IntoIterator<Item = Statement>) -> Self {
        self.evidence.extend(evidence);
        self
    }

    /// Gives other advice than the cause's general one.
    #[must_use]
    fn advise(mut self, advice: Statement) -> Self {
        self.advice = advice;
        self
    }
}
