//! Partitions of DeepSpeed's ZeRO, stages 1 to 3, as its own `zero_to_fp32` reads them.
//!
//! `[bf16_]zero_pp_rank_R_mp_rank_TT_optim_states.pt` holds rank R's part of every group of parameters, flat and in float32.
//! `*mp_rank_TT_model_states.pt` holds names and shapes in the order of the groups. Stages 1 and 2 cut each group as a whole,
//! padded at its end; stage 3 cuts each parameter. Moments are cut in the same way as their parameters.

use std::collections::BTreeMap;

use super::gathered::{file_of, folder_of, number_behind};
use super::megatron::add_piece;
use super::megatron_names::core_name;
use super::opened::{Checkpoint, CheckpointParameter};
use super::place::CheckpointPlace;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::Files;
use crate::layout::{Layout, LayoutSource};
use crate::read::joined::join_along_axis;
use crate::read::tensor::{StoredValue, TensorData};
use crate::read::tensor_file;

/// Most ranks that files may name.
const MAX_RANKS: u32 = 65_536;
/// Moments that an optimizer keeps for each parameter.
const MOMENTS: [&str; 2] = ["exp_avg", "exp_avg_sq"];

/// Opens all partitions and joins them to the parameters of the whole model.
///
/// # Errors
/// If a file cannot be opened, or if shapes and partitions contradict each other.
pub(super) fn open(place: &CheckpointPlace, files: &dyn Files) -> Result<Checkpoint> {
    let mut groups: BTreeMap<u32, ModelRank> = BTreeMap::new();
    for path in place.shards.keys() {
        let file = file_of(path);
        let tp = number_behind(file, "mp_rank_").unwrap_or(0);
        let partition = number_behind(file, "zero_pp_rank_").unwrap_or(0);
        if tp.max(partition) >= MAX_RANKS {
            let message = format!("its name counts to more than {MAX_RANKS} ranks");
            return Err(Error::new(ErrorKind::LimitExceeded, path, message));
        }
        let values = tensor_file::open_with_facts(files.open(path)?)?;
        let rank = groups.entry(tp).or_default();
        if file.ends_with("_optim_states.pt") {
            rank.example = Some(path.clone());
            rank.partitions.insert(partition, Partition::of(values));
            continue;
        }
        if number_behind(file, "zero_pp_rank_").is_some() {
            rank.model_files.insert(partition, path.clone());
        }
        if rank.shapes.is_empty() {
            rank.take_model(values);
        }
    }
    let of = groups.keys().max().map_or(1, |last| last + 1);
    let mut checkpoint = Checkpoint::default();
    let mut dp = 1;
    for tp in 0..of {
        let Some(rank) = groups.get(&tp) else {
            checkpoint.missing.push(format!("{}mp_rank_{tp:02}_model_states.pt", place.folder()));
            continue;
        };
        dp = dp.max(rank.size()?);
        checkpoint.missing.extend(rank.missing()?);
        for (name, parameter) in rank.parameters(&place.path)? {
            if of == 1 {
                checkpoint.parameters.insert(name, parameter);
            } else if let Some(name) = core_name(&name) {
                add_piece(&mut checkpoint.parameters, name, (tp, &format!("mp_rank_{tp:02}"), of), parameter);
            }
        }
    }
    checkpoint.layout = Some(Layout { tp: of, dp, ..Layout::single(LayoutSource::Files) });
    checkpoint.facts = super::arguments::configuration_facts(&place.folder(), files);
    Ok(checkpoint)
}

/// The files of one tensor-parallel rank.
#[derive(Default)]
struct ModelRank {
    /// Names and shapes of the parameters of each group, in order.
    shapes: Vec<Vec<(String, Vec<u64>)>>,
    /// Number of data-parallel ranks that the model's states record; 0 if they do not.
    told_size: u32,
    /// Buffers, which belong to no group.
    others: Vec<(String, CheckpointParameter)>,
    partitions: BTreeMap<u32, Partition>,
    /// Path of one partition's file.
    example: Option<String>,
    /// Files with the model's states of each data-parallel rank, which only stage 3 writes.
    model_files: BTreeMap<u32, String>,
}

