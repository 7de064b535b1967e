//! Parallel layouts that dumps show by themselves (docs/layouts.md).
//!
//! Ranks with the same modules are one stage; a weight that is smaller than the other side's is a part of it; tokens that are
//! fewer than the other side's are a part of the sequence.

mod tables;

use std::collections::{BTreeMap, BTreeSet};

use crate::layout::placement::ModuleKind;
use crate::layout::{Layout, LayoutConfidence, LayoutSource};
use crate::read::dump::name::{Direction, OpName};
use crate::read::dump::{Dump, Plan, TensorRecord};
use crate::verdict::{PerSide, Side};

/// Signs of the layout in the dumps of one side's ranks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Signs {
    /// Number of ranks.
    pub world: u64,
    /// Stages, by the modules of the ranks; `None` without modules.
    pub stages: Option<u32>,
    /// Chunks of the model on each rank.
    pub chunks: u32,
    /// Rows and columns of the projection behind attention.
    proj: Option<[u64; 2]>,
    /// Rows of the fused projection before attention.
    qkv: Option<u64>,
    /// Statistics of the first part of the embedding's weight and of the output layer's, as bits.
    ends: [Option<[u64; 4]>; 2],
    /// Rows of the embedding of the vocabulary.
    pub vocabulary: Option<u64>,
    /// Size of the groups of collectives inside of modules.
    group: Option<u64>,
    /// Experts that a router chooses from, and those that a rank holds.
    experts: Option<[u64; 2]>,
    /// Samples and tokens of each that a rank is given at once.
    pub tokens: Option<[u64; 2]>,
    /// Whether norms see less of the sequence than the projection behind them.
    is_sequence_parallel: bool,
    /// Whether torch shards parameters.
    is_sharded: bool,
    /// Calls of the embedding in a step.
    pub calls: u32,
    /// Whether values are recorded as checksums.
    pub has_checksums: bool,
    /// Parameters of each rank's modules, with their shapes.
    parameters: Vec<BTreeMap<String, Vec<u64>>>,
}

/// A module of a dump by its path, without the number of a chunk.
struct ModuleOf<'n> {
    chunk: Option<u32>,
    path: &'n str,
    class: &'n str,
    name: OpName,
}

impl<'n> ModuleOf<'n> {
    fn of(name: &'n str) -> Option<Self> {
        let rest = name.strip_prefix("Module.").or_else(|| name.strip_prefix("Cell."))?;
        let parsed = OpName::parse(name);
        let base = rest.get(..parsed.base.len().checked_sub(name.len() - rest.len())?)?;
        let (path, class) = base.rsplit_once('.')?;
        let (chunk, path) = match path.split_once('.') {
            Some((chunk, below)) => chunk.parse().map_or((None, path), |chunk| (Some(chunk), below)),
            None => (None, path),
        };
        parsed.direction?;
        Some(Self { chunk, path, class, name: parsed })
    }

    fn last(&self) -> &'n str {
        self.path.rsplit('.').next().unwrap_or(self.path)
    }
}

impl Signs {
    /// Collects the signs of the dumps of one step's ranks.
    pub fn of(dumps: &[Dump]) -> Self {
        let mut signs = Self { world: dumps.len() as u64, chunks: 1, ..Self::default() };
        let mut modules: Vec<BTreeSet<String>> = Vec::new();
        for dump in dumps {
            let mut own = BTreeSet::new();
            let mut parameters = BTreeMap::new();
            signs.rank(dump, &mut own, &mut parameters);
            modules.push(own);
            signs.parameters.push(parameters);
        }
        signs.stages = stages(&modules);
        signs
    }

