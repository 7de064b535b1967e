//! `timeline.png`: loss, gradient norm and loss scale over the steps, with skipped updates, the first value that is not finite
//! and the end.

use plotters::prelude::{Cross, PathElement, TriangleMarker};
use plotters::style::{Color, RGBColor};

use super::heat::Frame;
use super::marks::{Legend, Mark, colour_of_side, dot_places, width_of_side};
use super::{ALARM, Area, FAINT, INK, dot, internal, name_of, picture, pixel, style, text};
use crate::error::Result;
use crate::kind::Role;
use crate::report::ends;
use crate::report::escape::TextTarget;
use crate::report::messages::{Language, short_number};
use crate::report::timeline;
use crate::report::writer::Writer;
use crate::result::GateResult;
use crate::result::run::{Course, EventKind};
use crate::result::unit::{CurveUnit, curves};
use crate::verdict::Side;

const WIDTH: u32 = 1600;
/// Height of the title without the legend, of one panel, and of the room below it.
const TITLE: i32 = 84;
const PANEL: i32 = 220;
const BELOW: i32 = 40;
/// Room left of the panels for their names, right of them, and below all.
const LEFT: i32 = 260;
const RIGHT: i32 = 60;
const FOOT: i32 = 60;
/// Points of a line that are drawn.
const MOST: usize = 4096;

/// Values of a side over the steps; steps that fall are not drawn.
struct Line {
    points: Vec<(f64, f64)>,
    side: Side,
}

/// A panel: its name and its lines.
struct Panel {
    name: String,
    lines: Vec<Line>,
    /// Whether its values are drawn by their logarithms.
    is_logarithmic: bool,
}

