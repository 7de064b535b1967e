//! Files of trainers that save the state of each FSDP rank separately, as verl does. Each file holds a dictionary of tensor parts
//! (`model_world_size_W_rank_R.pt`).
//!
//! Each part records the size of the whole tensor, the mesh of devices, and how the tensor is cut. Parts are joined when they are
//! read.

use std::collections::BTreeMap;

use super::opened::{Checkpoint, CheckpointParameter};
use super::place::CheckpointPlace;
use crate::error::Result;
use crate::fetch::Files;
use crate::layout::{Layout, LayoutSource};
use crate::read::joined::join_grid;
use crate::read::tensor::{StoredValue, TensorData, TensorPart};
use crate::read::tensor_file;

use super::gathered::{file_of, number_behind};

/// Opens the file of every rank and joins the parts.
///
/// # Errors
/// If a file cannot be opened.
pub(super) fn open(place: &CheckpointPlace, files: &dyn Files) -> Result<Checkpoint> {
    let mut checkpoint = Checkpoint::default();
    let mut whole: BTreeMap<String, Parts> = BTreeMap::new();
    let mut ranks = 1;
    for path in place.shards.keys() {
        let file = file_of(path);
        let rank = rank_of(file);
        ranks = ranks.max(number_behind(file, "world_size_").unwrap_or(1));
        for (name, stored) in tensor_file::open_with_facts(files.open(path)?)? {
            match stored {
                StoredValue::Part(part) => {
                    let parts = whole.entry(name).or_insert_with(|| Parts::of(&part));
                    parts.add(part, rank);
                }
                stored => checkpoint.add_stored(vec![(name, stored)]),
            }
        }
    }
    if let Some(example) = place.shards.keys().next() {
        let seen: Vec<u32> = place.shards.keys().map(|path| rank_of(file_of(path))).collect();
        let own = format!("rank_{}", rank_of(file_of(example)));
        let named = |rank: u32| example.replace(&own, &format!("rank_{rank}"));
        checkpoint.missing = (0..ranks.min(MAX_RANKS)).filter(|rank| !seen.contains(rank)).map(named).collect();
    }
    for (name, parts) in whole {
        let tensor = parts.joined(&name);
        checkpoint
            .parameters
            .insert(name, tensor.map_or_else(CheckpointParameter::Unread, CheckpointParameter::Tensor));
    }
    checkpoint.facts = super::arguments::configuration_facts(&place.folder(), files);
    checkpoint.layout = Some(Layout { dp: ranks, fsdp: true, ..Layout::single(LayoutSource::Files) });
    Ok(checkpoint)
}

/// Most ranks that a file's name may claim, so that the missing files can be listed.
const MAX_RANKS: u32 = 65_536;

/// Rank at the end of a file's name; 0 if the name has none.
fn rank_of(file: &str) -> u32 {
    number_behind(file, "rank_").unwrap_or(0)
}

/// Parts of one tensor that were found.
struct Parts {
    shape: Vec<u64>,
    /// Parts by their start index along each axis. Copies on other ranks are equal and kept once.
    parts: BTreeMap<Vec<u64>, TensorData>,
    /// Reason why the parts cannot be joined.
    fault: Option<String>,
}

impl Parts {
    fn of(part: &TensorPart) -> Self {
        Self { shape: part.shape.clone(), parts: BTreeMap::new(), fault: None }
    }

    fn add(&mut self, part: TensorPart, rank: u32) {
        let place = part.place_of_rank(rank);
        let file = part.tensor.name().to_owned();
        match place {
            _ if part.shape != self.shape => {
                self.fault = Some(format!("{file} says that the whole has the shape {:?}", part.shape));
            }
            Some((_, lens)) if lens != part.tensor.shape => {
                self.fault = Some(format!("{file} holds {:?} of it in place of {lens:?}", part.tensor.shape));
            }
            Some((start, _)) if part.tensor.elements() > 0 => {
                self.parts.entry(start).or_insert(part.tensor);
            }
            Some(_) => {}
            None => self.fault = Some(format!("{file} does not tell the place of its part")),
        }
    }

    fn joined(self, name: &str) -> std::result::Result<TensorData, String> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        join_grid(name, &self.shape, self.parts.into_iter().collect()).map_err(|error| error.message().to_owned())
    }
}
