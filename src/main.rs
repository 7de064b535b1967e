//! The command line of precision-gate: parse arguments, call the library, map the outcome to an exit code.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the one place that speaks to the terminal")]

mod cli;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use precision_gate::error::{Error, ErrorKind, Result};
use precision_gate::gate::{self, Quiet, Request};
use precision_gate::policy::Policy;
use precision_gate::verdict::CheckId;
use precision_gate::{collect, exit, report};

use cli::{Cli, Command, CommonArgs, ConfigPackArgs};

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
            let policy = policy(&args.common)?;
            let baseline = args.baseline.unwrap_or_else(|| policy.baseline.location.clone());
            let candidate = args.candidate.unwrap_or_else(|| policy.candidate.location.clone());
            judge(&args.common, policy, baseline, candidate, Request::ALL_CHECKS.to_vec())
        }
        Command::ConfigCheck(args) => one_check(&args, CheckId::Config),
        Command::ConfigPack(args) => config_pack(&args),
        Command::Compare(args) => one_check(&args, CheckId::Dump),
        Command::Loss(args) => one_check(&args, CheckId::Loss),
    }
}

fn one_check(args: &cli::PairArgs, check: CheckId) -> Result<u8> {
    judge(&args.common, policy(&args.common)?, args.baseline.clone(), args.candidate.clone(), vec![check])
}

fn config_pack(args: &ConfigPackArgs) -> Result<u8> {
    let text = |text: OsString| text.to_string_lossy().into_owned();
    let environment = std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect();
    let collected = collect::collect(&args.request(environment)?)?;
    for note in &collected.notes {
        eprintln!("note: {note}");
    }
    std::fs::write(&args.out, &collected.bytes).map_err(|error| Error::io(args.out.display().to_string(), &error))?;
    println!("{}: {}", args.out.display(), collected.members.join(", "));
    Ok(exit::PASS)
}

fn policy(common: &CommonArgs) -> Result<Policy> {
    let path = match &common.config {
        Some(path) => path.as_path(),
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
