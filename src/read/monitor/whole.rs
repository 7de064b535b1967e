//! Merging of the tables of one side's ranks into rows of the whole model.

mod merge;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use rayon::prelude::*;

use super::rank::{DifferingRow, KeyedRow, MonitorKey, MonitorStep, RankTables};
use super::row::{MonitorRow, MonitorStatistics};
use crate::error::Result;
use crate::kind::{MonitorKind, Statistic};
use crate::layout::names::{LocalCounts, Numbering, split_chunk};
use crate::layout::placement::ValueRole;
use crate::layout::{Coordinates, Layout};
use merge::{MergeContext, Merged, Piece, Unmerged, merge};

/// Number of first steps from which the layers and modules of each rank are read. It is 2 because moments are one step before all
/// other rows.
const FIRST_STEPS: usize = 2;

/// Facts for merging the ranks of a side.
#[derive(Debug)]
pub(super) struct WholeTables {
    layout: Layout,
    /// Whether the micro steps of one step are parts of one batch.
    merges_micro_steps: bool,
    numbering: Numbering,
    /// First and last chunk of the model that each module is on.
    ends: HashMap<String, [u32; 2]>,
    /// Kinds and names of the tensors, with the ranks that hold each.
    names: BTreeMap<(MonitorKind, String), BTreeSet<u64>>,
    /// Value of one unit in the last printed decimal; 0 if numbers are not rounded.
    unit: f64,
}

/// A name on one rank, split into its parts.
struct Local<'n> {
    /// Chunk of the model.
    chunk: u32,
    /// Path of the module as written on the rank.
    written: &'n str,
    /// Path of the module without the number of a chunk.
    module: &'n str,
    /// Rest of the name after the module: a parameter, or an input or output.
    rest: &'n str,
}

impl<'n> Local<'n> {
    fn of(key: &'n MonitorKey, layout: &Layout, place: Coordinates) -> Self {
        let (written, rest) = key.split_module();
        let (chunk, module) = if layout.vpp > 1 { split_chunk(written) } else { (0, written) };
        let stage = u32::try_from(key.stage).unwrap_or_default();
        Self { chunk: layout.chunk(stage.max(chunk), place), written, module, rest }
    }
}

/// Rows of all ranks for one tensor of the whole model.
struct Group {
    order: (MonitorKind, u64, u32, u64),
    module: String,
    rest: String,
    name: String,
    pieces: Vec<Piece>,
}

impl WholeTables {
    /// Reads the facts from the first steps of `ranks`, over which `layout` distributes the model.
    pub(super) fn new(ranks: &[RankTables], layout: Layout, merges_micro_steps: bool) -> Self {
        let decimals = ranks.iter().filter_map(RankTables::decimals).max();
        let unit = decimals.map_or(0.0, |decimals| 0.1_f64.powi(i32::try_from(decimals).unwrap_or(i32::MAX)));
        let first = |tables: &RankTables| {
            let steps: Vec<i64> = tables.steps().into_keys().take(FIRST_STEPS).collect();
            let rows =
                steps.into_iter().filter_map(|step| tables.read_step(step, None).ok()).flat_map(|step| step.rows);
            rows.map(|row| row.key).collect::<BTreeSet<MonitorKey>>()
        };
        let keys: Vec<(u64, BTreeSet<MonitorKey>)> = ranks.iter().map(|tables| (tables.rank, first(tables))).collect();
        let mut paths: Vec<(u32, String)> = Vec::new();
        for (rank, keys) in &keys {
            let local = |key| Local::of(key, &layout, layout.place(*rank));
            paths.extend(keys.iter().map(local).map(|local| (local.chunk, local.module.to_owned())));
        }
        let numbering =
            Numbering::new(LocalCounts::of_paths(paths.iter().map(|(chunk, path)| (*chunk, path.as_str()))));
        let mut whole = Self {
            layout: layout.clone(),
            merges_micro_steps,
            numbering,
            ends: HashMap::new(),
            names: BTreeMap::new(),
            unit,
        };
        for (rank, keys) in &keys {
            keys.iter().for_each(|key| whole.note(key, whole.layout.place(*rank), *rank));
        }
        whole
    }

