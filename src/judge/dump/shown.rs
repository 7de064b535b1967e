//! Recorded values in the forms that results and reports show.

use std::borrow::Cow;

use crate::read::dump::{Leaf, LeafValue, Statistic};
use crate::read::json::Json;
use crate::result::number::Number;
use crate::result::operation::{Recorded, RecordedValue, Shown};

/// A value in one short line: `float32 [2, 3] max 1.5 min -2`, or a plain value.
pub(super) fn summary(leaf: Leaf<'_>) -> String {
    let shown = show(leaf);
    match leaf.value {
        LeafValue::Tensor(record) => {
            let [max, min] = [record.max, record.min].map(|value| plain(&value.json()));
            let extremes =
                if record.max == Statistic::Null && record.min == Statistic::Null && record.checksum.is_none() {
                    String::new()
                } else {
                    format!(" max {max} min {min}")
                };
            format!("{} {:?}{extremes}", shown.dtype, shown.shape)
        }
        _ => shown.values.join(", "),
    }
}

/// A value as a result shows it: its type, its shape, and its statistics or its value.
pub(super) fn show(leaf: Leaf<'_>) -> Shown {
    let tensor = leaf.row.to_string();
    match leaf.value {
        LeafValue::Null => Shown { tensor, dtype: "null".into(), shape: vec![], values: vec!["null".into()] },
        LeafValue::Damaged => Shown { tensor, dtype: "damaged".into(), shape: vec![], values: vec!["damaged".into()] },
        LeafValue::Plain { type_name, value, .. } => {
            Shown { tensor, dtype: type_name.to_string(), shape: vec![], values: vec![plain(value)] }
        }
        LeafValue::Tensor(record) => {
            let mut values: Vec<String> = record.statistics().iter().map(|value| plain(&value.json())).collect();
            values.extend(record.checksum.map(str::to_owned));
            Shown { tensor, dtype: without_framework(record.dtype).to_owned(), shape: record.shape.to_vec(), values }
        }
    }
}

/// A value as a line of `operations.jsonl` holds it; with its row name if `is_named`.
pub(super) fn recorded_value(leaf: Leaf<'_>, is_named: bool) -> Recorded<'_> {
    let tensor = is_named.then(|| leaf.row.text());
    let alone = |dtype, value| Recorded { tensor: None, dtype, shape: Cow::Borrowed(&[]), values: vec![value] };
    let recorded = match leaf.value {
        LeafValue::Null => alone("null".into(), RecordedValue::Text("null".into())),
        LeafValue::Damaged => alone("damaged".into(), RecordedValue::Text("damaged".into())),
        LeafValue::Plain { type_name, value, .. } => alone(type_name.into(), RecordedValue::Text(plain(value).into())),
        LeafValue::Tensor(record) => {
            let checksum = record.checksum.map(|checksum| RecordedValue::Text(checksum.into()));
            let mut values = Vec::with_capacity(4 + usize::from(checksum.is_some()));
            values.extend(record.statistics().into_iter().map(statistic));
            values.extend(checksum);
            let dtype = without_framework(record.dtype).into();
            Recorded { tensor: None, dtype, shape: record.shape.into(), values }
        }
    };
    Recorded { tensor, ..recorded }
}

/// The name of a type without PyTorch's own before it.
fn without_framework(dtype: &str) -> &str {
    let mut name = dtype;
    while let Some(rest) = name.strip_prefix("torch.") {
        name = rest;
    }
    name
}

fn statistic(value: Statistic<'_>) -> RecordedValue<'_> {
    match value {
        Statistic::Null => RecordedValue::Null,
        Statistic::Bool(value) => RecordedValue::Bool(value),
        Statistic::Int(value) => RecordedValue::Int(value),
        Statistic::Float(value) => RecordedValue::Number(Number(value)),
        Statistic::Other(value) => RecordedValue::Text(plain(value).into()),
    }
}

fn plain(value: &Json) -> String {
    match value {
        Json::Null => "null".into(),
        Json::Bool(value) => value.to_string(),
        Json::Int(value) => value.to_string(),
        Json::BigInt(digits) => digits.clone(),
        Json::Float(value) => value.to_string(),
        Json::Text(text) => text.clone(),
        Json::Array(items) => format!("[{}]", items.iter().map(plain).collect::<Vec<_>>().join(", ")),
        Json::Object(entries) => {
            let entries = entries.iter().map(|(key, value)| format!("{key}: {}", plain(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
    }
}
