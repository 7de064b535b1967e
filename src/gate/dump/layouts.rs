//! Dumps of two runs that split the same model differently: each side is merged into the values of the whole model before
//! they are paired.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::units::ComparedUnit;
use crate::diagnose::wrong_shards;
use crate::error::Error;
use crate::gate::outcome::damaged_finding;
use crate::judge::dump::unit::JudgedUnit;
use crate::judge::layout as rules;
use crate::kind::TensorKind;
use crate::layout::{Layout, LayoutSource};
use crate::pair::layout::{
    LayoutSigns, assembly_plans, backward_factor, infer_layouts, layout_contradictions, samples_per_step,
};
use crate::pair::unit::UnitPair;
use crate::policy::Policy;
use crate::policy::dump::Refinement;
use crate::read::dump::name::OpName;
use crate::read::dump::{
    AssembledDump, AssembledParts, AssemblyPlan, DumpFolder, DumpFormat, KnownCalls, RankCalls, WholeModel, read_each,
};
use crate::read::launch::LaunchArguments;
use crate::result::finding::Finding;
use crate::result::layout::Layouts;
use crate::result::unit::{Culprit, CulpritLayout, ShardPlace, UnitRanks};
use crate::verdict::{CheckId, PerSide, Side};

/// Dumps of both sides, ready to be paired.
#[derive(Default)]
pub(super) struct ArrangedDumps {
    /// The layouts, where they are known.
    pub(super) layouts: Option<Layouts>,
    /// Dumps of the whole model for each step; `None` where ranks are paired as they are.
    pub(super) whole: Option<PerSide<Vec<DumpFolder>>>,
    /// Findings about the layouts.
    pub(super) findings: Vec<Finding>,
    /// Whether nothing can be compared.
    pub(super) is_refused: bool,
}

/// Folders of the ranks of one step.
type Ranks<'f> = BTreeMap<u64, &'f DumpFolder>;
type Steps<'f> = BTreeMap<u64, Ranks<'f>>;

