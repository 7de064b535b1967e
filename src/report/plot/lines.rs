//! Lines over steps, as both halves of `loss.png` draw them.

use std::ops::Range;

use plotters::coord::types::RangedCoordf64;
use plotters::prelude::{BitMapBackend, Cartesian2d, ChartContext, Circle, EmptyElement, PathElement, Rectangle};
use plotters::style::{Color, RGBAColor, ShapeStyle};

use super::marks::colour_of_side;
use super::{FAINT, GRID, INK, PAPER, internal, style};
use crate::error::Result;
use crate::report::curve::DrawnCurve;
use crate::verdict::Side;

/// Up to this many points every point is drawn as a dot.
pub(super) const FEW: usize = 60;
/// Number of points from which on a moving average is drawn over the raw values.
pub(super) const SMOOTHED: usize = 200;

pub(super) type LinearChart<'a, 'b> = ChartContext<'a, BitMapBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// The range of steps with a little room; one step gets room on both sides.
pub(super) fn step_range(shown: &DrawnCurve) -> Range<f64> {
    let (first, last) = (shown.step.first().copied().unwrap_or(0.0), shown.step.last().copied().unwrap_or(1.0));
    let room = ((last - first) * 0.01).max(0.5).max(last.abs() * 1e-9);
    first - room..last + room
}

fn number_of_step(step: &f64) -> String {
    if step.fract().abs() < 1e-9 { format!("{step:.0}") } else { String::new() }
}

/// Draws the axes and the grid of a chart over steps; `name` is that of the axis of steps.
pub(super) fn axes(chart: &mut LinearChart<'_, '_>, value: &dyn Fn(&f64) -> String, name: Option<&str>) -> Result<()> {
    let mut mesh = chart.configure_mesh();
    mesh.x_label_formatter(&number_of_step)
        .y_label_formatter(value)
        .y_labels(6)
        .x_labels(10)
        .light_line_style(PAPER)
        .bold_line_style(GRID)
        .axis_style(FAINT)
        .label_style(style(24, INK));
    if let Some(name) = name {
        mesh.x_desc(name).axis_desc_style(style(26, INK));
    }
    mesh.draw().map_err(internal)
}

pub(super) fn line_style(colour: RGBAColor, width: u32) -> ShapeStyle {
    ShapeStyle { color: colour, filled: false, stroke_width: width }
}

/// Dots of a side at points of a chart: discs of the baseline, squares of the candidate.
pub(super) fn dots(chart: &mut LinearChart<'_, '_>, points: &[(f64, f64)], side: Side) -> Result<()> {
    let colour = colour_of_side(side);
    match side {
        Side::Baseline => {
            chart.draw_series(points.iter().map(|at| Circle::new(*at, 8, colour.filled()))).map_err(internal).map(drop)
        }
        Side::Candidate => {
            let square = |at: &(f64, f64)| EmptyElement::at(*at) + Rectangle::new([(-5, -5), (5, 5)], colour.filled());
            chart.draw_series(points.iter().map(square)).map_err(internal).map(drop)
        }
    }
}

/// A line with round joins, piece by piece: drawn in one, a thick line throws long spikes at sharp angles.
pub(super) fn polyline<C>(
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
