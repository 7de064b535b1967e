//! Files of the dumper of sglang and miles: `step=0___rank=0___dump_index=3___name=model.layers.0.mlp.pt`.
//!
//! The pairs of a name may have any order. `step` or `forward_pass_id`, `rank` and `dump_index` give the position of a record, and
//! `name` its name. Any other pair distinguishes records of the same name.

use super::part::ToolFile;
use super::place::{ToolPlace, tensor_stem};
use crate::read::dump::tool::Tool;

/// Keys of pairs that do not belong to the record's identity.
const ASIDE: [&str; 6] = ["exp_name", "experiment_name", "pid", "time", "timestamp", "ts"];

/// Record in the file at `path`, by the file's name; `None` for other names.
pub(super) fn recognise(path: &str) -> Option<ToolFile> {
    let stem = tensor_stem(path)?;
    let pairs: Vec<(&str, &str)> = stem.split("___").map(|pair| pair.split_once('=')).collect::<Option<_>>()?;
    let value = |key: &str| pairs.iter().find(|(known, _)| *known == key).map(|(_, value)| *value);
    let number = |key: &str| value(key).and_then(|value| value.parse::<u64>().ok());
    let (name, order) = (value("name")?, number("dump_index")?);
    let place = ToolPlace::from_path(path);
    let known =
        |key: &str| ["step", "forward_pass_id", "rank", "dump_index", "name"].contains(&key) || ASIDE.contains(&key);
    let mut others: Vec<String> =
        pairs.iter().filter(|(key, _)| !known(key)).map(|(key, value)| format!("{key}={value}")).collect();
    others.sort();
    let name = if others.is_empty() { name.to_owned() } else { format!("{name}[{}]", others.join(",")) };
    Some(ToolFile {
        tool: Tool::Dumper,
        path: path.to_owned(),
        group: place.group,
        step: number("step").or_else(|| number("forward_pass_id")).or(place.step).unwrap_or(0),
        rank: number("rank").or(place.rank),
        order: Some(order),
        name: Some(name),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_stand_in_any_order() {
        for path in [
            "exp/step=2___rank=1___dump_index=12___name=model.layers.0.mlp.pt",
            "exp/name=model.layers.0.mlp___dump_index=12___rank=1___forward_pass_id=2.pt",
        ] {
            let file = recognise(path).expect("a record");
            assert_eq!((file.step, file.rank, file.order), (2, Some(1), Some(12)), "{path}");
            assert_eq!((file.name.as_deref(), file.group.as_str()), (Some("model.layers.0.mlp"), "exp"));
        }
    }

    #[test]
    fn other_pairs_tell_records_apart() {
        let name = |path| recognise(path).and_then(|file| file.name);
        assert_eq!(name("dump_index=1___name=q___layer=3.pt").as_deref(), Some("q[layer=3]"));
        assert_eq!(name("dump_index=1___name=q___time=17.pt").as_deref(), Some("q"));
        assert_eq!(name("name=q___layer=3.pt"), None);
        assert_eq!(name("model.pt"), None);
    }
}
