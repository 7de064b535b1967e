//! Stage, step and rank, from a path.

use super::record::SyncStage;

/// Words before the number of a step.
const STEP: [&str; 6] = ["step", "version", "iteration", "iter", "update", "v"];

/// Stage in a path. The file's name takes precedence over its folders.
pub(super) fn stage(path: &str) -> Option<SyncStage> {
    path.rsplit('/').find_map(|part| words(part).iter().find_map(|word| stage_of(word)))
}

/// Stage that a word stands for.
pub(super) fn stage_of(word: &str) -> Option<SyncStage> {
    match word {
        "original" => Some(SyncStage::Original),
        "exported" | "export" => Some(SyncStage::Exported),
        "sender" | "sent" | "send" | "trainer" | "training" | "train" | "actor" => Some(SyncStage::Sent),
        "receiver" | "received" | "receive" | "recv" | "rollout" | "engine" | "inference" | "vllm" | "sglang" => {
            Some(SyncStage::Received)
        }
        _ => None,
    }
}

/// Whether a file has a name of msprobe's recipe, such as `P2_sender_step1_rank0.pt`.
pub(super) fn has_recipe_name(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let mut letters = name.bytes();
    let is_numbered = letters.next().is_some_and(|letter| letter.eq_ignore_ascii_case(&b'p'))
        && letters.next().is_some_and(|letter| letter.is_ascii_digit())
        && letters.next() == Some(b'_');
    is_numbered && number(name, &["step"]).is_some() && words(name).iter().any(|word| stage_of(word).is_some())
}

/// Step in a path: the number after a word for it, or the file's name if that is a number.
pub(super) fn step(path: &str) -> Option<u64> {
    let behind = path.rsplit('/').find_map(|part| number(part, &STEP));
    let name = path.rsplit('/').next().unwrap_or(path);
    behind.or_else(|| name.split('.').next()?.parse().ok())
}

pub(super) fn rank(path: &str) -> Option<u64> {
    path.rsplit('/').find_map(|part| number(part, &["rank"]))
}

/// Number that follows one of `names` in a part of a path, either directly or after a separator.
fn number(part: &str, names: &[&str]) -> Option<u64> {
    let words = words(part);
    let following = words.iter().skip(1).map(Some).chain([None]);
    let mut pairs = words.iter().zip(following);
    pairs.find_map(|(word, next)| {
        let name = names.iter().find(|name| word.starts_with(**name))?;
        let rest = word.get(name.len()..)?;
        if rest.is_empty() { next?.parse().ok() } else { rest.parse().ok() }
    })
}

/// Words of letters and digits in a part of a path, in lower case.
fn words(part: &str) -> Vec<String> {
    let words = part.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_tells_stage_step_and_rank() {
        for (path, wanted) in [
            ("stage1_bridge/P0_hf_original_step1_rank0.pt", (Some(SyncStage::Original), Some(1), Some(0))),
            ("P2_hf_exported_step12_rank3.pt", (Some(SyncStage::Exported), Some(12), Some(3))),
            ("stage2_transfer/P2_sender_step1_rank0.pt", (Some(SyncStage::Sent), Some(1), Some(0))),
            ("P5_receiver_step10_rank0.pt", (Some(SyncStage::Received), Some(10), Some(0))),
            ("sync/trainer_step1.json", (Some(SyncStage::Sent), Some(1), None)),
            ("rollout/version_7/rank-2.jsonl", (Some(SyncStage::Received), Some(7), Some(2))),
            ("engine/40.json", (Some(SyncStage::Received), Some(40), None)),
            ("model.safetensors", (None, None, None)),
        ] {
            assert_eq!((stage(path), step(path), rank(path)), wanted, "{path}");
        }
    }

    #[test]
    fn the_recipes_names_are_told_from_others() {
        assert!(has_recipe_name("a/P2_sender_step1_rank0.pt") && has_recipe_name("P0_hf_original_step1_rank0.pt"));
        assert!(
            !has_recipe_name("sender_step1.pt") && !has_recipe_name("P2_step1.pt") && !has_recipe_name("p1_train.pt")
        );
    }
}
