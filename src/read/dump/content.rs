//! Content of a dump: one step and rank, as every format is read into it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::compact::{ByName, ByNameBuilder};
use super::plan::Plan;
use super::records::Operations;
use super::tool::Tool;
use crate::kind::TensorKind;
use crate::layout::Layout;

/// One step and rank, read.
#[derive(Clone, Debug, Default)]
pub struct Dump {
    /// The task, which tells what was recorded: `statistics`, `tensor`, `structure` ...
    pub task: String,
    /// `L0`, `L1`, `mix`, `debug`.
    pub level: String,
    /// `pytorch`, `mindspore`, `mindtorch`.
    pub framework: String,
    /// Operations in execution order.
    pub operations: Operations,
    /// Call stack per operation, innermost frame first; absent where nothing lies beside the records.
    pub stacks: Option<ByName<Arc<Vec<String>>>>,
    /// The operation or module an operation ran in.
    pub parents: ByName<Arc<str>>,
    /// Parts of the files that could not be used.
    pub damage: Vec<Damage>,
    /// The tool that recorded it, where that is not msprobe.
    pub tool: Option<Tool>,
    /// Whether nothing says in which order its records were made.
    pub is_unordered: bool,
    /// Facts about its parts, where it was put together of several ranks.
    pub parts: Option<Arc<Parts>>,
}

impl Dump {
    /// The frameworks of two dumps by their names, baseline and candidate, where one is MindSpore and the other is not: each names
    /// modules and interfaces in its own way.
    pub fn other_frameworks<'a>(&'a self, candidate: &'a Self) -> Option<[&'a str; 2]> {
        let is_mindspore = |dump: &Self| dump.framework == "mindspore";
        (is_mindspore(self) != is_mindspore(candidate)).then(|| [self, candidate].map(Self::framework_name))
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
pub struct Parts {
    /// The layout that cuts the model over the ranks.
    pub layout: Layout,
    /// Facts that only both sides together tell.
    pub plan: Plan,
    /// Ranks that hold each operation, by its name in the whole model.
    pub ranks: ByName<Vec<u64>>,
    /// Values that were recorded and are not compared, as they do not merge.
    pub unmerged: u64,
    /// Row names of these, but for those outside of modules.
    pub unmerged_rows: HashSet<String>,
    /// Copies of a value that differ between ranks, in the order of the model.
    pub differing: Vec<Differing>,
    /// Ranks of one group whose losses differ although each computes that of the whole.
    pub differing_loss: Option<Vec<u64>>,
    /// A dropout mask that all ranks of a group share, while what it is multiplied by differs.
    pub shared_mask: Option<SharedMask>,
    /// Whether elements of any value can be read.
    pub has_elements: bool,
}

/// A mask that several ranks multiply different values by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedMask {
    /// Row name of the mask.
    pub row: String,
    /// Ranks that have it.
    pub ranks: Vec<u64>,
}

/// Ranks that hold operations, being gathered; most operations share them with others.
#[derive(Default)]
pub(super) struct Holders {
    names: ByNameBuilder<Vec<u64>>,
    known: HashMap<Vec<u64>, u32>,
}

impl Holders {
    /// Notes the ranks that hold an operation.
    pub(super) fn add(&mut self, operation: &str, ranks: Vec<u64>) {
        let index = *self.known.entry(ranks).or_insert_with_key(|ranks| self.names.value(ranks.clone()));
        self.names.name(operation, index);
    }

    pub(super) fn finish(self) -> ByName<Vec<u64>> {
        self.names.finish()
    }
}

impl Parts {
    /// No parts yet.
    pub(super) fn new(layout: Layout, plan: Plan) -> Self {
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

/// Relative difference up to which copies of a parameter are equal, as one run alone is held to.
pub const COPIES: f64 = 1e-6;

/// Copies of one value that differ between ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Differing {
    /// The operation, by its name in the whole model.
    pub operation: String,
    /// Row name of the value.
    pub row: String,
    /// Role of the value.
    pub kind: TensorKind,
    /// Ranks that hold copies.
    pub ranks: Vec<u64>,
    /// Largest relative difference of a statistic.
    pub error: f64,
    /// Whether it is the output layer's weight, which is the embedding's too.
    pub is_tied: bool,
}

/// A part of a dump that could not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The kind of part.
    pub kind: DamageKind,
    /// The file, row or operation; the first where there are several.
    pub place: String,
    /// Reason in words for people; empty where the kind says all.
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
    /// A name that stands more than once.
    Repeated,
}

impl Dump {
    /// The dump of a whole model, of the dumps of its ranks.
    pub(super) fn of_parts(ranks: Vec<Self>, operations: Operations, parts: Parts) -> Self {
        let (task, level, framework) = ranks.first().map_or_else(Default::default, |first| {
            let is_by_statistics = first.task == "tensor" && !parts.has_elements;
            let task = if is_by_statistics { "statistics" } else { &first.task };
            (task.to_owned(), first.level.clone(), first.framework.clone())
        });
        let damage = ranks.into_iter().flat_map(|rank| rank.damage).collect();
        Self { task, level, framework, operations, damage, parts: Some(Arc::new(parts)), ..Self::default() }
    }

    /// Notes parts of a kind that could not be used.
    pub(super) fn damaged_often(&mut self, damage: Damage) {
        let is_known = |known: &&mut Damage| known.kind == damage.kind && damage.kind != DamageKind::SideFile;
        match self.damage.iter_mut().find(is_known) {
            Some(known) => known.count += damage.count,
            None => self.damage.push(damage),
        }
    }

    /// Notes a part that could not be used; of each kind of records the first is kept, and the number of all.
    pub(super) fn damaged(&mut self, kind: DamageKind, place: &str, reason: impl Into<String>) {
        self.damaged_often(Damage { kind, place: place.to_owned(), reason: reason.into(), count: 1 });
    }
}
