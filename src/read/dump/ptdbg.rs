//! ptdbg_ascend's line-JSON `.pkl` (`docs/formats/ptdbg.md`), msprobe's ancestor.
//!
//! The file is text, not a pickle: one JSON list per line, `[name, step, md5, dtype, shape, statistics]` for a
//! value and `[name, [[path, line, function, code], …]]` for a call stack. The parts of names are joined by `.`, or by `_` in
//! very old files. Values are saved as `<name>.npy` in a folder next to the file.

use std::borrow::Cow;
use std::sync::Arc;

use super::builder::{Builder, NewTensor};
use super::compact::ByNameBuilder;
use super::content::{DamageKind, Dump};
use super::msprobe::extents;
use crate::error::{Error, Result};
use crate::fetch::{ByteSource, check_memory};
use crate::kind::TensorKind;
use crate::read::json::{Json, Parser};

/// Whether the first bytes of a file are lines of this format.
pub(super) fn recognise(head: &[u8]) -> bool {
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if !line.starts_with(b"[\"") {
        return false;
    }
    let whole = line.len() < head.len() || line.ends_with(b"]");
    match crate::read::json::parse_bytes("", line) {
        Ok(row) => parse_row(&row).is_some(),
        // The first line does not end within the head. It is not a long stack, because a stack never comes first.
        Err(_) => !whole && contains_io(line),
    }
}

fn contains_io(line: &[u8]) -> bool {
    let name = line.get(2..).unwrap_or_default().split(|byte| *byte == b'"').next().unwrap_or_default();
    std::str::from_utf8(name).is_ok_and(|name| split_row_name(name).is_some())
}

/// Reads the records. `saved` returns whether the file of a value exists.
pub(super) fn read(source: &dyn ByteSource, saved: impl Fn(&str) -> bool) -> Result<Dump> {
    let mut dump =
        Dump { task: "statistics".into(), level: "L1".into(), framework: "pytorch".into(), ..Dump::default() };
    let (mut builder, mut stacks) = (Builder::default(), ByNameBuilder::default());
    let mut parser = Parser::new(source);
    while !parser.at_end()? {
        let line = parser.offset();
        let row = parser.value()?;
        match parse_row(&row) {
            Some(Row::Stack(operation, frames)) => {
                let frames = stacks.add_value(Arc::new(frames));
                stacks.assign(operation, frames);
            }
            Some(Row::Value(value)) => {
                if builder.current() != value.operation {
                    builder.begin(value.operation);
                }
                let is_saved = saved(&format!("{}{EXTENSION}", value.row));
                if is_saved && value.is_tensor() {
                    "tensor".clone_into(&mut dump.task);
                }
                value.add_to(&mut builder, is_saved);
                check_memory(source, builder.bytes())?;
            }
            None if row.as_array().is_some() => {
                dump.note_damage(DamageKind::Record, source.name(), format!("a row of unknown form at byte {line}"));
            }
            None => {
                let message = format!("expected one list per line, found something else at byte {line}");
                return Err(Error::corrupt(source.name(), message));
            }
        }
    }
    dump.operations = builder.finish();
    dump.stacks = Some(stacks.finish()).filter(|stacks| !stacks.is_empty());
    Ok(dump)
}

/// Ending of the names of data files.
const EXTENSION: &str = ".npy";

/// One line.
enum Row<'a> {
    Stack(&'a str, Vec<String>),
    Value(RowValue<'a>),
}

/// The line of a value.
struct RowValue<'a> {
    row: &'a str,
    operation: &'a str,
    kind: TensorKind,
    checksum: Option<&'a str>,
    dtype: &'a str,
    /// `None` where the value is not a tensor.
    shape: Option<Vec<u64>>,
    statistics: &'a [Json],
}

impl RowValue<'_> {
    fn is_tensor(&self) -> bool {
        self.shape.is_some()
    }

    fn add_to(&self, builder: &mut Builder, is_saved: bool) {
        let statistic = |index: usize| self.statistics.get(index).unwrap_or(&Json::Null);
        let extension = is_saved.then_some(EXTENSION);
        let Some(shape) = &self.shape else {
            let class = class_of(self.dtype).unwrap_or_default();
            return builder.add_saved_plain(self.row, self.kind, class, statistic(0).clone(), extension);
        };
        let tensor = NewTensor {
            dtype: self.dtype,
            shape,
            statistics: std::array::from_fn(|index| Cow::Borrowed(statistic(index))),
            requires_grad: None,
            checksum: self.checksum,
            extension,
        };
        builder.add_tensor(self.row, self.kind, &tensor);
    }
}

fn parse_row(row: &Json) -> Option<Row<'_>> {
    match row.as_array()? {
        [Json::Text(name), Json::Array(frames)] => {
            let operation = name.strip_suffix("stack_info")?;
            let operation = operation.strip_suffix(['.', '_']).unwrap_or(operation);
            Some(Row::Stack(operation, frames.iter().map(frame).collect()))
        }
        [Json::Text(row), _step, checksum, Json::Text(dtype), shape, Json::Array(statistics), ..] => {
            let (operation, kind) = split_row_name(row)?;
            let shape = match class_of(dtype) {
                Some(_) => None,
                None => Some(extents(shape.as_array()?)?),
            };
            let checksum = checksum.as_str();
            Some(Row::Value(RowValue { row, operation, kind, checksum, dtype, shape, statistics }))
        }
        _ => None,
    }
}

