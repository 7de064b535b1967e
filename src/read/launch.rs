//! Parallel sizes in the files that start a run: a launch script, or arguments as YAML or JSON, beside its artifacts.

use crate::fetch::Files;
use crate::layout::{Layout, LayoutSource};

/// Largest file that is read, in bytes.
const LARGEST: u64 = 256 << 10;
/// Largest number of files that are read.
const MOST: usize = 32;

/// Parallel sizes as arguments name them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LaunchArguments {
    /// Path of the file that holds them.
    pub path: String,
    text: String,
}

impl LaunchArguments {
    /// The first file beside the artifacts that names a parallel size.
    pub(crate) fn find_beside_artifacts(files: &dyn Files) -> Option<Self> {
        let is_beside = |path: &str| {
            let name = path.rsplit('/').next().unwrap_or(path);
            let ending = name.rsplit('.').next().unwrap_or_default();
            path.split('/').count() <= 2
                && matches!(ending, "sh" | "yaml" | "yml" | "json")
                && !name.starts_with("dump")
        };
        let entries = files.list().iter().filter(|entry| is_beside(&entry.path)).take(MOST);
        entries
            .filter_map(|entry| Self::of(files, &entry.path))
            .find(|found| found.size("tensor_model_parallel_size").is_some())
    }

    fn of(files: &dyn Files, path: &str) -> Option<Self> {
        let source = files.open(path).ok()?;
        let len = source.len();
        if len > LARGEST {
            return None;
        }
        let mut bytes = vec![0; usize::try_from(len).ok()?];
        source.read_at(0, &mut bytes).ok()?;
        let text = String::from_utf8_lossy(&bytes).replace('-', "_");
        Some(Self { path: path.to_owned(), text })
    }

    /// The text after an argument's name, where the name stands as a separate word.
    fn behind(&self, name: &str) -> Option<&str> {
        let is_word = |at: usize| {
            let before = self.text.get(..at).and_then(|text| text.strip_suffix("__").or(Some(text)));
            !before.is_some_and(|text| text.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
        };
        let found = self.text.match_indices(name).map(|(at, _)| at).find(|at| is_word(*at))?;
        let rest = self.text.get(found + name.len()..)?;
        (!rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')).then_some(rest)
    }

    /// The positive whole number after a name: `--name 2`, `--name=2`, `name: 2`, `"name": 2`.
    fn size(&self, name: &str) -> Option<u32> {
        let rest = self.behind(name)?.trim_start_matches([' ', '\t', '=', ':', '"', '\'']);
        let digits = rest.find(|c: char| !c.is_ascii_digit()).map_or(rest, |end| rest.get(..end).unwrap_or_default());
        digits.parse().ok().filter(|size| *size > 0)
    }

    /// Whether a switch is present and not set to false.
    fn is_set(&self, name: &str) -> bool {
        self.behind(name).is_some_and(|rest| {
            let value = rest.trim_start_matches([' ', '\t', '=', ':', '"', '\'']);
            !value.to_ascii_lowercase().starts_with("false")
        })
    }

    /// The layout of a run of `world` ranks; `None` where the sizes do not divide `world`.
    pub(crate) fn layout(&self, world: u64) -> Option<Layout> {
        let size = |name| self.size(name).unwrap_or(1);
        let (tp, pp) = (size("tensor_model_parallel_size"), size("pipeline_model_parallel_size"));
        let (cp, ep) = (size("context_parallel_size"), size("expert_model_parallel_size"));
        let rest = u64::from(tp).checked_mul(u64::from(pp))?.checked_mul(u64::from(cp))?;
        let dp = u32::try_from(world / rest).ok().filter(|dp| *dp > 0 && world.is_multiple_of(rest))?;
        let chunk = self.size("num_layers_per_virtual_pipeline_stage");
        let vpp = self.size("num_layers").zip(chunk).map_or(1, |(layers, chunk)| (layers / pp / chunk).max(1));
        let batches = self.size("global_batch_size").zip(self.size("micro_batch_size"));
        let micro_batches = batches.map_or(1, |(all, one)| (all / one / dp).max(1));
        Some(Layout {
            tp,
            pp,
            vpp,
            dp,
            cp,
            ep,
            sp: self.is_set("sequence_parallel"),
            micro_batches,
            ..Layout::single(LayoutSource::Arguments)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(text: &str) -> LaunchArguments {
        LaunchArguments { path: "pretrain.sh".to_owned(), text: text.replace('-', "_") }
    }

    #[test]
    fn sizes_stand_behind_their_names_in_every_form() {
        let script = arguments(
            "torchrun \\\n --tensor-model-parallel-size 2 --pipeline-model-parallel-size=2 \\\n --sequence-parallel\n",
        );
        let layout = script.layout(8).expect("divides");
        assert_eq!((layout.tp, layout.pp, layout.dp, layout.sp), (2, 2, 2, true));
        let yaml = arguments("tensor_model_parallel_size: 4\nsequence_parallel: false\n");
        let layout = yaml.layout(4).expect("divides");
        assert_eq!((layout.tp, layout.dp, layout.sp), (4, 1, false));
        assert_eq!(yaml.layout(6), None);
    }
}
