//! Rank, folder and kind of a table, from its path.

use crate::kind::MonitorKind;

/// Largest accepted rank; larger numbers are not ranks.
const MOST_RANK: u64 = 1 << 20;

/// Path of a table in a run's folder, and the facts in that path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MonitorPlace {
    /// Path, relative to the side's root.
    pub path: String,
    /// Name of the monitor's folder. It starts with a time, so a later start sorts after an earlier one.
    pub folder: String,
    /// Rank; 0 if no folder name has one.
    pub rank: u64,
    /// Whether the folder's name has the monitor's form.
    pub is_named: bool,
    /// Word before the range of steps in the file's name: `grad_reduced`, `param`.
    pub word: String,
    /// Whether the file's name has the monitor's form.
    pub is_windowed: bool,
}

impl MonitorPlace {
    /// Reads the facts in `path`.
    pub fn from_path(path: &str) -> Self {
        let (folders, file) = path.rsplit_once('/').unwrap_or(("", path));
        let folder = folders.rsplit('/').next().unwrap_or_default();
        let ranked = folders.rsplit('/').find_map(rank_of);
        let stem = file.strip_suffix(".csv");
        let windowed = stem.and_then(word_before_window);
        Self {
            path: path.to_owned(),
            folder: folder.to_owned(),
            rank: ranked.unwrap_or(0),
            is_named: rank_of(folder).is_some(),
            word: windowed.or(stem).unwrap_or(file).to_owned(),
            is_windowed: windowed.is_some_and(|word| !kinds_of(word).is_empty()),
        }
    }

    /// Kinds of tensors that a file of this name holds; empty if the name does not say.
    pub fn kinds(&self) -> &'static [MonitorKind] {
        kinds_of(&self.word)
    }
}

/// Rank in the name of a folder such as `rank_1` or `Nov22_20-14-57-rank1-2f27f46d`.
fn rank_of(folder: &str) -> Option<u64> {
    let digits = match folder.strip_prefix("rank_") {
        Some(rest) => rest,
        None => {
            let (_, rest) = folder.rsplit_once("-rank")?;
            rest.split('-').next().unwrap_or_default()
        }
    };
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|rank| is_number && *rank < MOST_RANK)
}

/// Word before the range of steps: `param` for `param_step0-4`, `grad_reduced` for `grad_reduced_0-4`.
fn word_before_window(stem: &str) -> Option<&str> {
    let (word, window) = stem.rsplit_once('_')?;
    let window = window.strip_prefix("step").unwrap_or(window);
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (first, last) = window.split_once('-')?;
    (is_number(first) && is_number(last)).then_some(word)
}

fn kinds_of(word: &str) -> &'static [MonitorKind] {
    match word {
        "param_origin" => &[MonitorKind::ParamOrigin],
        "param_updated" => &[MonitorKind::ParamUpdated],
        "param" => &[MonitorKind::ParamOrigin, MonitorKind::ParamUpdated],
        "actv" => &[MonitorKind::Actv],
        "actv_grad" => &[MonitorKind::ActvGrad],
        "module" => &[MonitorKind::Actv, MonitorKind::ActvGrad],
        "grad_unreduced" => &[MonitorKind::GradUnreduced],
        "grad_reduced" => &[MonitorKind::GradReduced],
        "weight_grad" => &[MonitorKind::GradUnreduced, MonitorKind::GradReduced],
        "other" | "cc" => &[MonitorKind::Comm],
        "exp_avg" => &[MonitorKind::ExpAvg],
        "exp_avg_sq" => &[MonitorKind::ExpAvgSq],
        "optimizer" => &[MonitorKind::ExpAvg, MonitorKind::ExpAvgSq],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rank_and_kind_stand_in_the_path() {
        let place = MonitorPlace::from_path("gpu/Nov22_20-14-57-rank12-2f27f46d/grad_unreduced_5-9.csv");
        assert_eq!((place.rank, place.is_named, place.kinds()), (12, true, &[MonitorKind::GradUnreduced][..]));
        let place = MonitorPlace::from_path("rank_3/module_step0-2.csv");
        assert_eq!((place.rank, place.is_windowed, place.kinds().len()), (3, true, 2));
        let place = MonitorPlace::from_path("logs/loss.csv");
        assert_eq!((place.rank, place.is_named, place.is_windowed), (0, false, false));
        assert!(!MonitorPlace::from_path("rank_0/eval_0-4.csv").is_windowed);
        assert_eq!(MonitorPlace::from_path("rank_99999999999/param_step0-4.csv").rank, 0);
    }
}
