//! Rows of statistics, and their operations in the order in which they ran.

use std::collections::HashMap;

use super::cell::Statistics;
use crate::kind::TensorKind;
use crate::read::dump::builder::{Builder, NewTensor};
use crate::read::json::Json;

/// One value of an operation.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// Name of the operation.
    pub(super) operation: String,
    /// Tells calls of one name apart.
    pub(super) call: u64,
    /// The part of the row's name behind that of the operation.
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
        statistics: Statistics,
    },
    Plain(String),
    Damaged,
    /// Recorded, and not judged.
    Null,
}

/// Names that are told apart: the second of a name is `name#1`.
#[derive(Default)]
pub(super) struct Distinct(HashMap<String, u64>);

impl Distinct {
    pub(super) fn name(&mut self, name: &str) -> String {
        let count = self.0.entry(name.to_owned()).or_default();
        *count += 1;
        if *count == 1 { name.to_owned() } else { format!("{name}#{}", *count - 1) }
    }
}

/// Adds rows to a dump: one operation per name and call, in the order in which each was first met. An operation that is given
/// nothing inherits what was wrong before it.
pub(super) fn build(rows: &[Row], builder: &mut Builder) {
    let mut places: HashMap<(&str, u64), usize> = HashMap::new();
    let mut operations: Vec<Vec<&Row>> = Vec::new();
    for row in rows {
        let place = *places.entry((&row.operation, row.call)).or_insert(operations.len());
        match operations.get_mut(place) {
            Some(known) => known.push(row),
            None => operations.push(vec![row]),
        }
    }
    let mut distinct = Distinct::default();
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

fn add(row: &Row, name: &str, kind: TensorKind, builder: &mut Builder) {
    match &row.content {
        Content::Null => builder.null(name, kind),
        Content::Damaged => builder.damaged(name, kind),
        Content::Plain(text) => builder.plain(name, kind, "text", Json::Text(text.clone())),
        Content::Tensor { dtype, shape, statistics } => {
            let statistics = statistics.json().map(std::borrow::Cow::Owned);
            let tensor = NewTensor { dtype, shape, statistics, requires_grad: None, checksum: None, extension: None };
            builder.tensor(name, kind, &tensor);
        }
    }
}
