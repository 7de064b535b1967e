//! Choice of what is compared of both sides' checkpoints: file by file where both wrote the same files, else each folder of
//! ranks as one checkpoint, and the last of several iterations.

use std::collections::BTreeSet;

use super::order::checkpoints_by_step;
use crate::read::checkpoint::{CheckpointFormat, CheckpointPlace, gather_folders, without_shards};
use crate::verdict::PerSide;

/// Checkpoints of both sides, ready to be paired.
#[derive(Debug, Default)]
pub struct ArrangedCheckpoints {
    /// Checkpoints that are compared.
    pub places: PerSide<Vec<CheckpointPlace>>,
    /// Earlier iterations, the latest last; they show stale tensors.
    pub earlier: PerSide<Vec<CheckpointPlace>>,
    /// Optimizer files beside a whole model, which have no partner in a folder of ranks.
    pub optimizers: PerSide<Vec<CheckpointPlace>>,
    /// Whether the pieces of ranks are joined and names translated before tensors are compared.
    pub is_aligned: bool,
}

/// Arranges the checkpoints of both sides. `is_renamed` says that the policy maps names.
pub(crate) fn arrange_checkpoints(
    baseline: &[CheckpointPlace],
    candidate: &[CheckpointPlace],
    is_renamed: bool,
) -> ArrangedCheckpoints {
    let files = PerSide { baseline: without_shards(baseline.to_vec()), candidate: without_shards(candidate.to_vec()) };
    let whole = |places: &[CheckpointPlace]| gather_folders(places.to_vec(), |_| true);
    let folders = PerSide { baseline: whole(&files.baseline), candidate: whole(&files.candidate) };
    let has = |format: fn(CheckpointFormat) -> bool| folders.each().flatten().any(|place| format(place.format));
    let (has_ranks, has_chunks) = (
        has(|format| format != CheckpointFormat::Whole),
        has(|format| matches!(format, CheckpointFormat::Dcp | CheckpointFormat::Fsdp)),
    );
    let paths = |places: &[CheckpointPlace]| places.iter().map(|place| place.path.clone()).collect::<BTreeSet<_>>();
    let are_alike = !has_chunks && paths(&files.baseline) == paths(&files.candidate);
    if !has_ranks || (are_alike && !is_renamed) {
        return ArrangedCheckpoints { places: files, is_aligned: is_renamed, ..ArrangedCheckpoints::default() };
    }
    let (baseline, optimizers) = without_optimizers(folders.baseline);
    let (candidate, others) = without_optimizers(folders.candidate);
    let optimizers = PerSide { baseline: optimizers, candidate: others };
    let (baseline, before) = latest(baseline);
    let (candidate, earlier) = latest(candidate);
    ArrangedCheckpoints {
        places: PerSide { baseline, candidate },
        earlier: PerSide { baseline: before, candidate: earlier },
        optimizers,
        is_aligned: true,
    }
}

/// Splits off optimizer files that lie beside a model (`optimizer.pt`, as `transformers` writes it): the others, and those.
fn without_optimizers(places: Vec<CheckpointPlace>) -> (Vec<CheckpointPlace>, Vec<CheckpointPlace>) {
    let folder =
        |place: &CheckpointPlace| place.path.rsplit_once('/').map_or(String::new(), |(above, _)| above.to_owned());
    let is_optimizer = |place: &CheckpointPlace| {
        let file = place.path.rsplit('/').next().unwrap_or_default();
        place.format == CheckpointFormat::Whole && file.split('.').next().is_some_and(|stem| stem == "optimizer")
    };
    let models: BTreeSet<String> = places.iter().filter(|place| !is_optimizer(place)).map(folder).collect();
    let (aside, rest) = places.into_iter().partition(|place| is_optimizer(place) && models.contains(&folder(place)));
    (rest, aside)
}

/// Splits off earlier checkpoints of the same run: the others, and the earlier ones.
fn latest(places: Vec<CheckpointPlace>) -> (Vec<CheckpointPlace>, Vec<CheckpointPlace>) {
    let mut run: Vec<CheckpointPlace> =
        checkpoints_by_step(&places).into_iter().map(|(_, place)| place.clone()).collect();
    run.pop();
    (places.into_iter().filter(|place| !run.contains(place)).collect(), run)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(paths: &[&str]) -> Vec<CheckpointPlace> {
        paths.iter().map(|path| CheckpointPlace::from_file((*path).to_owned())).collect()
    }

    fn paths(places: &[CheckpointPlace]) -> Vec<&str> {
        places.iter().map(|place| place.path.as_str()).collect()
    }

    #[test]
    fn the_same_files_are_compared_one_by_one() {
        let both = places(&["exp2/iter_0000005/mp_rank_00/model.pt", "exp2/iter_0000010/mp_rank_00/model.pt"]);
        let arranged = arrange_checkpoints(&both, &both, false);
        assert_eq!((arranged.places.baseline, arranged.is_aligned), (both, false));
    }

    #[test]
    fn of_several_iterations_the_last_is_compared() {
        let baseline = places(&["exp2/iter_0000005/mp_rank_00/model.pt", "exp2/iter_0000010/mp_rank_00/model.pt"]);
        let candidate = places(&["iter_0000010/mp_rank_00/model.pt", "iter_0000010/mp_rank_01/model.pt"]);
        let arranged = arrange_checkpoints(&baseline, &candidate, false);
        assert!(arranged.is_aligned);
        assert_eq!(paths(&arranged.places.baseline), ["exp2/iter_0000010"]);
        assert_eq!(paths(&arranged.earlier.baseline), ["exp2/iter_0000005"]);
        assert_eq!((paths(&arranged.places.candidate), arranged.earlier.candidate), (vec!["iter_0000010"], Vec::new()));
    }

    #[test]
    fn an_optimizer_beside_a_model_stands_aside() {
        let baseline = places(&["checkpoint-10/model.safetensors", "checkpoint-10/optimizer.pt"]);
        let candidate = places(&["iter_0000010/mp_rank_00/model.pt"]);
        let arranged = arrange_checkpoints(&baseline, &candidate, false);
        assert_eq!(paths(&arranged.places.baseline), ["checkpoint-10/model.safetensors"]);
        assert_eq!(paths(&arranged.optimizers.baseline), ["checkpoint-10/optimizer.pt"]);
    }

    #[test]
    fn whole_checkpoints_stay_as_they_are() {
        let (baseline, candidate) = (places(&["step5.pt", "step10.pt"]), places(&["step10.pt"]));
        let arranged = arrange_checkpoints(&baseline, &candidate, false);
        assert_eq!((arranged.places.baseline, arranged.is_aligned), (baseline, false));
    }
}
