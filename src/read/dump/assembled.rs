//! Assembly of the dumps of all ranks of one step into the values of the whole model (docs/layouts.md).
//!
//! Modules get their names in the whole model, and their values are merged by statistics: the largest and smallest value, the
//! 2-norm and the mean of a tensor follow from those of its parts, in any order. Saved elements are read from the files of the
//! ranks if their order is known. Values that cannot be merged are left out and counted. Operations outside of modules are not
//! merged, because each layout cuts them in another way; the modules that they run in record their inputs and results.

mod batches;
mod experts;
mod global;

use std::collections::{BTreeSet, HashMap};
use std::sync::OnceLock;

use super::builder::{Builder, NewTensor};
use super::content::{AssembledParts, COPIES, DifferingCopies, Dump, Holders, SharedMask};
use super::elements::{Elements, Gates};
use super::folder::{DumpFolder, WholeModel, read_each};
use super::masks::shared_mask;
use super::merge::{self, Merged, Piece, Unmerged, merge};
use super::name::Direction;
use super::plan::AssemblyPlan;
use super::records::{Leaf, LeafValue, Operations};
use super::shard::Shard;
use crate::error::{Error, Result};
use crate::kind::TensorKind;
use crate::layout::placement::{ModuleKind, ValueRole};
use crate::layout::{Coordinates, Layout};
use crate::read::tensor::TensorData;
use batches::Batches;
use experts::Experts;
use global::{Globals, Member, Module};

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
        // Each group is dropped once it is assembled, because there are as many groups as operations.
        for group in groups {
            self.put(&group, &of, &mut whole);
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
        let mut known: HashMap<u64, usize> = HashMap::new();
        for (rank, (dump, place)) in dumps.iter().zip(places).enumerate() {
            for (index, operation) in dump.operations.iter().enumerate() {
                let Some(module) = globals.module(operation.name, *place) else {
                    outside += operation.leaves.iter().filter(|leaf| leaf.record().is_some()).count() as u64;
                    continue;
                };
                let is_backward = module.direction != Direction::Forward;
                let last = self.layout.pp.saturating_mul(self.layout.vpp).saturating_sub(1);
                let chunk = if is_backward { last.saturating_sub(module.chunk) } else { module.chunk };
                let order = Order { is_backward, chunk, index };
                let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
                let call = u32::try_from(module.call).unwrap_or(u32::MAX);
                let member = Member { rank: count(rank), operation: count(index), call, chunk: module.chunk };
                let at = *known.entry(crate::hash::hash_of(self.name(&module).as_str())).or_insert_with(|| {
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

    /// Name of a module's operation in the whole model.
    fn name(&self, module: &Module) -> String {
        module.name(if self.plan.merges_calls { 0 } else { module.call })
    }

    /// Merges the values of one operation.
    fn put(&self, group: &Group, of: &OfRanks<'_>, into: &mut Whole) {
        let OfRanks { dumps, places, gates, globals, .. } = of;
        let Whole { builder, elements, parts, ranks: holders } = into;
        let first = group.members.first().and_then(|member| globals.module_of_member(member, dumps, places));
        let Some(module) = first else { return };
        let name = self.name(&module);
        builder.begin(&name);
        let rows = rows(&group.members, dumps);
        let mut ranks: Vec<u64> =
            group.members.iter().filter_map(|member| Some(self.ranks.get(member.rank as usize)?.0)).collect();
        ranks.sort_unstable();
        ranks.dedup();
        for ((suffix, kind), leaves) in rows {
            let row = format!("{name}{suffix}");
            let pieces = leaves.iter().filter_map(|(member, leaf)| {
                let (place, record) = (*places.get(member.rank as usize)?, leaf.record()?);
                let rank = self.ranks.get(member.rank as usize)?.0;
                let file = if self.plan.has_elements { leaf.data_name() } else { None };
                Some(Piece { place, rank, call: u64::from(member.call), chunk: member.chunk, record, file })
            });
            let pieces = at_its_end(module.direction, kind, pieces.collect());
            if pieces.is_empty() {
                plain(builder, &row, kind, &leaves);
                continue;
            }
            // A value that a rank lacks is left out. It is reported as missing because the other side has it.
            if !self.is_whole(&module, &pieces, of) {
                continue;
            }
            let role = role(kind, module.direction, &suffix);
            let kind_of_module = ModuleKind::from_path(&module.path, &module.class);
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
            match merged {
                Ok(Merged { shape, statistics, checksum, differing, dtype, elements: stored }) => {
                    let statistics = statistics.map(std::borrow::Cow::Owned);
                    let extension = pieces.first().and_then(|piece| piece.record.extension);
                    let stored = stored.zip(extension);
                    let tensor = NewTensor {
                        dtype: &dtype,
                        shape: &shape,
                        statistics,
                        requires_grad: pieces.first().and_then(|piece| piece.record.requires_grad),
                        checksum: checksum.as_deref(),
                        extension: stored.as_ref().map(|(_, extension)| *extension),
                    };
                    builder.add_tensor(&row, kind, &tensor);
                    elements.extend(stored.map(|(stored, _)| (row.clone(), stored)));
                    parts.differing.extend(differing.map(|(ranks, error)| DifferingCopies {
                        operation: name.clone(),
                        row: row.clone(),
                        kind,
                        ranks,
                        error,
                        is_tied: false,
                    }));
                }
                Err(Unmerged) => {
                    parts.unmerged += pieces.len() as u64;
                    parts.unmerged_rows.insert(row);
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
type Row<'d> = ((String, TensorKind), Vec<(Member, Leaf<'d>)>);

/// Values of the members, grouped by row name within the operation, in the order in which they first appear.
fn rows<'d>(members: &[Member], dumps: &'d [Dump]) -> Vec<Row<'d>> {
    let mut rows: Vec<Row<'d>> = Vec::new();
    let mut known: HashMap<(String, TensorKind), usize> = HashMap::new();
    for member in members {
        let operation = dumps.get(member.rank as usize).and_then(|dump| dump.operations.get(member.operation as usize));
        for leaf in operation.into_iter().flat_map(|operation| operation.leaves.iter()) {
            let key = (leaf.row.below_operation().to_owned(), leaf.kind);
            let place = *known.entry(key.clone()).or_insert_with(|| {
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

/// Adds a value that is not a tensor, as the first member has it.
fn plain(builder: &mut Builder, row: &str, kind: TensorKind, leaves: &[(Member, Leaf<'_>)]) {
    match leaves.first().map(|(_, leaf)| leaf.value) {
        Some(LeafValue::Plain { type_name, value, .. }) => builder.add_plain(row, kind, type_name, value.clone()),
        Some(LeafValue::Null) => builder.add_null(row, kind),
        Some(LeafValue::Damaged) => builder.add_damaged(row, kind),
        Some(LeafValue::Tensor(_)) | None => {}
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
