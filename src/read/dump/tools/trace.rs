//! Debug trees of transformers: a JSON tree of modules with their inputs and outputs, whose statistics are printed tensors.

use super::cell::{Cell, PrintedStatistics, norm_from_mean, parse_cell};
use super::part::ToolFile;
use super::place::{ToolPlace, file_name};
use super::table::{Content, ToolRow};
use crate::error::{Error, Result};
use crate::fetch::Source;
use crate::kind::TensorKind;
use crate::read::dump::precision::{Precision, SeenDigits};
use crate::read::dump::tool::Tool;
use crate::read::json::{self, Json};

/// Ending of the name of the tree's file with all elements. The other file has only statistics.
const FULL: &str = "_debug_tree_FULL_TENSORS.json";
const SUMMARY: &str = "_debug_tree_SUMMARY.json";

/// Whether the file at `path` that begins with `head` is a debug tree.
pub(super) fn recognise(path: &str, head: &[u8]) -> bool {
    if path.ends_with(FULL) || path.ends_with(SUMMARY) {
        return true;
    }
    let start = head.trim_ascii_start();
    let begins =
        start.strip_prefix(b"{").map(<[u8]>::trim_ascii_start).is_some_and(|rest| rest.starts_with(b"\"module_path\""));
    begins && memchr::memmem::find(start, b"\"inputs\"").is_some()
}

/// Describes the file at `path` as part of a dump.
pub(super) fn tool_file(path: &str) -> ToolFile {
    let place = ToolPlace::from_path(path);
    let (step, rank) = (place.step.unwrap_or(0), place.rank);
    ToolFile { tool: Tool::Trace, path: path.to_owned(), group: place.group, step, rank, order: None, name: None }
}

/// Path that the tree with all elements would have next to this file of statistics; `None` for any other file.
pub(super) fn full_tree_path(path: &str) -> Option<String> {
    path.strip_suffix(SUMMARY).map(|stem| format!("{stem}{FULL}"))
}

/// Reads the rows of a tree in its order, and the precision of its printed numbers.
pub(super) fn read(path: &str, source: &Source) -> Result<(Vec<ToolRow>, Precision)> {
    let tree = json::parse(source.as_ref())?;
    let mut walk = Walk::default();
    walk.module(&tree).ok_or_else(|| {
        let help = "the file may have been edited; trace the model again";
        Error::corrupt(path, format!("{} has a module without its path", file_name(path))).with_help(help)
    })?;
    Ok((walk.rows, walk.digits.precision()))
}

#[derive(Default)]
struct Walk {
    rows: Vec<ToolRow>,
    digits: SeenDigits,
    modules: u64,
}

impl Walk {
    /// Adds a module and its children; `None` if one of them has no path. The parser limits the depth.
    fn module(&mut self, module: &Json) -> Option<()> {
        let name = module.get("module_path")?.as_str()?;
        self.modules += 1;
        let call = self.modules;
        for (key, kind) in [("inputs", TensorKind::Input), ("outputs", TensorKind::Output)] {
            if let Some(value) = module.get(key) {
                let below = if kind == TensorKind::Input { ".input" } else { ".output" };
                self.value(name, call, below, kind, value);
            }
        }
        module
            .get("children")
            .and_then(Json::as_array)
            .unwrap_or_default()
            .iter()
            .try_for_each(|child| self.module(child))
    }

    fn value(&mut self, name: &str, call: u64, below: &str, kind: TensorKind, value: &Json) {
        let mut enter = |key: &str, item: &Json| {
            // Positional and named arguments are two lists whose keys are not part of the row name.
            let below = if ["args", "kwargs"].contains(&key) { below.to_owned() } else { format!("{below}.{key}") };
            self.value(name, call, &below, kind, item);
        };
        let content = match value {
            Json::Array(items) => {
                return items.iter().enumerate().for_each(|(index, item)| enter(&index.to_string(), item));
            }
            Json::Object(_) => {
                match (value.get("shape").and_then(Json::as_str), value.get("dtype").and_then(Json::as_str)) {
                    (Some(shape), Some(dtype)) => self.tensor(value, shape, dtype),
                    _ => {
                        return value.as_object().unwrap_or_default().iter().for_each(|(key, item)| enter(key, item));
                    }
                }
            }
            Json::Text(text) => Content::Plain(without_places(text)),
            other => Content::Plain(json::to_text(other)),
        };
        self.rows.push(ToolRow { operation: name.to_owned(), call, below: below.to_owned(), kind, content });
    }

