//! msprobe's `dump.json` and `debug.json` (`docs/formats/msprobe-dump.md`).
//!
//! The `data` object is streamed: only some batches of records are in memory at a time, and they are parsed on all cores. Every
//! record is flattened into leaves by the rules in the section "Row names" of that document, which also name each leaf's row.

use std::borrow::Cow;
use std::collections::hash_map::Entry;

use rayon::prelude::*;

use super::builder::{Builder, NewTensor};
use super::content::{DamageKind, Dump};
use super::mindspore::guess_framework;
use crate::error::{Error, Result};
use crate::fetch::{ByteSource, check_memory};
use crate::hash::ByHash;
use crate::kind::TensorKind;
use crate::read::json::{Batch, Item, Json, Parser, Tape};

/// Deepest nesting of lists and objects in a record that is read; msprobe writes no deeper ones.
const MAX_DEPTH: usize = 400;

/// Reads the records on all cores. Stacks and the module tree are in other files.
pub(super) fn read(source: &dyn ByteSource) -> Result<Dump> {
    let mut reader = Reader {
        source,
        dump: Dump::default(),
        has_data: false,
        builder: Builder::default(),
        places: ByHash::default(),
    };
    let mut parser = Parser::new(source);
    parser.object(|key, parser| match key.as_str() {
        "data" => {
            reader.has_data = true;
            reader.records(parser)
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

/// Records of the operations `names` as they are written, in that order; `None` for a missing name. If a name is repeated, its
/// last record counts.
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

/// Reader that collects the parts of a dump.
struct Reader<'a> {
    source: &'a dyn ByteSource,
    dump: Dump,
    has_data: bool,
    builder: Builder,
    /// Indices of operations by hash of the name.
    places: ByHash<usize>,
}

/// Records that were read together.
#[derive(Default)]
struct Part {
    dump: Dump,
    builder: Builder,
    /// Length of the records in the file, in bytes.
    bytes: u64,
    /// Buffer that held the records.
    buffer: Vec<u8>,
}

impl Part {
    fn of(batch: Batch<'_>) -> Result<Self> {
        let (mut part, mut tape) = (Self { bytes: batch.bytes(), ..Self::default() }, Tape::default());
        part.buffer = batch.entries(|name, parser| {
            tape.read(parser)?;
            part.builder.begin(name);
            leaves(name, tape.root(), &mut part.dump, &mut part.builder);
            if tape.has_repeated_keys() {
                part.dump.note_damage(DamageKind::Repeated, name, "");
            }
            Ok(())
        })?;
        Ok(part)
    }
}

impl Reader<'_> {
    fn header(&mut self, key: &str, value: &Json) {
        let field = match key {
            "task" => &mut self.dump.task,
            "level" => &mut self.dump.level,
            "framework" => &mut self.dump.framework,
            _ => return,
        };
        value.as_str().unwrap_or_default().clone_into(field);
    }

    /// Reads the object of records. While some batches are parsed, the parsed ones before them are added in order.
    fn records(&mut self, parser: &mut Parser<'_>) -> Result<()> {
        let mut batches = parser.batches()?;
        let mut parsed: Vec<Result<Part>> = Vec::new();
        loop {
            let mut round = Vec::new();
            while round.len() < rayon::current_num_threads()
                && let Some(batch) = batches.next_batch()?
            {
                round.push(batch);
            }
            if round.is_empty() && parsed.is_empty() {
                return batches.finish();
            }
            let (buffers, next) = rayon::join(
                || parsed.into_iter().map(|part| self.add(part?)).collect::<Result<Vec<Vec<u8>>>>(),
                || round.into_par_iter().map(Part::of).collect(),
            );
            buffers?.into_iter().for_each(|buffer| batches.reuse(buffer));
            parsed = next;
        }
    }

    /// Adds records, and returns their buffer.
    fn add(&mut self, part: Part) -> Result<Vec<u8>> {
        if self.builder.is_empty() {
            self.builder.reserve_for(&part.builder, self.source.len().div_ceil(part.bytes.max(1)));
        }
        let Self { source, dump, builder, places, .. } = self;
        for damage in part.dump.damage {
            dump.add_damage(damage);
        }
        builder.append(part.builder, |name| {
            let next = places.len();
            match places.entry(crate::hash::hash_of(name)) {
                Entry::Vacant(place) => {
                    place.insert(next);
                    None
                }
                Entry::Occupied(place) => {
                    dump.note_damage(DamageKind::Repeated, name, "");
                    Some(*place.get())
                }
            }
        });
        check_memory(*source, builder.bytes())?;
        Ok(part.buffer)
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
fn leaves(name: &str, record: Item<'_>, dump: &mut Dump, builder: &mut Builder) {
    let without_index = name.split('.').any(|part| part == "parameters_grad");
    let mut walk = Walk { without_index, row: name.to_owned(), shape: Vec::new(), dump, builder };
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
    /// Row name of the current item.
    row: String,
    /// Buffer for the shape that was read last.
    shape: Vec<u64>,
    dump: &'a mut Dump,
    builder: &'a mut Builder,
}

/// Properties of an item of any kind.
#[derive(Clone, Copy, Default)]
struct Properties<'a> {
    class_type: Option<Item<'a>>,
    tensor: Option<Item<'a>>,
    type_name: Option<&'a str>,
    dtype: Option<Item<'a>>,
    shape: Option<Item<'a>>,
    /// Largest, smallest and mean value and 2-norm.
    statistics: [Option<Item<'a>>; 4],
    requires_grad: Option<Item<'a>>,
    md5: Option<Item<'a>>,
    data_name: Option<Item<'a>>,
}

impl<'a> Properties<'a> {
    fn of(item: Item<'a>) -> Self {
        let mut properties = Self::default();
        let [max, min, mean, norm] = &mut properties.statistics;
        for (key, value) in item.entries().into_iter().flatten() {
            let place = match key {
                "type" => {
                    properties.type_name = value.as_str();
                    continue;
                }
                "class_type" => &mut properties.class_type,
                "tensor" => &mut properties.tensor,
                "dtype" => &mut properties.dtype,
                "shape" => &mut properties.shape,
                "Max" => &mut *max,
                "Min" => &mut *min,
                "Mean" => &mut *mean,
                "Norm" => &mut *norm,
                "requires_grad" => &mut properties.requires_grad,
                "md5" => &mut properties.md5,
                "data_name" => &mut properties.data_name,
                _ => continue,
            };
            *place = Some(value);
        }
        properties
    }

    /// Whether the keys are those of a tensor, even if some of them are missing.
    fn is_of_tensor(&self) -> bool {
        let of_class = self.type_name.and_then(|name| name.rsplit('.').next());
        let keys = [self.dtype, self.shape, self.md5, self.data_name].into_iter().chain(self.statistics);
        keys.flatten().next().is_some() || of_class.is_some_and(|class| matches!(class, "Tensor" | "Parameter"))
    }

    /// Whether this is a value that lost its type. The keys of a structure may have the same names, but their values are always
    /// objects, lists or `null`.
    fn lacks_type(&self, value: Option<Item<'_>>) -> bool {
        let is_bare = |item: Item<'_>| item.as_str().is_some() || item.scalar().is_some_and(|bare| *bare != Json::Null);
        let keys = [self.dtype, self.md5, self.data_name, value].into_iter().chain(self.statistics);
        self.type_name.is_none() && keys.flatten().any(is_bare)
    }

    fn is_point_to_point(&self) -> bool {
        self.class_type.and_then(Item::as_str).is_some_and(|class| class.ends_with(".P2POp"))
    }
}

impl Walk<'_> {
    /// Calls `act` with a row name that is extended by `part`.
    fn below(&mut self, part: &str, act: impl FnOnce(&mut Self)) {
        let len = self.row.len();
        self.row.push('.');
        self.row.push_str(part);
        act(self);
        self.row.truncate(len);
    }

    /// Calls `act` with a row name that is extended by an index.
    fn below_index(&mut self, index: usize, act: impl FnOnce(&mut Self)) {
        const FEW: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
        match FEW.get(index) {
            Some(part) => self.below(part, act),
            None => self.below(&index.to_string(), act),
        }
    }

    fn item(&mut self, item: Item<'_>, kind: TensorKind, depth: usize) {
        if depth > MAX_DEPTH {
            let reason = format!("nested deeper than {MAX_DEPTH} levels");
            return self.dump.note_damage(DamageKind::Record, &self.row, reason);
        }
        if let Some(items) = item.items() {
            for (index, item) in items.enumerate() {
                if self.without_index {
                    self.item(item, kind, depth + 1);
                } else {
                    self.below_index(index, |walk| walk.item(item, kind, depth + 1));
                }
            }
        } else if let Some(entries) = item.entries() {
            let properties = Properties::of(item);
            if properties.is_point_to_point() {
                match properties.tensor.filter(|tensor| tensor.entries().is_some()) {
                    Some(tensor) => self.leaf(tensor, &Properties::of(tensor), kind),
                    None => self.builder.add_null(&self.row, kind),
                }
            } else if properties.type_name.is_some() {
                self.leaf(item, &properties, kind);
            } else if properties.lacks_type(item.get("value")) {
                self.damaged("it has no type", kind);
            } else {
                for (key, item) in entries {
                    self.below(key, |walk| walk.item(item, kind, depth + 1));
                }
            }
        } else if item.scalar() == Some(&Json::Null) {
            self.builder.add_null(&self.row, kind);
        }
        // Bare numbers and strings are not items; msprobe writes these as `{"type": …, "value": …}`.
    }

    /// Records a damaged item, which lacks its type, element type or shape, and keeps its row.
    fn damaged(&mut self, reason: &str, kind: TensorKind) {
        self.dump.note_damage(DamageKind::Record, &self.row, reason);
        self.builder.add_damaged(&self.row, kind);
    }

    fn leaf(&mut self, item: Item<'_>, properties: &Properties<'_>, kind: TensorKind) {
        let type_name = properties.type_name.unwrap_or_default();
        if !properties.is_of_tensor() {
            return self.builder.add_plain(&self.row, kind, type_name, plain_value(type_name, item));
        }
        let Some(dtype) = properties.dtype.and_then(Item::as_str).filter(|dtype| !dtype.is_empty()) else {
            return self.damaged("its element type is not given", kind);
        };
        if properties.shape.and_then(|shape| extents_into(shape, &mut self.shape)).is_none() {
            return self.damaged("its shape is not a list of sizes", kind);
        }
        let data_name = properties.data_name.and_then(Item::as_str).filter(|name| !name.is_empty());
        let (row, extension) = match data_name {
            Some(name) => {
                let (stem, extension) =
                    name.rfind('.').and_then(|dot| name.split_at_checked(dot)).unwrap_or((name, ""));
                (stem, Some(extension))
            }
            None => (self.row.as_str(), None),
        };
        let checksum = properties.md5.and_then(checksum);
        // One by one: a mapped array is not inlined.
        let [max, min, mean, norm] = properties.statistics;
        let tensor = NewTensor {
            dtype,
            shape: &self.shape,
            statistics: [value_of(max), value_of(min), value_of(mean), value_of(norm)],
            requires_grad: properties.requires_grad.and_then(Item::scalar).and_then(Json::as_bool),
            checksum: checksum.as_deref(),
            extension,
        };
        self.builder.add_tensor(row, kind, &tensor);
    }
}

/// Value of an item, null where there is none; scalars are borrowed instead of copied.
fn value_of(item: Option<Item<'_>>) -> Cow<'_, Json> {
    let Some(item) = item else { return Cow::Owned(Json::Null) };
    item.scalar().map_or_else(|| Cow::Owned(item.json()), Cow::Borrowed)
}

/// Value of an item that is not a tensor. Some types use a special key for it.
fn plain_value(type_name: &str, item: Item<'_>) -> Json {
    let key = match type_name {
        "torch.ProcessGroup" => "group_ranks",
        "torch.memory_format" => "format",
        _ => "value",
    };
    item.get(key).map_or(Json::Null, Item::json)
}

/// Checksum of a tensor. For a tensor without dimensions, xor dumps record the number itself.
fn checksum(item: Item<'_>) -> Option<Cow<'_, str>> {
    match item.scalar() {
        None => item.as_str().map(Cow::Borrowed),
        Some(Json::Int(number)) => Some(number.to_string().into()),
        Some(Json::Float(number)) => Some(format!("{number:?}").into()),
        Some(Json::Bool(truth)) => Some(if *truth { "True" } else { "False" }.into()),
        Some(_) => None,
    }
}

/// Reads the sizes of a shape into `sizes`, replacing its content; `None` if one of them is not a whole number of at least 0.
fn extents_into(item: Item<'_>, sizes: &mut Vec<u64>) -> Option<()> {
    sizes.clear();
    for size in item.items()? {
        sizes.push(u64::try_from(size.scalar()?.as_i64()?).ok()?);
    }
    Some(())
}

/// Sizes of a shape; `None` if one of them is not a whole number of at least 0.
pub(super) fn extents(items: &[Json]) -> Option<Vec<u64>> {
    items.iter().map(|item| item.as_i64().and_then(|size| u64::try_from(size).ok())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::MemorySource;
    use crate::read::dump::LeafValue;

    fn rows(data: &str) -> Vec<String> {
        let text = format!(r#"{{"task": "statistics", "level": "L1", "data": {data}}}"#);
        let dump = read(&MemorySource::new("dump.json", text.into_bytes())).expect("valid");
        dump.operations.leaves().map(|leaf| leaf.row.to_string()).collect()
    }

    const TENSOR: &str =
        r#"{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2], "Max": NaN, "Min": -Infinity}"#;

    #[test]
    fn the_number_of_a_tensor_without_dimensions_is_its_checksum() {
        let of = |text: &str| {
            let source = MemorySource::new("md5", text.as_bytes().to_vec());
            let mut tape = Tape::default();
            tape.read(&mut Parser::new(&source)).expect("JSON");
            checksum(tape.root()).map(Cow::into_owned)
        };
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
    fn a_record_without_what_makes_it_one_is_damaged() {
        let dump = |record: &str| {
            let text = format!(r#"{{"data": {{"Torch.f.0.forward": {{"input_args": [{record}]}}}}}}"#);
            read(&MemorySource::new("dump.json", text.into_bytes())).expect("valid")
        };
        for key in [r#""type": "torch.Tensor", "#, r#""dtype": "torch.float32", "#, r#""shape": [2], "#] {
            let (name, _) = key.split_once(':').expect("a key and its value");
            for cut in [TENSOR.replace(key, ""), TENSOR.replace(key, &format!("{name}: null, "))] {
                let dump = dump(&cut);
                assert!(
                    matches!(dump.operations.leaves().next().map(|leaf| leaf.value), Some(LeafValue::Damaged)),
                    "{cut}"
                );
                assert_eq!((dump.damage[0].kind, dump.damage[0].count), (DamageKind::Record, 1), "{cut}");
            }
        }
        for whole in [
            r#"{"type": "torch.Size", "value": [2]}"#,
            r#"{"type": {"type": "str", "value": "x"}, "dtype": {"type": "torch.dtype", "value": "torch.half"}, "value": null}"#,
            r#"{"type": "torch.memory_format", "format": "channels_last"}"#,
            "{}",
        ] {
            assert!(dump(whole).damage.is_empty(), "{whole}");
        }
    }

    #[test]
    fn a_document_without_data_is_damaged() {
        let error = read(&MemorySource::new("dump.json", br#"{"task": "tensor"}"#.to_vec())).expect_err("no data");
        assert!(error.help().is_some());
    }
}
