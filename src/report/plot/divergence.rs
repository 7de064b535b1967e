//! `divergence.png`: error against execution order, one panel per unit that does not pass, its culprit named.

use std::ops::Range;

use minijinja::context;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::{
    BitMapBackend, Cartesian2d, ChartBuilder, ChartContext, Circle, DashedLineSeries, EmptyElement, IntoLogRange,
    LogCoord, Polygon,
};
use plotters::style::Color;

use super::marks::{Legend, Mark};
use super::{
    ALARM, Area, FAINT, GRID, INK, LIMIT, PAPER, PASS, drawable, internal, picture, pixel, style, text, verdict,
};
use crate::error::Result;
use crate::report::ends::Decades;
use crate::report::escape::TextTarget;
use crate::report::messages::{Language, tick};
use crate::report::writer::Writer;
use crate::result::GateResult;
use crate::result::number::Number;
use crate::result::unit::{DumpUnit, ProfilePoint, Unit};
use crate::verdict::Verdict;

const WIDTH: u32 = 1600;
/// Height of the title, of a panel, and of a panel that stands alone.
const TITLE: u32 = 132;
const PANEL: u32 = 400;
const ALONE: u32 = 640;
/// Panels; further units are counted.
const MOST_PANELS: usize = 6;
/// Room left of the axes for their labels.
const LABELS: u32 = 150;

type Chart<'a, 'b> = ChartContext<'a, BitMapBackend<'b>, Cartesian2d<RangedCoordf64, LogCoord<f64>>>;

/// Draws the units that do not pass, or the first one where all do; `None` where no unit has a profile.
pub(crate) fn divergence_png(result: &GateResult, language: Language) -> Result<Option<Vec<u8>>> {
    let words = Writer::from_result(result, language, TextTarget::Plain);
    let units = units(result);
    if units.is_empty() {
        return Ok(None);
    }
    let shown = units.len().min(MOST_PANELS);
    let panel = if shown == 1 { ALONE } else { PANEL };
    let height = TITLE + panel * u32::try_from(shown).unwrap_or(1);
    let bytes = picture(WIDTH, height, |root| {
        let (head, panels) = root.split_vertically(TITLE);
        title(&head, result, units.len() - shown, &words)?;
        for (area, unit) in panels.split_evenly((shown, 1)).iter().zip(&units) {
            profile(area, unit, &words)?;
        }
        Ok(())
    })?;
    Ok(Some(bytes))
}

/// The unit of the culprit that the result names first, then the others that do not pass, in order.
fn units(result: &GateResult) -> Vec<&DumpUnit> {
    let units = result.checks.iter().flat_map(|check| &check.units);
    let drawable: Vec<&DumpUnit> = units
        .filter_map(|unit| match unit {
            Unit::Dump(unit) if !unit.profile.is_empty() => Some(unit.as_ref()),
            _ => None,
        })
        .collect();
    let mut failed: Vec<&DumpUnit> = drawable
        .iter()
        .copied()
        .filter(|unit| unit.verdict >= Verdict::Warn && unit.verdict != Verdict::Skipped)
        .collect();
    failed.sort_by_key(|unit| unit.culprit.is_none() || unit.culprit != result.culprit);
    if failed.is_empty() { drawable.into_iter().take(1).collect() } else { failed }
}

fn title(area: &Area<'_>, result: &GateResult, more: usize, words: &Writer) -> Result<()> {
    let more = if more > 0 { words.phrase("plot_more", &context! { more })? } else { String::new() };
    let colon = words.word("colon")?;
    let name = format!("{}{colon}{}{more}", words.word("plot_profile")?, verdict(result.verdict, words)?);
    text(area, &name, (40, 24), 40, INK)?;
    let marks = [
        (Mark::Sign(Verdict::Pass), "plot_within"),
        (Mark::Sign(Verdict::Fail), "plot_beyond"),
        (Mark::Dashed(LIMIT), "plot_limit"),
    ];
    let entries = marks.into_iter().map(|(mark, key)| Ok((mark, words.word(key)?))).collect::<Result<_>>()?;
    Legend::new(entries, (40, pixel(WIDTH) - 40)).draw(area, 78)
}

fn profile(area: &Area<'_>, unit: &DumpUnit, words: &Writer) -> Result<()> {
    // A little wider than the axis, so that both of its ends have their marks whatever a logarithm is rounded to.
    let (orders, axis) = (orders(&unit.profile), Decades::from_profile(&unit.profile));
    let mut chart = ChartBuilder::on(area)
        .margin_right(56)
        .margin_top(56)
        .margin_bottom(12)
        .x_label_area_size(80)
        .y_label_area_size(LABELS)
        .build_cartesian_2d(orders.clone(), (axis.floor * (1.0 - 1e-9)..axis.top * (1.0 + 1e-9)).log_scale())
        .map_err(internal)?;
    chart
        .configure_mesh()
        .x_label_formatter(&whole)
        .y_label_formatter(&|value| mark_of(*value, &axis))
        .y_labels(6)
        .x_labels(10)
        .light_line_style(PAPER)
        .bold_line_style(GRID)
        .axis_style(FAINT)
        .label_style(style(24, INK))
        .x_desc(words.word("plot_order")?)
        .axis_desc_style(style(26, INK))
        .draw()
        .map_err(internal)?;
    limits(&mut chart, unit, &orders, &axis)?;
    points(&mut chart, unit, &axis)?;
    let place = words.phrase("unit_place", &context! { step => unit.step, rank => unit.rank })?;
    let name = format!("{place}{}{}", words.word("colon")?, verdict(unit.verdict, words)?);
    text(area, &name, (pixel(LABELS) + 4, 18), 28, INK)?;
    let (width, _) = area.estimate_text_size(&name, &style(28, INK)).map_err(internal)?;
    culprit(area, &mut chart, unit, pixel(LABELS + width) + 40)
}

