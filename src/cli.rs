//! The command line: its commands, each in a file below.

pub(crate) mod answer;
pub(crate) mod baseline;
pub(crate) mod calibrate;
pub(crate) mod config_pack;
pub(crate) mod curves;
pub(crate) mod explain;
pub(crate) mod fetching;
mod flags;
pub(crate) mod help;
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
mod requests;
pub(crate) mod run;
mod sections;
pub(crate) mod show;
pub(crate) mod signoff;
pub(crate) mod source;
pub(crate) mod speech;
mod surroundings;
pub(crate) mod tools;
mod training;
mod trusted;

use clap::{Parser, Subcommand};

use answer::AnswerArgs;
use calibrate::CalibrateArgs;
use config_pack::ConfigPackArgs;
use curves::{LossArgs, NoiseArgs, SelftestArgs};
use flags::PairArgs;
use judge::CompareArgs;
use merge::MergeArgs;
use precision_gate::documentation;
use publish::PublishArgs;
use reproduce::ReproduceArgs;
use run::RunArgs;
use show::{NextDumpArgs, ReportArgs};
use signoff::SignoffArgs;
use source::SourceArgs;
use tools::{InitArgs, SchemaOf};

/// Does a model moved from GPU to Ascend NPU still compute the same numbers? If not, where does it first go wrong?
#[derive(Debug, Parser)]
#[command(name = "precision-gate", version, max_term_width = 120, propagate_version = true)]
#[command(help_template = sections::TEMPLATE, before_help = sections::commands(&program()))]
#[command(after_help = "Example:\n  precision-gate run runs/gpu runs/npu")]
pub(crate) struct Cli {
    /// The command.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The program with all of its commands, for the sections of its help.
fn program() -> clap::Command {
    Command::augment_subcommands(clap::Command::new(env!("CARGO_PKG_NAME")))
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
    #[command(after_help = "Example:\n  precision-gate config-pack --out pack.zip train.sh --data corpus/")]
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
        after_help = "Examples:\n  precision-gate source .\n  git diff --unified=0 main...HEAD > change.diff\n  precision-gate source . --diff change.diff"
    )]
    Source(Box<SourceArgs>),
    /// Join and judge the parts that `--shard` measured on several machines
    #[command(after_help = "Example:\n  precision-gate merge part-*.jsonl")]
    Merge(MergeArgs),
    /// Record how much repeats of the baseline differ from each other
    #[command(after_help = "Example:\n  precision-gate noise runs/gpu-1 runs/gpu-2 runs/gpu-3 --out noise.json")]
    Noise(NoiseArgs),
    /// Find a limit from the scores of past runs, and whether a gate lies inside their scatter
    #[command(after_help = "Example:\n  precision-gate calibrate nights.csv --metric score --gate 0.85")]
    Calibrate(CalibrateArgs),
    /// Record, list, show, verify and compare baselines
    #[command(
        after_help = "Example:\n  precision-gate baseline promote runs/gpu --name glm --reason 'torch 2.7' \\\n      --approved-by ann"
    )]
    Baseline(baseline::BaselineArgs),
    /// List, show and remove the records of earlier runs
    #[command(after_help = "Example:\n  precision-gate history list --history branch:precision-history")]
    History(history::commands::HistoryArgs),
    /// Check that the limits of the policy catch known defects
    #[command(after_help = "Example:\n  precision-gate selftest --config precision-gate.yml")]
    Selftest(SelftestArgs),
    /// Sign off a release from the results of all its suites
    #[command(
        after_help = "Example:\n  precision-gate signoff results/* --commit 0a1b2c3 \\\n      --approved-by 'A. Engineer' --attach v1.2.0"
    )]
    Signoff(Box<SignoffArgs>),
    /// Write the reports of an earlier result again
    #[command(after_help = "Example:\n  precision-gate report precision-gate-out/result.json --lang zh")]
    Report(ReportArgs),
    /// Publish the result of another job, as for pull requests from forks
    #[command(
        after_help = "Example:\n  precision-gate publish precision-gate-out/result.json --dry-run \\\n      --forge github --repo OWNER/NAME"
    )]
    Publish(Box<PublishArgs>),
    /// Answer a comment on a pull request: propose a waiver, or the baseline of its commit
    #[command(
        after_help = concat!(
            "Example:\n  precision-gate answer --dry-run\n\nIt answers comments such as these:\n  /precision-gate waive output-diverges until 2026-12-24 because it is HF32\n  /precision-gate accept-baseline because the new rotary embedding is meant\n\nMore: ",
            documentation!("answers.md")
        )
    )]
    Answer(Box<AnswerArgs>),
    /// Write the msprobe configuration for a closer look at the first difference
    #[command(after_help = "Example:\n  precision-gate next-dump precision-gate-out/result.json")]
    NextDump(NextDumpArgs),
    /// Write a script that runs the culprit alone, and a report to file with the owners of the operator
    #[command(
        after_help = "Examples:\n  precision-gate reproduce precision-gate-out/result.json\n  precision-gate reproduce precision-gate-out/result.json \\\n      --op Functional.linear.3.forward --with-data"
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
        after_help = "Examples:\n  precision-gate completions bash > /etc/bash_completion.d/precision-gate\n  precision-gate completions zsh > \"${fpath[1]}/_precision-gate\"\n  precision-gate completions fish \\\n      > ~/.config/fish/completions/precision-gate.fish"
    )]
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
}
