//! `evaluation.png`: a forest plot. One row per score: its drop with the 95 % interval, beside no drop and the drop that matters.
//!
//! Drops of different metrics share one axis as multiples of their margins. It is linear up to the margin and logarithmic far
//! beyond, so that a collapse and a drop at the margin can both be read.

use minijinja::context;
use plotters::prelude::{PathElement, Polygon};
use plotters::style::{Color, RGBColor};

use super::marks::{Legend, Mark, bracket, sign, verdict_colour};
use super::{ALARM, Area, FAINT, GRID, INK, drawable, internal, name_of, picture, pixel, style, text, verdict};
use crate::error::Result;
use crate::report::escape::TextTarget;
use crate::report::evaluation;
use crate::report::messages::{Language, rounded};
use crate::report::writer::Writer;
use crate::result::GateResult;
use crate::result::number::Number;
use crate::result::unit::{EvaluationScope, EvaluationTest, EvaluationUnit};
use crate::verdict::{Side, Verdict};

const WIDTH: u32 = 1600;
/// Rows that are drawn.
const MOST_ROWS: usize = 40;
/// Height of a row, of what stands above the rows, and of what stands below them without the legend.
const ROW: i32 = 36;
const ABOVE: i32 = 130;
const BELOW: i32 = 100;
/// Ends of the part with the drops, and the columns behind it.
const LEFT: i32 = 520;
const RIGHT: i32 = 1180;
const NUMBERS: i32 = 1210;
const DROPS: i32 = 1460;
/// Distance from the upper edge of a text to the middle of its row.
const TEXT: i32 = 7;
/// Letters of a name that have room, of its metric and filter, and of a task beside a long metric.
const MOST_NAME: usize = 42;
const MOST_METRIC: usize = 29;
const LEAST_TASK: usize = 12;
/// Letters that have room above the scores.
const MOST_HEAD: usize = 21;
/// The axis reaches at least so many margins to both sides, and at most so many.
const LEAST_REACH: f64 = 3.0;
const MOST_REACH: f64 = 300.0;
/// Places of the axis that may have a mark, in margins.
const MARKS: [f64; 11] = [-1000.0, -100.0, -10.0, -3.0, -1.0, 0.0, 1.0, 3.0, 10.0, 100.0, 1000.0];
/// Least distance of two marks in pixels.
const APART: i32 = 56;

/// Draws the scores that were compared, the worst first; `None` where there are none.
///
/// # Errors
/// Where the picture cannot be drawn.
pub(crate) fn evaluation_png(result: &GateResult, language: Language) -> Result<Option<Vec<u8>>> {
    let all: Vec<&EvaluationUnit> =
        evaluation::scores(result).into_iter().filter(|unit| evaluation::weight(unit) > f64::NEG_INFINITY).collect();
    if all.is_empty() {
        return Ok(None);
    }
    let rows: Vec<&EvaluationUnit> = all.iter().copied().take(MOST_ROWS).collect();
    let words = Writer::from_result(result, language, TextTarget::Plain);
    let axis = Axis::of(&rows);
    let tall = ROW * i32::try_from(rows.len()).unwrap_or(0);
    let legend = legend(&words)?;
    let more = all.len() - rows.len();
    let below = BELOW + legend.height() + if more > 0 { 40 } else { 0 };
    let height = u32::try_from(ABOVE + tall + below).unwrap_or(WIDTH);
    let png = picture(WIDTH, height, |root| {
        text(root, &words.word("plot_evaluation")?, (40, 24), 34, INK)?;
        axis.draw(root, tall, &words)?;
        for (place, unit) in (0..).zip(&rows) {
            let row = Row { unit, at: ABOVE + ROW * place + ROW / 2, axis };
            row.draw(root, &words)?;
        }
        axis.margin(root, tall)?;
        legend.draw(root, ABOVE + tall + BELOW - 16)?;
        if more > 0 {
            let note = words.phrase("plot_evaluation_more", &context! { more })?;
            text(root, &note, (40, ABOVE + tall + BELOW + legend.height()), 24, FAINT)?;
        }
        Ok(())
    })?;
    Ok(Some(png))
}