/// Part of one data-parallel rank.
#[derive(Default)]
struct Partition {
    /// Flat groups by their index.
    groups: BTreeMap<usize, TensorData>,
    is_each_cut: bool,
    moments: BTreeMap<(usize, &'static str), TensorData>,
    told_size: u32,
}

impl Partition {
    fn of(values: Vec<(String, StoredValue)>) -> Self {
        let mut partition = Self::default();
        for (name, stored) in values {
            let Some(inside) = name.strip_prefix("optimizer_state_dict.") else { continue };
            match stored {
                StoredValue::Tensor(tensor) => partition.take(inside, tensor),
                StoredValue::Plain(value) if inside.starts_with("partition_count") => {
                    partition.told_size = value.parse().unwrap_or(0).max(partition.told_size);
                }
                _ => {}
            }
        }
        partition
    }

    fn take(&mut self, inside: &str, tensor: TensorData) {
        let index = |prefix: &str| inside.strip_prefix(prefix)?.parse::<usize>().ok();
        if let Some(group) = index("single_partition_of_fp32_groups.") {
            self.groups.insert(group, tensor);
        } else if let Some(group) = index("fp32_flat_groups.") {
            self.is_each_cut = true;
            self.groups.insert(group, tensor);
        } else if let Some(rest) = inside.strip_prefix("base_optimizer_state.state.")
            && let Some((group, moment)) = rest.split_once('.')
            && let Ok(group) = group.parse()
            && let Some(moment) = MOMENTS.iter().find(|known| **known == moment)
        {
            self.moments.insert((group, moment), tensor);
        }
    }

    /// Flat parts of one kind: the parameters, or one of their moments.
    fn flat(&self, moment: Option<&'static str>) -> BTreeMap<usize, &TensorData> {
        match moment {
            None => self.groups.iter().map(|(group, tensor)| (*group, tensor)).collect(),
            Some(wanted) => self
                .moments
                .iter()
                .filter(|((_, moment), _)| *moment == wanted)
                .map(|((group, _), tensor)| (*group, tensor))
                .collect(),
        }
    }
}

impl ModelRank {
    /// Adds names, shapes and buffers from a file with the model's states.
    fn take_model(&mut self, values: Vec<(String, StoredValue)>) {
        for (name, stored) in values {
            match stored {
                StoredValue::Shape(shape) => {
                    let group = name.strip_prefix("param_shapes.").and_then(|rest| rest.split_once('.'));
                    let Some((group, name)) =
                        group.and_then(|(group, name)| Some((group.parse::<usize>().ok()?, name)))
                    else {
                        continue;
                    };
                    // Groups are listed in order, so only the next one can be new.
                    if group == self.shapes.len() {
                        self.shapes.push(Vec::new());
                    }
                    if let Some(shapes) = self.shapes.get_mut(group) {
                        shapes.push((name.to_owned(), shape));
                    }
                }
                StoredValue::Plain(value) if name == "dp_world_size" => self.told_size = value.parse().unwrap_or(0),
                stored => {
                    if let (Some(name), Some(parameter)) =
                        (name.strip_prefix("module."), CheckpointParameter::from_stored(stored))
                    {
                        self.others.push((name.to_owned(), parameter));
                    }
                }
            }
        }
    }

    /// Number of data-parallel ranks, from the files' content and names.
    fn size(&self) -> Result<u32> {
        let told = self.partitions.values().map(|partition| partition.told_size).max().unwrap_or(0);
        let seen = self.partitions.keys().max().map_or(1, |last| last + 1);
        let size = told.max(seen).max(self.told_size);
        let path = self.example.as_deref().unwrap_or_default();
        let message = || format!("it counts {size} ranks, and {MAX_RANKS} are read at most");
        if size > MAX_RANKS { Err(Error::new(ErrorKind::LimitExceeded, path, message())) } else { Ok(size) }
    }

