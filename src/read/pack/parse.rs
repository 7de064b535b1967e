//! JSON and text of the members to records.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::read::json::Json;

/// Named values, in file order.
pub type Settings = Vec<(String, Json)>;

/// The four statistics of a tensor, by the names a pack gives them.
pub const STATISTICS: [&str; 4] = ["max", "min", "mean", "norm"];

/// Statistics of one tensor, in the order of [`STATISTICS`]; NaN and the infinities are kept.
///
/// The norm is the 2-norm over all elements. Parameters and integers were reduced in float32, 16-bit tensors in
/// their own type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statistics(pub [f64; 4]);

/// One argument of the model's forward.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A tensor.
    Tensor(Statistics),
    /// A list, tuple or mapping.
    Group(Vec<(String, Input)>),
    /// Anything else; msprobe records the empty text.
    Plain(Json),
}

/// One parameter of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its statistics, or their fault.
    pub statistics: Result<Statistics, Malformed>,
}

/// Fault of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// A key is absent.
    MissingKey,
    /// A value is of the wrong type.
    WrongType,
}

/// Calls of random functions, by function.
pub type Calls = Vec<(String, Vec<Distinct>)>;

/// Calls from one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distinct {
    /// Number of calls; absent where the record lacks it.
    pub count: Option<i64>,
    /// The stack, outermost frame first; absent where the record lacks it.
    pub stack: Option<Vec<String>>,
}

/// An object, as the settings of a member.
pub(super) fn settings(name: &str, json: Json) -> Result<Settings> {
    match json {
        Json::Object(entries) => Ok(entries),
        other => Err(not(name, "an object", &other)),
    }
}

/// The lines of a text, stripped; any of Python's line ends.
pub(super) fn lines(name: &str, bytes: Vec<u8>) -> Result<Vec<String>> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Error::corrupt(name, format!("not UTF-8 at byte {at}")).with_help("collect the pack again")
    })?;
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    Ok(text.lines().map(|line| line.trim().to_owned()).collect())
}

/// The arguments of one forward: `args` and `kwargs`.
pub(super) fn inputs(name: &str, json: Json) -> Result<Vec<(String, Input)>> {
    Ok(settings(name, json)?.into_iter().map(|(key, value)| (key, input(value))).collect())
}

fn input(json: Json) -> Input {
    match json {
        Json::Object(entries) => match statistics(&entries) {
            Ok(statistics) if entries.len() == STATISTICS.len() => Input::Tensor(statistics),
            _ => Input::Group(entries.into_iter().map(|(key, value)| (key, input(value))).collect()),
        },
        other => Input::Plain(other),
    }
}

fn statistics(entries: &[(String, Json)]) -> Result<Statistics, Malformed> {
    let mut values = [0.0; 4];
    for (value, key) in values.iter_mut().zip(STATISTICS) {
        let (_, json) = entries.iter().find(|(name, _)| name == key).ok_or(Malformed::MissingKey)?;
        *value = json.as_f64().ok_or(Malformed::WrongType)?;
    }
    Ok(Statistics(values))
}

/// The parameters of a model.
pub(super) fn parameters(name: &str, json: Json) -> Result<Vec<Parameter>> {
    let parameter = |(name, value): (String, Json)| Parameter {
        name,
        statistics: value.as_object().ok_or(Malformed::WrongType).and_then(statistics),
    };
    Ok(settings(name, json)?.into_iter().map(parameter).collect())
}

/// Calls of random functions.
pub(super) fn calls(name: &str, json: Json) -> Result<Calls> {
    let function = |(function, value): (String, Json)| {
        let Json::Array(entries) = value else { return Err(not(name, &format!("a list under `{function}`"), &value)) };
        Ok((function, entries.iter().map(distinct).collect()))
    };
    settings(name, json)?.into_iter().map(function).collect()
}

fn distinct(json: &Json) -> Distinct {
    let frames = |stack: &Json| -> Option<Vec<String>> {
        stack.as_array()?.iter().map(|frame| frame.as_str().map(str::to_owned)).collect()
    };
    Distinct { count: json.get("count").and_then(Json::as_i64), stack: json.get("stack").and_then(frames) }
}

/// Content digests: file to digest.
pub(super) fn digests(name: &str, json: &Json) -> Result<BTreeMap<String, String>> {
    let files = json.get("files").and_then(Json::as_object);
    let files = files.ok_or_else(|| not(name, "an object with `files`", json))?;
    let entry = |(file, digest): &(String, Json)| {
        let digest = digest.as_str().ok_or_else(|| not(name, &format!("a digest for `{file}`"), digest))?;
        Ok((file.clone(), digest.to_owned()))
    };
    files.iter().map(entry).collect()
}

fn not(name: &str, wanted: &str, found: &Json) -> Error {
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
