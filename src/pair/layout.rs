//! Parallel layouts inferred from dumps (docs/layouts.md).
//!
//! Ranks with the same modules are one stage; a weight that is smaller than the other side's is a part of it; tokens that are
//! fewer than the other side's are a part of the sequence.

mod tables;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::Hash;

use crate::hash::{ByHash, FastSet, Hashes};
use crate::kind::TensorKind;
use crate::layout::placement::ModuleKind;
use crate::layout::{Layout, LayoutConfidence, LayoutSource};
use crate::read::dump::name::{Direction, OpName};
use crate::read::dump::{AssemblyPlan, Dump, Leaf, TensorRecord};
use crate::verdict::{PerSide, Side};

/// Signs of the parallel layout in the dumps of one side's ranks.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LayoutSigns {
    /// Number of ranks.
    world: u64,
    /// Digest of the modules of each rank; `None` of one without.
    modules: Vec<Option<u64>>,
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
    /// Number of samples that a rank is given at once, and of the tokens in each.
    pub tokens: Option<[u64; 2]>,
    /// Statistics of the first rank's tokens, and the number of ranks that are given the same.
    same_tokens: Option<([Option<u64>; 4], u64)>,
    /// Whether norms see less of the sequence than the projection behind them.
    is_sequence_parallel: bool,
    /// Whether torch shards parameters.
    is_sharded: bool,
    /// Calls of the embedding in a step.
    pub calls: u32,
    /// Whether values are recorded as checksums.
    pub has_checksums: bool,
    /// Parameters of the first rank's modules, with their shapes.
    parameters: BTreeMap<String, Vec<u64>>,
}

/// A module of a dump by its path, without the number of a chunk.
struct ModuleOf<'n> {
    chunk: Option<u32>,
    path: &'n str,
    class: &'n str,
    name: OpName<'n>,
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

impl LayoutSigns {
    /// Starts without ranks; they are added one after the other.
    pub(crate) fn new() -> Self {
        Self { chunks: 1, calls: 1, ..Self::default() }
    }

    /// Number of ranks.
    pub(crate) fn world(&self) -> u64 {
        self.world
    }

    /// Adds the next rank of one step.
    pub(crate) fn add(&mut self, dump: &Dump) {
        let mut modules = FastSet::default();
        self.rank(dump, &mut modules);
        self.world += 1;
        self.add_modules(&modules.into_iter().collect());
    }

    /// Adds the modules of the next rank, of which a digest is kept.
    fn add_modules<M: Hash + Ord>(&mut self, modules: &BTreeSet<M>) {
        self.modules.push((!modules.is_empty()).then(|| crate::hash::hash_of(modules)));
    }

    /// Number of pipeline stages. Middle stages look alike, so the number of ranks with the first stage's modules gives it.
    pub(crate) fn stages(&self) -> Option<u32> {
        let first = (*self.modules.first()?)?;
        let alike = self.modules.iter().filter(|other| **other == Some(first)).count();
        self.modules.len().is_multiple_of(alike).then(|| u32::try_from(self.modules.len() / alike).ok()).flatten()
    }

