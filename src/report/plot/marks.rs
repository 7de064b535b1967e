//! Marks of pictures, and the legends that name them. Two marks of a legend differ in shape, dashes or filling, and not only in
//! colour.

use plotters::prelude::{Circle, Cross, PathElement, Polygon, Rectangle, TriangleMarker};
use plotters::style::{Color, RGBColor};

use super::{ALARM, Area, BASELINE, CANDIDATE, FAINT, INCOMPLETE, INK, PASS, WARN, dot, internal, text, width_of};
use crate::error::Result;
use crate::verdict::{Side, Verdict};

/// A mark that a legend names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Mark {
    /// A side's line, with its dots.
    Line(Side),
    /// A side's dots.
    Dot(Side),
    /// The sign of a verdict.
    Sign(Verdict),
    /// A line without dots.
    Plain(RGBColor),
    /// A dashed line.
    Dashed(RGBColor),
    /// A line of long dashes.
    LongDashed(RGBColor),
    /// A dashed line that stands upright.
    Upright(RGBColor),
    /// A line that stands upright.
    Wall(RGBColor),
    /// A short tick.
    Tick(RGBColor),
    /// A shaded band.
    Band(RGBColor),
    /// A shaded band around a line.
    Around(RGBColor),
    /// A cross: values that are no numbers.
    Cross(RGBColor),
    /// A shaded band with a cross.
    Crossed(RGBColor),
    /// A point with an interval.
    Interval(RGBColor),
    /// A bar, filled or hatched.
    Bar(RGBColor, Hatch),
    /// The sign of the smallest drop that a test finds.
    Bracket,
    /// The sign of several tasks together.
    Sum,
    /// A value beyond the axis, at its edge.
    Beyond(RGBColor),
}

/// Filling of a bar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Hatch {
    /// All of it.
    Solid,
    /// Slanted lines.
    Slanted,
    /// Only its border.
    Hollow,
}

/// Size of a legend's words.
const SIZE: u32 = 26;
/// Width of a mark, the room behind it, and behind its words.
const WIDE: i32 = 44;
const GAP: i32 = 12;
const APART: i32 = 40;
/// Height of a row.
const ROW: i32 = 40;

/// Marks with their words, in as many rows as there have to be.
pub(super) struct Legend {
    rows: Vec<Vec<(i32, Mark, String)>>,
}

impl Legend {
    /// A legend between two edges.
    pub(super) fn new(entries: Vec<(Mark, String)>, (left, right): (i32, i32)) -> Self {
        let outlines: Vec<Mark> = entries.iter().map(|(mark, _)| mark.outline()).collect();
        let is_alone = |(place, mark): (usize, &Mark)| outlines.iter().skip(place + 1).all(|other| other != mark);
        debug_assert!(outlines.iter().enumerate().all(is_alone), "only colour tells apart: {outlines:?}");
        let mut rows: Vec<Vec<(i32, Mark, String)>> = vec![Vec::new()];
        let mut at = left;
        for (mark, words) in entries {
            let wide = WIDE + GAP + width_of(&words, SIZE);
            if at + wide > right && at > left {
                rows.push(Vec::new());
                at = left;
            }
            if let Some(row) = rows.last_mut() {
                row.push((at, mark, words));
            }
            at += wide + APART;
        }
        Self { rows }
    }

    /// Height of all rows.
    pub(super) fn height(&self) -> i32 {
        i32::try_from(self.rows.len()).unwrap_or(1) * ROW
    }

    pub(super) fn draw(&self, area: &Area<'_>, top: i32) -> Result<()> {
        for (row, entries) in (0..).zip(&self.rows) {
            let middle = top + ROW * row + ROW / 2;
            for (left, mark, words) in entries {
                mark.draw(area, *left, middle)?;
                text(area, words, (left + WIDE + GAP, middle - 7), SIZE, INK)?;
            }
        }
        Ok(())
    }
}

