//! Monitors of two runs that cut the same model differently: what their layouts are, and whether their ranks fit them.

use std::collections::{BTreeMap, BTreeSet};

use crate::gate::discover::Inventory;
use crate::judge::layout as rules;
use crate::layout::{Layout, LayoutSource};
use crate::policy::layout::LayoutPolicy;
use crate::read::launch::Arguments;
use crate::read::monitor::Place;
use crate::result::finding::Finding;
use crate::result::layout::Layouts;
use crate::verdict::{CheckId, PerSide, Side};

/// Tables of each rank of a side.
pub(super) type Ranks = BTreeMap<u64, Vec<Place>>;

/// Monitors of both sides as they are paired.
#[derive(Default)]
pub(super) struct Arranged {
    /// The layouts, where they are known.
    pub(super) layouts: Option<Layouts>,
    /// Layouts by which the ranks of each side are put together; `None` where ranks are paired as they are.
    pub(super) whole: Option<PerSide<Layout>>,
    /// Findings about the layouts.
    pub(super) findings: Vec<Finding>,
    /// Whether nothing can be compared.
    pub(super) is_refused: bool,
}

/// Looks how both sides cut their model, as far as the policy or what started them tells it.
pub(super) fn arrange(sides: &PerSide<&Inventory>, ranks: &PerSide<&Ranks>, policy: &LayoutPolicy) -> Arranged {
    if ranks.each().any(|ranks| ranks.is_empty()) {
        return Arranged::default();
    }
    let known = PerSide::of(|side| {
        let world = ranks[side].len() as u64;
        let of_arguments = || Arguments::beside(sides[side].all_files())?.layout(world);
        policy.of(side).or_else(of_arguments)
    });
    let Some(layouts) = both(known, ranks) else { return Arranged::default() };
    let told = Some(Layouts { baseline: layouts.baseline.clone(), candidate: layouts.candidate.clone() });
    if layouts.baseline.cuts_as(&layouts.candidate) {
        return Arranged { layouts: told, ..Arranged::default() };
    }
    let there = |side: Side| ranks[side].keys().copied().collect::<BTreeSet<u64>>();
    let unfit = Side::BOTH.into_iter().filter_map(|side| rules::of_ranks(side, &layouts[side], &there(side)));
    let mut findings: Vec<Finding> = unfit.map(|finding| finding.of_check(CheckId::Monitor)).collect();
    if !findings.is_empty() {
        return Arranged { layouts: told, findings, is_refused: true, whole: None };
    }
    findings.push(rules::differs(&layouts).of_check(CheckId::Monitor));
    Arranged { layouts: told, whole: Some(layouts), findings, is_refused: false }
}

/// The layouts of both sides; one of a single rank is whole where the other side's is known.
fn both(known: PerSide<Option<Layout>>, ranks: &PerSide<&Ranks>) -> Option<PerSide<Layout>> {
    if known.each().all(Option::is_none) {
        return None;
    }
    let single = |side: Side| (ranks[side].len() == 1).then(|| Layout::single(LayoutSource::Inferred));
    let [baseline, candidate] = known.into_array();
    Some(PerSide {
        baseline: baseline.or_else(|| single(Side::Baseline))?,
        candidate: candidate.or_else(|| single(Side::Candidate))?,
    })
}

/// Whether the micro steps of a step are parts of one batch, which both sides cut otherwise.
pub(super) fn merges_micro_steps(layouts: &PerSide<Layout>) -> bool {
    let cut = |layout: &Layout| (layout.dp, layout.micro_batches);
    let has_batches = layouts.each().any(|layout| layout.micro_batches > 1);
    has_batches && cut(&layouts.baseline) != cut(&layouts.candidate)
}
