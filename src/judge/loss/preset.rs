//! Published acceptance rules for loss curves, each as its project applies it.
//!
//! Sources: Megatron-LM d98e8a64dd (tests/functional_tests/python_test_utils/common.py), MindSpeed-LLM c77308a14b
//! and MindSpeed-MM 57069cd55a (tests/st, test_ci_st.py), torchtitan b5bcd76c66 (scripts/loss_compare.py), FlagPerf
//! 1b5a030398 (the pages of training/), MindSpore Transformers' precision guide, msprobe 8ff00da376 (its guide to
//! debugging training), verl-project/verl#332 and OpenRLHF/OpenRLHF#605. `docs/loss.md` lists the presets.
//!
//! They are applied to the raw values: no absolute floor, no smoothing.

use crate::pair::curve::CurvePair;
use crate::pair::curve::align::PairedBy;
use crate::policy::loss::preset::Preset;

/// Result of a published rule on a pair of curves.
#[derive(Clone, Debug, PartialEq)]
pub struct PresetOutcome {
    /// Whether it holds; `None` where the curve has nothing it applies to.
    pub pass: Option<bool>,
    /// The measured value, in the rule's own unit.
    pub value: f64,
    /// The limit.
    pub limit: f64,
    /// The first step that breaks it, where it is a rule about steps.
    pub step: Option<u64>,
}

/// Values of a pair that a published rule is applied to.
struct View<'a> {
    /// Pairs that are finite on both sides.
    finite: Vec<(u64, f64, f64)>,
    /// Steps the baseline's file lists, those without a value included.
    listed: usize,
    /// Steps of which at least one side has a value and not both.
    unmatched: usize,
    pair: &'a CurvePair<'a>,
}

impl<'a> View<'a> {
    fn new(pair: &'a CurvePair<'a>) -> Self {
        let finite: Vec<_> = pair.points.iter().filter(|(_, b, c)| b.is_finite() && c.is_finite()).collect();
        let count = |values: &[f64]| values.iter().filter(|value| value.is_finite()).count();
        let (b, c) = (count(&pair.baseline.series.values), count(&pair.candidate.series.values));
        // Joined windows leave no single step without a partner; the coverage rule counts missing parts of windows.
        let unmatched = match pair.points.by {
            PairedBy::Window => 0,
            PairedBy::Step | PairedBy::Position => b.saturating_sub(finite.len()) + c.saturating_sub(finite.len()),
        };
        Self { listed: pair.baseline.series.listed, unmatched, finite, pair }
    }

    fn rel(&self) -> impl Iterator<Item = (u64, f64)> + '_ {
        self.finite.iter().map(|(step, b, c)| (*step, relative(*b, *c)))
    }
}

/// |c - b| / |b|, and 0 where both are 0.
fn relative(b: f64, c: f64) -> f64 {
    let difference = (c - b).abs();
    if difference == 0.0 { 0.0 } else { difference / b.abs() }
}

#[allow(clippy::cast_precision_loss, reason = "counts lie far below 2^53")]
fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0_usize, 0.0), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum / count as f64)
}

/// Applies a published rule.
pub fn apply(preset: Preset, pair: &CurvePair<'_>) -> PresetOutcome {
    let view = View::new(pair);
    match preset {
        Preset::Megatron => megatron(&view),
        Preset::MindspeedLlm => mindspeed_llm(&view),
        Preset::MindspeedMm => every_step(&view, 0.01, false),
        Preset::TorchtitanExact => exact(&view),
        Preset::Flagperf => {
            let value = mean(view.rel().filter(|(step, _)| *step >= 21).map(|(_, rel)| rel));
            of_mean(value, 0.02)
        }
        Preset::Mindformers => mindformers(&view),
        Preset::MsprobeGuide => of_mean(mean(view.rel().map(|(_, rel)| rel)), 0.01),
        Preset::RlMae2pct => {
            let value = mean(view.finite.iter().map(|(_, b, c)| (c - b).abs()));
            of_mean(value, 0.02)
        }
    }
}

fn of_mean(value: Option<f64>, limit: f64) -> PresetOutcome {
    let pass = value.map(|value| value <= limit);
    PresetOutcome { pass, value: value.unwrap_or(f64::NAN), limit, step: None }
}

/// Megatron-LM's rule. A step that is missing on one side counts as outside; one that is missing on both sides does not.
fn megatron(view: &View<'_>) -> PresetOutcome {
    let allowed = (view.listed / 100).clamp(1, 50);
    let mut outside = view.rel().filter(|(_, rel)| *rel > 0.05).map(|(step, _)| step);
    let step = outside.next();
    let outside = outside.count() + usize::from(step.is_some()) + view.unmatched;
    #[allow(clippy::cast_precision_loss, reason = "counts lie far below 2^53")]
    PresetOutcome {
        pass: (view.listed > 0).then_some(outside <= allowed),
        value: outside as f64,
        limit: allowed as f64,
        step,
    }
}

/// Largest margin that a baseline's own file may ask for: as much as a step time may grow by default.
const MOST_MARGIN: f64 = 0.1;

fn mindspeed_llm(view: &View<'_>) -> PresetOutcome {
    let margin = view.pair.baseline.margin.filter(|margin| margin.is_finite());
    every_step(view, margin.unwrap_or(0.02).min(MOST_MARGIN), true)
}

fn every_step(view: &View<'_>, limit: f64, equal_lengths: bool) -> PresetOutcome {
    let worst = view.rel().reduce(|worst, next| if next.1 > worst.1 { next } else { worst });
    let complete = !equal_lengths || view.unmatched == 0;
    PresetOutcome {
        pass: worst.map(|(_, value)| value <= limit && complete),
        value: worst.map_or(f64::NAN, |(_, value)| value),
        limit,
        step: worst.filter(|(_, value)| *value > limit).map(|(step, _)| step),
    }
}

fn exact(view: &View<'_>) -> PresetOutcome {
    let mut unequal = view
        .finite
        .iter()
        .filter(|(_, b, c)| b.partial_cmp(c) != Some(std::cmp::Ordering::Equal))
        .map(|(step, ..)| *step);
    let step = unequal.next();
    let count = usize::from(step.is_some()) + unequal.count() + view.unmatched;
    #[allow(clippy::cast_precision_loss, reason = "counts lie far below 2^53")]
    PresetOutcome { pass: (!view.finite.is_empty()).then_some(count == 0), value: count as f64, limit: 0.0, step }
}

fn mindformers(view: &View<'_>) -> PresetOutcome {
    let first = view.finite.first().map(|(_, b, c)| (c - b).abs() < 0.005 || relative(*b, *c) < 0.005);
    let mean_abs = mean(view.finite.iter().map(|(_, b, c)| (c - b).abs()));
    let mean_rel = mean(view.rel().map(|(_, rel)| rel));
    let level = mean_abs.zip(mean_rel).map(|(abs, rel)| abs < 0.01 || rel < 0.01);
    PresetOutcome {
        pass: first.zip(level).map(|(first, level)| first && level),
        value: mean_rel.unwrap_or(f64::NAN),
        limit: 0.01,
        step: None,
    }
}
