//! Flags that several commands share.

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use precision_gate::report::messages::Language;
use precision_gate::verdict::Profile;

use super::fetching;

/// The parser of a profile by its name.
pub(crate) fn profile() -> impl TypedValueParser<Value = Profile> {
    let about = |profile| match profile {
        Profile::Default => "Another precision warns, a wrong number fails",
        Profile::Strict => "Another precision fails too",
        Profile::BitExact => "Any difference fails",
        Profile::Release => "Warnings block, declared checks are required, the baseline must verify",
    };
    let values = Profile::ALL.map(|profile| PossibleValue::new(profile.as_str()).help(about(profile)));
    let find = |name: String| Profile::ALL.into_iter().find(|profile| profile.as_str() == name);
    PossibleValuesParser::new(values).try_map(move |name| find(name).ok_or("no profile"))
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

/// Flags of every judging command.
#[derive(Clone, Debug, Args)]
pub(crate) struct CommonArgs {
    /// Folder for the results; `-` prints `result.json` and writes nothing [default: precision-gate-out]
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
    /// Print `result.json` in place of the summary
    #[arg(long, help_heading = "Reports", conflicts_with = "verbose")]
    pub(crate) json: bool,
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

impl CommonArgs {
    /// Whether the results go to standard output alone.
    pub(crate) fn keeps_nothing(&self) -> bool {
        self.out == Path::new("-")
    }

    /// Whether standard output is for the result, and for nothing else.
    pub(crate) fn prints_result(&self) -> bool {
        self.json || self.keeps_nothing()
    }

    /// The same, for documents in another folder that nobody is told of.
    pub(crate) fn aside(&self, out: PathBuf) -> Self {
        let documents = DocumentArgs { quiet: true, verbose: false, ..self.documents.clone() };
        Self { out, documents, json: false, ..self.clone() }
    }
}

/// Flags about the written documents.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Reports")]
pub(crate) struct DocumentArgs {
    /// Language of the reports [default: `lang` of the policy file, else that of the locale]
    #[arg(long, value_enum, default_value_t = Language::En, hide_default_value = true)]
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
