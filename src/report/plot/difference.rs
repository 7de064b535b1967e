//! The lower half of `loss.png`: the signed difference of both curves, with the rule that failed.
//!
//! Above 0 the candidate is higher: a drift stays on one side, noise goes both ways.

use std::ops::Range;

use minijinja::context;
use plotters::prelude::{AreaSeries, ChartBuilder, Circle, DashedLineSeries, TriangleMarker};
use plotters::style::Color;

use super::lines::{FEW, LinearChart, SMOOTHED, axes, line_style, polyline, step_range};
use super::{ALARM, Area, BASELINE, FAINT, INK, internal, name_of, text};
use crate::error::Result;
use crate::report::curve::{self, DrawnCurve, DrawnWindow};
use crate::report::messages::{short_number, signed_tick};
use crate::report::writer::{Writer, safe};
use crate::result::number::Number;
use crate::result::outcome::{RuleOutcome, ValueUnit};
use crate::result::unit::CurveUnit;
use crate::verdict::{Side, Verdict};

/// Least height of the panel, as a difference.
const LEAST: f64 = 1e-6;

/// The part of a rule that is drawn: a limit on both sides of 0 over some steps, and the value measured there.
#[derive(Debug, PartialEq)]
struct Drawn {
    limit: f64,
    over: Range<f64>,
    value: Option<f64>,
}

/// Draws the panel.
pub(super) fn draw(area: &Area<'_>, unit: &CurveUnit, shown: &DrawnCurve, words: &Writer) -> Result<()> {
    let is_relative = shown.windows.is_empty();
    let drawn = drawn(unit, shown).filter(|_| is_relative);
    let range = range(shown, drawn.as_ref());
    let mut chart = ChartBuilder::on(area)
        .margin_right(56)
        .margin_top(52)
        .margin_bottom(8)
        .x_label_area_size(80)
        .y_label_area_size(150)
        .build_cartesian_2d(step_range(shown), range.clone())
        .map_err(internal)?;
    let scale: &dyn Fn(&f64) -> String = if is_relative { &percent } else { &plain };
    axes(&mut chart, scale, Some(&words.word("plot_step")?))?;
    recorded(&mut chart, shown, &range)?;
    rule(&mut chart, drawn.as_ref(), unit, &range)?;
    points(&mut chart, shown, &range)?;
    let key = match (is_relative, drawn.is_some()) {
        (false, _) => "plot_difference_plain",
        (true, true) => "plot_difference_and_limit",
        (true, false) => "plot_difference",
    };
    let [baseline, candidate] = [Side::Baseline, Side::Candidate].map(|side| name_of(side, words).map(safe));
    let name = words.phrase(key, &context! { baseline => baseline?, candidate => candidate? })?;
    text(area, &name, (152, 8), 26, FAINT)
}

