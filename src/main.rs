//! The command line of precision-gate: parse arguments, call the library, map the outcome to an exit code.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the one place that speaks to the terminal")]

mod cli;

use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use precision_gate::error::{Error, ErrorKind, Result};
use precision_gate::gate::{self, Quiet, Request};
use precision_gate::policy::Policy;
use precision_gate::verdict::CheckId;
use precision_gate::{exit, report};

use cli::{Cli, Command, CommonArgs};

/// Policy file that is read without being named.
const DEFAULT_POLICY: &str = "precision-gate.yml";

fn main() -> ExitCode {
    let cli = Cli::parse();
    ExitCode::from(match command(cli.command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            if let Some(help) = error.help() {
                eprintln!("help: {help}");
            }
            exit::of_error(&error)
        }
    })
}

fn command(command: Command) -> Result<u8> {
    match command {
        Command::Run(args) => {
            let policy = policy(args.common.config.as_deref())?;
            let baseline = args.baseline.unwrap_or_else(|| policy.baseline.location.clone());
            let candidate = args.candidate.unwrap_or_else(|| policy.candidate.location.clone());
            judge(&args.common, policy, baseline, candidate, Request::ALL_CHECKS.to_vec())
        }
        Command::ConfigCheck(args) => one_check(&args, CheckId::Config),
        Command::Compare(args) => one_check(&args, CheckId::Dump),
        Command::Loss(args) => loss(&args),
        Command::Noise(args) => noise(&args),
        Command::Selftest(args) => selftest(&args),
    }
}

fn loss(args: &cli::LossArgs) -> Result<u8> {
    let mut policy = policy(args.pair.common.config.as_deref())?;
    policy.loss.mode = args.mode.unwrap_or(policy.loss.mode);
    policy.loss.preset = args.preset.or(policy.loss.preset);
    if !args.noise.is_empty() {
        policy.loss.noise.0.clone_from(&args.noise);
    }
    let (baseline, candidate) = (args.pair.baseline.clone(), args.pair.candidate.clone());
    judge(&args.pair.common, policy, baseline, candidate, vec![CheckId::Loss])
}

fn noise(args: &cli::NoiseArgs) -> Result<u8> {
    let policy = policy(args.config.as_deref())?;
    let band = gate::loss::record(&args.runs, &policy.loss)?;
    let internal = |error| Error::new(ErrorKind::Internal, "", error);
    let json = serde_json::to_string_pretty(&band).map_err(internal)? + "\n";
    let name = args.output.display().to_string();
    std::fs::write(&args.output, json).map_err(|error| Error::io(&name, &error))?;
    for (metric, noise) in &band.metrics {
        let short = report::messages::short;
        println!(
            "{metric}: head {}, mean {} ({} comparisons)",
            short(noise.head),
            short(noise.mean),
            noise.comparisons
        );
    }
    println!("written to {name}");
    Ok(exit::PASS)
}

fn selftest(args: &cli::SelftestArgs) -> Result<u8> {
    let found = gate::selftest::run(&policy(args.config.as_deref())?)?;
    if args.json {
        let json = serde_json::to_string_pretty(&found).map_err(|error| Error::new(ErrorKind::Internal, "", error))?;
        println!("{json}");
    } else {
        for case in &found.cases {
            let mark = if case.ok { "ok   " } else { "WRONG" };
            let kind = if case.is_defect { "defect " } else { "healthy" };
            println!("{mark} {kind} {:<24} {:<10} {}", case.name, case.verdict.as_str(), case.what);
        }
        println!(
            "{}",
            if found.ok { "the limits do what they should" } else { "the limits do not do what they should" }
        );
    }
    Ok(if found.ok { exit::PASS } else { exit::FAIL })
}

fn one_check(args: &cli::PairArgs, check: CheckId) -> Result<u8> {
    judge(
        &args.common,
        policy(args.common.config.as_deref())?,
        args.baseline.clone(),
        args.candidate.clone(),
        vec![check],
    )
}

fn policy(config: Option<&Path>) -> Result<Policy> {
    let path = match config {
        Some(path) => path,
        None if Path::new(DEFAULT_POLICY).exists() => Path::new(DEFAULT_POLICY),
        None => return Ok(Policy::default()),
    };
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| Error::io(&name, &error))?;
    Policy::parse(&name, &text)
}

fn judge(common: &CommonArgs, policy: Policy, baseline: String, candidate: String, checks: Vec<CheckId>) -> Result<u8> {
    if baseline.is_empty() || candidate.is_empty() {
        let error = Error::new(ErrorKind::Usage, "", "both a baseline and a candidate are needed");
        return Err(error.with_help("pass --baseline and --candidate, or set `location` of both in the policy file"));
    }
    if let Some(threads) = common.threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
        pool.map_err(|error| Error::new(ErrorKind::Usage, "--threads", error))?;
    }
    let today = common.today.clone().unwrap_or_else(|| jiff::Timestamp::now().strftime("%Y-%m-%d").to_string());
    let request = Request { baseline, candidate, checks, policy, today };
    let mut outcome = gate::run(&request, &Quiet)?;
    report::write::all(
        &mut outcome,
        &report::write::Options { out: &common.out, language: common.lang, xlsx: common.xlsx },
    )?;
    if !common.quiet {
        println!("{}", outcome.result.verdict.as_str());
    }
    Ok(exit::of_verdict(outcome.result.verdict, common.warn_exit_code))
}
