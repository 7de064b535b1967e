//! Lines read by the form of an earlier line.
//!
//! One statement of a program writes most lines of its log, so that they differ in their figures alone. A line that has the bytes of an
//! earlier line outside of its numbers, dates and times, and a figure wherever that line has one, is taken apart in the same way: it
//! has the same tokens, counters, names and pairs. Only its numbers are read. What follows from more than the place of a figure
//! has no form: a ratio of two numbers, and counters that are written with decimals.

use std::borrow::Cow;
use std::collections::HashMap;

use super::blocks::{LineContent, LineValues, Unjoined};
use super::counter_words::counter_of_word;
use super::counters::CounterTokens;
use super::facts::LineFacts;
use super::mask;
use super::names::Names;
use super::pairs::{Pair, Reader};
use super::tokens::{Kind, Token};
use super::words;
use crate::read::curve::lines;
use crate::read::curve::told::FactLines;

/// Bytes of lines whose forms are kept: a thousand usual ones. Numbers of other lengths make another form.
const MOST_BYTES: usize = 256 * 1024;
/// Largest number of forms of lines of equal length.
const MOST_ALIKE: usize = 16;
/// Longest line of which a form is kept.
const LONGEST: usize = 4096;
/// Digits of a whole number that is certain to fit into 64 bits.
const WHOLE_DIGITS: usize = 19;

/// Reader of single lines that knows the forms of those before.
#[derive(Debug, Default)]
pub(super) struct LineReader {
    reader: Reader,
    forms: Forms,
    is_survey: bool,
}

impl LineReader {
    /// A reader for the survey of a file, which needs nothing that could not be paired.
    pub(super) fn surveying() -> Self {
        Self { is_survey: true, ..Self::default() }
    }

    /// Facts about a line and its values, by places in `names`: the same names for each line.
    pub(super) fn read(&mut self, text: &[u8], names: &mut Names) -> LineFacts {
        if let Some(known) = self.forms.read(text) {
            return known;
        }
        let line = lines::text_of(text);
        let known = LineFacts::with_values(&line, &mut self.reader, names, self.is_survey);
        self.forms.learn(&line, &known, &self.reader);
        known
    }
}

/// Forms of the lines that were read so far.
#[derive(Debug, Default)]
struct Forms {
    by_length: HashMap<usize, Vec<Form>>,
    bytes: usize,
}

/// A line that others are taken apart like.
#[derive(Debug)]
struct Form {
    text: Vec<u8>,
    /// Bits of the bytes in whose place any other figure may stand.
    figures: Vec<u8>,
    tokens: Vec<Token>,
    counters: CounterTokens,
    /// The pairs of the line, each with the token of its value.
    pairs: Vec<(Pair, usize)>,
    valueless: usize,
    /// Key metrics without a value, and the tokens of the numbers beside them.
    names_without_value: Vec<usize>,
    unnamed: Vec<usize>,
    /// Tokens of the numbers of a line that holds nothing else.
    alone: Vec<usize>,
    is_mean: bool,
}

impl Forms {
    /// Content of a line that has the form of an earlier one.
    fn read(&self, line: &[u8]) -> Option<LineFacts> {
        let form = self.by_length.get(&line.len())?.iter().find(|form| form.fits(line))?;
        let values = form.values(std::str::from_utf8(line).ok()?);
        Some(LineFacts { may_tell: false, has_nul: false, is_mean: form.is_mean, looked: LineContent::Values(values) })
    }

    /// Keeps the form of a line that the reader has just read.
    fn learn(&mut self, line: &str, known: &LineFacts, reader: &Reader) {
        if self.bytes >= MOST_BYTES || line.len() > LONGEST {
            return;
        }
        let alike = self.by_length.entry(line.len()).or_default();
        if alike.len() < MOST_ALIKE
            && let Some(form) = Form::of(line, known, reader)
        {
            alike.push(form);
            self.bytes += line.len();
        }
    }
}

