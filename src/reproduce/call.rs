//! A call as its records describe it: arguments, results, and the incoming and outgoing gradients.
//!
//! The records are msprobe's (`docs/formats/msprobe-dump.md`, Records and Items). Missing facts are not guessed, with one exception: an
//! argument that msprobe recognised and did not write (`{}`) is an element type that was passed by position, and is taken as that of the
//! result.

use crate::diagnose::runnable::{Root, Runnable};
use crate::documentation;
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::read::dump::DumpFolder;
use crate::read::json::Json;

/// Deepest nesting of lists and dictionaries among arguments.
const MAX_DEPTH: usize = 16;
/// Most values of one call; an untrusted record may list any number.
const MAX_VALUES: usize = 10_000;
/// Most elements of a tensor that is generated from its statistics: 2 GiB in fp64.
const MAX_MADE: u64 = 1 << 28;
/// Longest text of an argument.
const MAX_TEXT: usize = 4096;
/// Most digits of an integer.
const MAX_DIGITS: usize = 100;

/// The records of a call: of its forward and, where there is one, its backward pass.
#[derive(Clone)]
pub struct CallRecords<'a> {
    /// The dump that holds both.
    pub folder: &'a DumpFolder,
    forward: Json,
    backward: Option<Json>,
}

/// A call.
#[derive(Clone, Debug, Default)]
pub struct Call {
    /// Arguments by position.
    pub args: Vec<Item>,
    /// Arguments by name.
    pub kwargs: Vec<(String, Item)>,
    /// Parameters of a module.
    pub parameters: Vec<(String, Tensor)>,
    /// Results in order, with nested ones flattened; `None` for a result that is not a tensor.
    pub outputs: Vec<Option<Tensor>>,
    /// Gradients of the results, which the backward pass receives; `None` where no backward pass was recorded.
    pub incoming_gradients: Option<Vec<Option<Tensor>>>,
    /// Gradients of the inputs, which the backward pass returns.
    pub outgoing_gradients: Option<Vec<Option<Tensor>>>,
    /// Places of unrecorded arguments that are assumed to be the element type of the result.
    pub assumed: Vec<String>,
}

/// A value of an argument.
#[derive(Clone, Debug)]
pub enum Item {
    /// A tensor.
    Tensor(Box<Tensor>),
    /// A number, a truth value, a text or nothing.
    Value(Json),
    /// A list.
    List(Vec<Item>),
    /// A tuple.
    Tuple(Vec<Item>),
    /// A dictionary.
    Dict(Vec<(String, Item)>),
    /// A slice: start, stop, step.
    Slice(Vec<Json>),
    /// An ellipsis: `...`.
    Ellipsis,
    /// An element type.
    Dtype(Dtype),
    /// A device; the script uses that of its own machine.
    Device,
    /// A memory format.
    MemoryFormat(String),
}

/// A tensor of a call.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Its place in the call: `input.0`, `input.weight`, `output.0`.
    pub place: String,
    /// Element type.
    pub dtype: Dtype,
    /// Shape.
    pub shape: Vec<u64>,
    /// Whether it requires a gradient.
    pub requires_grad: bool,
    /// Largest, smallest and mean value and 2-norm: numbers, truth values or nothing.
    pub statistics: [Json; 4],
    /// Name of the file in the data folder; empty where it was not saved.
    pub data_name: String,
    /// Its elements, once they were read.
    pub stored: Option<StoredElements>,
}

/// Elements that were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredElements {
    /// SHA-256 of the elements in row-major order, little-endian.
    pub sha256: String,
    /// File beside the script that holds them; empty where they were not copied.
    pub file: String,
}

/// Reason why a call cannot be repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallObstacle {
    place: String,
    reason: String,
}

impl CallObstacle {
    fn new(place: &str, reason: impl Into<String>) -> Self {
        Self { place: place.to_owned(), reason: reason.into() }
    }

    /// The error about the operation `op`.
    pub fn error(self, op: &str) -> Error {
        let error = Error::unsupported(op, format!("cannot run alone: {} {}", self.place, self.reason));
        error.with_help(concat!(
            "name another operation with --op; ",
            documentation!("reproduce.md"),
            " says which can run"
        ))
    }
}

/// The records of a call, from the first dump that has its forward pass; `None` where none does.
///
/// # Errors
/// Errors of reading.
pub(crate) fn call_records<'a>(dumps: &[&'a DumpFolder], runnable: &Runnable) -> Result<Option<CallRecords<'a>>> {
    for folder in dumps {
        let mut found = folder.records_of(&[&runnable.forward, &runnable.backward])?.into_iter();
        if let (Some(Some(forward)), backward) = (found.next(), found.next().flatten()) {
            return Ok(Some(CallRecords { folder, forward, backward }));
        }
    }
    Ok(None)
}

