//! Small dumps, written as msprobe writes them: `dump.json` with its tensors as torch files.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use half::{bf16, f16};
use precision_gate::msprobe::dump::Matching;
use precision_gate::msprobe::table::MsprobeTable;

use crate::dumps::support::tables;

/// A tensor to dump.
#[derive(Clone)]
pub(crate) struct Tensor {
    /// Its torch name without `torch.`.
    dtype: &'static str,
    shape: Vec<u64>,
    bytes: Vec<u8>,
    /// Maximum, minimum, mean, norm as JSON.
    statistics: [String; 4],
    requires_grad: bool,
    checksum: Option<String>,
    /// Whether its file is written.
    saved: bool,
}

impl Tensor {
    fn new(dtype: &'static str, shape: &[u64], bytes: Vec<u8>, values: &[f64]) -> Self {
        let statistics = statistics(values);
        Self { dtype, shape: shape.to_vec(), bytes, statistics, requires_grad: false, checksum: None, saved: true }
    }

    pub(crate) fn f32(shape: &[u64], values: &[f32]) -> Self {
        let wide: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
        Self::new("float32", shape, values.iter().flat_map(|value| value.to_le_bytes()).collect(), &wide)
    }

    /// A tensor of any type from its bytes, without statistics.
    pub(crate) fn raw(dtype: &'static str, shape: &[u64], bytes: Vec<u8>) -> Self {
        let statistics = std::array::from_fn(|_| "null".into());
        Self { statistics, ..Self::new(dtype, shape, bytes, &[]) }
    }

    pub(crate) fn f64(shape: &[u64], values: &[f64]) -> Self {
        let tensor = Self::new("float64", shape, values.iter().flat_map(|value| value.to_le_bytes()).collect(), values);
        let [max, min, ..] = tensor.statistics;
        Self { statistics: [max, min, "null".into(), "null".into()], ..tensor }
    }

    pub(crate) fn f16(shape: &[u64], values: &[f64]) -> Self {
        let narrow: Vec<f16> = values.iter().map(|value| f16::from_f64(*value)).collect();
        let wide: Vec<f64> = narrow.iter().map(|value| value.to_f64()).collect();
        Self::new("float16", shape, narrow.iter().flat_map(|value| value.to_le_bytes()).collect(), &wide)
    }

    pub(crate) fn bf16(shape: &[u64], values: &[f64]) -> Self {
        let narrow: Vec<bf16> = values.iter().map(|value| bf16::from_f64(*value)).collect();
        let wide: Vec<f64> = narrow.iter().map(|value| value.to_f64()).collect();
        Self::new("bfloat16", shape, narrow.iter().flat_map(|value| value.to_le_bytes()).collect(), &wide)
    }

    /// `float8_e4m3fn` from its bits; such tensors have no statistics.
    pub(crate) fn f8(shape: &[u64], bits: &[u8]) -> Self {
        Self::raw("float8_e4m3fn", shape, bits.to_vec())
    }

    pub(crate) fn i64(shape: &[u64], values: &[i64]) -> Self {
        Self::whole("int64", shape, values.iter().flat_map(|value| value.to_le_bytes()).collect(), values)
    }

    pub(crate) fn i32(shape: &[u64], values: &[i32]) -> Self {
        let wide: Vec<i64> = values.iter().map(|value| i64::from(*value)).collect();
        Self::whole("int32", shape, values.iter().flat_map(|value| value.to_le_bytes()).collect(), &wide)
    }

    pub(crate) fn u8(shape: &[u64], values: &[u8]) -> Self {
        let wide: Vec<i64> = values.iter().map(|value| i64::from(*value)).collect();
        Self::whole("uint8", shape, values.to_vec(), &wide)
    }

    fn whole(dtype: &'static str, shape: &[u64], bytes: Vec<u8>, values: &[i64]) -> Self {
        let text = |value: Option<&i64>| value.map_or("null".into(), ToString::to_string);
        let extremes = [text(values.iter().max()), text(values.iter().min())];
        let [max, min] = extremes;
        Self { statistics: [max, min, "null".into(), "null".into()], ..Self::new(dtype, shape, bytes, &[]) }
    }

    pub(crate) fn bool(shape: &[u64], values: &[bool]) -> Self {
        let (any, all) = (values.iter().any(|value| *value), values.iter().all(|value| *value));
        let statistics = [any.to_string(), all.to_string(), "null".into(), "null".into()];
        Self { statistics, ..Self::new("bool", shape, values.iter().map(|value| u8::from(*value)).collect(), &[]) }
    }

    pub(crate) fn complex64(shape: &[u64], values: &[(f32, f32)]) -> Self {
        let bytes = values.iter().flat_map(|(re, im)| [re.to_le_bytes(), im.to_le_bytes()]).flatten().collect();
        let absolute: Vec<f64> = values.iter().map(|(re, im)| f64::from(re.hypot(*im))).collect();
        let mut tensor = Self::new("complex64", shape, bytes, &absolute);
        tensor.statistics[3] = "null".into();
        tensor
    }

