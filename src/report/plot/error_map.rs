//! `error-map.png`: the error within the culprit's tensor over its two most telling axes.

use minijinja::context;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::heat::{self, Frame};
use super::{Area, FAINT, INK, drawable, internal, picture, pixel, style, text};
use crate::error::Result;
use crate::report::error_place;
use crate::report::escape::TextTarget;
use crate::report::messages::Language;
use crate::report::writer::Writer;
use crate::result::GateResult;
use crate::result::unit::{Culprit, ErrorLocation};

const WIDTH: u32 = 1200;
/// Height of the title.
const TITLE: i32 = 150;
/// Room left of the map and below it for names.
const LEFT: i32 = 230;
const BELOW: i32 = 140;
/// Height of the map: of one row, and of many.
const ONE_ROW: i32 = 120;
const MANY_ROWS: i32 = 520;
/// Width of a line of the title, in Latin letters.
const LINE: usize = 88;

/// Draws the map; `None` where the result holds none.
pub fn error_map_png(result: &GateResult, language: Language) -> Result<Option<Vec<u8>>> {
    let told = result.culprit.as_ref().and_then(|culprit| Some((culprit, culprit.location.as_ref()?)));
    let Some((culprit, location)) = told.filter(|(_, location)| is_sound(location)) else { return Ok(None) };
    let words = Writer::from_result(result, language, TextTarget::Plain);
    let tall = if location.map.cells.len() > 1 { MANY_ROWS } else { ONE_ROW };
    let height = u32::try_from(TITLE + tall + BELOW).unwrap_or(WIDTH);
    let png = picture(WIDTH, height, |root| {
        title(root, culprit, location, &words)?;
        let map = Frame { left: LEFT, top: TITLE, wide: pixel(WIDTH) - LEFT - 60, tall };
        map.fill(root, &location.map.cells, |cell| Some(cell.0), largest(location))?;
        names(root, location, tall, &words)?;
        scale(root, location, TITLE + tall, &words)
    })?;
    Ok(Some(png))
}

/// Whether the map can be drawn: results come from files.
fn is_sound(location: &ErrorLocation) -> bool {
    let axis = |axis: u64| usize::try_from(axis).is_ok_and(|axis| axis < location.shape.len());
    let width = location.map.cells.first().map_or(0, Vec::len);
    let is_plane = width > 0 && location.map.cells.iter().all(|row| row.len() == width);
    is_plane
        && width <= 512
        && location.map.cells.len() <= 512
        && axis(location.map.horizontal)
        && location.map.vertical.is_none_or(axis)
}

fn title(area: &Area<'_>, culprit: &Culprit, location: &ErrorLocation, words: &Writer) -> Result<()> {
    let head = words.phrase("plot_error_map", &context! { tensor => drawable(&culprit.tensor, 60) })?;
    text(area, &head, (40, 20), 38, INK)?;
    let sentence = error_place::sentence(location, words)?;
    for (line, at) in wrapped(&sentence).into_iter().zip([74, 110]) {
        text(area, &line, (40, at), 28, FAINT)?;
    }
    Ok(())
}

/// A sentence in two lines at most, each up to a width in Latin letters.
fn wrapped(sentence: &str) -> Vec<String> {
    let fits = |text: &str| text.width() <= LINE;
    if fits(sentence) {
        return vec![sentence.to_owned()];
    }
    let mut ends = sentence.char_indices().map(|(at, _)| at).filter(|at| sentence.get(..*at).is_some_and(fits));
    let longest = ends.next_back().unwrap_or_default();
    let head = sentence.get(..longest).unwrap_or_default();
    // Chinese is broken anywhere.
    let cut = head.rfind(' ').filter(|at| at * 2 > longest).unwrap_or(longest);
    let rest = sentence.get(cut..).unwrap_or_default().trim_start();
    let within = |width: &mut usize, letter: char| {
        *width += letter.width().unwrap_or(0);
        (*width <= LINE).then_some(letter)
    };
    let shown = rest.chars().scan(0, within).collect();
    vec![head.get(..cut).unwrap_or_default().to_owned(), shown]
}

fn largest(location: &ErrorLocation) -> f64 {
    let finite = location.map.cells.iter().flatten().map(|cell| cell.0).filter(|error| error.is_finite());
    finite.fold(0.0, f64::max)
}

/// Names and lengths of both axes, with their first and last index.
fn names(area: &Area<'_>, location: &ErrorLocation, tall: i32, words: &Writer) -> Result<()> {
    let wide = pixel(WIDTH) - LEFT - 60;
    let last = |axis: u64| {
        let axis = usize::try_from(axis).unwrap_or_default();
        location.shape.get(axis).map_or(0, |len| len.saturating_sub(1))
    };
    let name = |axis: u64| -> Result<String> {
        let name = error_place::axis_name(location, axis, words)?;
        words.phrase("plot_axis", &context! { axis, name })
    };
    let horizontal = location.map.horizontal;
    let end = last(horizontal).to_string();
    let (width, _) = area.estimate_text_size(&end, &style(28, INK)).map_err(internal)?;
    text(area, "0", (LEFT, TITLE + tall + 8), 28, INK)?;
    text(area, &end, (LEFT + wide - pixel(width), TITLE + tall + 8), 28, INK)?;
    text(area, &name(horizontal)?, (LEFT + wide / 2 - 60, TITLE + tall + 8), 28, INK)?;
    if let Some(vertical) = location.map.vertical {
        text(area, "0", (LEFT - 30, TITLE), 28, INK)?;
        let end = last(vertical).to_string();
        let (width, _) = area.estimate_text_size(&end, &style(28, INK)).map_err(internal)?;
        text(area, &end, (LEFT - 14 - pixel(width), TITLE + tall - 28), 28, INK)?;
        text(area, &name(vertical)?, (24, TITLE + tall / 2 - 14), 28, INK)?;
    }
    Ok(())
}

/// The colours with the errors that they stand for.
fn scale(area: &Area<'_>, location: &ErrorLocation, top: i32, words: &Writer) -> Result<()> {
    let label = words.word("plot_error_scale")?;
    text(area, &label, (24, top + 66), 28, INK)?;
    let (width, _) = area.estimate_text_size(&label, &style(28, INK)).map_err(internal)?;
    let has_infinite = location.map.cells.iter().flatten().any(|cell| !cell.0.is_finite());
    heat::scale(area, (LEFT.max(24 + pixel(width) + 24), top + 66), 28, (largest(location), has_infinite))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_sentences_are_broken_in_two_lines_that_fit() {
        let english = "word ".repeat(30);
        let chinese = "误差分布在所有维度上".repeat(8);
        for sentence in [english.as_str(), chinese.as_str()] {
            let lines = wrapped(sentence);
            assert_eq!(lines.len(), 2, "{sentence}");
            assert!(lines.iter().all(|line| line.width() <= LINE), "{lines:?}");
        }
        assert_eq!(wrapped("short"), ["short"]);
    }
}