/// Class name of a value that is not a tensor: `int` for `<class 'int'>`.
fn class_of(dtype: &str) -> Option<&str> {
    dtype.strip_prefix("<class '")?.strip_suffix("'>")
}

/// Text of a stack frame in msprobe's form: `File <path>, line <n>, in <function>, \n <code>`.
fn frame(frame: &Json) -> String {
    let texts: Vec<&str> = frame.as_array().unwrap_or_default().iter().filter_map(Json::as_str).collect();
    match texts.as_slice() {
        [path, line, function, code] => format!("File {path}, line {line}, in {function}, \n {code}"),
        other => other.join(", "),
    }
}

/// Operation that a row belongs to, and the role of the value in it.
///
/// The last `input`, `kwargs` or `output` between separators counts, so that an operation itself may be called `output`.
fn split_row_name(name: &str) -> Option<(&str, TensorKind)> {
    const WORDS: [(&str, TensorKind); 3] =
        [("input", TensorKind::Input), ("kwargs", TensorKind::Input), ("output", TensorKind::Output)];
    let split = |(word, kind): &(&str, TensorKind)| {
        name.rmatch_indices(word).find_map(|(at, _)| {
            let before = name.get(..at)?.strip_suffix(['.', '_'])?;
            let after = name.get(at + word.len()..)?;
            (after.is_empty() || after.starts_with('.')).then_some((before, *kind))
        })
    };
    WORDS.iter().filter_map(split).max_by_key(|(operation, _)| operation.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::MemorySource;
    use crate::read::dump::{Leaf, Statistic};

    fn records(text: &str) -> Dump {
        read(&MemorySource::new("dump.pkl", text.as_bytes().to_vec()), |_| false).expect("valid")
    }

    #[test]
    fn a_row_is_a_value_of_its_operation() {
        let dump = records("[\"Torch.add.0.forward.input.0\",1,[],\"torch.float32\",[2],[1,0,0.5,1]]\n");
        assert_eq!(dump.operations.len(), 1);
        let operation = dump.operations.get(0).expect("one operation");
        assert_eq!(operation.name, "Torch.add.0.forward");
        let record = operation.leaves.get(0).and_then(Leaf::record).expect("a tensor");
        assert_eq!((record.max, record.norm, record.shape), (Statistic::Int(1), Statistic::Int(1), [2].as_slice()));
    }

    #[test]
    fn rows_of_very_old_files_are_split_at_the_last_word() {
        for (row, operation, kind) in [
            ("Functional_linear_0_forward_input.0", "Functional_linear_0_forward", TensorKind::Input),
            ("Functional_linear_0_forward_output", "Functional_linear_0_forward", TensorKind::Output),
            ("Torch_cat_0_forward_input.0.1", "Torch_cat_0_forward", TensorKind::Input),
            ("Torch.output.0.forward.kwargs.a", "Torch.output.0.forward", TensorKind::Input),
            ("Torch.max.0.forward.output.1", "Torch.max.0.forward", TensorKind::Output),
        ] {
            assert_eq!(split_row_name(row), Some((operation, kind)), "{row}");
        }
        assert_eq!(split_row_name("loss"), None);
    }

    #[test]
    fn three_statistics_and_stacks_are_read() {
        let dump = records(concat!(
            "[\"Torch_a_0_forward_output\", 0, [], \"torch.float32\", [1], [3.0, 1.0, 2.0]]\n",
            "[\"Torch_a_0_forward_stack_info\", [[\"a.py\", \"1\", \"f\", \"g()\"]]]\n",
        ));
        let record = dump.operations.leaves().next().and_then(Leaf::record).expect("a tensor");
        assert_eq!(record.norm, Statistic::Null);
        let stacks = dump.stacks.expect("stacks");
        assert_eq!(stacks.get("Torch_a_0_forward").expect("a stack")[0], "File a.py, line 1, in f, \n g()");
    }

    #[test]
    fn scalars_are_saved_as_tensors_are() {
        let line = "[\"Torch.sum.0.forward.input.1\",1,[],\"<class 'float'>\",\"[]\",[1.0,1.0,1.0,1.0]]\n";
        let dump = read(&MemorySource::new("dump.pkl", line.as_bytes().to_vec()), |_| true).expect("valid");
        let name = dump.operations.leaves().next().and_then(Leaf::data_name);
        assert_eq!(name.as_deref(), Some("Torch.sum.0.forward.input.1.npy"));
        assert_eq!(dump.task, "statistics", "a scalar alone makes no dump of tensors");
    }

    #[test]
    fn pickles_and_other_lists_are_not_this_format() {
        assert!(!recognise(b"\x80\x02}q\x00."));
        assert!(!recognise(b"[\"a\", 1, 2]\n"));
        assert!(!recognise(b"[1, 2]"));
        assert!(recognise(b"[\"Torch.add.0.forward.input.0\", 1, [], \"torch.float32\", [2], [1, 0, 0.5, 1]]\n"));
    }
}
