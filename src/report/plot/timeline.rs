//! `timeline.png`: loss, gradient norm and loss scale over the steps, with skipped updates, the first value that is not finite
//! and the end.

use plotters::prelude::{Circle, PathElement};
use plotters::style::{Color, RGBColor};

use super::heat::Frame;
use super::{
    ALARM, Area, BASELINE, CANDIDATE, FAINT, INK, internal, name_of, picture, pixel, style, text, within_axes,
};
use crate::error::Result;
use crate::kind::Role;
use crate::report::escape::Target;
use crate::report::messages::{Language, short};
use crate::report::timeline;
use crate::report::writer::Writer;
use crate::result::GateResult;
use crate::result::run::{Course, EventKind};
use crate::result::unit::{CurveUnit, curves};
use crate::verdict::Side;

const WIDTH: u32 = 1600;
/// Height of the title and the legend, of one panel, and of the room below it.
const TITLE: i32 = 130;
const PANEL: i32 = 220;
const BELOW: i32 = 40;
/// Room left of the panels for their names, right of them, and below all.
const LEFT: i32 = 260;
const RIGHT: i32 = 60;
const FOOT: i32 = 60;
/// Points of a line that are drawn.
const MOST: usize = 4096;

/// Values over the steps, drawn in one colour; steps that fall are not drawn.
struct Line {
    points: Vec<(f64, f64)>,
    colour: RGBColor,
}

/// A panel: its name and its lines.
struct Panel {
    name: String,
    lines: Vec<Line>,
    /// Whether its values are drawn by their logarithms.
    is_logarithmic: bool,
}

/// Draws the course of the candidate; `None` where nothing of it is worth a picture.
pub fn timeline_png(result: &GateResult, language: Language) -> Result<Option<Vec<u8>>> {
    let Some(timeline) = result.timeline.as_ref().filter(|_| timeline::is_told(result)) else { return Ok(None) };
    let words = Writer::of(result, language, Target::Plain);
    let panels = panels(result, &timeline.candidate, timeline.baseline.as_ref(), &words)?;
    let steps = || panels.iter().flat_map(|panel| &panel.lines).flat_map(|line| &line.points).map(|(step, _)| *step);
    let (first, last) = (steps().fold(f64::INFINITY, f64::min), steps().fold(f64::NEG_INFINITY, f64::max));
    if first > last {
        return Ok(None);
    }
    let range = (first, if last > first { last } else { first + 1.0 });
    let height = TITLE + i32::try_from(panels.len()).unwrap_or(1) * (PANEL + BELOW) + FOOT;
    let png = picture(WIDTH, u32::try_from(height).unwrap_or(WIDTH), |root| {
        text(root, &words.word("plot_timeline")?, (40, 24), 34, INK)?;
        legend(root, &timeline.candidate, timeline.baseline.is_some(), &words)?;
        let mut top = TITLE;
        for panel in &panels {
            let frame = Frame { left: LEFT, top, wide: pixel(WIDTH) - LEFT - RIGHT, tall: PANEL };
            draw(root, panel, frame, range)?;
            marks(root, &timeline.candidate, frame, range)?;
            top += PANEL + BELOW;
        }
        let below = top - BELOW + 10;
        text(root, &format!("{first:.0}"), (LEFT, below), 24, INK)?;
        let last = format!("{last:.0}");
        let (width, _) = root.estimate_text_size(&last, &style(24, INK)).map_err(internal)?;
        text(root, &words.word("plot_step")?, (LEFT + (pixel(WIDTH) - LEFT - RIGHT) / 2 - 30, below), 24, INK)?;
        text(root, &last, (pixel(WIDTH) - RIGHT - pixel(width), below), 24, INK)
    })?;
    Ok(Some(png))
}

fn panels(result: &GateResult, candidate: &Course, baseline: Option<&Course>, words: &Writer) -> Result<Vec<Panel>> {
    let unit = |role: Role| {
        let mut drawn = curves(&result.checks).filter(|unit| !unit.series.step.is_empty());
        drawn.find(|unit| unit.role == Some(role))
    };
    let mut panels = Vec::new();
    for (role, name) in [(Role::Loss, "metric_loss"), (Role::GradNorm, "metric_grad_norm")] {
        if let Some(unit) = unit(role) {
            panels.push(Panel { name: words.word(name)?, lines: lines_of(unit), is_logarithmic: false });
        }
    }
    let scale = |course: &Course, colour| Line { points: scale_of(course), colour };
    let lines: Vec<Line> =
        baseline.map(|course| scale(course, BASELINE)).into_iter().chain([scale(candidate, CANDIDATE)]).collect();
    if lines.iter().any(|line| !line.points.is_empty()) {
        panels.push(Panel { name: "loss scale".to_owned(), lines, is_logarithmic: true });
    }
    Ok(panels)
}

#[allow(clippy::cast_precision_loss, reason = "steps of a picture")]
fn lines_of(unit: &CurveUnit) -> Vec<Line> {
    let series = &unit.series;
    let of = |values: &[Option<crate::result::number::Number>], colour| {
        let points = series.step.iter().zip(values).take(MOST);
        let points = points.filter_map(|(step, value)| Some((*step as f64, within_axes(value.as_ref()?.0))));
        Line { points: points.collect(), colour }
    };
    vec![of(&series.baseline, BASELINE), of(&series.candidate, CANDIDATE)]
}