    fn note(&mut self, key: &MonitorKey, place: Coordinates, rank: u64) {
        let local = Local::of(key, &self.layout, place);
        let module = self.module(&local, place);
        let name = format!("{module}{}", local.rest);
        if key.kind.is_activation() {
            let [first, last] = self.ends.entry(module).or_insert([local.chunk; 2]);
            (*first, *last) = ((*first).min(local.chunk), (*last).max(local.chunk));
        }
        self.names.entry((key.kind, name)).or_default().insert(rank);
    }

    fn module(&self, local: &Local<'_>, place: Coordinates) -> String {
        self.numbering.path(local.module, local.chunk, self.layout.expert_part(place))
    }

    /// Kinds and names of the tensors of the whole model.
    pub(super) fn names(&self) -> impl Iterator<Item = (MonitorKind, &str)> {
        self.names.keys().map(|(kind, name)| (*kind, name.as_str()))
    }

    /// Ranks that hold a tensor.
    pub(super) fn holding_ranks(&self, kind: MonitorKind, name: &str) -> Vec<u64> {
        self.names.get(&(kind, name.to_owned())).into_iter().flatten().copied().collect()
    }

    /// Largest number of parts that one row of the whole model is merged from.
    pub(super) fn parts_per_row(&self) -> u32 {
        self.layout.tp.saturating_mul(self.layout.dp).saturating_mul(self.layout.cp)
    }

    /// Reads the rows of a step and merges them.
    pub(super) fn read_step(&self, ranks: &[RankTables], step: i64, kind: Option<MonitorKind>) -> Result<MonitorStep> {
        let mut whole = MonitorStep::default();
        let mut groups: HashMap<MonitorKey, Group> = HashMap::new();
        let read: Vec<Result<MonitorStep>> = ranks.par_iter().map(|tables| tables.read_step(step, kind)).collect();
        for (tables, read) in ranks.iter().zip(read) {
            let place = self.layout.place(tables.rank);
            let read = read?;
            whole.replaced += read.replaced;
            whole.contradicting += read.contradicting;
            read.rows.into_iter().for_each(|keyed| self.add(&mut groups, keyed, place, tables.rank));
        }
        let largest = largest(groups.values());
        let mut groups: Vec<(MonitorKey, Group)> = groups.into_iter().collect();
        groups.sort_by(|(one, a), (other, b)| a.order.cmp(&b.order).then_with(|| one.cmp(other)));
        for (order, (key, group)) in (1..).zip(groups) {
            self.put(&mut whole, order, key, &group, &largest);
        }
        Ok(whole)
    }

    /// Adds the row of one rank to the group of its tensor in the whole model.
    fn add(&self, groups: &mut HashMap<MonitorKey, Group>, keyed: KeyedRow, place: Coordinates, rank: u64) {
        let KeyedRow { key, order, row } = keyed;
        let local = Local::of(&key, &self.layout, place);
        let module = self.module(&local, place);
        if key.kind.is_activation() && !self.is_at_end(&module, local.rest, local.chunk) {
            return;
        }
        let behind = row.name.strip_prefix(local.written).unwrap_or(local.rest);
        let name = format!("{module}{behind}");
        let micro_step = if self.merges_micro_steps { 0 } else { key.micro_step };
        let canonical: Arc<str> = format!("{module}{}", local.rest).into();
        let of_whole = MonitorKey {
            model: key.model,
            kind: key.kind,
            stage: 0,
            name: canonical,
            micro_step,
            occurrence: key.occurrence,
        };
        let is_backward = matches!(key.kind, MonitorKind::ActvGrad | MonitorKind::GradUnreduced);
        let chunk = if is_backward { u32::MAX - local.chunk } else { local.chunk };
        let (chunk_of, rest) = (local.chunk, local.rest.to_owned());
        let order = (key.kind, micro_step, chunk, order);
        let group = groups.entry(of_whole).or_insert_with(|| Group { order, module, rest, name, pieces: Vec::new() });
        group.order = group.order.min(order);
        group.pieces.push(Piece { place, rank, chunk: chunk_of, micro_step: key.micro_step, row });
    }

