//! History: location of the records of runs, and the alert for a broken suite.

use super::location::PolicyLocation;
use crate::result::history::Suite;
use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Runs that a summary looks at by default: a month of nights.
const USUAL_LAST: NonZeroU32 = NonZeroU32::new(30).expect("invariant: 30 is not 0");

/// History of runs.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct HistoryPolicy {
    /// Location of the records: a folder, `s3://`, `obs://`, or `branch:NAME` of the repository; none where
    /// it is not given. The run of a pull request looks at them and adds none.
    #[schemars(example = &"branch:precision-history")]
    pub location: Option<PolicyLocation>,
    /// The suite whose runs are compared with each other.
    pub suite: Suite,
    /// Number of runs in a row in which the same case has to fail before it is an alert.
    pub alert_after: NonZeroU32,
    /// Number of runs that a summary looks at, this one included.
    pub last: NonZeroU32,
}

impl Default for HistoryPolicy {
    fn default() -> Self {
        Self { location: None, suite: Suite::default(), alert_after: NonZeroU32::MIN, last: USUAL_LAST }
    }
}
