//! The policy's mapping of tensor names: renames the baseline's tensors to the candidate's names, and splits, joins and
//! transposes them.

use std::collections::BTreeMap;

use regex::Regex;

use crate::error::Result;
use crate::read::checkpoint::CheckpointParameter;
use crate::read::joined::join_along_axis;
use crate::read::tensor::TensorData;

/// One line of the mapping: patterns joined by ` + `, in which `{i}` captures a part of the name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorNameRule {
    /// Patterns of the baseline's names; several are joined.
    pub from: String,
    /// Names on the candidate's side; the tensor is split into as many equal parts.
    pub to: String,
    /// Whether the last two axes are exchanged first.
    pub transpose: bool,
    /// Axis of splitting and joining.
    pub axis: usize,
}

impl TensorNameRule {
    /// Patterns of a text.
    pub fn patterns(text: &str) -> impl Iterator<Item = &str> {
        text.split('+').map(str::trim)
    }

    /// Names of the captures in a pattern.
    pub fn captures(pattern: &str) -> Vec<&str> {
        pattern.split('{').skip(1).filter_map(|rest| rest.split_once('}').map(|(name, _)| name)).collect()
    }
}

/// Parts of a name, by the captures that stand for them.
type Captured = Vec<(String, String)>;

/// Renames the baseline's tensors, each by the first rule that fits. Returns the `from` patterns of unused rules too.
pub(super) fn renamed(
    mut parameters: BTreeMap<String, CheckpointParameter>,
    rules: &[TensorNameRule],
) -> (BTreeMap<String, CheckpointParameter>, Vec<String>) {
    let (mut done, mut unused) = (BTreeMap::new(), Vec::new());
    for rule in rules {
        let before = parameters.len();
        let names: Vec<String> = parameters.keys().cloned().collect();
        for name in names {
            let (weight, moment) = with_moment(&name);
            let Some(captured) = TensorNameRule::patterns(&rule.from).next().and_then(|first| captured(first, weight))
            else {
                continue;
            };
            let named = |pattern| format!("{}{moment}", filled(pattern, &captured));
            let sources: Vec<String> = TensorNameRule::patterns(&rule.from).map(named).collect();
            if !sources.iter().all(|source| parameters.contains_key(source)) {
                continue;
            }
            let taken: Vec<CheckpointParameter> =
                sources.iter().filter_map(|source| parameters.remove(source)).collect();
            done.extend(moved(taken, TensorNameRule::patterns(&rule.to).map(named).collect(), rule));
        }
        if parameters.len() == before {
            unused.push(rule.from.clone());
        }
    }
    for (name, parameter) in parameters {
        done.entry(name).or_insert(parameter);
    }
    (done, unused)
}

/// Splits the mark of an optimizer moment (`@exp_avg`) off a name: the weight's name, and the mark.
fn with_moment(name: &str) -> (&str, &str) {
    name.split_at(name.find('@').unwrap_or(name.len()))
}

/// The values of a pattern's captures in a name; `None` where the name does not fit. A capture matches up to the next dot.
fn captured(pattern: &str, name: &str) -> Option<Captured> {
    let (mut text, mut rest, mut names) = (String::from("^"), pattern, Vec::new());
    while let Some((before, behind)) = rest.split_once('{') {
        let (capture, after) = behind.split_once('}')?;
        text.push_str(&regex::escape(before));
        text.push_str("([^.]+)");
        names.push(capture);
        rest = after;
    }
    text.push_str(&regex::escape(rest));
    text.push('$');
    let found = Regex::new(&text).ok()?;
    let found = found.captures(name)?;
    let parts = found.iter().skip(1).flatten().map(|part| part.as_str().to_owned());
    let captured: Captured = names.into_iter().map(str::to_owned).zip(parts).collect();
    // A capture that occurs twice has to match the same text.
    (filled(pattern, &captured) == name).then_some(captured)
}

/// A pattern with its captures filled in.
fn filled(pattern: &str, captured: &Captured) -> String {
    captured.iter().fold(pattern.to_owned(), |text, (name, part)| text.replace(&format!("{{{name}}}"), part))
}

