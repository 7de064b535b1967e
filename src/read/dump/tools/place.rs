//! Step and rank of a file, from the names of its folders.

/// Step and rank of a file, and its folder without the folders of step and rank.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ToolPlace {
    pub(super) step: Option<u64>,
    pub(super) rank: Option<u64>,
    pub(super) group: String,
}

impl ToolPlace {
    /// Reads the folders of `path`, nearest first.
    pub(super) fn from_path(path: &str) -> Self {
        let mut place = Self::default();
        let folders: Vec<&str> = path.rsplit_once('/').map_or_else(Vec::new, |(folder, _)| folder.split('/').collect());
        let mut kept = Vec::new();
        for folder in folders.into_iter().rev() {
            if let Some(step) = number_behind(folder, &["step", "iteration", "iter"]) {
                place.step = place.step.or(Some(step));
            } else if let Some(rank) = number_behind(folder, &["rank", "device"]) {
                place.rank = place.rank.or(Some(rank));
            } else {
                kept.push(folder);
            }
        }
        kept.reverse();
        place.group = kept.join("/");
        place
    }
}

/// Number at the end of a name that starts with one of `words`: `step3`, `rank_0`, `step=12`.
pub(super) fn number_behind(name: &str, words: &[&str]) -> Option<u64> {
    words.iter().find_map(|word| {
        let rest = name.strip_prefix(word)?;
        rest.strip_prefix(['_', '-', '=']).unwrap_or(rest).parse().ok()
    })
}

/// The name of a file without its folders.
pub(super) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The name of a file that holds tensors, without its ending; `None` for other endings.
pub(super) fn tensor_stem(path: &str) -> Option<&str> {
    const ENDINGS: [&str; 5] = [".pt", ".pth", ".npy", ".safetensors", ".bin"];
    let name = file_name(path);
    ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)).filter(|stem| !stem.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn step_and_rank_stand_in_folders() {
        for (path, step, rank, group) in [
            ("run/step3/rank0/x.npy", Some(3), Some(0), "run"),
            ("a/step_1/b/rank=2/x.npy", Some(1), Some(2), "a/b"),
            ("capture/x.pt", None, None, "capture"),
            ("x.pt", None, None, ""),
        ] {
            let place = ToolPlace::from_path(path);
            assert_eq!((place.step, place.rank, place.group.as_str()), (step, rank, group), "{path}");
        }
    }
}
