//! msprobe's `dump.json` and `debug.json` (`docs/formats/msprobe-dump.md`).
//!
//! The `data` object is streamed: one record at a time is a tree in memory. Every record is flattened into leaves
//! by the rules of its section "Row names", which also give each leaf its row name.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::{self, Write as _};

use super::builder::{Builder, NewTensor};
use super::mindspore::guess_framework;
use super::{DamageKind, Dump, TensorKind};
use crate::error::{Error, Result};
use crate::fetch::ByteSource;
use crate::read::json::{Json, Parser};

/// Nesting of lists and objects inside a record that is followed; msprobe writes no more.
const MAX_DEPTH: usize = 400;

/// Reads the records; stacks and module tree are not part of this file.
pub(super) fn read(source: &dyn ByteSource) -> Result<Dump> {
    let mut reader = Reader::default();
    let mut parser = Parser::new(source);
    parser.object(|key, parser| match key.as_str() {
        "data" => {
            reader.has_data = true;
            parser.object(|name, parser| {
                let repeated = parser.repeated_keys();
                let record = parser.value()?;
                reader.record(&name, &record);
                if parser.repeated_keys() > repeated {
                    reader.dump.damaged(DamageKind::Repeated, &name, "");
                }
                Ok(())
            })
        }
        _ => {
            let value = parser.value()?;
            reader.header(&key, &value);
            Ok(())
        }
    })?;
    parser.end()?;
    if !reader.has_data {
        let error = Error::corrupt(source.name(), "no `data` object, which holds the recorded operations");
        return Err(error.with_help("collect the dump again; the file may have been edited or replaced"));
    }
    Ok(reader.finish())
}

/// The records of the operations `names` as they are written, in that order; `None` for a name that is not there. Of a
/// repeated name the last record counts.
pub(super) fn records(source: &dyn ByteSource, names: &[&str]) -> Result<Vec<Option<Json>>> {
    let mut found = vec![None; names.len()];
    let mut parser = Parser::new(source);
    parser.object(|key, parser| {
        if key != "data" {
            return parser.value().map(drop);
        }
        parser.object(|name, parser| {
            let record = parser.value()?;
            for (place, _) in names.iter().enumerate().filter(|(_, wanted)| **wanted == name) {
                if let Some(place) = found.get_mut(place) {
                    *place = Some(record.clone());
                }
            }
            Ok(())
        })
    })?;
    Ok(found)
}

/// A dump in the making.
#[derive(Default)]
struct Reader {
    dump: Dump,
    has_data: bool,
    builder: Builder,
    /// Indices of operations by name.
    places: HashMap<String, usize>,
}

impl Reader {
    fn header(&mut self, key: &str, value: &Json) {
        let field = match key {
            "task" => &mut self.dump.task,
            "level" => &mut self.dump.level,
            "framework" => &mut self.dump.framework,
            _ => return,
        };
        value.as_str().unwrap_or_default().clone_into(field);
    }

    /// Adds one operation; a repeated name keeps its first place and takes the last record, as in Python.
    fn record(&mut self, name: &str, record: &Json) {
        match self.places.get(name) {
            Some(place) => {
                self.dump.damaged(DamageKind::Repeated, name, "");
                self.builder.begin_again(*place, name);
            }
            None => {
                self.places.insert(name.to_owned(), self.builder.begin(name));
            }
        }
        leaves(name, record, &mut self.dump, &mut self.builder);
    }

    fn finish(mut self) -> Dump {
        self.dump.operations = self.builder.finish();
        if self.dump.framework.is_empty() {
            let names = self.dump.operations.iter().map(|operation| operation.name);
            self.dump.framework = guess_framework(names).to_owned();
        }
        self.dump
    }
}

/// Flattens one operation's record.
fn leaves(name: &str, record: &Json, dump: &mut Dump, builder: &mut Builder) {
    let without_index = name.split('.').any(|part| part == "parameters_grad");
    let mut walk = Walk { without_index, row: name.to_owned(), dump, builder };
    let mut parts = name.rsplit('.');
    let (last, before) = (parts.next(), parts.next());
    if last == Some("debug") {
        walk.item(record, TensorKind::Value, 0);
    } else if last == Some("parameters_grad") || before == Some("parameters_grad") {
        walk.item(record, TensorKind::ParameterGradient, 0);
    } else {
        // msprobe's row order: parameters come before outputs.
        for (key, suffix, kind) in [
            ("input_args", "input", TensorKind::Input),
            ("input_kwargs", "input", TensorKind::Input),
            ("input", "input", TensorKind::Input),
            ("parameters", "parameters", TensorKind::Parameter),
            ("output", "output", TensorKind::Output),
        ] {
            if let Some(items) = record.get(key) {
                walk.below(suffix, |walk| walk.item(items, kind, 0));
            }
        }
    }
}

