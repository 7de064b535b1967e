//! The command line: its types here, its commands in the files below.

pub(crate) mod answer;
pub(crate) mod baseline;
pub(crate) mod config_pack;
pub(crate) mod curves;
pub(crate) mod explain;
pub(crate) mod fetching;
pub(crate) mod history;
pub(crate) mod inputs;
pub(crate) mod judge;
pub(crate) mod merge;
mod pinned;
pub(crate) mod pipelines;
mod policy_file;
mod progress;
mod proposing;
pub(crate) mod publish;
pub(crate) mod quick;
pub(crate) mod reproduce;
pub(crate) mod run;
mod sections;
pub(crate) mod show;
pub(crate) mod signoff;
pub(crate) mod source;
mod surroundings;
pub(crate) mod tools;
mod trusted;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use answer::AnswerArgs;
use config_pack::ConfigPackArgs;
use merge::MergeArgs;
use precision_gate::documentation;
use precision_gate::policy::loss::Mode;
use precision_gate::policy::loss::preset::Preset;
use precision_gate::report::messages::Language;
use publish::PublishArgs;
use quick::QuickArgs;
use reproduce::ReproduceArgs;
use run::RunArgs;
use signoff::SignoffArgs;
use source::SourceArgs;

/// Does a model moved from GPU to Ascend NPU still compute the same numbers? If not, where does it first go wrong?
#[derive(Debug, Parser)]
#[command(name = "precision-gate", version, max_term_width = 120, propagate_version = true)]
#[command(help_template = sections::TEMPLATE, before_help = sections::commands())]
#[command(after_help = "Example:\n  precision-gate run runs/gpu runs/npu")]
pub(crate) struct Cli {
    /// The command.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Judge the candidate against the baseline: compare all that is in two folders
    #[command(
        after_help = "Examples:\n  precision-gate run runs/gpu runs/npu\n  precision-gate run --baseline baseline:glm --candidate runs/npu --publish"
    )]
    Run(Box<RunArgs>),
    /// Compare two config packs
    #[command(after_help = "Example:\n  precision-gate config-check gpu_pack.zip npu_pack.zip")]
    ConfigCheck(PairArgs),
    /// Record the configuration of this machine and this run in a config pack
    #[command(
        after_help = "Example:\n  precision-gate config-pack --out npu_pack.zip train.sh config.yaml --data corpus/"
    )]
    ConfigPack(ConfigPackArgs),
    /// Compare two dumps or two checkpoints
    #[command(
        after_help = "Examples:\n  precision-gate compare dump_gpu/step0 dump_npu/step0\n  precision-gate compare dump_gpu dump_npu --noise noise.json\n  precision-gate compare dump_gpu dump_npu --reference dump_cpu_fp64"
    )]
    Compare(CompareArgs),
    /// Compare two training curves
    #[command(after_help = "Example:\n  precision-gate loss trainer_state_gpu.json trainer_state_npu.json")]
    Loss(LossArgs),
    /// Check training code, or what a change touches of it, for what spoils a migration or a comparison
    #[command(
        after_help = "Examples:\n  precision-gate source .\n  git diff --unified=0 main...HEAD > change.diff; precision-gate source . --diff change.diff"
    )]
    Source(Box<SourceArgs>),
    /// Join and judge the parts that `--shard` measured on several machines
    #[command(after_help = "Example:\n  precision-gate merge part-*.jsonl")]
    Merge(MergeArgs),
    /// Record how much repeats of the baseline differ from each other
    #[command(after_help = "Example:\n  precision-gate noise runs/gpu-1 runs/gpu-2 runs/gpu-3 --out noise.json")]
    Noise(NoiseArgs),
    /// Record, list, show, verify and compare baselines
    #[command(
        after_help = "Example:\n  precision-gate baseline promote runs/gpu --name glm --reason 'torch 2.7' --approved-by ann"
    )]
    Baseline(baseline::BaselineArgs),
    /// List, show and remove the records of earlier runs
    #[command(after_help = "Example:\n  precision-gate history list --history branch:precision-history")]
    History(history::HistoryArgs),
    /// Check that the limits of the policy catch known defects
    #[command(after_help = "Example:\n  precision-gate selftest --config precision-gate.yml")]
    Selftest(SelftestArgs),
    /// Sign off a release from the results of all its suites
    #[command(
        after_help = "Example:\n  precision-gate signoff results/* --commit 0a1b2c3 --approved-by 'A. Engineer' --attach v1.2.0"
    )]
    Signoff(Box<SignoffArgs>),
    /// Write the reports of an earlier result again
    #[command(after_help = "Example:\n  precision-gate report precision-gate-out/result.json --lang zh")]
    Report(ReportArgs),
    /// Publish the result of another job, as for pull requests from forks
    #[command(after_help = "Example:\n  precision-gate publish precision-gate-out/result.json --dry-run")]
    Publish(Box<PublishArgs>),
    /// Answer a comment on a pull request: propose a waiver, or the baseline of its commit
    #[command(
        after_help = concat!(
            "Example:\n  precision-gate answer --dry-run\n\nIt answers comments such as these:\n  /precision-gate waive output-diverges until 2026-12-24 because HF32 is accepted\n  /precision-gate accept-baseline because the new rotary embedding changes all values\n\nMore: ",
            documentation!("answers.md")
        )
    )]
    Answer(Box<AnswerArgs>),
    /// Write the msprobe configuration for a closer look at the first difference
    #[command(after_help = "Example:\n  precision-gate next-dump precision-gate-out/result.json --out config.json")]
    NextDump(NextDumpArgs),
    /// Write a script that runs the culprit alone, and a report to file with the owners of the operator
    #[command(
        after_help = "Examples:\n  precision-gate reproduce precision-gate-out/result.json\n  precision-gate reproduce precision-gate-out/result.json --op Functional.linear.3.forward --with-data"
    )]
    Reproduce(ReproduceArgs),
    /// Explain the code of a finding, cause or rule: what to do, and the waiver to paste
    #[command(
        after_help = "Examples:\n  precision-gate explain output-diverges\n  precision-gate explain curve-mean --lang zh\n  precision-gate explain loss      (the codes of a check)\n  precision-gate explain           (all codes)"
    )]
    Explain(explain::ExplainArgs),
    /// Write a commented policy file for two folders, or pipelines for nights and releases
    #[command(
        after_help = "Examples:\n  precision-gate init runs/gpu runs/npu > precision-gate.yml\n  precision-gate init --pull-request\n  precision-gate init --nightly --release --forge github"
    )]
    Init(InitArgs),
    /// Print the JSON Schema of the policy file or of an output file
    #[command(after_help = "Example:\n  precision-gate schema config > precision-gate.schema.json")]
    Schema {
        /// The file whose schema is printed
        #[arg(value_enum)]
        of: SchemaOf,
    },
    /// Print the completion script of a shell
    #[command(
        after_help = "Examples:\n  precision-gate completions bash > /etc/bash_completion.d/precision-gate\n  precision-gate completions zsh > \"${fpath[1]}/_precision-gate\"\n  precision-gate completions fish > ~/.config/fish/completions/precision-gate.fish"
    )]
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
}

