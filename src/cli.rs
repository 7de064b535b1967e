//! The command line: clap types only.

mod config_pack;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use config_pack::ConfigPackArgs;
use precision_gate::report::messages::Language;

/// Does a model moved from GPU to Ascend NPU still compute the same numbers, and if not, where did it first go wrong?
#[derive(Debug, Parser)]
#[command(name = "precision-gate", version, max_term_width = 120, propagate_version = true)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// The whole gate: look through both folders, check, report
    #[command(after_help = "Example:\n  precision-gate run --baseline runs/gpu --candidate runs/npu")]
    Run(RunArgs),
    /// Judge two config packs
    #[command(after_help = "Example:\n  precision-gate config-check gpu_pack.zip npu_pack.zip")]
    ConfigCheck(PairArgs),
    /// Make a config pack on this machine: environment, packages, settings, digests of data and weights
    #[command(
        after_help = "Example:\n  precision-gate config-pack --out npu_pack.zip train.sh config.yaml --data corpus/"
    )]
    ConfigPack(ConfigPackArgs),
    /// Judge two dumps or two checkpoints
    #[command(after_help = "Example:\n  precision-gate compare dump_gpu/step0 dump_npu/step0")]
    Compare(PairArgs),
    /// Judge two training curves
    #[command(after_help = "Example:\n  precision-gate loss trainer_state_gpu.json trainer_state_npu.json")]
    Loss(PairArgs),
}

/// `run`
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The trusted run: a folder or file
    #[arg(long, env = "INPUT_BASELINE", hide_env = true)]
    pub(crate) baseline: Option<String>,
    /// The run to judge: a folder or file
    #[arg(long, env = "INPUT_CANDIDATE", hide_env = true)]
    pub(crate) candidate: Option<String>,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

/// A command that judges one pair.
#[derive(Debug, Args)]
pub(crate) struct PairArgs {
    /// The trusted run's artifact
    pub(crate) baseline: String,
    /// The artifact to judge
    pub(crate) candidate: String,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

/// What every judging command takes.
#[derive(Debug, Args)]
pub(crate) struct CommonArgs {
    /// Folder for results [default: precision-gate-out]
    #[arg(long, value_name = "DIR", default_value = "precision-gate-out", hide_default_value = true)]
    pub(crate) out: PathBuf,
    /// Policy file [default: precision-gate.yml, where it is present]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Language of reports
    #[arg(long, value_enum, default_value_t = Language::En)]
    pub(crate) lang: Language,
    /// Today's date, for waivers and ages [default: the current UTC date]
    #[arg(long, value_name = "YYYY-MM-DD")]
    pub(crate) today: Option<String>,
    /// Exit code of a `warn` verdict
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) warn_exit_code: u8,
    /// Write tables as workbooks too
    #[arg(long)]
    pub(crate) xlsx: bool,
    /// Threads to compute with [default: all cores]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Say less: only errors
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Say more
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Colour on the terminal
    #[arg(long, value_enum, default_value_t = Colour::Auto)]
    pub(crate) color: Colour,
}

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}
