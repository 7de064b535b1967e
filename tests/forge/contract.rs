//! A forge's published description of its own interface, held against requests and answers.
//!
//! `tests/contracts/*.openapi.json` are OpenAPI 3.0 files. Each request is matched to an operation; path, query and body
//! are validated against it, and each answer too. A violation names the operation and the place.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use jsonschema::Validator;
use serde_json::{Map, Value, json};

/// The description of one forge.
pub(crate) struct Contract {
    components: Value,
    operations: Vec<Operation>,
    compiled: Mutex<BTreeMap<String, Arc<Validator>>>,
}

struct Operation {
    method: String,
    segments: Vec<Segment>,
    query: BTreeMap<String, (Value, bool)>,
    description: Value,
}

enum Segment {
    Literal(String),
    Parameter { schema: Value, many: bool },
}

impl Contract {
    /// GitHub's.
    pub(crate) fn github() -> Self {
        Self::read("github")
    }

    /// GitLab's.
    pub(crate) fn gitlab() -> Self {
        Self::read("gitlab")
    }

    fn read(name: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/contracts/{name}.openapi.json"));
        let text = fs::read_to_string(path).expect("the contract is there");
        let mut whole: Value = serde_json::from_str(&text).expect("the contract is JSON");
        as_json_schema(&mut whole);
        let mut operations = Vec::new();
        for (path, methods) in whole["paths"].as_object().expect("paths") {
            for (method, description) in methods.as_object().expect("methods") {
                if ["get", "post", "put", "patch", "delete"].contains(&method.as_str()) {
                    operations.push(Operation::new(&whole, method, path, &methods["parameters"], description));
                }
            }
        }
        // `/commits/{sha}/pulls` goes before `/commits/{ref}`, whose parameter may hold slashes.
        operations.sort_by_key(|operation| std::cmp::Reverse(operation.literals()));
        Self { components: whole["components"].take(), operations, compiled: Mutex::default() }
    }

    /// Validates a request; `target` is its path below the base address, with the query.
    pub(crate) fn check_request(
        &self,
        method: &str,
        target: &str,
        content_type: &str,
        body: &[u8],
    ) -> Result<(), String> {
        let operation = self.find(method, target)?;
        let name = operation.description["operationId"].as_str().unwrap_or_default();
        operation.check_query(target).map_err(|wrong| format!("{name}: {wrong}"))?;
        let contents = &operation.description["requestBody"]["content"];
        if contents.is_null() {
            return if body.is_empty() { Ok(()) } else { Err(format!("{name}: takes no body")) };
        }
        let kind = content_type.split(';').next().unwrap_or_default().trim();
        if contents[kind].is_null() {
            return Err(format!("{name}: `{content_type}` is not one of its content types"));
        }
        if kind != "application/json" {
            return Ok(());
        }
        let body: Value = serde_json::from_slice(body).map_err(|error| format!("{name}: body: {error}"))?;
        self.validate(&format!("{name} request"), &contents[kind]["schema"], &body)
    }

    /// Validates an answer to such a request.
    pub(crate) fn check_answer(&self, method: &str, target: &str, status: u16, body: &[u8]) -> Result<(), String> {
        let operation = self.find(method, target)?;
        let name = operation.description["operationId"].as_str().unwrap_or_default();
        let answers = &operation.description["responses"];
        let described = self.resolve(&answers[status.to_string()]);
        if described.is_null() {
            // Descriptions leave out most refusals.
            return if status >= 400 { Ok(()) } else { Err(format!("{name}: {status} is not one of its answers")) };
        }
        let schema = &described["content"]["application/json"]["schema"];
        if schema.is_null() {
            // A file as it is.
            if described["content"].is_object() {
                return Ok(());
            }
            return if body.is_empty() || status >= 300 {
                Ok(())
            } else {
                Err(format!("{name} {status}: has no JSON body"))
            };
        }
        let body: Value = serde_json::from_slice(body).map_err(|error| format!("{name} {status}: {error}"))?;
        self.validate(&format!("{name} {status}"), schema, &body)
    }

    /// An example of the description's own, the seed of a fake's answers.
    pub(crate) fn example(&self, name: &str) -> Value {
        let example = &self.components["examples"][name]["value"];
        assert!(!example.is_null(), "there is no example `{name}`");
        example.clone()
    }

    /// The name of the operation that a request is.
    pub(crate) fn operation(&self, method: &str, target: &str) -> Result<&str, String> {
        Ok(self.find(method, target)?.description["operationId"].as_str().unwrap_or_default())
    }

    fn find(&self, method: &str, target: &str) -> Result<&Operation, String> {
        let path = target.split('?').next().unwrap_or_default();
        let segments: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let fits = |operation: &&Operation| {
            operation.method.eq_ignore_ascii_case(method) && fit(&operation.segments, &segments)
        };
        self.operations.iter().find(fits).ok_or_else(|| format!("{method} {path} is no operation of the contract"))
    }

    fn resolve<'a>(&'a self, value: &'a Value) -> &'a Value {
        match value["$ref"].as_str().and_then(|place| place.strip_prefix("#/components")) {
            Some(place) => self.components.pointer(place).unwrap_or(value),
            None => value,
        }
    }

    fn validate(&self, name: &str, schema: &Value, body: &Value) -> Result<(), String> {
        let validator = Arc::clone(self.compiled.lock().expect("no panic").entry(name.into()).or_insert_with(|| {
            let whole = json!({ "allOf": [schema], "components": self.components });
            Arc::new(jsonschema::draft202012::new(&whole).expect("the contract's schemas compile"))
        }));
        let wrong: Vec<String> =
            validator.iter_errors(body).map(|error| format!("{name}: {}: {error}", error.instance_path())).collect();
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
    }
}

