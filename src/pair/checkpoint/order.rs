//! Checkpoints of one run in the order in which it wrote them.

use std::collections::BTreeMap;

use crate::read::checkpoint::{CheckpointFormat, CheckpointPlace};

/// The checkpoints of one run in the order of their steps: the largest group of paths that differ in one number alone.
pub(crate) fn checkpoints_by_step(places: &[CheckpointPlace]) -> Vec<(u64, &CheckpointPlace)> {
    let mut runs: BTreeMap<String, BTreeMap<u64, &CheckpointPlace>> = BTreeMap::new();
    for place in places {
        // A folder of ranks has its number in its own name, so a file name is appended to make it a folder of the path.
        let path = match place.format {
            CheckpointFormat::Whole => place.path.clone(),
            _ => format!("{}/ranks", place.path),
        };
        if let Some((run, step)) = step_of(&path) {
            runs.entry(run).or_default().insert(step, place);
        }
    }
    let run = runs.into_values().max_by_key(BTreeMap::len).unwrap_or_default();
    run.into_iter().collect()
}

/// The path without the number of its step, and the number: that at the end of a folder's name, else of the file's.
fn step_of(path: &str) -> Option<(String, u64)> {
    let parts: Vec<&str> = path.split('/').collect();
    let (file, folders) = parts.split_last()?;
    let number = |part: &str| {
        let name = part.trim_end_matches(|letter: char| letter.is_ascii_digit());
        Some((name.len(), part.get(name.len()..)?.parse().ok()?))
    };
    let in_folder = folders.iter().enumerate().rev().find_map(|(place, part)| {
        let (end, step) = number(part)?;
        Some((place, part.get(..end)?.to_owned(), step))
    });
    let in_file = || {
        let (stem, ending) = file.split_once('.').unwrap_or((file, ""));
        let (end, step) = number(stem)?;
        Some((folders.len(), format!("{}.{ending}", stem.get(..end)?), step))
    };
    let (place, name, step) = in_folder.or_else(in_file)?;
    let mut run: Vec<&str> = parts;
    *run.get_mut(place)? = &name;
    Some((run.join("/"), step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_of_a_run_differ_in_one_number() {
        for (path, run, step) in [
            ("checkpoint-10/model.safetensors", "checkpoint-/model.safetensors", 10),
            ("run/global_step200/mp_rank_00_model_states.pt", "run/global_step/mp_rank_00_model_states.pt", 200),
            ("ckpt/epoch_3.pt", "ckpt/epoch_.pt", 3),
        ] {
            assert_eq!(step_of(path), Some((run.to_owned(), step)), "{path}");
        }
        assert_eq!(step_of("model.safetensors"), None);
    }
}
