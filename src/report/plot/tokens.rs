//! `tokens.png`: differences of log-probabilities, answer by position; answers that differ much more than others are marked.

use minijinja::context;
use plotters::prelude::Rectangle;
use plotters::style::Color;

use super::heat::{self, Frame};
use super::{ALARM, Area, INK, internal, picture, pixel, text};
use crate::error::Result;
use crate::report::escape::TextTarget;
use crate::report::messages::Language;
use crate::report::writer::Writer;
use crate::result::GateResult;
use crate::result::number::Number;
use crate::result::unit::{LogprobsSide, LogprobsUnit, MapRow, logprobs};

const WIDTH: u32 = 1600;
/// Height of the title, of a row, and of the room below the map.
const TITLE: i32 = 80;
const ROW: i32 = 26;
const BELOW: i32 = 120;
/// Room left of the map for names of answers, and right of it.
const LEFT: i32 = 340;
const RIGHT: i32 = 60;
/// Most answers and parts of a map that is drawn.
const MOST: usize = 256;
/// Multiple of the noise that has the darkest colour.
const DARKEST: f64 = 20.0;

/// Draws the worst unit that holds a map; `None` where none does.
pub(crate) fn tokens_png(result: &GateResult, language: Language) -> Result<Option<Vec<u8>>> {
    let drawn = logprobs(&result.checks).filter(|unit| is_sound(&unit.map));
    let Some(unit) = drawn.max_by_key(|unit| (unit.verdict, unit.side == LogprobsSide::Candidate)) else {
        return Ok(None);
    };
    let words = Writer::from_result(result, language, TextTarget::Plain);
    let rows = i32::try_from(unit.map.len()).unwrap_or(i32::MAX);
    let frame = Frame { left: LEFT, top: TITLE, wide: pixel(WIDTH) - LEFT - RIGHT, tall: ROW * rows };
    let height = u32::try_from(TITLE + frame.tall + BELOW).unwrap_or(WIDTH);
    let png = picture(WIDTH, height, |root| draw(root, unit, frame, &words))?;
    Ok(Some(png))
}

fn draw(root: &Area<'_>, unit: &LogprobsUnit, frame: Frame, words: &Writer) -> Result<()> {
    text(root, &words.word("plot_tokens")?, (40, 24), 34, INK)?;
    let parts: Vec<Vec<Option<Number>>> = unit.map.iter().map(|row| row.parts.clone()).collect();
    let noise = unit.noise.0.max(f64::MIN_POSITIVE);
    frame.fill(root, &parts, |part| part.map(|Number(part)| part / noise), DARKEST)?;
    for (at, row) in unit.map.iter().enumerate() {
        let [(_, top), (_, bottom)] = frame.cell((at, unit.map.len()), (0, 1));
        let name = words
            .phrase("plot_tokens_row", &context! { step => row.step, rank => row.rank, answer => row.sequence })?;
        text(root, &name, (40, top + 3), 22, INK)?;
        if row.is_loud {
            let corners = [(frame.left - 14, top + 3), (frame.left - 6, bottom - 3)];
            root.draw(&Rectangle::new(corners, ALARM.filled())).map_err(internal)?;
        }
    }
    let below = frame.top + frame.tall;
    text(root, &words.word("plot_tokens_positions")?, (frame.left, below + 12), 22, INK)?;
    text(root, &words.word("plot_tokens_scale")?, (40, below + 66), 24, INK)?;
    heat::scale(root, (frame.left, below + 66), 24, (DARKEST, false))
}

/// Whether the map can be drawn: results come from files.
fn is_sound(map: &[MapRow]) -> bool {
    let is_drawable = |row: &MapRow| (1..=MOST).contains(&row.parts.len());
    (1..=MOST).contains(&map.len()) && map.iter().all(is_drawable)
}