/// `next-dump`
#[derive(Debug, Args)]
pub(crate) struct NextDumpArgs {
    /// The result whose first difference needs a closer look
    #[arg(value_name = "RESULT.json")]
    pub(crate) result: PathBuf,
    /// File to write
    #[arg(long, short, alias = "output", value_name = "FILE", default_value = "config.json")]
    pub(crate) out: PathBuf,
    /// Folder that msprobe writes the dump to
    #[arg(long, value_name = "DIR", default_value = "./next_dump")]
    pub(crate) dump_path: String,
}

/// `init`
#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// The baseline: a folder, a file or a location
    #[arg(required_unless_present_any = ["pull_request", "nightly", "release"], requires = "candidate")]
    pub(crate) baseline: Option<String>,
    /// The candidate: a folder, a file or a location
    pub(crate) candidate: Option<String>,
    /// Date from which the example waiver counts [default: today, in UTC]
    #[arg(long, value_name = "YYYY-MM-DD")]
    pub(crate) today: Option<String>,
    #[command(flatten)]
    pub(crate) pipelines: pipelines::PipelineArgs,
    #[command(flatten)]
    pub(crate) fetching: fetching::FetchArgs,
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
    /// The result; `operations.jsonl` is read from the same folder
    #[arg(value_name = "RESULT.json")]
    pub(crate) result: PathBuf,
    /// Folder for the reports [default: the folder of the result]
    #[arg(long, short, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) documents: DocumentArgs,
}

/// Flags about the written documents.
#[derive(Debug, Args)]
#[command(next_help_heading = "Reports")]
pub(crate) struct DocumentArgs {
    /// Language of the reports
    #[arg(long, value_enum, default_value_t = Language::En)]
    pub(crate) lang: Language,
    /// Folder with your own templates of the reports
    #[arg(long, value_name = "DIR")]
    pub(crate) templates: Option<PathBuf>,
    /// Folder of the training code, so that findings point at its lines [default: the checkout]
    #[arg(long, value_name = "DIR")]
    pub(crate) source_root: Option<PathBuf>,
    /// Colours on the terminal
    #[arg(long, value_enum, default_value_t = Colour::Auto, help_heading = "Terminal")]
    pub(crate) color: Colour,
    /// Print all rules, passed checkers and likely causes, too
    #[arg(short, long, conflicts_with = "quiet", help_heading = "Terminal")]
    pub(crate) verbose: bool,
    /// Print the headline and errors only
    #[arg(short, long, help_heading = "Terminal")]
    pub(crate) quiet: bool,
}

