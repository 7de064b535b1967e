//! Assembly of the dumps of all ranks of one step into the values of the whole model (docs/layouts.md).
//!
//! Modules get their names in the whole model, and their values are merged by statistics: the largest and smallest value, the
//! 2-norm and the mean of a tensor follow from those of its parts, in any order. Saved elements are read from the files of the
//! ranks if their order is known. Values that cannot be merged are left out and counted. Operations outside of modules are not
//! merged, because each layout cuts them in another way; the modules that they run in record their inputs and results.

mod batches;
mod experts;
mod global;

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::OnceLock;

use rayon::prelude::*;

use super::builder::{Builder, NewTensor};
use super::content::{AssembledParts, COPIES, DifferingCopies, Dump, Holders, SharedMask};
use super::elements::{Elements, Gates};
use super::folder::{DumpFolder, WholeModel, read_each};
use super::masks::shared_mask;
use super::merge::{self, Merged, Piece, Unmerged, merge};
use super::name::Direction;
use super::plan::AssemblyPlan;
use super::records::{Leaf, LeafValue, Operation, Operations, TensorRecord};
use super::shard::Shard;
use crate::error::{Error, Result};
use crate::hash::{ByHash, FastMap};
use crate::kind::TensorKind;
use crate::layout::placement::{ModuleKind, ValueRole};
use crate::layout::{Coordinates, Layout};
use crate::read::tensor::TensorData;
use batches::Batches;
use experts::Experts;
use global::{Globals, Member, Module};

/// Operations that are merged while those before are added.
const AT_ONCE: usize = 256;

/// Dumps of all ranks of one step, and the facts needed to assemble them.
#[derive(Clone)]
pub struct AssembledDump {
    /// Folder of each rank, in ascending order of ranks.
    pub ranks: Vec<(u64, DumpFolder)>,
    /// Layout that distributes the model over the ranks.
    pub layout: Layout,
    /// Facts that follow only from both sides together.
    pub plan: AssemblyPlan,
    /// Files with the elements of each assembled value, by row name. They are known once the records were read.
    elements: OnceLock<HashMap<String, Elements>>,
}

/// Sort key of an operation in the order of the whole model.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Order {
    is_backward: bool,
    /// Chunk of the model, counted from the end for backward operations.
    chunk: u32,
    index: usize,
}

/// A call of a module on one rank.
struct Call {
    /// Hash of the operation's name in the whole model.
    name: u64,
    order: Order,
    member: Member,
}

/// An operation outside of modules.
struct Outside {
    /// Number of its tensors.
    tensors: u64,
}

/// Calls on single ranks that make up one operation of the whole model.
struct Group {
    order: Order,
    members: Vec<Member>,
}

/// Records of the ranks.
struct OfRanks<'d> {
    dumps: &'d [Dump],
    places: &'d [Coordinates],
    gates: Gates,
    globals: Globals<'d>,
    experts: Experts,
    batches: Batches,
}

/// An operation of the whole model, with the row name and the role of each of its values.
struct MergedOperation<'d> {
    name: String,
    /// Ranks that hold it, in ascending order.
    ranks: Vec<u64>,
    values: Vec<(String, TensorKind, MergedValue<'d>)>,
}

/// A value of the whole model, before it is added.
enum MergedValue<'d> {
    /// Not a tensor: as the first member has it.
    Plain(LeafValue<'d>),
    /// A tensor, with what its first part says about its gradient and the file of its elements.
    Tensor { merged: Merged<'d>, requires_grad: Option<bool>, extension: Option<&'d str> },
    /// A tensor whose parts could not be merged.
    Unmerged { pieces: u64 },
}

/// The whole model while it is being assembled.
struct Whole {
    builder: Builder,
    elements: HashMap<String, Elements>,
    parts: AssembledParts,
    ranks: Holders,
}

