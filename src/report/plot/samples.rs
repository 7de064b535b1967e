//! `samples.png`: for each rule a dot per run and side, and below them the interval of the shift with what matters as a band.

use plotters::prelude::{Circle, Cross, PathElement, Rectangle};
use plotters::style::Color;

use super::heat::Frame;
use super::marks::{Legend, Mark, colour_of_side};
use super::{ALARM, Area, FAINT, GRID, INK, dot, drawable, internal, name_of, picture, pixel, text};
use crate::error::Result;
use crate::report::ends::{self, within_axes};
use crate::report::escape::TextTarget;
use crate::report::messages::{Language, short_number};
use crate::report::writer::Writer;
use crate::result::GateResult;
use crate::result::number::Number;
use crate::result::unit::{AnyUnit, SampleRule, samples};
use crate::verdict::{Side, Verdict};

const WIDTH: u32 = 1600;
/// Height of the title without the legend, of one rule, and of the room below it.
const TITLE: i32 = 84;
const PANEL: i32 = 96;
const BELOW: i32 = 26;
/// Room left of the panels for their names, right of them for numbers, and below all.
const LEFT: i32 = 420;
const RIGHT: i32 = 60;
const FOOT: i32 = 30;
/// Rules that are drawn, and dots of a side.
const MOST: usize = 12;
const DOTS: usize = 400;

/// Draws the runs of both sides; `None` where there are no samples.
pub(crate) fn samples_png(result: &GateResult, language: Language) -> Result<Option<Vec<u8>>> {
    let rule = |unit: &crate::result::unit::SampleUnit| {
        let name = unit.name();
        unit.rules.iter().map(move |rule| (format!("{name} {}", rule.rule), rule.clone())).collect::<Vec<_>>()
    };
    let mut rules: Vec<(String, SampleRule)> = samples(&result.checks).flat_map(rule).collect();
    // The worst rule first, then the order of the result.
    rules.sort_by_key(|(_, rule)| std::cmp::Reverse(rule.verdict));
    rules.truncate(MOST);
    if rules.is_empty() {
        return Ok(None);
    }
    let words = Writer::from_result(result, language, TextTarget::Plain);
    let has_broken = rules.iter().flat_map(|(_, rule)| rule.numbers.iter().flatten()).any(|value| !value.0.is_finite());
    let legend = legend(has_broken, &words)?;
    let title = TITLE + legend.height();
    let height = title + i32::try_from(rules.len()).unwrap_or(1) * (PANEL + BELOW) + FOOT;
    let png = picture(WIDTH, u32::try_from(height).unwrap_or(WIDTH), |root| {
        text(root, &words.word("plot_samples")?, (40, 24), 34, INK)?;
        legend.draw(root, TITLE - 12)?;
        let mut top = title;
        for (name, rule) in &rules {
            let frame = Frame { left: LEFT, top, wide: pixel(WIDTH) - LEFT - RIGHT, tall: PANEL };
            draw(root, name, rule, frame)?;
            top += PANEL + BELOW;
        }
        Ok(())
    })?;
    Ok(Some(png))
}

fn legend(has_broken: bool, words: &Writer) -> Result<Legend> {
    let mut entries = vec![
        (Mark::Dot(Side::Baseline), name_of(Side::Baseline, words)?),
        (Mark::Dot(Side::Candidate), name_of(Side::Candidate, words)?),
        (Mark::Interval(INK), words.word("plot_samples_interval")?),
        (Mark::Band(INK), words.word("plot_samples_matters")?),
    ];
    if has_broken {
        entries.push((Mark::Cross(ALARM), words.word("plot_not_finite")?));
    }
    Ok(Legend::new(entries, (40, pixel(WIDTH) - 40)))
}

/// Place of a value between two others, in pixels.
#[allow(clippy::cast_possible_truncation, reason = "a share of a width in pixels")]
fn across(frame: Frame, [low, high]: [f64; 2], value: f64) -> i32 {
    let span = if high > low { high - low } else { 1.0 };
    let share = ((value - low) / span).clamp(0.0, 1.0);
    frame.left + 12 + (f64::from(frame.wide - 24) * share).round() as i32
}

fn draw(area: &Area<'_>, name: &str, rule: &SampleRule, frame: Frame) -> Result<()> {
    frame.draw(area)?;
    let ink = if rule.verdict >= Verdict::Fail { ALARM } else { INK };
    text(area, &drawable(name, 30), (24, frame.top + 10), 24, ink)?;
    let [baseline, candidate] = &rule.numbers;
    let ends = ends::usual_range(baseline.iter().chain(candidate).map(|number| number.0));
    let (low, high) = ends.unwrap_or((0.0, 1.0));
    if ends.is_some() {
        text(area, &format!("{} … {}", short_number(low), short_number(high)), (24, frame.top + 42), 22, FAINT)?;
    }
    dots(area, baseline, (frame, [low, high]), frame.top + 20, Side::Baseline)?;
    dots(area, candidate, (frame, [low, high]), frame.top + 44, Side::Candidate)?;
    interval(area, rule, frame)
}

fn dots(area: &Area<'_>, numbers: &[Number], (frame, range): (Frame, [f64; 2]), down: i32, side: Side) -> Result<()> {
    for Number(value) in numbers.iter().take(DOTS) {
        if value.is_finite() {
            dot(area, side, (across(frame, range, *value), down), 7, colour_of_side(side))?;
        } else {
            // NaN and infinity have no place on the axis and are drawn at its right end.
            let at = (frame.left + frame.wide - 12, down);
            area.draw(&Cross::new(at, 8, ALARM.stroke_width(4))).map_err(internal)?;
        }
    }
    Ok(())
}

/// The interval of the shift on an axis of its own, whose middle is no shift.
fn interval(area: &Area<'_>, rule: &SampleRule, frame: Frame) -> Result<()> {
    let (Some([low, high]), Some(effect)) = (rule.interval, rule.effect.or(rule.drop)) else { return Ok(()) };
    let widest = [low.0, high.0, 2.0 * rule.limit.0].into_iter().map(f64::abs).fold(0.0, f64::max);
    let range = [-widest, widest];
    let (at, down) = (|value: f64| across(frame, range, within_axes(value)), frame.top + 74);
    let band = [(at(-rule.limit.0), down - 14), (at(rule.limit.0), down + 14)];
    area.draw(&Rectangle::new(band, GRID.filled())).map_err(internal)?;
    area.draw(&PathElement::new(vec![(at(0.0), down - 16), (at(0.0), down + 16)], FAINT.stroke_width(2)))
        .map_err(internal)?;
    let colour = if rule.verdict >= Verdict::Fail { ALARM } else { INK };
    area.draw(&PathElement::new(vec![(at(low.0), down), (at(high.0), down)], colour.stroke_width(4)))
        .map_err(internal)?;
    for end in [at(low.0), at(high.0)] {
        area.draw(&PathElement::new(vec![(end, down - 8), (end, down + 8)], colour.stroke_width(3)))
            .map_err(internal)?;
    }
    area.draw(&Circle::new((at(effect.0), down), 6, colour.filled())).map_err(internal)
}
