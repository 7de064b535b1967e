//! Environment variables: six entries of a table, and nothing else.
//!
//! msprobe has the two packs crossed here: what the sheet calls bench is the second pack. Values that are set are
//! texts and defaults are not, so that a variable set to its default differs from one left unset.

use super::exception::Exception;
use super::sheet::{Sheet, worst_level};
use super::value::{cell, python_equal};
use crate::msprobe::table::Cell;
use crate::read::json::Json;
use crate::read::pack::Pack;
use crate::redact::Redactor;

/// A variable and the value it has when it is not set.
struct Variable {
    name: &'static str,
    default: Json,
}

impl Variable {
    fn new(name: &'static str, default: Json) -> Self {
        Self { name, default }
    }
}

/// One entry: the variable on an NPU and on a GPU.
struct Entry {
    npu: Variable,
    gpu: Option<Variable>,
}

/// The kind msprobe takes a pack for: one variable with `ASCEND` in its name makes it an NPU pack.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Npu,
    Gpu,
}

fn entries() -> [Entry; 6] {
    let none = || Json::Text("None".into());
    let pair = |npu, gpu, default: Json| Entry {
        npu: Variable::new(npu, default.clone()),
        gpu: Some(Variable::new(gpu, default)),
    };
    let npu_only = |name, default| Entry { npu: Variable::new(name, default), gpu: None };
    [
        pair("HCCL_DETERMINISTIC", "NCCL_DETERMINISTIC", Json::Bool(false)),
        pair("HCCL_ALGO", "NCCL_ALGO", none()),
        npu_only("HCCL_INTRA_ROCE_ENABLE", Json::Int(0)),
        // A slip in msprobe's table: this entry means HCCL_INTRA_PCIE_ENABLE.
        npu_only("HCCL_INTRA_ROCE_ENABLE", Json::Int(1)),
        pair("ASCEND_LAUNCH_BLOCKING", "CUDA_LAUNCH_BLOCKING", Json::Int(0)),
        pair("ASCEND_RT_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", none()),
    ]
}

pub(super) fn compare(first: &Pack, second: &Pack, redactor: &Redactor) -> Result<Sheet, Exception> {
    let (cmp, bench) = (Side::new(first)?, Side::new(second)?);
    let rows: Vec<Vec<Cell<'static>>> =
        entries().iter().filter_map(|entry| row(entry, &bench, &cmp, redactor)).collect();
    let level = worst_level(&rows);
    Ok(Sheet { rows, level })
}

/// A pack's variables and what it is taken for.
struct Side<'a> {
    variables: &'a [(String, Json)],
    kind: Kind,
}

impl<'a> Side<'a> {
    fn new(pack: &'a Pack) -> Result<Self, Exception> {
        let Some(variables) = &pack.env else { return Err(Exception::Runtime) };
        let variables = variables.as_ref().map_err(Exception::from)?;
        let npu = variables.iter().any(|(name, _)| name.contains("ASCEND"));
        Ok(Self { variables, kind: if npu { Kind::Npu } else { Kind::Gpu } })
    }

    fn pick<'e>(&self, entry: &'e Entry) -> Option<&'e Variable> {
        if self.kind == Kind::Npu { Some(&entry.npu) } else { entry.gpu.as_ref() }
    }

    fn value(&self, variable: &Variable) -> Json {
        let set = self.variables.iter().find(|(name, _)| name == variable.name);
        set.map_or_else(|| variable.default.clone(), |(_, value)| value.clone())
    }
}

fn row(entry: &Entry, bench: &Side<'_>, cmp: &Side<'_>, redactor: &Redactor) -> Option<Vec<Cell<'static>>> {
    let cell = |variable: &Variable, value: &Json| cell(&redactor.value(variable.name, value));
    match (bench.pick(entry), cmp.pick(entry)) {
        (None, None) => None,
        (None, Some(variable)) => {
            let value = cell(variable, &cmp.value(variable));
            Some(vec!["only cmp has this env".into(), variable.name.into(), Cell::Empty, value, "warning".into()])
        }
        (Some(variable), None) => {
            // In this branch alone an empty text counts as unset.
            let value = match bench.value(variable) {
                Json::Text(text) if text.is_empty() => variable.default.clone(),
                value => value,
            };
            let value = cell(variable, &value);
            Some(vec![variable.name.into(), "only bench has this env".into(), value, Cell::Empty, "warning".into()])
        }
        (Some(on_bench), Some(on_cmp)) => {
            let (bench, cmp) = (bench.value(on_bench), cmp.value(on_cmp));
            let values = [cell(on_bench, &bench), cell(on_cmp, &cmp)];
            let [bench_cell, cmp_cell] = values;
            let differs = !python_equal(&bench, &cmp, false);
            differs.then(|| vec![on_bench.name.into(), on_cmp.name.into(), bench_cell, cmp_cell, "error".into()])
        }
    }
}
