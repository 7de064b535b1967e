//! Names that are given a constant: parameters and options with a default, fields of classes, attributes.

use super::file::File;
use crate::read::{Kind, NodeId};

/// A name, and the value that stands for it where nobody gives another.
pub(super) struct Given<'a> {
    /// Its name; that of an option without its dashes.
    pub(super) name: &'a str,
    /// Its value.
    pub(super) value: NodeId,
}

/// Names with a value, in the order of the text. Local variables and items of dictionaries are none: what
/// they are used for tells.
pub(super) fn given<'a>(file: &'a File<'_>) -> Vec<Given<'a>> {
    let mut found = Vec::new();
    for id in file.tree.ids() {
        match file.tree.kind(id) {
            Kind::Named { target, value } if is_parameter(file, id) => add(file, *target, *value, &mut found),
            Kind::Assign { targets, value } => {
                let is_field = matches!(file.tree.kind(file.tree.node(id).parent), Kind::Class { .. });
                for target in targets {
                    if is_field || matches!(file.tree.kind(*target), Kind::Attribute { .. }) {
                        add(file, *target, of_field(file, *value), &mut found);
                    }
                }
            }
            Kind::Call { arguments, .. } => {
                let option = file.positional(arguments, 0).and_then(|first| file.text_of(first));
                let Some(name) = option.and_then(|option| option.strip_prefix("--")) else { continue };
                if let Some(value) = file.keyword(arguments, "default") {
                    found.push(Given { name, value });
                }
            }
            _ => {}
        }
    }
    found
}

/// Whether an assignment is the default of a parameter.
fn is_parameter(file: &File<'_>, id: NodeId) -> bool {
    let parent = file.tree.kind(file.tree.node(id).parent);
    let name = match file.tree.kind(id) {
        Kind::Named { target, .. } => file.tree.last_name(*target),
        _ => None,
    };
    let is_own = |parameters: &[Box<str>]| name.is_some_and(|name| parameters.iter().any(|own| &**own == name));
    matches!(parent, Kind::Function { parameters, .. } if is_own(parameters))
}

/// The default of a field: that of `field(default=...)`, or the value itself.
fn of_field(file: &File<'_>, value: NodeId) -> NodeId {
    let default = file.call(value).and_then(|(_, arguments)| file.keyword(arguments, "default"));
    default.unwrap_or(value)
}

fn add<'a>(file: &'a File<'_>, target: NodeId, value: NodeId, found: &mut Vec<Given<'a>>) {
    if let Some(name) = file.tree.last_name(target) {
        found.push(Given { name, value });
    }
}
