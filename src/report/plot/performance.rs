//! `performance.png`: phases of a step on both sides, what its difference is made of, and how long each step took.
//!
//! Of several ranks each has its two bars; the parts of the difference are those of the rank that the check names.

use minijinja::context;
use plotters::prelude::{PathElement, Rectangle};
use plotters::style::{Color, RGBColor};

use super::marks::{Hatch, Legend, Mark, bar, colour_of_side};
use super::{
    ALARM, Area, BASELINE, CANDIDATE, FAINT, GRID, INCOMPLETE, INHERITED, INK, dot, drawable, internal, name_of,
    picture, pixel, rgb, text, width_of,
};
use crate::error::Result;
use crate::report::ends::{self, within_axes};
use crate::report::escape::TextTarget;
use crate::report::messages::{Language, duration};
use crate::report::palette;
use crate::report::performance;
use crate::report::sides::spaced_word;
use crate::report::writer::Writer;
use crate::result::GateResult;
use crate::result::unit::{PerformanceUnit, Phase, Phases, StepTime, profiles};
use crate::verdict::Side;

const WIDTH: u32 = 1600;
/// Left end of names, of bars, and right end of bars; what stands behind a bar begins a little further right.
const LEFT: i32 = 40;
const BARS: i32 = 470;
const RIGHT: i32 = 1390;
/// Height of a bar of a single process, of a bar of one of several ranks, and of a row of the waterfall.
const BAR: i32 = 44;
const THIN: i32 = 22;
const ROW: i32 = 38;
/// Height of a heading, and of the panel with the steps.
const HEADING: i32 = 64;
const STEPS: i32 = 320;
/// Ranks and operators that are drawn.
const MOST_RANKS: usize = 16;
const MOST_PARTS: usize = 8;
/// Part of the difference below which an operator has no row of its own.
const SMALL: f64 = 0.03;
/// Letters of a name that have room.
const MOST_NAME: usize = 34;
/// Steps of a side that are drawn as points.
const MOST_STEPS: usize = 400;

/// Phases with their colours and fillings, in the order of a bar.
const PHASES: [(Phase, RGBColor, Hatch); 3] = [
    (Phase::Computing, rgb(palette::QUIET), Hatch::Solid),
    (Phase::Communication, INCOMPLETE, Hatch::Slanted),
    (Phase::Free, INHERITED, Hatch::Hollow),
];

/// Draws the profiles that were judged; `None` where there are none.
///
/// # Errors
/// Where the picture cannot be drawn.
pub fn performance_png(result: &GateResult, language: Language) -> Result<Option<Vec<u8>>> {
    let Some(leading) = performance::leading_unit(result) else { return Ok(None) };
    let (Some(time), Some(phases)) = (&leading.step_time, &leading.phases) else { return Ok(None) };
    let words = Writer::from_result(result, language, TextTarget::Plain);
    let ranks = shown_ranks(result, leading);
    let parts = parts(leading, time, phases, &words)?;
    let bars = bars_height(ranks.len());
    let waterfall = HEADING + ROW * (i32::try_from(parts.len()).unwrap_or(0) + 2) + 20;
    let height = 90 + bars + waterfall + HEADING + STEPS + 90;
    let png = picture(WIDTH, u32::try_from(height).unwrap_or(WIDTH), |root| {
        title(root, leading, time, &words)?;
        rank_bars(root, &ranks, leading, &words)?;
        let top = 90 + bars;
        Waterfall { top, time, parts: &parts }.draw(root, &words)?;
        steps(root, top + waterfall, leading, time, &words)
    })?;
    Ok(Some(png))
}

fn title(area: &Area<'_>, unit: &PerformanceUnit, time: &StepTime, words: &Writer) -> Result<()> {
    let context = context! {
        baseline => time.baseline.0, candidate => time.candidate.0, rank => unit.rank,
        change => performance::change_text(time.ratio.0), noise => time.noise.0,
    };
    text(area, &words.phrase("plot_performance", &context)?, (LEFT, 24), 34, INK)
}