/// The tensors under their new names. Tensors that cannot be computed become unread; one that does not divide stays whole.
fn moved(
    taken: Vec<CheckpointParameter>,
    targets: Vec<String>,
    rule: &TensorNameRule,
) -> Vec<(String, CheckpointParameter)> {
    let mut tensors = Vec::new();
    for parameter in taken {
        match parameter {
            CheckpointParameter::Tensor(tensor) => tensors.push(tensor),
            // Pieces of ranks are joined later, under a name whose placement is known.
            other if targets.len() == 1 && !rule.transpose => {
                return targets.into_iter().map(|target| (target, again(&other))).collect();
            }
            CheckpointParameter::Unread(reason) => return unread(targets, &reason),
            CheckpointParameter::Pieces(_) => {
                return unread(targets, "pieces of ranks are neither split nor transposed by name");
            }
        }
    }
    match made(tensors, targets.len(), rule) {
        Ok(parts) => targets.into_iter().zip(parts.into_iter().map(CheckpointParameter::Tensor)).collect(),
        Err(error) => unread(targets, &error.to_string()),
    }
}

fn unread(targets: Vec<String>, reason: &str) -> Vec<(String, CheckpointParameter)> {
    targets.into_iter().map(|target| (target, CheckpointParameter::Unread(reason.to_owned()))).collect()
}

/// Joins tensors and splits the whole into `count` parts.
fn made(tensors: Vec<TensorData>, count: usize, rule: &TensorNameRule) -> Result<Vec<TensorData>> {
    let turned = |tensor: TensorData| {
        if rule.transpose && tensor.shape.len() > 1 { tensor.transposed() } else { Ok(tensor) }
    };
    let whole = join_along_axis(tensors.into_iter().map(turned).collect::<Result<_>>()?, rule.axis)?;
    if count == 1 {
        return Ok(vec![whole]);
    }
    let len = whole.shape.get(rule.axis).copied().unwrap_or(0);
    let parts = count as u64;
    let part = if len.is_multiple_of(parts) { len / parts } else { 0 };
    if part == 0 {
        return Ok((0..count).map(|_| whole.new_handle()).collect());
    }
    (0..parts).map(|index| whole.narrowed(rule.axis, index * part, part)).collect()
}

/// The same parameter once more.
fn again(parameter: &CheckpointParameter) -> CheckpointParameter {
    match parameter {
        CheckpointParameter::Tensor(tensor) => CheckpointParameter::Tensor(tensor.new_handle()),
        CheckpointParameter::Unread(reason) => CheckpointParameter::Unread(reason.clone()),
        CheckpointParameter::Pieces(pieces) => CheckpointParameter::Pieces(pieces.again()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_stand_for_parts_of_a_name() {
        let found = captured("transformer.h.{i}.ln_{n}.{p}", "transformer.h.12.ln_1.weight").expect("it fits");
        assert_eq!(filled("decoder.layers.{i}.norm{n}.{p}", &found), "decoder.layers.12.norm1.weight");
        assert_eq!(captured("h.{i}.x", "h.1.2.x"), None, "a capture ends at a dot");
        assert_eq!(captured("{i}.{i}", "1.2"), None, "twice the same capture");
        assert_eq!(captured("a.b", "a_b"), None);
        assert!(captured("a.b", "a.b").is_some_and(|found| found.is_empty()));
    }

    #[test]
    fn rules_that_fit_nothing_are_told() {
        let parameters = BTreeMap::from([("a.0".to_owned(), CheckpointParameter::Unread("x".into()))]);
        let rule =
            |from: &str, to: &str| TensorNameRule { from: from.into(), to: to.into(), transpose: false, axis: 0 };
        let (renamed, unused) = renamed(parameters, &[rule("b.{i}", "c.{i}"), rule("a.{i}", "d.{i} + e.{i}")]);
        assert_eq!(renamed.keys().map(String::as_str).collect::<Vec<_>>(), ["d.0", "e.0"]);
        assert_eq!(unused, ["b.{i}"]);
    }
}