    fn tensor(&mut self, value: &Json, shape: &str, dtype: &str) -> Content {
        let Some(extents) = extents(shape) else { return Content::Damaged };
        let elements = extents.iter().fold(1_u64, |all, len| all.saturating_mul(*len));
        let [mean, deviation, min, max] = ["mean", "std", "min", "max"].map(|key| self.number(value.get(key)));
        let numbers = [mean, deviation, min, max];
        if numbers.contains(&Cell::Unreadable) {
            return Content::Damaged;
        }
        if numbers.iter().all(|number| *number == Cell::Absent) {
            // Integer tensors have no statistics. Their elements are compared as text unless they were abbreviated.
            let whole: Vec<&str> = value
                .get("value")
                .and_then(Json::as_array)
                .unwrap_or_default()
                .iter()
                .filter_map(Json::as_str)
                .collect();
            let whole = whole.join("\n");
            let shown = if whole.contains("...") { "" } else { whole.as_str() };
            return Content::Plain(format!("{dtype} {shape} {shown}").trim_end().to_owned());
        }
        let number = |cell: Cell| if let Cell::Number(value) = cell { Some(value) } else { None };
        let norm =
            number(mean).zip(number(deviation)).map(|(mean, deviation)| norm_from_mean(elements, mean, deviation));
        let statistics = PrintedStatistics { max: number(max), min: number(min), mean: number(mean), norm };
        Content::Tensor { dtype: dtype.to_owned(), shape: extents, statistics }
    }

    /// Number in a printed tensor such as `tensor(-8.9500e-01)`.
    fn number(&mut self, value: Option<&Json>) -> Cell {
        match value {
            None | Some(Json::Null) => Cell::Absent,
            Some(Json::Text(text)) => {
                let inner = text.strip_prefix("tensor(").and_then(|rest| rest.strip_suffix(')')).unwrap_or(text);
                let inner = inner.split(',').next().unwrap_or(inner).trim();
                self.digits.note(inner);
                parse_cell(inner)
            }
            Some(other) => other.as_f64().map_or(Cell::Unreadable, Cell::Number),
        }
    }
}

/// Sizes in a text such as `torch.Size([1, 4, 16])`.
fn extents(shape: &str) -> Option<Vec<u64>> {
    let inside = shape.split_once('[')?.1.split_once(']')?.0;
    inside.split(',').map(str::trim).filter(|len| !len.is_empty()).map(|len| len.parse().ok()).collect()
}

/// Text without parts that differ between runs: memory addresses, and the kind of device.
fn without_places(text: &str) -> String {
    let text = text.replace("cuda", "npu");
    let Some((before, _)) = text.split_once(" at 0x") else { return text };
    before.to_owned()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::fetch::MemorySource;

    fn tree(text: &str) -> Result<(Vec<ToolRow>, Precision)> {
        read("x.json", &(Arc::new(MemorySource::new("x.json", text.as_bytes().to_vec())) as Source))
    }

    #[test]
    fn a_tree_gives_inputs_and_outputs_in_its_order() {
        let text = r#"{"module_path": "M", "inputs": {"args": [{"shape": "torch.Size([1, 2])", "dtype": "torch.int64"}],
            "kwargs": {"cache": "<Cache object at 0x7f01>", "use": "False"}}, "children": [{"module_path": "M.a", "inputs": {"args": []},
            "outputs": [{"shape": "torch.Size([2])", "dtype": "torch.float32", "mean": "tensor(1.5000e+00)", "std": "tensor(7.0711e-01)",
            "min": "tensor(1.)", "max": "tensor(2.)"}]}]}"#;
        assert!(recognise("x.json", text.as_bytes()));
        let (rows, precision) = tree(text).expect("a tree");
        let names: Vec<String> = rows.iter().map(|row| format!("{}{}", row.operation, row.below)).collect();
        assert_eq!(names, ["M.input.0", "M.input.cache", "M.input.use", "M.a.output.0"]);
        assert_eq!(precision, Precision::Significant(5));
        let Content::Tensor { statistics, .. } = &rows[3].content else { panic!("a tensor") };
        assert!((statistics.norm.expect("a norm") - 5.0_f64.sqrt()).abs() < 1e-4);
        assert!(matches!(&rows[1].content, Content::Plain(text) if text == "<Cache object"));
    }

    #[test]
    fn a_cut_tree_is_an_error() {
        assert!(tree(r#"{"module_path": "M", "inputs": {"#).is_err());
        assert!(tree(r#"{"inputs": {}}"#).is_err());
    }
}