/// A depth-first walk over the items of one operation.
struct Walk<'a> {
    /// Gradients of parameters come in lists of one whose index is not part of the row name.
    without_index: bool,
    /// Row name of the item that is looked at.
    row: String,
    dump: &'a mut Dump,
    builder: &'a mut Builder,
}

impl Walk<'_> {
    /// Does something with the row name one part longer.
    fn below(&mut self, part: impl fmt::Display, act: impl FnOnce(&mut Self)) {
        let len = self.row.len();
        let _ = write!(self.row, ".{part}");
        act(self);
        self.row.truncate(len);
    }

    fn item(&mut self, item: &Json, kind: TensorKind, depth: usize) {
        if depth > MAX_DEPTH {
            let reason = format!("nested deeper than {MAX_DEPTH} levels");
            return self.dump.damaged(DamageKind::Record, &self.row, reason);
        }
        match item {
            Json::Null => self.builder.null(&self.row, kind),
            Json::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    if self.without_index {
                        self.item(item, kind, depth + 1);
                    } else {
                        self.below(index, |walk| walk.item(item, kind, depth + 1));
                    }
                }
            }
            Json::Object(entries) => {
                if item.get("class_type").and_then(Json::as_str).is_some_and(|class| class.ends_with(".P2POp")) {
                    match item.get("tensor") {
                        Some(tensor @ Json::Object(_)) => self.leaf(tensor, kind),
                        _ => self.builder.null(&self.row, kind),
                    }
                } else if matches!(item.get("type"), Some(Json::Text(_))) {
                    self.leaf(item, kind);
                } else {
                    for (key, item) in entries {
                        self.below(key, |walk| walk.item(item, kind, depth + 1));
                    }
                }
            }
            // Bare numbers and strings are not items: msprobe writes those as `{"type": …, "value": …}`.
            _ => {}
        }
    }

    fn leaf(&mut self, item: &Json, kind: TensorKind) {
        let type_name = text(item, "type").unwrap_or_default();
        let Some(dtype) = text(item, "dtype").filter(|dtype| !dtype.is_empty()) else {
            return self.builder.plain(&self.row, kind, type_name, plain_value(type_name, item));
        };
        let Some(shape) = item.get("shape").and_then(Json::as_array).and_then(extents) else {
            self.dump.damaged(DamageKind::Record, &self.row, "its shape is not a list of sizes");
            return self.builder.plain(&self.row, kind, type_name, Json::Null);
        };
        let data_name = text(item, "data_name").filter(|name| !name.is_empty());
        let (row, extension) = match data_name {
            Some(name) => {
                let (stem, extension) =
                    name.rfind('.').and_then(|dot| name.split_at_checked(dot)).unwrap_or((name, ""));
                (stem, Some(extension))
            }
            None => (self.row.as_str(), None),
        };
        let checksum = item.get("md5").and_then(checksum);
        let tensor = NewTensor {
            dtype,
            shape: &shape,
            statistics: ["Max", "Min", "Mean", "Norm"].map(|key| item.get(key).unwrap_or(&Json::Null)),
            requires_grad: item.get("requires_grad").and_then(Json::as_bool),
            checksum: checksum.as_deref(),
            extension,
        };
        self.builder.tensor(row, kind, &tensor);
    }
}

/// The value of an item that is not a tensor; some types keep it under a key of their own.
fn plain_value(type_name: &str, item: &Json) -> Json {
    let key = match type_name {
        "torch.ProcessGroup" => "group_ranks",
        "torch.memory_format" => "format",
        _ => "value",
    };
    item.get(key).cloned().unwrap_or(Json::Null)
}