/// The axis of the drops.
#[derive(Clone, Copy)]
struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    /// An axis that has room for every drop and both ends of every interval, within its largest reach.
    fn of(rows: &[&EvaluationUnit]) -> Self {
        let ends = |unit: &&EvaluationUnit| {
            let [low, high] = unit.interval.map_or([None; 2], |[low, high]| [Some(low), Some(high)]);
            let margin = unit.margin;
            [unit.drop, low, high, unit.detectable].into_iter().flatten().map(move |value| in_margins(value, margin))
        };
        let known = || rows.iter().flat_map(ends).filter(|value| value.is_finite());
        let low = known().fold(-LEAST_REACH, f64::min).max(-MOST_REACH);
        let high = known().fold(LEAST_REACH, f64::max).min(MOST_REACH);
        // A little room behind the last mark.
        Self { low: low.asinh() - 0.2, high: high.asinh() + 0.2 }
    }

    /// Place of a drop in pixels; a drop beyond the axis is placed at its end.
    #[allow(clippy::cast_possible_truncation, reason = "a share of a width in pixels")]
    fn at(self, margins: f64) -> i32 {
        let share = (margins.asinh().clamp(self.low, self.high) - self.low) / (self.high - self.low);
        LEFT + (share * f64::from(RIGHT - LEFT)).round() as i32
    }

    /// Whether a drop lies beyond the axis.
    fn is_beyond(self, margins: f64) -> bool {
        !(self.low..=self.high).contains(&margins.asinh())
    }

    fn draw(self, area: &Area<'_>, tall: i32, words: &Writer) -> Result<()> {
        let (top, bottom) = (ABOVE - 6, ABOVE + tall + 6);
        let mut last = i32::MIN / 2;
        let mut marks: Vec<f64> = MARKS.into_iter().filter(|mark| !self.is_beyond(*mark)).collect();
        // No drop and the margin have their marks first.
        marks.sort_by_key(|mark| (mark.abs() > 1.0, mark.abs() > 0.0));
        let mut taken: Vec<i32> = Vec::new();
        for mark in marks {
            let at = self.at(mark);
            if taken.iter().any(|other| (other - at).abs() < APART) {
                continue;
            }
            taken.push(at);
            area.draw(&PathElement::new([(at, top), (at, bottom)], GRID.stroke_width(2))).map_err(internal)?;
            let label = format!("{}×", rounded(mark, 4)).replace('-', "−");
            let label = if mark.abs() > 0.0 { label } else { String::from("0") };
            centred(area, &label, (at, bottom + 6), 22, INK)?;
            last = last.max(at);
        }
        let zero = self.at(0.0);
        area.draw(&PathElement::new([(zero, top), (zero, bottom)], INK.stroke_width(2))).map_err(internal)?;
        text(area, &words.word("plot_evaluation_better")?, (LEFT, ABOVE - 46), 24, FAINT)?;
        let worse = words.word("plot_evaluation_worse")?;
        let (wide, _) = area.estimate_text_size(&worse, &style(24, FAINT)).map_err(internal)?;
        text(area, &worse, (RIGHT - pixel(wide), ABOVE - 46), 24, FAINT)?;
        centred(area, &words.word("plot_evaluation_axis")?, ((LEFT + RIGHT) / 2, bottom + 34), 22, FAINT)?;
        let names = [name_of(Side::Baseline, words)?, name_of(Side::Candidate, words)?].join(" → ");
        let is_short = names.chars().count() <= MOST_HEAD;
        let head = if is_short { names } else { words.word("plot_evaluation_score")? };
        text(area, &head, (NUMBERS, ABOVE - 46), 24, FAINT)?;
        text(area, &words.word("plot_evaluation_drop")?, (DROPS, ABOVE - 46), 24, FAINT)
    }

    /// The dashed line of the margin, over the rows.
    fn margin(self, area: &Area<'_>, tall: i32) -> Result<()> {
        /// Length of a dash and of the gap behind it.
        const DASH: i32 = 10;
        let at = self.at(1.0);
        let mut top = ABOVE - 6;
        while top < ABOVE + tall + 6 {
            area.draw(&PathElement::new([(at, top), (at, top + DASH)], ALARM.stroke_width(3))).map_err(internal)?;
            top += 2 * DASH;
        }
        Ok(())
    }
}

/// A row of the plot.
struct Row<'a> {
    unit: &'a EvaluationUnit,
    /// Height of its middle.
    at: i32,
    axis: Axis,
}