    /// Whether a rank of the same stages lacks the row, although it had the tensor in the first steps. An expert without tokens has
    /// no activations, so its activations may be missing.
    fn lacks_a_copy(&self, key: &MonitorKey, group: &Group) -> bool {
        if key.kind.is_activation() && group.module.contains("expert") {
            return false;
        }
        let stage = |rank: u64| self.layout.place(rank).pp;
        let ranks: BTreeSet<u64> = group.pieces.iter().map(|piece| piece.rank).collect();
        let stages: BTreeSet<u32> = ranks.iter().map(|rank| stage(*rank)).collect();
        let known = self.names.get(&(key.kind, key.name.to_string()));
        known.into_iter().flatten().any(|rank| stages.contains(&stage(*rank)) && !ranks.contains(rank))
    }

    /// Whether a value is at the beginning or the end of its module. A module that spans several chunks is compared only there.
    fn is_at_end(&self, module: &str, rest: &str, chunk: u32) -> bool {
        let Some([first, last]) = self.ends.get(module) else { return true };
        chunk == if rest.starts_with(".output") { *last } else { *first }
    }

    fn put(
        &self,
        whole: &mut MonitorStep,
        order: u64,
        key: MonitorKey,
        group: &Group,
        largest: &HashMap<MonitorKind, MonitorStatistics>,
    ) {
        let Some(first) = group.pieces.first() else { return };
        let of = MergeContext {
            kind: key.kind,
            module: &group.module,
            role: role(key.kind, &group.rest),
            layout: &self.layout,
            unit: self.unit,
            largest: largest.get(&key.kind).copied().unwrap_or_default(),
        };
        let merged = match merge(&of, &group.pieces) {
            Ok(_) if self.lacks_a_copy(&key, group) => return,
            Ok(merged) => merged,
            Err(Unmerged::ByNature) => return whole.unmerged.push(key),
            // The row of the other side then has no partner and is reported.
            Err(Unmerged::Unfit) => return,
        };
        let Merged { statistics, nans, shape, dtype, differing } = merged;
        let name: Arc<str> = group.name.as_str().into();
        if let Some(error) = differing {
            let ranks: BTreeSet<u64> = group.pieces.iter().map(|piece| piece.rank).collect();
            let (ranks, step) = (ranks.into_iter().collect(), first.row.step);
            whole.differing.push(DifferingRow { key: key.clone(), name: name.clone(), order, step, ranks, error });
        }
        let row = MonitorRow {
            kind: key.kind,
            stage: 0,
            name,
            canonical: key.name.clone(),
            step: first.row.step,
            micro_step: first.row.micro_step.map(|_| key.micro_step),
            statistics,
            nans,
            shape,
            dtype,
        };
        whole.rows.push(KeyedRow { key, order, row });
    }
}

/// Role of a value, by the rest of its name after the module.
fn role(kind: MonitorKind, rest: &str) -> ValueRole<'_> {
    match kind {
        _ if kind.is_activation() && rest.starts_with(".output") => ValueRole::Output,
        _ if kind.is_activation() => ValueRole::Input,
        MonitorKind::GradUnreduced => ValueRole::Gradient(rest.trim_start_matches('.')),
        // A reduced gradient and the moments are placed like their parameter.
        _ => ValueRole::Parameter(rest.trim_start_matches('.')),
    }
}

/// Largest magnitude of each statistic over all rows of each kind.
fn largest<'g>(groups: impl Iterator<Item = &'g Group>) -> HashMap<MonitorKind, MonitorStatistics> {
    let mut largest: HashMap<MonitorKind, MonitorStatistics> = HashMap::new();
    for row in groups.flat_map(|group| &group.pieces).map(|piece| &piece.row) {
        let most = largest.entry(row.kind).or_default();
        for statistic in Statistic::ALL {
            let value = row.statistics.get(statistic).map(f64::abs).filter(|value| value.is_finite());
            let Some(value) = value else { continue };
            most.set(statistic, most.get(statistic).map_or(value, |known| known.max(value)));
        }
    }
    largest
}