impl Mark {
    /// The mark without its colour.
    fn outline(self) -> Self {
        match self {
            Self::Plain(_) => Self::Plain(INK),
            Self::Dashed(_) => Self::Dashed(INK),
            Self::LongDashed(_) => Self::LongDashed(INK),
            Self::Upright(_) => Self::Upright(INK),
            Self::Wall(_) => Self::Wall(INK),
            Self::Tick(_) => Self::Tick(INK),
            Self::Band(_) => Self::Band(INK),
            Self::Around(_) => Self::Around(INK),
            Self::Cross(_) => Self::Cross(INK),
            Self::Crossed(_) => Self::Crossed(INK),
            Self::Interval(_) => Self::Interval(INK),
            Self::Bar(_, hatch) => Self::Bar(INK, hatch),
            Self::Beyond(_) => Self::Beyond(INK),
            // A skipped unit has the sign of an incomplete one.
            Self::Sign(Verdict::Skipped) => Self::Sign(Verdict::Incomplete),
            Self::Line(_) | Self::Dot(_) | Self::Sign(_) | Self::Bracket | Self::Sum => self,
        }
    }

    /// Draws it between `left` and the width of a mark right of it.
    fn draw(self, area: &Area<'_>, left: i32, middle: i32) -> Result<()> {
        let right = left + WIDE;
        let centre = left.midpoint(right);
        let line = |ends: [(i32, i32); 2], colour: RGBColor, width: u32| {
            area.draw(&PathElement::new(ends, colour.stroke_width(width))).map_err(internal)
        };
        match self {
            Self::Line(side) => {
                line([(left, middle), (right, middle)], colour_of_side(side), width_of_side(side))?;
                dot(area, side, (centre, middle), 9, colour_of_side(side))
            }
            Self::Dot(side) => dot(area, side, (centre, middle), 9, colour_of_side(side)),
            Self::Sign(verdict) => sign(area, verdict, (centre, middle)),
            Self::Plain(colour) => line([(left, middle), (right, middle)], colour, 5),
            Self::Dashed(colour) => [left, left + 17, left + 34]
                .into_iter()
                .try_for_each(|from| line([(from, middle), (from + 10, middle)], colour, 4)),
            Self::LongDashed(colour) => [left, left + 25]
                .into_iter()
                .try_for_each(|from| line([(from, middle), (from + 19, middle)], colour, 4)),
            Self::Upright(colour) => [middle - 16, middle - 4, middle + 8]
                .into_iter()
                .try_for_each(|from| line([(centre, from), (centre, from + 8)], colour, 4)),
            Self::Wall(colour) => line([(centre, middle - 16), (centre, middle + 16)], colour, 5),
            Self::Tick(colour) => [-12, 0, 12]
                .into_iter()
                .try_for_each(|aside| line([(centre + aside, middle - 7), (centre + aside, middle + 7)], colour, 2)),
            Self::Band(colour) => {
                let corners = [(left, middle - 12), (right, middle + 12)];
                area.draw(&Rectangle::new(corners, colour.mix(0.25).filled())).map_err(internal)
            }
            Self::Around(colour) => {
                Self::Band(colour).draw(area, left, middle)?;
                line([(left, middle), (right, middle)], colour, 3)
            }
            Self::Cross(colour) => {
                area.draw(&Cross::new((centre, middle), 8, colour.stroke_width(4))).map_err(internal)
            }
            Self::Crossed(colour) => {
                Self::Band(colour).draw(area, left, middle)?;
                Self::Cross(colour).draw(area, left, middle)
            }
            Self::Interval(colour) => {
                line([(left, middle), (right, middle)], colour, 4)?;
                for end in [left, right] {
                    line([(end, middle - 8), (end, middle + 8)], colour, 3)?;
                }
                area.draw(&Circle::new((centre, middle), 6, colour.filled())).map_err(internal)
            }
            Self::Bar(colour, hatch) => bar(area, [(left, middle - 12), (right, middle + 12)], colour, hatch),
            Self::Bracket => bracket(area, (centre, middle)),
            Self::Sum => text(area, "Σ", (centre - 9, middle - 7), SIZE, INK),
            Self::Beyond(colour) => {
                area.draw(&TriangleMarker::new((centre, middle + 4), 12, colour.filled())).map_err(internal)
            }
        }
    }
}

pub(super) fn colour_of_side(side: Side) -> RGBColor {
    match side {
        Side::Baseline => BASELINE,
        Side::Candidate => CANDIDATE,
    }
}

/// Width of a side's line: the baseline's shows on both sides of a candidate that covers it.
pub(super) fn width_of_side(side: Side) -> u32 {
    match side {
        Side::Baseline => 9,
        Side::Candidate => 4,
    }
}

