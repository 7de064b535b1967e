//! Pictures, drawn from the result alone.
//!
//! Everything is drawn at twice the size it is shown at, on a background of its own, so that it is sharp and
//! legible in light and dark comments alike. The font is embedded; no system font is looked for.

pub mod divergence;
pub mod loss;

use std::sync::Once;

use plotters::style::{FontStyle, RGBColor, register_font};

use crate::error::{Error, ErrorKind, Result};
use crate::report::escape::Target;
use crate::report::messages::Language;
use crate::report::writer::Writer;
use crate::verdict::Verdict;

/// Font family the embedded font is registered under.
pub(super) const FONT: &str = "sans-serif";
/// The embedded font; see `templates/fonts/README.md`.
static FONT_BYTES: &[u8] = include_bytes!("../../templates/fonts/NotoSansSC-Regular-subset.otf");

pub(super) const PAPER: RGBColor = RGBColor(255, 255, 255);
pub(super) const INK: RGBColor = RGBColor(31, 41, 55);
pub(super) const FAINT: RGBColor = RGBColor(107, 114, 128);
pub(super) const GRID: RGBColor = RGBColor(229, 231, 235);
pub(super) const BASELINE: RGBColor = RGBColor(37, 99, 235);
pub(super) const CANDIDATE: RGBColor = RGBColor(234, 88, 12);
pub(super) const ALARM: RGBColor = RGBColor(185, 28, 28);

/// Makes the embedded font known; without it, drawing any text is an error.
pub fn prepare_font() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Refused only where the bytes are no font, which a test would have seen.
        let _registered = register_font(FONT, FontStyle::Normal, FONT_BYTES);
    });
}

/// Text the embedded font can draw, cut to `longest` characters.
pub(super) fn drawable(text: &str, longest: usize) -> String {
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
    Writer::new(language, Target::Plain)
}

fn verdict(verdict: Verdict, words: &Writer) -> Result<String> {
    words.word(&format!("verdict_{}", verdict.as_str()))
}

/// A defect of the drawing itself.
pub(super) fn internal(error: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Internal, "picture", error)
}

/// Encodes an RGB picture as PNG.
pub(super) fn encode(pixels: &[u8], width: u32, height: u32) -> Result<Vec<u8>> {
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
            let words = phrases::all(language)
                .iter()
                .filter(|(key, _)| ["plot_", "verdict_", "side_"].iter().any(|start| key.starts_with(start)));
            for (key, word) in words {
                for character in word.chars() {
                    assert_ne!(font.glyph_id(character).0, 0, "{character} of {key}; see templates/fonts/README.md");
                }
            }
        }
    }
}
