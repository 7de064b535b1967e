//! The command line of precision-gate: parse arguments, run the command, map the outcome to an exit code.
#![allow(clippy::print_stderr, reason = "the binary is the one place that speaks to the terminal")]

mod cli;

use std::process::ExitCode;

use clap::Parser;
use precision_gate::error::Result;
use precision_gate::exit;

use cli::{Cli, Command, baseline, config_pack, curves, judge, show, tools};

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

fn command(command: Command) -> Result<u8> {
    match command {
        Command::Run(args) => judge::run(args),
        Command::ConfigCheck(args) => judge::config_check(&args),
        Command::ConfigPack(args) => config_pack::run(&args),
        Command::Compare(args) => judge::compare(&args),
        Command::Loss(args) => curves::loss(&args),
        Command::Noise(args) => curves::noise(&args),
        Command::Baseline(args) => baseline::run(args),
        Command::Selftest(args) => curves::selftest(&args),
        Command::Report(args) => show::report(&args),
        Command::Init(args) => tools::init(&args),
        Command::Schema { of } => tools::schema(of),
        Command::Completions { shell } => tools::completions(shell),
    }
}
