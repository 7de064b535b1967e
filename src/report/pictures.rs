//! The pictures of a result with their file names, from which every document takes those that it shows.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use minijinja::Value;

use super::checks;
use super::writer::safe;
use crate::error::Result;
use crate::report::messages::Language;
use crate::result::GateResult;
use crate::verdict::CheckId;

/// A picture that was drawn.
#[derive(Clone, Debug)]
pub struct DrawnPicture {
    /// The check that it shows.
    pub check: CheckId,
    /// Its file in the output folder: `loss.png`.
    pub file: &'static str,
    /// The picture as PNG.
    pub png: Vec<u8>,
}

impl DrawnPicture {
    /// The name that documents use: the file name without the extension.
    pub fn name(&self) -> &'static str {
        self.file.strip_suffix(".png").unwrap_or(self.file)
    }
}

/// The picture as a `data:` address, for a page that contains it.
pub(crate) fn data_address(png: &[u8]) -> Value {
    safe(format!("data:image/png;base64,{}", STANDARD.encode(png)))
}

/// Draws all pictures that have something to show, in the order of reports.
///
/// # Errors
/// Where one cannot be drawn.
pub fn draw_all(result: &GateResult, language: Language) -> Result<Vec<DrawnPicture>> {
    let mut drawn = Vec::new();
    for shown in checks::ALL {
        for picture in shown.pictures {
            let png = (picture.draw)(result, language)?;
            drawn.extend(png.map(|png| DrawnPicture { check: shown.check, file: picture.file, png }));
        }
    }
    Ok(drawn)
}

/// The pictures of the run itself, without those of earlier runs.
///
/// # Errors
/// Where one cannot be drawn.
pub fn draw_run_pictures(result: &GateResult, language: Language) -> Result<Vec<DrawnPicture>> {
    let drawn = draw_all(result, language)?;
    Ok(drawn.into_iter().filter(|picture| picture.check != CheckId::History).collect())
}