/// The loss scale as it stands from change to change.
#[allow(clippy::cast_precision_loss, reason = "steps of a picture")]
fn scale_of(course: &Course) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (step, scale) in course.scale.iter().take(MOST) {
        let step = *step as f64;
        if let Some((_, before)) = points.last().copied() {
            points.push((step, before));
        }
        points.push((step, within_axes(scale.0)));
    }
    if let (Some((_, scale)), Some(last)) = (points.last().copied(), course.last_step) {
        points.push((last as f64, scale));
    }
    points
}

fn legend(area: &Area<'_>, course: &Course, is_pair: bool, words: &Writer) -> Result<()> {
    let mut entries = vec![(name_of(Side::Candidate, words)?, CANDIDATE)];
    if is_pair {
        entries.insert(0, (name_of(Side::Baseline, words)?, BASELINE));
    }
    if course.first_skip.is_some() {
        entries.push((words.word("plot_timeline_skip")?, FAINT));
    }
    if first_broken(course).is_some() {
        entries.push((words.word("plot_timeline_first")?, ALARM));
    }
    if course.ended.is_some() {
        entries.push((words.word("plot_timeline_end")?, INK));
    }
    let mut x = 40;
    for (label, colour) in entries {
        area.draw(&PathElement::new(vec![(x, 98), (x + 44, 98)], colour.stroke_width(6))).map_err(internal)?;
        text(area, &label, (x + 56, 86), 26, INK)?;
        let (width, _) = area.estimate_text_size(&label, &style(26, INK)).map_err(internal)?;
        x += 56 + pixel(width) + 48;
    }
    Ok(())
}

fn first_broken(course: &Course) -> Option<u64> {
    course.first_non_finite_gradient.into_iter().chain(course.first_non_finite_loss).min()
}

/// The pixel of a step.
#[allow(clippy::cast_possible_truncation, reason = "a share of a width in pixels")]
fn across(frame: Frame, (first, last): (f64, f64), step: f64) -> i32 {
    let share = ((step - first) / (last - first)).clamp(0.0, 1.0);
    frame.left + (f64::from(frame.wide) * share).round() as i32
}

fn draw(area: &Area<'_>, panel: &Panel, frame: Frame, range: (f64, f64)) -> Result<()> {
    let shown = |value: f64| if panel.is_logarithmic { value.max(f64::MIN_POSITIVE).log2() } else { value };
    let all =
        || panel.lines.iter().flat_map(|line| &line.points).map(|(_, value)| *value).filter(|value| value.is_finite());
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
    frame.draw(area)?;
    text(area, &panel.name, (24, frame.top + frame.tall / 2 - 14), 26, INK)?;
    if low > high {
        return Ok(());
    }
    text(area, &short(high), (150, frame.top), 22, FAINT)?;
    text(area, &short(low), (150, frame.top + frame.tall - 24), 22, FAINT)?;
    let (bottom, top) = (shown(low), shown(high));
    let span = if top > bottom { top - bottom } else { 1.0 };
    let down = |value: f64| {
        #[allow(clippy::cast_possible_truncation, reason = "a share of a height in pixels")]
        let down = (f64::from(frame.tall - 12) * (1.0 - (shown(value) - bottom) / span)).round() as i32;
        frame.top + 6 + down
    };
    for line in &panel.lines {
        let mut piece: Vec<(i32, i32)> = Vec::new();
        for (step, value) in &line.points {
            let at = across(frame, range, *step);
            if value.is_finite() {
                piece.push((at, down(*value)));
                continue;
            }
            stroke(area, std::mem::take(&mut piece), line.colour)?;
            area.draw(&Circle::new((at, frame.top + frame.tall), 5, ALARM.filled())).map_err(internal)?;
        }
        stroke(area, piece, line.colour)?;
    }
    Ok(())
}

/// A piece of a line; one that is a single point is a dot.
fn stroke(area: &Area<'_>, piece: Vec<(i32, i32)>, colour: RGBColor) -> Result<()> {
    match piece.as_slice() {
        [] => Ok(()),
        [only] => area.draw(&Circle::new(*only, 4, colour.filled())).map_err(internal),
        _ => area.draw(&PathElement::new(piece, colour.stroke_width(4))).map_err(internal),
    }
}

/// Skipped updates as ticks, the first value that is not finite and the end as lines.
#[allow(clippy::cast_precision_loss, reason = "steps of a picture")]
fn marks(area: &Area<'_>, course: &Course, frame: Frame, range: (f64, f64)) -> Result<()> {
    let bottom = frame.top + frame.tall;
    let upright = |step: u64, top: i32, colour: RGBColor, width: u32| {
        let at = across(frame, range, step as f64);
        area.draw(&PathElement::new(vec![(at, top), (at, bottom)], colour.stroke_width(width))).map_err(internal)
    };
    for event in course.events.iter().filter(|event| event.kind == EventKind::Skip).take(Course::MOST_EVENTS) {
        upright(event.step, bottom - 24, FAINT, 2)?;
    }
    if let Some(step) = first_broken(course) {
        upright(step, frame.top, ALARM, 3)?;
    }
    if let Some(ended) = &course.ended {
        upright(ended.step.max(course.last_step).unwrap_or_default(), frame.top, INK, 4)?;
    }
    Ok(())
}
