//! Parsing of the members' JSON and text into records.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::read::json::Json;

/// Named values, in file order.
pub type PackSettings = Vec<(String, Json)>;

/// Names of the four statistics of a tensor in a pack.
pub const STATISTICS: [&str; 4] = ["max", "min", "mean", "norm"];

/// Statistics of one tensor, in the order of [`STATISTICS`]; NaN and the infinities are kept.
///
/// The norm is the 2-norm over all elements. Statistics of parameters and integers were computed in float32, those of 16-bit
/// tensors in their own type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PackStatistics(pub [f64; 4]);

/// One argument of the model's forward call.
#[derive(Clone, Debug, PartialEq)]
pub enum ForwardInput {
    /// A tensor.
    Tensor(PackStatistics),
    /// A list, tuple or mapping.
    Group(Vec<(String, ForwardInput)>),
    /// Any other value, for which msprobe records an empty text.
    Plain(Json),
}

/// One parameter of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct PackParameter {
    /// Name of the parameter.
    pub name: String,
    /// Statistics, or the fault of their record.
    pub statistics: Result<PackStatistics, Malformed>,
}

/// Fault of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// A key is absent.
    MissingKey,
    /// A value is of the wrong type.
    WrongType,
}

/// Calls of random functions, grouped by function.
pub type RandomCalls = Vec<(String, Vec<RandomCall>)>;

/// Calls of a random function from one place in the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RandomCall {
    /// Number of calls; `None` if the record lacks it.
    pub count: Option<i64>,
    /// Call stack, outermost frame first; `None` if the record lacks it.
    pub stack: Option<Vec<String>>,
}

/// Reads an object as named values.
pub(super) fn settings(name: &str, json: Json) -> Result<PackSettings> {
    match json {
        Json::Object(entries) => Ok(entries),
        other => Err(type_error(name, "an object", &other)),
    }
}

/// Splits a text into trimmed lines, at any of Python's line ends.
pub(super) fn lines(name: &str, bytes: Vec<u8>) -> Result<Vec<String>> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Error::corrupt(name, format!("not UTF-8 at byte {at}")).with_help("collect the pack again")
    })?;
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    Ok(text.lines().map(|line| line.trim().to_owned()).collect())
}

/// Reads the arguments of one forward call: `args` and `kwargs`.
pub(super) fn inputs(name: &str, json: Json) -> Result<Vec<(String, ForwardInput)>> {
    Ok(settings(name, json)?.into_iter().map(|(key, value)| (key, input(value))).collect())
}

fn input(json: Json) -> ForwardInput {
    match json {
        Json::Object(entries) => match statistics(&entries) {
            Ok(statistics) if entries.len() == STATISTICS.len() => ForwardInput::Tensor(statistics),
            _ => ForwardInput::Group(entries.into_iter().map(|(key, value)| (key, input(value))).collect()),
        },
        other => ForwardInput::Plain(other),
    }
}

fn statistics(entries: &[(String, Json)]) -> Result<PackStatistics, Malformed> {
    let mut values = [0.0; 4];
    for (value, key) in values.iter_mut().zip(STATISTICS) {
        let (_, json) = entries.iter().find(|(name, _)| name == key).ok_or(Malformed::MissingKey)?;
        *value = json.as_f64().ok_or(Malformed::WrongType)?;
    }
    Ok(PackStatistics(values))
}

/// Reads the parameters of a model.
pub(super) fn parameters(name: &str, json: Json) -> Result<Vec<PackParameter>> {
    let parameter = |(name, value): (String, Json)| PackParameter {
        name,
        statistics: value.as_object().ok_or(Malformed::WrongType).and_then(statistics),
    };
    Ok(settings(name, json)?.into_iter().map(parameter).collect())
}

/// Reads the calls of random functions.
pub(super) fn calls(name: &str, json: Json) -> Result<RandomCalls> {
    let function = |(function, value): (String, Json)| {
        let Json::Array(entries) = value else {
            return Err(type_error(name, &format!("a list under `{function}`"), &value));
        };
        Ok((function, entries.iter().map(distinct).collect()))
    };
    settings(name, json)?.into_iter().map(function).collect()
}

fn distinct(json: &Json) -> RandomCall {
    let frames = |stack: &Json| -> Option<Vec<String>> {
        stack.as_array()?.iter().map(|frame| frame.as_str().map(str::to_owned)).collect()
    };
    RandomCall { count: json.get("count").and_then(Json::as_i64), stack: json.get("stack").and_then(frames) }
}

/// Reads the content digests, by file.
pub(super) fn digests(name: &str, json: &Json) -> Result<BTreeMap<String, String>> {
    let files = json.get("files").and_then(Json::as_object);
    let files = files.ok_or_else(|| type_error(name, "an object with `files`", json))?;
    let entry = |(file, digest): &(String, Json)| {
        let digest = digest.as_str().ok_or_else(|| type_error(name, &format!("a digest for `{file}`"), digest))?;
        Ok((file.clone(), digest.to_owned()))
    };
    files.iter().map(entry).collect()
}

fn type_error(name: &str, wanted: &str, found: &Json) -> Error {
    let found = match found {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Int(_) | Json::BigInt(_) | Json::Float(_) => "a number",
        Json::Text(_) => "a text",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    };
    Error::corrupt(name, format!("expected {wanted}, found {found}")).with_help("collect the pack again")
}
