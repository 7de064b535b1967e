//! Pairing of evaluations: models by name, samples by identity and document, never by their place in a file.

mod direction;
mod generation;
mod metric;
mod model;
mod rollout;

use crate::read::evaluation::SampleTexts;

pub use direction::higher_is_better;
pub use generation::{PairedGenerations, pair_generations};
pub use metric::{LeftOut, PairedMetric, ValuePair};
pub use model::{PairedModel, PairedTask, SettingDifference, pair_models};
pub(crate) use rollout::rollout_steps;
pub use rollout::{PairedPrompt, PairedStep};

/// Both sides' texts of one sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextPair {
    /// The baseline's.
    pub baseline: SampleTexts,
    /// The candidate's.
    pub candidate: SampleTexts,
}
