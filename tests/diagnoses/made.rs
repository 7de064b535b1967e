//! Small statistics dumps, written as msprobe writes them, and copies of fixtures with one thing changed.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::diagnoses::tree::{copy, files};

/// Two sides in a folder that goes away.
pub(crate) struct Pair {
    folder: TempDir,
}

impl Pair {
    /// Two empty sides.
    pub(crate) fn empty() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    /// A copy of a fixture.
    pub(crate) fn copy(case: &str) -> Self {
        let pair = Self::empty();
        for side in ["gpu", "npu"] {
            copy(&crate::data::fixture(case).join(side), &pair.side(side));
        }
        pair
    }

    /// `gpu` or `npu`.
    pub(crate) fn side(&self, side: &str) -> PathBuf {
        self.folder.path().join(side)
    }

    pub(crate) fn result(&self) -> precision_gate::result::GateResult {
        crate::diagnoses::result(&self.side("gpu"), &self.side("npu"))
    }

    /// Codes of the causes found.
    pub(crate) fn causes(&self) -> Vec<String> {
        crate::diagnoses::causes(&self.result()).into_iter().map(str::to_owned).collect()
    }

    /// Writes the operations of a rank of step 0.
    pub(crate) fn write(&self, side: &str, rank: Option<u64>, operations: &[Op]) {
        self.write_step(side, 0, rank, operations);
    }

    /// Writes the operations of a rank of a step.
    pub(crate) fn write_step(&self, side: &str, step: u64, rank: Option<u64>, operations: &[Op]) {
        let rank = rank.map_or_else(|| "proc77".to_owned(), |rank| format!("rank{rank}"));
        let folder = self.side(side).join(format!("step{step}")).join(rank);
        fs::create_dir_all(&folder).expect("created");
        fs::write(folder.join("dump.json"), dump(operations)).expect("written");
    }

    /// Changes the text of an operation's record in every `dump.json` of a side.
    pub(crate) fn edit(&self, side: &str, operation: &str, change: impl Fn(&str) -> String) {
        let mut changed = 0;
        for path in files(&self.side(side)) {
            if path.file_name().is_some_and(|name| name == "dump.json") {
                let text = fs::read_to_string(&path).expect("readable");
                let Some(start) = text.find(&format!("\"{operation}\": {{")) else { continue };
                let end = start + end_of_object(&text[start..]);
                fs::write(&path, format!("{}{}{}", &text[..start], change(&text[start..end]), &text[end..]))
                    .expect("written");
                changed += 1;
            }
        }
        assert!(changed > 0, "{operation} was not found");
    }
}

/// Length of a text up to the end of its first object.
fn end_of_object(text: &str) -> usize {
    let mut depth = 0;
    for (place, character) in text.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 1 => return place + 1,
            '}' => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

/// A tensor by its statistics.
#[derive(Clone)]
pub(crate) struct Stat {
    dtype: &'static str,
    shape: Vec<u64>,
    numbers: [f64; 4],
    requires_grad: bool,
}

/// A float tensor of 4 × 8: largest, smallest, mean, norm.
pub(crate) fn stat(max: f64, min: f64, mean: f64, norm: f64) -> Stat {
    Stat { dtype: "torch.float32", shape: vec![4, 8], numbers: [max, min, mean, norm], requires_grad: false }
}

impl Stat {
    pub(crate) fn shape(mut self, shape: &[u64]) -> Self {
        shape.clone_into(&mut self.shape);
        self
    }

    pub(crate) fn dtype(mut self, dtype: &'static str) -> Self {
        self.dtype = dtype;
        self
    }

    pub(crate) fn trained(mut self) -> Self {
        self.requires_grad = true;
        self
    }

    /// The same, with every number times `factor`.
    pub(crate) fn times(mut self, factor: f64) -> Self {
        self.numbers.iter_mut().for_each(|number| *number *= factor);
        self
    }

    fn json(&self) -> String {
        let [max, min, mean, norm] = self.numbers.map(number);
        let has_mean = ["float", "complex"].iter().any(|kind| self.dtype.contains(kind));
        let mean = if has_mean { mean } else { "null".into() };
        let norm = if self.dtype.contains("float") { norm } else { "null".into() };
        format!(
            r#"{{"type": "torch.Tensor", "dtype": "{}", "shape": {:?}, "Max": {max}, "Min": {min}, "Mean": {mean}, "Norm": {norm}, "requires_grad": {}}}"#,
            self.dtype, self.shape, self.requires_grad
        )
    }
}

fn number(value: f64) -> String {
    match value {
        value if value.is_nan() => "NaN".into(),
        f64::INFINITY => "Infinity".into(),
        f64::NEG_INFINITY => "-Infinity".into(),
        _ => format!("{value:?}"),
    }
}

/// One call: its name, what it was given and made, and its plain keyword arguments.
#[derive(Clone)]
pub(crate) struct Op {
    name: String,
    inputs: Vec<Stat>,
    outputs: Vec<Stat>,
    arguments: Vec<(&'static str, f64)>,
}

pub(crate) fn op(name: &str, inputs: &[Stat], outputs: &[Stat]) -> Op {
    Op { name: name.to_owned(), inputs: inputs.to_vec(), outputs: outputs.to_vec(), arguments: Vec::new() }
}

impl Op {
    pub(crate) fn with(mut self, argument: &'static str, value: f64) -> Self {
        self.arguments.push((argument, value));
        self
    }
}

fn dump(operations: &[Op]) -> String {
    let list = |stats: &[Stat]| stats.iter().map(Stat::json).collect::<Vec<_>>().join(", ");
    let mut data = String::new();
    for (index, operation) in operations.iter().enumerate() {
        let comma = if index == 0 { "" } else { ",\n" };
        let (inputs, outputs) = (list(&operation.inputs), list(&operation.outputs));
        let arguments: Vec<String> = operation
            .arguments
            .iter()
            .map(|(name, value)| format!(r#""{name}": {{"type": "float", "value": {value:?}}}"#))
            .collect();
        let is_backward = operation.name.contains("backward");
        let record = if is_backward {
            format!(r#"{{"input": [{inputs}], "output": [{outputs}]}}"#)
        } else {
            let arguments = arguments.join(", ");
            format!(r#"{{"input_args": [{inputs}], "input_kwargs": {{{arguments}}}, "output": [{outputs}]}}"#)
        };
        write!(data, "{comma}\"{}\": {record}", operation.name).expect("a string takes it");
    }
    format!(
        r#"{{"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": null, "data": {{{data}}}}}"#
    )
}