    /// Paths of missing files, as the number of ranks requires them.
    fn missing(&self) -> Result<Vec<String>> {
        let size = self.size()?;
        let lost = |example: Option<&String>, is_there: &dyn Fn(u32) -> bool| -> Vec<String> {
            let Some(example) = example else { return Vec::new() };
            let own = number_behind(file_of(example), "zero_pp_rank_").unwrap_or(0);
            let folder = if folder_of(example).is_empty() { String::new() } else { format!("{}/", folder_of(example)) };
            let named = |rank| {
                let (old, new) = (format!("zero_pp_rank_{own}_"), format!("zero_pp_rank_{rank}_"));
                format!("{folder}{}", file_of(example).replace(&old, &new))
            };
            (0..size).filter(|rank| !is_there(*rank)).map(named).collect()
        };
        let mut missing = lost(self.example.as_ref(), &|rank| self.partitions.contains_key(&rank));
        missing.extend(lost(self.model_files.values().next(), &|rank| self.model_files.contains_key(&rank)));
        Ok(missing)
    }

    /// All parameters with their moments, and the buffers.
    fn parameters(&self, place: &str) -> Result<Vec<(String, CheckpointParameter)>> {
        let size = u64::from(self.size()?);
        let mut all = Vec::new();
        if self.shapes.is_empty() {
            let message = "no file of model states with `param_shapes` says which parameters its partitions hold";
            return Err(Error::corrupt(place, message).with_help("copy the files *_model_states.pt as well"));
        }
        for moment in std::iter::once(None).chain(MOMENTS.map(Some)) {
            let flats: BTreeMap<u32, BTreeMap<usize, &TensorData>> =
                self.partitions.iter().map(|(rank, partition)| (*rank, partition.flat(moment))).collect();
            if flats.values().all(BTreeMap::is_empty) {
                continue;
            }
            let is_each_cut = self.partitions.values().any(|partition| partition.is_each_cut);
            let cut = Cut { place, size, moment, flats: &flats };
            let named = if is_each_cut { cut.each(&self.shapes)? } else { cut.groups(&self.shapes)? };
            all.extend(named);
        }
        let known: std::collections::BTreeSet<&str> =
            self.shapes.iter().flatten().map(|(name, _)| name.as_str()).collect();
        for (name, other) in &self.others {
            let other = match other {
                CheckpointParameter::Tensor(tensor) => CheckpointParameter::Tensor(tensor.new_handle()),
                CheckpointParameter::Unread(reason) => CheckpointParameter::Unread(reason.clone()),
                CheckpointParameter::Pieces(_) => continue,
            };
            if !known.contains(name.as_str()) {
                all.push((name.clone(), other));
            }
        }
        Ok(all)
    }
}

/// Flat parts of one kind, and the number of ranks that share them.
struct Cut<'a> {
    place: &'a str,
    size: u64,
    moment: Option<&'static str>,
    flats: &'a BTreeMap<u32, BTreeMap<usize, &'a TensorData>>,
}

