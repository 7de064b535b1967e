//! Folders of Megatron: a file for each tensor-parallel, pipeline and expert rank.
//!
//! `mp_rank_TT[_PPP][_EEE]/*.pt` holds `model`, or `model0`, `model1` for the chunks of a virtual pipeline, and the pickled
//! arguments of the run. Each rank counts its layers and experts from 0; this module gives them their numbers in the whole model.
//! States of the optimizer are not read, because they are flat buffers whose order only Megatron knows.

use std::collections::{BTreeMap, BTreeSet};

use super::arguments::Arguments;
use super::gathered::{file_of, folder_of, rank_numbers};
use super::megatron_names::{core_name, layer_and_expert, renumbered};
use super::opened::{Checkpoint, CheckpointParameter, ParameterPiece, ParameterPieces};
use super::place::CheckpointPlace;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::Files;
use crate::layout::{Layout, LayoutSource};
use crate::read::tensor::StoredValue;
use crate::read::tensor_file;

/// Most ranks that files or arguments may name. The limit covers the largest runs, and keeps the list of missing files short.
const MAX_RANKS: u64 = 65_536;

/// Opens the files of all ranks and gives their tensors the names of the whole model.
///
/// # Errors
/// If a file cannot be opened, two folders belong to one rank, or the files name too many ranks.
pub(super) fn open(place: &CheckpointPlace, files: &dyn Files) -> Result<Checkpoint> {
    let mut ranks = Vec::new();
    for path in place.shards.keys() {
        ranks.extend(RankFile::open(path, files)?);
    }
    let arguments = ranks.iter().map(|rank| &rank.arguments).find(|arguments| !arguments.is_empty());
    let facts = arguments.map(Arguments::facts).unwrap_or_default();
    let sizes = Sizes::of(&place.path, &ranks, arguments)?;
    let source = if arguments.is_some() { LayoutSource::Arguments } else { LayoutSource::Files };
    let (tp, pp, vpp, ep) = (sizes.tp, sizes.pp, sizes.vpp, sizes.ep);
    let layout = Layout { tp, pp, vpp, ep, ..Layout::single(source) };
    sizes.refuse_twins(&place.path, &ranks)?;
    let missing = sizes.missing(&ranks);
    let numbering = Numbering::of(&ranks, &sizes, arguments);
    let unread_states = ranks.iter().map(|rank| rank.unread_states).sum();
    let parameters = global_parameters(ranks, &sizes, &numbering);
    Ok(Checkpoint { parameters, facts, missing, layout: Some(layout), unread_states, ..Checkpoint::default() })
}

struct RankFile {
    path: String,
    /// Numbers in the name of its folder.
    numbers: Vec<u32>,
    arguments: Arguments,
    /// Tensors of each chunk of the model, with their local names.
    chunks: BTreeMap<u32, Vec<(String, CheckpointParameter)>>,
    unread_states: u64,
}

impl RankFile {
    fn open(path: &str, files: &dyn Files) -> Result<Option<Self>> {
        let Some(numbers) = rank_numbers(file_of(folder_of(path))) else { return Ok(None) };
        let values = tensor_file::open_with_facts(files.open(path)?)?;
        let arguments = Arguments::among(&values);
        let version = values.iter().find_map(|(name, stored)| match stored {
            StoredValue::Plain(version) if name == "checkpoint_version" => version.parse().ok(),
            _ => None,
        });
        let (mut chunks, mut unread_states) = (BTreeMap::<u32, Vec<_>>::new(), 0);
        for (name, stored) in values {
            let Some((chunk, name)) = chunk_of(&name) else {
                unread_states += u64::from(matches!(stored, StoredValue::Tensor(_)) && name.starts_with("optimizer"));
                continue;
            };
            if let (Some(name), Some(parameter)) = (core_name(name), CheckpointParameter::from_stored(stored)) {
                let unread = unread(&name, version).map(|reason| CheckpointParameter::Unread(reason.into()));
                chunks.entry(chunk).or_default().push((name, unread.unwrap_or(parameter)));
            }
        }
        Ok(Some(Self { path: path.to_owned(), numbers, arguments, chunks, unread_states }))
    }

    /// The name of its rank, for messages.
    fn rank(&self) -> &str {
        file_of(folder_of(&self.path))
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.chunks.values().flatten().map(|(name, _)| name.as_str())
    }
}

/// Reason why a tensor of this name is not read from a checkpoint of `version`; `None` if it is read.
fn unread(name: &str, version: Option<f64>) -> Option<&'static str> {
    if name.ends_with(".mlp.experts.weight1") || name.ends_with(".mlp.experts.weight2") {
        return Some("it fuses the weights of all experts of a rank, which is not read");
    }
    let is_older = version.is_some_and(|version| version < 2.0);
    (is_older && name.contains(".linear_qkv."))
        .then_some("its checkpoint is of a version before 2.0, whose rows have another order")
}