#[allow(clippy::cast_precision_loss, reason = "a position in a picture")]
fn position(point: &ProfilePoint) -> f64 {
    point.order as f64
}

fn orders(profile: &[ProfilePoint]) -> Range<f64> {
    let (first, last) = (profile.first().map_or(0.0, position), profile.last().map_or(1.0, position));
    let room = ((last - first) * 0.01).max(0.5);
    first - room..last + room
}

fn whole(order: &f64) -> String {
    if order.fract().abs() < 1e-9 && *order >= 0.0 { format!("{order:.0}") } else { String::new() }
}

/// A mark of the axis of errors: its floor is 0 or all below it, its top what lies beyond it or is no number.
fn mark_of(value: f64, axis: &Decades) -> String {
    let is_at = |end: f64| (value / end - 1.0).abs() < 1e-6;
    // Marks are powers of ten, which the chart reaches by products that miss the last bit.
    let said = tick(10_f64.powf(value.log10().round()));
    if is_at(axis.floor) {
        return if axis.is_cut_below { format!("≤ {said}") } else { tick(0.0) };
    }
    match (is_at(axis.top), axis.has_infinite, axis.is_cut_above) {
        (true, true, _) => "NaN, inf".to_owned(),
        (true, false, true) => format!("≥ {said}"),
        _ => said,
    }
}

fn limits(chart: &mut Chart<'_, '_>, unit: &DumpUnit, orders: &Range<f64>, axis: &Decades) -> Result<()> {
    let mut steps: Vec<(f64, f64)> = Vec::new();
    for point in &unit.profile {
        let limit = axis.axis_position(point.limit.0);
        match steps.last().copied() {
            None => steps.push((orders.start, limit)),
            // Only where it changes: a thick line has ugly joints where points coincide.
            Some((_, before)) if before.total_cmp(&limit).is_ne() => {
                steps.extend([(position(point), before), (position(point), limit)]);
            }
            Some(_) => {}
        }
    }
    steps.extend(steps.last().map(|last| (orders.end, last.1)));
    chart.draw_series(DashedLineSeries::new(steps, 10, 8, LIMIT.stroke_width(3))).map_err(internal).map(drop)
}

fn points(chart: &mut Chart<'_, '_>, unit: &DumpUnit, axis: &Decades) -> Result<()> {
    let size = if unit.profile.len() > 400 { 4 } else { 7 };
    let is_beyond = |point: &&ProfilePoint| !point.error.0.is_finite() || point.error.0 > point.limit.0;
    let at = |point: &ProfilePoint| (position(point), axis.axis_position(point.error.0));
    let within = unit.profile.iter().filter(|point| !is_beyond(point));
    let within = within.map(|point| Circle::new(at(point), size, PASS.mix(0.85).filled()));
    chart.draw_series(within).map_err(internal)?;
    // A square says that it is beyond, and red says it again.
    let square = |point: &ProfilePoint| {
        let corners = [(-size, -size), (size, -size), (size, size), (-size, size)];
        EmptyElement::at(at(point)) + Polygon::new(corners, ALARM.mix(0.85))
    };
    chart.draw_series(unit.profile.iter().filter(is_beyond).map(square)).map_err(internal).map(drop)
}

/// A dashed line at the culprit, its name above the panel, right of `from`.
fn culprit(area: &Area<'_>, chart: &mut Chart<'_, '_>, unit: &DumpUnit, from: i32) -> Result<()> {
    let Some(culprit) = &unit.culprit else { return Ok(()) };
    let error = culprit.metrics.get("error").copied().unwrap_or(Number(f64::INFINITY));
    // Its place and error are its own: the profile's point may have been thinned out.
    let point = &ProfilePoint {
        order: culprit.order,
        op: culprit.op.clone(),
        error,
        limit: culprit.metrics.get("limit").copied().unwrap_or(Number(0.0)),
        suspect: true,
    };
    let axis = Decades::from_profile(&unit.profile);
    let ends = [(position(point), axis.floor), (position(point), axis.top)];
    chart.draw_series(DashedLineSeries::new(ends, 10, 8, ALARM.stroke_width(4))).map_err(internal)?;
    let at = (position(point), axis.axis_position(point.error.0));
    chart.draw_series([Circle::new(at, 13, ALARM.stroke_width(4))]).map_err(internal)?;
    let name = drawable(&culprit.op, 70);
    let (width, _) = area.estimate_text_size(&name, &style(26, ALARM)).map_err(internal)?;
    // As near the line as the unit's name and the picture's edge allow.
    let (x, _) = chart.backend_coord(&at);
    let x = (x - pixel(width) / 2).min(pixel(WIDTH) - pixel(width) - 40).max(from);
    text(area, &name, (x, 20), 26, ALARM)
}
