//! Names of modules in the whole model: layers are counted over stages and chunks, experts over the ranks that share them.

use rayon::prelude::*;

use crate::layout::names::{LocalCounts, Numbering, split_chunk};
use crate::layout::{Coordinates, Layout};
use crate::read::dump::content::Dump;
use crate::read::dump::name::{Direction, OpName};

/// Prefixes of the names of modules.
const PREFIXES: [&str; 2] = ["Module.", "Cell."];
/// Prefix of the class of a module whose parameters torch shards.
const FSDP: &str = "FSDP";

/// A call of a module on one rank.
#[derive(Clone, Copy)]
pub(super) struct Member {
    /// Index of the rank in the list of ranks.
    pub(super) rank: u32,
    /// Index of the operation in that rank's dump.
    pub(super) operation: u32,
    /// Number of the call, limited to the largest `u32`.
    pub(super) call: u32,
    /// Chunk of the model that it is a part of.
    pub(super) chunk: u32,
}

/// A module's operation, with its name in the whole model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Module {
    prefix: &'static str,
    pub(super) path: String,
    pub(super) class: String,
    pub(super) direction: Direction,
    pub(super) call: u64,
    /// Chunk of the model that it is a part of, over all stages.
    pub(super) chunk: u32,
}

impl Module {
    /// Name of its operation with the given call number.
    pub(super) fn name(&self, call: u64) -> String {
        let Self { prefix, path, class, direction, .. } = self;
        let direction = match direction {
            Direction::Forward => "forward",
            Direction::Backward => "backward",
            Direction::ParametersGradient => "parameters_grad",
            Direction::Debug => "debug",
        };
        format!("{prefix}{path}.{class}.{direction}.{call}")
    }
}

/// Beginning of a path up to the number of an expert; `None` outside of experts.
pub(super) fn expert_path(path: &str) -> Option<&str> {
    let from = path.find("expert")?;
    let below = path.get(from..)?;
    let number =
        below.split('.').skip(1).find(|part| part.bytes().all(|byte| byte.is_ascii_digit()) && !part.is_empty())?;
    // `number` is a slice of `path`, so its position follows from the addresses.
    let end = number.as_ptr().addr().checked_sub(path.as_ptr().addr())?.checked_add(number.len())?;
    path.get(..end)
}

/// Numbers that turn local names into names of the whole model.
pub(super) struct Globals<'l> {
    layout: &'l Layout,
    numbering: Numbering,
}

/// A local name, split into its parts.
struct Local<'n> {
    prefix: &'static str,
    chunk: u32,
    path: &'n str,
    class: &'n str,
    name: OpName<'n>,
}

impl<'n> Local<'n> {
    fn of(name: &'n str) -> Option<Self> {
        let prefix = PREFIXES.into_iter().find(|prefix| name.starts_with(prefix))?;
        let parsed = OpName::parse(name);
        parsed.direction?;
        let base = name.get(prefix.len()..parsed.base.len())?;
        let (path, class) = base.rsplit_once('.')?;
        let (chunk, path) = split_chunk(path);
        Some(Self { prefix, chunk, path, class: class.strip_prefix(FSDP).unwrap_or(class), name: parsed })
    }
}

impl<'l> Globals<'l> {
    /// Counts the layers of each chunk, and the experts of each rank.
    pub(super) fn new(dumps: &[Dump], places: &[Coordinates], layout: &'l Layout) -> Self {
        let of_rank = |(dump, place): (&Dump, &Coordinates)| {
            let paths = dump.operations.iter().filter_map(|operation| {
                let local = Local::of(operation.name)?;
                Some((layout.chunk(local.chunk, *place), local.path))
            });
            LocalCounts::of_paths(paths)
        };
        let counts = dumps.par_iter().zip(places).map(of_rank).reduce(LocalCounts::default, LocalCounts::with);
        Self { layout, numbering: Numbering::new(counts) }
    }

    /// Operation of the whole model that a member is a call of.
    pub(super) fn module_of_member(&self, member: &Member, dumps: &[Dump], places: &[Coordinates]) -> Option<Module> {
        let operation = dumps.get(member.rank as usize)?.operations.get(member.operation as usize)?;
        self.module(operation.name, *places.get(member.rank as usize)?)
    }

    /// Operation with its name in the whole model; `None` for an operation outside of modules.
    pub(super) fn module(&self, name: &str, place: Coordinates) -> Option<Module> {
        let local = Local::of(name)?;
        let chunk = self.layout.chunk(local.chunk, place);
        Some(Module {
            prefix: local.prefix,
            path: self.numbering.path(local.path, chunk, self.layout.expert_part(place)),
            class: local.class.to_owned(),
            direction: local.name.direction?,
            call: local.name.call.unwrap_or_default(),
            chunk,
        })
    }
}