/// Chunk that a name such as `model0.decoder…` belongs to, and the name within the chunk.
fn chunk_of(name: &str) -> Option<(u32, &str)> {
    let (chunk, rest) = name.strip_prefix("model")?.split_once('.')?;
    Some((if chunk.is_empty() { 0 } else { chunk.parse().ok()? }, rest))
}

/// Position of a rank in the layout.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct RankPlace {
    tp: u32,
    pp: u32,
    ep: u32,
}

/// Sizes of the layout, and the meaning of the numbers in folder names.
struct Sizes {
    tp: u32,
    pp: u32,
    vpp: u32,
    ep: u32,
    /// Whether the second of two numbers is the expert rank, not the pipeline stage.
    is_second_expert: bool,
    /// Whether folder names hold a number of the stage, and a number of the expert rank.
    has_numbers: (bool, bool),
}

impl Sizes {
    fn of(place: &str, ranks: &[RankFile], arguments: Option<&Arguments>) -> Result<Self> {
        let told = |name: &str| arguments.and_then(|arguments| arguments.size(name));
        let (pp, ep) = (told("pipeline_model_parallel_size"), told("expert_model_parallel_size"));
        let count = ranks.iter().map(|rank| rank.numbers.len()).max().unwrap_or(0);
        let has_all = |rank: &RankFile| {
            rank.names().any(|name| name.starts_with("embedding."))
                && rank.names().any(|name| layer_and_expert(name).1.is_some())
        };
        let is_second_expert = count == 2
            && match (pp.unwrap_or(1) > 1, ep.unwrap_or(1) > 1) {
                (false, true) => true,
                (true, _) => false,
                (false, false) => ranks.iter().filter(|rank| !rank.chunks.is_empty()).all(has_all),
            };
        let mut sizes = Self {
            tp: told("tensor_model_parallel_size").unwrap_or(1),
            pp: pp.unwrap_or(1),
            vpp: told("virtual_pipeline_model_parallel_size").unwrap_or(1),
            ep: ep.unwrap_or(1),
            is_second_expert,
            has_numbers: (count == 3 || (count == 2 && !is_second_expert), count == 3 || is_second_expert),
        };
        for rank in ranks {
            let at = sizes.place(rank);
            sizes.tp = sizes.tp.max(at.tp.saturating_add(1));
            sizes.pp = sizes.pp.max(at.pp.saturating_add(1));
            sizes.ep = sizes.ep.max(at.ep.saturating_add(1));
            let chunks = rank.chunks.keys().max().map_or(1, |chunk| chunk.saturating_add(1));
            sizes.vpp = sizes.vpp.max(chunks);
        }
        let world = [sizes.tp, sizes.pp, sizes.vpp, sizes.ep].map(u64::from).into_iter().fold(1, u64::saturating_mul);
        if world > MAX_RANKS {
            let message = format!("its files or arguments name {world} ranks, and {MAX_RANKS} are read at most");
            return Err(Error::new(ErrorKind::LimitExceeded, place, message));
        }
        Ok(sizes)
    }

    fn place(&self, rank: &RankFile) -> RankPlace {
        let mut numbers = rank.numbers.iter().copied();
        let (tp, second, third) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0), numbers.next());
        match third {
            Some(ep) => RankPlace { tp, pp: second, ep },
            None if self.is_second_expert => RankPlace { tp, pp: 0, ep: second },
            None => RankPlace { tp, pp: second, ep: 0 },
        }
    }

    /// Returns an error if two folders belong to one rank.
    fn refuse_twins(&self, place: &str, ranks: &[RankFile]) -> Result<()> {
        let mut seen: BTreeMap<RankPlace, &str> = BTreeMap::new();
        for rank in ranks.iter().filter(|rank| !rank.chunks.is_empty()) {
            if let Some(other) = seen.insert(self.place(rank), &rank.path) {
                let message = format!("{other} and {} are of one rank", rank.path);
                let error = Error::corrupt(place, message);
                return Err(error.with_help("give the files of one run in a folder of their own"));
            }
        }
        Ok(())
    }

    /// Paths of the missing files of ranks, as the layout requires them.
    fn missing(&self, ranks: &[RankFile]) -> Vec<String> {
        let there: BTreeSet<RankPlace> =
            ranks.iter().filter(|rank| !rank.chunks.is_empty()).map(|rank| self.place(rank)).collect();
        let Some(example) = ranks.iter().find(|rank| !rank.chunks.is_empty()).or(ranks.first()) else {
            return Vec::new();
        };
        let above = folder_of(folder_of(&example.path));
        let above = if above.is_empty() { String::new() } else { format!("{above}/") };
        let mut missing = Vec::new();
        for (tp, pp, ep) in self.all() {
            if there.contains(&RankPlace { tp, pp, ep }) {
                continue;
            }
            let stage = if self.has_numbers.0 || self.pp > 1 { format!("_{pp:03}") } else { String::new() };
            let expert = if self.has_numbers.1 || self.ep > 1 { format!("_{ep:03}") } else { String::new() };
            missing.push(format!("{above}mp_rank_{tp:02}{stage}{expert}/{}", file_of(&example.path)));
        }
        missing
    }

    fn all(&self) -> impl Iterator<Item = (u32, u32, u32)> {
        let (pp, ep) = (self.pp, self.ep);
        (0..self.tp).flat_map(move |tp| (0..pp).flat_map(move |stage| (0..ep).map(move |expert| (tp, stage, expert))))
    }
}

