//! Rows of statistics, grouped into operations in the order in which they ran.

use std::collections::HashMap;

use super::cell::PrintedStatistics;
use crate::kind::TensorKind;
use crate::read::dump::builder::{Builder, NewTensor};
use crate::read::json::Json;

/// One value of an operation.
#[derive(Clone, Debug)]
pub(super) struct ToolRow {
    /// Name of the operation.
    pub(super) operation: String,
    /// Number that distinguishes calls of the same name.
    pub(super) call: u64,
    /// Part of the row's name after the operation's name.
    pub(super) below: String,
    pub(super) kind: TensorKind,
    pub(super) content: Content,
}

/// Recorded content of a value.
#[derive(Clone, Debug)]
pub(super) enum Content {
    Tensor {
        dtype: String,
        shape: Vec<u64>,
        statistics: PrintedStatistics,
    },
    Plain(String),
    Damaged,
    /// A value that is recorded but not judged.
    Null,
}

/// Counter that makes names unique: the second use of a name becomes `name#1`.
#[derive(Default)]
pub(super) struct DistinctNames(HashMap<String, u64>);

impl DistinctNames {
    pub(super) fn name(&mut self, name: &str) -> String {
        let count = self.0.entry(name.to_owned()).or_default();
        *count += 1;
        if *count == 1 { name.to_owned() } else { format!("{name}#{}", *count - 1) }
    }
}

/// Adds rows to a dump: one operation per name and call, in the order of first appearance. If an operation has no recorded input,
/// its outputs get the role of plain values, because an earlier error may have reached it through an input that is not recorded.
pub(super) fn add_rows(rows: &[ToolRow], builder: &mut Builder) {
    let mut places: HashMap<(&str, u64), usize> = HashMap::new();
    let mut operations: Vec<Vec<&ToolRow>> = Vec::new();
    for row in rows {
        let place = *places.entry((&row.operation, row.call)).or_insert(operations.len());
        match operations.get_mut(place) {
            Some(known) => known.push(row),
            None => operations.push(vec![row]),
        }
    }
    let mut distinct = DistinctNames::default();
    for rows in operations {
        let Some(first) = rows.first() else { continue };
        let name = distinct.name(&first.operation);
        let is_given = rows.iter().any(|row| row.kind == TensorKind::Input);
        builder.begin(&name);
        for row in rows {
            let kind = if row.kind == TensorKind::Output && !is_given { TensorKind::Value } else { row.kind };
            add(row, &format!("{name}{}", row.below), kind, builder);
        }
    }
}

fn add(row: &ToolRow, name: &str, kind: TensorKind, builder: &mut Builder) {
    match &row.content {
        Content::Null => builder.add_null(name, kind),
        Content::Damaged => builder.add_damaged(name, kind),
        Content::Plain(text) => builder.add_plain(name, kind, "text", Json::Text(text.clone())),
        Content::Tensor { dtype, shape, statistics } => {
            let statistics = statistics.json().map(std::borrow::Cow::Owned);
            let tensor = NewTensor { dtype, shape, statistics, requires_grad: None, checksum: None, extension: None };
            builder.add_tensor(name, kind, &tensor);
        }
    }
}
