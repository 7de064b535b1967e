//! Numbers of a culprit, and the name of the rule that they belong to.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::number::Number;

/// Numbers by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Metrics {
    /// The rule that `value` and `limit` belong to; absent where the numbers name themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The numbers.
    #[serde(flatten)]
    numbers: BTreeMap<String, Number>,
}

impl Metrics {
    /// Whether there is neither a number nor a rule.
    pub fn is_empty(&self) -> bool {
        self.rule.is_none() && self.numbers.is_empty()
    }
}

impl From<BTreeMap<String, Number>> for Metrics {
    fn from(numbers: BTreeMap<String, Number>) -> Self {
        Self { rule: None, numbers }
    }
}

impl FromIterator<(String, Number)> for Metrics {
    fn from_iter<I: IntoIterator<Item = (String, Number)>>(numbers: I) -> Self {
        numbers.into_iter().collect::<BTreeMap<_, _>>().into()
    }
}

impl Deref for Metrics {
    type Target = BTreeMap<String, Number>;

    fn deref(&self) -> &Self::Target {
        &self.numbers
    }
}

impl DerefMut for Metrics {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_and_numbers_stand_beside_each_other() {
        let mut metrics: Metrics =
            [("value".to_owned(), Number(327.0)), ("limit".to_owned(), Number(1.2))].into_iter().collect();
        metrics.rule = Some("mean_rel_ratio".to_owned());
        let text = serde_json::to_string(&metrics).expect("JSON");
        assert_eq!(text, r#"{"rule":"mean_rel_ratio","limit":1.2,"value":327.0}"#);
        assert_eq!(serde_json::from_str::<Metrics>(&text).expect("read"), metrics);
        let plain = serde_json::from_str::<Metrics>(r#"{"error":"nan"}"#).expect("read");
        assert!(plain.rule.is_none() && plain.get("error").is_some_and(|error| error.0.is_nan()));
    }
}
