//! Description of the values that a key accepts, in words and as an example, from the JSON Schema of its type.

use serde_json::Value;

use super::path::{Path, PathStep};

/// Keys of a section that its shape shows.
const SHOWN_KEYS: usize = 3;

/// The part of a schema that is about one value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected<'a> {
    root: &'a Value,
    /// The schema where the key is declared; its examples take precedence over those of its type.
    declared: &'a Value,
    /// The schema of its type, with references resolved and `null` removed.
    node: &'a Value,
}

/// Kinds of value that YAML tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Section,
    List,
    Text,
    Number,
    Whole,
    Switch,
}

impl<'a> Expected<'a> {
    /// The expectation of the whole document.
    pub(super) fn from_schema(schema: &'a Value) -> Self {
        Self { root: schema, declared: schema, node: schema }
    }

    fn at_schema(self, declared: &'a Value) -> Self {
        let mut node = declared;
        loop {
            if let Some(name) = node.get("$ref").and_then(Value::as_str) {
                let Some(found) = name.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer)) else { break };
                node = found;
            } else if let [only] = self.options(node).as_slice() {
                node = only;
            } else {
                break;
            }
        }
        Self { root: self.root, declared, node }
    }

    /// Alternatives to choose from, without `null`.
    fn options(self, node: &'a Value) -> Vec<&'a Value> {
        let options = node.get("anyOf").and_then(Value::as_array).into_iter().flatten();
        options.filter(|option| option.get("type").and_then(Value::as_str) != Some("null")).collect()
    }

    /// The alternative forms that the value may have; the expectation itself where there is only one.
    pub(super) fn forms(self) -> Vec<Self> {
        let options = self.options(self.node);
        if options.is_empty() { vec![self] } else { options.into_iter().map(|option| self.at_schema(option)).collect() }
    }

    /// The expectation at `path`, where the schema knows it.
    pub(super) fn at(self, path: &Path) -> Option<Self> {
        path.steps().iter().try_fold(self, |expected, step| {
            expected.forms().into_iter().find_map(|form| match step {
                PathStep::Key(key) => form.key(key),
                PathStep::Index(_) => form.entry(),
            })
        })
    }

    /// The keys of a section; empty where any name is allowed.
    pub(super) fn keys(self) -> Vec<&'a str> {
        let known = self.node.get("properties").and_then(Value::as_object);
        known.into_iter().flat_map(|known| known.keys()).map(String::as_str).collect()
    }

    pub(super) fn required(self) -> Vec<&'a str> {
        let names = self.node.get("required").and_then(Value::as_array);
        names.into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// The expectation of a key's value.
    pub(super) fn key(self, name: &str) -> Option<Self> {
        let declared = self.node.get("properties").and_then(|known| known.get(name));
        declared.or_else(|| self.any_key()).map(|declared| self.at_schema(declared))
    }

    fn any_key(self) -> Option<&'a Value> {
        self.node.get("additionalProperties").filter(|schema| schema.is_object())
    }

    /// The expectation of a list's entries.
    pub(super) fn entry(self) -> Option<Self> {
        self.node.get("items").map(|items| self.at_schema(items))
    }

    /// The words to choose one of.
    pub(super) fn choices(self) -> Vec<&'a str> {
        let listed = self.node.get("enum").and_then(Value::as_array).into_iter().flatten();
        let constants = self.node.get("oneOf").and_then(Value::as_array).into_iter().flatten();
        listed.chain(constants.filter_map(|option| option.get("const"))).filter_map(Value::as_str).collect()
    }

    pub(super) fn kind(self) -> Option<Kind> {
        if !self.choices().is_empty() {
            return Some(Kind::Text);
        }
        let named = self.node.get("type")?;
        let names = named.as_array().map_or_else(|| vec![named], |names| names.iter().collect());
        names.into_iter().filter_map(Value::as_str).find_map(|name| match name {
            "object" => Some(Kind::Section),
            "array" => Some(Kind::List),
            "string" => Some(Kind::Text),
            "number" => Some(Kind::Number),
            "integer" => Some(Kind::Whole),
            "boolean" => Some(Kind::Switch),
            _ => None,
        })
    }

    /// The expectation in words, to follow "expects".
    pub(super) fn words(self) -> String {
        let forms = self.forms();
        if let [_, _, ..] = forms.as_slice() {
            return joined(&forms.into_iter().map(Self::words).collect::<Vec<_>>());
        }
        if !self.choices().is_empty() {
            return joined(&quoted(self.choices()));
        }
        match self.kind() {
            Some(Kind::Section) => format!("`{}`", self.shape()),
            Some(Kind::List) => self.list(),
            Some(Kind::Number) => format!("a number{}", self.bounds()),
            Some(Kind::Whole) => format!("a whole number{}", self.bounds()),
            Some(Kind::Switch) => "`true` or `false`".to_owned(),
            Some(Kind::Text) | None => match self.given() {
                Some(example) => format!("a text such as `{example}`"),
                None => "a text".to_owned(),
            },
        }
    }

    fn list(self) -> String {
        match self.entry().map(|entry| (entry.kind(), entry.choices(), entry)) {
            Some((_, choices, _)) if !choices.is_empty() => format!("a list of {}", joined(&quoted(choices))),
            Some((Some(Kind::Section), _, entry)) => format!("a list of `{}`", entry.shape()),
            Some((Some(Kind::List), ..)) => "a list of lists".to_owned(),
            _ => "a list of texts".to_owned(),
        }
    }

    /// A section as people write it: `{location: ..., label: ...}`.
    fn shape(self) -> String {
        let mut keys = self.keys();
        if keys.is_empty() {
            return "{NAME: ...}".to_owned();
        }
        let required = self.required();
        let shown = if required.is_empty() { SHOWN_KEYS } else { required.len() };
        keys.sort_by_key(|key| !required.contains(key));
        let more = if keys.len() > shown { ", ..." } else { "" };
        let keys: Vec<String> = keys.into_iter().take(shown).map(|key| format!("{key}: ...")).collect();
        format!("{{{}{more}}}", keys.join(", "))
    }

    fn bounds(self) -> String {
        let bound = |name| self.node.get(name).filter(|bound| bound.is_number());
        let least = bound("minimum").map(|least| format!(" of at least {least}"));
        let above = bound("exclusiveMinimum").map(|above| format!(" above {above}"));
        // The largest number of an integer type is not a meaningful bound.
        let most = bound("maximum").filter(|most| most.as_f64() < Some(f64::from(u16::MAX)));
        let most = most.map(|most| format!(" and at most {most}"));
        [least, above, most].into_iter().flatten().collect()
    }

    /// The largest number, where the schema or the type of a whole number has one.
    pub(super) fn most(self) -> Option<f64> {
        let said = self.node.get("maximum").and_then(Value::as_f64);
        said.or_else(|| match self.node.get("format")?.as_str()? {
            "uint16" => Some(u16::MAX.into()),
            "uint32" => Some(u32::MAX.into()),
            _ => None,
        })
    }

    /// The example that the schema gives.
    fn given(self) -> Option<&'a str> {
        [self.declared, self.node].into_iter().find_map(|schema| schema.get("examples")?.get(0)?.as_str())
    }

    /// A value that fits, as YAML in one line.
    pub(super) fn sample(self) -> String {
        if let Some(example) = self.given() {
            return scalar(example);
        }
        if let [first, _, ..] = self.forms().as_slice() {
            return first.sample();
        }
        if let Some(choice) = self.choices().first() {
            return (*choice).to_owned();
        }
        let set = [self.declared, self.node].into_iter().find_map(|schema| schema.get("default"));
        match self.kind() {
            Some(Kind::Section) => self.sample_section(),
            Some(Kind::List) if set.is_some_and(|set| set.as_array().is_some_and(|list| !list.is_empty())) => {
                set.map(Value::to_string).unwrap_or_default()
            }
            Some(Kind::List) => format!("[{}]", self.entry().map(Self::sample).unwrap_or_default()),
            Some(Kind::Number) => {
                let bound = |schema: &Value| {
                    let above = schema.get("exclusiveMinimum").and_then(Value::as_f64).map(|bound| 2.0 * bound);
                    schema.get("minimum").and_then(Value::as_f64).or(above)
                };
                let least = [self.declared, self.node].into_iter().find_map(bound);
                least.filter(|least| *least > 0.01).map_or_else(|| "0.01".to_owned(), |least| least.to_string())
            }
            Some(Kind::Whole) => {
                set.filter(|value| value.is_number()).map_or_else(|| "30".to_owned(), Value::to_string)
            }
            Some(Kind::Switch) => "true".to_owned(),
            Some(Kind::Text) | None => "text".to_owned(),
        }
    }

    fn sample_section(self) -> String {
        let (keys, required) = (self.keys(), self.required());
        if keys.is_empty() {
            return format!("{{NAME: {}}}", self.key("").map(Self::sample).unwrap_or_default());
        }
        let shown = if required.is_empty() { keys.into_iter().take(1).collect() } else { required };
        let sample = |key: &str| self.key(key).map(|expected| format!("{key}: {}", expected.sample()));
        format!("{{{}}}", shown.into_iter().filter_map(sample).collect::<Vec<_>>().join(", "))
    }
}

/// A text as a YAML scalar, in quotes where its characters would have a meaning.
fn scalar(text: &str) -> String {
    let plain = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '.' | '-' | '_' | '/' | ' ');
    let starts_plain = text.starts_with(|sign: char| sign.is_ascii_alphanumeric());
    if starts_plain && text.chars().all(plain) { text.to_owned() } else { format!("'{text}'") }
}

fn quoted(words: Vec<&str>) -> Vec<String> {
    words.into_iter().map(|word| format!("`{word}`")).collect()
}

/// `a, b or c`
pub(super) fn joined(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}
