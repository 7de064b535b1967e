//! `loss.png`: both curves above, their relative difference below.

use std::ops::Range;

use minijinja::context;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::{
    AreaSeries, BitMapBackend, Cartesian2d, ChartBuilder, ChartContext, Circle, Cross, DashedLineSeries, IntoLogRange,
    LogCoord, PathElement, Rectangle,
};
use plotters::style::{Color, RGBAColor, RGBColor, ShapeStyle};

use super::{
    ALARM, Area, BASELINE, CANDIDATE, FAINT, GRID, INK, PAPER, drawable, internal, picture, style, text, verdict,
    within_axes, words,
};
use crate::error::Result;
use crate::judge::unit::CurveUnit;
use crate::report::GateResult;
use crate::report::curve::{self, Shown};
use crate::report::messages::{Language, short};
use crate::report::writer::Writer;
use crate::verdict::Side;

const WIDTH: u32 = 1600;
const HEIGHT: u32 = 1060;
/// Height of the title, and of the upper panel below it.
const TITLE: u32 = 132;
const UPPER: u32 = 520;
/// Up to this many points every point is drawn as a dot.
const FEW: usize = 60;
/// Number of points from which on a moving average is drawn over the raw values.
const SMOOTHED: usize = 200;
/// Lowest relative difference that is drawn apart from 0.
const LOWEST: f64 = 1e-9;

/// Draws the curve that a report shows first; `None` where no curve was judged.
pub fn loss_png(result: &GateResult, language: Language) -> Result<Option<Vec<u8>>> {
    let words = words(language);
    let Some(unit) = curve::leading(result) else { return Ok(None) };
    let shown = Shown::of(unit);
    if shown.step.is_empty() {
        return Ok(None);
    }
    let bytes = picture(WIDTH, HEIGHT, |root| {
        let (head, panels) = root.split_vertically(TITLE);
        title(&head, result, unit, &shown, &words)?;
        let (upper, lower) = panels.split_vertically(UPPER);
        curves(&upper, unit, &shown)?;
        differences(&lower, unit, &shown, &words)
    })?;
    Ok(Some(bytes))
}

/// The name of the curve and its verdict, then the legend.
fn title(area: &Area<'_>, result: &GateResult, unit: &CurveUnit, shown: &Shown, words: &Writer) -> Result<()> {
    let run = if unit.run.is_empty() { String::new() } else { format!(" ({})", unit.run) };
    let name = drawable(&format!("{}{run}", unit.metric), 48);
    text(area, &format!("{name}: {}", verdict(unit.verdict, words)?), (40, 24), 40, INK)?;
    let mut x = 44;
    for (label, colour, filled) in legend(result, unit, shown, words)? {
        let swatch = if filled { colour.mix(0.25).filled() } else { colour.stroke_width(6) };
        let line = [(x, 98), (x + 44, 98)];
        if filled {
            area.draw(&Rectangle::new([(x, 86), (x + 44, 110)], swatch)).map_err(internal)?;
        } else {
            area.draw(&PathElement::new(line, swatch)).map_err(internal)?;
        }
        text(area, &label, (x + 56, 92), 26, INK)?;
        let (width, _) = area.estimate_text_size(&label, &style(26, INK)).map_err(internal)?;
        x += 56 + i32::try_from(width).unwrap_or_default() + 48;
    }
    Ok(())
}

fn legend(
    result: &GateResult,
    unit: &CurveUnit,
    shown: &Shown,
    words: &Writer,
) -> Result<Vec<(String, RGBColor, bool)>> {
    let label = |label: &str, side: Side| -> Result<String> {
        let role = words.word(&format!("side_{}", side.as_str()))?;
        // A run without a name of its own is called by its side.
        Ok(if label == side.as_str() { role } else { format!("{role} {}", drawable(label, 24)) })
    };
    let mut entries = vec![
        (label(&result.baseline.label, Side::Baseline)?, BASELINE, false),
        (label(&result.candidate.label, Side::Candidate)?, CANDIDATE, false),
    ];
    if !unit.series.band.is_empty() {
        entries.push((words.word("plot_noise")?, BASELINE, true));
    }
    if let Some(step) = unit.first_diverging_step {
        entries.push((words.phrase("plot_diverges", &context! { step })?, ALARM, false));
    }
    if !shown.broken.is_empty() {
        entries.push((words.word("plot_not_finite")?, ALARM, true));
    }
    Ok(entries)
}

/// The range of steps with a little room; one step gets room on both sides.
fn steps(shown: &Shown) -> Range<f64> {
    let (first, last) = (shown.step.first().copied().unwrap_or(0.0), shown.step.last().copied().unwrap_or(1.0));
    let room = ((last - first) * 0.01).max(0.5).max(last.abs() * 1e-9);
    first - room..last + room
}

