//! The calls of ranks that share each projection, put together without modules (docs/layouts.md).
//!
//! Single calls do not tell how their values are cut; the shapes of a side that is whole do. Calls of a name that both sides run as
//! often are the same calls; of the others, which the finer cut needs, nothing is compared.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rayon::prelude::*;

use super::builder::{Builder, NewTensor};
use super::content::{Dump, Holders, Parts};
use super::folder::{DumpFolder, WholeModel};
use super::merge::{Merged, of_calls};
use super::name::{Direction, OpName};
use super::plan::Plan;
use super::records::{Operation, Operations, TensorRecord, Value};
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::read::tensor::TensorData;

/// The dumps of all ranks of one step that recorded calls alone.
#[derive(Clone)]
pub struct Calls {
    /// Folder of each rank, by rising rank.
    pub ranks: Vec<(u64, DumpFolder)>,
    /// The layout that cuts the model over them.
    pub layout: Layout,
    /// Facts that only both sides together tell.
    pub known: Arc<KnownCalls>,
}

/// Facts about calls that only both sides together tell.
#[derive(Clone, Debug, Default)]
pub struct KnownCalls {
    /// Names of calls that both sides run as often, forward and backward.
    names: HashSet<String>,
    /// Shape of each value on the side that is whole, by its row.
    shapes: HashMap<String, Vec<u64>>,
}

impl KnownCalls {
    /// Facts from a dump of the side that is whole, and from one rank of the other side.
    pub fn of(whole: &Dump, part: &Dump) -> Self {
        let [ours, theirs] = [whole, part].map(|dump| counts(&dump.operations));
        let names =
            ours.into_iter().filter(|(name, count)| theirs.get(name) == Some(count)).map(|(name, _)| name).collect();
        let leaves = whole.operations.leaves();
        let shapes = leaves.filter_map(|leaf| Some((leaf.row.to_string(), leaf.record()?.shape.to_vec()))).collect();
        Self { names, shapes }
    }
}

/// The number of forward calls and of backward ones of each name.
fn counts(operations: &Operations) -> HashMap<String, [usize; 2]> {
    let mut counts: HashMap<String, [usize; 2]> = HashMap::new();
    for operation in operations.iter().filter(|operation| !operation.name.starts_with("Distributed.")) {
        let parsed = OpName::parse(operation.name);
        let [forward, backward] = counts.entry(parsed.base).or_default();
        *(if parsed.direction == Some(Direction::Forward) { forward } else { backward }) += 1;
    }
    counts
}

impl WholeModel for Calls {
    fn read(&self) -> Result<Dump> {
        let dumps: Vec<Dump> = self.ranks.par_iter().map(|(_, folder)| folder.read()).collect::<Result<_>>()?;
        let mut parts = Parts::new(self.layout.clone(), Plan::default());
        let (mut builder, mut holders) = (Builder::default(), Holders::default());
        let indices: Vec<HashMap<&str, usize>> = dumps.iter().map(places).collect();
        for operation in dumps.first().map(|dump| &dump.operations).into_iter().flat_map(Operations::iter) {
            if !self.known.names.contains(&OpName::parse(operation.name).base) {
                parts.unmerged += operation.leaves.iter().filter(|leaf| leaf.record().is_some()).count() as u64;
                continue;
            }
            let others = dumps.iter().zip(&indices).skip(1);
            let others = others.map(|(dump, places)| dump.operations.get(*places.get(operation.name)?));
            // A call that a rank lacks is missing: the other side, which has it, tells.
            let Some(others) = others.collect::<Option<Vec<Operation<'_>>>>() else { continue };
            builder.begin(operation.name);
            self.put(operation, &others, (&mut builder, &mut holders), &mut parts);
        }
        let operations = builder.finish();
        parts.ranks = holders.finish();
        drop(indices);
        Ok(Dump::of_parts(dumps, operations, parts))
    }

    fn tensor(&self, data_name: &str) -> Result<TensorData> {
        Err(Error::unsupported(data_name, "calls are put together by their statistics"))
    }
}

/// Indices of the operations of a dump by their names.
fn places(dump: &Dump) -> HashMap<&str, usize> {
    dump.operations.iter().enumerate().map(|(index, operation)| (operation.name, index)).collect()
}

impl Calls {
    /// Puts the values of one call together.
    fn put(
        &self,
        operation: Operation<'_>,
        others: &[Operation<'_>],
        (builder, holders): (&mut Builder, &mut Holders),
        parts: &mut Parts,
    ) {
        let ranks: Vec<u64> = self.ranks.iter().map(|(rank, _)| *rank).collect();
        for (place, leaf) in operation.leaves.iter().enumerate() {
            let row = leaf.row.to_string();
            // Arguments of a part, its sizes and its indices, are its own.
            let is_float = |record: &TensorRecord<'_>| record.element.is_some_and(Dtype::is_float);
            if let Value::Tensor(record) = leaf.value
                && is_float(&record)
            {
                let same = others.iter().map(|other| other.leaves.get(place)?.record());
                let records: Option<Vec<_>> = std::iter::once(Some(record)).chain(same).collect();
                let whole = self.known.shapes.get(&row);
                let merged = records.zip(whole).and_then(|(records, whole)| of_calls(&records, &ranks, whole).ok());
                let Some(Merged { dtype, shape, statistics, .. }) = merged else {
                    parts.unmerged += 1 + others.len() as u64;
                    parts.unmerged_rows.insert(row);
                    continue;
                };
                let tensor = NewTensor {
                    dtype: &dtype,
                    shape: &shape,
                    statistics: statistics.map(Cow::Owned),
                    requires_grad: record.requires_grad,
                    checksum: None,
                    extension: None,
                };
                builder.tensor(&row, leaf.kind, &tensor);
            } else {
                parts.unmerged += 1 + others.len() as u64;
            }
        }
        holders.add(operation.name, ranks);
    }
}
