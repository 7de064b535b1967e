//! `precision-gate explain`: what a code means, and the waiver to paste.

use clap::Args;
use precision_gate::error::{Error, ErrorKind, Result};
use precision_gate::exit;
use precision_gate::report::explain;
use precision_gate::report::messages::Language;

use super::policy_file::today;
use super::show;

/// `explain`
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// Code of a finding or a likely cause, or name of a rule; the name of a check lists its codes [default: lists all codes]
    #[arg(value_name = "CODE")]
    pub(crate) code: Option<String>,
    /// Language of the explanation [default: `lang` of the policy file, else that of the locale]
    #[arg(long, value_enum, default_value_t = Language::En, hide_default_value = true)]
    pub(crate) lang: Language,
    /// Today's date, from which the waiver counts its days [default: the current UTC date]
    #[arg(long, value_name = "YYYY-MM-DD")]
    pub(crate) today: Option<String>,
}

/// `precision-gate explain`
pub(crate) fn explain(args: &ExplainArgs) -> Result<u8> {
    let code = args.code.as_deref().map(str::trim);
    let text = match code {
        None => explain::list(None, args.lang),
        Some(check) if explain::is_check(check) => explain::list(Some(check), args.lang),
        Some(code) => {
            let today = today(args.today.as_deref())?.to_string();
            let expires = explain::expiry(&today).unwrap_or(today);
            explain::explain(code, args.lang, &expires).ok_or_else(|| unknown(code))?
        }
    };
    show::say(&text)?;
    Ok(exit::PASS)
}

/// The answer to a code that does not exist, with those that were probably meant.
fn unknown(code: &str) -> Error {
    let similar: Vec<String> = explain::similar_codes(code).into_iter().map(|code| format!("`{code}`")).collect();
    let meant = if similar.is_empty() { String::new() } else { format!("; did you mean {}?", similar.join(", ")) };
    Error::new(ErrorKind::Usage, code, format!("is no code of a finding, a cause or a rule{meant}"))
        .with_help("`precision-gate explain` lists all codes")
}