/// A checksum; of a tensor without dimensions, xor dumps record the number itself.
fn checksum(value: &Json) -> Option<Cow<'_, str>> {
    match value {
        Json::Text(text) => Some(Cow::Borrowed(text.as_str())),
        Json::Int(number) => Some(number.to_string().into()),
        Json::Float(number) => Some(format!("{number:?}").into()),
        Json::Bool(truth) => Some(if *truth { "True" } else { "False" }.into()),
        _ => None,
    }
}

fn text<'a>(item: &'a Json, key: &str) -> Option<&'a str> {
    item.get(key).and_then(Json::as_str)
}

/// Sizes of a shape; `None` where one is not a whole number from 0 on.
pub(super) fn extents(items: &[Json]) -> Option<Vec<u64>> {
    items.iter().map(|item| item.as_i64().and_then(|size| u64::try_from(size).ok())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::Memory;

    fn rows(data: &str) -> Vec<String> {
        let text = format!(r#"{{"task": "statistics", "level": "L1", "data": {data}}}"#);
        let dump = read(&Memory::new("dump.json", text.into_bytes())).expect("valid");
        dump.operations.leaves().map(|leaf| leaf.row.to_string()).collect()
    }

    const TENSOR: &str =
        r#"{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2], "Max": NaN, "Min": -Infinity}"#;

    #[test]
    fn the_number_of_a_tensor_without_dimensions_is_its_checksum() {
        let json = |text: &str| crate::read::json::parse_bytes("md5", text.as_bytes()).expect("JSON");
        let of = |text: &str| checksum(&json(text)).map(Cow::into_owned);
        assert_eq!(of("22.819101333618164").as_deref(), Some("22.819101333618164"));
        assert_eq!((of("7").as_deref(), of("true").as_deref(), of("null")), (Some("7"), Some("True"), None));
    }

    #[test]
    fn empty_items_give_no_row_and_use_up_their_index() {
        let data = format!(r#"{{"Torch.f.0.forward": {{"input_args": [{TENSOR}, [], null, {{}}]}}}}"#);
        assert_eq!(rows(&data), ["Torch.f.0.forward.input.0", "Torch.f.0.forward.input.2"]);
    }

    #[test]
    fn a_data_name_names_the_row() {
        let saved = TENSOR.replace("\"Max\"", r#""data_name": "Torch.f.0.forward.kwargs.opts.a.pt", "Max""#);
        let data = format!(
            r#"{{"Torch.f.0.forward": {{"input_args": [], "input_kwargs": {{"scale": {{"type": "float", "value": 1.0}},
               "opts": {{"a": {saved}}}}}}}}}"#
        );
        assert_eq!(rows(&data), ["Torch.f.0.forward.input.scale", "Torch.f.0.forward.kwargs.opts.a"]);
    }

    #[test]
    fn parameters_come_before_outputs_and_gradients_have_no_index() {
        let data = format!(
            r#"{{"Module.fc.Linear.forward.0": {{"input_args": [{TENSOR}], "input_kwargs": {{}}, "output": [{TENSOR}],
               "parameters": {{"weight": {TENSOR}}}}},
               "Module.fc.Linear.parameters_grad.0": {{"weight": [{TENSOR}]}},
               "x.0.debug": {{"a": [{TENSOR}, {{"type": "int", "value": 1}}]}}}}"#
        );
        assert_eq!(
            rows(&data),
            [
                "Module.fc.Linear.forward.0.input.0",
                "Module.fc.Linear.forward.0.parameters.weight",
                "Module.fc.Linear.forward.0.output.0",
                "Module.fc.Linear.parameters_grad.0.weight",
                "x.0.debug.a.0",
                "x.0.debug.a.1",
            ]
        );
    }

    #[test]
    fn a_point_to_point_operation_is_its_tensor() {
        let data = format!(
            r#"{{"Distributed.batch_isend_irecv.0.forward": {{"input_args": [[
               {{"class_type": "torch.distributed.P2POp", "tensor": {TENSOR}, "op": "isend", "peer": 1}}]]}}}}"#
        );
        assert_eq!(rows(&data), ["Distributed.batch_isend_irecv.0.forward.input.0.0"]);
    }

    #[test]
    fn a_document_without_data_is_damaged() {
        let error = read(&Memory::new("dump.json", br#"{"task": "tensor"}"#.to_vec())).expect_err("no data");
        assert!(error.help().is_some());
    }
}