impl WholeModel for AssembledDump {
    fn read(&self) -> Result<Dump> {
        let dumps = self.read_ranks()?;
        let places: Vec<Coordinates> = self.ranks.iter().map(|(rank, _)| self.layout.place(*rank)).collect();
        let globals = Globals::new(&dumps, &places, &self.layout);
        let (groups, outside) = self.groups(&dumps, &places, &globals);
        let mut parts = AssembledParts::new(self.layout.clone(), self.plan);
        parts.unmerged = outside;
        let experts = Experts::of(&dumps, &places, &globals);
        let batches = Batches::new(self.plan, &self.layout, (&dumps, &places), &globals);
        let of = OfRanks { dumps: &dumps, places: &places, gates: Gates::of(&dumps), globals, experts, batches };
        let ranks = Holders::default();
        let mut whole = Whole { builder: Builder::default(), elements: HashMap::new(), parts, ranks };
        // There are as many groups as operations: each is dropped once it is merged, and its values once they are added.
        let (mut groups, mut merged) = (groups.into_iter(), Vec::new());
        while !(groups.as_slice().is_empty() && merged.is_empty()) {
            let round: Vec<Group> = groups.by_ref().take(AT_ONCE).collect();
            let merge_round = || round.into_par_iter().filter_map(|group| self.merged(&group, &of)).collect();
            (merged, ()) = rayon::join(merge_round, || merged.into_iter().for_each(|operation| whole.add(operation)));
        }
        let Whole { builder, elements, mut parts, ranks } = whole;
        parts.ranks = ranks.finish();
        let operations = builder.finish();
        parts.shared_mask = self.shared_mask(&dumps);
        parts.has_elements = !elements.is_empty();
        // Reading the dump again gives the same elements.
        let _ = self.elements.set(elements);
        parts.differing.extend(self.tied(&operations, &parts));
        parts.differing_loss = self.losses(&dumps, &places);
        Ok(Dump::from_parts(dumps, operations, parts))
    }

    fn tensor(&self, data_name: &str) -> Result<TensorData> {
        let row = data_name.rsplit_once('.').map_or(data_name, |(row, _)| row);
        let elements = self.elements.get().and_then(|elements| elements.get(row));
        elements.ok_or_else(|| Error::corrupt(data_name, "no rank saved it"))?.open(&self.ranks)
    }

    fn shards(&self, row: &str) -> Vec<Shard> {
        self.elements.get().and_then(|elements| elements.get(row)).map(Elements::shards).unwrap_or_default()
    }
}

impl AssembledDump {
    /// Creates the assembly of `ranks` by `layout`.
    pub fn new(ranks: Vec<(u64, DumpFolder)>, layout: Layout, plan: AssemblyPlan) -> Self {
        Self { ranks, layout, plan, elements: OnceLock::new() }
    }

    /// Reads the dumps of all ranks.
    fn read_ranks(&self) -> Result<Vec<Dump>> {
        let mut dumps: Vec<Dump> = Vec::with_capacity(self.ranks.len());
        read_each(self.ranks.iter().map(|(_, folder)| folder), |mut dump| {
            // Ranks of the same stage have the same names.
            if let Some(before) = dumps.last() {
                dump.operations.share_names(&before.operations);
            }
            dumps.push(dump);
        })?;
        Ok(dumps)
    }

    /// Operations of the whole model in its order, and the number of values that belong to no module.
    fn groups(&self, dumps: &[Dump], places: &[Coordinates], globals: &Globals) -> (Vec<Group>, u64) {
        let (mut groups, mut outside): (Vec<Group>, u64) = (Vec::new(), 0);
        // Keys are hashes of names to save memory, because there are as many entries as operations.
        let mut known: ByHash<usize> = ByHash::default();
        for (rank, (dump, place)) in dumps.iter().zip(places).enumerate() {
            let call = |index| {
                let operation = dump.operations.get(index)?;
                Some(self.call([rank, index], &operation, globals.module(operation.name, *place)))
            };
            // Of one rank at a time, because most of it is not kept.
            let calls: Vec<_> = (0..dump.operations.len()).into_par_iter().filter_map(call).collect();
            for call in calls {
                let Call { name, order, member } = match call {
                    Ok(call) => call,
                    Err(Outside { tensors }) => {
                        outside += tensors;
                        continue;
                    }
                };
                let at = *known.entry(name).or_insert_with(|| {
                    groups.push(Group { order, members: Vec::with_capacity(self.layout.tp as usize) });
                    groups.len() - 1
                });
                let Some(group) = groups.get_mut(at) else { continue };
                // An operation that spans several chunks ends in the last of them.
                if order.is_backward == group.order.is_backward && order.chunk > group.order.chunk {
                    group.order = order;
                }
                group.members.push(member);
            }
        }
        let path = |group: &Group| Some(globals.module_of_member(group.members.first()?, dumps, places)?.path);
        groups.sort_by(|a, b| a.order.cmp(&b.order).then_with(|| path(a).cmp(&path(b))));
        (groups, outside)
    }

