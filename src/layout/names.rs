//! Names of modules in the whole model: layers are numbered over stages and chunks, experts over the ranks that share them.

use std::collections::BTreeMap;

/// Layers of each chunk of the model and experts of each rank, as local paths name them.
#[derive(Debug, Default)]
pub(crate) struct LocalCounts {
    layers: BTreeMap<u32, u64>,
    experts: u64,
}

/// Index of a number among the parts of a path, and the number.
type Part = (usize, u64);

impl LocalCounts {
    /// Counts in local paths with their chunks.
    pub(crate) fn of_paths<'p>(paths: impl IntoIterator<Item = (u32, &'p str)>) -> Self {
        let mut counts = Self::default();
        for (chunk, path) in paths {
            let [layer, expert] = numbers(path).map(|part| part.map_or(0, |(_, number)| number.saturating_add(1)));
            counts.add_layers(chunk, layer);
            counts.experts = counts.experts.max(expert);
        }
        counts
    }

    /// The counts of both.
    #[must_use]
    pub(crate) fn with(mut self, other: Self) -> Self {
        other.layers.into_iter().for_each(|(chunk, count)| self.add_layers(chunk, count));
        Self { experts: self.experts.max(other.experts), ..self }
    }

    fn add_layers(&mut self, chunk: u32, count: u64) {
        let known = self.layers.entry(chunk).or_default();
        *known = (*known).max(count);
    }
}

/// Offsets that turn local paths of modules into global ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbering {
    /// Number of layers before each chunk of the model.
    before: BTreeMap<u32, u64>,
    /// Number of experts of each rank.
    experts: u64,
}

impl Numbering {
    /// Numbers layers and experts in the order of their chunks and ranks.
    pub(crate) fn new(counts: LocalCounts) -> Self {
        let mut sum = 0_u64;
        let mut next = |(chunk, count)| {
            let before = sum;
            sum = sum.saturating_add(count);
            (chunk, before)
        };
        Self { before: counts.layers.into_iter().map(&mut next).collect(), experts: counts.experts }
    }

    /// Converts a path that is local to `chunk`, and to a rank with part `expert_part` of the experts, to one in the whole model.
    pub(crate) fn path(&self, path: &str, chunk: u32, expert_part: u32) -> String {
        let [layer, expert] = numbers(path);
        let add = |part: Option<Part>, before: u64| part.map(|(at, number)| (at, number.saturating_add(before)));
        let layer = add(layer, self.before.get(&chunk).copied().unwrap_or_default());
        let expert = add(expert, u64::from(expert_part).saturating_mul(self.experts));
        let mut whole = String::with_capacity(path.len() + 4);
        for (at, part) in path.split('.').enumerate() {
            if at > 0 {
                whole.push('.');
            }
            match [layer, expert].into_iter().flatten().find(|(place, _)| *place == at) {
                Some((_, number)) => whole.push_str(&number.to_string()),
                None => whole.push_str(part),
            }
        }
        whole
    }
}

/// Splits a path into the number of the chunk that it begins with, 0 where there is none, and the rest.
pub(crate) fn split_chunk(path: &str) -> (u32, &str) {
    let parts = path.split_once('.').and_then(|(chunk, rest)| Some((chunk.parse().ok()?, rest)));
    parts.unwrap_or((0, path))
}

/// Numbers of the layer and of the expert in a path.
fn numbers(path: &str) -> [Option<Part>; 2] {
    let (mut layer, mut expert, mut before) = (None, None, None);
    for (at, part) in path.split('.').enumerate() {
        let Some(before) = before.replace(part) else { continue };
        let Ok(number) = part.parse::<u64>() else { continue };
        let of = if before.contains("expert") { &mut expert } else { &mut layer };
        *of = of.or(Some((at, number)));
    }
    [layer, expert]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_counted_over_chunks_and_experts_over_ranks() {
        let local = ["decoder.layers.0.mlp", "decoder.layers.1.mlp.experts.local_experts.1.linear_fc1"];
        let of_chunk = |chunk| LocalCounts::of_paths(local.map(|path| (chunk, path)));
        let numbering = Numbering::new(of_chunk(0).with(of_chunk(1)));
        let [block, expert] = local.map(|path| numbering.path(path, 1, 1));
        assert_eq!(block, "decoder.layers.2.mlp");
        assert_eq!(expert, "decoder.layers.3.mlp.experts.local_experts.3.linear_fc1");
        assert_eq!(split_chunk("1.decoder.layers.0"), (1, "decoder.layers.0"));
        assert_eq!(split_chunk("decoder.layers.0"), (0, "decoder.layers.0"));
    }
}
