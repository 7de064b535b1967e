//! The part of the truth that all cases of `fixtures/tokens` state alike: verdict, codes that are told, codes that are not.

use serde_json::Value;

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Everything that the truth of a case asks of verdict and codes and that a result does not meet.
pub(crate) fn unmet(truth: &Value, verdict: &str, told: &[&str]) -> Vec<String> {
    let mut unmet = Vec::new();
    if truth["verdict"] != verdict && !list(&truth["also"]).iter().any(|also| also == verdict) {
        unmet.push(format!("verdict {verdict} in place of {}", truth["verdict"]));
    }
    let is_one = |code: &Value| told.iter().any(|told| code == told);
    // A list inside is a choice.
    let is_told = |code: &&Value| if code.is_array() { list(code).iter().any(is_one) } else { is_one(code) };
    let missing = list(&truth["codes"]).iter().filter(|code| !is_told(code));
    unmet.extend(missing.map(|code| format!("no finding {code}, but {told:?}")));
    let absent = list(&truth["absent"]).iter().filter(is_told);
    unmet.extend(absent.map(|code| format!("a finding {code}")));
    unmet
}
