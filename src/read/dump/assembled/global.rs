//! Names of modules in the whole model: layers are counted over stages and chunks, experts over the ranks that share them.

use std::collections::BTreeMap;

use crate::layout::{Coordinates, Layout};
use crate::read::dump::content::Dump;
use crate::read::dump::name::{Direction, OpName};

/// Prefixes of the names of modules.
const PREFIXES: [&str; 2] = ["Module.", "Cell."];
/// Prefix of the class of a module whose parameters torch shards.
const FSDP: &str = "FSDP";

/// A module's operation by its name in the whole model.
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
    /// The name of its operation.
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

/// Numbers that make local names global.
pub(super) struct Globals<'l> {
    layout: &'l Layout,
    /// Layers before each chunk of the model.
    before: BTreeMap<u32, u64>,
    /// Experts of each rank.
    experts: u64,
}

/// A local name, taken apart.
struct Local<'n> {
    prefix: &'static str,
    chunk: u32,
    path: &'n str,
    class: &'n str,
    name: OpName,
}

impl<'n> Local<'n> {
    fn of(name: &'n str) -> Option<Self> {
        let prefix = PREFIXES.into_iter().find(|prefix| name.starts_with(prefix))?;
        let parsed = OpName::parse(name);
        parsed.direction?;
        let base = name.get(prefix.len()..parsed.base.len())?;
        let (path, class) = base.rsplit_once('.')?;
        let (chunk, path) = match path.split_once('.') {
            Some((chunk, rest)) => chunk.parse().map_or((0, path), |chunk| (chunk, rest)),
            None => (0, path),
        };
        Some(Self { prefix, chunk, path, class: class.strip_prefix(FSDP).unwrap_or(class), name: parsed })
    }

    /// Places of the numbers of its layer and of its expert among the parts of its path.
    fn numbers(&self) -> [Option<(usize, u64)>; 2] {
        let (mut layer, mut expert) = (None, None);
        let parts: Vec<&str> = self.path.split('.').collect();
        for (at, pair) in parts.windows(2).enumerate() {
            let [before, part] = pair else { continue };
            let Ok(number) = part.parse::<u64>() else { continue };
            if before.contains("expert") {
                expert = expert.or(Some((at + 1, number)));
            } else {
                layer = layer.or(Some((at + 1, number)));
            }
        }
        [layer, expert]
    }
}

impl<'l> Globals<'l> {
    /// Counts the layers of each chunk, and the experts of each rank.
    pub(super) fn of(dumps: &[Dump], places: &[Coordinates], layout: &'l Layout) -> Self {
        let mut layers: BTreeMap<u32, u64> = BTreeMap::new();
        let mut experts = 0;
        for (dump, place) in dumps.iter().zip(places) {
            for operation in dump.operations.iter() {
                let Some(local) = Local::of(operation.name) else { continue };
                let [layer, expert] = local.numbers();
                let count = layers.entry(chunk_of(layout, local.chunk, *place)).or_default();
                *count = (*count).max(layer.map_or(0, |(_, number)| number.saturating_add(1)));
                experts = experts.max(expert.map_or(0, |(_, number)| number.saturating_add(1)));
            }
        }
        let mut sum = 0_u64;
        let before = layers
            .into_iter()
            .map(|(chunk, count)| {
                let before = sum;
                sum = sum.saturating_add(count);
                (chunk, before)
            })
            .collect();
        Self { layout, before, experts }
    }

    /// The operation by its name in the whole model; `None` for one of no module.
    pub(super) fn module(&self, name: &str, place: Coordinates) -> Option<Module> {
        let local = Local::of(name)?;
        let chunk = chunk_of(self.layout, local.chunk, place);
        let [layer, expert] = local.numbers();
        let mut parts: Vec<String> = local.path.split('.').map(str::to_owned).collect();
        if let Some((at, number)) = layer {
            let before = self.before.get(&chunk).copied().unwrap_or_default();
            set(&mut parts, at, number.saturating_add(before));
        }
        if let Some((at, number)) = expert {
            let before = u64::from(self.layout.expert_part(place)).saturating_mul(self.experts);
            set(&mut parts, at, number.saturating_add(before));
        }
        Some(Module {
            prefix: local.prefix,
            path: parts.join("."),
            class: local.class.to_owned(),
            direction: local.name.direction?,
            call: local.name.call.unwrap_or_default(),
            chunk,
        })
    }
}

fn set(parts: &mut [String], at: usize, number: u64) {
    if let Some(part) = parts.get_mut(at) {
        *part = number.to_string();
    }
}

/// The chunk of the whole model that is `chunk` of a rank.
fn chunk_of(layout: &Layout, chunk: u32, place: Coordinates) -> u32 {
    chunk.saturating_mul(layout.pp).saturating_add(place.pp)
}
