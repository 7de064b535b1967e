//! The command line of precision-gate: parse arguments, run the command, map the outcome to an exit code.
#![allow(clippy::print_stderr, reason = "the binary is the one place that speaks to the terminal")]

mod cli;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::{CommandFactory, FromArgMatches};
use precision_gate::error::{Error, Result};
use precision_gate::exit;
use precision_gate::language::Language;

use cli::{
    Cli, Command, answer, baseline, calibrate, config_pack, curves, explain, help, history, inputs, judge, merge,
    publish, reproduce, run, show, signoff, source, speech, tools,
};

/// Records are many small texts: a quarter of the time of a large dump went into the C library's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Sets the exit code for an end of memory, which Rust tells before it aborts where the system refuses memory or a stack runs
/// over: that of an outside world that failed, as the machine is too small for what it was given.
fn tell_where_memory_ends() {
    let always = Arc::new(AtomicBool::new(true));
    let code = i32::from(exit::UNAVAILABLE);
    if let Err(error) = signal_hook::flag::register_conditional_shutdown(signal_hook::consts::SIGABRT, code, always) {
        eprintln!("warning: an end of memory will look like a crash: {error}");
    }
}

fn main() -> ExitCode {
    tell_where_memory_ends();
    let cli = match arguments() {
        Ok(arguments) => match parsed(arguments) {
            Ok(cli) => cli,
            Err(code) => return code,
        },
        Err(error) => return ended(&error),
    };
    // A defect of the gate has an exit code of its own; the panic's message has been printed by then.
    ExitCode::from(match std::panic::catch_unwind(|| command(cli.command)) {
        Ok(Ok(code)) => code,
        Ok(Err(error)) => return ended(&error),
        Err(_) => {
            speech::tell(
                speech::Weight::Error,
                "this is a defect of precision-gate; please report it with the command and the message above",
            );
            exit::INTERNAL
        }
    })
}

/// The command line, filled up from inputs of an action or a component.
fn arguments() -> Result<Vec<OsString>> {
    let text = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
    let inputs: BTreeMap<String, String> =
        std::env::vars_os().filter_map(text).filter(|(name, _)| name.starts_with("INPUT_")).collect();
    let arguments = std::env::args_os().collect();
    if inputs.is_empty() { Ok(arguments) } else { inputs::with_inputs(arguments, &inputs, &Cli::command()) }
}

/// The parsed command line; the exit code where it asks for help, or is wrong. Clap says both, in Chinese by its catalogue.
fn parsed(arguments: Vec<OsString>) -> Result<Cli, ExitCode> {
    let language = speech::choose(&arguments);
    let program = help::in_language(Cli::command(), language);
    let matches = program.try_get_matches_from(arguments).and_then(|matches| Cli::from_arg_matches(&matches));
    matches.map_err(|error| {
        if language == Language::En {
            error.exit();
        }
        let is_error = error.use_stderr();
        let is_terminal = if is_error { std::io::stderr().is_terminal() } else { std::io::stdout().is_terminal() };
        let text = help::in_chinese(&error, is_terminal && std::env::var_os("NO_COLOR").is_none());
        if is_error {
            eprint!("{text}");
        } else if let Err(error) = show::say(&text) {
            return ended(&error);
        }
        ExitCode::from(if is_error { exit::USAGE } else { exit::PASS })
    })
}

fn ended(error: &Error) -> ExitCode {
    speech::tell_error(error);
    ExitCode::from(exit::of_error(error))
}

fn command(command: Command) -> Result<u8> {
    match command {
        Command::Run(args) => run::run(*args),
        Command::ConfigCheck(args) => judge::config_check(&args),
        Command::ConfigPack(args) => config_pack::run(&args),
        Command::Compare(args) => judge::compare(&args),
        Command::Loss(args) => curves::loss(&args),
        Command::Source(args) => source::run(&args),
        Command::Merge(args) => merge::merge(args),
        Command::Noise(args) => curves::noise(&args),
        Command::Calibrate(args) => calibrate::calibrate(&args),
        Command::Baseline(args) => baseline::run(args),
        Command::History(args) => history::commands::run(&args),
        Command::Selftest(args) => curves::selftest(&args),
        Command::Signoff(args) => signoff::signoff(&args),
        Command::Report(args) => show::report(&args),
        Command::Publish(args) => publish::publish(&args),
        Command::Answer(args) => answer::answer(&args),
        Command::NextDump(args) => show::next_dump(&args),
        Command::Reproduce(args) => reproduce::reproduce(&args),
        Command::Explain(args) => explain::explain(&args),
        Command::Init(args) => tools::init(&args),
        Command::Schema { of } => tools::schema(of),
        Command::Completions { shell } => tools::completions(shell, &Cli::command()),
    }
}