/// Number of the first layer of each stage and chunk, and the number of experts on each rank.
struct Numbering {
    first_layers: BTreeMap<(u32, u32), u64>,
    experts: u64,
}

impl Numbering {
    fn of(ranks: &[RankFile], sizes: &Sizes, arguments: Option<&Arguments>) -> Self {
        let mut layers: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        let mut experts = 0;
        for rank in ranks {
            for (chunk, tensors) in &rank.chunks {
                let own = layers.entry((sizes.place(rank).pp, *chunk)).or_default();
                for (layer, expert) in tensors.iter().map(|(name, _)| layer_and_expert(name)) {
                    *own = layer.map_or(*own, |layer| layer.saturating_add(1).max(*own));
                    experts = expert.map_or(experts, |expert| expert.saturating_add(1).max(experts));
                }
            }
        }
        let told = |name: &str, parts: u32| {
            let number = arguments.and_then(|arguments| arguments.number(name))?;
            Some(number / u64::from(parts.max(1))).filter(|number| *number > 0)
        };
        // A missing stage is assumed to have as many layers as another one.
        let stages = sizes.pp.saturating_mul(sizes.vpp);
        let usual = told("num_layers", stages).or_else(|| layers.values().max().copied()).unwrap_or(0);
        let (mut first_layers, mut next) = (BTreeMap::new(), 0_u64);
        for chunk in 0..sizes.vpp {
            for stage in 0..sizes.pp {
                first_layers.insert((stage, chunk), next);
                next = next.saturating_add(layers.get(&(stage, chunk)).copied().unwrap_or(usual));
            }
        }
        Self { first_layers, experts: told("num_experts", sizes.ep).unwrap_or(0).max(experts) }
    }

    fn name(&self, name: &str, at: RankPlace, chunk: u32) -> String {
        let first = self.first_layers.get(&(at.pp, chunk)).copied().unwrap_or(0);
        let expert = u64::from(at.ep).saturating_mul(self.experts);
        renumbered(name, |layer| first.saturating_add(layer), |own| expert.saturating_add(own))
    }
}

/// Collects the pieces of every tensor, by its name in the whole model.
fn global_parameters(
    ranks: Vec<RankFile>,
    sizes: &Sizes,
    numbering: &Numbering,
) -> BTreeMap<String, CheckpointParameter> {
    let mut parameters: BTreeMap<String, CheckpointParameter> = BTreeMap::new();
    for rank in ranks {
        let (at, label) = (sizes.place(&rank), rank.rank().to_owned());
        for (chunk, tensors) in rank.chunks {
            for (name, parameter) in tensors {
                let name = numbering.name(&name, at, chunk);
                add_piece(&mut parameters, name, (at.tp, &label, sizes.tp), parameter);
            }
        }
    }
    parameters
}

/// Adds the piece of one rank, given by the rank's number, its name, and the number of ranks.
pub(super) fn add_piece(
    parameters: &mut BTreeMap<String, CheckpointParameter>,
    name: String,
    (tp, rank, of): (u32, &str, u32),
    parameter: CheckpointParameter,
) {
    let entry = parameters
        .entry(name)
        .or_insert_with(|| CheckpointParameter::Pieces(ParameterPieces { tp_size: of, pieces: Vec::new() }));
    match (entry, parameter) {
        (CheckpointParameter::Pieces(pieces), CheckpointParameter::Tensor(tensor)) => {
            pieces.pieces.push(ParameterPiece { tp, rank: rank.to_owned(), tensor });
        }
        (entry @ CheckpointParameter::Pieces(_), CheckpointParameter::Unread(reason)) => {
            *entry = CheckpointParameter::Unread(format!("{rank}: {reason}"));
        }
        _ => {}
    }
}
