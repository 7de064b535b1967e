//! Python's equality of JSON values, and relative differences as msprobe computes them.

use crate::msprobe::python;
use crate::msprobe::table::Cell;
use crate::read::json::Json;

/// `a == b` in Python: numbers and booleans by value, containers item by item.
///
/// `json.load` gives every `NaN` as one shared object, and containers test identity first; so NaN equals NaN
/// inside a list or object (`nested`), and nowhere else.
pub(super) fn python_equal(a: &Json, b: &Json, nested: bool) -> bool {
    match (a, b) {
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| python_equal(a, b, true))
        }
        (Json::Object(a), Json::Object(items)) => {
            let same = |(key, value): &(String, Json)| b.get(key).is_some_and(|other| python_equal(value, other, true));
            a.len() == items.len() && a.iter().all(same)
        }
        (Json::Text(a), Json::Text(b)) => a == b,
        (Json::Null, Json::Null) => true,
        (Json::BigInt(a), Json::BigInt(b)) => a == b,
        (Json::Int(a), Json::Int(b)) => a == b,
        _ => match (number(a), number(b)) {
            (Some(a), Some(b)) => same_number(a, b, nested),
            _ => false,
        },
    }
}

/// Equality of two numbers in Python; inside a container (`nested`) NaN equals NaN.
#[allow(clippy::float_cmp, reason = "Python compares exactly")]
pub(super) fn same_number(a: f64, b: f64, nested: bool) -> bool {
    a == b || (nested && a.is_nan() && b.is_nan())
}

/// The value as Python does arithmetic with it: a boolean is 0 or 1.
fn number(value: &Json) -> Option<f64> {
    match value {
        Json::Bool(value) => Some(f64::from(u8::from(*value))),
        other => other.as_f64(),
    }
}

/// `|bench - cmp| / bench`, signed by bench; empty where bench is 0 and where the quotient is NaN.
pub(super) fn relative_difference(bench: f64, cmp: f64) -> Cell<'static> {
    let quotient = (bench - cmp).abs() / bench;
    if bench == 0.0 || quotient.is_nan() { Cell::Empty } else { Cell::Float(quotient) }
}

/// A value as a cell: types stay, containers become Python's text, NaN and `None` are empty.
pub(super) fn cell(value: &Json) -> Cell<'static> {
    match value {
        Json::Null => Cell::Empty,
        Json::Bool(value) => Cell::Bool(*value),
        Json::Int(value) => Cell::Int(*value),
        Json::Float(value) if value.is_nan() => Cell::Empty,
        Json::Float(value) => Cell::Float(*value),
        Json::Text(text) => Cell::from(text.as_str()),
        Json::BigInt(_) | Json::Array(_) | Json::Object(_) => Cell::from(python::str(value)),
    }
}
