//! Gradient norms by parameter, as programs print them beside a training log: a line for each parameter of a layer.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::expression::constant_regex;
use super::lines;

/// Largest number of parameters whose norms are kept.
const MOST_NAMES: usize = 65_536;
/// Largest number of norms that are kept for one parameter, so that memory does not grow with steps.
const MOST_VALUES: usize = 64;

/// A parameter of a layer: `model.layers.3.mlp.weight`, `h.11.attn.bias`.
const NAME: &str = r#"([\w./]*?\b(?:layers?|blocks?|h)\.(\d{1,4})\.[\w.]*\w)"#;
const NUMBER: &str = r#"(?:tensor\(\s*)?["']?([-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|nan|NaN|inf|Inf(?:inity)?))\b"#;

/// `name norm=V`, `| name | grad_norm | V |`, `{"param": name, "grad_norm": V}`.
static BEHIND: LazyLock<Regex> = LazyLock::new(|| {
    constant_regex(&format!(r#"{NAME}["'`]?[\s,;:|=()-]+.{{0,60}}?\b((?:\w+[ _])?norm)["'`]?\s*[:=|]\s*{NUMBER}"#))
});
/// `grad norm of name: V`.
static BEFORE: LazyLock<Regex> = LazyLock::new(|| {
    constant_regex(&format!(
        r#"(?i-u:\b((?:\w+[ _])?norm) ?[:=]? ?(?:(?:of|for|at) )?["'`]?){NAME}["'`]?\s*[:=|]?\s*{NUMBER}"#
    ))
});
static STEP: LazyLock<Regex> =
    LazyLock::new(|| constant_regex(r#"(?i)\b(?:iteration|iter|step)\b["']?[\s:=]*(\d{1,12})\b"#));
static RANK: LazyLock<Regex> = LazyLock::new(|| constant_regex(r#"(?i)\brank["']?[\s:=]*(\d{1,6})\b"#));

/// A norm of a parameter.
#[derive(Clone, Debug, PartialEq)]
struct Norm {
    name: String,
    layer: u64,
    value: f64,
}

/// Norms of one parameter, by step and rank. Without a step, the number of the parameter's line stands for it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParameterNorms {
    /// Number of its layer.
    pub layer: u64,
    /// The norms, by step and rank.
    pub values: BTreeMap<(u64, u64), f64>,
    lines: u64,
}

/// Gradient norms by parameter. Names begin at the layer, because the part before it differs between devices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayerNorms {
    /// The parameters, by name.
    pub parameters: BTreeMap<String, ParameterNorms>,
    /// Number of norms that are not finite.
    pub non_finite: u64,
}

impl LayerNorms {
    /// Whether a line holds the norm of a parameter.
    pub(super) fn is_norm(line: &str) -> bool {
        norm_of(line).is_some()
    }

    /// Takes a line. Returns whether it holds the norm of a parameter, and so is no record of the run.
    pub(super) fn take_line(&mut self, line: &str) -> bool {
        let Some(norm) = norm_of(line) else { return false };
        let number = |pattern: &Regex| pattern.captures(line).and_then(|found| found.get(1)?.as_str().parse().ok());
        self.take(norm, number(&STEP), number(&RANK));
        true
    }

    fn take(&mut self, norm: Norm, step: Option<u64>, rank: Option<u64>) {
        if !norm.value.is_finite() {
            self.non_finite += 1;
            return;
        }
        if self.parameters.len() >= MOST_NAMES && !self.parameters.contains_key(&norm.name) {
            return;
        }
        let known = self.parameters.entry(norm.name).or_default();
        known.layer = norm.layer;
        let place = (step.unwrap_or(known.lines), rank.unwrap_or_default());
        known.lines += 1;
        if known.values.len() < MOST_VALUES {
            known.values.insert(place, norm.value);
        }
    }

    /// The norms; `None` where no line had any.
    pub(super) fn into_non_empty(self) -> Option<Self> {
        (!self.parameters.is_empty() || self.non_finite > 0).then_some(self)
    }
}

/// Whether a text has a number behind the point of `layer.`, `layers.`, `block.`, `blocks.` or `h.`, which takes less time to see
/// than to search for a name.
fn names_layer(text: &[u8]) -> bool {
    let byte = |at: Option<usize>| at.and_then(|at| text.get(at)).copied().unwrap_or_default();
    let is_behind_word = |at: usize| matches!(byte(at.checked_sub(1)), b'r' | b's' | b'k' | b'h');
    memchr::memchr_iter(b'.', text).any(|at| is_behind_word(at) && byte(at.checked_add(1)).is_ascii_digit())
}

fn norm_of(line: &str) -> Option<Norm> {
    if !names_layer(line.as_bytes()) || !line.contains("norm") && !line.contains("Norm") {
        return None;
    }
    let (name, layer, word, value) = match BEHIND.captures(line) {
        Some(found) => (found.get(1)?, found.get(2)?, found.get(3)?, found.get(4)?),
        None => {
            let found = BEFORE.captures(line)?;
            (found.get(2)?, found.get(3)?, found.get(1)?, found.get(4)?)
        }
    };
    // Norms of weights and activations are not gradient norms.
    let word = word.as_str().to_ascii_lowercase();
    let is_other =
        ["weight", "param", "layer", "act", "input", "output", "update"].iter().any(|kind| word.starts_with(kind));
    let value = lines::parse_number(value.as_str()).filter(|_| !is_other)?;
    let before = name.as_str().get(..(layer.start() - name.start()).saturating_sub(1)).unwrap_or_default();
    let from = before.rfind(['.', '/']).map_or(0, |at| at + 1);
    let name = name.as_str().get(from..)?.to_owned();
    Some(Norm { name, layer: layer.as_str().parse().ok()?, value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn norms_are_read_in_four_forms() {
        for line in [
            "[DEBUG_GRAD_NORM][POST] module.decoder.layers.3.mlp.fc1.weight norm=2.5",
            "| model.layers.3.mlp.fc1.weight | grad_norm | 2.5 |",
            "iter 1 rank 0 grad norm of layers.3.mlp.fc1.weight: 2.500000",
            r#"{"param": "module.layers.3.mlp.fc1.weight", "grad_norm": 2.5}"#,
            "grad_norm: layers.3.mlp.fc1.weight = 2.5e0",
        ] {
            let norm = norm_of(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!((norm.name.as_str(), norm.layer, norm.value), ("layers.3.mlp.fc1.weight", 3, 2.5), "{line}");
        }
        for (line, name) in [
            ("transformer.h.11.attn.bias grad norm: 1e-3", "h.11.attn.bias"),
            ("encoder.layer.0.output.dense.weight grad_norm=tensor(0.5)", "layer.0.output.dense.weight"),
            ("blocks.7.norm1.weight norm = nan", "blocks.7.norm1.weight"),
        ] {
            assert_eq!(norm_of(line).map(|norm| norm.name).as_deref(), Some(name), "{line}");
        }
        for line in [
            "step 3 loss 2.5 grad norm: 1.25",
            "layers.3.input_layernorm.weight torch.Size([4096])",
            "layers.3.mlp.weight weight norm=2.5",
            "iteration 3 | lm loss: 2.5 | grad norm: 1.5 | layers: 36",
        ] {
            assert_eq!(norm_of(line), None, "{line}");
        }
    }

    #[test]
    fn norms_keep_their_step_and_rank_and_do_not_grow_with_steps() {
        let mut norms = LayerNorms::default();
        for step in 0..1000 {
            assert!(norms.take_line(&format!("iter {step} rank 1 grad norm of layers.0.w: 1.5")));
            assert!(norms.take_line("layers.1.w norm=0.5"));
        }
        let [first, second] = ["layers.0.w", "layers.1.w"].map(|name| &norms.parameters[name]);
        assert_eq!((first.values.len(), second.values.len()), (MOST_VALUES, MOST_VALUES));
        assert_eq!((first.values.get(&(3, 1)), second.values.get(&(3, 0))), (Some(&1.5), Some(&0.5)));
    }
}
