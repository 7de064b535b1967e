//! The policy as JSON, as a result carries it: the settings that a verdict was decided under, without defaults.

use serde_json::{Map, Value};

use super::publish::PublishPolicy;
use super::source::SourcePolicy;
use super::{Policy, SidePolicy};
use crate::error::Result;

/// Maps of names in which the order of the file counts.
const ORDERED: [&str; 3] = ["/dump/prefixes", "/dump/modules", "/dump/operations"];

impl Policy {
    /// The policy as JSON that [`Self::from_canonical`] reads: without what equals the default, with sorted keys, and with
    /// lists as a whole. It is `{}` for a policy that sets nothing.
    ///
    /// It holds what [`Self::deciding`] does, without `today` and `digest`.
    pub fn canonical(&self) -> Value {
        let deciding = self.deciding();
        let has_source = deciding.source.is_some();
        let default = Self { source: has_source.then(SourcePolicy::default), ..Self::default() };
        let (whole, default) = (json(&deciding), json(&default));
        let mut canonical = difference(&whole, &default).unwrap_or_else(|| Value::Object(Map::new()));
        for path in ORDERED {
            if let (Some(sorted), Some(written)) = (canonical.pointer_mut(path), whole.pointer(path)) {
                sorted.clone_from(written);
            }
        }
        if let Value::Object(sections) = &mut canonical
            && has_source
            && !sections.contains_key("source")
        {
            // The section is a setting of its own: with it, source is judged.
            sections.insert("source".into(), Value::Object(Map::new()));
            sections.sort_keys();
        }
        canonical
    }

    /// Reads what [`Self::canonical`] gives, by the checks of [`Self::parse`]; messages call it `name`.
    ///
    /// # Errors
    /// `Policy`, as for a policy file.
    pub fn from_canonical(name: &str, value: &Value, codes: &[&str]) -> Result<Self> {
        Self::parse(name, &yaml(value), codes)
    }

    /// The settings that decide a verdict: without locations of the two sides, publishing, history, language, templates and the
    /// folder of sources, and without credentials in the locations that stay (`reference`, noise, repeats).
    #[must_use]
    pub fn deciding(&self) -> Self {
        let named = |side: &SidePolicy| SidePolicy { label: side.label.clone(), ..SidePolicy::default() };
        let mut deciding = Self {
            baseline: named(&self.baseline),
            candidate: named(&self.candidate),
            publish: PublishPolicy::default(),
            history: super::history::HistoryPolicy::default(),
            lang: None,
            templates: None,
            source_root: None,
            ..self.clone()
        };
        for (.., named) in deciding.locations() {
            *named = without_credentials(named.written()).into();
        }
        deciding
    }
}

fn json(policy: &Policy) -> Value {
    serde_json::to_value(policy).expect("invariant: a policy is made of texts and finite numbers")
}

/// The part of `value` that differs from `default`; `None` where they are equal.
fn difference(value: &Value, default: &Value) -> Option<Value> {
    if value == default {
        return None;
    }
    let (Value::Object(value), Value::Object(default)) = (value, default) else { return Some(whole(value)) };
    let of = |(key, value): (&String, &Value)| {
        let differs = default.get(key).map_or_else(|| Some(whole(value)), |default| difference(value, default));
        Some((key.clone(), differs?))
    };
    Some(sorted(value.iter().filter_map(of)))
}

/// `value` with sorted keys, without null fields.
fn whole(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let given = fields.iter().filter(|(_, value)| !value.is_null());
            sorted(given.map(|(key, value)| (key.clone(), whole(value))))
        }
        Value::Array(items) => items.iter().map(whole).collect(),
        _ => value.clone(),
    }
}

fn sorted(fields: impl Iterator<Item = (String, Value)>) -> Value {
    let mut fields: Map<String, Value> = fields.collect();
    fields.sort_keys();
    Value::Object(fields)
}