/// A command that judges one pair.
#[derive(Debug, Args)]
pub(crate) struct PairArgs {
    /// The baseline: a file, a folder or a location
    pub(crate) baseline: String,
    /// The candidate: a file, a folder or a location
    pub(crate) candidate: String,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

/// `compare`
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// A repeat of the baseline, or the file that `precision-gate noise` wrote; may be given several times
    #[arg(long, value_name = "LOCATION")]
    pub(crate) noise: Vec<String>,
    /// A third run of the same model, such as fp64 on a CPU: shows which of the two sides is off (dumps)
    #[arg(long, value_name = "LOCATION")]
    pub(crate) reference: Option<String>,
    #[command(flatten)]
    pub(crate) pair: PairArgs,
    #[command(flatten)]
    pub(crate) quick: QuickArgs,
    /// Pair calls by their order and ignore their numbers
    #[arg(long, conflicts_with_all = ["data_mapping", "cell_mapping"], help_heading = "Compare tables of msprobe")]
    pub(crate) fuzzy: bool,
    /// YAML file that maps row names of the candidate to those of the baseline (msprobe's -dm)
    #[arg(long, value_name = "FILE", conflicts_with = "cell_mapping", help_heading = "Renamed operations")]
    pub(crate) data_mapping: Option<PathBuf>,
    /// YAML file that maps modules of the candidate to those of the baseline (msprobe's -cm)
    #[arg(long, value_name = "FILE", help_heading = "Renamed operations")]
    pub(crate) cell_mapping: Option<PathBuf>,
    /// YAML file that maps interfaces of MindSpore to those of PyTorch (msprobe's -am)
    #[arg(long, value_name = "FILE", help_heading = "Renamed operations")]
    pub(crate) api_mapping: Option<PathBuf>,
    /// YAML file that maps children of modules by the class of their parent (msprobe's -lm)
    #[arg(long, value_name = "FILE", help_heading = "Renamed operations")]
    pub(crate) layer_mapping: Option<PathBuf>,
}

/// `loss`
#[derive(Debug, Args)]
pub(crate) struct LossArgs {
    /// Whether both runs start from the same weights
    #[arg(long, value_enum)]
    pub(crate) mode: Option<Mode>,
    /// Published acceptance rule that decides in place of the limits
    #[arg(long, value_enum)]
    pub(crate) preset: Option<Preset>,
    /// A repeat of the baseline, or the file that `precision-gate noise` wrote; may be given several times
    #[arg(long, value_name = "LOCATION")]
    pub(crate) noise: Vec<String>,
    #[command(flatten)]
    pub(crate) pair: PairArgs,
}

/// `noise`
#[derive(Debug, Args)]
pub(crate) struct NoiseArgs {
    /// Repeats of one case, or one folder that holds a repeat per entry
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    /// File to write
    #[arg(long, short, alias = "output", value_name = "FILE", default_value = "noise.json")]
    pub(crate) out: PathBuf,
    /// Accept runs that do not repeat each other, such as the same job with other seeds
    #[arg(long)]
    pub(crate) allow_different_runs: bool,
    /// Policy file [default: precision-gate.yml, if it exists]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) fetching: fetching::FetchArgs,
}

/// `selftest`
#[derive(Debug, Args)]
pub(crate) struct SelftestArgs {
    /// Policy file [default: precision-gate.yml, if it exists]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Flags of every judging command.
#[derive(Debug, Args)]
pub(crate) struct CommonArgs {
    /// Folder for the results [default: precision-gate-out]
    #[arg(long, short, value_name = "DIR", default_value = "precision-gate-out", hide_default_value = true)]
    pub(crate) out: PathBuf,
    /// Policy file [default: precision-gate.yml, if it exists]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Date to judge by, for waivers and ages [default: today, in UTC]
    #[arg(long, value_name = "YYYY-MM-DD")]
    pub(crate) today: Option<String>,
    /// Exit code for the verdict `warn`
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) warn_exit_code: u8,
    /// Judge and post everything, but block nothing: exit code 1 becomes 0, and the check is neutral
    #[arg(long)]
    pub(crate) report_only: bool,
    /// Write the tables as Excel workbooks, too
    #[arg(long, help_heading = "Reports")]
    pub(crate) xlsx: bool,
    /// Leave out the compare tables of msprobe: `result.json` and `operations.jsonl` hold what they say
    #[arg(long, help_heading = "Reports", conflicts_with = "xlsx")]
    pub(crate) no_table: bool,
    /// Compress the lines of operations by Zstandard: `operations.jsonl.zst`
    #[arg(long, help_heading = "Reports")]
    pub(crate) compress: bool,
    /// Number of threads [default: one per core]
    #[arg(long, value_name = "N", help_heading = "Resources")]
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
    /// Only on a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}
