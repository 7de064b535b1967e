//! A result that another job left behind, judged again from what it says.
//!
//! Whoever wrote the file may have written anything. So it is read with limits ([`read`]), refused where it contradicts
//! itself (`whole` and one file per kind of unit) or was not judged by the target's policy (`fits`), and its verdicts
//! are added up anew from its rules, units and findings under that policy (`recount`). The verdict it claims is not
//! used. What cannot be known is whether its numbers were measured: for that the artifacts have to be judged again.

mod alone;
mod caps;
mod checkpoint;
mod config;
mod curve;
mod dump;
mod evaluation;
mod fits;
mod limits;
mod monitor;
mod operators;
mod outcome;
mod performance;
mod read;
mod recount;
mod refusal;
mod said;
mod series;
mod source;
mod texts;
mod trend;
mod weight;
mod whole;

use crate::error::Result;
use crate::policy::Policy;
use crate::result::GateResult;
use crate::verdict::Verdict;
use said::Said;

pub use read::{operations_digest, parse, read};
pub use texts::rewrite;

/// Facts that the result is compared with.
#[derive(Clone, Copy, Debug)]
pub struct Against<'a> {
    /// Name of the result in messages.
    pub name: &'a str,
    /// The target's policy.
    pub policy: &'a Policy,
    /// The repository that the result has to be of; empty where it is not known.
    pub repository: &'a str,
    /// Digest of the `operations.jsonl` that lies beside it, where one does.
    pub operations: Option<&'a str>,
}

/// A result whose verdicts follow from what it says and from the target's policy.
#[derive(Clone, Debug)]
pub struct Rechecked {
    /// The result.
    pub result: GateResult,
    /// The verdict that it claimed.
    pub claimed: Verdict,
}

/// Refuses a result that contradicts itself, as one that was edited does; messages call it `name`. Whose policy it was
/// judged by, and how many units it has, is not asked.
///
/// # Errors
/// `Usage`, with the first contradiction.
pub fn refuse_edited(result: &GateResult, name: &str) -> Result<()> {
    let policy = Policy::default();
    let against = Against { name, policy: &policy, repository: "", operations: None };
    let checked = caps::drawn(result).and_then(|()| whole::check(result, &Said::of(result), &against));
    let help = "give the `result.json` as precision-gate wrote it, or judge the artifacts again";
    checked.map_err(|contradiction| contradiction.into_error(name).with_help(help))
}

/// Judges `result` again from what it says.
///
/// # Errors
/// `Usage` where it contradicts itself, is larger than what the gate writes, or was judged by a milder policy.
pub fn recheck(result: GateResult, against: &Against<'_>) -> Result<Rechecked> {
    let said = Said::of(&result);
    let checked = alone::refuse(&result)
        .and_then(|()| caps::check(&result))
        .and_then(|()| whole::check(&result, &said, against))
        .and_then(|()| fits::check(&result, &said, against.policy))
        .and_then(|()| source::fits(&result, against.policy));
    drop(said);
    checked.map_err(|contradiction| contradiction.into_error(against.name))?;
    let claimed = result.verdict;
    Ok(Rechecked { result: recount::recount(result, against.policy), claimed })
}
