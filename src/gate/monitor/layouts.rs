//! Layouts of monitors whose runs may split the same model differently, and whether their ranks fit them.

use std::collections::BTreeSet;

use crate::judge::layout as rules;
use crate::layout::{Layout, LayoutSource};
use crate::pair::layout::{LayoutSigns, infer_layouts, layout_contradictions};
use crate::policy::layout::LayoutPolicy;
use crate::read::launch::LaunchArguments;
use crate::result::finding::Finding;
use crate::result::layout::Layouts;
use crate::verdict::{CheckId, PerSide, Side};

/// Layouts of both sides' monitors, ready for pairing.
#[derive(Default)]
pub(super) struct ArrangedMonitors {
    /// The layouts, where they are known.
    pub(super) layouts: Option<Layouts>,
    /// Layouts by which the ranks of each side are put together; `None` where ranks are paired as they are.
    pub(super) whole: Option<PerSide<Layout>>,
    /// Findings about the layouts.
    pub(super) findings: Vec<Finding>,
    /// Whether nothing can be compared.
    pub(super) is_refused: bool,
}

/// Finds how both sides split their model: as the policy or the launch arguments say, else as the ranks show it where the
/// two sides have different ranks.
pub(super) fn arrange(
    numbers: &PerSide<BTreeSet<u64>>,
    arguments: &PerSide<Option<LaunchArguments>>,
    policy: &LayoutPolicy,
    signs: impl Fn() -> PerSide<LayoutSigns>,
) -> ArrangedMonitors {
    if numbers.each().any(BTreeSet::is_empty) {
        return ArrangedMonitors::default();
    }
    let known = PerSide::of(|side| {
        let world = numbers[side].len() as u64;
        policy.declared_layout(side).or_else(|| arguments[side].as_ref()?.layout(world))
    });
    if known.each().all(Option::is_none) && numbers.baseline == numbers.candidate {
        return ArrangedMonitors::default();
    }
    let of_ranks = |side: Side| rules::ranks_mismatch(side, known[side].as_ref()?, &numbers[side]);
    let refused = unfit(Side::BOTH.into_iter().filter_map(of_ranks));
    if let Some(refused) = refused.filter(|_| !is_alike(&known) || numbers.baseline != numbers.candidate) {
        return refused;
    }
    if let (Some(baseline), Some(candidate)) = (&known.baseline, &known.candidate)
        && baseline.cuts_as(candidate)
    {
        let layouts = Layouts { baseline: baseline.clone(), candidate: candidate.clone() };
        return ArrangedMonitors { layouts: Some(layouts), ..ArrangedMonitors::default() };
    }
    let signs = signs();
    let contradicted = unfit(layout_contradictions(&known, &signs).iter().map(rules::layout_contradiction));
    if let Some(refused) = contradicted {
        return refused;
    }
    match both(known, &signs) {
        Some(layouts) if !layouts.baseline.cuts_as(&layouts.candidate) => differing(layouts),
        _ => ArrangedMonitors::default(),
    }
}

/// The arrangement of sides that are merged into the whole model, each by its layout.
fn differing(layouts: PerSide<Layout>) -> ArrangedMonitors {
    let mut findings = vec![rules::layout_difference(&layouts)];
    if layouts.each().any(|layout| layout.source == LayoutSource::Inferred && layout.world() > 1) {
        findings.push(Finding::new(&rules::INFERRED, "layout").with("layout", layouts.candidate.to_string()));
    }
    let findings = findings.into_iter().map(|finding| finding.of_check(CheckId::Monitor)).collect();
    let told = Layouts { baseline: layouts.baseline.clone(), candidate: layouts.candidate.clone() };
    ArrangedMonitors { layouts: Some(told), whole: Some(layouts), findings, is_refused: false }
}

fn is_alike(known: &PerSide<Option<Layout>>) -> bool {
    let both = known.baseline.as_ref().zip(known.candidate.as_ref());
    both.is_some_and(|(baseline, candidate)| baseline.cuts_as(candidate))
}

/// Refuses the comparison where there are findings; `None` where there are none.
fn unfit(findings: impl Iterator<Item = Finding>) -> Option<ArrangedMonitors> {
    let findings: Vec<Finding> = findings.map(|finding| finding.of_check(CheckId::Monitor)).collect();
    (!findings.is_empty()).then(|| ArrangedMonitors { findings, is_refused: true, ..ArrangedMonitors::default() })
}

/// The layouts of both sides: the known ones, else those that the ranks show. A single rank holds the whole model.
fn both(known: PerSide<Option<Layout>>, signs: &PerSide<LayoutSigns>) -> Option<PerSide<Layout>> {
    if let Some(layouts) = infer_layouts(signs, &known) {
        return Some(layouts);
    }
    let single = |side: Side| (signs[side].world() == 1).then(|| Layout::single(LayoutSource::Inferred));
    let layout = |side: Side| known[side].clone().or_else(|| single(side));
    let is_known = known.each().any(Option::is_some);
    let layouts = PerSide { baseline: layout(Side::Baseline)?, candidate: layout(Side::Candidate)? };
    is_known.then_some(layouts)
}

/// Whether the micro steps of a step are parts of one batch that the two sides split differently.
pub(super) fn merges_micro_steps(layouts: &PerSide<Layout>) -> bool {
    let cut = |layout: &Layout| (layout.dp, layout.micro_batches);
    let has_batches = layouts.each().any(|layout| layout.micro_batches > 1);
    has_batches && cut(&layouts.baseline) != cut(&layouts.candidate)
}