#[allow(clippy::ptr_arg, clippy::trivially_copy_pass_by_ref, reason = "the signature of a formatter")]
fn percent(value: &f64) -> String {
    // plotters reaches 0 by adding steps, which leaves a rounding error.
    let value = if value.abs() < LEAST * 1e-6 { 0.0 } else { *value };
    signed_tick(value)
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the signature of a formatter")]
fn plain(value: &f64) -> String {
    short_number(*value)
}

/// The rule that failed where it is about differences, else the rule of the mean.
fn drawn(unit: &CurveUnit, shown: &DrawnCurve) -> Option<Drawn> {
    let mean = unit.rules.iter().find(|rule| rule.rule == "mean_rel");
    let is_drawn = |rule: &&RuleOutcome| rule.unit == ValueUnit::Relative && limit_of(rule).is_some();
    let rule = curve::deciding_rule(unit).filter(is_drawn).or(mean)?;
    let limit = limit_of(rule)?;
    let all = step_range(shown);
    if rule.rule != "tail_signed_rel" {
        return Some(Drawn { limit, over: all, value: None });
    }
    let tenth = shown.step.len().div_ceil(10).max(1);
    let first = shown.step.get(shown.step.len() - tenth).copied()?;
    Some(Drawn {
        limit,
        over: first..all.end,
        value: rule.value.map(|value| value.0).filter(|value| value.is_finite()),
    })
}

fn limit_of(rule: &RuleOutcome) -> Option<f64> {
    let limit = if rule.verdict == Verdict::Warn { rule.warn } else { rule.fail.or(rule.warn) };
    limit.map(|Number(limit)| limit.abs()).filter(|limit| limit.is_finite() && *limit > 0.0)
}

/// The same height above and below 0, so that the sign is seen.
fn range(shown: &DrawnCurve, drawn: Option<&Drawn>) -> Range<f64> {
    let most = shown.largest_difference().into_iter().chain(drawn.map(|drawn| drawn.limit)).fold(LEAST, f64::max);
    let height = most * 1.15;
    -height..height
}

/// The recorded noise around 0.
fn recorded(chart: &mut LinearChart<'_, '_>, shown: &DrawnCurve, range: &Range<f64>) -> Result<()> {
    for sign in [1.0, -1.0] {
        let band = shown.step.iter().zip(&shown.band);
        let edge: Vec<(f64, f64)> =
            band.map(|(step, band)| (*step, (sign * band).clamp(range.start, range.end))).collect();
        if !edge.is_empty() {
            chart.draw_series(AreaSeries::new(edge, 0.0, BASELINE.mix(0.18))).map_err(internal)?;
        }
    }
    Ok(())
}

/// Every difference as a dot on a line; of many, the moving average over them.
fn points(chart: &mut LinearChart<'_, '_>, shown: &DrawnCurve, range: &Range<f64>) -> Result<()> {
    let (few, many) = (shown.step.len() <= FEW, shown.step.len() >= SMOOTHED);
    for stretch in shown.stretches_of_differences() {
        let clamp = |points: &[(f64, f64)]| -> Vec<(f64, f64)> {
            points.iter().map(|(step, apart)| (*step, apart.clamp(range.start, range.end))).collect()
        };
        let raw = clamp(&stretch);
        polyline(chart, &raw, line_style(INK.mix(if many { 0.25 } else { 0.45 }), 2))?;
        let beyond = stretch.iter().zip(&raw).filter(|((_, apart), _)| !range.contains(apart));
        chart.draw_series(beyond.map(|(_, point)| TriangleMarker::new(*point, 12, INK.filled()))).map_err(internal)?;
        let dots = raw.iter().map(|point| Circle::new(*point, if few { 6 } else { 3 }, INK.mix(0.6).filled()));
        chart.draw_series(dots).map_err(internal)?;
        if many && shown.windows.is_empty() {
            polyline(chart, &clamp(&curve::smooth(&stretch)), line_style(INK.to_rgba(), 5))?;
        }
    }
    let clamp = |value: f64| value.clamp(range.start, range.end);
    let apart = |window: &DrawnWindow| clamp(window.candidate - window.baseline);
    let windows = shown.windows.iter().filter(|window| apart(window).is_finite());
    let thick: Vec<(f64, f64)> =
        windows.flat_map(|window| [window.steps.0, window.steps.1].map(|step| (step, apart(window)))).collect();
    polyline(chart, &thick, line_style(INK.to_rgba(), 5))
}

/// The limit on both sides of 0, the value that crosses it, and the first diverging step.
fn rule(chart: &mut LinearChart<'_, '_>, drawn: Option<&Drawn>, unit: &CurveUnit, range: &Range<f64>) -> Result<()> {
    if let Some(drawn) = drawn {
        for limit in [drawn.limit, -drawn.limit] {
            let ends = [(drawn.over.start, limit), (drawn.over.end, limit)];
            chart.draw_series(DashedLineSeries::new(ends, 18, 12, ALARM.stroke_width(3))).map_err(internal)?;
        }
        if let Some(value) = drawn.value {
            let value = value.clamp(range.start, range.end);
            let ends = [(drawn.over.start, value), (drawn.over.end, value)];
            polyline(chart, &ends, line_style(ALARM.to_rgba(), 7))?;
        }
    }
    #[allow(clippy::cast_precision_loss, reason = "a step in a picture")]
    let Some(step) = unit.first_diverging_step.map(|step| step as f64) else { return Ok(()) };
    let ends = [(step, range.start), (step, range.end)];
    chart.draw_series(DashedLineSeries::new(ends, 10, 8, ALARM.stroke_width(4))).map_err(internal).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Axes of plotters never end, or take all memory, where a range is infinite.
    #[test]
    fn the_range_stays_finite_and_has_a_sign_whatever_the_values() {
        for extreme in [f64::MAX, f64::MIN, 1e300, 5e-324, 0.0, f64::INFINITY, f64::NAN] {
            let shown = DrawnCurve {
                step: vec![1.0, 1e18],
                baseline: vec![Some(1.0), Some(2.0)],
                candidate: vec![Some(extreme), Some(2.0)],
                ..DrawnCurve::default()
            };
            let range = range(&shown, None);
            assert!(
                range.start < 0.0 && range.end > 0.0 && (range.end - range.start).is_finite(),
                "{extreme:e}: {range:?}"
            );
        }
    }
}
