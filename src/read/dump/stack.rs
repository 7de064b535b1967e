//! `stack.json` and `construct.json` (`docs/formats/msprobe-dump.md`).

use std::collections::HashMap;
use std::sync::Arc;

use super::compact::{ByName, ByNameBuilder};
use crate::error::Result;
use crate::fetch::ByteSource;
use crate::read::json::{Json, Parser};

/// Stack frames of each operation, innermost first as msprobe writes them. Operations may share a stack.
pub(super) type Stacks = ByName<Arc<Vec<String>>>;

/// Reads call stacks, in the form `{"0": [[operation, …], [frame, …]]}` or the older `{operation: [frame, …]}`.
///
/// Entries of another form are skipped, because stacks only help readers and are not judged.
pub(super) fn stacks(source: &dyn ByteSource) -> Result<Stacks> {
    let mut stacks = ByNameBuilder::default();
    let mut parser = Parser::new(source);
    parser.object(|key, parser| {
        let value = parser.value()?;
        match value.as_array() {
            Some([Json::Array(operations), frames]) => {
                let frames = stacks.add_value(Arc::new(texts(frames)));
                let names = operations.iter().filter_map(Json::as_str);
                names.for_each(|name| stacks.assign(name, frames));
            }
            Some(_) => {
                let frames = stacks.add_value(Arc::new(texts(&value)));
                stacks.assign(&key, frames);
            }
            None => {}
        }
        Ok(())
    })?;
    parser.end()?;
    Ok(stacks.finish())
}

/// The strings of a list; a single string counts as a list of one.
fn texts(value: &Json) -> Vec<String> {
    match value {
        Json::Array(items) => items.iter().filter_map(Json::as_str).map(str::to_owned).collect(),
        Json::Text(text) => vec![text.clone()],
        _ => Vec::new(),
    }
}

/// Reads the module tree, which maps each operation to its parent or to `[parent, micro step]`. `null` parents are left out.
pub(super) fn parents(source: &dyn ByteSource) -> Result<ByName<Arc<str>>> {
    let (mut parents, mut known) = (ByNameBuilder::default(), HashMap::<String, u32>::new());
    let mut parser = Parser::new(source);
    parser.object(|key, parser| {
        let value = parser.value()?;
        let parent = match &value {
            Json::Array(pair) => pair.first().and_then(Json::as_str),
            other => other.as_str(),
        };
        if let Some(parent) = parent {
            let index = match known.get(parent) {
                Some(index) => *index,
                None => {
                    let index = parents.add_value(Arc::from(parent));
                    *known.entry(parent.to_owned()).or_insert(index)
                }
            };
            parents.assign(&key, index);
        }
        Ok(())
    })?;
    parser.end()?;
    Ok(parents.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::MemorySource;

    #[test]
    fn both_forms_of_stack_give_the_same_map() {
        let new = MemorySource::new("stack.json", br#"{"0": [["a", "b"], ["inner", "outer"]]}"#.to_vec());
        let old = MemorySource::new("stack.json", br#"{"a": ["inner", "outer"], "b": ["inner", "outer"]}"#.to_vec());
        let (new, old) = (stacks(&new).expect("new"), stacks(&old).expect("old"));
        for name in ["a", "b"] {
            assert_eq!(new.get(name).map(|frames| frames.join(" ")).as_deref(), Some("inner outer"));
            assert_eq!(new.get(name), old.get(name));
        }
        assert_eq!(new.get("c"), None);
    }

    #[test]
    fn parents_may_carry_a_micro_step() {
        let source = MemorySource::new(
            "construct.json",
            br#"{"a": "m", "m": null, "b": ["m", 3], "megatron_micro_step_number": 4}"#.to_vec(),
        );
        let parents = parents(&source).expect("tree");
        let of = |name| parents.get(name).map(AsRef::as_ref);
        assert_eq!([of("a"), of("b"), of("m")], [Some("m"), Some("m"), None]);
    }
}