    /// The call of a module that an operation of a rank is. Of an operation outside of modules, only its tensors are counted.
    fn call(
        &self,
        [rank, index]: [usize; 2],
        operation: &Operation<'_>,
        module: Option<Module>,
    ) -> Result<Call, Outside> {
        let Some(module) = module else {
            return Err(Outside {
                tensors: operation.leaves.iter().filter(|leaf| leaf.record().is_some()).count() as u64,
            });
        };
        let is_backward = module.direction != Direction::Forward;
        let last = self.layout.pp.saturating_mul(self.layout.vpp).saturating_sub(1);
        let chunk = if is_backward { last.saturating_sub(module.chunk) } else { module.chunk };
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let call = u32::try_from(module.call).unwrap_or(u32::MAX);
        Ok(Call {
            name: crate::hash::hash_of(self.name(&module).as_str()),
            order: Order { is_backward, chunk, index },
            member: Member { rank: count(rank), operation: count(index), call, chunk: module.chunk },
        })
    }

    /// Name of a module's operation in the whole model.
    fn name(&self, module: &Module) -> String {
        module.name(if self.plan.merges_calls { 0 } else { module.call })
    }

    /// Merges the values of one operation.
    fn merged<'d>(&self, group: &Group, of: &OfRanks<'d>) -> Option<MergedOperation<'d>> {
        let OfRanks { dumps, places, gates, globals, .. } = of;
        let module = globals.module_of_member(group.members.first()?, dumps, places)?;
        let name = self.name(&module);
        let kind_of_module = ModuleKind::from_path(&module.path, &module.class);
        let mut ranks: Vec<u64> =
            group.members.iter().filter_map(|member| Some(self.ranks.get(member.rank as usize)?.0)).collect();
        ranks.sort_unstable();
        ranks.dedup();
        let mut values = Vec::new();
        for ((suffix, kind), leaves) in rows(&group.members, dumps) {
            let row = format!("{name}{suffix}");
            let pieces = leaves.iter().filter_map(|(member, leaf)| {
                let (place, record) = (*places.get(member.rank as usize)?, leaf.record()?);
                let rank = self.ranks.get(member.rank as usize)?.0;
                let file = if self.plan.has_elements { leaf.data_name() } else { None };
                Some(Piece { place, rank, call: u64::from(member.call), chunk: member.chunk, record, file })
            });
            let pieces = at_its_end(module.direction, kind, pieces.collect());
            let Some(first) = pieces.first().map(|piece| piece.record) else {
                values.extend(leaves.first().map(|(_, leaf)| (row, kind, MergedValue::Plain(leaf.value))));
                continue;
            };
            // A value that a rank lacks is left out. It is reported as missing because the other side has it.
            if !self.is_whole(&module, &pieces, of) {
                continue;
            }
            let role = role(kind, module.direction, suffix);
            let is_left_out = self.plan.leaves_out(&module.path, kind_of_module, role);
            let of = merge::MergeContext {
                kind: kind_of_module,
                role,
                direction: module.direction,
                layout: &self.layout,
                plan: &self.plan,
                fused: gates.fused(&module.path, role),
            };
            let merged = if is_left_out { Err(Unmerged) } else { merge(&of, &pieces) };
            let value = match merged {
                Ok(merged) => {
                    let TensorRecord { requires_grad, extension, .. } = first;
                    MergedValue::Tensor { merged, requires_grad, extension }
                }
                Err(Unmerged) => MergedValue::Unmerged { pieces: pieces.len() as u64 },
            };
            values.push((row, kind, value));
        }
        Some(MergedOperation { name, ranks, values })
    }
}

