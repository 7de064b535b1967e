//! `loss.png`: both curves above, their signed difference with the limit of the rule that failed below.

use std::ops::Range;

use minijinja::context;
use plotters::prelude::{AreaSeries, ChartBuilder, Circle, Cross, DashedLineSeries, Rectangle, TriangleMarker};
use plotters::style::Color;

use super::lines::{FEW, LinearChart, SMOOTHED, axes, dots, line_style, polyline, step_range};
use super::marks::{Legend, Mark, colour_of_side, dot_places, width_of_side};
use super::{
    ALARM, Area, BASELINE, FAINT, INK, difference, drawable, internal, name_of, picture, pixel, text, verdict,
};
use crate::error::Result;
use crate::report::curve::{self, DrawnCurve, DrawnWindow, Spike};
use crate::report::escape::TextTarget;
use crate::report::messages::{Language, short_number};
use crate::report::writer::{Writer, safe};
use crate::report::{outcomes, phrases};
use crate::result::GateResult;
use crate::result::unit::CurveUnit;
use crate::verdict::{Side, Verdict};

const WIDTH: u32 = 1600;
/// Height of the title without its legend, of both panels, and of the upper one.
const TITLE: u32 = 92;
const PANELS: u32 = 928;
const UPPER: u32 = 520;

/// Draws the curve that a report shows first; `None` where no curve was judged.
pub fn loss_png(result: &GateResult, language: Language) -> Result<Option<Vec<u8>>> {
    let words = Writer::from_result(result, language, TextTarget::Plain);
    let Some(unit) = curve::leading_curve(result) else { return Ok(None) };
    let shown = DrawnCurve::from_unit(unit);
    if shown.step.is_empty() {
        return Ok(None);
    }
    let legend = legend(unit, &shown, &words)?;
    let title_height = TITLE + u32::try_from(legend.height()).unwrap_or(0);
    let bytes = picture(WIDTH, title_height + PANELS, |root| {
        let (head, panels) = root.split_vertically(title_height);
        title(&head, unit, &legend, &words)?;
        if shown.has_no_baseline() {
            return curves(&panels, unit, &shown);
        }
        let (upper, lower) = panels.split_vertically(UPPER);
        curves(&upper, unit, &shown)?;
        difference::draw(&lower, unit, &shown, &words)
    })?;
    Ok(Some(bytes))
}

/// The name of the curve and its verdict, with the legend below.
fn title(area: &Area<'_>, unit: &CurveUnit, legend: &Legend, words: &Writer) -> Result<()> {
    let run = if unit.run.is_empty() { String::new() } else { format!(" ({})", unit.run) };
    let name = drawable(&format!("{}{run}", unit.metric), 48);
    let colon = words.word("colon")?;
    text(area, &format!("{name}{colon}{}", reason(unit, words)?), (40, 24), 40, INK)?;
    legend.draw(area, 78)
}

fn legend(unit: &CurveUnit, shown: &DrawnCurve, words: &Writer) -> Result<Legend> {
    let sides = if shown.has_no_baseline() { &[Side::Candidate][..] } else { &[Side::Baseline, Side::Candidate][..] };
    let mut entries = Vec::new();
    for side in sides {
        entries.push((Mark::Line(*side), name_of(*side, words)?));
    }
    if !unit.series.band.is_empty() {
        entries.push((Mark::Around(BASELINE), words.word("plot_noise")?));
    }
    if let Some(step) = unit.first_diverging_step {
        entries.push((Mark::Upright(ALARM), words.phrase("plot_diverges", &context! { step })?));
    }
    if !shown.broken.is_empty() {
        entries.push((Mark::Crossed(ALARM), words.word("plot_not_finite")?));
    }
    if !shown.missing_stretches().is_empty() {
        let missing = context! { candidate => safe(name_of(Side::Candidate, words)?) };
        entries.push((Mark::Band(FAINT), words.phrase("plot_missing", &missing)?));
    }
    let range = values(shown);
    let mut drawn = shown.baseline.iter().chain(&shown.candidate).flatten();
    if drawn.any(|value| value.is_finite() && !range.contains(value)) {
        entries.push((Mark::Beyond(INK), words.word("plot_beyond_axis")?));
    }
    if !shown.windows.is_empty() {
        entries.push((Mark::Plain(INK), words.word("plot_windows")?));
    } else if shown.step.len() >= SMOOTHED {
        entries.push((Mark::Plain(INK), words.word("plot_average")?));
    }
    Ok(Legend::new(entries, (40, pixel(WIDTH) - 40)))
}

