//! Number formats in code: which a value names, and whether a value is held in one.

use super::file::File;
use crate::read::tree::Argument;
use crate::read::{Kind, NodeId};

/// A floating-point format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Float8,
    Float16,
    Bfloat16,
    Float32,
    Float64,
}

impl Format {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Float8 => "float8",
            Self::Float16 => "float16",
            Self::Bfloat16 => "bfloat16",
            Self::Float32 => "float32",
            Self::Float64 => "float64",
        }
    }

    fn named(name: &str) -> Option<Self> {
        match name {
            "float16" | "half" | "fp16" => Some(Self::Float16),
            "bfloat16" | "bf16" => Some(Self::Bfloat16),
            "float32" | "float" | "fp32" => Some(Self::Float32),
            "float64" | "double" | "fp64" => Some(Self::Float64),
            name if name.starts_with("float8") || name == "fp8" => Some(Self::Float8),
            _ => None,
        }
    }

    /// Whether it has 16 bits.
    pub(super) fn is_half(self) -> bool {
        matches!(self, Self::Float16 | Self::Bfloat16)
    }
}

/// The format that a value names: `torch.float16`.
pub(super) fn format(file: &File<'_>, id: NodeId) -> Option<Format> {
    let name = file.tree.last_name(id)?;
    let found = Format::named(name)?;
    file.full_name(id).is_some_and(|full| full.strip_prefix("torch.") == Some(name)).then_some(found)
}

/// The format that a value or a text names: `torch.float16`, `"fp16"`.
pub(super) fn format_or_text(file: &File<'_>, id: NodeId) -> Option<Format> {
    let text = |text: &str| Format::named(text.strip_prefix("torch.").unwrap_or(text));
    match file.tree.kind(id) {
        Kind::Text(name) => text(name),
        _ => format(file, id),
    }
}

/// The format that a method casts to.
fn cast(file: &File<'_>, name: &str, arguments: &[Argument]) -> Option<Format> {
    match name {
        "half" => Some(Format::Float16),
        "bfloat16" => Some(Format::Bfloat16),
        "float" => Some(Format::Float32),
        "double" => Some(Format::Float64),
        "to" | "type" => arguments.iter().find_map(|argument| format(file, argument.value)),
        _ => None,
    }
}

/// The format that the outermost call of an expression casts to: `x.half()`, `x.to(torch.float16)`.
pub(super) fn cast_of(file: &File<'_>, id: NodeId) -> Option<Format> {
    let (_, name, arguments) = file.method(id)?;
    cast(file, name, arguments)
}

/// Methods that give a value or a model of the format that they got.
const KEEPING: &[&str] = &[
    "cuda",
    "npu",
    "cpu",
    "to",
    "train",
    "eval",
    "contiguous",
    "detach",
    "clone",
    "requires_grad_",
    "view",
    "reshape",
    "squeeze",
    "unsqueeze",
    "transpose",
    "permute",
    "flatten",
    "expand",
];

/// Assignments that are followed back from a value.
const MOST_STEPS: usize = 20;

/// Whether a value is held in float16 at `at`: by a cast in it, or by one of its name earlier in the function.
pub(super) fn is_float16(file: &File<'_>, id: NodeId, at: NodeId) -> bool {
    let (mut value, mut at) = (id, at);
    for _ in 0..MOST_STEPS {
        let name = match outermost_cast(file, value) {
            Outermost::Cast(format) => return format == Format::Float16,
            Outermost::Of(name) => name,
            Outermost::Other => return false,
        };
        match last_change(file, name, at) {
            Some((statement, assigned)) if matches!(file.tree.kind(statement), Kind::Expression(_)) => {
                // Other methods leave the format as it is.
                match cast_of(file, assigned) {
                    Some(format) => return format == Format::Float16,
                    None => (value, at) = (name, statement),
                }
            }
            Some((statement, assigned)) => (value, at) = (assigned, statement),
            None => return false,
        }
    }
    false
}

/// The part of a value that decides about its format.
enum Outermost {
    /// A cast in it.
    Cast(Format),
    /// The value of a name, behind methods that keep the format.
    Of(NodeId),
    /// A value that is not known.
    Other,
}

fn outermost_cast(file: &File<'_>, id: NodeId) -> Outermost {
    let mut value = id;
    while let Some((object, name, arguments)) = file.method(value) {
        match cast(file, name, arguments) {
            Some(format) => return Outermost::Cast(format),
            None if KEEPING.contains(&name) => value = object,
            None => return Outermost::Other,
        }
    }
    if file.key(value).is_some() { Outermost::Of(value) } else { Outermost::Other }
}

/// The last statement before `at`, in its function, that changes what a name holds, with the value or the call.
fn last_change(file: &File<'_>, name: NodeId, at: NodeId) -> Option<(NodeId, NodeId)> {
    let changes = file.casts().get(&file.key(name)?)?;
    let function = file.function(at);
    let end = changes.partition_point(|(statement, _)| *statement < at);
    // An assignment that holds the place is not over yet.
    let is_before = |(statement, _): &&(NodeId, NodeId)| {
        !file.tree.contains(*statement, at) && file.function(*statement) == function
    };
    changes.get(..end)?.iter().rev().take(MOST_STEPS).find(is_before).copied()
}
