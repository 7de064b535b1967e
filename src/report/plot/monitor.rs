//! `monitor.png`: errors layer by step, and below them both sides' statistic of the culprit.

use minijinja::context;
use plotters::prelude::{Cross, PathElement, TriangleMarker};
use plotters::style::Color;

use super::heat::{self, Frame};
use super::lines::FEW;
use super::marks::{colour_of_side, dot_places, width_of_side};
use super::{ALARM, Area, FAINT, INK, dot, drawable, internal, name_of, picture, pixel, style, text, width_of};
use crate::error::Result;
use crate::judge::monitor::picture::layer_of;
use crate::report::ends;
use crate::report::escape::TextTarget;
use crate::report::messages::{Language, short_number};
use crate::report::writer::Writer;
use crate::result::GateResult;
use crate::result::number::Number;
use crate::result::unit::{Culprit, CurveSeries, MonitorMap, MonitorUnit, monitors};
use crate::verdict::Side;

const WIDTH: u32 = 1600;
/// Height of the title, of the map, of the room below it, and of the lines.
const TITLE: i32 = 80;
const MAP: i32 = 620;
const BELOW: i32 = 120;
const LINES: i32 = 300;
/// Room left of the map for names of layers, and right of it.
const LEFT: i32 = 340;
const RIGHT: i32 = 60;
/// Names of layers that have room.
const MOST_NAMES: usize = 24;
/// Error over its limit that has the darkest colour.
const DARKEST: f64 = 10.0;
/// Most layers and steps of a map that is drawn.
const MOST: usize = 512;

/// Draws the rank of the culprit, or the first of the worst verdict; `None` where no rank holds a map.
pub(crate) fn monitor_png(result: &GateResult, language: Language) -> Result<Option<Vec<u8>>> {
    let named = result.culprit.as_ref();
    let is_named = |unit: &&MonitorUnit| named.is_some() && unit.culprit.as_ref() == named;
    let drawn = || monitors(&result.checks).filter(|unit| unit.heatmap.as_ref().is_some_and(is_sound));
    let worst = || drawn().max_by_key(|unit| (unit.verdict, std::cmp::Reverse(unit.rank)));
    let Some(unit) = drawn().find(is_named).or_else(worst) else { return Ok(None) };
    let Some(map) = &unit.heatmap else { return Ok(None) };
    let words = Writer::from_result(result, language, TextTarget::Plain);
    let series = unit.culprit_series.as_ref().filter(|series| is_drawable(series));
    let height = TITLE + MAP + BELOW + if series.is_some() { LINES } else { 0 };
    let png = picture(WIDTH, u32::try_from(height).unwrap_or(WIDTH), |root| {
        let title = words.phrase("plot_monitor", &context! { rank => unit.rank })?;
        text(root, &title, (40, 24), 34, INK)?;
        let frame = Frame { left: LEFT, top: TITLE, wide: pixel(WIDTH) - LEFT - RIGHT, tall: MAP };
        frame.fill(root, &map.cells, |ratio| ratio.map(|Number(ratio)| ratio), DARKEST)?;
        if let Some(culprit) = &unit.culprit {
            mark(root, map, culprit, frame)?;
        }
        names(root, map, frame, &words)?;
        text(root, &words.word("plot_monitor_scale")?, (24, TITLE + MAP + 62), 24, INK)?;
        let has_infinite = map.cells.iter().flatten().flatten().any(|ratio| !ratio.0.is_finite());
        heat::scale(root, (LEFT - 80, TITLE + MAP + 62), 24, (DARKEST, has_infinite))?;
        if let Some(horizon) = unit.horizon {
            end_of_judging(root, map, horizon, frame, &words)?;
        }
        if let (Some(series), Some(culprit)) = (series, &unit.culprit) {
            lines(root, series, culprit, &words)?;
        }
        Ok(())
    })?;
    Ok(Some(png))
}