/// The verdict, and the rule that it follows from with its value and its limit.
fn reason(unit: &CurveUnit, words: &Writer) -> Result<String> {
    let word = verdict(unit.verdict, words)?;
    let Some(rule) = curve::deciding_rule(unit) else { return Ok(word) };
    let name = phrases::find(&format!("rule_{}", rule.rule), words.language());
    let name = match name {
        Some(_) => words.phrase(&format!("rule_{}", rule.rule), &context! { steps => unit.paired })?,
        None => drawable(&rule.rule, 40),
    };
    let limit = if rule.verdict == Verdict::Warn { rule.warn } else { rule.fail.or(rule.warn) };
    let bound = safe(outcomes::bound_text(limit, rule.unit, rule.direction, words)?);
    let value = safe(outcomes::measured_text(rule, words)?);
    words.phrase("plot_reason", &context! { verdict => safe(word), rule => safe(name), value, bound })
}

/// The range of values with a little room; single spikes are cut so that the curve stays readable.
fn values(shown: &DrawnCurve) -> Range<f64> {
    let ends = shown.value_range().unwrap_or((0.0, 1.0));
    let both = shown.baseline.iter().chain(&shown.candidate).flatten();
    let mut all: Vec<f64> = both.copied().filter(|value| (ends.0..=ends.1).contains(value)).collect();
    all.sort_by(f64::total_cmp);
    let (Some(lowest), Some(highest)) = (all.first().copied(), all.last().copied()) else { return 0.0..1.0 };
    let usual = all.get(all.len() * 99 / 100).copied().unwrap_or(highest);
    let highest = if highest - lowest > 4.0 * (usual - lowest).max(1e-12) && all.len() > 100 {
        usual + (usual - lowest) * 0.5
    } else {
        highest
    };
    let room = ((highest - lowest) * 0.06).max(highest.abs() * 1e-3).max(1e-9);
    lowest - room..highest + room
}

fn curves(area: &Area<'_>, unit: &CurveUnit, shown: &DrawnCurve) -> Result<()> {
    let range = values(shown);
    let mut chart = ChartBuilder::on(area)
        .margin_right(56)
        .margin_top(16)
        .x_label_area_size(56)
        .y_label_area_size(150)
        .build_cartesian_2d(step_range(shown), range.clone())
        .map_err(internal)?;
    axes(&mut chart, &|value| short_number(*value), None)?;
    band(&mut chart, shown, &range)?;
    missing(&mut chart, shown, &range)?;
    broken(&mut chart, shown, &range)?;
    // Below the curves: a spike may lie on it.
    marker(&mut chart, unit, &range)?;
    for (values, side) in [(&shown.baseline, Side::Baseline), (&shown.candidate, Side::Candidate)] {
        curve_line(&mut chart, shown, values, side, &range)?;
    }
    peak(&mut chart, unit, shown, &range)
}

/// A ring around the top of a spike, which is one step of perhaps thousands.
fn peak(chart: &mut LinearChart<'_, '_>, unit: &CurveUnit, shown: &DrawnCurve, range: &Range<f64>) -> Result<()> {
    let Some(spike) = Spike::from_curve(unit) else { return Ok(()) };
    let mut points = shown.step.iter().zip(&shown.candidate);
    let top = points.find_map(|(step, value)| value.filter(|_| step.total_cmp(&spike.step).is_eq()));
    let ring =
        top.map(|value| Circle::new((spike.step, value.clamp(range.start, range.end)), 14, ALARM.stroke_width(4)));
    chart.draw_series(ring).map_err(internal).map(drop)
}

/// The recorded noise around the baseline.
fn band(chart: &mut LinearChart<'_, '_>, shown: &DrawnCurve, range: &Range<f64>) -> Result<()> {
    let points = shown.step.iter().zip(&shown.baseline).zip(&shown.band);
    let around: Vec<(f64, f64, f64)> = points
        .filter_map(|((step, value), band)| Some((*step, (*value)?, *band)))
        .filter(|(_, value, band)| value.is_finite() && band.is_finite())
        .map(|(step, value, band)| (step, value - value.abs() * band, value + value.abs() * band))
        .collect();
    let clamp = |value: f64| value.clamp(range.start, range.end);
    let upper = around.iter().map(|(step, _, high)| (*step, clamp(*high)));
    let lower = around.iter().rev().map(|(step, low, _)| (*step, clamp(*low)));
    let outline: Vec<(f64, f64)> = upper.chain(lower).collect();
    if outline.len() < 3 {
        return Ok(());
    }
    chart
        .draw_series(std::iter::once(plotters::element::Polygon::new(outline, BASELINE.mix(0.18).filled())))
        .map_err(internal)
        .map(drop)
}

/// A grey stripe over each stretch of steps that the candidate lacks.
fn missing(chart: &mut LinearChart<'_, '_>, shown: &DrawnCurve, range: &Range<f64>) -> Result<()> {
    for (first, last) in shown.missing_stretches() {
        let stripe = Rectangle::new([(first - 0.5, range.start), (last + 0.5, range.end)], FAINT.mix(0.18).filled());
        chart.draw_series(std::iter::once(stripe)).map_err(internal)?;
    }
    Ok(())
}