/// The range of values with a little room; single spikes are cut so that the curve stays readable.
fn values(shown: &Shown) -> Range<f64> {
    let finite = shown.baseline.iter().chain(&shown.candidate).flatten().filter(|value| value.is_finite());
    let mut all: Vec<f64> = finite.map(|value| within_axes(*value)).collect();
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

fn number_of_step(step: &f64) -> String {
    if step.fract().abs() < 1e-9 { format!("{step:.0}") } else { String::new() }
}

fn line(colour: RGBAColor, width: u32) -> ShapeStyle {
    ShapeStyle { color: colour, filled: false, stroke_width: width }
}

type LinearChart<'a, 'b> = ChartContext<'a, BitMapBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
type LogChart<'a, 'b> = ChartContext<'a, BitMapBackend<'b>, Cartesian2d<RangedCoordf64, LogCoord<f64>>>;

fn curves(area: &Area<'_>, unit: &CurveUnit, shown: &Shown) -> Result<()> {
    let range = values(shown);
    let mut chart = ChartBuilder::on(area)
        .margin_right(56)
        .margin_top(16)
        .x_label_area_size(56)
        .y_label_area_size(150)
        .build_cartesian_2d(steps(shown), range.clone())
        .map_err(internal)?;
    chart
        .configure_mesh()
        .x_label_formatter(&number_of_step)
        .y_label_formatter(&|value| short(*value))
        .y_labels(6)
        .x_labels(10)
        .light_line_style(PAPER)
        .bold_line_style(GRID)
        .axis_style(FAINT)
        .label_style(style(24, INK))
        .draw()
        .map_err(internal)?;
    band(&mut chart, shown, &range)?;
    broken(&mut chart, shown, &range)?;
    for (values, colour) in [(&shown.baseline, BASELINE), (&shown.candidate, CANDIDATE)] {
        curve_line(&mut chart, shown, values, colour, &range)?;
    }
    marker(&mut chart, unit, &range)
}

/// The recorded noise around the baseline.
fn band(chart: &mut LinearChart<'_, '_>, shown: &Shown, range: &Range<f64>) -> Result<()> {
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

/// A red stripe over each stretch of steps at which one side is not finite.
fn broken(chart: &mut LinearChart<'_, '_>, shown: &Shown, range: &Range<f64>) -> Result<()> {
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
    shown: &Shown,
    values: &[Option<f64>],
    colour: RGBColor,
    range: &Range<f64>,
) -> Result<()> {
    let clamp = |value: f64| value.clamp(range.start, range.end);
    let width = if colour == BASELINE { 9 } else { 4 };
    for stretch in shown.stretches(values) {
        let raw: Vec<(f64, f64)> = stretch.iter().map(|(step, value)| (*step, clamp(*value))).collect();
        if shown.step.len() < SMOOTHED {
            polyline(chart, &raw, line(colour.to_rgba(), width))?;
        } else {
            polyline(chart, &raw, line(colour.mix(0.3), 2))?;
            let smooth: Vec<_> =
                curve::smooth(&stretch).into_iter().map(|(step, value)| (step, clamp(value))).collect();
            polyline(chart, &smooth, line(colour.to_rgba(), width))?;
        }
        if shown.step.len() <= FEW || raw.len() == 1 {
            let dots =
                raw.iter().map(|point| Circle::new(*point, if colour == BASELINE { 8 } else { 5 }, colour.filled()));
            chart.draw_series(dots).map_err(internal)?;
        }
    }
    Ok(())
}

/// A line with round joins, piece by piece: drawn in one, a thick line throws long spikes at sharp angles.
fn polyline<C>(
    chart: &mut ChartContext<'_, BitMapBackend<'_>, C>,
    points: &[(f64, f64)],
    style: ShapeStyle,
) -> Result<()>
where
    C: plotters::coord::CoordTranslate<From = (f64, f64)>,
{
    let pieces = points.windows(2).map(|piece| PathElement::new(piece.to_vec(), style));
    chart.draw_series(pieces).map_err(internal)?;
    if style.stroke_width > 2 {
        let joins = points.iter().map(|point| Circle::new(*point, style.stroke_width / 2, style.color.filled()));
        chart.draw_series(joins).map_err(internal)?;
    }
    Ok(())
}

/// A dashed line at the first diverging step.
fn marker(chart: &mut LinearChart<'_, '_>, unit: &CurveUnit, range: &Range<f64>) -> Result<()> {
    #[allow(clippy::cast_precision_loss, reason = "a step in a picture")]
    let Some(step) = unit.first_diverging_step.map(|step| step as f64) else { return Ok(()) };
    let ends = [(step, range.start), (step, range.end)];
    let dashed = DashedLineSeries::new(ends, 10, 8, ALARM.stroke_width(4));
    chart.draw_series(dashed).map_err(internal).map(drop)
}

fn differences(area: &Area<'_>, unit: &CurveUnit, shown: &Shown, words: &Writer) -> Result<()> {
    let limit = curve::limit(unit);
    let range = decades(shown, limit);
    let mut chart = ChartBuilder::on(area)
        .margin_right(56)
        .margin_top(52)
        .margin_bottom(8)
        .x_label_area_size(80)
        .y_label_area_size(150)
        .build_cartesian_2d(steps(shown), range.clone().log_scale())
        .map_err(internal)?;
    chart
        .configure_mesh()
        .x_label_formatter(&number_of_step)
        .y_label_formatter(&|value| format!("{} %", short(value * 100.0)))
        .y_labels(6)
        .x_labels(10)
        .light_line_style(PAPER)
        .bold_line_style(GRID)
        .axis_style(FAINT)
        .label_style(style(24, INK))
        .x_desc(words.word("plot_step")?)
        .axis_desc_style(style(26, INK))
        .draw()
        .map_err(internal)?;
    recorded(&mut chart, shown, &range)?;
    let few = shown.step.len() <= FEW;
    for stretch in shown.rel_stretches() {
        let points: Vec<(f64, f64)> =
            stretch.iter().map(|(step, rel)| (*step, rel.clamp(range.start, range.end))).collect();
        polyline(&mut chart, &points, line(INK.mix(0.45), 2))?;
        let dots = points.iter().map(|point| Circle::new(*point, if few { 6 } else { 3 }, INK.mix(0.8).filled()));
        chart.draw_series(dots).map_err(internal)?;
    }
    limits(&mut chart, unit, limit, &range, &steps(shown))?;
    let name = words.word(if limit.is_some() { "plot_difference_and_limit" } else { "plot_difference" })?;
    text(area, &name, (152, 8), 26, FAINT)
}

/// The recorded noise, as an area from below.
fn recorded(chart: &mut LogChart<'_, '_>, shown: &Shown, range: &Range<f64>) -> Result<()> {
    if shown.band.is_empty() {
        return Ok(());
    }
    let top = shown.step.iter().zip(&shown.band).map(|(step, band)| (*step, band.clamp(range.start, range.end)));
    chart.draw_series(AreaSeries::new(top, range.start, BASELINE.mix(0.18))).map_err(internal).map(drop)
}

/// Whole decades around the differences and the limit.
fn decades(shown: &Shown, limit: Option<f64>) -> Range<f64> {
    let told = |rel: &f64| *rel > LOWEST && rel.is_finite();
    let all = || shown.rel().into_iter().map(|(_, rel)| rel).filter(told).map(within_axes);
    let highest = all().chain(limit).fold(1e-6, f64::max);
    let lowest = all().chain(limit).fold(highest, f64::min);
    let decade = |value: f64| (value * 0.5).max(LOWEST).log10();
    let top = decade(highest * 4.0).ceil();
    // Eight decades at most: below lies nothing that a limit could be about.
    let bottom = decade(lowest).floor().max(top - 8.0).min(top - 2.0);
    10_f64.powf(bottom)..10_f64.powf(top)
}

/// The limit of the mean, and the first diverging step again.
fn limits(
    chart: &mut LogChart<'_, '_>,
    unit: &CurveUnit,
    limit: Option<f64>,
    range: &Range<f64>,
    steps: &Range<f64>,
) -> Result<()> {
    if let Some(limit) = limit.filter(|limit| range.contains(limit)) {
        let dashed = DashedLineSeries::new([(steps.start, limit), (steps.end, limit)], 18, 12, ALARM.stroke_width(3));
        chart.draw_series(dashed).map_err(internal)?;
    }
    #[allow(clippy::cast_precision_loss, reason = "a step in a picture")]
    if let Some(step) = unit.first_diverging_step.map(|step| step as f64) {
        let ends = [(step, range.start), (step, range.end)];
        chart.draw_series(DashedLineSeries::new(ends, 10, 8, ALARM.stroke_width(4))).map_err(internal)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Axes of plotters never end, or take all memory, where a range or its room is infinite.
    #[test]
    fn ranges_stay_finite_whatever_the_values() {
        for extreme in [f64::MAX, f64::MIN, 1.7e308, -1.7e308, 1e300, 5e-324, f64::INFINITY, f64::NAN] {
            for other in [1.0, -1.0, 0.0, 1.7e308, -1.7e308] {
                let shown = Shown {
                    step: vec![1.0, 1e18],
                    baseline: vec![Some(other), Some(2.0)],
                    candidate: vec![Some(extreme), Some(2.0)],
                    ..Shown::default()
                };
                for range in [values(&shown), decades(&shown, Some(0.01)), steps(&shown)] {
                    let span = range.end - range.start;
                    assert!(span.is_finite() && span > 0.0, "{extreme:e} {other:e}: {range:?}");
                }
            }
        }
    }
}
