//! Named tensors of a stage: a list of pairs of a name and a tensor, or a dictionary.

use super::record::{SyncDamage, WHOLE};
use crate::error::Result;
use crate::fetch::Files;
use crate::read::checkpoint::CheckpointParameter;
use crate::read::tensor::StoredValue;
use crate::read::tensor_file;

/// Tensors of a stage, in the order of the file.
#[derive(Debug, Default)]
pub struct NamedTensors {
    /// Names and tensors. A name may occur twice.
    pub tensors: Vec<(String, CheckpointParameter)>,
    /// Damage for entries that are not a pair of a name and a tensor.
    pub damages: Vec<SyncDamage>,
}

/// Whether stored values are a list of pairs, with a name under `0.0` and a tensor under `0.1`.
pub(super) fn is_list(stored: &[(String, StoredValue)]) -> bool {
    match stored {
        [(first, StoredValue::Plain(_)), (second, StoredValue::Tensor(_) | StoredValue::Unsupported(_)), ..] => {
            first == "0.0" && second == "0.1"
        }
        _ => false,
    }
}

/// Opens the tensors of the file at `path`.
///
/// # Errors
/// Those of opening the file.
pub(crate) fn named_tensors(files: &dyn Files, path: &str) -> Result<NamedTensors> {
    let stored = files.open(path).and_then(tensor_file::open_all)?;
    let is_indexed = |name: &str| name.split('.').next().is_some_and(|part| part.parse::<u64>().is_ok());
    if !stored.is_empty() && stored.iter().all(|(name, _)| is_indexed(name)) {
        return Ok(of_list(path, stored));
    }
    let tensors = stored.into_iter().filter_map(|(name, stored)| Some((name, parameter(stored)?))).collect();
    Ok(NamedTensors { tensors, damages: Vec::new() })
}

/// Tensors of a list of pairs. Entries that are not pairs are recorded as damage.
fn of_list(path: &str, stored: Vec<(String, StoredValue)>) -> NamedTensors {
    let mut named = NamedTensors::default();
    let (mut lost, mut first) = (0_u64, None);
    let mut name: Option<(String, String)> = None;
    let mut lose = |entry: String| {
        lost += 1;
        first.get_or_insert(entry);
    };
    for (place, stored) in stored {
        let (entry, part) = place.split_once('.').unwrap_or((place.as_str(), ""));
        match (part, stored) {
            ("0", StoredValue::Plain(text)) => {
                if let Some((entry, _)) = name.replace((entry.to_owned(), text)) {
                    lose(entry);
                }
            }
            ("1", stored) => match (name.take(), parameter(stored)) {
                (Some((of, name)), Some(parameter)) if of == entry => named.tensors.push((name, parameter)),
                _ => lose(entry.to_owned()),
            },
            // Further parts of an entry are ignored, because they do not concern its tensor.
            (part, _) if part.parse::<u64>().is_ok_and(|part| part > 1) => {}
            _ => lose(entry.to_owned()),
        }
    }
    if let Some((entry, _)) = name {
        lose(entry);
    }
    if let Some(entry) = first {
        let reason = format!("entry {entry} of its list is no pair of a name and a tensor ({lost} such)");
        named.damages.push(SyncDamage { path: path.to_owned(), reason, help: WHOLE, count: lost });
    }
    named
}

fn parameter(stored: StoredValue) -> Option<CheckpointParameter> {
    match stored {
        StoredValue::Tensor(tensor) => Some(CheckpointParameter::Tensor(tensor)),
        StoredValue::Unsupported(reason) => Some(CheckpointParameter::Unread(reason)),
        StoredValue::Part(part) if part.tensor.shape == part.shape => Some(CheckpointParameter::Tensor(part.tensor)),
        StoredValue::Part(part) => {
            Some(CheckpointParameter::Unread(format!("it is a part of a tensor of {:?}", part.shape)))
        }
        StoredValue::Plain(_) | StoredValue::Shape(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(place: &str, text: &str) -> (String, StoredValue) {
        (place.to_owned(), StoredValue::Plain(text.to_owned()))
    }

    fn tensor(place: &str) -> (String, StoredValue) {
        (place.to_owned(), StoredValue::Unsupported("quantised".to_owned()))
    }

    #[test]
    fn pairs_are_told_from_what_is_none() {
        let pairs = vec![plain("0.0", "a"), tensor("0.1"), plain("1.0", "b"), tensor("1.1")];
        assert!(is_list(&pairs));
        assert_eq!(of_list("p", pairs).tensors.len(), 2);
        let cut = of_list("p", vec![plain("0.0", "a"), tensor("0.1"), plain("1.0", "b")]);
        assert_eq!((cut.tensors.len(), cut.damages.len()), (1, 1));
        let nameless = of_list("p", vec![tensor("0"), plain("1.0", "b"), tensor("1.1")]);
        assert_eq!((nameless.tensors.len(), nameless.damages[0].count), (1, 1));
        assert!(!is_list(&[plain("0.0", "a"), plain("0.1", "b")]) && !is_list(&[]));
    }
}