impl Operation {
    fn new(whole: &Value, method: &str, path: &str, shared: &Value, description: &Value) -> Self {
        let resolve = |parameter: &Value| match parameter["$ref"].as_str() {
            Some(place) => whole.pointer(place.trim_start_matches('#')).expect("a parameter").clone(),
            None => parameter.clone(),
        };
        let listed = [&description["parameters"], shared].into_iter().filter_map(Value::as_array).flatten();
        let parameters: Vec<Value> = listed.map(resolve).collect();
        let of = |place: &'static str| parameters.iter().filter(move |parameter| parameter["in"] == place);
        let segment = |text: &str| match text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) {
            Some(name) => {
                let parameter = of("path").find(|parameter| parameter["name"] == name).cloned().unwrap_or_default();
                Segment::Parameter { schema: parameter["schema"].clone(), many: parameter["x-multi-segment"] == true }
            }
            None => Segment::Literal(text.to_owned()),
        };
        let query = of("query").map(|parameter| {
            let name = parameter["name"].as_str().unwrap_or_default().to_owned();
            (name, (parameter["schema"].clone(), parameter["required"] == true))
        });
        Self {
            method: method.to_owned(),
            segments: path.trim_start_matches('/').split('/').map(segment).collect(),
            query: query.collect(),
            description: description.clone(),
        }
    }

    fn literals(&self) -> usize {
        self.segments.iter().filter(|segment| matches!(segment, Segment::Literal(_))).count()
    }

    fn check_query(&self, target: &str) -> Result<(), String> {
        let query = target.split_once('?').map_or("", |(_, query)| query);
        let pairs: Vec<(&str, &str)> =
            query.split('&').filter(|pair| !pair.is_empty()).filter_map(|pair| pair.split_once('=')).collect();
        for (name, value) in &pairs {
            let (schema, _) = self.query.get(*name).ok_or_else(|| format!("`{name}` is none of its parameters"))?;
            check_text(schema, value).map_err(|wrong| format!("parameter `{name}`: {wrong}"))?;
        }
        let missing = self
            .query
            .iter()
            .find(|(name, (_, required))| *required && !pairs.iter().any(|(given, _)| given == &name.as_str()));
        missing.map_or(Ok(()), |(name, _)| Err(format!("parameter `{name}` is missing")))
    }
}

/// Whether a path's segments are those of an operation.
fn fit(wanted: &[Segment], given: &[&str]) -> bool {
    match (wanted.split_first(), given.split_first()) {
        (None, None) => true,
        (Some((Segment::Literal(text), rest)), Some((first, others))) => text == first && fit(rest, others),
        (Some((Segment::Parameter { schema, many }, rest)), Some((first, others))) => {
            let one = !first.is_empty() && check_text(schema, first).is_ok() && fit(rest, others);
            one || (*many && (1..=others.len()).any(|more| others.get(more..).is_some_and(|left| fit(rest, left))))
        }
        _ => false,
    }
}

/// A path or query parameter, which is text, against its schema.
fn check_text(schema: &Value, text: &str) -> Result<(), String> {
    let value = match text.parse::<i64>() {
        Ok(number) if schema["type"] == "integer" => Value::from(number),
        _ => match text {
            "true" | "false" if schema["type"] == "boolean" => Value::from(text == "true"),
            _ => Value::from(text),
        },
    };
    jsonschema::draft202012::new(schema).expect("a schema").validate(&value).map_err(|error| error.to_string())
}

/// OpenAPI 3.0 says `nullable`; JSON Schema knows no such word.
fn as_json_schema(value: &mut Value) {
    match value {
        Value::Object(entries) => {
            entries.values_mut().for_each(as_json_schema);
            if entries.get("nullable") == Some(&Value::Bool(true)) {
                entries.remove("nullable");
                let schema = Value::Object(std::mem::take(entries));
                *entries = Map::from_iter([("anyOf".to_owned(), json!([schema, { "type": "null" }]))]);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(as_json_schema),
        _ => {}
    }
}

#[test]
fn wrong_requests_are_refused() {
    let (github, gitlab) = (Contract::github(), Contract::gitlab());
    let check = |contract: &Contract, method, target, body: &str| {
        contract.check_request(method, target, "application/json; charset=utf-8", body.as_bytes())
    };
    for (target, body, right) in [
        ("/repos/o/r/issues/1/comments", r#"{"body":"hi"}"#, true),
        ("/repos/o/r/issues/1/comments", r#"{"bdy":"hi"}"#, false),
        ("/repos/o/r/statuses/0123", r#"{"state":"passed"}"#, false),
        ("/repos/o/r/no-such-place", "{}", false),
    ] {
        assert_eq!(check(&github, "POST", target, body).is_ok(), right, "{target} {body}");
    }
    for (target, right) in [
        ("/repos/o/r/issues/1/comments?per_page=100&page=2", true),
        ("/repos/o/r/issues/1/comments?perpage=100", false),
        ("/repos/o/r/commits/0123/check-runs?filter=newest", false),
        ("/repos/o/r/contents/a/b/c.yml?ref=0123", true),
    ] {
        assert_eq!(check(&github, "GET", target, "").is_ok(), right, "{target}");
    }
    for (target, body, right) in [
        ("/projects/g%2Fp/merge_requests/5/notes", r#"{"body":"hi"}"#, true),
        ("/projects/g/p/merge_requests/5/notes", r#"{"body":"hi"}"#, false),
        ("/projects/1/statuses/0123", r#"{"state":"failure"}"#, false),
    ] {
        assert_eq!(check(&gitlab, "POST", target, body).is_ok(), right, "{target} {body}");
    }
    assert!(github.check_answer("GET", "/repos/o/r/actions/artifacts", 200, br#"{"artifacts":"none"}"#).is_err());
}