/// Whether the map can be drawn: results come from files.
fn is_sound(map: &MonitorMap) -> bool {
    let (rows, columns) = (map.layers.len(), map.steps.len());
    let fits = (1..=MOST).contains(&rows) && (1..=MOST).contains(&columns);
    fits && map.cells.len() == rows && map.cells.iter().all(|cells| cells.len() == columns)
}

fn is_drawable(series: &CurveSeries) -> bool {
    let len = series.step.len();
    len > 0 && len <= 4096 && series.baseline.len() == len && series.candidate.len() == len
}

/// Frames the culprit's cell.
fn mark(area: &Area<'_>, map: &MonitorMap, culprit: &Culprit, frame: Frame) -> Result<()> {
    let name = culprit.monitor.as_ref().map_or(culprit.op.as_str(), |facts| facts.name.as_str());
    let layers = [layer_of(name), name.rsplit_once('.').map_or(name, |(layer, _)| layer)];
    let row = map.layers.iter().position(|layer| layers.contains(&layer.as_str()));
    let update = culprit.monitor.as_ref().map_or(0, |facts| facts.update);
    let update = u64::try_from(update).unwrap_or(0);
    let column = map.steps.iter().rposition(|step| *step <= update);
    let Some((row, column)) = row.zip(column) else { return Ok(()) };
    heat::mark(area, frame.cell((row, map.layers.len()), (column, map.steps.len())))
}

/// Draws a line after the last step at which errors are judged.
fn end_of_judging(area: &Area<'_>, map: &MonitorMap, horizon: u64, frame: Frame, words: &Writer) -> Result<()> {
    let Some(column) = map.steps.iter().rposition(|step| *step <= horizon) else { return Ok(()) };
    let [_, (right, _)] = frame.cell((0, 1), (column, map.steps.len()));
    let line = vec![(right, frame.top - 12), (right, frame.top + frame.tall + 4)];
    area.draw(&PathElement::new(line, INK.stroke_width(3))).map_err(internal)?;
    let said = words.phrase("plot_monitor_horizon", &context! { step => horizon })?;
    let (width, _) = area.estimate_text_size(&said, &style(22, INK)).map_err(internal)?;
    let left = (right + 8).min(frame.left + frame.wide - pixel(width));
    text(area, &said, (left, frame.top - 30), 22, INK)
}

/// Names of the layers and of the first and last step.
fn names(area: &Area<'_>, map: &MonitorMap, frame: Frame, words: &Writer) -> Result<()> {
    let rows = map.layers.len();
    let every = rows.div_ceil(MOST_NAMES).max(1);
    for (row, layer) in map.layers.iter().enumerate().filter(|(row, _)| row % every == 0) {
        let [(_, top), (_, bottom)] = frame.cell((row, rows), (0, 1));
        let at = if every == 1 { top.midpoint(bottom) - 11 } else { top };
        let shown: String = layer.chars().rev().take(26).collect::<Vec<char>>().into_iter().rev().collect();
        text(area, &drawable(&shown, 26), (24, at), 22, INK)?;
    }
    let below = frame.top + frame.tall + 10;
    let (first, last) = (map.steps.first().copied().unwrap_or(0), map.steps.last().copied().unwrap_or(0));
    let last = last.to_string();
    let (width, _) = area.estimate_text_size(&last, &style(24, INK)).map_err(internal)?;
    text(area, &first.to_string(), (frame.left, below), 24, INK)?;
    text(area, &words.word("plot_step")?, (frame.left + frame.wide / 2 - 30, below), 24, INK)?;
    text(area, &last, (frame.left + frame.wide - pixel(width), below), 24, INK)
}