/// The colour of a verdict, as the page has it.
pub(super) fn verdict_colour(verdict: Verdict) -> RGBColor {
    match verdict {
        Verdict::Fail => ALARM,
        Verdict::Warn => WARN,
        Verdict::Incomplete => INCOMPLETE,
        Verdict::Skipped => FAINT,
        Verdict::Pass => PASS,
    }
}

/// The sign of a verdict: a square fails, a triangle warns, a hollow diamond is incomplete, a disc passes.
pub(super) fn sign(area: &Area<'_>, verdict: Verdict, (at, middle): (i32, i32)) -> Result<()> {
    let colour = verdict_colour(verdict);
    match verdict {
        Verdict::Fail => {
            let corners = [(at - 9, middle - 9), (at + 9, middle + 9)];
            area.draw(&Rectangle::new(corners, colour.filled())).map_err(internal)
        }
        Verdict::Warn => {
            let corners = vec![(at, middle - 11), (at - 11, middle + 9), (at + 11, middle + 9)];
            area.draw(&Polygon::new(corners, colour.filled())).map_err(internal)
        }
        Verdict::Incomplete | Verdict::Skipped => {
            let corners =
                vec![(at, middle - 11), (at + 11, middle), (at, middle + 11), (at - 11, middle), (at, middle - 11)];
            area.draw(&PathElement::new(corners, colour.stroke_width(3))).map_err(internal)
        }
        Verdict::Pass => area.draw(&Circle::new((at, middle), 9, colour.filled())).map_err(internal),
    }
}

/// The sign of the smallest drop that a test finds: a bracket.
pub(super) fn bracket(area: &Area<'_>, (at, middle): (i32, i32)) -> Result<()> {
    let corners = [(at - 6, middle - 9), (at, middle - 9), (at, middle + 9), (at - 6, middle + 9)];
    area.draw(&PathElement::new(corners, FAINT.stroke_width(3))).map_err(internal)
}

/// A bar between two corners.
pub(super) fn bar(
    area: &Area<'_>,
    [(left, top), (right, bottom)]: [(i32, i32); 2],
    colour: RGBColor,
    hatch: Hatch,
) -> Result<()> {
    /// Distance of two slanted lines.
    const EVERY: i32 = 9;
    if right <= left {
        return Ok(());
    }
    let corners = [(left, top), (right, bottom)];
    match hatch {
        Hatch::Solid => return area.draw(&Rectangle::new(corners, colour.filled())).map_err(internal),
        Hatch::Hollow => {}
        Hatch::Slanted => {
            area.draw(&Rectangle::new(corners, colour.mix(0.2).filled())).map_err(internal)?;
            let tall = bottom - top;
            let mut from = left - tall;
            while from < right {
                // A line from the lower left to the upper right, cut at both sides.
                let (low, high) = (from.max(left), (from + tall).min(right));
                let ends = [(low, bottom - (low - from)), (high, bottom - (high - from))];
                if low < high {
                    area.draw(&PathElement::new(ends, colour.stroke_width(3))).map_err(internal)?;
                }
                from += EVERY;
            }
        }
    }
    area.draw(&Rectangle::new(corners, colour.stroke_width(2))).map_err(internal)
}

/// Places along a line at which the dot of its side is drawn: about ten, at different places for each side.
pub(super) fn dot_places<T: Copy>(
    points: &[T],
    across: impl Fn(&T) -> f64,
    (first, last): (f64, f64),
    side: Side,
) -> Vec<T> {
    /// Dots along a whole line.
    const DOTS: f64 = 9.0;
    let span = if last > first { last - first } else { 1.0 };
    let shift = if side == Side::Baseline { 0.25 } else { 0.75 };
    let part = |point: &T| ((across(point) - first) / span * DOTS + shift).floor();
    let changes = points.windows(2).filter_map(|pair| match pair {
        [before, here] if part(before).total_cmp(&part(here)).is_ne() => Some(*here),
        _ => None,
    });
    let marked: Vec<T> = changes.collect();
    // A stretch that is too short for one has its dot in the middle.
    if marked.is_empty() { points.get(points.len() / 2).copied().into_iter().collect() } else { marked }
}
