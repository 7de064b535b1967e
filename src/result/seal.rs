//! Digest of what was measured: it tells a result that was edited from one as it was written.
//!
//! It covers everything that a verdict is made of, and nothing that is made of it: findings, verdicts, culprits and causes are
//! decided again whatever the file says. It is no signature. Whoever invents numbers can invent its digest; for that the
//! artifacts have to be judged again.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::GateResult;

/// Parts of a result that a verdict is made of.
const PARTS: [&str; 15] = [
    "schema_version",
    "tool",
    "today",
    "mode",
    "source",
    "policy",
    "baseline",
    "candidate",
    "reference",
    "checks",
    "measured",
    "artifacts",
    "operations_digest",
    "samples",
    "reruns",
];

/// Keys within them that are decided, not measured. A unit's count of findings follows from these, its rules' verdicts too.
const DECIDED: [&str; 6] = ["verdict", "culprit", "runner_up", "inherited_from", "findings", "behind_waived"];

/// The seal of `result` (`sha256:…`).
pub fn seal(result: &GateResult) -> String {
    let written = serde_json::to_value(result).unwrap_or_default();
    let parts: Map<String, Value> =
        PARTS.iter().filter_map(|name| Some(((*name).to_owned(), measured(written.get(*name)?.clone())))).collect();
    format!("sha256:{:x}", Sha256::digest(Value::Object(parts).to_string()))
}

/// A value without what is decided; of a finding that was measured, its number and place stay.
fn measured(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let stay = fields.into_iter().filter(|(name, _)| !DECIDED.contains(&name.as_str()));
            Value::Object(stay.map(|(name, value)| (name, measured(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(measured).collect()),
        other => other,
    }
}