/// Finds how both sides split their model, and merges the ranks of each where they split it differently.
pub(super) fn arrange(baseline: &[DumpFolder], candidate: &[DumpFolder], policy: &Policy) -> ArrangedDumps {
    if baseline.is_empty() || candidate.is_empty() {
        return ArrangedDumps::default();
    }
    let Some(steps) = steps(baseline).zip(steps(candidate)) else { return ArrangedDumps::default() };
    let steps = PerSide { baseline: steps.0, candidate: steps.1 };
    let worlds = PerSide::of(|side| steps[side].values().map(BTreeMap::len).max().unwrap_or_default());
    let arguments = PerSide::of(|side| {
        let folder = steps[side].values().flat_map(BTreeMap::values).next();
        folder.and_then(|folder| LaunchArguments::find_beside_artifacts(folder.files.as_ref()))
    });
    let known = PerSide::of(|side| {
        let of_arguments = || arguments[side].as_ref().and_then(|found| found.layout(worlds[side] as u64));
        policy.layout.declared_layout(side).or_else(of_arguments)
    });
    let is_declared = known.each().any(Option::is_some);
    if !is_declared && worlds.each().all(|world| *world <= 1) {
        return ArrangedDumps::default();
    }
    let missing: Vec<Finding> =
        Side::BOTH.into_iter().filter_map(|side| of_ranks(side, known[side].as_ref()?, &steps[side])).collect();
    if !missing.is_empty() {
        return ArrangedDumps { findings: missing, is_refused: true, ..ArrangedDumps::default() };
    }
    let signs = match signs(&steps, is_declared) {
        Ok(Some(signs)) => signs,
        Ok(None) => return ArrangedDumps::default(),
        Err((side, error)) => {
            return ArrangedDumps {
                findings: vec![damaged_finding(CheckId::Dump, side, &error)],
                is_refused: true,
                ..ArrangedDumps::default()
            };
        }
    };
    let contradicted: Vec<Finding> =
        layout_contradictions(&known, &signs).iter().map(rules::layout_contradiction).collect();
    if !contradicted.is_empty() {
        return ArrangedDumps { findings: contradicted, is_refused: true, ..ArrangedDumps::default() };
    }
    let Some(layouts) = infer_layouts(&signs, &known) else {
        if !signs.baseline.holds_other_parts(&signs.candidate) {
            return ArrangedDumps::default();
        }
        let finding = Finding::new(&rules::UNCERTAIN, "layout");
        let finding = finding.with("baseline", signs.baseline.world()).with("candidate", signs.candidate.world());
        return ArrangedDumps { findings: vec![finding], is_refused: true, ..ArrangedDumps::default() };
    };
    if let [Some(baseline_samples), Some(candidate_samples)] = samples_per_step(&signs, &layouts).into_array()
        && baseline_samples != candidate_samples
    {
        let finding =
            Finding::new(&rules::CONTRADICTED, "layout").with("side", Side::Candidate.as_str()).with("size", "samples");
        let findings = vec![finding.with("declared", baseline_samples).with("found", candidate_samples)];
        return ArrangedDumps { findings, is_refused: true, ..ArrangedDumps::default() };
    }
    let told = Layouts { baseline: layouts.baseline.clone(), candidate: layouts.candidate.clone() };
    if layouts.baseline.cuts_as(&layouts.candidate) {
        return ArrangedDumps { layouts: Some(told), ..ArrangedDumps::default() };
    }
    let mut findings = Vec::new();
    if Side::BOTH.iter().any(|side| layouts[*side].source == LayoutSource::Inferred && layouts[*side].world() > 1) {
        findings.push(Finding::new(&rules::INFERRED, "layout").with("layout", layouts.candidate.to_string()));
    }
    findings.push(rules::layout_difference(&layouts));
    // A pipeline stage holds whole values, so its checksums compare; the checksum of a part of a value does not.
    let parts = PerSide::of(|side| (layouts[side].tp, layouts[side].dp, layouts[side].cp));
    if parts.baseline != parts.candidate && signs.each().any(|signs| signs.has_checksums) {
        findings.push(Finding::new(&rules::NOT_MERGEABLE, "layout").with("layout", layouts.candidate.to_string()));
        return ArrangedDumps { layouts: Some(told), findings, is_refused: true, whole: None };
    }
    if signs.each().all(|signs| signs.stages().is_none()) {
        if let Some(whole) = of_calls(&steps, &layouts) {
            return ArrangedDumps { layouts: Some(told), whole: Some(whole), findings, is_refused: false };
        }
        findings.push(
            Finding::new(&rules::NOT_MERGEABLE, "layout")
                .with("layout", layouts.candidate.to_string())
                .with("calls", 1_u64),
        );
        return ArrangedDumps { layouts: Some(told), findings, is_refused: true, whole: None };
    }
    let mut plans = assembly_plans(&signs, &layouts);
    let has_scale = policy.dump.has_refinement(Refinement::LossScale);
    for plan in [&mut plans.baseline, &mut plans.candidate] {
        plan.has_placement = policy.dump.has_refinement(Refinement::Placement);
        plan.backward_scale = if has_scale { plan.backward_scale } else { 1.0 };
    }
    if has_scale
        && layouts.each().any(|layout| layout.micro_batches > 1)
        && let Some(factor) = of_convention(&steps, &layouts, &plans)
    {
        plans.candidate.backward_scale *= factor;
        let told = findings.pop().map(|finding| finding.with("factor", factor));
        findings.extend(told);
    }
    let whole = PerSide::of(|side| {
        steps[side].values().filter_map(|ranks| whole(ranks, &layouts[side], plans[side])).collect()
    });
    ArrangedDumps { layouts: Some(told), whole: Some(whole), findings, is_refused: false }
}

/// The ranks of each step; `None` where a dump is not of modules and calls, or a rank occurs twice.
fn steps(folders: &[DumpFolder]) -> Option<Steps<'_>> {
    let mut steps = Steps::new();
    for folder in folders {
        if folder.format != DumpFormat::Msprobe {
            return None;
        }
        let known = steps.entry(folder.step).or_default().insert(folder.rank.unwrap_or_default(), folder);
        if known.is_some() {
            return None;
        }
    }
    Some(steps)
}

/// The dump of the whole model of one step, of modules.
fn whole(ranks: &Ranks<'_>, layout: &Layout, plan: AssemblyPlan) -> Option<DumpFolder> {
    folder(ranks, |ranks| Arc::new(AssembledDump::new(ranks, layout.clone(), plan)))
}

