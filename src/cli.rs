//! The command line: its types here, its commands in the files below.

pub(crate) mod baseline;
pub(crate) mod config_pack;
pub(crate) mod curves;
pub(crate) mod fetching;
pub(crate) mod history;
pub(crate) mod inputs;
pub(crate) mod judge;
pub(crate) mod merge;
pub(crate) mod pipelines;
mod policy_file;
mod progress;
pub(crate) mod publish;
pub(crate) mod quick;
pub(crate) mod run;
pub(crate) mod show;
pub(crate) mod signoff;
mod surroundings;
pub(crate) mod tools;
mod trusted;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use config_pack::ConfigPackArgs;
use merge::MergeArgs;
use precision_gate::policy::loss::Mode;
use precision_gate::policy::loss::preset::Preset;
use precision_gate::report::messages::Language;
use publish::PublishArgs;
use quick::QuickArgs;
use run::RunArgs;
use signoff::SignoffArgs;

/// Does a model moved from GPU to Ascend NPU still compute the same numbers, and if not, where did it first go wrong?
#[derive(Debug, Parser)]
#[command(name = "precision-gate", version, max_term_width = 120, propagate_version = true)]
pub(crate) struct Cli {
    /// The command.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// The whole gate: look through both folders, check, report, publish
    #[command(after_help = "Example:\n  precision-gate run --baseline runs/gpu --candidate runs/npu")]
    Run(Box<RunArgs>),
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
    Compare(CompareArgs),
    /// Judge two training curves
    #[command(after_help = "Example:\n  precision-gate loss trainer_state_gpu.json trainer_state_npu.json")]
    Loss(LossArgs),
    /// Judge the parts of a run that was spread over several machines with --shard
    #[command(after_help = "Example:\n  precision-gate merge part-*.jsonl")]
    Merge(MergeArgs),
    /// Record how far a case moves by itself, from repeats of the baseline
    #[command(after_help = "Example:\n  precision-gate noise runs/gpu-1 runs/gpu-2 runs/gpu-3 --output noise.json")]
    Noise(NoiseArgs),
    /// Baselines as reviewed things: promote, list, show, verify, diff
    Baseline(baseline::BaselineArgs),
    /// Results of earlier runs: list, show, prune
    History(history::HistoryArgs),
    /// Do these limits catch known defects?
    #[command(after_help = "Example:\n  precision-gate selftest --config precision-gate.yml")]
    Selftest(SelftestArgs),
    /// Sign off a release: one document from the results of all its suites, or the reasons against it
    #[command(
        after_help = "Example:\n  precision-gate signoff results/* --commit 0a1b2c3 --approved-by 'A. Engineer' --attach v1.2.0"
    )]
    Signoff(Box<SignoffArgs>),
    /// Render the documents of an earlier result again
    #[command(after_help = "Example:\n  precision-gate report precision-gate-out/result.json --lang zh")]
    Report(ReportArgs),
    /// Post an earlier result: the second half for pull requests from forks
    #[command(after_help = "Example:\n  precision-gate publish precision-gate-out/result.json --dry-run")]
    Publish(Box<PublishArgs>),
    /// Write the msprobe configuration of the next dump, which shows more than this result
    #[command(after_help = "Example:\n  precision-gate next-dump precision-gate-out/result.json --output config.json")]
    NextDump(NextDumpArgs),
    /// Write a commented policy file from what lies in two folders, or pipelines for every night and every release
    #[command(
        after_help = "Examples:\n  precision-gate init runs/gpu runs/npu > precision-gate.yml\n  precision-gate init --nightly --release --forge github"
    )]
    Init(InitArgs),
    /// Print a JSON Schema: of the policy file, of result.json, of a line of operations.jsonl, or of signoff.json
    #[command(after_help = "Example:\n  precision-gate schema config > precision-gate.schema.json")]
    Schema {
        /// The document whose schema is printed
        #[arg(value_enum)]
        of: SchemaOf,
    },
    /// Print a completion script for a shell
    #[command(after_help = "Example:\n  precision-gate completions bash > /etc/bash_completion.d/precision-gate")]
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
}

/// `next-dump`
#[derive(Debug, Args)]
pub(crate) struct NextDumpArgs {
    /// The result to see further than
    #[arg(value_name = "RESULT.json")]
    pub(crate) result: PathBuf,
    /// The file to write
    #[arg(long, short, value_name = "FILE", default_value = "config.json")]
    pub(crate) output: PathBuf,
    /// Folder that msprobe writes the dump into
    #[arg(long, value_name = "DIR", default_value = "./next_dump")]
    pub(crate) dump_path: String,
}

