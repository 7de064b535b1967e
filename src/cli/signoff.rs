//! `signoff`: one document from the results of all suites of a release candidate.
#![allow(clippy::print_stderr, reason = "what stands against a sign-off is told here")]

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use precision_gate::error::Result;
use precision_gate::exit;
use precision_gate::gate::recheck;
use precision_gate::output::{DocumentSet, Output};
use precision_gate::policy::signoff::SignoffPolicy;
use precision_gate::report::messages::Language;
use precision_gate::report::rewrite::rewrite;
use precision_gate::signoff::check::{self, SignoffRequest};
use precision_gate::signoff::input::{SignoffResults, UnreadResult};
use precision_gate::signoff::refusal::Refusal;
use precision_gate::signoff::write::{self, SignoffOptions};

use super::publish::attach::{self, AttachArgs};
use super::{policy_file, show, speech};

/// `signoff`
#[derive(Debug, Args)]
pub(crate) struct SignoffArgs {
    /// Results of the suites: NAME=PATH, or a result or its folder, whose name is then that of the suite
    #[arg(required = true, value_name = "RESULT")]
    pub(crate) results: Vec<String>,
    /// File with the requirements, in place of `signoff` in the policy file
    #[arg(long, value_name = "FILE")]
    pub(crate) require: Option<PathBuf>,
    /// Policy file [default: precision-gate.yml, if it exists]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Folder for the documents
    #[arg(long, short, value_name = "DIR", default_value = "signoff")]
    pub(crate) out: PathBuf,
    /// Replace files of the same names that precision-gate did not write
    #[arg(long)]
    pub(crate) force: bool,
    /// Commit of the release [default: that of the policy file, or of all results]
    #[arg(long, value_name = "COMMIT")]
    pub(crate) commit: Option<String>,
    /// Person who approved; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) approved_by: Vec<String>,
    /// Languages of the documents
    #[arg(long, value_enum, default_value_t = Languages::Both)]
    pub(crate) lang: Languages,
    /// Date to judge by, for waivers and ages [default: today, in UTC]
    #[arg(long, value_name = "YYYY-MM-DD")]
    pub(crate) today: Option<String>,
    /// Folder with your own templates of the documents
    #[arg(long, value_name = "DIR")]
    pub(crate) templates: Option<PathBuf>,
    /// Print the reasons against it and errors only
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) attach: AttachArgs,
}

/// Languages of the documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Languages {
    /// English
    En,
    /// Chinese
    Zh,
    /// Both
    Both,
}

impl Languages {
    fn list(self) -> &'static [Language] {
        match self {
            Self::En => &[Language::En],
            Self::Zh => &[Language::Zh],
            Self::Both => &Language::ALL,
        }
    }

    /// That of messages.
    fn first(self) -> Language {
        match self {
            Self::En => Language::En,
            Self::Zh => Language::Zh,
            Self::Both => speech::language(),
        }
    }
}

/// `precision-gate signoff`: exits 1 where anything stands against it, and writes nothing then.
pub(crate) fn signoff(args: &SignoffArgs) -> Result<u8> {
    let output = Output::begin_beside_others(&args.out, DocumentSet::Signoff, args.force)?;
    let policy = policy_file::policy(args.config.as_deref(), args.today.as_deref())?;
    let required = required(args, policy.signoff)?;
    let commit = args.commit.as_deref().or(required.commit.as_deref());
    let language = args.lang.first();
    let today = policy_file::today(args.today.as_deref())?;
    let request = SignoffRequest { policy: &required, commit, approved_by: &args.approved_by, today, language };
    request.check()?;
    let templates = show::templates(
        args.templates.as_deref().or(policy.templates.as_ref().map(|named| Path::new(named.written()))),
    )?;
    let mut results = SignoffResults::load(&args.results, &required)?;
    decide_again(&mut results, language);
    let signoff = match check::assess(&results, &request) {
        Ok(signoff) => signoff,
        Err(refusals) => return refuse(&refusals, language),
    };
    let options = SignoffOptions { languages: args.lang.list(), templates: &templates };
    let written = write::write_documents(&signoff, &results.loaded, output, &options)?;
    if !args.quiet {
        let lines: String = written.iter().map(|path| format!("{}\n", path.display())).collect();
        show::say(&lines)?;
    }
    attach::attach(&args.attach, &written)
}

/// Decides every result again, under the policy that it carries; one that was edited counts as unreadable.
fn decide_again(results: &mut SignoffResults, language: Language) {
    let mut loaded = Vec::new();
    for mut one in std::mem::take(&mut results.loaded) {
        // Other lines than those of the result are a refusal of their own.
        let lines = one.operations_digest().and(one.result.operations_digest.clone());
        let decided = recheck::decide_again(&mut one.result, &one.path, lines.as_deref())
            .and_then(|()| rewrite(&mut one.result, &one.path, language));
        match decided {
            Ok(()) => loaded.push(one),
            Err(error) => results.unread.push(UnreadResult { suite: one.suite, error }),
        }
    }
    results.loaded = loaded;
}

/// The requirements: a file of their own takes precedence over the policy's section.
fn required(args: &SignoffArgs, of_policy: SignoffPolicy) -> Result<SignoffPolicy> {
    let Some(path) = &args.require else { return Ok(of_policy) };
    let name = path.display().to_string();
    SignoffPolicy::parse(&name, &policy_file::read(path)?)
}

fn refuse(refusals: &[Refusal], language: Language) -> Result<u8> {
    for refusal in refusals {
        eprintln!("refused: {}", refusal.line(language)?);
    }
    Ok(exit::FAIL)
}
