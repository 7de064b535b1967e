//! The commands around judging: `init`, `schema`, `completions`.

use clap::{Args, Command, ValueEnum};
use precision_gate::error::Result;
use precision_gate::policy::Policy;
use precision_gate::result::GateResult;
use precision_gate::result::operation::OperationLine;
use precision_gate::signoff::Signoff;
use precision_gate::{exit, gate};

use super::policy_file::today;
use super::{fetching, pipelines, show, speech};

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

/// `precision-gate init`
pub(crate) fn init(args: &InitArgs) -> Result<u8> {
    let (Some(baseline), Some(candidate)) = (&args.baseline, &args.candidate) else {
        return pipelines::write(&args.pipelines);
    };
    let policy = Policy { today: today(args.today.as_deref())?, ..Policy::default() };
    show::say(&gate::init::policy_text(baseline, candidate, &policy, (&args.fetching.fetcher(), speech::language()))?)?;
    Ok(exit::PASS)
}

/// `precision-gate schema`
pub(crate) fn schema(of: SchemaOf) -> Result<u8> {
    let schema = match of {
        SchemaOf::Config => schemars::schema_for!(Policy),
        SchemaOf::Result => schemars::schema_for!(GateResult),
        SchemaOf::Operation => schemars::schema_for!(OperationLine),
        SchemaOf::Signoff => schemars::schema_for!(Signoff),
    };
    show::say(&format!("{:#}\n", schema.to_value()))?;
    Ok(exit::PASS)
}

/// A command as its help shows it: the generator of completions offers hidden flags and commands too.
fn visible(command: &Command) -> Command {
    let shown = Command::new(command.get_name().to_owned())
        .version(env!("CARGO_PKG_VERSION"))
        .args(command.get_arguments().filter(|flag| !flag.is_hide_set()).cloned())
        .subcommands(command.get_subcommands().filter(|command| !command.is_hide_set()).map(visible));
    match command.get_about() {
        Some(about) => shown.about(about.clone()),
        None => shown,
    }
}

/// `precision-gate completions` of `program`.
pub(crate) fn completions(shell: clap_complete::Shell, program: &Command) -> Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut visible(program), env!("CARGO_PKG_NAME"), &mut script);
    let script = String::from_utf8_lossy(&script);
    // The generator spells the hyphen of the program's name in two ways, so that bash would complete no sub-command.
    let script = script.replace("precision__subcmd__gate", "precision__gate");
    show::say(&script)?;
    Ok(exit::PASS)
}
