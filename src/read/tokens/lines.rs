//! Files of JSON lines with one answer per line.

use super::keys::{KeyRole, role_of_key};
use super::place::{RecordDamage, TokensStep};
use super::raw::{Numbers, Raw, whole_number};
use super::row::RowQuantities;
use crate::error::{Error, Result};
use crate::fetch::Source;
use crate::read::evaluation::cursor::{Cursor, Parsed};
use crate::read::evaluation::lines::{MAX_LINE, for_each_block};

/// Lines of a file that hold an answer.
pub(super) struct TokensLines {
    source: Source,
    lines: Vec<Span>,
}

/// Position of one line, and its place.
struct Span {
    offset: u64,
    len: u32,
    number: u64,
    about: Place,
}

/// Step, rank and quantities of an answer.
#[derive(Clone, Copy, Default)]
struct Place {
    step: Option<u64>,
    rank: Option<u64>,
    holds: RowQuantities,
}

/// Lines of a file, its damage, and its unread members.
pub(super) struct Found {
    pub(super) lines: TokensLines,
    pub(super) damages: Vec<RecordDamage>,
    pub(super) unread: Vec<String>,
}

/// Most different keys of members that are reported as unread.
const MOST_UNREAD: usize = 64;

impl TokensLines {
    /// Finds the lines of `source` that hold an answer.
    ///
    /// # Errors
    /// Those of reading the source.
    pub(super) fn open(source: Source) -> Result<Found> {
        let mut found = Found {
            lines: Self { source: source.clone(), lines: Vec::new() },
            damages: Vec::new(),
            unread: Vec::new(),
        };
        for_each_block(source.as_ref(), |lines| {
            for line in lines {
                let Some(bytes) = line.bytes else {
                    let reason = format!("is longer than {MAX_LINE} bytes, the most that is read");
                    found.damages.push(RecordDamage { line: Some(line.number), reason });
                    continue;
                };
                match look(bytes, &mut found.unread) {
                    Ok(about) => found.lines.lines.push(Span {
                        offset: line.offset,
                        len: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
                        number: line.number,
                        about,
                    }),
                    Err(reason) => found.damages.push(RecordDamage { line: Some(line.number), reason }),
                }
            }
        })?;
        Ok(found)
    }

    pub(super) fn rows(&self) -> u64 {
        self.lines.len() as u64
    }

    fn line(&self, row: u64) -> Option<&Span> {
        self.lines.get(usize::try_from(row).ok()?)
    }

    /// Step recorded in a line.
    pub(super) fn step(&self, row: u64) -> Option<TokensStep> {
        self.line(row)?.about.step.map(TokensStep::Number)
    }

    /// Rank recorded in a line.
    pub(super) fn rank(&self, row: u64) -> Option<u64> {
        self.line(row)?.about.rank
    }

    /// Quantities recorded in a line.
    pub(super) fn quantities(&self, row: u64) -> RowQuantities {
        self.line(row).map(|line| line.about.holds).unwrap_or_default()
    }

    /// Reads the numbers of an answer into `raw`.
    ///
    /// # Errors
    /// Those of reading.
    pub(super) fn fill(&self, row: u64, raw: &mut Raw, bytes: &mut Vec<u8>) -> Result<()> {
        raw.clear();
        let Some(line) = self.line(row) else { return Err(Error::corrupt(self.source.name(), "has no such line")) };
        bytes.clear();
        bytes.resize(line.len as usize, 0);
        self.source.read_at(line.offset, bytes)?;
        fill(bytes, raw).map_err(|reason| Error::corrupt(self.source.name(), format!("line {}: {reason}", line.number)))
    }
}