    fn rank(&mut self, dump: &Dump, own: &mut BTreeSet<String>, parameters: &mut BTreeMap<String, Vec<u64>>) {
        let mut calls = BTreeSet::new();
        let mut norm: Option<u64> = None;
        for operation in dump.operations.iter() {
            self.has_checksums |=
                operation.leaves.iter().any(|leaf| leaf.record().is_some_and(|one| one.checksum.is_some()));
            if operation.name.starts_with("Distributed.all_reduce") {
                let size = operation.leaves.iter().find_map(group_size);
                self.group = self.group.or(size);
            }
            let Some(module) = ModuleOf::of(operation.name) else { continue };
            self.chunks = self.chunks.max(module.chunk.map_or(1, |chunk| chunk.saturating_add(1)));
            self.is_sharded |= module.class.starts_with("FSDP");
            if !module.path.contains("expert") {
                own.insert(
                    module.chunk.map_or_else(|| module.path.to_owned(), |chunk| format!("{chunk}.{}", module.path)),
                );
            }
            let tensor = |kind: &str| {
                let leaf = operation.leaves.iter().find(|leaf| leaf.row.below_operation().ends_with(kind));
                leaf.and_then(|leaf| leaf.record())
            };
            let kind = ModuleKind::of(module.path, module.class);
            if let Some(weight) = tensor(".parameters.weight") {
                parameters.insert(module.path.to_owned(), weight.shape.to_vec());
                self.weight(&module, kind, &weight);
            }
            let expert =
                module.path.split('.').skip_while(|part| !part.contains("expert")).find_map(|part| part.parse().ok());
            if let Some(expert) = expert {
                let [_, local] = self.experts.get_or_insert([0, 0]);
                *local = (*local).max(u64::saturating_add(expert, 1));
            }
            if module.name.direction != Some(Direction::Forward) {
                continue;
            }
            match kind {
                ModuleKind::Embedding => {
                    calls.insert(module.name.call);
                    if let Some([samples, tokens]) = tensor(".input.0").map(|one| one.shape) {
                        self.tokens = self.tokens.or(Some([*samples, *tokens]));
                    }
                }
                ModuleKind::Norm if module.last() != "router" => {
                    norm = tensor(".output.0").and_then(|one| one.shape.first().copied())
                }
                ModuleKind::Column => {
                    let whole = tensor(".output.0").and_then(|one| one.shape.first().copied());
                    self.is_sequence_parallel |= norm.zip(whole).is_some_and(|(norm, whole)| norm < whole);
                }
                _ => {}
            }
        }
        self.calls = self.calls.max(u32::try_from(calls.len()).unwrap_or(u32::MAX)).max(1);
    }

    fn weight(&mut self, module: &ModuleOf<'_>, kind: ModuleKind, weight: &TensorRecord<'_>) {
        let [rows, columns] = weight.shape else { return };
        let bits = || weight.finite_statistics().map(|statistics| statistics.map(f64::to_bits));
        let [embedding, output] = &mut self.ends;
        match (kind, module.last()) {
            (ModuleKind::Embedding, _) => *embedding = embedding.or_else(bits),
            (_, "output_layer" | "lm_head") => *output = output.or_else(bits),
            _ => {}
        }
        match (kind, module.last()) {
            (ModuleKind::Embedding, _) => self.vocabulary = self.vocabulary.or(Some(*rows)),
            (_, "router" | "gate") => self.experts.get_or_insert([0, 0])[0] = *rows,
            (_, "linear_proj" | "o_proj") => self.proj = self.proj.or(Some([*rows, *columns])),
            (_, "linear_qkv" | "query_key_value" | "qkv_proj") => self.qkv = self.qkv.or(Some(*rows)),
            _ => {}
        }
    }

    /// Whether the embedding and the output layer hold the same numbers.
    pub fn is_tied(&self) -> bool {
        let [embedding, output] = self.ends;
        embedding.is_some() && embedding == output
    }

    /// Whether both sides' ranks hold the same parameters in the same shapes.
    pub fn holds_as(&self, other: &Self) -> bool {
        self.parameters == other.parameters && self.tokens == other.tokens && self.calls == other.calls
    }

    /// Tensor parallelism by what lies on this side alone: a projection behind attention is as wide as it is high.
    fn tp_alone(&self) -> Option<u32> {
        if self.world == 1 {
            return Some(1);
        }
        let square = self
            .proj
            .filter(|[rows, columns]| *columns > 0 && rows % columns == 0)
            .map(|[rows, columns]| rows / columns);
        square.or(self.group).and_then(|tp| u32::try_from(tp).ok())
    }
}

/// Ranks of the group of a collective.
fn group_size(leaf: crate::read::dump::Leaf<'_>) -> Option<u64> {
    use crate::read::json::Json;
    let crate::read::dump::Value::Plain { value, .. } = leaf.value else { return None };
    match value.get("group_ranks") {
        Some(Json::Array(ranks)) => Some(ranks.len() as u64),
        _ => None,
    }
}

/// Stages by the modules of each rank. Stages in the middle look alike, so that the first one's ranks tell their number.
fn stages(modules: &[BTreeSet<String>]) -> Option<u32> {
    let first = modules.first().filter(|first| !first.is_empty())?;
    let alike = modules.iter().filter(|other| *other == first).count();
    (modules.len() % alike == 0).then(|| u32::try_from(modules.len() / alike).ok()).flatten()
}

