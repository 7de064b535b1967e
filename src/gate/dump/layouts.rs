//! Dumps of two runs that cut the same model differently, put together to the values of the whole model before they are paired.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rayon::prelude::*;

use super::units::Compared;
use crate::judge::dump::unit::JudgedUnit;
use crate::judge::layout as rules;
use crate::layout::{Layout, LayoutSource};
use crate::pair::layout::{Signs, contradiction, inferred, plans};
use crate::policy::layout::LayoutPolicy;
use crate::read::dump::name::OpName;
use crate::read::dump::{Assembled, Dump, DumpFolder, DumpFormat, Parts};
use crate::read::launch::Arguments;
use crate::result::finding::Finding;
use crate::result::layout::Layouts;
use crate::result::unit::{CulpritLayout, UnitRanks};
use crate::verdict::{PerSide, Side};

/// Dumps of both sides as they are paired.
#[derive(Default)]
pub(super) struct Arranged {
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
/// Ranks by step.
type Steps<'f> = BTreeMap<u64, Ranks<'f>>;

/// Looks how both sides cut their model, and puts them together where they cut it differently.
pub(super) fn arrange(baseline: &[DumpFolder], candidate: &[DumpFolder], policy: &LayoutPolicy) -> Arranged {
    let Some(steps) = steps(baseline).zip(steps(candidate)) else { return Arranged::default() };
    let steps = PerSide { baseline: steps.0, candidate: steps.1 };
    let worlds = PerSide::of(|side| steps[side].values().map(BTreeMap::len).max().unwrap_or_default());
    let arguments = PerSide::of(|side| {
        let folder = steps[side].values().flat_map(BTreeMap::values).next();
        folder.and_then(|folder| Arguments::beside(folder.files.as_ref()))
    });
    let known = PerSide::of(|side| {
        let of_arguments = || arguments[side].as_ref().and_then(|found| found.layout(worlds[side] as u64));
        policy.of(side).or_else(of_arguments)
    });
    let is_declared = known.each().any(Option::is_some);
    if !is_declared && worlds.each().all(|world| *world <= 1) {
        return Arranged::default();
    }
    let missing: Vec<Finding> =
        Side::BOTH.into_iter().filter_map(|side| of_ranks(side, known[side].as_ref()?, &steps[side])).collect();
    if !missing.is_empty() {
        return Arranged { findings: missing, is_refused: true, ..Arranged::default() };
    }
    let Some(signs) = signs(&steps) else { return Arranged::default() };
    let Some(layouts) = inferred(&signs, &known) else { return Arranged::default() };
    let contradicted: Vec<Finding> =
        Side::BOTH.into_iter().filter_map(|side| contradicted(side, known[side].as_ref()?, &signs[side])).collect();
    if !contradicted.is_empty() {
        return Arranged { findings: contradicted, is_refused: true, ..Arranged::default() };
    }
    let told = Layouts { baseline: layouts.baseline.clone(), candidate: layouts.candidate.clone() };
    if layouts.baseline.cuts_as(&layouts.candidate) {
        return Arranged { layouts: Some(told), ..Arranged::default() };
    }
    let mut findings = vec![rules::differs(&layouts)];
    if Side::BOTH.iter().any(|side| layouts[*side].source == LayoutSource::Inferred && layouts[*side].world() > 1) {
        findings.push(Finding::new(&rules::INFERRED, "layout").with("layout", rules::shown(&layouts.candidate)));
    }
    let is_cut = |side: Side| {
        layouts[side].tp != layouts[side.other()].tp
            || layouts[side].dp != layouts[side.other()].dp
            || layouts[side].cp != layouts[side.other()].cp
    };
    if Side::BOTH.iter().any(|side| signs[*side].has_checksums && is_cut(*side)) {
        findings.push(Finding::new(&rules::NOT_MERGEABLE, "layout").with("layout", rules::shown(&layouts.candidate)));
        return Arranged { layouts: Some(told), findings, is_refused: true, whole: None };
    }
    let plans = plans(&signs, &layouts);
    let whole = PerSide::of(|side| {
        steps[side].values().filter_map(|ranks| whole(ranks, &layouts[side], plans[side])).collect()
    });
    Arranged { layouts: Some(told), whole: Some(whole), findings, is_refused: false }
}

/// The ranks of each step; `None` where a dump is of another kind than modules and calls, or a rank stands twice.
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

/// The dump of the whole model of one step.
fn whole(ranks: &Ranks<'_>, layout: &Layout, plan: crate::read::dump::Plan) -> Option<DumpFolder> {
    let first = ranks.values().next()?;
    let ranks = ranks.iter().map(|(rank, folder)| (*rank, (*folder).clone())).collect();
    let assembled = Assembled { ranks, layout: layout.clone(), plan };
    Some(DumpFolder { rank: None, assembled: Some(Arc::new(assembled)), ..(*first).clone() })
}

/// Signs of the first step of both sides; `None` where a rank of it cannot be read, which is told where it is judged.
fn signs(steps: &PerSide<Steps<'_>>) -> Option<PerSide<Signs>> {
    let of = |side: Side| {
        let first = steps[side].values().next()?;
        let dumps: Vec<Dump> =
            first.values().collect::<Vec<_>>().par_iter().map(|folder| folder.read().ok()).collect::<Option<_>>()?;
        Some(Signs::of(&dumps))
    };
    Some(PerSide { baseline: of(Side::Baseline)?, candidate: of(Side::Candidate)? })
}

/// Whether the ranks of every step are those of the layout.
fn of_ranks(side: Side, layout: &Layout, steps: &Steps<'_>) -> Option<Finding> {
    steps.iter().find_map(|(step, ranks)| {
        let found = rules::of_ranks(side, layout, &ranks.keys().copied().collect())?;
        Some(found.with("step", *step))
    })
}

fn contradicted(side: Side, layout: &Layout, signs: &Signs) -> Option<Finding> {
    let (size, declared, found) = contradiction(layout, signs)?;
    let finding = Finding::new(&rules::CONTRADICTED, "layout").with("side", side.as_str()).with("size", size);
    Some(finding.with("declared", declared).with("found", found))
}

/// Notes in a judged unit which ranks its values were put together of, what did not merge, and copies that differ.
pub(super) fn note_parts(unit: &Compared<'_>, judged: &mut JudgedUnit) {
    let (Some(ours), Some(theirs)) = (&unit.baseline().parts, &unit.candidate().parts) else { return };
    let ranks = |parts: &Parts| {
        let all: BTreeSet<u64> = parts.ranks.values().flatten().copied().collect();
        all.into_iter().collect()
    };
    judged.unit.ranks = Some(UnitRanks { baseline: ranks(ours), candidate: ranks(theirs) });
    let unmerged = ours.unmerged + theirs.unmerged;
    if unmerged > 0 {
        judged.unit.evidence.shown_only += unmerged;
        judged.unit.evidence.example("not-merged", format!("{unmerged} values"));
    }
    let step = judged.unit.step;
    judged.findings.extend(Side::BOTH.into_iter().filter_map(|side| {
        let dump = if side == Side::Baseline { unit.baseline() } else { unit.candidate() };
        rules::of_copies(dump.parts.as_deref()?, side, step)
    }));
    if judged.unit.culprit.is_none() && ours.differing.is_empty() {
        judged.unit.culprit =
            theirs.differing.first().map(|found| rules::culprit(found, &unit.candidate().operations, step));
    }
    if let Some(culprit) = &mut judged.unit.culprit {
        culprit.layout = theirs
            .ranks
            .get(&culprit.op)
            .map(|ranks| CulpritLayout { module: module_of(&culprit.op), ranks: ranks.clone() });
    }
}

/// The module's path in the name of its operation.
fn module_of(operation: &str) -> String {
    let base = OpName::parse(operation).base;
    let below = base.split_once('.').map_or(base.as_str(), |(_, rest)| rest);
    below.rsplit_once('.').map_or(below, |(path, _)| path).to_owned()
}