/// Reads step, rank and quantities of a line; an error if it is damaged or holds no log-probabilities.
fn look(bytes: &[u8], unread: &mut Vec<String>) -> std::result::Result<Place, String> {
    let mut place = Place::default();
    let mut cursor = Cursor::new(bytes);
    let read: Parsed<()> = cursor
        .object(|key, cursor| {
            let is_list = cursor.peek() == Some(b'[');
            match role_of_key(key).map(|(role, _)| role) {
                Some(KeyRole::Step) => place.step = place.step.or(cursor.number()?.and_then(whole_number)),
                Some(KeyRole::Rank) => place.rank = place.rank.or(cursor.number()?.and_then(whole_number)),
                known => {
                    match known {
                        Some(KeyRole::Engine) => place.holds.engine |= is_list,
                        Some(KeyRole::Trainer) => place.holds.trainer |= is_list,
                        Some(KeyRole::Difference) => place.holds.difference |= is_list,
                        Some(KeyRole::Mask | KeyRole::Attention) => place.holds.mask |= is_list,
                        Some(_) => {}
                        None => {
                            let is_number = matches!(cursor.peek(), Some(b'[' | b'-' | b'0'..=b'9'));
                            if is_number && unread.len() < MOST_UNREAD && !unread.iter().any(|known| known == key) {
                                unread.push(key.to_owned());
                            }
                        }
                    }
                    cursor.skip()?;
                }
            }
            Ok(())
        })
        .and_then(|()| cursor.end());
    read.map_err(|fault| fault.reason())?;
    let RowQuantities { engine, trainer, difference, .. } = place.holds;
    if engine || trainer || difference {
        Ok(place)
    } else {
        Err("expected a list of log-probabilities, found none".to_owned())
    }
}

/// Reads the numbers of a line.
fn fill(bytes: &[u8], raw: &mut Raw) -> std::result::Result<(), String> {
    let mut places: Vec<(KeyRole, usize)> = Vec::new();
    let mut cursor = Cursor::new(bytes);
    let read: Parsed<()> = cursor.object(|key, cursor| {
        let Some((role, place)) = role_of_key(key) else { return cursor.skip() };
        let before = places.iter().find(|(known, _)| *known == role).map(|(_, place)| *place);
        if before.is_some_and(|before| before < place) && role != KeyRole::Mask {
            return cursor.skip();
        }
        places.retain(|(known, _)| *known != role);
        places.push((role, place));
        if let Some(numbers) = raw.numbers(role) {
            return list(cursor, numbers.refill());
        }
        match role {
            KeyRole::Mask => {
                let mut mask = Numbers::default();
                list(cursor, mask.refill())?;
                raw.masks.push(mask);
                Ok(())
            }
            KeyRole::Lengths => scalar(cursor, &mut raw.length),
            KeyRole::Index => scalar(cursor, &mut raw.index),
            KeyRole::Version => scalar(cursor, &mut raw.version),
            KeyRole::Cached => scalar(cursor, &mut raw.cached),
            _ => cursor.skip(),
        }
    });
    read.map_err(|fault| fault.reason())
}

/// Reads a list of numbers; `null` becomes NaN.
fn list(cursor: &mut Cursor<'_>, out: &mut Vec<f64>) -> Parsed<()> {
    if cursor.peek() != Some(b'[') {
        return cursor.skip();
    }
    cursor.array(|cursor| {
        out.push(cursor.number()?.unwrap_or(f64::NAN));
        Ok(())
    })
}

/// Reads a number, a text with a number, or the largest number of a list.
fn scalar(cursor: &mut Cursor<'_>, out: &mut Option<f64>) -> Parsed<()> {
    match cursor.peek() {
        Some(b'[') => {
            let mut largest = f64::NAN;
            cursor.array(|cursor| {
                let mut one = None;
                scalar(cursor, &mut one)?;
                largest = largest.max(one.unwrap_or(f64::NAN));
                Ok(())
            })?;
            *out = Some(largest);
        }
        Some(b'"') => *out = cursor.text()?.trim().parse().ok(),
        _ => *out = cursor.number()?,
    }
    Ok(())
}