impl Row<'_> {
    fn draw(&self, area: &Area<'_>, words: &Writer) -> Result<()> {
        let colour = verdict_colour(self.unit.verdict);
        self.name(area, words)?;
        self.interval(area, colour)?;
        self.detectable(area)?;
        if let Some(drop) = self.unit.drop.filter(|drop| !drop.0.is_nan()) {
            let drop = in_margins(drop, self.unit.margin);
            let at = self.axis.at(drop);
            if self.axis.is_beyond(drop) {
                self.arrow(area, at, drop > 0.0, colour)?
            } else {
                sign(area, self.unit.verdict, (at, self.at))?
            }
        } else {
            // A score that is not finite has no place on the axis: its sign stands at the worse end, crossed.
            sign(area, self.unit.verdict, (RIGHT - 12, self.at))?;
            centred(area, "NaN", (RIGHT - 52, self.at - TEXT), 22, ALARM)?;
        }
        self.numbers(area)
    }

    fn name(&self, area: &Area<'_>, words: &Writer) -> Result<()> {
        let unit = self.unit;
        let metric = named(&format!(" {}", evaluation::metric(unit)), MOST_METRIC);
        let pooled = if unit.scope == EvaluationScope::Task { "" } else { "Σ " };
        let mut marks = String::new();
        for (is_so, key) in [
            (unit.is_sampled, "plot_evaluation_sampled"),
            (unit.test == Some(EvaluationTest::Unpaired), "plot_evaluation_scores"),
        ] {
            if is_so {
                marks.push_str(&words.word(key)?);
            }
        }
        let beside: usize = [pooled, &metric, &marks].iter().map(|part| part.chars().count()).sum();
        let room = MOST_NAME.saturating_sub(beside).max(LEAST_TASK);
        text(area, &format!("{pooled}{}{metric}{marks}", named(&unit.task, room)), (40, self.at - TEXT), 22, INK)
    }

    fn interval(&self, area: &Area<'_>, colour: RGBColor) -> Result<()> {
        let Some([low, high]) = self.unit.interval else { return Ok(()) };
        let [low, high] = [low, high].map(|end| in_margins(end, self.unit.margin));
        if low.is_nan() || high.is_nan() {
            return Ok(());
        }
        let line = [(self.axis.at(low), self.at), (self.axis.at(high), self.at)];
        let wide = if self.unit.scope == EvaluationScope::Task { 3 } else { 7 };
        area.draw(&PathElement::new(line, colour.stroke_width(wide))).map_err(internal)?;
        for end in [low, high] {
            let at = self.axis.at(end);
            if self.axis.is_beyond(end) {
                self.arrow(area, at, end > 0.0, colour)?;
            } else {
                let cap = [(at, self.at - 7), (at, self.at + 7)];
                area.draw(&PathElement::new(cap, colour.stroke_width(3))).map_err(internal)?;
            }
        }
        Ok(())
    }

    /// Marks the smallest drop that the test would have found, where there is no drop.
    fn detectable(&self, area: &Area<'_>) -> Result<()> {
        let least = self.unit.detectable.map(|least| in_margins(least, self.unit.margin));
        let is_told = self.unit.verdict <= Verdict::Pass;
        let Some(least) = least.filter(|least| is_told && least.is_finite() && !self.axis.is_beyond(*least)) else {
            return Ok(());
        };
        bracket(area, (self.axis.at(least), self.at))
    }

    /// An arrow at the end of the axis, for what lies beyond it.
    fn arrow(&self, area: &Area<'_>, at: i32, is_right: bool, colour: RGBColor) -> Result<()> {
        let way = if is_right { 1 } else { -1 };
        let corners = vec![(at, self.at), (at - way * 16, self.at - 9), (at - way * 16, self.at + 9)];
        area.draw(&Polygon::new(corners, colour.filled())).map_err(internal)
    }

    /// Both scores and the drop, as numbers.
    fn numbers(&self, area: &Area<'_>) -> Result<()> {
        let unit = self.unit;
        let score = |value: Option<Number>| value.map_or_else(|| "–".to_owned(), |value| evaluation::score(value.0));
        let drop = unit.drop.map(|drop| evaluation::drop_text(drop.0, unit));
        let scores = format!("{} → {}", score(unit.baseline), score(unit.candidate));
        text(area, &scores, (NUMBERS, self.at - TEXT), 22, INK)?;
        let colour = verdict_colour(unit.verdict);
        text(area, &drop.unwrap_or_default(), (DROPS, self.at - TEXT), 22, colour)
    }
}

/// A drop in multiples of its margin.
fn in_margins(value: Number, margin: Number) -> f64 {
    value.0 / margin.0.max(f64::MIN_POSITIVE)
}

/// A name; it loses its middle if there is not enough room, since tasks of one family differ at their ends.
fn named(name: &str, room: usize) -> String {
    let shown = drawable(name, usize::MAX);
    let len = shown.chars().count();
    if len <= room {
        return shown;
    }
    let end = room / 2;
    let start: String = shown.chars().take(room.saturating_sub(end + 1)).collect();
    let rest: String = shown.chars().skip(len - end).collect();
    format!("{start}…{rest}")
}

/// The signs with their words, below the axis.
fn legend(words: &Writer) -> Result<Legend> {
    let mut entries = Vec::new();
    for each in [Verdict::Fail, Verdict::Incomplete, Verdict::Warn, Verdict::Pass] {
        entries.push((Mark::Sign(each), verdict(each, words)?));
    }
    entries.push((Mark::Upright(ALARM), words.word("plot_evaluation_margin")?));
    entries.push((Mark::Bracket, words.word("plot_evaluation_detectable")?));
    entries.push((Mark::Sum, words.word("plot_evaluation_pooled")?));
    Ok(Legend::new(entries, (40, pixel(WIDTH) - 40)))
}

/// Writes `text` with the middle of its upper edge at a pixel.
fn centred(area: &Area<'_>, said: &str, (at, top): (i32, i32), size: u32, colour: RGBColor) -> Result<()> {
    let (wide, _) = area.estimate_text_size(said, &style(size, colour)).map_err(internal)?;
    text(area, said, (at - pixel(wide) / 2, top), size, colour)
}