/// Both sides' statistic of the culprit; a value that is not finite is a gap with a cross.
fn lines(area: &Area<'_>, series: &CurveSeries, culprit: &Culprit, words: &Writer) -> Result<()> {
    let facts = culprit.monitor.as_ref();
    let statistic = facts.map_or("", |facts| facts.statistic.as_str());
    let name = drawable(&culprit.op, 60);
    let top = TITLE + MAP + BELOW;
    text(area, &words.phrase("plot_monitor_series", &context! { statistic, name })?, (40, top), 26, INK)?;
    let frame = Frame { left: LEFT, top: top + 44, wide: pixel(WIDTH) - LEFT - RIGHT, tall: LINES - 90 };
    let both = series.baseline.iter().chain(&series.candidate).flatten();
    let ends = ends::usual_range(both.map(|value| value.0));
    frame.draw(area)?;
    for (side, values, down) in [(Side::Baseline, &series.baseline, 0), (Side::Candidate, &series.candidate, 40)] {
        let line = SideLine { frame, ends: ends.unwrap_or((0.0, 1.0)), side };
        line.draw(area, values)?;
        dot(area, side, (32, frame.top + down + 11), 7, colour_of_side(side))?;
        text(area, &name_of(side, words)?, (48, frame.top + down), 24, colour_of_side(side))?;
    }
    if let Some((low, high)) = ends {
        let columns = [(high, frame.top), (low, frame.top + frame.tall - 24)];
        for (value, top) in columns {
            let said = short_number(value);
            text(area, &said, (LEFT - 16 - width_of(&said, 22), top), 22, FAINT)?;
        }
    }
    Ok(())
}

/// A side's line in a frame.
struct SideLine {
    frame: Frame,
    /// Values at the lower and the upper edge.
    ends: (f64, f64),
    side: Side,
}

impl SideLine {
    /// The pixel of a value; a value beyond the axis is placed at its edge.
    fn at(&self, (place, len): (usize, usize), value: f64) -> (i32, i32) {
        let (low, high) = self.ends;
        let [(left, _), (right, _)] = self.frame.cell((0, 1), (place, len));
        let span = if high > low { high - low } else { 1.0 };
        #[allow(clippy::cast_possible_truncation, reason = "a share of a height in pixels")]
        let down = (f64::from(self.frame.tall - 12) * (1.0 - ((value - low) / span).clamp(0.0, 1.0))).round() as i32;
        (left.midpoint(right), self.frame.top + 6 + down)
    }

    fn draw(&self, area: &Area<'_>, values: &[Option<Number>]) -> Result<()> {
        let (len, colour) = (values.len(), colour_of_side(self.side));
        let places: Vec<(usize, Option<f64>)> =
            values.iter().enumerate().map(|(place, value)| (place, value.map(|value| value.0))).collect();
        let bottom = self.frame.top + self.frame.tall;
        for piece in places.split(|(_, value)| !value.is_some_and(f64::is_finite)) {
            let points: Vec<(i32, i32)> =
                piece.iter().filter_map(|(place, value)| Some(self.at((*place, len), (*value)?))).collect();
            let span = (f64::from(self.frame.left), f64::from(self.frame.left + self.frame.wide));
            let marked =
                if len <= FEW { points.clone() } else { dot_places(&points, |at| f64::from(at.0), span, self.side) };
            area.draw(&PathElement::new(points, colour.stroke_width(width_of_side(self.side)))).map_err(internal)?;
            marked.into_iter().try_for_each(|at| dot(area, self.side, at, self.size(), colour))?;
        }
        for (place, value) in places.into_iter().filter_map(|(place, value)| Some((place, value?))) {
            if !value.is_finite() {
                let (at, _) = self.at((place, len), self.ends.0);
                area.draw(&Cross::new((at, bottom), 7, ALARM.stroke_width(4))).map_err(internal)?;
            } else if value < self.ends.0 || value > self.ends.1 {
                let (at, down) = self.at((place, len), value);
                area.draw(&TriangleMarker::new((at, down + 6), 12, colour.filled())).map_err(internal)?;
            }
        }
        Ok(())
    }

    /// Size of a dot: the baseline's shows around one of the candidate.
    fn size(&self) -> i32 {
        if self.side == Side::Baseline { 8 } else { 5 }
    }
}