impl Call {
    /// Reads the records of a call.
    ///
    /// # Errors
    /// The first argument that cannot be reproduced, with the reason.
    pub fn read(records: &CallRecords<'_>, runnable: &Runnable) -> Result<Self, CallObstacle> {
        let mut reader = Reader { values: 0, assumed: Vec::new(), result: None };
        let mut call = Self::default();
        let array = |record: &Json, key: &str| record.get(key).and_then(Json::as_array).map(<[Json]>::to_vec);
        for item in array(&records.forward, "output").unwrap_or_default() {
            reader.results(&item, &format!("output.{}", call.outputs.len()), &mut call.outputs, 0)?;
        }
        reader.result = call.outputs.iter().flatten().next().map(|tensor| tensor.dtype);
        let is_index =
            runnable.root == Root::Tensor && matches!(runnable.function.as_str(), "__getitem__" | "__setitem__");
        for (index, item) in array(&records.forward, "input_args").unwrap_or_default().iter().enumerate() {
            let item = reader.item(item, &format!("input.{index}"), 0)?;
            // An index of several parts is a tuple, which JSON writes as a list.
            call.args.push(match item {
                Item::List(items) if is_index && index == 1 => Item::Tuple(items),
                item => item,
            });
        }
        for (name, item) in records.forward.get("input_kwargs").and_then(Json::as_object).unwrap_or_default() {
            let place = format!("input.{name}");
            is_word(name).then_some(()).ok_or_else(|| CallObstacle::new(&place, "is not the name of an argument"))?;
            call.kwargs.push((name.clone(), reader.item(item, &place, 0)?));
        }
        for (name, item) in records.forward.get("parameters").and_then(Json::as_object).unwrap_or_default() {
            let place = format!("parameters.{name}");
            if let Item::Tensor(tensor) = reader.item(item, &place, 0)? {
                call.parameters.push((name.clone(), *tensor));
            }
        }
        if let Some(backward) = &records.backward {
            call.incoming_gradients = Some(reader.gradients(backward, "input")?);
            call.outgoing_gradients = Some(reader.gradients(backward, "output")?);
        }
        call.assumed = reader.assumed;
        if runnable.is_random() && !is_switched_off(&call) {
            return Err(CallObstacle::new(
                "its result",
                "is drawn at random, so that no two runs agree; set p to 0 in both",
            ));
        }
        if runnable.function == "scaled_dot_product_attention" && attention_drops(&call) {
            return Err(CallObstacle::new("its dropout_p", "is not 0, so that no two runs agree; set it to 0 in both"));
        }
        if runnable.is_backward && call.outgoing_gradients.is_none() {
            return Err(CallObstacle::new("its backward pass", "is not in the dump"));
        }
        Ok(call)
    }

    /// Its tensors: arguments, parameters, results, gradients.
    pub fn tensors(&self) -> Vec<&Tensor> {
        let mut found = self.inputs();
        found.extend(self.results());
        found
    }

    /// Input tensors: arguments, parameters, and incoming gradients.
    pub fn inputs(&self) -> Vec<&Tensor> {
        let mut found = Vec::new();
        let arguments = self.args.iter().chain(self.kwargs.iter().map(|(_, item)| item));
        arguments.for_each(|item| item.tensors(&mut found));
        found.extend(self.parameters.iter().map(|(_, tensor)| tensor));
        found.extend(self.incoming_gradients.iter().flatten().flatten());
        found
    }

    /// Output tensors: results, and outgoing gradients.
    pub fn results(&self) -> impl Iterator<Item = &Tensor> {
        self.outputs.iter().flatten().chain(self.outgoing_gradients.iter().flatten().flatten())
    }

    /// Calls `act` with every tensor.
    ///
    /// # Errors
    /// The first error of `act`.
    pub(crate) fn each_tensor(&mut self, mut act: impl FnMut(&mut Tensor) -> Result<()>) -> Result<()> {
        let arguments = self.args.iter_mut().chain(self.kwargs.iter_mut().map(|(_, item)| item));
        for item in arguments {
            item.each_tensor(&mut act)?;
        }
        let rest = self.parameters.iter_mut().map(|(_, tensor)| tensor).chain(self.outputs.iter_mut().flatten());
        let gradients = self.incoming_gradients.iter_mut().chain(&mut self.outgoing_gradients).flatten().flatten();
        rest.chain(gradients).try_for_each(act)
    }
}