/// A red stripe over each stretch of steps at which one side is not finite.
fn broken(chart: &mut LinearChart<'_, '_>, shown: &DrawnCurve, range: &Range<f64>) -> Result<()> {
    for (first, last) in &shown.broken {
        let series = AreaSeries::new([(*first, range.end), (*last, range.end)], range.start, ALARM.mix(0.12));
        chart.draw_series(series).map_err(internal)?;
        let y = range.start + (range.end - range.start) * 0.04;
        let cross = Cross::new((*first, y), 10, ALARM.stroke_width(4));
        chart.draw_series(std::iter::once(cross)).map_err(internal)?;
    }
    Ok(())
}

/// One curve: few values as dots on a line, many values faint with a moving average over them.
///
/// The baseline is drawn wider, so that it shows on both sides of a candidate that covers it.
fn curve_line(
    chart: &mut LinearChart<'_, '_>,
    shown: &DrawnCurve,
    values: &[Option<f64>],
    side: Side,
    range: &Range<f64>,
) -> Result<()> {
    let clamp = |value: f64| value.clamp(range.start, range.end);
    let (colour, width) = (colour_of_side(side), width_of_side(side));
    let is_rl = !shown.windows.is_empty();
    let span = (shown.step.first().copied().unwrap_or(0.0), shown.step.last().copied().unwrap_or(1.0));
    let mut dotted: Vec<(f64, f64)> = Vec::new();
    for stretch in shown.stretches(values) {
        let raw: Vec<(f64, f64)> = stretch.iter().map(|(step, value)| (*step, clamp(*value))).collect();
        if is_rl {
            polyline(chart, &raw, line_style(colour.mix(0.4), 2))?;
        } else if shown.step.len() < SMOOTHED {
            polyline(chart, &raw, line_style(colour.to_rgba(), width))?;
            dotted.extend(dot_places(&raw, |(step, _)| *step, span, side));
        } else {
            polyline(chart, &raw, line_style(colour.mix(0.3), 2))?;
            let smooth: Vec<_> =
                curve::smooth(&stretch).into_iter().map(|(step, value)| (step, clamp(value))).collect();
            polyline(chart, &smooth, line_style(colour.to_rgba(), width))?;
            dotted.extend(dot_places(&smooth, |(step, _)| *step, span, side));
        }
        let cut =
            stretch.iter().filter(|(_, value)| !range.contains(value)).map(|(step, value)| (*step, clamp(*value)));
        chart.draw_series(cut.map(|point| TriangleMarker::new(point, 14, colour.filled()))).map_err(internal)?;
        if !is_rl && shown.step.len() <= FEW || raw.len() == 1 {
            dotted.extend(&raw);
        }
    }
    let mean = |window: &DrawnWindow| if side == Side::Baseline { window.baseline } else { window.candidate };
    let steps = shown.windows.iter().filter(|window| mean(window).is_finite());
    let thick: Vec<(f64, f64)> =
        steps.flat_map(|window| [window.steps.0, window.steps.1].map(|step| (step, clamp(mean(window))))).collect();
    polyline(chart, &thick, line_style(colour.to_rgba(), width))?;
    let middles = shown.windows.iter().filter(|window| mean(window).is_finite());
    dotted.extend(middles.map(|window| (window.steps.0.midpoint(window.steps.1), clamp(mean(window)))));
    dots(chart, &dotted, side)
}

/// A dashed line at the first diverging step.
fn marker(chart: &mut LinearChart<'_, '_>, unit: &CurveUnit, range: &Range<f64>) -> Result<()> {
    #[allow(clippy::cast_precision_loss, reason = "a step in a picture")]
    let Some(step) = unit.first_diverging_step.map(|step| step as f64) else { return Ok(()) };
    let ends = [(step, range.start), (step, range.end)];
    let dashed = DashedLineSeries::new(ends, 10, 8, ALARM.stroke_width(4));
    chart.draw_series(dashed).map_err(internal).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Axes of plotters never end, or take all memory, where a range or its room is infinite.
    #[test]
    fn ranges_stay_finite_whatever_the_values() {
        for extreme in [f64::MAX, f64::MIN, 1.7e308, -1.7e308, 1e300, 5e-324, f64::INFINITY, f64::NAN] {
            for other in [1.0, -1.0, 0.0, 1.7e308, -1.7e308] {
                let shown = DrawnCurve {
                    step: vec![1.0, 1e18],
                    baseline: vec![Some(other), Some(2.0)],
                    candidate: vec![Some(extreme), Some(2.0)],
                    ..DrawnCurve::default()
                };
                for range in [values(&shown), step_range(&shown)] {
                    let span = range.end - range.start;
                    assert!(span.is_finite() && span > 0.0, "{extreme:e} {other:e}: {range:?}");
                }
            }
        }
    }
}
