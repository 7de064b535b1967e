//! Content of a dump of one step and rank, which readers of all formats produce.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use super::compact::{ByName, ByNameBuilder};
use super::plan::AssemblyPlan;
use super::records::Operations;
use super::tool::Tool;
use crate::kind::TensorKind;
use crate::layout::Layout;

/// Content of a dump of one step and rank.
#[derive(Clone, Debug, Default)]
pub struct Dump {
    /// Task of the tool, which defines the recorded data: `statistics`, `tensor`, `structure` ...
    pub task: String,
    /// Level of the recording: `L0`, `L1`, `mix`, `debug`.
    pub level: String,
    /// Framework of the run: `pytorch`, `mindspore`, `mindtorch`.
    pub framework: String,
    /// Operations in execution order.
    pub operations: Operations,
    /// Call stack of each operation, innermost frame first; `None` if there is no file with stacks.
    pub stacks: Option<ByName<Arc<Vec<String>>>>,
    /// Parent of each operation: the operation or module that it ran in.
    pub parents: ByName<Arc<str>>,
    /// Index of each operation's parent among their values and one more, or 0; found when it is first asked for.
    pub(super) parent_of: OnceLock<Box<[u32]>>,
    /// Parts of the files that could not be used.
    pub damage: Vec<DumpDamage>,
    /// Tool that recorded it; `None` for msprobe.
    pub tool: Option<Tool>,
    /// Whether the order in which its records were made is unknown.
    pub is_unordered: bool,
    /// Facts about its parts, if it was assembled from several ranks.
    pub parts: Option<Arc<AssembledParts>>,
}

impl Dump {
    /// Names of the frameworks of two dumps, baseline and candidate, if exactly one of them is MindSpore; else `None`. MindSpore
    /// names modules and interfaces differently.
    pub(crate) fn differing_frameworks<'a>(&'a self, candidate: &'a Self) -> Option<[&'a str; 2]> {
        let is_mindspore = |dump: &Self| dump.framework == "mindspore";
        (is_mindspore(self) != is_mindspore(candidate)).then(|| [self, candidate].map(Self::framework_name))
    }

    /// Shares with `other` the names that both have: those of operations, and of operations with stacks and parents.
    pub(crate) fn share_names(&mut self, other: &Self) {
        self.operations.share_names(&other.operations);
        self.parents.share_names(&other.parents);
        if let (Some(stacks), Some(others)) = (&mut self.stacks, &other.stacks) {
            stacks.share_names(others);
        }
    }

    /// Parent of the operation at an index: what `parents` holds for its name, without a search by name for every caller.
    pub(crate) fn parent_of(&self, operation: usize) -> Option<&str> {
        let search = || {
            let place = |name: &str| Some(u32::try_from(self.parents.index(name)?).ok()? + 1);
            // By one thread: one that waits for others might be handed work that waits for this.
            self.operations.iter().map(|operation| place(operation.name).unwrap_or(0)).collect()
        };
        let place = self.parent_of.get_or_init(search).get(operation)?.checked_sub(1)?;
        self.parents.values().get(place as usize).map(AsRef::as_ref)
    }

    fn framework_name(&self) -> &str {
        match self.framework.as_str() {
            "pytorch" => "PyTorch",
            "mindspore" => "MindSpore",
            "mindtorch" => "MindTorch",
            other => other,
        }
    }
}

/// Facts about the parts of an assembled dump.
#[derive(Clone, Debug)]
pub struct AssembledParts {
    /// Layout that distributes the model over the ranks.
    pub layout: Layout,
    /// Facts that follow only from both sides together.
    pub plan: AssemblyPlan,
    /// Ranks that hold each operation, by its name in the whole model.
    pub ranks: ByName<Vec<u64>>,
    /// Number of recorded values that are not compared because they cannot be merged.
    pub unmerged: u64,
    /// Row names of these values, without those outside of modules.
    pub unmerged_rows: HashSet<String>,
    /// Values whose copies differ between ranks, in the order of the model.
    pub differing: Vec<DifferingCopies>,
    /// Ranks of one group whose losses differ although each of them computes the whole loss.
    pub differing_loss: Option<Vec<u64>>,
    /// Dropout mask that all ranks of a group share although they multiply different values by it.
    pub shared_mask: Option<SharedMask>,
    /// Whether elements of any value can be read.
    pub has_elements: bool,
}