/// Draws the course of the candidate; `None` where nothing of it is worth a picture.
pub(crate) fn timeline_png(result: &GateResult, language: Language) -> Result<Option<Vec<u8>>> {
    let Some(timeline) = result.timeline.as_ref().filter(|_| timeline::has_explanation(result)) else {
        return Ok(None);
    };
    let words = Writer::from_result(result, language, TextTarget::Plain);
    let panels = panels(result, &timeline.candidate, timeline.baseline.as_ref(), &words)?;
    let steps = || panels.iter().flat_map(|panel| &panel.lines).flat_map(|line| &line.points).map(|(step, _)| *step);
    let (first, last) = (steps().fold(f64::INFINITY, f64::min), steps().fold(f64::NEG_INFINITY, f64::max));
    if first > last {
        return Ok(None);
    }
    let range = (first, if last > first { last } else { first + 1.0 });
    let has_broken = panels.iter().flat_map(|panel| &panel.lines).flat_map(|line| &line.points).any(is_broken);
    let legend = legend(&timeline.candidate, timeline.baseline.is_some(), has_broken, &words)?;
    let title = TITLE + legend.height();
    let height = title + i32::try_from(panels.len()).unwrap_or(1) * (PANEL + BELOW) + FOOT;
    let png = picture(WIDTH, u32::try_from(height).unwrap_or(WIDTH), |root| {
        text(root, &words.word("plot_timeline")?, (40, 24), 34, INK)?;
        legend.draw(root, TITLE - 12)?;
        let mut top = title;
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
    let scale = |course: &Course, side| Line { points: scale_of(course), side };
    let baseline = baseline.map(|course| scale(course, Side::Baseline));
    let lines: Vec<Line> = baseline.into_iter().chain([scale(candidate, Side::Candidate)]).collect();
    if lines.iter().any(|line| !line.points.is_empty()) {
        panels.push(Panel { name: "loss scale".to_owned(), lines, is_logarithmic: true });
    }
    Ok(panels)
}

#[allow(clippy::cast_precision_loss, reason = "steps of a picture")]
fn lines_of(unit: &CurveUnit) -> Vec<Line> {
    let series = &unit.series;
    let of = |values: &[Option<crate::result::number::Number>], side| {
        let points = series.step.iter().zip(values).take(MOST);
        let points = points.filter_map(|(step, value)| Some((*step as f64, value.as_ref()?.0)));
        Line { points: points.collect(), side }
    };
    vec![of(&series.baseline, Side::Baseline), of(&series.candidate, Side::Candidate)]
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
        points.push((step, scale.0));
    }
    if let (Some((_, scale)), Some(last)) = (points.last().copied(), course.last_step) {
        points.push((last as f64, scale));
    }
    points
}

fn legend(course: &Course, is_pair: bool, has_broken: bool, words: &Writer) -> Result<Legend> {
    let mut entries = vec![(Mark::Line(Side::Candidate), name_of(Side::Candidate, words)?)];
    if is_pair {
        entries.insert(0, (Mark::Line(Side::Baseline), name_of(Side::Baseline, words)?));
    }
    let marks = [
        (course.first_skip.is_some(), Mark::Tick(FAINT), "plot_timeline_skip"),
        (has_broken, Mark::Cross(ALARM), "plot_not_finite"),
        (first_broken(course).is_some(), Mark::Upright(ALARM), "plot_timeline_first"),
        (course.ended.is_some(), Mark::Wall(INK), "plot_timeline_end"),
    ];
    for (_, mark, key) in marks.into_iter().filter(|(is_there, ..)| *is_there) {
        entries.push((mark, words.word(key)?));
    }
    Ok(Legend::new(entries, (40, pixel(WIDTH) - 40)))
}

fn is_broken((_, value): &(f64, f64)) -> bool {
    !value.is_finite()
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
    let all = panel.lines.iter().flat_map(|line| &line.points).map(|(_, value)| *value);
    frame.draw(area)?;
    text(area, &panel.name, (24, frame.top + frame.tall / 2 - 14), 26, INK)?;
    let ends = ends::usual_range(all);
    let (low, high) = ends.unwrap_or((0.0, 1.0));
    if ends.is_some() {
        text(area, &short_number(high), (150, frame.top), 22, FAINT)?;
        text(area, &short_number(low), (150, frame.top + frame.tall - 24), 22, FAINT)?;
    }
    let (bottom, top) = (shown(low), shown(high));
    let span = if top > bottom { top - bottom } else { 1.0 };
    let down = |value: f64| {
        let share = ((shown(value) - bottom) / span).clamp(0.0, 1.0);
        #[allow(clippy::cast_possible_truncation, reason = "a share of a height in pixels")]
        let down = (f64::from(frame.tall - 12) * (1.0 - share)).round() as i32;
        frame.top + 6 + down
    };
    for line in &panel.lines {
        for piece in line.points.split(is_broken) {
            let at = |(step, value): &(f64, f64)| (across(frame, range, *step), down(*value));
            stroke(area, piece.iter().map(at).collect(), (frame.left, frame.left + frame.wide), line.side)?;
            let beyond = piece.iter().filter(|(_, value)| !(low..=high).contains(value));
            for (left, top) in beyond.map(at) {
                let marker = TriangleMarker::new((left, top + 8), 12, colour_of_side(line.side).filled());
                area.draw(&marker).map_err(internal)?;
            }
        }
        for (step, _) in line.points.iter().filter(|point| is_broken(point)) {
            let at = (across(frame, range, *step), frame.top + frame.tall);
            area.draw(&Cross::new(at, 6, ALARM.stroke_width(3))).map_err(internal)?;
        }
    }
    Ok(())
}

/// A piece of a side's line with its dots.
fn stroke(area: &Area<'_>, piece: Vec<(i32, i32)>, (left, right): (i32, i32), side: Side) -> Result<()> {
    let (colour, ends) = (colour_of_side(side), (f64::from(left), f64::from(right)));
    let marked = dot_places(&piece, |(across, _)| f64::from(*across), ends, side);
    // Panels are low: a line as thick as in the picture of the loss would hide its own course.
    let width = width_of_side(side).min(5);
    area.draw(&PathElement::new(piece, colour.stroke_width(width))).map_err(internal)?;
    marked.into_iter().try_for_each(|at| dot(area, side, at, if side == Side::Baseline { 8 } else { 6 }, colour))
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
        let at = across(frame, range, step as f64);
        for from in (frame.top..bottom).step_by(18) {
            let dash = vec![(at, from), (at, (from + 10).min(bottom))];
            area.draw(&PathElement::new(dash, ALARM.stroke_width(4))).map_err(internal)?;
        }
    }
    if let Some(ended) = &course.ended {
        upright(ended.step.max(course.last_step).unwrap_or_default(), frame.top, INK, 4)?;
    }
    Ok(())
}
