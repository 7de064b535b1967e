//! Checks that a result is of this program and of this repository, and fits the lines beside it.

use std::collections::BTreeSet;

use super::refusal::{Checked, demand, quoted_start};
use crate::check::Command;
use crate::gate::request::Request;
use crate::judge::rule::artifacts::NO_BASELINE;
use crate::policy::value::Date;
use crate::result::this_tool;
use crate::result::{GateResult, SCHEMA_VERSION};
use crate::verdict::{CheckId, Profile};

/// Refuses a result whose mode, baseline and findings contradict each other.
pub(super) fn refuse_inconsistent(result: &GateResult) -> Checked {
    let has_none = result.is_alone() || result.is_of_source();
    demand(has_none == result.baseline.is_none(), "baseline", || {
        "is there in a result of mode `health`, or missing in a comparison".into()
    })?;
    let is_said = result.measured.iter().any(|one| one.finding.is(&NO_BASELINE));
    demand(result.is_alone() == is_said, "mode", || {
        format!(
            "contradicts the finding `{}`, which stands in every result without a baseline and in no other",
            NO_BASELINE.code
        )
    })?;
    let is_source = result.checks.iter().all(|check| check.id == CheckId::Source);
    demand(!result.is_of_source() || is_source, "mode", || "is `source`, and there are other checks".into())?;
    demand(!result.is_alone() || result.profile != Profile::Release, "profile", || {
        "is `release`, which needs a baseline".into()
    })
}

/// Refuses a result without a baseline, which only judging its artifacts again could confirm.
pub(super) fn refuse_health(result: &GateResult) -> Checked {
    demand(!result.is_alone(), "mode", || {
        "is `health`: the run was judged without a baseline, which can only be repeated on its artifacts".into()
    })
}

/// Refuses a result of another layout, program, day, repository or set of checks, or with other lines.
pub(super) fn check(result: &GateResult, repository: &str, unproved: Option<&str>) -> Checked {
    let is_present = result.schema_version == SCHEMA_VERSION && result.claimed_version.is_none();
    demand(is_present, "schema_version", || {
        format!("is not {SCHEMA_VERSION}, so the verdict cannot be decided again and is only claimed")
    })?;
    demand(result.tool.name == this_tool().name, "tool.name", || "was written by another program".into())?;
    demand(Date::try_from(result.today.clone()).is_ok(), "today", || {
        format!("{} is not a date", quoted_start(&result.today))
    })?;
    let of = result.source.as_ref().map_or("", |source| source.repository.as_str());
    // A project's number and a project's path cannot be compared.
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let comparable = !of.is_empty() && !repository.is_empty() && is_number(of) == is_number(repository);
    demand(!comparable || of.eq_ignore_ascii_case(repository), "source.repository", || {
        format!("{} is not the repository {}", quoted_start(of), quoted_start(repository))
    })?;
    lines(unproved)?;
    checks(result)
}

/// Refuses a result whose lines beside it are missing or are not those that it was written with.
fn lines(unproved: Option<&str>) -> Checked {
    demand(unproved != Some("other-lines"), "operations_digest", || {
        "does not match the `operations.jsonl` next to the result".into()
    })?;
    demand(unproved.is_none(), "operations_digest", || {
        "has no `operations.jsonl` next to the result, so the verdict on its dumps is only claimed".into()
    })
}

/// Refuses a set of checks that no command runs.
fn checks(result: &GateResult) -> Checked {
    let ids: Vec<CheckId> = result.checks.iter().map(|check| check.id).collect();
    demand(!ids.is_empty(), "checks", || "holds no check".into())?;
    let different: BTreeSet<&CheckId> = ids.iter().collect();
    demand(different.len() == ids.len(), "checks", || "holds a check twice".into())?;
    // Source is judged where the policy asks for it.
    let of_runs = |ids: &[CheckId]| ids.iter().copied().filter(|id| *id != CheckId::Source).collect::<Vec<_>>();
    let is_in_order = ids.last() == Some(&CheckId::Source) || !ids.contains(&CheckId::Source);
    let fits = is_in_order && of_runs(&ids) == of_runs(Request::ALL_CHECKS)
        || Command::ALL.iter().any(|command| command.checks() == ids);
    demand(fits, "checks", || "are not those of any command".into())
}