/// A mask that several ranks multiply different values by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedMask {
    /// Row name of the mask.
    pub row: String,
    /// Ranks that have the mask.
    pub ranks: Vec<u64>,
}

/// Collector of the ranks that hold each operation. Most operations share their list of ranks with others.
#[derive(Default)]
pub(super) struct Holders {
    names: ByNameBuilder<Vec<u64>>,
    known: HashMap<Vec<u64>, u32>,
}

impl Holders {
    /// Records the ranks that hold an operation.
    pub(super) fn add(&mut self, operation: &str, ranks: Vec<u64>) {
        let index = *self.known.entry(ranks).or_insert_with_key(|ranks| self.names.add_value(ranks.clone()));
        self.names.assign(operation, index);
    }

    pub(super) fn finish(self) -> ByName<Vec<u64>> {
        self.names.finish()
    }
}

impl AssembledParts {
    /// Creates the facts without any parts yet.
    pub(super) fn new(layout: Layout, plan: AssemblyPlan) -> Self {
        Self {
            layout,
            plan,
            ranks: ByName::default(),
            unmerged: 0,
            unmerged_rows: HashSet::new(),
            differing: Vec::new(),
            differing_loss: None,
            shared_mask: None,
            has_elements: false,
        }
    }
}

/// Relative difference up to which copies of a parameter count as equal. Checks of a single run use the same limit.
pub(crate) const COPIES: f64 = 1e-6;

/// Copies of one value that differ between ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct DifferingCopies {
    /// Name of the operation in the whole model.
    pub operation: String,
    /// Row name of the value.
    pub row: String,
    /// Role of the value.
    pub kind: TensorKind,
    /// Ranks that hold copies.
    pub ranks: Vec<u64>,
    /// Largest relative difference of a statistic.
    pub error: f64,
    /// Whether it is the weight that the output layer shares with the embedding.
    pub is_tied: bool,
}

/// A part of a dump that could not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DumpDamage {
    /// The kind of part.
    pub kind: DamageKind,
    /// File, row or operation; the first one if there are several.
    pub place: String,
    /// Reason for readers; empty if the kind says everything.
    pub reason: String,
    /// Number of such parts.
    pub count: u64,
}

/// Kinds of parts that could not be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DamageKind {
    /// A file with call stacks or the module tree.
    SideFile,
    /// A value or row of the records.
    Record,
    /// A name that occurs more than once.
    Repeated,
}

impl Dump {
    /// Creates the dump of a whole model from the dumps of its ranks.
    pub(super) fn from_parts(ranks: Vec<Self>, operations: Operations, parts: AssembledParts) -> Self {
        let (task, level, framework) = ranks.first().map_or_else(Default::default, |first| {
            let is_by_statistics = first.task == "tensor" && !parts.has_elements;
            let task = if is_by_statistics { "statistics" } else { &first.task };
            (task.to_owned(), first.level.clone(), first.framework.clone())
        });
        let damage = ranks.into_iter().flat_map(|rank| rank.damage).collect();
        Self { task, level, framework, operations, damage, parts: Some(Arc::new(parts)), ..Self::default() }
    }

    /// Records parts of one kind that could not be used.
    pub(super) fn add_damage(&mut self, damage: DumpDamage) {
        let is_known = |known: &&mut DumpDamage| known.kind == damage.kind && damage.kind != DamageKind::SideFile;
        match self.damage.iter_mut().find(is_known) {
            Some(known) => known.count += damage.count,
            None => self.damage.push(damage),
        }
    }

    /// Records a part that could not be used. For each kind of damaged records only the first place and the total count are kept.
    pub(super) fn note_damage(&mut self, kind: DamageKind, place: &str, reason: impl Into<String>) {
        self.add_damage(DumpDamage { kind, place: place.to_owned(), reason: reason.into(), count: 1 });
    }
}