/// The ranks that have bars: all of few, else the first ones with the leading one.
fn shown_ranks<'a>(result: &'a GateResult, leading: &'a PerformanceUnit) -> Vec<&'a PerformanceUnit> {
    let judged = profiles(&result.checks).filter(|unit| unit.step_time.is_some() && unit.phases.is_some());
    let mut ranks: Vec<&PerformanceUnit> = judged.collect();
    if ranks.len() > MOST_RANKS {
        let is_leading = |unit: &&PerformanceUnit| unit.rank == leading.rank;
        let place = ranks.iter().position(is_leading).unwrap_or(0);
        let last = MOST_RANKS - 1;
        if place >= MOST_RANKS {
            ranks.swap(last, place);
        }
        ranks.truncate(MOST_RANKS);
    }
    ranks
}

fn bars_height(ranks: usize) -> i32 {
    let ranks = i32::try_from(ranks).unwrap_or(1);
    if ranks <= 1 { 2 * (BAR + 12) + 66 } else { ranks * (2 * THIN + 14) + 66 }
}

/// Two bars per rank: the phases of the baseline above those of the candidate.
fn rank_bars(area: &Area<'_>, ranks: &[&PerformanceUnit], leading: &PerformanceUnit, words: &Writer) -> Result<()> {
    let longest = ranks
        .iter()
        .filter_map(|unit| unit.step_time.as_ref())
        .flat_map(|time| [time.baseline.0, time.candidate.0])
        .filter(|time| time.is_finite())
        .fold(f64::MIN_POSITIVE, f64::max);
    let mut top = 90;
    let is_single = ranks.len() <= 1;
    for unit in ranks {
        let (Some(time), Some(phases)) = (&unit.step_time, &unit.phases) else { continue };
        let totals = [time.baseline.0, time.candidate.0];
        let tall = if is_single { BAR } else { THIN };
        for (side, total) in totals.into_iter().enumerate() {
            let at = top + i32::try_from(side).unwrap_or(0) * (tall + if is_single { 12 } else { 2 });
            phase_bar(area, phases, side, (at, tall), longest)?;
            let end = BARS + share(total / longest, RIGHT - BARS);
            let size = if is_single { 24 } else { 20 };
            text(area, &duration(total), (end + 10, at + (tall - pixel(size)) / 2 + 2), size, INK)?;
            if is_single {
                let side = if side == 0 { Side::Baseline } else { Side::Candidate };
                text(area, &name_of(side, words)?, (LEFT, at + (tall - 12) / 2), 24, INK)?;
            }
        }
        if !is_single {
            let rank = words.phrase("unit_rank", &context! { rank => unit.rank.unwrap_or_default() })?;
            let (mark, colour) = if unit.rank == leading.rank { ("→ ", ALARM) } else { ("", INK) };
            text(area, &format!("{mark}{rank}"), (LEFT, top + THIN - 9), 22, colour)?;
        }
        top += if is_single { 2 * (BAR + 12) } else { 2 * THIN + 14 };
    }
    phase_legend(area, top + 10, is_single, words)
}

fn phase_bar(area: &Area<'_>, phases: &Phases, side: usize, (top, tall): (i32, i32), longest: f64) -> Result<()> {
    let mut from = 0.0;
    for (phase, colour, hatch) in PHASES {
        let time = phases.pair_of_phase(phase).get(side).copied().unwrap_or(0.0).max(0.0);
        let corners = [
            (BARS + share(from / longest, RIGHT - BARS), top),
            (BARS + share((from + time) / longest, RIGHT - BARS), top + tall),
        ];
        bar(area, corners, colour, hatch)?;
        from += time;
    }
    Ok(())
}

fn phase_legend(area: &Area<'_>, top: i32, is_single: bool, words: &Writer) -> Result<()> {
    let entry = |(phase, colour, hatch): (Phase, RGBColor, Hatch)| {
        Ok((Mark::Bar(colour, hatch), words.word(&format!("plot_phase_{}", phase.as_str()))?))
    };
    let entries = PHASES.into_iter().map(entry).collect::<Result<_>>()?;
    Legend::new(entries, (BARS, pixel(WIDTH) - LEFT)).draw(area, top - 6)?;
    if is_single {
        return Ok(());
    }
    let spaced = |name: String| spaced_word(&name, words.language());
    let [baseline, candidate] = [Side::Baseline, Side::Candidate].map(|side| name_of(side, words).map(spaced));
    let said = words.phrase("plot_performance_bars", &context! { baseline => baseline?, candidate => candidate? })?;
    text(area, &said, (LEFT, top + 4), 24, FAINT)
}