/// A location as scheme, host and path: without user, password and query, which may hold a signature.
fn without_credentials(location: &str) -> String {
    let Some((scheme, rest)) = location.split_once("://") else { return location.to_owned() };
    let place = rest.split(['?', '#']).next().unwrap_or_default();
    let (host, path) = place.split_at(place.find('/').unwrap_or(place.len()));
    let host = host.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

/// `value` as YAML: its JSON, in which characters are numbered that YAML does not take as they are.
fn yaml(value: &Value) -> String {
    let escaped = |character: char| match u32::from(character) {
        0x20..=0x7e => character.to_string(),
        code @ 0..=0xffff => format!("\\u{code:04x}"),
        code => format!("\\U{code:08x}"),
    };
    value.to_string().chars().map(escaped).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::policy::waiver::Waiver;

    fn read(text: &str) -> Policy {
        Policy::parse("gate.yml", text, &["output-diverges", "nan-appears"]).expect(text)
    }

    #[test]
    fn what_equals_the_default_is_left_out() {
        for (text, canonical) in [
            ("", json!({})),
            ("profile: default\nrequired: []\nloss: {mode: auto, absolute-floor: 1e-5}\n", json!({})),
            ("profile: strict\nloss: {coverage: 0.9}\n", json!({"loss": {"coverage": 0.9}, "profile": "strict"})),
            ("source: {}\n", json!({"source": {}})),
            ("source: {changed-only: false}\n", json!({"source": {"changed-only": false}})),
            ("dump: {limits: [{wrong: 1, noise: 0.5}]}\n", json!({"dump": {"limits": [{"noise": 0.5, "wrong": 1.0}]}})),
            (
                "performance: {required: true}\n",
                json!({"performance": {"required": true}, "required": ["performance"]}),
            ),
        ] {
            assert_eq!(read(text).canonical().to_string(), canonical.to_string(), "{text}");
        }
    }

    #[test]
    fn what_decides_nothing_and_what_may_be_secret_is_left_out() {
        let policy = read(
            "baseline: {location: 'https://u:p@host/gpu', label: A100}
candidate: {location: npu, label: 910B}
reference: {location: 'https://me:pw@host:8443/cpu?X-Amz-Signature=abc#t=1'}
publish: {key: night, webhook: feishu}
history: {location: 's3://bucket/history?profile=ci'}
lang: zh
templates: ci
source-root: src
loss: {noise: ['https://tok@host/a@b/n.json', 'runs/a?b@c']}
performance: {repeats: ['obs://bucket/key?endpoint=x']}
",
        );
        let expected = json!({
            "baseline": {"label": "A100"},
            "candidate": {"label": "910B"},
            "loss": {"noise": ["https://host/a@b/n.json", "runs/a?b@c"]},
            "performance": {"repeats": ["obs://bucket/key"]},
            "reference": {"location": "https://host:8443/cpu"},
        });
        assert_eq!(policy.canonical().to_string(), expected.to_string());
    }

    #[test]
    fn names_keep_the_order_in_which_they_are_tried_and_other_maps_are_sorted() {
        let policy = read(
            "dump: {prefixes: {b.: x, a.: z}, modules: {d: e, c: f}}\nseverity: {output-diverges: warn, nan-appears: fail}\n",
        );
        let canonical = policy.canonical().to_string();
        let expected = r#"{"dump":{"modules":{"d":"e","c":"f"},"prefixes":{"b.":"x","a.":"z"}},"severity":{"nan-appears":"fail","output-diverges":"warn"}}"#;
        assert_eq!(canonical, expected);
    }

    #[test]
    fn every_character_is_read_back() {
        let reason: String =
            ('\u{0}'..='\u{3000}').chain("\u{fdd0}\u{feff}\u{fffd}\u{ffff}\u{1f980}\u{10ffff}".chars()).collect();
        let mut policy = read("waivers: [{code: '*', where: 'a[[]0]', reason: r, owner: o, expires: 2027-01-01}]");
        let waiver = policy.waivers.first().expect("one").clone();
        policy.waivers = vec![Waiver { reason, ..waiver }].into();
        let again = Policy::from_canonical("result.json", &policy.canonical(), &["output-diverges"]).expect("sound");
        assert_eq!(format!("{again:?}"), format!("{:?}", policy.deciding()));
    }

    #[test]
    fn it_is_checked_like_a_policy_file() {
        for (value, said) in [
            (json!({"loss": {"coverage": 2}}), "result.json:1:"),
            (json!({"severity": {"nothing": "warn"}}), "there is no such finding code"),
            (json!({"waivers": [{"code": "*"}]}), "`waivers[0]`"),
            (json!({"no-such-key": 1}), "unknown key `no-such-key`"),
            (json!([1]), "expects"),
            (json!("strict"), "expects"),
        ] {
            let error =
                Policy::from_canonical("result.json", &value, &["output-diverges"]).expect_err(said).to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
