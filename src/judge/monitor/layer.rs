//! The layer that a wrong output belongs to: its kind by its name, and which of its inputs and parameters agree.

use crate::kind::MonitorKind;
use crate::pair::monitor::MonitorRowPair;
use crate::result::finding::Finding;

/// Kinds of layers, with the words that name them; the first that fits counts.
const KINDS: [(&str, &[&str]); 5] = [
    ("norm", &["norm", "ln", "rms", "bn"]),
    ("dropout", &["dropout", "drop"]),
    ("embedding", &["embed", "embedding", "embeddings", "emb", "wte", "wpe"]),
    ("linear", &["linear", "fc", "proj", "dense", "lin", "head"]),
    ("attention", &["attn", "attention"]),
];

/// The layer of an output that is the first wrong one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WrongLayer<'a> {
    module: &'a str,
    kind: Option<&'static str>,
    inputs: usize,
    parameters: usize,
    /// Outputs of the modules inside, which were computed before and agree.
    parts: usize,
}

impl WrongLayer<'_> {
    /// Adds the layer to a finding: the module, its kind, and the numbers of its inputs, parameters and inner outputs, which agree.
    pub(super) fn note(self, finding: Finding) -> Finding {
        let finding = finding.with("module", self.module).with("own_inputs", self.inputs);
        let finding = finding.with("own_parameters", self.parameters).with("own_parts", self.parts);
        match self.kind {
            Some(kind) => finding.with("layer", kind),
            None => finding,
        }
    }
}

/// The layer of `pair`, where that is the output of a module; `pairs` are all rows of its step, of which `place` are before it.
pub(super) fn of_output<'a>(
    pair: &'a MonitorRowPair,
    pairs: &[MonitorRowPair],
    place: usize,
) -> Option<WrongLayer<'a>> {
    let name: &str = &pair.candidate.name;
    let module = name.split_once(".output").map(|(module, _)| module).filter(|module| !module.is_empty())?;
    let is_own = |other: &&MonitorRowPair, kind: MonitorKind| {
        other.key.kind == kind && (other.key.model, other.key.stage) == (pair.key.model, pair.key.stage)
    };
    let rest = |other: &MonitorRowPair| other.candidate.name.strip_prefix(module).map(str::to_owned);
    let count = |pairs: &[MonitorRowPair], kind: MonitorKind, is_part: fn(&str) -> bool| {
        let own = pairs.iter().filter(|other| is_own(other, kind));
        own.filter(|other| rest(other).is_some_and(|rest| is_part(&rest))).count()
    };
    let inputs = count(pairs, MonitorKind::Actv, |rest| rest.starts_with(".input"));
    let parameters = count(pairs, MonitorKind::ParamOrigin, |rest| rest.starts_with('.'));
    let before = pairs.get(..place).unwrap_or_default();
    let parts = count(before, MonitorKind::Actv, |rest| {
        rest.starts_with('.') && !rest.starts_with(".output") && rest.contains(".output")
    });
    Some(WrongLayer { module, kind: kind_of(module), inputs, parameters, parts })
}

/// The module that `pair` is the input gradient of, and the gradient of its output, from which the module's backward makes it. A monitor
/// writes a module's input before its output.
pub(super) fn of_input_gradient<'p>(
    pair: &'p MonitorRowPair,
    pairs: &'p [MonitorRowPair],
) -> Option<(&'p str, &'p MonitorRowPair)> {
    let (module, _) = pair.candidate.name.split_once(".input").filter(|_| pair.key.kind == MonitorKind::ActvGrad)?;
    let is_output = |other: &&MonitorRowPair| {
        let rest = other.candidate.name.strip_prefix(module);
        is_beside(other, pair) && rest.is_some_and(|rest| rest.starts_with(".output"))
    };
    let mut outputs = pairs.iter().filter(is_output);
    // Of several outputs it is not known which one the gradient comes from.
    let output = outputs.next().filter(|_| !module.is_empty() && outputs.next().is_none())?;
    Some((module, output))
}

/// The kind of a layer by the last part of its name that is not a number; `None` where no word of it is known.
fn kind_of(module: &str) -> Option<&'static str> {
    let last =
        module.rsplit('.').find(|part| part.chars().any(|letter| !letter.is_ascii_digit()))?.to_ascii_lowercase();
    let is_word =
        |word: &&str| last.split('_').any(|part| part.trim_end_matches(|c: char| c.is_ascii_digit()) == *word);
    let is_end = |word: &&str| {
        word.len() > 3 && *word != "head" && last.trim_end_matches(|c: char| c.is_ascii_digit()).ends_with(*word)
    };
    let fits = |words: &[&str]| words.iter().any(|word| is_word(word) || is_end(word));
    KINDS.into_iter().find(|(_, words)| fits(words)).map(|(kind, _)| kind)
}

/// The type of a module's input, which is the same on both sides, and how many outputs of other modules of the step differ in type as
/// its own output `pair` does.
pub(super) fn types_around<'a>(pair: &MonitorRowPair, pairs: &'a [MonitorRowPair]) -> Option<(&'a str, usize)> {
    let (module, _) = pair.candidate.name.split_once(".output").filter(|_| pair.key.kind == MonitorKind::Actv)?;
    let near = || pairs.iter().filter(|other| is_beside(other, pair));
    let is_input = |other: &&MonitorRowPair| {
        other.candidate.name.strip_prefix(module).is_some_and(|rest| rest.starts_with(".input"))
    };
    let types = |pair: &'a MonitorRowPair| [pair.baseline.dtype.as_deref(), pair.candidate.dtype.as_deref()];
    let [baseline, candidate] = near().find(is_input).map(types)?;
    let differ = [pair.baseline.dtype.as_deref(), pair.candidate.dtype.as_deref()];
    let alike = near().filter(|other| other.candidate.name.contains(".output") && types(other) == differ).count();
    baseline.filter(|_| baseline == candidate).map(|input| (input, alike.saturating_sub(1)))
}

/// Whether two rows are of one kind and of one computation.
fn is_beside(one: &MonitorRowPair, other: &MonitorRowPair) -> bool {
    let of = |pair: &MonitorRowPair| (pair.key.kind, pair.key.model, pair.key.stage, pair.key.micro_step);
    of(one) == of(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_a_layer_follows_from_its_name() {
        for (module, kind) in [
            ("layers.0.ln2", Some("norm")),
            ("transformer.h.0.ln_1", Some("norm")),
            ("decoder.layers.0.input_layernorm", Some("norm")),
            ("model.norm", Some("norm")),
            ("bert.embeddings.LayerNorm", Some("norm")),
            ("layers.3.mlp.down_proj", Some("linear")),
            ("lm_head", Some("linear")),
            ("mlp.linear_fc2", Some("linear")),
            ("layers.0.attn", Some("attention")),
            ("layers.0.self_attention", Some("attention")),
            ("wte", Some("embedding")),
            ("embed_tokens", Some("embedding")),
            ("drop", Some("dropout")),
            ("layers.0.mlp.0", None),
            ("layers.0", None),
            ("overhead", None),
        ] {
            assert_eq!(kind_of(module), kind, "{module}");
        }
    }
}