/// A share of a length in pixels; what is no number has none.
#[allow(clippy::cast_possible_truncation, reason = "a share of a width in pixels")]
fn share(part: f64, length: i32) -> i32 {
    let part = if part.is_finite() { part.clamp(-4.0, 4.0) } else { 0.0 };
    (part * f64::from(length)).round() as i32
}

/// A part of the difference: its name, and its time in microseconds.
struct Part {
    name: String,
    time: f64,
}

/// Operators where computing makes the difference, else phases; together they make the whole.
fn parts(unit: &PerformanceUnit, time: &StepTime, phases: &Phases, words: &Writer) -> Result<Vec<Part>> {
    let delta = time.candidate.0 - time.baseline.0;
    let phase = unit.cause.as_ref().map_or_else(|| largest_change(phases), |cause| cause.phase);
    let mut parts: Vec<Part> = Vec::new();
    if phase == Phase::Computing {
        let mut by_name: Vec<(String, f64)> = Vec::new();
        for operator in unit.operators.iter().filter(|operator| operator.core != "COMMUNICATION") {
            let growth = operator.total[1].0 - operator.total[0].0;
            match by_name.iter_mut().find(|(name, _)| *name == operator.name) {
                Some((_, sum)) => *sum += growth,
                None => by_name.push((operator.name.clone(), growth)),
            }
        }
        by_name.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        let tells = |(_, growth): &(String, f64)| growth.is_finite() && growth.abs() > SMALL * delta.abs();
        let told: Vec<(String, f64)> = by_name.into_iter().filter(tells).take(MOST_PARTS).collect();
        parts.extend(told.into_iter().map(|(name, time)| Part { name: drawable(&name, MOST_NAME), time }));
    } else {
        parts.push(Part { name: words.word("plot_phase_computing")?, time: phases.growth(Phase::Computing) });
    }
    for phase in [Phase::Communication, Phase::Free] {
        let growth = phases.growth(phase);
        if growth.abs() > SMALL * delta.abs() || parts.is_empty() {
            parts.push(Part { name: words.word(&format!("plot_phase_{}", phase.as_str()))?, time: growth });
        }
    }
    let rest = delta - parts.iter().map(|part| part.time).sum::<f64>();
    if rest.abs() > SMALL * delta.abs() {
        parts.push(Part { name: words.word("plot_performance_others")?, time: rest });
    }
    Ok(parts)
}

fn largest_change(phases: &Phases) -> Phase {
    let larger = |a: Phase, b: Phase| if phases.growth(b).abs() > phases.growth(a).abs() { b } else { a };
    Phase::ALL.into_iter().fold(Phase::Computing, larger)
}

/// From the baseline's step to the candidate's, part by part.
struct Waterfall<'a> {
    top: i32,
    time: &'a StepTime,
    parts: &'a [Part],
}

impl Waterfall<'_> {
    fn draw(&self, area: &Area<'_>, words: &Writer) -> Result<()> {
        text(area, &words.word("plot_performance_parts")?, (LEFT, self.top + 14), 28, INK)?;
        let [baseline, candidate] = [self.time.baseline.0, self.time.candidate.0].map(within_axes);
        let mut levels = vec![baseline, candidate];
        let mut level = baseline;
        for part in self.parts {
            level += part.time;
            levels.push(level);
        }
        let (low, high) = bounds(&levels);
        if low > 0.0 {
            let note = words.phrase("plot_performance_from", &context! { low })?;
            text(area, &note, (BARS, self.top + 20), 22, FAINT)?;
        }
        let at = |value: f64| BARS + share((value - low) / (high - low), RIGHT - BARS);
        let mut row = self.top + HEADING;
        self.row(area, &name_of(Side::Baseline, words)?, (row, at(low), at(baseline)), (BASELINE, duration(baseline)))?;
        let mut level = baseline;
        for part in self.parts {
            row += ROW;
            let next = level + part.time;
            let colour = if part.time > 0.0 { ALARM } else { FAINT };
            let sign = if part.time > 0.0 { "+" } else { "" };
            let label = format!("{sign}{}", duration(part.time)).replace('-', "−");
            self.row(area, &part.name, (row, at(level), at(next)), (colour, label))?;
            level = next;
        }
        row += ROW;
        let last = (row, at(low), at(candidate));
        self.row(area, &name_of(Side::Candidate, words)?, last, (CANDIDATE, duration(candidate)))
    }

    fn row(
        &self,
        area: &Area<'_>,
        name: &str,
        (top, from, to): (i32, i32, i32),
        (colour, label): (RGBColor, String),
    ) -> Result<()> {
        text(area, name, (LEFT, top + 7), 22, INK)?;
        // A part that is too short to see keeps a line.
        let (left, right) = if from <= to { (from, to.max(from + 2)) } else { (to.min(from - 2), from) };
        area.draw(&Rectangle::new([(left, top), (right, top + ROW - 10)], colour.filled())).map_err(internal)?;
        text(area, &label, (right.max(BARS) + 10, top + 7), 22, INK)
    }
}