    /// Adds the signs of one rank, and the chunks and paths of its modules to `modules`.
    fn rank<'d>(&mut self, dump: &'d Dump, modules: &mut FastSet<(Option<u32>, &'d str)>) {
        let is_first = self.parameters.is_empty();
        let mut calls = BTreeSet::new();
        let mut norm: Option<u64> = None;
        let mut is_forward = true;
        self.has_checksums |= dump.operations.first_checksum().is_some();
        for operation in dump.operations.iter() {
            // After the backward pass, gradients are reduced over other groups.
            is_forward &= !operation.name.contains(".backward");
            if is_forward && operation.name.starts_with("Distributed.all_reduce") {
                let size = operation.leaves.iter().find_map(group_size);
                self.group = self.group.or(size);
            }
            let Some(module) = ModuleOf::of(operation.name) else { continue };
            self.chunks = self.chunks.max(module.chunk.map_or(1, |chunk| chunk.saturating_add(1)));
            self.is_sharded |= module.class.starts_with("FSDP");
            if !module.path.contains("expert") {
                modules.insert((module.chunk, module.path));
            }
            let tensor = |kind: &str| {
                let leaf = operation.leaves.iter().find(|leaf| leaf.row.below_operation().ends_with(kind));
                leaf.and_then(|leaf| leaf.record())
            };
            let kind = ModuleKind::from_path(module.path, module.class);
            if let Some(weight) = tensor(".parameters.weight") {
                if is_first {
                    self.parameters.insert(module.path.to_owned(), weight.shape.to_vec());
                }
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
                    let given = tensor(".input.0").filter(|_| calls.len() == 1);
                    if let Some([samples, tokens]) = given.map(|one| one.shape) {
                        self.tokens = self.tokens.or(Some([*samples, *tokens]));
                    }
                    let bits = given.map(|one| one.statistics().map(|value| value.as_f64().map(f64::to_bits)));
                    if let Some(bits) = bits {
                        let (first, count) = self.same_tokens.get_or_insert((bits, 0));
                        *count += u64::from(*first == bits);
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
    pub(crate) fn is_tied(&self) -> bool {
        let [embedding, output] = self.ends;
        embedding.is_some() && embedding == output
    }

    /// Whether the first ranks of both sides hold the same parameters in the same shapes, and are given as much.
    pub(crate) fn holds_same_parts(&self, other: &Self) -> bool {
        let cut =
            |signs: &Self| (signs.tokens, signs.calls, signs.is_sequence_parallel, signs.is_sharded, signs.chunks);
        self.parameters == other.parameters && self.modules.first() == other.modules.first() && cut(self) == cut(other)
    }

    /// Whether the first ranks of both sides hold the same parameter in different shapes, and so different parts of it.
    pub(crate) fn holds_other_parts(&self, other: &Self) -> bool {
        let is_other = |(name, shape): (&String, &Vec<u64>)| other.parameters.get(name).is_some_and(|own| own != shape);
        self.parameters.iter().any(is_other)
    }

    /// Tensor parallelism from this side alone: the whole projection after attention is square.
    fn tp_alone(&self) -> Option<u32> {
        if self.world == 1 {
            return Some(1);
        }
        let square = self
            .proj
            .filter(|[rows, columns]| *columns > 0 && rows % columns == 0)
            .map(|[rows, columns]| rows / columns);
        let is_possible = |tp: &u64| *tp > 0 && self.world.is_multiple_of(*tp);
        // Ranks of one group are given the same tokens, others are not.
        let same_tokens = self.same_tokens.map(|(_, count)| count).filter(|count| *count > 1);
        square
            .filter(is_possible)
            .or(self.group.filter(is_possible))
            .or(same_tokens.filter(is_possible))
            .and_then(|tp| u32::try_from(tp).ok())
    }
}

/// Ranks of the group of a collective.
fn group_size(leaf: Leaf<'_>) -> Option<u64> {
    use crate::read::json::Json;
    let crate::read::dump::LeafValue::Plain { value, .. } = leaf.value else { return None };
    match value.get("group_ranks") {
        Some(Json::Array(ranks)) => Some(ranks.len() as u64),
        _ => None,
    }
}

/// The layouts of both sides, inferred from the signs where they are not known; `None` where the signs do not suffice.
pub(crate) fn infer_layouts(signs: &PerSide<LayoutSigns>, known: &PerSide<Option<Layout>>) -> Option<PerSide<Layout>> {
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
    // A side of one rank holds whole weights, which show the other side's parts.
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
        let pp = own.stages()?;
        let cp = own.tokens.zip(tokens[side.other()]).map_or(1, |([_, local], whole)| {
            let is_part = own.world > 1 && local > 0 && whole > local && whole % local == 0;
            if is_part { whole / local } else { 1 }
        });
        let rest = u64::from(tp).checked_mul(u64::from(pp))?.checked_mul(cp)?;
        (rest > 0 && own.world.is_multiple_of(rest)).then_some(())?;
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
    let layouts = PerSide { baseline: one(Side::Baseline)?, candidate: one(Side::Candidate)? };
    // Both sides are given the same samples in a step, unless a rank is missing.
    let [baseline, candidate] = samples_per_step(signs, &layouts).into_array();
    (known.each().all(Option::is_some) || baseline == candidate).then_some(layouts)
}

/// Samples that each side is given in one step; `None` where no module takes tokens.
pub(crate) fn samples_per_step(signs: &PerSide<LayoutSigns>, layouts: &PerSide<Layout>) -> PerSide<Option<u64>> {
    PerSide::of(|side| {
        let [samples, _] = signs[side].tokens?;
        let ranks = u64::from(layouts[side].dp).saturating_mul(u64::from(layouts[side].micro_batches));
        Some(samples.saturating_mul(ranks))
    })
}

/// A declared size of a layout that the signs of its side contradict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LayoutContradiction {
    /// The side.
    pub side: Side,
    /// Name of the size.
    pub size: &'static str,
    /// The size as it is declared.
    pub declared: u64,
    /// The size that the signs show.
    pub found: u64,
}

/// For each side, the first known size that its signs contradict.
pub(crate) fn layout_contradictions(
    known: &PerSide<Option<Layout>>,
    signs: &PerSide<LayoutSigns>,
) -> Vec<LayoutContradiction> {
    let whole = |side: Side| {
        let [rows, columns] = signs[side].proj?;
        Some([rows, columns.checked_mul(u64::from(known[side].as_ref()?.tp))?])
    };
    // The heads together may be wider or narrower than the model, so a projection need not be square.
    let is_as_wide = whole(Side::Baseline).is_some_and(|baseline| whole(Side::Candidate) == Some(baseline));
    let of = |side: Side| {
        let (size, declared, found) = contradiction(known[side].as_ref()?, &signs[side])?;
        (size != "tp" || !is_as_wide).then_some(LayoutContradiction { side, size, declared, found })
    };
    Side::BOTH.into_iter().filter_map(of).collect()
}

fn contradiction(layout: &Layout, signs: &LayoutSigns) -> Option<(&'static str, u64, u64)> {
    let stages = signs.stages().map(u64::from).filter(|stages| *stages != u64::from(layout.pp));
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

/// Plans for merging the ranks of each side, from facts that need both sides.
pub(crate) fn assembly_plans(signs: &PerSide<LayoutSigns>, layouts: &PerSide<Layout>) -> PerSide<AssemblyPlan> {
    let [baseline, candidate] = [&layouts.baseline, &layouts.candidate];
    let has_batches = baseline.micro_batches > 1 || candidate.micro_batches > 1;
    let merges_calls = has_batches && (baseline.dp, baseline.micro_batches) != (candidate.dp, candidate.micro_batches);
    let whole = |side: Side, of: fn(&LayoutSigns) -> Option<u64>| {
        of(&signs[side]).map(|rows| rows.saturating_mul(u64::from(layouts[side].tp)))
    };
    let differs = |of: fn(&LayoutSigns) -> Option<u64>| {
        whole(Side::Baseline, of)
            .zip(whole(Side::Candidate, of))
            .is_some_and(|(baseline, candidate)| baseline != candidate)
    };
    let has_tied_parts = baseline.pp != candidate.pp && Side::BOTH.iter().any(|side| signs[*side].is_tied());
    let has_other_experts = baseline.ep != candidate.ep;
    let (is_padded, has_key_copies) = (differs(|signs| signs.vocabulary), differs(|signs| signs.qkv));
    let deals_nothing =
        |layout: &Layout| [layout.dp, layout.cp, layout.ep, layout.micro_batches].iter().all(|size| *size == 1);
    let has_elements = layouts.each().all(deals_nothing);
    PerSide::of(|side| AssemblyPlan {
        merges_calls,
        backward_scale: f64::from(layouts[side].dp) * f64::from(layouts[side].cp),
        is_padded,
        has_key_copies,
        has_tied_parts,
        is_tied: signs.baseline.is_tied(),
        has_other_experts,
        tokens: signs[side].tokens,
        has_placement: true,
        has_elements,
    })
}

/// Rows of values that were merged into different shapes on the two sides: positions and masks, for example, are the same on
/// every rank and no part of a batch. Parameters have the same shape in every layout.
pub(crate) fn rows_of_other_shapes(dumps: [&Dump; 2]) -> HashSet<String> {
    // Hashes instead of row names save memory: there is one per value.
    let [dump, other] = dumps;
    let (baseline, candidate) = rayon::join(|| shapes_of_rows(dump), || shapes_of_rows(other));
    let differs = |row: &u64| baseline.get(row).zip(candidate.get(row)).is_some_and(|(own, other)| own != other);
    let rows: Hashes = baseline.keys().copied().filter(differs).collect();
    // Shapes that differ in most rows do not come from the layout.
    if rows.is_empty() || rows.len() * 2 > baseline.len() {
        return HashSet::new();
    }
    let names = dump.operations.leaves().filter(|leaf| is_of_shape(leaf) && rows.contains(&hash_of(leaf)));
    names.map(|leaf| leaf.row.to_string()).collect()
}

/// The shape of each row that is no parameter, by the hash of its name.
fn shapes_of_rows(dump: &Dump) -> ByHash<&[u64]> {
    let leaves = dump.operations.leaves().filter(is_of_shape);
    leaves.filter_map(|leaf| Some((hash_of(&leaf), leaf.record()?.shape))).collect()
}

fn is_of_shape(leaf: &Leaf<'_>) -> bool {
    leaf.kind != TensorKind::Parameter && leaf.tensor().is_some()
}

fn hash_of(leaf: &Leaf<'_>) -> u64 {
    crate::hash::hash_of(leaf.row.text().as_ref())
}

/// Number of backward values from which a constant factor means anything.
const FEWEST: usize = 3;
/// Largest relative scatter of a constant factor over the norms of gradients.
const SCATTER: f64 = 1e-3;
/// Distance from 1 up to which a factor counts as no factor.
const NO_FACTOR: f64 = 1e-2;
/// Largest relative difference of parameters after the same update; different kernels cause about a sixth of it.
const SAME_UPDATE: f64 = 6e-6;

/// Constant factor of the candidate's whole backward pass that does not change the update: the loss is not divided by the number
/// of micro-batches, but the gradients are. `first` and `second` are both sides' dumps of a step and of the next one.
pub(crate) fn backward_factor(first: &PerSide<Dump>, second: &PerSide<Dump>) -> Option<f64> {
    let factors: Vec<f64> = norms(first, |name| name.contains(".backward."))
        .filter(|[baseline, _]| *baseline > 0.0)
        .map(|[baseline, candidate]| candidate / baseline)
        .collect();
    let factor = crate::median::upper_median(factors.clone()).filter(|_| factors.len() >= FEWEST)?;
    let is_constant = factors.iter().all(|one| (one - factor).abs() <= SCATTER * factor);
    let mut parameters = 0_usize;
    let is_same_update = norms(second, |name| name.contains(".forward.")).all(|[baseline, candidate]| {
        parameters += 1;
        (baseline - candidate).abs() <= SAME_UPDATE * baseline.abs()
    });
    (is_constant && (factor - 1.0).abs() > NO_FACTOR && is_same_update && parameters > 0).then_some(factor)
}

/// Both sides' norms of the gradients that enter backward operations, or of the parameters of forward operations.
fn norms<'d>(dumps: &'d PerSide<Dump>, wanted: fn(&str) -> bool) -> impl Iterator<Item = [f64; 2]> + 'd {
    let of = move |dump: &'d Dump| -> BTreeMap<String, f64> {
        let operations = dump.operations.iter().filter(move |operation| wanted(operation.name));
        let leaves = operations.flat_map(|operation| operation.leaves.iter());
        let kind = |kind, row: &str| {
            if row.contains(".backward.") { kind == TensorKind::Input } else { kind == TensorKind::Parameter }
        };
        leaves
            .filter_map(|leaf| {
                let row = leaf.row.to_string();
                let norm = leaf.record()?.norm.as_f64().filter(|_| kind(leaf.kind, &row))?;
                Some((row, norm))
            })
            .collect()
    };
    let (baseline, candidate) = (of(&dumps.baseline), of(&dumps.candidate));
    baseline.into_iter().filter_map(move |(row, norm)| Some([norm, *candidate.get(&row)?]))
}