impl Item {
    fn tensors<'a>(&'a self, found: &mut Vec<&'a Tensor>) {
        match self {
            Self::Tensor(tensor) => found.push(tensor),
            Self::List(items) | Self::Tuple(items) => items.iter().for_each(|item| item.tensors(found)),
            Self::Dict(items) => items.iter().for_each(|(_, item)| item.tensors(found)),
            _ => {}
        }
    }

    fn each_tensor(&mut self, act: &mut impl FnMut(&mut Tensor) -> Result<()>) -> Result<()> {
        match self {
            Self::Tensor(tensor) => act(tensor),
            Self::List(items) | Self::Tuple(items) => items.iter_mut().try_for_each(|item| item.each_tensor(act)),
            Self::Dict(items) => items.iter_mut().try_for_each(|(_, item)| item.each_tensor(act)),
            _ => Ok(()),
        }
    }
}

impl Tensor {
    /// Number of elements.
    pub fn elements(&self) -> u64 {
        self.shape.iter().fold(1, |product: u64, len| product.saturating_mul(*len))
    }
}

/// Reads the items of one call.
struct Reader {
    values: usize,
    assumed: Vec<String>,
    /// Element type of the first result.
    result: Option<Dtype>,
}

impl Reader {
    fn item(&mut self, item: &Json, place: &str, depth: usize) -> Result<Item, CallObstacle> {
        self.values += 1;
        if self.values > MAX_VALUES || depth > MAX_DEPTH {
            return Err(CallObstacle::new(
                place,
                format!("is one of more than {MAX_VALUES} values, or nested too deep"),
            ));
        }
        match item {
            Json::Null => Ok(Item::Value(Json::Null)),
            Json::Array(items) => {
                let below = |(index, item): (usize, &Json)| self.item(item, &format!("{place}.{index}"), depth + 1);
                items.iter().enumerate().map(below).collect::<Result<_, _>>().map(Item::List)
            }
            Json::Object(entries) if entries.is_empty() => {
                let dtype = self.result.ok_or_else(|| CallObstacle::new(place, "was not recorded"))?;
                self.assumed.push(place.to_owned());
                Ok(Item::Dtype(dtype))
            }
            Json::Object(entries) => match item.get("type") {
                Some(Json::Text(kind)) => self.typed(item, kind, place),
                _ => {
                    let below = |(key, item): &(String, Json)| {
                        Ok((text_of(key, place)?, self.item(item, &format!("{place}.{key}"), depth + 1)?))
                    };
                    entries.iter().map(below).collect::<Result<_, _>>().map(Item::Dict)
                }
            },
            _ => Err(CallObstacle::new(place, "is not an item of a dump")),
        }
    }

    /// Reads an item with a `type` key.
    fn typed(&mut self, item: &Json, kind: &str, place: &str) -> Result<Item, CallObstacle> {
        if item.get("dtype").is_some() && item.get("shape").is_some() {
            return tensor(item, place).map(Box::new).map(Item::Tensor);
        }
        let value = item.get("value").unwrap_or(&Json::Null);
        match kind {
            "int" | "float" | "bool" | "str" | "NoneType" => plain(value, place).map(Item::Value),
            "torch.Size" => self.item_list(value, place),
            "slice" => {
                let parts = value.as_array().filter(|parts| parts.len() == 3);
                let parts = parts.ok_or_else(|| CallObstacle::new(place, "is a slice without start, stop and step"))?;
                parts.iter().map(|part| plain(part, place)).collect::<Result<_, _>>().map(Item::Slice)
            }
            "ellipsis" => Ok(Item::Ellipsis),
            "torch.dtype" => {
                let dtype = value.as_str().and_then(Dtype::parse);
                dtype.map(Item::Dtype).ok_or_else(|| CallObstacle::new(place, "is an unknown element type"))
            }
            "torch.device" => Ok(Item::Device),
            "torch.memory_format" => {
                let format = item.get("format").and_then(Json::as_str).unwrap_or_default();
                let format = format.strip_prefix("torch.").unwrap_or(format);
                is_word(format)
                    .then(|| Item::MemoryFormat(format.to_owned()))
                    .ok_or_else(|| CallObstacle::new(place, "is unknown"))
            }
            _ => Err(CallObstacle::new(place, "is of a type that the script cannot make")),
        }
    }

    fn item_list(&mut self, value: &Json, place: &str) -> Result<Item, CallObstacle> {
        let sizes = value.as_array().ok_or_else(|| CallObstacle::new(place, "is a size without numbers"))?;
        self.values += sizes.len();
        let size = |size: &Json| plain(size, place).map(Item::Value);
        sizes.iter().take(MAX_VALUES).map(size).collect::<Result<_, _>>().map(Item::List)
    }