/// The dump folder that represents all ranks of one step.
fn folder(ranks: &Ranks<'_>, model: impl FnOnce(Vec<(u64, DumpFolder)>) -> Arc<dyn WholeModel>) -> Option<DumpFolder> {
    let first = (*ranks.values().next()?).clone();
    let ranks = ranks.iter().map(|(rank, folder)| (*rank, (*folder).clone())).collect();
    Some(DumpFolder { rank: None, assembled: Some(model(ranks)), ..first })
}

/// The layouts of runs whose ranks are paired as they are, by the signs of their first step.
pub(super) fn alike(signs: &PerSide<LayoutSigns>) -> Option<Layouts> {
    let layouts = infer_layouts(signs, &PerSide::default()).filter(|_| signs.each().all(|signs| signs.world() > 1))?;
    let is_one = layouts.baseline.cuts_as(&layouts.candidate);
    is_one.then_some(Layouts { baseline: layouts.baseline, candidate: layouts.candidate })
}

/// Merges dumps that hold calls only. One side has to be a single rank, and the other plain tensor parallelism; `None` for
/// other layouts.
fn of_calls(steps: &PerSide<Steps<'_>>, layouts: &PerSide<Layout>) -> Option<PerSide<Vec<DumpFolder>>> {
    let is_of_projections = |layout: &Layout| layout.world() == u64::from(layout.tp) && layout.micro_batches == 1;
    let whole = Side::BOTH.into_iter().find(|side| layouts[*side].world() == 1)?;
    if !layouts.each().all(is_of_projections) {
        return None;
    }
    let first = |side: Side| steps[side].values().next()?.values().next()?.read().ok();
    let known = Arc::new(KnownCalls::new(&first(whole)?, &first(whole.other())?));
    let of_step = |side: Side, ranks: &Ranks<'_>| {
        let layout = layouts[side].clone();
        folder(ranks, |ranks| Arc::new(RankCalls { ranks, layout, known: Arc::clone(&known) }))
    };
    Some(PerSide::of(|side| steps[side].values().filter_map(|ranks| of_step(side, ranks)).collect()))
}

/// Constant factor of the candidate's backward pass that does not change its update, from the first two steps.
fn of_convention(steps: &PerSide<Steps<'_>>, layouts: &PerSide<Layout>, plans: &PerSide<AssemblyPlan>) -> Option<f64> {
    let read = |at: usize| {
        let of = |side: Side| whole(steps[side].values().nth(at)?, &layouts[side], plans[side])?.read().ok();
        Some(PerSide { baseline: of(Side::Baseline)?, candidate: of(Side::Candidate)? })
    };
    backward_factor(&read(0)?, &read(1)?)
}

/// Signs of both sides, each from its first readable step; `None` where the first ranks of both sides are alike, so that
/// ranks are paired directly.
///
/// # Errors
/// The first error of a side without a readable step, where ranks cannot be paired directly.
fn signs(steps: &PerSide<Steps<'_>>, is_declared: bool) -> Result<Option<PerSide<LayoutSigns>>, (Side, Error)> {
    let worlds = PerSide::of(|side| steps[side].values().next().map(BTreeMap::len));
    if !is_declared && worlds.baseline == worlds.candidate {
        let first = |side: Side| {
            let mut signs = LayoutSigns::new();
            signs.add(&steps[side].values().next()?.values().next()?.read().ok()?);
            Some(signs)
        };
        // Ranks that cannot be read are reported when they are paired.
        let alike = first(Side::Baseline)
            .zip(first(Side::Candidate))
            .is_none_or(|(baseline, candidate)| baseline.holds_same_parts(&candidate));
        if alike {
            return Ok(None);
        }
    }
    let of = |side: Side| readable(&steps[side]).map_err(|error| (side, error));
    let (baseline, candidate) = rayon::join(|| of(Side::Baseline), || of(Side::Candidate));
    Ok(Some(PerSide { baseline: baseline?, candidate: candidate? }))
}

