//! Grouping of the files of one checkpoint by their names: Megatron's ranks, torch's distributed files, DeepSpeed's partitions.

use std::collections::{BTreeMap, BTreeSet};

use super::place::{CheckpointFormat, CheckpointPlace};

/// Removes the single files that are shards of an index in the list.
pub(crate) fn without_shards(places: Vec<CheckpointPlace>) -> Vec<CheckpointPlace> {
    let shards: BTreeSet<String> = places
        .iter()
        .filter(|place| !place.shards.contains_key(&place.path))
        .flat_map(|place| place.shards.keys().cloned())
        .collect();
    places.into_iter().filter(|place| !shards.contains(&place.path)).collect()
}

/// Combines the files of each folder into one checkpoint if their format `is_wanted`; all others stay as they are.
pub(crate) fn gather_folders(
    places: Vec<CheckpointPlace>,
    is_wanted: impl Fn(CheckpointFormat) -> bool,
) -> Vec<CheckpointPlace> {
    let partitioned: BTreeSet<String> = places
        .iter()
        .filter(|place| is_partition(file_of(&place.path)))
        .map(|place| folder_of(&place.path).to_owned())
        .collect();
    let mut gathered: Vec<CheckpointPlace> = Vec::new();
    let mut folders: BTreeMap<(CheckpointFormat, String), usize> = BTreeMap::new();
    for place in places {
        let key = match place.format {
            CheckpointFormat::Fsdp => Some((CheckpointFormat::Fsdp, without_rank(&place.path))),
            _ => format_of(&place.path, &partitioned),
        };
        let key = key.filter(|(format, _)| is_wanted(*format));
        let Some((format, folder)) = key else {
            gathered.push(place);
            continue;
        };
        let at = *folders.entry((format, folder.clone())).or_insert_with(|| {
            gathered.push(CheckpointPlace::folder_of_ranks(&folder, format));
            gathered.len() - 1
        });
        if let Some(whole) = gathered.get_mut(at) {
            whole.shards.extend(place.shards);
        }
    }
    gathered
}

/// Whether a file of this name describes a distributed checkpoint, whatever it holds: torch's description, or the file with the
/// shapes of DeepSpeed's partitions.
pub(super) fn is_description(path: &str) -> bool {
    let file = file_of(path);
    file == DESCRIPTION || (file.contains("zero_pp_rank_") && file.ends_with("_model_states.pt"))
}

/// Name of the file that describes a distributed checkpoint of torch.
pub(super) const DESCRIPTION: &str = ".metadata";

/// Format that a file belongs to by its name, and the folder of the checkpoint.
fn format_of(path: &str, partitioned: &BTreeSet<String>) -> Option<(CheckpointFormat, String)> {
    let (folder, file) = (folder_of(path), file_of(path));
    if file == DESCRIPTION || is_chunk_file(file) {
        return Some((CheckpointFormat::Dcp, folder.to_owned()));
    }
    let (above, rank) = (folder_of(folder), file_of(folder));
    if rank_numbers(rank).is_some() {
        return Some((CheckpointFormat::Megatron, above.to_owned()));
    }
    let is_part = is_partition(file) || (file.contains("mp_rank_") && file.ends_with("_model_states.pt"));
    (is_part && partitioned.contains(folder)).then(|| (CheckpointFormat::Zero, folder.to_owned()))
}

/// Path without the rank, the number of ranks and the file extension: `actor/model` of `actor/model_world_size_8_rank_0.pt`.
fn without_rank(path: &str) -> String {
    let (folder, file) = path.rsplit_once('/').map_or(("", path), |(folder, file)| (folder, file));
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let end = ["_world_size_", "_rank_", "-rank_", ".rank_", "rank_"].iter().filter_map(|word| stem.find(word)).min();
    let stem = stem.get(..end.unwrap_or(stem.len())).unwrap_or(stem);
    if folder.is_empty() { stem.to_owned() } else { format!("{folder}/{stem}") }
}

/// Whether a file name has the form `__R_N.distcp`.
fn is_chunk_file(file: &str) -> bool {
    file.starts_with("__") && file.ends_with(".distcp")
}

/// Whether a file name has the form `[bf16_]zero_pp_rank_R_mp_rank_TT_optim_states.pt`.
fn is_partition(file: &str) -> bool {
    file.contains("zero_pp_rank_") && file.ends_with("_optim_states.pt")
}

/// Numbers in the name of a folder `mp_rank_TT[_PPP][_EEE]`.
pub(super) fn rank_numbers(folder: &str) -> Option<Vec<u32>> {
    let numbers: Option<Vec<u32>> = folder.strip_prefix("mp_rank_")?.split('_').map(|part| part.parse().ok()).collect();
    numbers.filter(|numbers| (1..=3).contains(&numbers.len()))
}

/// Number that follows `word` in a file's name.
pub(super) fn number_behind(file: &str, word: &str) -> Option<u32> {
    let rest = file.split(word).nth(1)?;
    let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    rest.get(..end)?.parse().ok()
}

/// Folder of a path; empty if the path has none.
pub(super) fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Last part of a path.
pub(super) fn file_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, file)| file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_folder_become_one_checkpoint() {
        let files = [
            "run/iter_0000010/mp_rank_00_000/model_optim_rng.pt",
            "run/iter_0000010/mp_rank_00_001/model_optim_rng.pt",
            "run/iter_0000020/mp_rank_00_000/model_optim_rng.pt",
            "dcp/.metadata",
            "dcp/__0_0.distcp",
            "zero/mp_rank_00_model_states.pt",
            "zero/bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt",
            "plain/mp_rank_00_model_states.pt",
            "mp_rank_00/model.pt",
        ];
        let places: Vec<CheckpointPlace> =
            files.iter().map(|path| CheckpointPlace::from_file((*path).to_owned())).collect();
        let whole = gather_folders(places.clone(), |_| true);
        let told: Vec<(&str, CheckpointFormat, usize)> =
            whole.iter().map(|place| (place.path.as_str(), place.format, place.shards.len())).collect();
        let expected = [
            ("run/iter_0000010", CheckpointFormat::Megatron, 2),
            ("run/iter_0000020", CheckpointFormat::Megatron, 1),
            ("dcp", CheckpointFormat::Dcp, 2),
            ("zero", CheckpointFormat::Zero, 2),
            ("plain/mp_rank_00_model_states.pt", CheckpointFormat::Whole, 1),
            ("mp_rank_*", CheckpointFormat::Megatron, 1),
        ];
        assert_eq!(told, expected);
        assert_eq!(gather_folders(places.clone(), |_| false), places);
    }

    #[test]
    fn numbers_are_read_from_names() {
        assert_eq!(rank_numbers("mp_rank_01_002_003"), Some(vec![1, 2, 3]));
        for name in ["mp_rank_", "mp_rank_1_2_3_4", "mp_rank_x", "rank_0"] {
            assert_eq!(rank_numbers(name), None, "{name}");
        }
        let file = "bf16_zero_pp_rank_12_mp_rank_03_optim_states.pt";
        assert_eq!((number_behind(file, "pp_rank_"), number_behind(file, "mp_rank_")), (Some(12), Some(3)));
    }
}