/// The layouts of both sides, as far as the signs tell them: what is declared stands.
pub fn inferred(signs: &PerSide<Signs>, known: &PerSide<Option<Layout>>) -> Option<PerSide<Layout>> {
    let tp = PerSide::of(|side| match &known[side] {
        Some(layout) => Some(layout.tp),
        None => signs[side].tp_alone(),
    });
    let relative = |side: Side| -> Option<u32> {
        let (own, other) = (&signs[side], &signs[side.other()]);
        let ([_, own_columns], [_, columns]) = (own.proj?, other.proj?);
        let whole = columns.checked_mul(u64::from(tp[side.other()]?))?;
        (own_columns > 0 && whole % own_columns == 0).then(|| u32::try_from(whole / own_columns).ok()).flatten()
    };
    // A side of one rank is whole, so that its weights tell the other's part.
    let tp_of = |side: Side| match &known[side] {
        Some(layout) => Some(layout.tp),
        None if signs[side].world > 1 && signs[side.other()].world == 1 => relative(side).or(tp[side]),
        None => tp[side].or_else(|| relative(side)),
    };
    let tokens = PerSide::of(|side| {
        let cp = match &known[side] {
            Some(layout) => Some(layout.cp),
            None => (signs[side].world == 1).then_some(1),
        };
        signs[side].tokens.zip(cp).map(|([_, tokens], cp)| tokens.saturating_mul(u64::from(cp)))
    });
    let one = |side: Side| -> Option<Layout> {
        if let Some(layout) = &known[side] {
            return Some(layout.clone());
        }
        let own = &signs[side];
        let tp = tp_of(side)?;
        let pp = own.stages?;
        let cp = own.tokens.zip(tokens[side.other()]).map_or(1, |([_, local], whole)| {
            if local > 0 && whole > local && whole % local == 0 { whole / local } else { 1 }
        });
        let rest = u64::from(tp).checked_mul(u64::from(pp))?.checked_mul(cp)?;
        (rest > 0 && own.world % rest == 0).then_some(())?;
        let ep =
            own.experts.map_or(1, |[all, local]| if local > 0 && all % local == 0 { (all / local).max(1) } else { 1 });
        Some(Layout {
            tp,
            pp,
            vpp: own.chunks,
            dp: u32::try_from(own.world / rest).ok()?,
            cp: u32::try_from(cp).ok()?,
            ep: u32::try_from(ep).ok()?,
            sp: own.is_sequence_parallel,
            fsdp: own.is_sharded,
            micro_batches: own.calls,
            confidence: if own.world == 1 { LayoutConfidence::Certain } else { LayoutConfidence::Likely },
            ..Layout::single(LayoutSource::Inferred)
        })
    };
    Some(PerSide { baseline: one(Side::Baseline)?, candidate: one(Side::Candidate)? })
}

/// The first size that is declared and that the signs contradict: its name, declared and found.
pub fn contradiction(layout: &Layout, signs: &Signs) -> Option<(&'static str, u64, u64)> {
    let stages = signs.stages.map(u64::from).filter(|stages| *stages != u64::from(layout.pp));
    if let Some(stages) = stages {
        return Some(("pp", u64::from(layout.pp), stages));
    }
    if signs.chunks > 1 && signs.chunks != layout.vpp {
        return Some(("vpp", u64::from(layout.vpp), u64::from(signs.chunks)));
    }
    let square =
        signs.proj.filter(|[rows, columns]| *columns > 0 && rows % columns == 0).map(|[rows, columns]| rows / columns);
    let group = signs.group.filter(|_| layout.dp == 1 && layout.cp == 1);
    match (square, group) {
        (Some(square), _) if square != u64::from(layout.tp) && (group.is_none() || group == Some(square)) => {
            Some(("tp", u64::from(layout.tp), square))
        }
        _ => None,
    }
}

/// Facts about putting each side together that only both tell.
pub fn plans(signs: &PerSide<Signs>, layouts: &PerSide<Layout>) -> PerSide<Plan> {
    let [ours, theirs] = [&layouts.baseline, &layouts.candidate];
    let has_batches = ours.micro_batches > 1 || theirs.micro_batches > 1;
    let merges_calls = has_batches && (ours.dp, ours.micro_batches) != (theirs.dp, theirs.micro_batches);
    let whole = |side: Side, of: fn(&Signs) -> Option<u64>| {
        of(&signs[side]).map(|rows| rows.saturating_mul(u64::from(layouts[side].tp)))
    };
    let differs = |of: fn(&Signs) -> Option<u64>| {
        whole(Side::Baseline, of).zip(whole(Side::Candidate, of)).is_some_and(|(ours, theirs)| ours != theirs)
    };
    let has_tied_parts = ours.pp != theirs.pp && Side::BOTH.iter().any(|side| signs[*side].is_tied());
    let has_other_experts = ours.ep != theirs.ep;
    let (is_padded, has_key_copies) = (differs(|signs| signs.vocabulary), differs(|signs| signs.qkv));
    PerSide::of(|side| Plan {
        merges_calls,
        backward_scale: f64::from(layouts[side].dp) * f64::from(layouts[side].cp),
        is_padded,
        has_key_copies,
        has_tied_parts,
        is_tied: signs.baseline.is_tied(),
        has_other_experts,
        tokens: signs[side].tokens,
    })
}
