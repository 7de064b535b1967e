//! ptdbg_ascend's line-JSON `.pkl` (`docs/formats/ptdbg.md`), msprobe's ancestor.
//!
//! The file is text, not a pickle: one JSON list per line, `[name, step, md5, dtype, shape, statistics]` for a
//! value and `[name, [[path, line, function, code], …]]` for a call stack. Names join with `.`, or with `_` in very
//! old files. Values lie as `<name>.npy` in a folder beside the file.

use std::sync::Arc;

use super::compact::{ByName, Shared};
use super::msprobe::extents;
use super::{Dump, Leaf, Operation, TensorKind, TensorRecord, Value};
use crate::error::{Error, Result};
use crate::fetch::ByteSource;
use crate::read::json::{Json, Parser};

/// Whether the first bytes of a file are lines of this format.
pub(super) fn recognise(head: &[u8]) -> bool {
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if !line.starts_with(b"[\"") {
        return false;
    }
    let whole = line.len() < head.len() || line.ends_with(b"]");
    match crate::read::json::parse_bytes("", line) {
        Ok(row) => parse_row(&row, &mut Shared::default()).is_some(),
        // A first line that does not end within the head: a long stack, which never comes first.
        Err(_) => !whole && contains_io(line),
    }
}

fn contains_io(line: &[u8]) -> bool {
    let name = line.get(2..).unwrap_or_default().split(|byte| *byte == b'"').next().unwrap_or_default();
    std::str::from_utf8(name).is_ok_and(|name| split_row_name(name).is_some())
}

/// Reads the records. `saved` tells whether a value's file is there.
pub(super) fn read(source: &dyn ByteSource, saved: impl Fn(&str) -> bool) -> Result<Dump> {
    let mut dump =
        Dump { task: "statistics".into(), level: "L1".into(), framework: "pytorch".into(), ..Dump::default() };
    let mut stacks = ByName::default();
    let mut shared = Shared::default();
    let mut parser = Parser::new(source);
    while !parser.at_end()? {
        let line = parser.offset();
        let row = parser.value()?;
        match parse_row(&row, &mut shared) {
            Some(Row::Stack(operation, frames)) => stacks.insert(&operation, Arc::new(frames)),
            Some(Row::Value(mut leaf, operation)) => {
                if let Value::Tensor(record) = &mut leaf.value {
                    record.data_name = Some(format!("{}.npy", leaf.row)).filter(|name| saved(name)).map(Into::into);
                    if record.data_name.is_some() {
                        "tensor".clone_into(&mut dump.task);
                    }
                }
                match dump.operations.last_mut().filter(|last| last.name == operation) {
                    Some(last) => last.leaves.push(leaf),
                    None => dump.operations.push(Operation { name: operation, leaves: vec![leaf] }),
                }
            }
            None if row.as_array().is_some() => dump.notes.push(format!("a row of another form at byte {line}")),
            None => {
                let message = format!("expected one list per line, found something else at byte {line}");
                return Err(Error::corrupt(source.name(), message));
            }
        }
    }
    dump.stacks = Some(stacks).filter(|stacks| !stacks.is_empty());
    Ok(dump)
}

/// One line.
enum Row {
    Stack(String, Vec<String>),
    Value(Leaf, String),
}

fn parse_row(row: &Json, shared: &mut Shared) -> Option<Row> {
    match row.as_array()? {
        [Json::Text(name), Json::Array(frames)] => {
            let operation = name.strip_suffix("stack_info")?;
            let operation = operation.strip_suffix(['.', '_']).unwrap_or(operation);
            Some(Row::Stack(operation.to_owned(), frames.iter().map(frame).collect()))
        }
        [Json::Text(name), _step, checksum, Json::Text(dtype), shape, Json::Array(statistics), ..] => {
            let (operation, kind) = split_row_name(name)?;
            let value = value(checksum, dtype, shape, statistics, shared)?;
            Some(Row::Value(Leaf { row: name.clone(), kind, value }, operation.to_owned()))
        }
        _ => None,
    }
}

/// A frame in msprobe's words, `File <path>, line <n>, in <function>, \n <code>`.
fn frame(frame: &Json) -> String {
    let texts: Vec<&str> = frame.as_array().unwrap_or_default().iter().filter_map(Json::as_str).collect();
    match texts.as_slice() {
        [path, line, function, code] => format!("File {path}, line {line}, in {function}, \n {code}"),
        other => other.join(", "),
    }
}

/// The operation a row belongs to, and what the value is to it.
///
/// The last `input`, `kwargs` or `output` that stands between separators counts, so that an operation may be
/// called `output` itself.
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

fn value(checksum: &Json, dtype: &str, shape: &Json, statistics: &[Json], shared: &mut Shared) -> Option<Value> {
    let statistic = |index: usize| statistics.get(index).cloned().unwrap_or(Json::Null);
    if let Some(class) = dtype.strip_prefix("<class '").and_then(|rest| rest.strip_suffix("'>")) {
        return Some(Value::Plain { type_name: shared.text(class), value: Box::new(statistic(0)) });
    }
    Some(Value::Tensor(Box::new(TensorRecord {
        dtype: shared.text(dtype),
        shape: shared.shape(&extents(shape.as_array()?)?),
        max: statistic(0).into(),
        min: statistic(1).into(),
        mean: statistic(2).into(),
        norm: statistic(3).into(),
        requires_grad: None,
        checksum: checksum.as_str().map(Into::into),
        data_name: None,
    })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::Memory;
    use crate::read::dump::Statistic;

    fn records(text: &str) -> Dump {
        read(&Memory::new("dump.pkl", text.as_bytes().to_vec()), |_| false).expect("valid")
    }

    #[test]
    fn a_row_is_a_value_of_its_operation() {
        let dump = records("[\"Torch.add.0.forward.input.0\",1,[],\"torch.float32\",[2],[1,0,0.5,1]]\n");
        let [operation] = dump.operations.as_slice() else { panic!("one operation") };
        assert_eq!(operation.name, "Torch.add.0.forward");
        let Value::Tensor(record) = &operation.leaves[0].value else { panic!("a tensor") };
        assert_eq!((&record.max, &record.norm, &record.shape), (&Statistic::Int(1), &Statistic::Int(1), &[2].into()));
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
        let Value::Tensor(record) = &dump.operations[0].leaves[0].value else { panic!("a tensor") };
        assert_eq!(record.norm, Statistic::Null);
        let stacks = dump.stacks.expect("stacks");
        assert_eq!(stacks.get("Torch_a_0_forward").expect("a stack")[0], "File a.py, line 1, in f, \n g()");
    }

    #[test]
    fn pickles_and_other_lists_are_not_this_format() {
        assert!(!recognise(b"\x80\x02}q\x00."));
        assert!(!recognise(b"[\"a\", 1, 2]\n"));
        assert!(!recognise(b"[1, 2]"));
        assert!(recognise(b"[\"Torch.add.0.forward.input.0\", 1, [], \"torch.float32\", [2], [1, 0, 0.5, 1]]\n"));
    }
}