/// `init`
#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Location of the trusted run
    #[arg(required_unless_present_any = ["nightly", "release"], requires = "candidate")]
    pub(crate) baseline: Option<String>,
    /// Location of the run to judge
    pub(crate) candidate: Option<String>,
    /// Today's date, for the example waiver [default: the current UTC date]
    #[arg(long, value_name = "YYYY-MM-DD")]
    pub(crate) today: Option<String>,
    #[command(flatten)]
    pub(crate) fetching: fetching::FetchArgs,
    #[command(flatten)]
    pub(crate) pipelines: pipelines::PipelineArgs,
}

/// Document that a schema describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaOf {
    /// precision-gate.yml
    Config,
    /// result.json
    Result,
    /// A line of operations.jsonl
    Operation,
    /// signoff.json
    Signoff,
}

/// `report`
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The result; `operations.jsonl` is read from beside it
    #[arg(value_name = "RESULT.json")]
    pub(crate) result: PathBuf,
    /// Folder for documents [default: where the result lies]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) documents: DocumentArgs,
}

/// Flags about the written documents.
#[derive(Debug, Args)]
pub(crate) struct DocumentArgs {
    /// Language of reports
    #[arg(long, value_enum, default_value_t = Language::En)]
    pub(crate) lang: Language,
    /// Folder with templates in place of the shipped ones (docs/templates.md)
    #[arg(long, value_name = "DIR")]
    pub(crate) templates: Option<PathBuf>,
    /// Folder of the checked-out repository: findings point at its lines where a recorded call is found there
    #[arg(long, value_name = "DIR")]
    pub(crate) source_root: Option<PathBuf>,
    /// Colour on the terminal
    #[arg(long, value_enum, default_value_t = Colour::Auto)]
    pub(crate) color: Colour,
    /// Print all checks, rules, passed checkers and likely causes
    #[arg(short, long, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
    /// Print the headline and errors alone
    #[arg(short, long)]
    pub(crate) quiet: bool,
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

/// `compare`
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) pair: PairArgs,
    #[command(flatten)]
    pub(crate) quick: QuickArgs,
    /// Compare tables: pair calls in order of appearance, whatever their numbers
    #[arg(long, conflicts_with_all = ["data_mapping", "cell_mapping"])]
    pub(crate) fuzzy: bool,
    /// Compare tables: YAML file of candidate row name to baseline row name
    #[arg(long, value_name = "FILE", conflicts_with = "cell_mapping")]
    pub(crate) data_mapping: Option<PathBuf>,
    /// Compare tables: YAML file of candidate module to baseline module
    #[arg(long, value_name = "FILE")]
    pub(crate) cell_mapping: Option<PathBuf>,
}

/// `loss`
#[derive(Debug, Args)]
pub(crate) struct LossArgs {
    #[command(flatten)]
    pub(crate) pair: PairArgs,
    /// Whether both runs start from the same weights
    #[arg(long, value_enum)]
    pub(crate) mode: Option<Mode>,
    /// A published rule that decides in place of the gate's own
    #[arg(long, value_enum)]
    pub(crate) preset: Option<Preset>,
    /// Location of a repeat of the baseline, or of the band recorded from repeats; may be given several times
    #[arg(long, value_name = "LOCATION")]
    pub(crate) noise: Vec<String>,
}

/// `noise`
#[derive(Debug, Args)]
pub(crate) struct NoiseArgs {
    /// Locations of repeats of one case, or of one folder with a repeat per entry
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    /// The file to write
    #[arg(long, short, value_name = "FILE", default_value = "noise.json")]
    pub(crate) output: PathBuf,
    /// Record runs that are no repeats of each other too, such as the same job with other seeds
    #[arg(long)]
    pub(crate) allow_different_runs: bool,
    /// Policy file [default: precision-gate.yml, where it is present]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) fetching: fetching::FetchArgs,
}

/// `selftest`
#[derive(Debug, Args)]
pub(crate) struct SelftestArgs {
    /// Policy file [default: precision-gate.yml, where it is present]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Flags of every judging command.
#[derive(Debug, Args)]
pub(crate) struct CommonArgs {
    /// Folder for results [default: precision-gate-out]
    #[arg(long, value_name = "DIR", default_value = "precision-gate-out", hide_default_value = true)]
    pub(crate) out: PathBuf,
    /// Policy file [default: precision-gate.yml, where it is present]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
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
    #[command(flatten)]
    pub(crate) documents: DocumentArgs,
    #[command(flatten)]
    pub(crate) fetching: fetching::FetchArgs,
}

impl Colour {
    /// Whether to colour: `NO_COLOR` (no-color.org), a dumb terminal and a pipe turn it off where nothing was asked for.
    pub(crate) fn is_on(self, terminal: bool, no_color: bool) -> bool {
        match self {
            Self::Auto => terminal && !no_color,
            Self::Always => true,
            Self::Never => false,
        }
    }
}

/// Colours of the terminal output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}