    /// Adds the results in an item to `found`, with nested ones flattened. A `null` is not a result.
    fn results(
        &mut self,
        item: &Json,
        place: &str,
        found: &mut Vec<Option<Tensor>>,
        depth: usize,
    ) -> Result<(), CallObstacle> {
        self.values += 1;
        if self.values > MAX_VALUES || depth > MAX_DEPTH {
            return Err(CallObstacle::new(place, "has too many parts"));
        }
        let next = |found: &Vec<Option<Tensor>>| format!("output.{}", found.len());
        match item {
            Json::Array(items) => items.iter().try_for_each(|item| self.results(item, &next(found), found, depth + 1)),
            Json::Object(entries) if matches!(item.get("type"), Some(Json::Text(_))) => {
                let _typed = entries;
                found.push(tensor(item, place).ok());
                Ok(())
            }
            Json::Object(entries) => {
                entries.iter().try_for_each(|(_, item)| self.results(item, &next(found), found, depth + 1))
            }
            _ => Ok(()),
        }
    }

    /// Gradients of a backward record, by position.
    fn gradients(&mut self, record: &Json, key: &str) -> Result<Vec<Option<Tensor>>, CallObstacle> {
        let items = record.get(key).and_then(Json::as_array).unwrap_or_default();
        self.values += items.len();
        if self.values > MAX_VALUES {
            return Err(CallObstacle::new(key, "has too many gradients"));
        }
        let word = if key == "input" { "arriving" } else { "gradient" };
        let gradient = |(index, item): (usize, &Json)| tensor(item, &format!("{word}.{index}")).ok();
        Ok(items.iter().enumerate().map(gradient).collect())
    }
}

/// The tensor that an item describes.
fn tensor(item: &Json, place: &str) -> Result<Tensor, CallObstacle> {
    let dtype = item.get("dtype").and_then(Json::as_str).and_then(Dtype::parse);
    let dtype = dtype.ok_or_else(|| CallObstacle::new(place, "has an unknown element type"))?;
    let shape = item.get("shape").and_then(Json::as_array).and_then(|sizes| {
        sizes.iter().map(|size| size.as_i64().and_then(|size| u64::try_from(size).ok())).collect::<Option<Vec<u64>>>()
    });
    let shape = shape.filter(|shape| shape.len() <= 64).ok_or_else(|| CallObstacle::new(place, "has no shape"))?;
    let statistic = |key: &str| match item.get(key) {
        Some(number @ (Json::Int(_) | Json::Float(_) | Json::Bool(_))) => number.clone(),
        _ => Json::Null,
    };
    let tensor = Tensor {
        place: place.to_owned(),
        dtype,
        shape,
        requires_grad: item.get("requires_grad").and_then(Json::as_bool).unwrap_or(false),
        statistics: ["Max", "Min", "Mean", "Norm"].map(statistic),
        data_name: item.get("data_name").and_then(Json::as_str).unwrap_or_default().to_owned(),
        stored: None,
    };
    if tensor.elements() > MAX_MADE && tensor.data_name.is_empty() {
        return Err(CallObstacle::new(
            place,
            format!("has more than {MAX_MADE} elements, which would have to be made"),
        ));
    }
    Ok(tensor)
}

/// A number, a truth value, a text or nothing, of a bounded length.
fn plain(value: &Json, place: &str) -> Result<Json, CallObstacle> {
    match value {
        Json::Text(text) => text_of(text, place).map(Json::Text),
        Json::BigInt(digits) if digits.len() > MAX_DIGITS => {
            Err(CallObstacle::new(place, "is a number of too many digits"))
        }
        Json::Array(_) | Json::Object(_) => Err(CallObstacle::new(place, "was not recorded as a plain value")),
        plain => Ok(plain.clone()),
    }
}

fn text_of(text: &str, place: &str) -> Result<String, CallObstacle> {
    let is_short = text.len() <= MAX_TEXT;
    is_short
        .then(|| text.to_owned())
        .ok_or_else(|| CallObstacle::new(place, format!("is a text of more than {MAX_TEXT} bytes")))
}

/// Whether a text is one word of letters, digits and underscores, as names of arguments are.
fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 64
        && !text.starts_with(|first: char| first.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The value of an argument, by name or by position.
fn argument<'a>(call: &'a Call, name: &str, position: usize) -> Option<&'a Json> {
    let named = call.kwargs.iter().find(|(known, _)| known == name).map(|(_, item)| item);
    match named.or_else(|| call.args.get(position))? {
        Item::Value(value) => Some(value),
        _ => None,
    }
}

/// Whether a dropout drops nothing: p is 0, or it is not training.
fn is_switched_off(call: &Call) -> bool {
    let p = argument(call, "p", 1).and_then(Json::as_f64);
    p == Some(0.0) || argument(call, "training", 2) == Some(&Json::Bool(false))
}

fn attention_drops(call: &Call) -> bool {
    argument(call, "dropout_p", 4).and_then(Json::as_f64).is_some_and(|p| p != 0.0)
}