    pub(crate) fn with_statistics(mut self, statistics: [&str; 4]) -> Self {
        self.statistics = statistics.map(str::to_owned);
        self
    }

    pub(crate) fn requiring_grad(mut self) -> Self {
        self.requires_grad = true;
        self
    }

    pub(crate) fn with_checksum(mut self, checksum: &str) -> Self {
        self.checksum = Some(checksum.into());
        self
    }

    /// Leaves the file out that the record names.
    pub(crate) fn lost(mut self) -> Self {
        self.saved = false;
        self
    }

    fn record(&self, task: &str, data_name: &str) -> String {
        let [max, min, mean, norm] = &self.statistics;
        let mut record = format!(
            r#"{{"type": "torch.Tensor", "dtype": "torch.{}", "shape": {:?}, "Max": {max}, "Min": {min}, "Mean": {mean}, "Norm": {norm}, "requires_grad": {}"#,
            self.dtype, self.shape, self.requires_grad
        );
        if let Some(checksum) = &self.checksum {
            write!(record, r#", "md5": "{checksum}""#).expect("text");
        }
        if task == "tensor" {
            write!(record, r#", "data_name": "{data_name}""#).expect("text");
        }
        record + "}"
    }
}

/// Maximum, minimum, mean and 2-norm as JSON, NaN and infinities as Python writes them.
fn statistics(values: &[f64]) -> [String; 4] {
    if values.is_empty() {
        return std::array::from_fn(|_| "null".into());
    }
    let nan = values.iter().any(|value| value.is_nan());
    let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let min = values.iter().copied().fold(f64::INFINITY, f64::min);
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let norm = values.iter().map(|value| value * value).sum::<f64>().sqrt();
    #[allow(clippy::cast_possible_truncation, reason = "msprobe takes the norm in the tensor's own type")]
    [max, min, mean, f64::from(norm as f32)].map(|value| number(if nan { f64::NAN } else { value }))
}

fn number(value: f64) -> String {
    match value {
        _ if value.is_nan() => "NaN".into(),
        f64::INFINITY => "Infinity".into(),
        f64::NEG_INFINITY => "-Infinity".into(),
        _ => format!("{value:?}"),
    }
}

/// A value of an operation.
#[derive(Clone)]
pub(crate) enum Item {
    /// A tensor.
    Tensor(Tensor),
    /// JSON as it stands.
    Raw(&'static str),
}

impl From<Tensor> for Item {
    fn from(tensor: Tensor) -> Self {
        Self::Tensor(tensor)
    }
}

/// One operation.
#[derive(Clone)]
pub(crate) struct Op {
    name: String,
    inputs: Vec<Item>,
    kwargs: Vec<(&'static str, Item)>,
    outputs: Vec<Item>,
}

impl Op {
    /// An operation with one output.
    pub(crate) fn output(name: &str, output: impl Into<Item>) -> Self {
        Self { name: name.into(), inputs: vec![], kwargs: vec![], outputs: vec![output.into()] }
    }

    pub(crate) fn input(mut self, input: impl Into<Item>) -> Self {
        self.inputs.push(input.into());
        self
    }

    pub(crate) fn kwarg(mut self, name: &'static str, value: impl Into<Item>) -> Self {
        self.kwargs.push((name, value.into()));
        self
    }

    pub(crate) fn and_output(mut self, output: impl Into<Item>) -> Self {
        self.outputs.push(output.into());
        self
    }
}

/// `Torch.X.0.forward` with one output: the minimal case.
pub(crate) fn x(output: impl Into<Item>) -> Vec<Op> {
    vec![Op::output("Torch.X.0.forward", output)]
}

/// Writes a dump into `folder` (`…/step0/rank0`).
pub(crate) fn dump(folder: &Path, task: &str, operations: &[Op]) {
    let data = folder.join("dump_tensor_data");
    fs::create_dir_all(&data).expect("a folder");
    let records: Vec<String> =
        operations.iter().map(|op| format!("\"{}\": {}", op.name, record(op, task, &data))).collect();
    let text = format!(
        r#"{{"task": "{task}", "level": "L1", "framework": "pytorch", "dump_data_dir": null, "data": {{{}}}}}"#,
        records.join(", ")
    );
    fs::write(folder.join("dump.json"), text).expect("written");
}

fn record(op: &Op, task: &str, data: &Path) -> String {
    let list = |items: &[Item], part: &str| {
        let item = |(index, item): (usize, &Item)| json(item, task, data, &format!("{}.{part}.{index}", op.name));
        items.iter().enumerate().map(item).collect::<Vec<_>>().join(", ")
    };
    let kwargs = op
        .kwargs
        .iter()
        .map(|(key, item)| format!("\"{key}\": {}", json(item, task, data, &format!("{}.kwargs.{key}", op.name))));
    let input = if op.name.contains("backward") { "input" } else { "input_args" };
    format!(
        r#"{{"{input}": [{}], "input_kwargs": {{{}}}, "output": [{}]}}"#,
        list(&op.inputs, "input"),
        kwargs.collect::<Vec<_>>().join(", "),
        list(&op.outputs, "output"),
    )
}

fn json(item: &Item, task: &str, data: &Path, stem: &str) -> String {
    match item {
        Item::Raw(text) => (*text).to_owned(),
        Item::Tensor(tensor) => {
            let name = format!("{stem}.pt");
            if task == "tensor" && tensor.saved {
                fs::write(data.join(&name), torch_file(stem, tensor)).expect("written");
            }
            tensor.record(task, &name)
        }
    }
}

/// A torch zip file with one dense tensor.
fn torch_file(stem: &str, tensor: &Tensor) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    let parts: [(&str, &[u8]); 4] =
        [("data.pkl", &pickle(tensor)), ("data/0", &tensor.bytes), ("byteorder", b"little"), ("version", b"3\n")];
    for (name, bytes) in parts {
        zip.start_file(format!("{stem}/{name}"), stored).expect("an entry");
        zip.write_all(bytes).expect("written");
    }
    zip.finish().expect("closed").into_inner()
}

/// The pickle of a tensor: `_rebuild_tensor_v2` over a typed storage, `_v3` where the type has none.
fn pickle(tensor: &Tensor) -> Vec<u8> {
    let class = match tensor.dtype {
        "float32" => Some("FloatStorage"),
        "float64" => Some("DoubleStorage"),
        "float16" => Some("HalfStorage"),
        "bfloat16" => Some("BFloat16Storage"),
        "int64" => Some("LongStorage"),
        "int32" => Some("IntStorage"),
        "uint8" => Some("ByteStorage"),
        "bool" => Some("BoolStorage"),
        "complex64" => Some("ComplexFloatStorage"),
        _ => None,
    };
    let elements = tensor.shape.iter().product::<u64>();
    let text =
        |text: &str| [&b"X"[..], &u32::try_from(text.len()).expect("short").to_le_bytes(), text.as_bytes()].concat();
    let int = |value: u64| [&b"J"[..], &u32::try_from(value).expect("small").to_le_bytes()].concat();
    let tuple =
        |values: &[u64]| [&b"("[..], &values.iter().flat_map(|value| int(*value)).collect::<Vec<_>>(), b"t"].concat();
    let mut strides = vec![1; tensor.shape.len()];
    for axis in (1..tensor.shape.len()).rev() {
        strides[axis - 1] = strides[axis] * tensor.shape[axis].max(1);
    }
    let (rebuild, storage, len) = match class {
        Some(class) => ("_rebuild_tensor_v2", format!("ctorch\n{class}\n"), elements),
        None => ("_rebuild_tensor_v3", "ctorch.storage\nUntypedStorage\n".into(), tensor.bytes.len() as u64),
    };
    let dtype = if class.is_some() { String::new() } else { format!("ctorch\n{}\n", tensor.dtype) };
    [
        format!("\u{2}ctorch._utils\n{rebuild}\n((").into_bytes(),
        text("storage"),
        storage.into_bytes(),
        text("0"),
        text("cpu"),
        int(len),
        b"tQ".to_vec(),
        int(0),
        tuple(&tensor.shape),
        tuple(&strides),
        b"\x89ccollections\nOrderedDict\n)R".to_vec(),
        dtype.into_bytes(),
        b"tR.".to_vec(),
    ]
    .concat()
    .into_iter()
    .fold(vec![0x80], |mut bytes, byte| {
        bytes.push(byte);
        bytes
    })
}

/// A compared pair.
pub(crate) struct Compared(pub(crate) MsprobeTable);

impl Compared {
    /// The table of two dumps of one task.
    pub(crate) fn of(task: &str, npu: &[Op], bench: &[Op]) -> Self {
        Self::matching(task, npu, bench, &Matching::default())
    }

    pub(crate) fn matching(task: &str, npu: &[Op], bench: &[Op], matching: &Matching) -> Self {
        Self(Self::try_of((task, npu), (task, bench), matching).expect("a table"))
    }

    pub(crate) fn try_of(npu: (&str, &[Op]), bench: (&str, &[Op]), matching: &Matching) -> Option<MsprobeTable> {
        let folder = tempfile::tempdir().expect("a folder");
        let side = |name: &str, (task, operations): (&str, &[Op])| {
            let path = folder.path().join(name);
            dump(&path.join("step0/rank0"), task, operations);
            path
        };
        tables(&side("gpu", bench), &side("npu", npu), matching).pop()
    }

    /// The text of a cell.
    pub(crate) fn cell(&self, row: usize, column: &str) -> String {
        let index = self.0.columns.iter().position(|title| title == column).expect("a column");
        self.0.rows[row][index].text().into_owned()
    }

    /// The texts of some cells of a row.
    pub(crate) fn cells<const N: usize>(&self, row: usize, columns: [&str; N]) -> [String; N] {
        columns.map(|column| self.cell(row, column))
    }
}