/// Ends of an axis that shows the differences of levels: it begins at 0 only where these are a large part of them.
fn bounds(levels: &[f64]) -> (f64, f64) {
    let finite = || levels.iter().copied().filter(|level| level.is_finite());
    let (low, high) = (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
    if !low.is_finite() || high <= 0.0 {
        return (0.0, 1.0);
    }
    let spread = (high - low).max(high * 0.02);
    let low = if spread > 0.25 * high { 0.0 } else { (low - spread).max(0.0) };
    (low, high.max(low + spread))
}

/// The steps of both sides as points over their place, with the medians.
fn steps(area: &Area<'_>, top: i32, unit: &PerformanceUnit, time: &StepTime, words: &Writer) -> Result<()> {
    text(area, &words.word("plot_performance_steps")?, (LEFT, top + 14), 28, INK)?;
    let Some(sides) = &unit.periods else { return Ok(()) };
    let usual = ends::usual_range(sides.iter().flatten().map(|period| period.1.0)).unwrap_or((0.0, 1.0));
    let (low, high) = bounds(&[usual.0, usual.1]);
    let margin = (high - low) * 0.08;
    let (low, high) = ((low - margin).max(0.0), high + margin);
    let (upper, lower) = (top + HEADING, top + HEADING + STEPS);
    let height = |value: f64| lower - share((value - low) / (high - low), STEPS);
    for mark in 0..=4 {
        let value = low + (high - low) * f64::from(mark) / 4.0;
        let at = height(value);
        area.draw(&PathElement::new([(250, at), (RIGHT, at)], GRID.stroke_width(2))).map_err(internal)?;
        let said = duration(value);
        text(area, &said, (236 - width_of(&said, 22), at - 10), 22, FAINT)?;
    }
    let longest = sides.iter().map(Vec::len).max().unwrap_or(1).max(2);
    let both = [(Side::Baseline, time.baseline.0), (Side::Candidate, time.candidate.0)];
    for (points, (side, middle)) in sides.iter().zip(both) {
        let colour = colour_of_side(side);
        let line = [(250, height(middle)), (RIGHT, height(middle))];
        area.draw(&PathElement::new(line, colour.stroke_width(3))).map_err(internal)?;
        let every = points.len().div_ceil(MOST_STEPS).max(1);
        for (place, period) in points.iter().enumerate().step_by(every) {
            #[allow(clippy::cast_precision_loss, reason = "a place among at most some thousand steps")]
            let along = (place as f64 + 0.5) / longest as f64;
            let at = (250 + share(along, RIGHT - 250), height(within_axes(period.1.0)).clamp(upper, lower));
            dot(area, side, at, 7, colour)?;
        }
    }
    steps_legend(area, lower + 26, words)
}

fn steps_legend(area: &Area<'_>, top: i32, words: &Writer) -> Result<()> {
    let entries = vec![
        (Mark::Dot(Side::Baseline), name_of(Side::Baseline, words)?),
        (Mark::Dot(Side::Candidate), name_of(Side::Candidate, words)?),
        (Mark::Plain(FAINT), words.word("plot_performance_median")?),
    ];
    Legend::new(entries, (250, pixel(WIDTH) - LEFT)).draw(area, top - 6)
}