impl Whole {
    /// Adds the values of the next operation.
    fn add(&mut self, operation: MergedOperation<'_>) {
        let Self { builder, elements, parts, ranks: holders } = self;
        let MergedOperation { name, ranks, values } = operation;
        builder.begin(&name);
        for (row, kind, value) in values {
            match value {
                MergedValue::Plain(value) => plain(builder, &row, kind, value),
                MergedValue::Unmerged { pieces } => {
                    parts.unmerged += pieces;
                    parts.unmerged_rows.insert(row);
                }
                MergedValue::Tensor { merged, requires_grad, extension } => {
                    let Merged { shape, statistics, checksum, differing, dtype, elements: stored } = merged;
                    let stored = stored.zip(extension);
                    let tensor = NewTensor {
                        dtype,
                        shape: &shape,
                        statistics: statistics.map(Cow::Owned),
                        requires_grad,
                        checksum,
                        extension: stored.as_ref().map(|(_, extension)| *extension),
                    };
                    builder.add_tensor(&row, kind, &tensor);
                    parts.differing.extend(differing.map(|(ranks, error)| DifferingCopies {
                        operation: name.clone(),
                        row: row.clone(),
                        kind,
                        ranks,
                        error,
                        is_tied: false,
                    }));
                    elements.extend(stored.map(|(stored, _)| (row, stored)));
                }
            }
        }
        holders.add(&name, ranks);
    }
}

impl AssembledDump {
    /// Whether every rank that holds a part or a copy of a value recorded it, in each call that a batch is cut into. An expert
    /// without tokens has no records; an expert with tokens has records of all of its modules.
    fn is_whole(&self, module: &Module, pieces: &[Piece<'_>], of: &OfRanks<'_>) -> bool {
        let of_data = |piece: &Piece<'_>| (piece.place.dp, piece.place.cp);
        let groups: BTreeSet<(u32, u32)> = pieces.iter().map(of_data).collect();
        let calls: BTreeSet<u64> = pieces.iter().map(|piece| piece.call).collect();
        let wanted = usize::try_from(self.layout.dp.saturating_mul(self.layout.cp)).unwrap_or(usize::MAX);
        let tp = usize::try_from(self.layout.tp).unwrap_or(usize::MAX);
        let own = |group: &(u32, u32)| pieces.iter().filter(|piece| of_data(piece) == *group).count();
        if module.path.contains("expert") {
            let of_each = tp.saturating_mul(calls.len());
            let is_all = |group: &(u32, u32)| own(group) == of_each || own(group).is_multiple_of(tp.max(1));
            return groups.iter().all(is_all) && of.experts.have_all(module, pieces);
        }
        of.batches.has_all_calls(module, pieces)
            && groups.len() == wanted
            && groups.iter().all(|group| own(group) == tp.saturating_mul(calls.len()))
    }

    /// Ranks of one tensor-parallel group whose last scalars of the forward pass differ. Each of them computes the whole loss, so the
    /// scalars should be equal.
    fn losses(&self, dumps: &[Dump], places: &[Coordinates]) -> Option<Vec<u64>> {
        let mut groups: HashMap<Coordinates, Vec<(u64, f64)>> = HashMap::new();
        for ((dump, place), (rank, _)) in dumps.iter().zip(places).zip(&self.ranks) {
            let scalar = dump.operations.iter().rev().find_map(|operation| {
                let is_of_loss = operation.name.ends_with(".forward") && !operation.name.starts_with("Distributed.");
                let outputs = operation.leaves.iter().filter(|leaf| is_of_loss && leaf.kind == TensorKind::Output);
                let mut scalars = outputs.filter_map(Leaf::record).filter(|record| record.shape.is_empty());
                scalars.find_map(|record| record.max.as_f64())
            });
            groups.entry(Coordinates { tp: 0, ..*place }).or_default().extend(scalar.map(|value| (*rank, value)));
        }
        let differs = |group: &&Vec<(u64, f64)>| {
            let first = group.first().map_or(0.0, |(_, value)| *value);
            group.iter().any(|(_, value)| (value - first).abs() > COPIES * first.abs())
        };
        let group = groups.values().filter(differs).min_by_key(|group| group.first().map(|(rank, _)| *rank))?;
        Some(group.iter().map(|(rank, _)| *rank).collect())
    }

    /// Finds a dropout mask that all ranks share, in a model that is only tensor parallel.
    fn shared_mask(&self, dumps: &[Dump]) -> Option<SharedMask> {
        let ranks: Vec<u64> = self.ranks.iter().map(|(rank, _)| *rank).collect();
        (self.layout.tp > 1 && self.layout.world() == u64::from(self.layout.tp)).then(|| shared_mask(dumps, &ranks))?
    }

    /// Weight of the output layer, if it is tied to the embedding's weight but holds other numbers.
    fn tied(&self, operations: &Operations, parts: &AssembledParts) -> Option<DifferingCopies> {
        if !self.plan.is_tied {
            return None;
        }
        let weight = |wanted: fn(&str) -> bool| {
            operations.iter().find(|operation| wanted(operation.name)).and_then(|operation| {
                let leaf = operation.leaves.iter().find(|leaf| leaf.kind == TensorKind::Parameter)?;
                Some((operation.name, leaf, leaf.record()?))
            })
        };
        let (first, _, embedding) = weight(is_embedding)?;
        let (name, leaf, output) = weight(is_output_layer)?;
        let error = merge::largest_difference(&embedding, &output);
        (error > COPIES).then(|| DifferingCopies {
            operation: name.to_owned(),
            row: leaf.row.to_string(),
            kind: TensorKind::Parameter,
            ranks: [first, name].iter().filter_map(|name| parts.ranks.get(name)).flatten().copied().collect(),
            error,
            is_tied: true,
        })
    }
}

/// Whether a forward operation is the embedding of the vocabulary.
fn is_embedding(name: &str) -> bool {
    name.contains(".forward.") && (name.contains(".word_embeddings.") || name.contains(".embed_tokens."))
}

/// Whether a forward operation is the output layer.
fn is_output_layer(name: &str) -> bool {
    name.contains(".forward.") && (name.contains(".output_layer.") || name.contains(".lm_head."))
}

/// Keeps the pieces at the ends of a module that spans several chunks: inputs of the first chunk and outputs of the last; for
/// gradients the other way round.
fn at_its_end(direction: Direction, kind: TensorKind, pieces: Vec<Piece<'_>>) -> Vec<Piece<'_>> {
    let wants_last = (kind == TensorKind::Output) == (direction == Direction::Forward);
    let chunks = pieces.iter().map(|piece| piece.chunk);
    let end = if wants_last { chunks.max() } else { chunks.min() };
    pieces.into_iter().filter(|piece| Some(piece.chunk) == end).collect()
}

/// Rest of a row's name with the role of its value, and the value of each member.
type Row<'d> = ((&'d str, TensorKind), Vec<(Member, Leaf<'d>)>);

/// Values of the members, grouped by row name within the operation, in the order in which they first appear.
fn rows<'d>(members: &[Member], dumps: &'d [Dump]) -> Vec<Row<'d>> {
    let mut rows: Vec<Row<'d>> = Vec::new();
    let mut known: FastMap<(&str, TensorKind), usize> = FastMap::default();
    for member in members {
        let operation = dumps.get(member.rank as usize).and_then(|dump| dump.operations.get(member.operation as usize));
        for leaf in operation.into_iter().flat_map(|operation| operation.leaves.iter()) {
            let key = (leaf.row.below_operation(), leaf.kind);
            let place = *known.entry(key).or_insert_with(|| {
                rows.push((key, Vec::new()));
                rows.len() - 1
            });
            if let Some((_, leaves)) = rows.get_mut(place) {
                leaves.push((*member, leaf));
            }
        }
    }
    rows
}

