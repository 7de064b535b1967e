//! `reproduce.py`: a fixed program, and the operation as one constant in it.
//!
//! The constant is JSON of printable ASCII in quotes, one piece per line, which Python joins into one text before it runs
//! anything: whatever a dump holds ends up between two quotes and ends neither. The program looks names up and evaluates
//! nothing.

use super::call::{Call, Item, Tensor};
use super::case::{RecordedCall, ReproducedCase};
use super::difference::{CallDifference, call_differences};
use crate::compare::operators::{OperatorLevel, RatioKind, error_floor};
use crate::diagnose::runnable::Root;
use crate::error::{Error, ErrorKind, Result};
use crate::read::json::{Json, to_text};
use crate::result::this_tool;
use crate::verdict::Side;

const PROGRAM: &str = include_str!("../../templates/reproduce/reproduce.py");
/// The line of the program that holds the operation.
const PLACE: &str = "\nCASE = '{}'\n";
/// Seed of all generated inputs.
const SEED: i64 = 20;
/// Longest line of the constant that is not split.
const WIDTH: usize = 140;
/// Longest text of an operation.
const MAX_BYTES: usize = 4 << 20;
/// Element types whose errors the operator standard judges.
const JUDGED: [&str; 3] = ["float16", "bfloat16", "float32"];

/// The script of a case.
///
/// # Errors
/// `LimitExceeded` where the arguments are too long.
pub fn text(case: &ReproducedCase<'_>, notes: &[String]) -> Result<String> {
    let value = json(case, notes);
    let (before, after) = PROGRAM.split_once(PLACE).unwrap_or((PROGRAM, ""));
    let constant = constant(&value);
    if constant.len() > MAX_BYTES {
        let message = format!("its arguments take more than {MAX_BYTES} bytes as text");
        return Err(Error::new(ErrorKind::LimitExceeded, case.target.shown_name(), message));
    }
    Ok(format!("{before}\nCASE = (\n{constant})\n{after}"))
}

/// JSON as pieces of a Python text, one per line.
fn constant(value: &Json) -> String {
    let mut lines = Vec::new();
    pieces(value, "", "", 1, &mut lines);
    lines.iter().map(|line| format!("    {}\n", literal(line))).collect()
}

/// Splits a value into lines of text, after `start` and before `end`.
fn pieces(value: &Json, start: &str, end: &str, level: usize, lines: &mut Vec<String>) {
    let indent = " ".repeat(level - 1);
    let whole = format!("{indent}{start}{}{end}", to_text(value));
    let comma = |index: usize, len: usize| if index + 1 < len { "," } else { "" };
    match value {
        Json::Object(entries) if whole.len() > WIDTH => {
            lines.push(format!("{indent}{start}{{"));
            for (index, (key, value)) in entries.iter().enumerate() {
                let key = format!("{}: ", to_text(&Json::Text(key.clone())));
                pieces(value, &key, comma(index, entries.len()), level + 1, lines);
            }
            lines.push(format!("{indent}}}{end}"));
        }
        Json::Array(items) if whole.len() > WIDTH => {
            lines.push(format!("{indent}{start}["));
            for (index, value) in items.iter().enumerate() {
                pieces(value, "", comma(index, items.len()), level + 1, lines);
            }
            lines.push(format!("{indent}]{end}"));
        }
        _ => lines.push(whole),
    }
}

/// A text as a Python literal in single quotes, in printable ASCII. Other characters are written as JSON escapes.
fn literal(text: &str) -> String {
    let mut out = String::from("'");
    for character in text.chars() {
        match character {
            '\'' => out.push_str("\\'"),
            '\\' => out.push_str("\\\\"),
            ' '..='~' => out.push(character),
            _ => character.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\\\u{unit:04x}"))),
        }
    }
    out.push('\'');
    out
}

/// Notes about the limits of what the script can show.
pub fn notes(case: &ReproducedCase<'_>, unread: &[String]) -> Vec<String> {
    let mut notes = Vec::new();
    if case.with_data && !case.has_inputs() {
        notes.push("the dump holds statistics, no tensors: the inputs are made from them".to_owned());
    }
    for side in &case.sides {
        let label = &side.source.run.label;
        if !side.source.is_judged {
            notes.push(format!("{label}: its files are not those of the result; the digest differs"));
        }
        if case.has_inputs() && !side.is_complete() {
            notes.push(format!("{label}: its inputs were not all saved, so that its answer is left out"));
        }
        for place in &side.call.assumed {
            notes.push(format!("{label}: {place} was not recorded and is taken as the element type of the result"));
        }
    }
    for (side, name) in [(Side::Baseline, "baseline"), (Side::Candidate, "candidate")] {
        if !case.sides.iter().any(|recorded| recorded.source.side == side) {
            notes.push(format!("the {name} did not record this call, so that its answer is missing"));
        }
    }
    if case.runnable.root == Root::Module {
        notes.push("a dump holds no arguments of a module's constructor: they have their usual values".to_owned());
    }
    notes.extend(unread.iter().cloned());
    notes
}

