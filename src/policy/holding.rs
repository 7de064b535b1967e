//! All locations of a policy: a location that is not visited here cannot be opened.

use super::Policy;
use super::input::InputKind;
use super::location::{LocationResolver, PolicyLocation};
use crate::error::Result;

impl Policy {
    /// Locations of the policy, each with its key and what it is read as.
    pub fn locations(&mut self) -> Vec<(&'static str, InputKind, &mut PolicyLocation)> {
        let mut all = vec![("reference.location", InputKind::BaselineFiles, &mut self.reference.location)];
        let baselines = self.baseline.location.0.iter_mut();
        all.extend(baselines.map(|named| ("baseline.location", InputKind::BaselineFiles, named)));
        all.extend(
            self.candidate.location.0.iter_mut().map(|named| ("candidate.location", InputKind::Candidate, named)),
        );
        all.extend(self.loss.noise.0.iter_mut().map(|named| ("loss.noise", InputKind::NoiseBand, named)));
        all.extend(self.dump.noise.0.iter_mut().map(|named| ("dump.noise", InputKind::NoiseBand, named)));
        all.extend(self.performance.repeats.iter_mut().map(|named| ("performance.repeats", InputKind::Repeats, named)));
        all.extend(self.templates.iter_mut().map(|named| ("templates", InputKind::Templates, named)));
        all.extend(self.source_root.iter_mut().map(|named| ("source-root", InputKind::Folders, named)));
        all.extend(self.history.location.iter_mut().map(|named| ("history.location", InputKind::History, named)));
        all
    }

    /// Has `by` resolve every location that the policy names; those resolved before stay as they are.
    ///
    /// # Errors
    /// Errors of `by`.
    pub fn resolve_locations(&mut self, by: &mut LocationResolver<'_>) -> Result<()> {
        self.locations().into_iter().try_for_each(|(_, input, named)| named.resolve(input, by).map(drop))
    }

    /// Trusts all locations as written, in a job whose files are all its own.
    #[must_use]
    pub fn trust_own_files(mut self) -> Self {
        for (_, _, named) in self.locations() {
            named.trust_as_written();
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use schemars::JsonSchema;

    use super::super::location::LOCATION;
    use super::*;

    /// Words of a description after which a text is taken for a location.
    const WORDS: [&str; 6] = ["location", "folder", "file", "path", "archive", "url"];

    /// Texts with such a word that name no place that is opened: patterns over names, and names within a record.
    const NO_LOCATION: [&str; 5] =
        ["baselines.sources", "dump.modules", "dump.prefixes", "source.ignore", "source.paths"];

    /// A policy with every location set.
    const FULL: &str = "{baseline: {location: a}, candidate: {location: b}, reference: {location: c}, loss: {noise: d}, \
                        dump: {noise: [e]}, performance: {repeats: [f]}, templates: g, source-root: h, \
                        history: {location: i}}";

    /// Keys below `at` whose text has the format of a location, and those that only read like one.
    fn keys(root: &Value, schema: &Value, at: &str, found: &mut [BTreeSet<String>; 2]) {
        let described = schema.get("description").and_then(Value::as_str).unwrap_or_default().to_lowercase();
        texts(root, schema, at, &described, found);
    }

    fn texts(root: &Value, schema: &Value, at: &str, described: &str, found: &mut [BTreeSet<String>; 2]) {
        if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
            let target = root.pointer(name.trim_start_matches('#')).expect("a definition");
            return texts(root, target, at, described, found);
        }
        for (name, inner) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let path = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
            keys(root, inner, &path, found);
        }
        let nested = ["items", "additionalProperties"].into_iter().filter_map(|name| schema.get(name));
        let choices = ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|name| schema.get(name)?.as_array()).flatten();
        for inner in nested.chain(choices).filter(|inner| inner.is_object()) {
            texts(root, inner, at, described, found);
        }
        let types = schema.get("type").map(Value::to_string).unwrap_or_default();
        let is_open = ["enum", "const", "pattern"].into_iter().all(|name| schema.get(name).is_none());
        match schema.get("format").and_then(Value::as_str) {
            Some(LOCATION) => _ = found[0].insert(at.to_owned()),
            None if types.contains("string") && is_open && WORDS.iter().any(|word| described.contains(word)) => {
                found[1].insert(at.to_owned());
            }
            _ => {}
        }
    }

    fn keys_of<T: JsonSchema>() -> [BTreeSet<String>; 2] {
        let mut found = [BTreeSet::new(), BTreeSet::new()];
        let schema = schemars::schema_for!(T).to_value();
        keys(&schema, &schema, "", &mut found);
        found
    }

    #[test]
    fn every_key_that_is_a_location_is_held() {
        let [locations, alike] = keys_of::<Policy>();
        let alike: Vec<&str> = alike.iter().map(String::as_str).filter(|key| !NO_LOCATION.contains(key)).collect();
        assert_eq!(alike, Vec::<&str>::new(), "a location is a `Named`");
        let mut policy = Policy::parse("gate.yml", FULL, &[]).expect("a policy");
        let held: BTreeSet<String> = policy.locations().into_iter().map(|(key, ..)| key.to_owned()).collect();
        assert_eq!(held, locations, "`Policy::locations` visits every one");
    }

    #[test]
    fn a_key_of_another_type_is_noticed() {
        /// A section as somebody could add it.
        #[derive(JsonSchema)]
        #[allow(dead_code, reason = "its schema is what is looked at")]
        struct Section {
            /// File that maps names of operations.
            mapping: Option<Vec<String>>,
            /// Folder with limits.
            limits: PolicyLocation,
        }
        let [locations, alike] = keys_of::<Section>();
        assert_eq!((locations, alike), (BTreeSet::from(["limits".to_owned()]), BTreeSet::from(["mapping".to_owned()])));
    }

    #[test]
    fn what_was_not_held_does_not_open() {
        let policy = Policy::parse("gate.yml", FULL, &[]).expect("a policy");
        assert!(policy.reference.location.trusted().is_err());
        let mut policy = policy;
        policy.resolve_locations(&mut |_, written| Ok(written.to_owned())).expect("held");
        assert!(
            policy
                .locations()
                .into_iter()
                .all(|(_, _, named)| named.trusted().is_ok_and(|held| **held == *named.written()))
        );
    }
}