/// Adds a value that is not a tensor.
fn plain(builder: &mut Builder, row: &str, kind: TensorKind, value: LeafValue<'_>) {
    match value {
        LeafValue::Plain { type_name, value, .. } => builder.add_plain(row, kind, type_name, value.clone()),
        LeafValue::Null => builder.add_null(row, kind),
        LeafValue::Damaged => builder.add_damaged(row, kind),
        LeafValue::Tensor(_) => {}
    }
}

/// Role of a value in its module.
fn role(kind: TensorKind, direction: Direction, suffix: &str) -> ValueRole<'_> {
    let name = suffix.rsplit('.').next().unwrap_or_default();
    match (kind, direction) {
        (TensorKind::Parameter, _) => ValueRole::Parameter(name),
        // In old dumps the row name of a gradient ends with an index.
        (TensorKind::ParameterGradient, _) => {
            let is_number = name.bytes().all(|byte| byte.is_ascii_digit());
            ValueRole::Gradient(if is_number { suffix.rsplit('.').nth(1).unwrap_or_default() } else { name })
        }
        // In the backward pass the gradients of outputs are inputs, and the gradients of inputs are outputs.
        (TensorKind::Input, Direction::Backward) | (TensorKind::Output | TensorKind::Value, Direction::Forward) => {
            ValueRole::Output
        }
        (TensorKind::Output, Direction::Backward) => ValueRole::Input,
        (TensorKind::Input, _) => ValueRole::Input,
        _ => ValueRole::Output,
    }
}