impl Form {
    fn of(line: &str, known: &LineFacts, reader: &Reader) -> Option<Self> {
        let LineContent::Values(values) = &known.looked else { return None };
        let is_plain = !known.may_tell && matches!(words::plain(line), Cow::Borrowed(_));
        let found = &reader.found;
        let tokens: Option<Vec<usize>> = found.value_tokens.iter().copied().collect();
        let pairs = found.pairs.iter().copied().zip(tokens.filter(|_| is_plain)?).collect();
        let figures = figures(line, &reader.tokens.list)?;
        // A message can tell the end of a run by a figure: `signal 9`.
        let nines = line.bytes().zip(&figures).map(|(byte, figure)| if *figure == 0 { byte } else { b'9' }).collect();
        let may_tell = FactLines::may_hold_fact(&String::from_utf8(nines).ok()?);
        let names_without_value = values.unjoined.names.clone();
        let numbers = reader.tokens.list.iter().enumerate().filter(|(_, token)| token.value().is_some());
        let alone = if values.alone.is_empty() { Vec::new() } else { numbers.map(|(at, _)| at).collect() };
        (!may_tell).then(|| Self {
            text: line.as_bytes().to_vec(),
            figures,
            tokens: reader.tokens.list.clone(),
            counters: found.counters,
            pairs,
            valueless: values.valueless,
            unnamed: found.unnamed_beside(&names_without_value).to_vec(),
            names_without_value,
            alone,
            is_mean: known.is_mean,
        })
    }

    /// Whether a line of the same length has this form.
    fn fits(&self, line: &[u8]) -> bool {
        let differing = line.iter().zip(&self.text).zip(&self.figures).fold(0, |differing, ((byte, own), figure)| {
            let is_figure = u8::from(byte.wrapping_sub(b'0') < 10).wrapping_neg();
            differing | ((byte ^ own) & !(figure & is_figure))
        });
        differing == 0
    }

    fn values(&self, line: &str) -> LineValues {
        let value = |at: usize| self.tokens.get(at).and_then(|token| lines::parse_number(token.text(line)));
        let pair = |(pair, token): &(Pair, usize)| pair.with_value(value(*token).unwrap_or(pair.value));
        let values = self.unnamed.iter().filter_map(|at| value(*at)).collect();
        LineValues {
            counters: self.counters.read(line, &self.tokens),
            pairs: self.pairs.iter().map(pair).collect(),
            valueless: self.valueless,
            unjoined: Unjoined { names: self.names_without_value.clone(), values },
            alone: self.alone.iter().filter_map(|at| value(*at)).collect(),
        }
    }
}

/// Marks the figures of a line in whose place any other may stand: those of its numbers, dates and times. `None` where a number has a
/// meaning that depends on more than its place.
fn figures(line: &str, tokens: &[Token]) -> Option<Vec<u8>> {
    let mut figures = vec![0; line.len()];
    for token in tokens {
        let text = token.text(line);
        let is_free = match token.kind {
            Kind::Number(_) => {
                let unit = token.unit(line);
                let digits = text.bytes().filter(u8::is_ascii_digit).count();
                let fits = digits < WHOLE_DIGITS || text.contains('.');
                // `1.0it` is a counter and `1.5it` is none; `0x1` is an address and `1x1` is none.
                (fits && counter_of_word(unit).is_none() && !unit.starts_with('x')).then_some(true)?
            }
            Kind::Mark => mask::is_date_or_figure(line.as_bytes(), token.start..token.end),
            _ => false,
        };
        if is_free {
            let figures = figures.get_mut(token.start..token.end)?;
            for (figure, byte) in figures.iter_mut().zip(text.bytes()) {
                *figure = u8::from(byte.is_ascii_digit()).wrapping_neg();
            }
        }
    }
    Some(figures)
}

#[cfg(test)]
mod tests;
