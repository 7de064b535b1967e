//! Formats of curve files, and the meaning of the losses in them.

use super::pattern::LogPattern;

/// Meaning of a logged loss: one step, or a window of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossMeaning {
    /// The mean over all steps since the last logged step.
    Windows,
    /// The step's own value.
    Samples,
    /// Not stated, as in a printed log. Lines at equal intervals are compared one by one. At different intervals, the values
    /// show which it is.
    Unstated,
}

impl LossMeaning {
    /// Whether a record may stand for all steps since the last record.
    pub(crate) fn may_be_windows(self) -> bool {
        self != Self::Samples
    }
}

/// A curve format.
#[derive(Clone, Debug)]
pub enum CurveFormat {
    /// `trainer_state.json` of transformers.
    TrainerState,
    /// One JSON object per line.
    JsonLines,
    /// One JSON array of objects.
    JsonRecords,
    /// Records inside a JSON document.
    JsonNested,
    /// One JSON object with an object per step, or with an object of steps per metric.
    StepsJson,
    /// A series downloaded from TensorBoard's page.
    PageJson,
    /// torchtitan's `step loss` per line.
    StepLoss,
    /// Megatron-LM's golden values.
    Megatron,
    /// MindSpeed's baselines: bare lists.
    MindSpeed,
    /// TensorBoard event file.
    TensorBoard,
    /// Log that W&B keeps on disk.
    Wandb,
    /// Log that SwanLab keeps on disk.
    SwanLab,
    /// Trackio's database.
    Trackio,
    /// One metric of MLflow's file store.
    Mlflow,
    /// MLflow's database.
    MlflowDatabase,
    /// Comma-, semicolon- or tab-separated table with a header line.
    Table,
    /// Training log.
    Log,
    /// Training log read by the user's own pattern.
    Pattern(LogPattern),
}

impl CurveFormat {
    /// Name of the format, for messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::TrainerState => "HF trainer_state.json",
            Self::JsonLines => "JSON lines",
            Self::JsonRecords => "JSON records",
            Self::JsonNested => "JSON history",
            Self::StepsJson => "JSON by step",
            Self::PageJson => "TensorBoard JSON",
            Self::StepLoss => "torchtitan loss list",
            Self::Megatron => "Megatron golden JSON",
            Self::MindSpeed => "MindSpeed baseline JSON",
            Self::TensorBoard => "TensorBoard events",
            Self::Wandb => "W&B log",
            Self::SwanLab => "SwanLab log",
            Self::Trackio => "Trackio database",
            Self::Mlflow => "MLflow metric",
            Self::MlflowDatabase => "MLflow database",
            Self::Table => "CSV table",
            Self::Log | Self::Pattern(_) => "training log",
        }
    }

    /// Meaning of the losses. The Trainer's history holds means over the logging interval, and printed lines may. Other formats hold
    /// the values they were given, which are samples unless a history beside them shows otherwise.
    pub(super) fn loss_meaning(&self) -> LossMeaning {
        match self {
            Self::TrainerState => LossMeaning::Windows,
            Self::Log | Self::Pattern(_) => LossMeaning::Unstated,
            _ => LossMeaning::Samples,
        }
    }
}
