//! Environment variables that a file sets.

use super::file::File;
use crate::read::{Kind, NodeId};

pub(super) struct SetVariable<'a> {
    /// The statement or call that sets it.
    pub(super) at: NodeId,
    /// Its name.
    pub(super) name: &'a str,
    /// Value that an assignment gives it; `None` where a call sets it.
    pub(super) assigned: Option<NodeId>,
}

/// Variables that a file sets, in the order of the text.
pub(super) fn set_variables<'a>(file: &'a File<'_>) -> Vec<SetVariable<'a>> {
    let mut set = Vec::new();
    for id in file.tree.ids() {
        match file.tree.kind(id) {
            Kind::Assign { targets, value } => {
                let names = targets.iter().filter_map(|target| match file.tree.kind(*target) {
                    Kind::Subscript { value, index } if file.is_named(*value, "os.environ") => file.text_of(*index),
                    _ => None,
                });
                set.extend(names.map(|name| SetVariable { at: id, name, assigned: Some(*value) }));
            }
            Kind::Call { function, arguments } => {
                let sets = file.is_any(*function, &["os.environ.setdefault", "os.putenv"]);
                let first = file.positional(arguments, 0).filter(|_| sets).and_then(|first| file.text_of(first));
                let updated = file.is_named(*function, "os.environ.update").then(|| {
                    let keys = arguments.iter().flat_map(|argument| match file.tree.kind(argument.value) {
                        Kind::Dict(items) => items.iter().filter_map(|(key, _)| file.text_of((*key)?)).collect(),
                        _ => argument.name.as_deref().into_iter().collect::<Vec<_>>(),
                    });
                    keys.collect::<Vec<_>>()
                });
                let names = first.into_iter().chain(updated.into_iter().flatten());
                set.extend(names.map(|name| SetVariable { at: id, name, assigned: None }));
            }
            _ => {}
        }
    }
    set
}