fn text_of(text: impl Into<String>) -> Json {
    Json::Text(text.into())
}

fn object<const N: usize>(entries: [(&str, Json); N]) -> Json {
    Json::Object(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn number(value: u64) -> Json {
    i64::try_from(value).map_or_else(|_| Json::BigInt(value.to_string()), Json::Int)
}

/// The operation as the program reads it.
fn json(case: &ReproducedCase<'_>, notes: &[String]) -> Json {
    let has_inputs = case.has_inputs();
    let scripted = case.scripted_calls();
    let of_side =
        |recorded: &&RecordedCall<'_>| (recorded.source.side.as_str().to_owned(), side(&recorded.call, has_inputs));
    let labels = |recorded: &&RecordedCall<'_>| {
        (recorded.source.side.as_str().to_owned(), text_of(recorded.source.run.label.as_str()))
    };
    let tool = this_tool();
    object([
        ("tool", text_of(format!("{} {}", tool.name, tool.version))),
        ("op", text_of(case.target.shown_name())),
        ("step", number(case.target.step)),
        ("rank", case.target.rank.map_or(Json::Null, number)),
        ("root", text_of(case.runnable.root.as_str())),
        ("name", text_of(case.runnable.function.as_str())),
        ("in_place", Json::Bool(case.runnable.is_in_place() || is_asked_in_place(scripted.as_slice()))),
        ("inputs", text_of(if has_inputs { "recorded" } else { "statistics" })),
        ("seed", Json::Int(SEED)),
        ("standard", standard(case)),
        ("notes", Json::Array(notes.iter().map(|note| text_of(note.as_str())).collect())),
        ("labels", Json::Object(scripted.iter().map(labels).collect())),
        ("differing", differences(case)),
        ("sides", Json::Object(scripted.iter().map(of_side).collect())),
    ])
}

/// The limits of the operator standard for this operation, and the smallest errors that count, by element type.
fn standard(case: &ReproducedCase<'_>) -> Json {
    let level = OperatorLevel::from_api(&case.runnable.function);
    let limits = level.limits();
    let limit = |kind: RatioKind| (kind.as_str().trim_end_matches("_ratio").to_owned(), Json::Float(limits.get(kind)));
    let of_type = |dtype: &str| Some((dtype.to_owned(), Json::Float(error_floor(dtype)?)));
    object([
        ("level", text_of(level.as_str())),
        ("limits", Json::Object(RatioKind::ALL.map(limit).into())),
        ("floors", Json::Object(JUDGED.iter().filter_map(|dtype| of_type(dtype)).collect())),
    ])
}

fn differences(case: &ReproducedCase<'_>) -> Json {
    let Some((baseline, candidate)) = case.both_calls() else { return Json::Array(Vec::new()) };
    let found = call_differences(&baseline.call, &candidate.call);
    let has_inputs = case.has_inputs();
    let entry = |found: &CallDifference| {
        let of = |call: &Call| call.inputs().into_iter().find(|tensor| tensor.place == found.place).cloned();
        let tensors =
            of(&baseline.call).zip(of(&candidate.call)).map_or(Json::Null, |(baseline_tensor, candidate_tensor)| {
                Json::Array(vec![tensor_json(&baseline_tensor, has_inputs), tensor_json(&candidate_tensor, has_inputs)])
            });
        object([
            ("place", text_of(found.place.as_str())),
            ("baseline", text_of(found.baseline.as_str())),
            ("candidate", text_of(found.candidate.as_str())),
            ("tensors", tensors),
        ])
    };
    Json::Array(found.iter().map(entry).collect())
}

/// Whether the call itself asks to be computed in place.
fn is_asked_in_place(sides: &[&RecordedCall<'_>]) -> bool {
    let asks = |call: &Call| {
        call.kwargs.iter().any(|(name, item)| name == "inplace" && matches!(item, Item::Value(Json::Bool(true))))
    };
    sides.iter().any(|side| asks(&side.call))
}

fn side(call: &Call, has_inputs: bool) -> Json {
    let tensor = |tensor: &Tensor| tensor_json(tensor, has_inputs);
    let pair = |(name, value): (&String, Json)| Json::Array(vec![text_of(name.as_str()), value]);
    let list = |items: &[Option<Tensor>]| {
        Json::Array(items.iter().map(|item| item.as_ref().map_or(Json::Null, tensor)).collect())
    };
    let given = |items: &[Item]| Json::Array(items.iter().map(|item| item_json(item, has_inputs)).collect());
    let optional = |items: &Option<Vec<Option<Tensor>>>| items.as_deref().map_or(Json::Null, list);
    object([
        (
            "call",
            object([
                ("args", given(&call.args)),
                (
                    "kwargs",
                    Json::Array(
                        call.kwargs.iter().map(|(name, item)| pair((name, item_json(item, has_inputs)))).collect(),
                    ),
                ),
                (
                    "parameters",
                    Json::Array(call.parameters.iter().map(|(name, value)| pair((name, tensor(value)))).collect()),
                ),
            ]),
        ),
        ("outputs", list(&call.outputs)),
        ("arriving", optional(&call.incoming_gradients)),
        ("leaving", optional(&call.outgoing_gradients)),
    ])
}

fn item_json(item: &Item, has_inputs: bool) -> Json {
    let all = |items: &[Item]| Json::Array(items.iter().map(|item| item_json(item, has_inputs)).collect());
    let (kind, content) = match item {
        Item::Tensor(tensor) => ("tensor", tensor_json(tensor, has_inputs)),
        Item::Value(value) => ("value", value.clone()),
        Item::List(items) => ("list", all(items)),
        Item::Tuple(items) => ("tuple", all(items)),
        Item::Dict(items) => {
            let entry =
                |(key, item): &(String, Item)| Json::Array(vec![text_of(key.as_str()), item_json(item, has_inputs)]);
            ("dict", Json::Array(items.iter().map(entry).collect()))
        }
        Item::Slice(parts) => ("slice", Json::Array(parts.clone())),
        Item::Ellipsis => ("ellipsis", Json::Bool(true)),
        Item::Dtype(dtype) => ("dtype", text_of(dtype.to_string())),
        Item::Device => ("device", Json::Bool(true)),
        Item::MemoryFormat(format) => ("memory_format", text_of(format.as_str())),
    };
    object([(kind, content)])
}

/// A tensor as JSON, with the file of its elements where recorded inputs are used, else with the statistics to generate it from.
fn tensor_json(tensor: &Tensor, has_inputs: bool) -> Json {
    let mut entries = vec![
        ("dtype".to_owned(), text_of(tensor.dtype.to_string())),
        ("shape".to_owned(), Json::Array(tensor.shape.iter().map(|len| number(*len)).collect())),
    ];
    if tensor.requires_grad {
        entries.push(("requires_grad".to_owned(), Json::Bool(true)));
    }
    match tensor.stored.as_ref().filter(|stored| has_inputs && !stored.file.is_empty()) {
        Some(stored) => {
            entries.push(("file".to_owned(), text_of(stored.file.as_str())));
            entries.push(("sha256".to_owned(), text_of(stored.sha256.as_str())));
        }
        None => entries.push(("statistics".to_owned(), Json::Array(tensor.statistics.to_vec()))),
    }
    Json::Object(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::json::parse_bytes;

    /// The text that Python makes of the pieces: quotes taken off, escapes undone.
    fn joined(constant: &str) -> String {
        let mut text = String::new();
        for line in constant.lines() {
            let inner = line.trim_start().strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')).expect("a piece");
            let mut letters = inner.chars();
            while let Some(letter) = letters.next() {
                match letter {
                    '\\' => text.push(letters.next().expect("an escape is whole")),
                    '\'' => panic!("a quote ends the piece: {line}"),
                    letter => text.push(letter),
                }
            }
        }
        text
    }

    #[test]
    fn the_program_has_one_place_for_the_operation() {
        assert_eq!(PROGRAM.matches(PLACE).count(), 1);
        assert!(PROGRAM.is_ascii(), "it runs under any locale");
    }

    #[test]
    fn hostile_texts_stay_between_the_quotes() {
        for text in [
            "'", "\"", "\\", "\\'", "'''", "\"\"\"", "\n", "\r\n\t", "\u{2028}", "\u{0}", "\u{7f}", "{}", "中", "😀",
            "\\u0027",
        ] {
            let value = object([("name", text_of(text)), ("list", Json::Array(vec![text_of(text); 80]))]);
            let constant = constant(&value);
            assert!(constant.bytes().all(|byte| byte == b'\n' || (b' '..=b'~').contains(&byte)), "{text:?}");
            let back = parse_bytes("case", joined(&constant).as_bytes()).expect("it is JSON");
            assert_eq!(back, value, "{text:?}");
        }
    }
}
