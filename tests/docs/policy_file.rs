//! `docs/reference-policy.md`: every key of the policy file, from its JSON Schema.

use std::collections::BTreeMap;
use std::fmt::Write;

use precision_gate::policy::Policy;
use serde_json::{Map, Value};

use super::fresh::is_fresh;
use super::pages::slug;

/// Values of a list that are shown in a cell; longer lists stand at the end of the page alone.
const SHOWN: usize = 6;

/// Pages that explain a section.
const PAGES: [(&str, &str); 16] = [
    ("reference", "dump.md#a-third-run"),
    ("baselines", "baselines.md"),
    ("waivers[]", "policy.md#waivers"),
    ("config", "config-check.md#policy"),
    ("loss", "loss.md#policy"),
    ("dump", "dump.md#policy"),
    ("checkpoint", "policy.md#limits-that-are-too-wide"),
    ("monitor", "monitor.md"),
    ("evaluation", "evaluation.md#policy"),
    ("operators", "operators.md#policy"),
    ("tokens", "tokens.md#policy"),
    ("performance", "performance-check.md#policy"),
    ("source", "source.md#policy"),
    ("publish", "publish.md"),
    ("history", "history.md"),
    ("signoff", "signoff.md"),
];

/// The schema, and what the page has said so far.
struct Reference {
    definitions: Map<String, Value>,
    /// Sections that wait to be written: place in the file, and schema.
    waiting: Vec<(String, Value)>,
    /// The place where a definition is described, by its name.
    described: BTreeMap<String, String>,
    /// Lists of values with a meaning each, by the name of their definition.
    choices: BTreeMap<String, Vec<(String, String)>>,
}

fn text<'a>(schema: &'a Value, key: &str) -> &'a str {
    schema[key].as_str().unwrap_or_default()
}

/// A text as a cell of a table holds it.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

fn code(value: &Value) -> String {
    let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if shown.contains('`') { shown } else { format!("`{}`", cell(&shown)) }
}

