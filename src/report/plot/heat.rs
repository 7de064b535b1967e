//! Cells coloured by their error, as the maps of a tensor and of a monitor draw them.

use plotters::prelude::Rectangle;
use plotters::style::{Color, RGBColor};

use super::{Area, CANDIDATE, GRID, INK, PAPER, internal, pixel, style, text};
use crate::error::Result;
use crate::report::messages::short_number;

/// Decades below the largest error that are told apart.
const DECADES: f64 = 3.0;
/// The darkest colour.
const DARK: RGBColor = RGBColor(127, 29, 29);

/// A rectangle of a picture.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    pub(super) left: i32,
    pub(super) top: i32,
    pub(super) wide: i32,
    pub(super) tall: i32,
}

impl Frame {
    /// Corners of the cell in `row` of `rows` and `column` of `columns`.
    pub(super) fn cell(&self, (row, rows): (usize, usize), (column, columns): (usize, usize)) -> [(i32, i32); 2] {
        let at = |index: usize, of: usize, length: i32| {
            let place = i64::from(length) * i64::try_from(index).unwrap_or(0) / i64::try_from(of).unwrap_or(1).max(1);
            i32::try_from(place).unwrap_or(length)
        };
        [
            (self.left + at(column, columns, self.wide), self.top + at(row, rows, self.tall)),
            (self.left + at(column + 1, columns, self.wide), self.top + at(row + 1, rows, self.tall)),
        ]
    }

    /// Draws cells by their errors, and the border; a cell without an error stays white.
    pub(super) fn fill<C>(
        &self,
        area: &Area<'_>,
        cells: &[Vec<C>],
        error: impl Fn(&C) -> Option<f64>,
        largest: f64,
    ) -> Result<()> {
        for (row, of_row) in cells.iter().enumerate() {
            for (column, cell) in of_row.iter().enumerate() {
                let Some(error) = error(cell) else { continue };
                let corners = self.cell((row, cells.len()), (column, of_row.len()));
                area.draw(&Rectangle::new(corners, colour(error, largest).filled())).map_err(internal)?;
            }
        }
        self.draw(area)
    }

    /// Draws its border.
    pub(super) fn draw(&self, area: &Area<'_>) -> Result<()> {
        let corners = [(self.left, self.top), (self.left + self.wide, self.top + self.tall)];
        area.draw(&Rectangle::new(corners, GRID.stroke_width(2))).map_err(internal)
    }
}

/// Draws a frame around a cell that stands out from every colour: white inside, dark outside.
pub(super) fn mark(area: &Area<'_>, [(left, top), (right, bottom)]: [(i32, i32); 2]) -> Result<()> {
    for (distance, colour) in [(-3, PAPER), (2, INK)] {
        let corners = [(left - distance, top - distance), (right + distance, bottom + distance)];
        area.draw(&Rectangle::new(corners, colour.stroke_width(5))).map_err(internal)?;
    }
    Ok(())
}

/// Draws the colours from `left` on, between the errors that the lightest and the darkest stand for, and that of an error
/// that is infinite where there is one.
pub(super) fn scale(
    area: &Area<'_>,
    (left, top): (i32, i32),
    size: u32,
    (largest, has_infinite): (f64, bool),
) -> Result<()> {
    /// Steps of the scale, and the width of one.
    const STEPS: i32 = 60;
    const STEP: i32 = 6;
    let low = short_number(largest / 10_f64.powf(DECADES));
    text(area, &low, (left, top), size, INK)?;
    let (width, _) = area.estimate_text_size(&low, &style(size, INK)).map_err(internal)?;
    let left = left + pixel(width) + 16;
    for step in 0..STEPS {
        let error = largest * 10_f64.powf(DECADES * (f64::from(step + 1) / f64::from(STEPS) - 1.0));
        let corners = [(left + step * STEP, top), (left + (step + 1) * STEP, top + 26)];
        area.draw(&Rectangle::new(corners, colour(error, largest).filled())).map_err(internal)?;
    }
    let left = left + STEPS * STEP + 16;
    text(area, &short_number(largest), (left, top), size, INK)?;
    if !has_infinite {
        return Ok(());
    }
    let (width, _) = area.estimate_text_size(&short_number(largest), &style(size, INK)).map_err(internal)?;
    let left = left + pixel(width) + 60;
    area.draw(&Rectangle::new([(left, top), (left + 40, top + 26)], INK.filled())).map_err(internal)?;
    text(area, "NaN / inf", (left + 56, top), size, INK)
}

/// Ink for an error that is infinite or NaN; white for no error and for one that is far below the largest, then through orange to dark red, by decades.
fn colour(error: f64, largest: f64) -> RGBColor {
    if !error.is_finite() {
        return INK;
    }
    if error <= largest / 10_f64.powf(DECADES) {
        return PAPER;
    }
    let level = (1.0 + (error / largest).log10() / DECADES).clamp(0.0, 1.0);
    let between = |from: RGBColor, to: RGBColor, share: f64| {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of two bytes is a byte")]
        let mix = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * share).round() as u8;
        RGBColor(mix(from.0, to.0), mix(from.1, to.1), mix(from.2, to.2))
    };
    if level < 0.6 { between(PAPER, CANDIDATE, level / 0.6) } else { between(CANDIDATE, DARK, (level - 0.6) / 0.4) }
}