impl Cut<'_> {
    /// Parameters of stages 1 and 2: each group is flat over the ranks and padded at its end.
    fn groups(&self, shapes: &[Vec<(String, Vec<u64>)>]) -> Result<Vec<(String, CheckpointParameter)>> {
        let mut named = Vec::new();
        for (group, shapes) in shapes.iter().enumerate() {
            let part = self.flats.values().find_map(|flats| flats.get(&group)).map_or(0, |flat| flat.elements());
            let have = part.saturating_mul(self.size);
            let wanted = shapes.iter().try_fold(0_u64, |sum, (_, shape)| sum.checked_add(elements(shape)?));
            let padded = |count: u64| count.checked_next_multiple_of(self.size.saturating_mul(2).max(1));
            if wanted.and_then(padded) != padded(have) || wanted.is_none() {
                return Err(self.contradicted(group, wanted, have));
            }
            let mut next = 0;
            for (name, shape) in shapes {
                let count = elements(shape).unwrap_or(0);
                named.push((self.named(name), self.spread(group, shape, (next, count), part)));
                next += count;
            }
        }
        Ok(named)
    }

    /// Parameter of the elements `at.0..at.0 + at.1` of a group, of which each rank holds `part` elements.
    fn spread(&self, group: usize, shape: &[u64], at: (u64, u64), part: u64) -> CheckpointParameter {
        let (start, end) = (at.0, at.0 + at.1);
        let mut slices = Vec::new();
        for rank in 0..self.size {
            let (low, high) = (start.max(rank * part), end.min((rank + 1) * part));
            if low < high {
                slices.push((rank, low - rank * part, high - low));
            }
        }
        self.assembled(group, shape, &slices)
    }

    /// Parameters of stage 3: every rank holds an equal part of each parameter, and the last part is padded. Groups follow each other.
    fn each(&self, shapes: &[Vec<(String, Vec<u64>)>]) -> Result<Vec<(String, CheckpointParameter)>> {
        let flat = self.flats.values().next();
        let lens: Vec<u64> = flat.into_iter().flat_map(BTreeMap::values).map(|flat| flat.elements()).collect();
        let have = lens.iter().fold(0_u64, |sum, len| sum.saturating_add(*len));
        let shapes: Vec<&(String, Vec<u64>)> = shapes.iter().flatten().collect();
        let parts = |shape: &[u64]| Some(elements(shape)?.div_ceil(self.size.max(1)));
        let wanted = shapes.iter().try_fold(0_u64, |sum, (_, shape)| sum.checked_add(parts(shape)?));
        if wanted != Some(have) {
            return Err(self.contradicted(0, wanted, have));
        }
        let (mut named, mut group, mut next) = (Vec::new(), 0, 0);
        for (name, shape) in shapes {
            let (count, part) = (elements(shape).unwrap_or(0), parts(shape).unwrap_or(0));
            while lens.get(group).is_some_and(|len| next >= *len) && part > 0 {
                (group, next) = (group + 1, 0);
            }
            if lens.get(group).is_none_or(|len| next + part > *len) {
                return Err(self.contradicted(group, Some(next + part), lens.get(group).copied().unwrap_or(0)));
            }
            let slices: Vec<(u64, u64, u64)> = (0..self.size)
                .map(|rank| (rank, next, part.min(count.saturating_sub(rank * part))))
                .filter(|(_, _, len)| *len > 0)
                .collect();
            named.push((self.named(name), self.assembled(group, shape, &slices)));
            next += part;
        }
        Ok(named)
    }

    /// Joins a parameter from slices, each given by rank, first element in the rank's flat group, and count.
    fn assembled(&self, group: usize, shape: &[u64], slices: &[(u64, u64, u64)]) -> CheckpointParameter {
        let mut parts = Vec::new();
        for (rank, start, len) in slices {
            let flats = u32::try_from(*rank).ok().and_then(|rank| self.flats.get(&rank));
            let Some(flat) = flats.and_then(|flats| flats.get(&group)) else {
                return CheckpointParameter::Unread(format!("the partition of rank {rank} is missing"));
            };
            match flat.narrowed(0, *start, *len) {
                Ok(part) => parts.push(part),
                Err(error) => return CheckpointParameter::Unread(error.to_string()),
            }
        }
        let whole = join_along_axis(parts, 0).and_then(|whole| whole.reshaped(shape.to_vec()));
        whole.map_or_else(|error| CheckpointParameter::Unread(error.to_string()), CheckpointParameter::Tensor)
    }

    fn named(&self, name: &str) -> String {
        self.moment.map_or(name.to_owned(), |moment| format!("{name}@{moment}"))
    }

    fn contradicted(&self, group: usize, wanted: Option<u64>, have: u64) -> Error {
        let wanted = wanted.map_or("more than any file holds".to_owned(), |wanted| wanted.to_string());
        let message = format!("the shapes of group {group} add up to {wanted} elements, its partitions hold {have}");
        Error::corrupt(self.place, message).with_help("copy the checkpoint again; its files are not of one save")
    }
}

fn elements(shape: &[u64]) -> Option<u64> {
    shape.iter().try_fold(1_u64, |product, len| product.checked_mul(*len))
}
