//! The types of the Python package, against the schema that they are written from.

use std::fs;

use precision_gate::result::GateResult;
use serde_json::Value;

/// A text without blanks, line ends and the marks of Python's comments, as lines are broken elsewhere there.
fn bare(text: &str) -> String {
    text.replace("#:", "").replace('"', "'").replace("\\\\", "\\").split_whitespace().collect()
}

/// Descriptions and keys of one definition that the types lack.
fn missing(name: &str, definition: &Value, types: &str) -> Vec<String> {
    // A key that is a word of Python's grammar has an underscore behind it.
    const WORDS: [&str; 3] = ["from", "pass", "with"];
    let in_python = |key: &str| if WORDS.contains(&key) { format!("{key}_:") } else { format!("{key}:") };
    let keys = definition["properties"].as_object().into_iter().flatten();
    let told = keys.flat_map(|(key, value)| [Some(in_python(key)), value["description"].as_str().map(str::to_owned)]);
    let class = types.split(&format!("class{name}:")).nth(1);
    let class = class.and_then(|rest| rest.split("@dataclass").next()).unwrap_or(types);
    told.flatten().filter(|told| !class.contains(&bare(told))).map(|told| format!("{name}: {told}")).collect()
}

/// `python/generate_types.py` needs Python; that its answer is that of today's schema is seen without it.
#[test]
fn the_types_for_python_know_every_key_of_a_result() {
    let schema = schemars::schema_for!(GateResult).to_value();
    let types = bare(&fs::read_to_string("python/precision_gate/_types.py").expect("the types"));
    let definitions = schema["$defs"].as_object().into_iter().flatten();
    let mut missing: Vec<String> =
        definitions.flat_map(|(name, definition)| missing(name, definition, &types)).collect();
    missing.extend(self::missing("ResultData", &schema, &types));
    assert!(
        missing.is_empty(),
        "write the types again, by the command at the head of python/generate_types.py: {missing:#?}"
    );
}
