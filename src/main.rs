//! The command line of precision-gate: parse arguments, call the library, map the outcome to an exit code.
#![allow(clippy::print_stderr, reason = "the one place that speaks to the terminal")]

mod cli;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use precision_gate::error::{Error, ErrorKind, Result};
use precision_gate::gate::{self, Quiet, Request};
use precision_gate::judge::operation::OperationLine;
use precision_gate::judge::rule;
use precision_gate::msprobe::dump::{Matching, mapping};
use precision_gate::policy::Policy;
use precision_gate::policy::value::Date;
use precision_gate::verdict::CheckId;
use precision_gate::{exit, report};

use cli::{Cli, Command, CommonArgs, CompareArgs, SchemaOf};

/// Policy file that is read without being named.
const DEFAULT_POLICY: &str = "precision-gate.yml";

fn main() -> ExitCode {
    let cli = Cli::parse();
    // A defect of the gate has an exit code of its own; the panic's message has been printed by then.
    ExitCode::from(match std::panic::catch_unwind(|| command(cli.command)) {
        Ok(Ok(code)) => code,
        Ok(Err(error)) => {
            eprintln!("error: {error}");
            if let Some(help) = error.help() {
                eprintln!("help: {help}");
            }
            exit::of_error(&error)
        }
        Err(_) => {
            eprintln!(
                "error: this is a defect of precision-gate; please report it with the command and the message above"
            );
            exit::INTERNAL
        }
    })
}

/// Prints to standard output; a reader that stops reading (`| head`) is no failure.
fn say(text: &str) -> Result<()> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Error::io("standard output", &error)),
        _ => Ok(()),
    }
}

fn command(command: Command) -> Result<u8> {
    match command {
        Command::Run(args) => {
            let policy = policy(&args.common)?;
            let request = Request {
                baseline: args.baseline.unwrap_or_else(|| policy.baseline.location.clone()),
                candidate: args.candidate.unwrap_or_else(|| policy.candidate.location.clone()),
                checks: Request::ALL_CHECKS.to_vec(),
                policy,
                matching: Matching::default(),
            };
            judge(&args.common, &request)
        }
        Command::ConfigCheck(args) => one_check(&args, CheckId::Config, Matching::default()),
        Command::Compare(args) => one_check(&args.pair, CheckId::Dump, matching(&args)?),
        Command::Loss(args) => one_check(&args, CheckId::Loss, Matching::default()),
        Command::Init(args) => {
            let policy = Policy { today: today(args.today.as_deref())?, ..Policy::default() };
            say(&gate::init::policy_text(&args.baseline, &args.candidate, &policy)?)?;
            Ok(exit::PASS)
        }
        Command::Schema { of } => {
            say(&format!("{:#}\n", schema(of).to_value()))?;
            Ok(exit::PASS)
        }
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), env!("CARGO_PKG_NAME"), &mut script);
            say(&String::from_utf8_lossy(&script))?;
            Ok(exit::PASS)
        }
    }
}

fn schema(of: SchemaOf) -> schemars::Schema {
    match of {
        SchemaOf::Config => schemars::schema_for!(Policy),
        SchemaOf::Result => schemars::schema_for!(report::GateResult),
        SchemaOf::Operation => schemars::schema_for!(OperationLine),
    }
}

/// The date given, or the current UTC date.
fn today(given: Option<&str>) -> Result<Date> {
    let today = given.map_or_else(|| jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(), str::to_owned);
    Date::try_from(today).map_err(|error| Error::new(ErrorKind::Usage, "--today", error))
}

fn one_check(args: &cli::PairArgs, check: CheckId, matching: Matching) -> Result<u8> {
    let request = Request {
        baseline: args.baseline.clone(),
        candidate: args.candidate.clone(),
        checks: vec![check],
        policy: policy(&args.common)?,
        matching,
    };
    judge(&args.common, &request)
}

fn matching(args: &CompareArgs) -> Result<Matching> {
    let read = |path: &PathBuf| {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| Error::io(&name, &error))?;
        mapping::parse(&name, &text)
    };
    Ok(Matching {
        fuzzy: args.fuzzy,
        rows: args.data_mapping.as_ref().map(read).transpose()?.unwrap_or_default(),
        modules: args.cell_mapping.as_ref().map(read).transpose()?,
    })
}

fn policy(common: &CommonArgs) -> Result<Policy> {
    let today = today(common.today.as_deref())?;
    let path = match &common.config {
        Some(path) => path.as_path(),
        None if Path::new(DEFAULT_POLICY).exists() => Path::new(DEFAULT_POLICY),
        None => return Ok(Policy { today, ..Policy::default() }),
    };
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| Error::io(&name, &error))?;
    let codes: Vec<&str> = rule::all().map(|rule| rule.code).collect();
    Ok(Policy { today, ..Policy::parse(&name, &text, &codes)? })
}

fn judge(common: &CommonArgs, request: &Request) -> Result<u8> {
    if request.baseline.is_empty() || request.candidate.is_empty() {
        let error = Error::new(ErrorKind::Usage, "", "both a baseline and a candidate are needed");
        return Err(error.with_help("pass --baseline and --candidate, or set `location` of both in the policy file"));
    }
    if let Some(threads) = common.threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
        pool.map_err(|error| Error::new(ErrorKind::Usage, "--threads", error))?;
    }
    let mut outcome = gate::run(request, &Quiet)?;
    report::write::all(
        &mut outcome,
        &report::write::Options { out: &common.out, language: common.lang, xlsx: common.xlsx },
    )?;
    if !common.quiet {
        say(&format!("{}\n", outcome.result.verdict.as_str()))?;
    }
    Ok(exit::of_verdict(outcome.result.verdict, common.warn_exit_code))
}