/// Signs of the first step of which every rank can be read.
fn readable(steps: &Steps<'_>) -> Result<LayoutSigns, Error> {
    let of_step = |ranks: &Ranks<'_>| {
        let mut signs = LayoutSigns::new();
        read_each(ranks.values().copied(), |dump| signs.add(&dump))?;
        Ok(signs)
    };
    let mut tried = steps.values().map(of_step);
    let first = tried.next().unwrap_or_else(|| Ok(LayoutSigns::new()));
    match first {
        Ok(signs) => Ok(signs),
        Err(error) => tried.find_map(Result::ok).ok_or(error),
    }
}

/// Finding about the first step whose ranks do not fit the layout.
fn of_ranks(side: Side, layout: &Layout, steps: &Steps<'_>) -> Option<Finding> {
    let of_step = |(step, ranks): (&u64, &Ranks<'_>)| {
        Some(rules::ranks_mismatch(side, layout, &ranks.keys().copied().collect())?.with("step", *step))
    };
    steps.iter().find_map(of_step)
}

/// Notes in a judged unit which ranks its values were merged from, which values did not merge, and which copies differ.
pub(super) fn note_parts(unit: &ComparedUnit<'_>, judged: &mut JudgedUnit, policy: &Policy) {
    let (Some(baseline), Some(candidate)) = (&unit.baseline().parts, &unit.candidate().parts) else { return };
    let ranks = |parts: &AssembledParts| {
        let all: BTreeSet<u64> = parts.ranks.values().iter().flatten().copied().collect();
        all.into_iter().collect()
    };
    judged.unit.ranks = Some(UnitRanks { baseline: ranks(baseline), candidate: ranks(candidate) });
    let unmerged = baseline.unmerged + candidate.unmerged;
    if unmerged > 0 {
        judged.unit.evidence.shown_only += unmerged;
        judged.unit.evidence.example("not-merged", format!("{unmerged} values"));
    }
    if policy.dump.has_refinement(Refinement::Replicas) {
        note_copies(unit, judged, [baseline, candidate]);
    }
    if let Some(culprit) = &mut judged.unit.culprit {
        culprit.layout = candidate.ranks.get(&culprit.op).map(|ranks| CulpritLayout {
            module: module_of(&culprit.op),
            ranks: ranks.clone(),
            shard: None,
        });
    }
}

/// Notes copies that differ between ranks.
fn note_copies(unit: &ComparedUnit<'_>, judged: &mut JudgedUnit, [baseline, candidate]: [&AssembledParts; 2]) {
    let step = judged.unit.step;
    judged.findings.extend(Side::BOTH.into_iter().filter_map(|side| {
        let dump = if side == Side::Baseline { unit.baseline() } else { unit.candidate() };
        rules::differing_copies(dump.parts.as_deref()?, side, step)
    }));
    let differing = candidate.differing.first().filter(|_| baseline.differing.is_empty());
    if let (Some(culprit), Some(differing)) = (&mut judged.unit.culprit, differing)
        && differing.kind == TensorKind::Parameter
        && culprit.tensor == differing.row
    {
        // For a parameter, differing copies explain more than a single wrong value.
        rules::blame_copies(culprit);
    }
    if judged.unit.culprit.is_none() && baseline.differing.is_empty() {
        judged.unit.culprit =
            candidate.differing.first().map(|found| rules::copies_culprit(found, &unit.candidate().operations, step));
    }
}

/// Reduces the culprit's ranks to those whose parts of the value hold the error.
pub(super) fn narrow(culprit: &mut Culprit, pair: &UnitPair<'_>) {
    let (Some(layout), Some(location)) = (&mut culprit.layout, &culprit.location) else { return };
    let shards = pair.candidate.shards(&culprit.tensor);
    let wrong = wrong_shards(&shards, location);
    if let [shard] = wrong.as_slice() {
        layout.shard = Some(ShardPlace { axis: shard.axis as u64, index: shard.index as u64, of: shard.count as u64 });
    }
    if !wrong.is_empty() {
        layout.ranks = wrong.iter().map(|shard| shard.rank).collect();
    }
}

/// The module's path in the name of its operation.
fn module_of(operation: &str) -> String {
    let base = OpName::parse(operation).base;
    let below = base.split_once('.').map_or(base, |(_, rest)| rest);
    below.rsplit_once('.').map_or(below, |(path, _)| path).to_owned()
}