/// Whether a default sets nothing.
fn is_empty(default: &Value) -> bool {
    match default {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(entries) => entries.is_empty(),
        Value::Object(entries) => entries.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Bounds of a number in words.
fn bounds(schema: &Value) -> String {
    let words =
        [("minimum", "at least"), ("exclusiveMinimum", "above"), ("maximum", "at most"), ("exclusiveMaximum", "below")];
    let bound = |(key, word): (&str, &str)| schema.get(key).map(|bound| format!("{word} {bound}"));
    let bounds: Vec<String> = words.into_iter().filter_map(bound).collect();
    if bounds.is_empty() { String::new() } else { format!(", {}", bounds.join(", ")) }
}

impl Reference {
    /// The schema that another refers to, with its name.
    fn definition(&self, schema: &Value) -> Option<(String, Value)> {
        let name = schema["$ref"].as_str()?.rsplit('/').next()?.to_owned();
        let definition = self.definitions[&name].clone();
        Some((name, definition))
    }

    /// Words for what a key takes at the place `at`.
    fn kind(&mut self, schema: &Value, at: &str) -> String {
        if let Some((name, definition)) = self.definition(schema) {
            return self.named_kind(&name, &definition, at);
        }
        let forms = ["anyOf", "oneOf"].iter().find_map(|key| schema[key].as_array());
        if let Some(forms) = forms.cloned() {
            let forms = forms.iter().filter(|form| form["type"] != "null");
            return forms.map(|form| self.kind(form, at)).collect::<Vec<_>>().join(", or ");
        }
        if let Some(values) = schema["enum"].as_array() {
            return values.iter().map(code).collect::<Vec<_>>().join(", ");
        }
        let named = schema["type"].as_array().and_then(|types| types.iter().find(|name| *name != "null"));
        match named.unwrap_or(&schema["type"]).as_str().unwrap_or_default() {
            "boolean" => "`true` or `false`".into(),
            "integer" => format!("whole number{}", bounds(schema)),
            "number" => format!("number{}", bounds(schema)),
            "array" => format!("list: {}", self.kind(&schema["items"], &format!("{at}[]"))),
            "object" if schema.get("properties").is_some() => {
                self.waiting.push((at.to_owned(), schema.clone()));
                format!("[section](#{})", slug(at))
            }
            "object" => format!("names with {}", self.kind(&schema["additionalProperties"], &format!("{at}.NAME"))),
            "string" if schema["format"] == "date" => "date".into(),
            "string" => "text".into(),
            other => panic!("{at}: a type `{other}` has no words: {schema}"),
        }
    }

    fn named_kind(&mut self, name: &str, definition: &Value, at: &str) -> String {
        if definition.get("properties").is_some() {
            let place = self.described.entry(name.to_owned()).or_insert_with(|| at.to_owned()).clone();
            if place == at {
                self.waiting.push((at.to_owned(), definition.clone()));
                return format!("[section](#{})", slug(at));
            }
            return format!("as [`{place}`](#{})", slug(&place));
        }
        let choices =
            definition["oneOf"].as_array().filter(|forms| forms.iter().all(|form| form.get("const").is_some()));
        let Some(choices) = choices else {
            let kind = self.kind(definition, at);
            let says = text(definition, "description").trim_end_matches('.');
            let adds = definition["type"] == "string" && !says.is_empty();
            return if adds { format!("{kind}: {}", cell(says)) } else { kind };
        };
        let values: Vec<String> = choices.iter().map(|form| code(&form["const"])).collect();
        let meanings = choices.iter().map(|form| cell(text(form, "description")));
        self.choices.insert(name.to_owned(), values.iter().cloned().zip(meanings).collect());
        let shown = if values.len() > SHOWN { format!("one of {}", values.len()) } else { values.join(", ") };
        format!("[{shown}](#{})", slug(name))
    }

    /// The table of a section's keys.
    fn section(&mut self, page: &mut String, at: &str, schema: &Value) {
        page.push_str("| key | takes | default | meaning |\n|---|---|---|---|\n");
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (key, property) in schema["properties"].as_object().expect("keys") {
            let place = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
            let kind = self.kind(property, &place);
            let definition = self.definition(property).map(|(_, definition)| definition).unwrap_or_default();
            let default = property.get("default").or(definition.get("default")).filter(|default| !is_empty(default));
            let default = match default {
                Some(default) => code(default),
                None if required.contains(&key.as_str()) => "required".into(),
                None => "–".into(),
            };
            let example = property["examples"].as_array().and_then(|examples| examples.first());
            let mut meaning = cell(text(property, "description"));
            if let Some(example) = example.map(code).filter(|example| !meaning.contains(example.as_str())) {
                write!(meaning, " For example {example}.").expect("a string takes it");
            }
            writeln!(page, "| `{key}` | {kind} | {default} | {} |", meaning.trim()).expect("a string takes it");
        }
    }
}

#[test]
fn the_reference_of_the_policy_file_is_its_schema() {
    let schema = schemars::schema_for!(Policy).to_value();
    let definitions = schema["$defs"].as_object().expect("definitions").clone();
    let mut reference =
        Reference { definitions, waiting: Vec::new(), described: BTreeMap::new(), choices: BTreeMap::new() };
    let mut page = String::from(
        "# Keys of the policy file\n\nEvery key of `precision-gate.yml`, made from the JSON Schema that `precision-gate schema config` prints, by\n\
         `UPDATE_DOCS=1 cargo test --locked --test all docs::`. [The policy file](policy.md) explains when a pass is a pass, and the page of\n\
         each check its limits. Any other key is an error.\n\n`[]` is an entry of a list, `NAME` a name of your choice. Without a default, nothing is set.\n\n## All sections\n\n",
    );
    reference.section(&mut page, "", &schema);
    // Depth first, in the order of the file.
    let mut left: Vec<(String, Value)> = reference.waiting.drain(..).rev().collect();
    let (mut sections, mut explained) = (0, 0);
    while let Some((at, schema)) = left.pop() {
        let level = if at.contains('.') { "###" } else { "##" };
        let more = PAGES.iter().find(|(section, _)| *section == at);
        let more = more.map(|(_, page)| format!(" [More]({page}).")).unwrap_or_default();
        explained += usize::from(!more.is_empty());
        let about = cell(text(&schema, "description"));
        write!(page, "\n{level} `{at}`\n\n{about}{more}\n\n").expect("a string takes it");
        reference.section(&mut page, &at, &schema);
        left.extend(reference.waiting.drain(..).rev());
        sections += 1;
    }
    assert!(sections > 30, "{sections}");
    assert_eq!(explained, PAGES.len(), "a section with a page has another name now");
    page.push_str("\n## Lists of values\n");
    for (name, values) in &reference.choices {
        write!(page, "\n### {name}\n\n| value | meaning |\n|---|---|\n").expect("a string takes it");
        for (value, meaning) in values {
            writeln!(page, "| {value} | {meaning} |").expect("a string takes it");
        }
    }
    is_fresh("reference-policy.md", &page, "docs");
}
