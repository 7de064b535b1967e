//! Stage 6, *diagnose*: from findings to likely causes, one file per cause.
//!
//! Three kinds of evidence are used: a dump's culprit, with the operation around it and, within bounds, a second look
//! at its data (while the dump is at hand); training curves; and the findings of the config check. [`story`] joins
//! them: evidence of one kind for a cause that another kind found is added to that cause.
//!
//! A diagnosis carries codes and facts, no sentences; `templates/messages/<language>/diagnoses.yaml` holds the texts.
//! Where evidence is thin nothing is claimed: a wrong cause costs more than none.

mod before;
pub mod cause;
mod context;
mod curves;
mod entry;
mod evidence;
mod factor;
mod faults;
mod fingerprint;
mod formula;
mod location;
pub mod next_dump;
mod order;
mod part;
mod pattern;
mod rl;
mod rotary;
pub mod runnable;
mod shard;
mod story;
mod trace;
mod updates;
mod value_pair;
mod values;
mod without_call;

pub use before::{ParameterGradients, StepBefore};
pub use context::{DumpContext, Peer, PeerOperation};
pub use location::location;
pub(crate) use shard::wrong_shards;
pub(crate) use story::dump_diagnoses;
pub use story::{RunOutcome, story};
pub use trace::TracedPlaces;
pub use values::TensorCache;
pub(crate) use without_call::advise_without_call;
