//! Pictures, drawn from the result alone.
//!
//! Everything is drawn at twice the size at which it is shown, on its own background, so that it is sharp and legible in light and
//! dark comments. The font is embedded; system fonts are not used.

mod difference;
pub mod divergence;
pub mod error_map;
pub mod evaluation;
mod heat;
mod lines;
pub mod loss;
mod marks;
pub mod monitor;
pub mod performance;
pub mod samples;
pub mod timeline;
pub mod tokens;
pub mod trend;

use std::sync::Once;

use plotters::coord::Shift;
use plotters::prelude::{BitMapBackend, Circle, DrawingArea, IntoDrawingArea, Rectangle, Text};
use plotters::style::{Color, FontStyle, IntoFont, RGBColor, TextStyle, register_font};

use crate::error::{Error, ErrorKind, Result};
use crate::report::escape::{TextTarget, cleaned};
use crate::report::messages::Language;
use crate::report::palette::{self, Colour};
use crate::report::writer::Writer;
use crate::verdict::{Side, Verdict};

/// A part of a picture.
pub type Area<'a> = DrawingArea<BitMapBackend<'a>, Shift>;

/// Font family under which the embedded font is registered.
const FONT: &str = "sans-serif";
/// The embedded font; see `templates/fonts/README.md`.
static FONT_BYTES: &[u8] = include_bytes!("../../templates/fonts/NotoSansSC-Regular-subset.otf");

const PAPER: RGBColor = rgb(palette::PAPER);
const INK: RGBColor = rgb(palette::INK);
const FAINT: RGBColor = rgb(palette::QUIET);
const GRID: RGBColor = rgb(palette::LINE);
const BASELINE: RGBColor = rgb(palette::BASELINE);
const CANDIDATE: RGBColor = rgb(palette::CANDIDATE);
const ALARM: RGBColor = rgb(palette::FAIL);
const PASS: RGBColor = rgb(palette::PASS);
const WARN: RGBColor = rgb(palette::WARN);
const INCOMPLETE: RGBColor = rgb(palette::INCOMPLETE);
const LIMIT: RGBColor = rgb(palette::LIMIT);
const INHERITED: RGBColor = rgb(palette::INHERITED);

/// A colour of the palette, as pictures have it.
const fn rgb(colour: Colour) -> RGBColor {
    let [red, green, blue] = colour.on_paper();
    RGBColor(red, green, blue)
}

/// Registers the embedded font; without it, drawing text is an error.
pub(crate) fn prepare_font() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Registration fails only if the bytes are not a font, which a test would notice.
        let _registered = register_font(FONT, FontStyle::Normal, FONT_BYTES);
    });
}

/// The characters of a text that the embedded font can draw, cut to `longest` characters.
fn drawable(text: &str, longest: usize) -> String {
    let known = |character: char| matches!(character, ' '..='~' | '\u{a0}'..='\u{17f}' | '…');
    let mut shown: String = text.chars().take(longest).map(|c| if known(c) { c } else { '?' }).collect();
    if text.chars().count() > longest {
        shown.pop();
        shown.push('…');
    }
    shown
}

/// The words of a picture.
fn words(language: Language) -> Writer {
    Writer::new(language, TextTarget::Plain)
}

/// The name of a run, as far as the embedded font can draw it.
fn name_of(side: Side, words: &Writer) -> Result<String> {
    let role = words.word(&format!("side_{}", side.as_str()))?;
    let name = cleaned(&words.fact("side", &side.as_str().into()).to_string());
    Ok(if name == role { role } else { drawable(&name, 24) })
}

fn verdict(verdict: Verdict, words: &Writer) -> Result<String> {
    words.word(&format!("verdict_{}", verdict.as_str()))
}

/// An internal error of drawing.
fn internal(error: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Internal, "picture", error)
}

/// A picture that `draw` fills, framed, as PNG.
pub fn picture(width: u32, height: u32, draw: impl FnOnce(&Area<'_>) -> Result<()>) -> Result<Vec<u8>> {
    prepare_font();
    let mut pixels = vec![0; (width * height * 3) as usize];
    {
        let root = BitMapBackend::with_buffer(&mut pixels, (width, height)).into_drawing_area();
        root.fill(&PAPER).map_err(internal)?;
        let corner = (pixel(width) - 1, pixel(height) - 1);
        root.draw(&Rectangle::new([(0, 0), corner], GRID.stroke_width(2))).map_err(internal)?;
        draw(&root)?;
        root.present().map_err(internal)?;
    }
    encode(&pixels, width, height)
}

/// Draws a disc for the baseline and a square for the candidate, so that they differ in more than colour.
fn dot(area: &Area<'_>, side: Side, (x, y): (i32, i32), size: i32, colour: RGBColor) -> Result<()> {
    match side {
        Side::Baseline => area.draw(&Circle::new((x, y), size, colour.filled())).map_err(internal),
        Side::Candidate => {
            area.draw(&Rectangle::new([(x - size, y - size), (x + size, y + size)], colour.filled())).map_err(internal)
        }
    }
}

/// A length as a coordinate.
fn pixel(length: u32) -> i32 {
    i32::try_from(length).unwrap_or(i32::MAX)
}

/// Width of a text in pixels.
fn width_of(text: &str, size: u32) -> i32 {
    prepare_font();
    let (wide, _) = style(size, INK).font.box_size(text).unwrap_or_default();
    pixel(wide)
}

fn style(size: u32, colour: RGBColor) -> TextStyle<'static> {
    (FONT, size).into_font().color(&colour)
}

/// Writes `text` with its upper left corner at a pixel.
fn text(area: &Area<'_>, text: &str, at: (i32, i32), size: u32, colour: RGBColor) -> Result<()> {
    area.draw(&Text::new(text.to_owned(), at, style(size, colour))).map_err(internal)
}

/// Encodes an RGB picture as PNG.
fn encode(pixels: &[u8], width: u32, height: u32) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(internal)?;
    writer.write_image_data(pixels).map_err(internal)?;
    writer.finish().map_err(internal)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use ab_glyph::{Font, FontRef};

    use super::*;
    use crate::report::phrases;

    #[test]
    fn the_embedded_font_holds_every_word_of_the_pictures() {
        let font = FontRef::try_from_slice(FONT_BYTES).expect("a font");
        for language in Language::ALL {
            let words = phrases::all_phrases(language).iter().filter(|(key, _)| {
                ["plot_", "verdict_", "side_", "rule_", "metric_", "bound_", "amount_", "error_", "axis_"]
                    .iter()
                    .any(|start| key.starts_with(start))
            });
            for (key, word) in words {
                for character in word.chars() {
                    assert_ne!(font.glyph_id(character).0, 0, "{character} of {key}; see templates/fonts/README.md");
                }
            }
        }
    }
}
