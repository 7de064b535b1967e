//! Names of modules in the whole model: layers are numbered over stages and chunks, experts over the ranks that share them.

use std::collections::BTreeMap;

/// Offsets that turn local paths of modules into global ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbering {
    /// Number of layers before each chunk of the model.
    before: BTreeMap<u32, u64>,
    /// Number of experts of each rank.
    experts: u64,
}

/// Index of a number among the parts of a path, and the number.
type Part = (usize, u64);

impl Numbering {
    /// Counts the layers of each chunk of the model, and the experts of each rank, in local paths with their chunks.
    pub(crate) fn from_paths<'p>(paths: impl IntoIterator<Item = (u32, &'p str)>) -> Self {
        let (mut layers, mut experts) = (BTreeMap::<u32, u64>::new(), 0);
        for (chunk, path) in paths {
            let [layer, expert] = numbers(path);
            let count = layers.entry(chunk).or_default();
            *count = (*count).max(layer.map_or(0, |(_, number)| number.saturating_add(1)));
            experts = experts.max(expert.map_or(0, |(_, number)| number.saturating_add(1)));
        }
        let mut sum = 0_u64;
        let mut next = |(chunk, count)| {
            let before = sum;
            sum = sum.saturating_add(count);
            (chunk, before)
        };
        Self { before: layers.into_iter().map(&mut next).collect(), experts }
    }

    /// Converts a path that is local to `chunk`, and to a rank with part `expert_part` of the experts, to one in the whole model.
    pub(crate) fn path(&self, path: &str, chunk: u32, expert_part: u32) -> String {
        let [layer, expert] = numbers(path);
        let mut parts: Vec<String> = path.split('.').map(str::to_owned).collect();
        let mut add = |part: Option<Part>, before: u64| {
            let Some((at, number)) = part else { return };
            if let Some(part) = parts.get_mut(at) {
                *part = number.saturating_add(before).to_string();
            }
        };
        add(layer, self.before.get(&chunk).copied().unwrap_or_default());
        add(expert, u64::from(expert_part).saturating_mul(self.experts));
        parts.join(".")
    }
}

/// Splits a path into the number of the chunk that it begins with, 0 where there is none, and the rest.
pub(crate) fn split_chunk(path: &str) -> (u32, &str) {
    let parts = path.split_once('.').and_then(|(chunk, rest)| Some((chunk.parse().ok()?, rest)));
    parts.unwrap_or((0, path))
}

/// Numbers of the layer and of the expert in a path.
fn numbers(path: &str) -> [Option<Part>; 2] {
    let (mut layer, mut expert) = (None, None);
    let parts: Vec<&str> = path.split('.').collect();
    for (at, pair) in parts.windows(2).enumerate() {
        let [before, part] = pair else { continue };
        let Ok(number) = part.parse::<u64>() else { continue };
        let of = if before.contains("expert") { &mut expert } else { &mut layer };
        *of = of.or(Some((at + 1, number)));
    }
    [layer, expert]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_counted_over_chunks_and_experts_over_ranks() {
        let local = ["decoder.layers.0.mlp", "decoder.layers.1.mlp.experts.local_experts.1.linear_fc1"];
        let numbering = Numbering::from_paths(local.into_iter().flat_map(|path| [(0, path), (1, path)]));
        let [block, expert] = local.map(|path| numbering.path(path, 1, 1));
        assert_eq!(block, "decoder.layers.2.mlp");
        assert_eq!(expert, "decoder.layers.3.mlp.experts.local_experts.3.linear_fc1");
        assert_eq!(split_chunk("1.decoder.layers.0"), (1, "decoder.layers.0"));
        assert_eq!(split_chunk("decoder.layers.0"), (0, "decoder.layers.0"));
    }
}
