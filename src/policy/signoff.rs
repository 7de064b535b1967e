//! Requirements of a release before it can be signed off.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::publish::Key;
use super::value::Pattern;
use crate::error::Result;
use crate::verdict::{CheckId, Profile};

/// Demands of `precision-gate signoff` on the results it is given. Warnings always block, and so does a waiver that has
/// expired or that has no owner.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct SignoffPolicy {
    /// The commit that every result has to be of, in full or its first 7 digits or more; where it is not given, all results
    /// have to be of the same one. `--commit` goes before it.
    #[schemars(example = &"0a1b2c3")]
    pub commit: Option<String>,
    /// Days that a result may be old.
    pub max_age_days: u32,
    /// Demand on every baseline.
    pub baselines: BaselineDemand,
    /// People of whom each has to approve (`--approved-by`).
    pub approvers: Vec<String>,
    /// The suites that have to be there.
    pub suites: Vec<SuitePolicy>,
}

/// Demand on a baseline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BaselineDemand {
    /// Named by its manifest (`baseline:NAME`), and found to fit it.
    #[default]
    Verified,
    /// Any; the document says which ones fit no manifest.
    Any,
}

/// A suite that has to be there.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SuitePolicy {
    /// Its name, as the command line or the result's folder gives it.
    #[schemars(example = &"glm")]
    pub name: Key,
    /// The profile it has to be judged by.
    #[serde(default = "release")]
    pub profile: Profile,
    /// Checks that have to pass in it; none may be skipped.
    #[serde(default, deserialize_with = "super::value::checks_of_run")]
    #[schemars(schema_with = "super::value::checks_of_run_schema")]
    pub checks: Vec<CheckId>,
    /// Pattern that the candidate's label has to match: `Atlas 800*`.
    #[serde(default)]
    #[schemars(example = &"Atlas 800*")]
    pub candidate: Option<Pattern>,
    /// Labels of the suite in the document: model, steps, ranks, platform.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
}

fn release() -> Profile {
    Profile::Release
}

impl Default for SignoffPolicy {
    fn default() -> Self {
        Self {
            commit: None,
            max_age_days: 14,
            baselines: BaselineDemand::default(),
            approvers: Vec::new(),
            suites: Vec::new(),
        }
    }
}

impl SignoffPolicy {
    /// Reads the section from a file of its own; messages call it `name`.
    ///
    /// # Errors
    /// `Policy`, with line and column.
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        super::reading::File { name, text }.read()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_is_judged_for_release_where_nothing_else_is_said() {
        let policy = SignoffPolicy::parse("signoff.yml", "suites: [{ name: llama }]\n").expect("valid");
        assert_eq!(policy.suites.first().map(|suite| suite.profile), Some(Profile::Release));
        assert_eq!((policy.max_age_days, policy.baselines), (14, BaselineDemand::Verified));
        for (text, place) in [
            ("suites: [{ name: a b }]\n", "signoff.yml:1:"),
            ("max-age-days: -1\n", "signoff.yml:1:"),
            ("suites:\n  - nam: x\n", "signoff.yml:2:"),
        ] {
            let error = SignoffPolicy::parse("signoff.yml", text).expect_err("refused").to_string();
            assert!(error.starts_with(place), "{error}");
        }
    }
}
