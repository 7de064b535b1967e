//! Merging of the calls of tensor-parallel ranks in dumps without modules (docs/layouts.md).
//!
//! A single call does not show how its values are cut; the shapes of the side with the whole model do. If both sides run a name
//! equally often, its calls correspond. Other calls exist only because the model is cut, and are not compared.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::builder::{Builder, NewTensor};
use super::content::{AssembledParts, Dump, Holders};
use super::folder::{DumpFolder, WholeModel, read_each};
use super::merge::{Merged, merge_calls};
use super::name::{Direction, OpName};
use super::plan::AssemblyPlan;
use super::records::{LeafValue, Operation, Operations, TensorRecord};
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::read::tensor::TensorData;

/// Dumps of all ranks of one step that recorded only calls, no modules.
#[derive(Clone)]
pub struct RankCalls {
    /// Folder of each rank, in ascending order of ranks.
    pub ranks: Vec<(u64, DumpFolder)>,
    /// Layout that distributes the model over the ranks.
    pub layout: Layout,
    /// Facts that follow only from both sides together.
    pub known: Arc<KnownCalls>,
}

/// Facts about calls that follow only from both sides together.
#[derive(Clone, Debug, Default)]
pub struct KnownCalls {
    /// Names of calls that both sides run equally often, forward and backward.
    names: HashSet<String>,
    /// Shape of each value on the side with the whole model, by row name.
    shapes: HashMap<String, Vec<u64>>,
}

impl KnownCalls {
    /// Collects the facts from a dump of the side with the whole model, and from one rank of the other side.
    pub fn new(whole: &Dump, part: &Dump) -> Self {
        let [of_whole, of_part] = [whole, part].map(|dump| counts(&dump.operations));
        let is_shared = |(name, count): &(&str, [usize; 2])| of_part.get(name) == Some(count);
        let names = of_whole.into_iter().filter(is_shared).map(|(name, _)| name.to_owned()).collect();
        let leaves = whole.operations.leaves();
        let shapes = leaves.filter_map(|leaf| Some((leaf.row.to_string(), leaf.record()?.shape.to_vec()))).collect();
        Self { names, shapes }
    }
}

/// Number of forward and of backward calls of each name.
fn counts(operations: &Operations) -> HashMap<&str, [usize; 2]> {
    let mut counts: HashMap<&str, [usize; 2]> = HashMap::new();
    for operation in operations.iter().filter(|operation| !operation.name.starts_with("Distributed.")) {
        let parsed = OpName::parse(operation.name);
        let [forward, backward] = counts.entry(parsed.base).or_default();
        *(if parsed.direction == Some(Direction::Forward) { forward } else { backward }) += 1;
    }
    counts
}

impl WholeModel for RankCalls {
    fn read(&self) -> Result<Dump> {
        let mut dumps: Vec<Dump> = Vec::with_capacity(self.ranks.len());
        read_each(self.ranks.iter().map(|(_, folder)| folder), |dump| dumps.push(dump))?;
        let mut parts = AssembledParts::new(self.layout.clone(), AssemblyPlan::default());
        let (mut builder, mut holders) = (Builder::default(), Holders::default());
        let indices: Vec<HashMap<&str, usize>> = dumps.iter().map(places).collect();
        for operation in dumps.first().map(|dump| &dump.operations).into_iter().flat_map(Operations::iter) {
            if !self.known.names.contains(OpName::parse(operation.name).base) {
                parts.unmerged += operation.leaves.iter().filter(|leaf| leaf.record().is_some()).count() as u64;
                continue;
            }
            let others = dumps.iter().zip(&indices).skip(1);
            let others = others.map(|(dump, places)| dump.operations.get(*places.get(operation.name)?));
            // A call that a rank lacks is left out. It is reported as missing because the other side has it.
            let Some(others) = others.collect::<Option<Vec<Operation<'_>>>>() else { continue };
            builder.begin(operation.name);
            self.put(operation, &others, (&mut builder, &mut holders), &mut parts);
        }
        let operations = builder.finish();
        parts.ranks = holders.finish();
        drop(indices);
        Ok(Dump::from_parts(dumps, operations, parts))
    }

    fn tensor(&self, data_name: &str) -> Result<TensorData> {
        Err(Error::unsupported(data_name, "calls are put together by their statistics"))
    }
}

/// Indices of the operations of a dump by their names.
fn places(dump: &Dump) -> HashMap<&str, usize> {
    dump.operations.iter().enumerate().map(|(index, operation)| (operation.name, index)).collect()
}

impl RankCalls {
    /// Merges the values of one call.
    fn put(
        &self,
        operation: Operation<'_>,
        others: &[Operation<'_>],
        (builder, holders): (&mut Builder, &mut Holders),
        parts: &mut AssembledParts,
    ) {
        let ranks: Vec<u64> = self.ranks.iter().map(|(rank, _)| *rank).collect();
        for (place, leaf) in operation.leaves.iter().enumerate() {
            let row = leaf.row.to_string();
            // Sizes, indices and other arguments differ between parts and are not merged.
            let is_float = |record: &TensorRecord<'_>| record.element.is_some_and(Dtype::is_float);
            if let LeafValue::Tensor(record) = leaf.value
                && is_float(&record)
            {
                let same = others.iter().map(|other| other.leaves.get(place)?.record());
                let records: Option<Vec<_>> = std::iter::once(Some(record)).chain(same).collect();
                let whole = self.known.shapes.get(&row);
                let merged = records.zip(whole).and_then(|(records, whole)| merge_calls(&records, &ranks, whole).ok());
                let Some(Merged { dtype, shape, statistics, .. }) = merged else {
                    parts.unmerged += 1 + others.len() as u64;
                    parts.unmerged_rows.insert(row);
                    continue;
                };
                let tensor = NewTensor {
                    dtype,
                    shape: &shape,
                    statistics: statistics.map(Cow::Owned),
                    requires_grad: record.requires_grad,
                    checksum: None,
                    extension: None,
                };
                builder.add_tensor(&row, leaf.kind, &tensor);
            } else {
                parts.unmerged += 1 + others.len() as u64;
            }
        }
        holders.add(operation.name, ranks);
    }
}
