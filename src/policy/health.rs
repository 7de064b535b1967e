//! A run judged by itself: whether one may be, and the rules about it, which hold in pairs too.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::value::Pattern;

/// Rules about a run by itself.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct HealthPolicy {
    /// Whether the candidate is judged alone where no baseline is named; `--health` does the same.
    pub alone: bool,
    /// Finding codes that are left out; what was not read or not compared stays.
    #[schemars(example = &["generation-cut"])]
    pub ignore: Vec<String>,
    /// Parameters of which every rank holds a copy, and those of which each holds a part.
    pub replicas: ReplicaPolicy,
    /// Number of tokens in the vocabulary, where nothing that was recorded tells it.
    #[schemars(range(min = 2))]
    pub vocabulary: Option<Vocabulary>,
}

/// Copies of parameters on several ranks, where names and values do not tell them.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ReplicaPolicy {
    /// Parameters of which each rank holds another part.
    #[schemars(example = &["*.experts.*"])]
    pub sharded: Vec<Pattern>,
    /// Parameters of which each rank holds a copy.
    #[schemars(example = &["*.router.*"])]
    pub replicated: Vec<Pattern>,
}

/// Number of tokens in a vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "u64")]
#[schemars(with = "u64")]
pub struct Vocabulary(u64);

impl Vocabulary {
    /// The number, at least 2.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl TryFrom<u64> for Vocabulary {
    type Error = String;

    fn try_from(tokens: u64) -> Result<Self, String> {
        if tokens < 2 { Err(format!("expects at least 2 tokens, not {tokens}")) } else { Ok(Self(tokens)) }
    }
}

impl HealthPolicy {
    /// Whether findings of `code` are left out.
    pub(crate) fn leaves_out(&self, code: &str) -> bool {
        self.ignore.iter().any(|ignored| ignored == code)
    }
}

impl ReplicaPolicy {
    /// Whether every rank holds a copy of a parameter; `None` where no pattern says. A part goes before a copy.
    pub(crate) fn is_copy(&self, parameter: &str) -> Option<bool> {
        let fits = |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.matches(parameter));
        match (fits(&self.sharded), fits(&self.replicated)) {
            (true, _) => Some(false),
            (false, true) => Some(true),
            (false, false) => None,
        }
    }

    /// Patterns that fit none of `parameters`.
    pub fn unused<'a>(&'a self, parameters: impl Iterator<Item = &'a str> + Clone) -> Vec<&'a str> {
        let all = self.sharded.iter().chain(&self.replicated);
        let is_unused = |pattern: &&Pattern| !parameters.clone().any(|parameter| pattern.matches(parameter));
        all.filter(is_unused).map(Pattern::as_str).collect()
    }
}

/// Reads the section, or `true` and `false` in its place.
pub(super) fn switch_or_section<'de, D: Deserializer<'de>>(deserializer: D) -> Result<HealthPolicy, D::Error> {
    deserializer.deserialize_any(SwitchOrSection)
}

/// Schema of [`switch_or_section`].
pub(super) fn schema(generator: &mut SchemaGenerator) -> Schema {
    let section = generator.subschema_for::<HealthPolicy>();
    json_schema!({"anyOf": [section, {"type": "boolean"}]})
}

struct SwitchOrSection;

impl<'de> Visitor<'de> for SwitchOrSection {
    type Value = HealthPolicy;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`true`, `false`, or a section with `alone`, `ignore`, `replicas` and `vocabulary`")
    }

    fn visit_bool<E: Error>(self, alone: bool) -> Result<HealthPolicy, E> {
        Ok(HealthPolicy { alone, ..HealthPolicy::default() })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<HealthPolicy, A::Error> {
        HealthPolicy::deserialize(MapAccessDeserializer::new(map))
    }
}

#[cfg(test)]
mod tests {
    use crate::policy::Policy;

    const CODES: [&str; 2] = ["generation-cut", "generation-loops"];

    fn read(text: &str) -> Result<Policy, String> {
        Policy::parse("gate.yml", text, &CODES).map_err(|error| error.to_string())
    }

    #[test]
    fn a_switch_and_a_section_turn_the_mode_on() {
        let is_alone = |text: &str| read(text).expect("sound").health.alone;
        assert!(is_alone("health: true") && is_alone("health: {alone: true}"));
        assert!(!is_alone("health: false") && !is_alone("health: {ignore: [generation-cut]}") && !is_alone(""));
        for wrong in ["health: yes please", "health: 1", "health: [true]"] {
            assert!(read(wrong).expect_err(wrong).starts_with("gate.yml:1"), "{wrong}");
        }
    }

    #[test]
    fn an_unknown_code_is_refused_with_the_nearest() {
        let policy = read("health: {ignore: [generation-cut]}").expect("sound");
        assert!(policy.health.leaves_out("generation-cut") && !policy.health.leaves_out("generation-loops"));
        let error = read("health:\n  ignore: [generation-cut, generation-lops]").expect_err("unknown");
        assert!(error.starts_with("gate.yml:2") && error.contains("did you mean `generation-loops`?"), "{error}");
        let error = read("health: {ignored: [generation-cut]}").expect_err("unknown");
        assert!(error.contains("unknown key `health.ignored`; did you mean `health.ignore`?"), "{error}");
    }

    #[test]
    fn patterns_tell_copies_from_parts() {
        let text = "health: {replicas: {sharded: ['*.experts.*'], replicated: ['*.gate.*', '*.router.*']}}";
        let replicas = read(text).expect("sound").health.replicas;
        assert_eq!(replicas.is_copy("layers.0.experts.1.weight"), Some(false));
        assert_eq!(replicas.is_copy("layers.0.gate.weight"), Some(true));
        assert_eq!(replicas.is_copy("layers.0.experts.gate.weight"), Some(false));
        assert_eq!(replicas.is_copy("embedding.weight"), None);
        let names = ["layers.0.experts.1.weight", "layers.0.gate.weight"];
        assert_eq!(replicas.unused(names.into_iter()), ["*.router.*"]);
    }

    #[test]
    fn a_vocabulary_has_at_least_two_tokens() {
        let vocabulary = |text: &str| read(text).map(|policy| policy.health.vocabulary.map(super::Vocabulary::get));
        assert_eq!(vocabulary("health: {vocabulary: 32000}"), Ok(Some(32_000)));
        for wrong in ["1", "0", "-4", "many"] {
            assert!(vocabulary(&format!("health: {{vocabulary: {wrong}}}")).is_err(), "{wrong}");
        }
    }
}
