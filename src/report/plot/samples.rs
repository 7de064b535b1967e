//! `samples.png`: for each rule a dot per run and side, and below them the interval of the shift with what matters as a band.

use plotters::prelude::{Circle, PathElement, Rectangle};
use plotters::style::{Color, RGBColor};

use super::heat::Frame;
use super::{
    ALARM, Area, BASELINE, CANDIDATE, FAINT, GRID, INK, dot, internal, name_of, picture, pixel, style, text,
    within_axes,
};
use crate::error::Result;
use crate::report::escape::Target;
use crate::report::messages::{Language, short};
use crate::report::writer::Writer;
use crate::result::GateResult;
use crate::result::number::Number;
use crate::result::unit::{AnyUnit, SampleRule, samples};
use crate::verdict::{Side, Verdict};

const WIDTH: u32 = 1600;
/// Height of the title and the legend, of one rule, and of the room below it.
const TITLE: i32 = 130;
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
pub fn samples_png(result: &GateResult, language: Language) -> Result<Option<Vec<u8>>> {
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
    let words = Writer::of(result, language, Target::Plain);
    let height = TITLE + i32::try_from(rules.len()).unwrap_or(1) * (PANEL + BELOW) + FOOT;
    let png = picture(WIDTH, u32::try_from(height).unwrap_or(WIDTH), |root| {
        text(root, &words.word("plot_samples")?, (40, 24), 34, INK)?;
        legend(root, &words)?;
        let mut top = TITLE;
        for (name, rule) in &rules {
            let frame = Frame { left: LEFT, top, wide: pixel(WIDTH) - LEFT - RIGHT, tall: PANEL };
            draw(root, name, rule, frame)?;
            top += PANEL + BELOW;
        }
        Ok(())
    })?;
    Ok(Some(png))
}

fn legend(area: &Area<'_>, words: &Writer) -> Result<()> {
    let mut x = 40;
    let entries = [
        (name_of(Side::Baseline, words)?, Side::Baseline, BASELINE),
        (name_of(Side::Candidate, words)?, Side::Candidate, CANDIDATE),
        (words.word("plot_samples_interval")?, Side::Baseline, INK),
        (words.word("plot_samples_matters")?, Side::Candidate, GRID),
    ];
    for (label, side, colour) in entries {
        dot(area, side, (x + 12, 98), 9, colour)?;
        text(area, &label, (x + 32, 86), 26, INK)?;
        let (width, _) = area.estimate_text_size(&label, &style(26, INK)).map_err(internal)?;
        x += 32 + pixel(width) + 48;
    }
    Ok(())
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
    text(area, name, (24, frame.top + 10), 24, ink)?;
    let [ours, theirs] = &rule.numbers;
    let all = || ours.iter().chain(theirs).map(|number| within_axes(number.0)).filter(|value| value.is_finite());
    let range = [all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max)];
    let [low, high] = range;
    if low > high {
        return Ok(());
    }
    text(area, &format!("{} … {}", short(low), short(high)), (24, frame.top + 42), 20, FAINT)?;
    dots(area, ours, (frame, range), frame.top + 20, (Side::Baseline, BASELINE))?;
    dots(area, theirs, (frame, range), frame.top + 44, (Side::Candidate, CANDIDATE))?;
    interval(area, rule, frame)
}

fn dots(
    area: &Area<'_>,
    numbers: &[Number],
    (frame, range): (Frame, [f64; 2]),
    down: i32,
    (side, colour): (Side, RGBColor),
) -> Result<()> {
    for value in numbers.iter().map(|number| within_axes(number.0)).filter(|value| value.is_finite()).take(DOTS) {
        dot(area, side, (across(frame, range, value), down), 7, colour)?;
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
    area.draw(&Circle::new((at(effect.0), down), 6, colour.filled())).map_err(internal)
}
