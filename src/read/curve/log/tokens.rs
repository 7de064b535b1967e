//! A line as numbers, words and signs.

use std::ops::Range;

use super::mask;
use crate::read::curve::lines;

/// Space between a token and the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gap {
    /// Nothing.
    None,
    /// One blank.
    Blank,
    /// Two or more.
    Wide,
    /// A tab.
    Tab,
}

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// A number.
    Number(f64),
    /// `nan` or `inf`, which may be a word of a sentence too.
    Spelled(f64),
    /// A word, with the digits and brackets in it.
    Word,
    /// A sign; [`RULER`] for a row of equal ones, [`ARROW`] for arrows.
    Sign(u8),
    /// Text with digits that is no value: a date, a path, a log level. It does not separate a name from its value.
    Mark,
}

/// Three or more equal signs in a row.
pub(super) const RULER: u8 = b'R';
/// `->`, `=>`, `-->`.
pub(super) const ARROW: u8 = b'A';
/// Two signs that are no separator: `//`, `~~`.
const DOUBLE: u8 = b'D';

/// A part of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    /// First byte in the line.
    pub(super) start: usize,
    /// End of a word, or of a number's digits.
    pub(super) end: usize,
    /// End of the unit after a number; the unit begins where the digits end.
    pub(super) unit_end: usize,
    pub(super) gap: Gap,
}

impl Token {
    pub(super) fn is_sign(self, sign: u8) -> bool {
        self.kind == Kind::Sign(sign)
    }

    /// The value of a number in digits; `None` for `nan` or `inf` without a sign, which may be a word.
    pub(super) fn number(self) -> Option<f64> {
        match self.kind {
            Kind::Number(value) => Some(value),
            _ => None,
        }
    }

    /// The value of a number, including `nan` and `inf`.
    pub(super) fn value(self) -> Option<f64> {
        match self.kind {
            Kind::Number(value) | Kind::Spelled(value) => Some(value),
            _ => None,
        }
    }

    /// The value of a whole number that is written without a decimal point, and possibly with `,` between groups of digits.
    pub(super) fn count(self, line: &str) -> Option<u64> {
        let text = line.get(self.start..self.end).filter(|_| matches!(self.kind, Kind::Number(_)))?;
        if text.bytes().any(|byte| byte == b'.') {
            return None;
        }
        match text.parse() {
            Ok(count) => Some(count),
            Err(_) if text.contains(',') => text.replace(',', "").parse().ok(),
            Err(_) => None,
        }
    }

    pub(super) fn text(self, line: &str) -> &str {
        line.get(self.start..self.end).unwrap_or_default()
    }

    /// The unit of a number.
    pub(super) fn unit(self, line: &str) -> &str {
        line.get(self.end..self.unit_end).unwrap_or_default()
    }
}

/// Log levels, which are never part of a name.
const LEVELS: [&str; 11] =
    ["INFO", "WARNING", "WARN", "ERROR", "DEBUG", "CRITICAL", "TRACE", "NOTICE", "FATAL", "info", "warning"];

/// Tokens of a line; the memory is reused from line to line.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    pub(super) list: Vec<Token>,
}

/// The text of some of a line's tokens.
pub(super) fn text<'t>(line: &'t str, list: &[Token], tokens: &Range<usize>) -> Option<&'t str> {
    let (first, last) = (list.get(tokens.start)?, list.get(tokens.end.checked_sub(1)?)?);
    line.get(first.start..last.end)
}

/// Scanner of one line.
struct Scan<'l> {
    line: &'l str,
    bytes: &'l [u8],
    at: usize,
    gap: Gap,
    list: &'l mut Vec<Token>,
}

impl Tokens {
    /// The text of some tokens as it stands in their line.
    pub(super) fn text<'t>(&self, line: &'t str, tokens: &Range<usize>) -> Option<&'t str> {
        text(line, &self.list, tokens)
    }

    /// Replaces the tokens by those of `line`, in time linear in its length.
    pub(super) fn scan(&mut self, line: &str) {
        self.list.clear();
        let mut scan = Scan { line, bytes: line.as_bytes(), at: 0, gap: Gap::None, list: &mut self.list };
        while scan.at < scan.bytes.len() {
            scan.next();
        }
    }
}

impl Scan<'_> {
    fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or_default()
    }

    fn push(&mut self, kind: Kind, start: usize, end: usize, unit_end: usize) {
        self.list.push(Token { kind, start, end, unit_end, gap: self.gap });
        (self.at, self.gap) = (unit_end, Gap::None);
    }

    fn mark(&mut self, start: usize, end: usize) {
        self.push(Kind::Mark, start, end, end);
    }

    fn next(&mut self) {
        let (at, byte) = (self.at, self.byte(self.at));
        match byte {
            b' ' => {
                self.gap = if self.gap == Gap::None { Gap::Blank } else { self.gap.max(Gap::Wide) };
                self.at += 1;
            }
            b'\t' => (self.at, self.gap) = (at + 1, Gap::Tab),
            // The genitive of `valid_0's l2`, and marks around a name or a number.
            b'\'' if self.byte(at + 1) == b's' && self.byte(at + 2) == b' ' => self.at += 2,
            b'\'' | b'"' | b'`' | b'\\' => self.at += 1,
            b'0'..=b'9' => self.number(at),
            b'+' | b'-' | b'.' if self.begins_number() => self.number(at),
            // The priority at the beginning of a syslog line.
            b'<' if at == 0 && self.byte(1).is_ascii_digit() => {
                let end = self.bytes.iter().take(6).position(|byte| *byte == b'>');
                self.mark(0, end.map_or(1, |end| end + 1));
            }
            b'(' | b'[' if let Some(end) = mask::writer_end(self.bytes, at) => self.mark(at, end),
            _ if byte.is_ascii_alphabetic() || byte == b'_' => self.word(at),
            _ if byte.is_ascii() => self.sign(at, byte),
            _ => match self.line.get(at..).and_then(|rest| rest.chars().next()) {
                Some(sign) if sign.is_alphanumeric() => self.word(at),
                Some(sign) => self.push(Kind::Sign(b'?'), at, at + sign.len_utf8(), at + sign.len_utf8()),
                None => self.at += 1,
            },
        }
    }

    /// Whether the sign or dot at the current position begins a number.
    fn begins_number(&self) -> bool {
        let after = |at: usize| match self.byte(at) {
            b'.' => self.byte(at + 1).is_ascii_digit(),
            byte => byte.is_ascii_digit(),
        };
        let is_apart = self.gap != Gap::None
            || self.list.last().is_none_or(|last| matches!(last.kind, Kind::Sign(sign) if sign != b'%'));
        let is_number = if self.byte(self.at) == b'.' { after(self.at) } else { after(self.at + 1) };
        is_apart && (is_number || self.byte(self.at) != b'.' && self.spelled(self.at + 1).is_some())
    }

    /// The value of `nan` or `inf` at a position, and its end.
    fn spelled(&self, at: usize) -> Option<(f64, usize)> {
        let len = self
            .bytes
            .get(at..)?
            .iter()
            .take(9)
            .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_')
            .count();
        let value = match self.bytes.get(at..at + len)? {
            b"nan" | b"NaN" | b"NAN" | b"Nan" => f64::NAN,
            b"inf" | b"Inf" | b"INF" | b"infinity" | b"Infinity" => f64::INFINITY,
            _ => return None,
        };
        Some((value, at + len))
    }

    fn number(&mut self, at: usize) {
        if let Some(end) = mask::figure_end(self.bytes, at).filter(|_| self.byte(at).is_ascii_digit()) {
            return self.mark(at, end);
        }
        if let Some((value, end)) = self.spelled(at + 1).filter(|_| matches!(self.byte(at), b'+' | b'-')) {
            let value = if self.byte(at) == b'-' { -value } else { value };
            self.push(Kind::Number(value), at, end, end);
            return self.close(at);
        }
        let end = self.digits_end(at);
        let Some(value) = self.line.get(at..end).and_then(lines::parse_number) else {
            return self.mark(at, end.max(at + 1));
        };
        let unit_end = self.unit_end(end);
        // Digits that go on in a word are part of it: `3x`, `8bit`.
        self.push(Kind::Number(value), at, end, unit_end);
        self.close(at);
    }

    fn digits_end(&self, at: usize) -> usize {
        let run = |mut at: usize| {
            while self.byte(at).is_ascii_digit() {
                at += 1;
            }
            at
        };
        let mut end = run(at + usize::from(matches!(self.byte(at), b'+' | b'-')));
        // Groups of three: `1,234.5`.
        while self.byte(end) == b',' && run(end + 1) == end + 4 && end > at {
            end += 4;
        }
        if self.byte(end) == b'.' && !self.byte(end + 1).is_ascii_alphabetic()
            || self.byte(end) == b'.' && matches!(self.byte(end + 1), b'e' | b'E')
        {
            end = run(end + 1);
        }
        if matches!(self.byte(end), b'e' | b'E') {
            let sign = usize::from(matches!(self.byte(end + 1), b'+' | b'-'));
            let exponent = run(end + 1 + sign);
            if exponent > end + 1 + sign {
                end = exponent;
            }
        }
        end
    }

    /// End of the unit that is joined to a number's digits: letters, `%`, `/`.
    fn unit_end(&self, end: usize) -> usize {
        let is_unit = |byte: u8| byte.is_ascii_alphabetic() || matches!(byte, b'%' | b'_') || byte >= 0x80;
        let mut at = end;
        while is_unit(self.byte(at))
            || at > end && (self.byte(at) == b'/' && is_unit(self.byte(at + 1)) || self.byte(at).is_ascii_digit())
        {
            at += 1;
        }
        if self.line.is_char_boundary(at) { at } else { end }
    }

    /// Skips the rest of the brackets of a type after its number: `, device='npu:0')`.
    fn close(&mut self, start: usize) {
        let opened =
            self.list.iter().rev().nth(1).is_some_and(|before| before.is_sign(b'T') && before.unit_end <= start);
        if !opened {
            return;
        }
        if let Some(at) = self.list.len().checked_sub(2) {
            let token = self.list.remove(at);
            self.list.last_mut().into_iter().for_each(|number| number.gap = number.gap.max(token.gap));
        }
        const WIDTH: usize = 120;
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let mut depth = 1_u32;
        for (offset, byte) in rest.iter().take(WIDTH).enumerate() {
            match byte {
                b'(' => depth += 1,
                b')' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                self.at += offset + 1;
                return;
            }
        }
    }

    fn sign(&mut self, at: usize, byte: u8) {
        let rest = self.bytes.get(at..).unwrap_or_default();
        let len = rest.iter().take_while(|next| **next == byte).count();
        let arrow = len + usize::from(matches!(byte, b'-' | b'=') && rest.get(len) == Some(&b'>'));
        match (byte, len) {
            _ if arrow > len => self.push(Kind::Sign(ARROW), at, at + arrow, at + arrow),
            (b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'|' | b'>', _) | (_, 1) => {
                self.push(Kind::Sign(byte), at, at + 1, at + 1);
            }
            (b'-' | b':' | b'=', 2) => self.push(Kind::Sign(byte), at, at + 2, at + 2),
            (_, 2) => self.push(Kind::Sign(DOUBLE), at, at + 2, at + 2),
            _ => self.push(Kind::Sign(RULER), at, at + len, at + len),
        }
    }

    fn word(&mut self, at: usize) {
        if let Some((value, end)) = self.spelled(at)
            && !is_joiner(self.byte(end), self.byte(end + 1))
        {
            self.push(Kind::Spelled(value), at, end, end);
            return self.close(at);
        }
        let mut end = self.word_end(at);
        let word = self.line.get(at..end).unwrap_or_default();
        if let Some(end) = mask::month_date_end(self.bytes, at, end) {
            return self.mark(at, end);
        }
        if LEVELS.contains(&word) {
            return self.mark(at, self.logger(end));
        }
        if matches!(word, "stdout" | "stderr") && matches!(self.bytes.get(end..end + 3), Some(b" F " | b" P ")) {
            return self.mark(at, end + 2);
        }
        if self.byte(end) == b'(' && self.wraps(word, end + 1) {
            // The opening of a type; the number inside closes it.
            return self.push(Kind::Sign(b'T'), at, end + 1, end + 1);
        }
        if mask::is_path(word) {
            return self.mark(at, mask::line_number_end(self.bytes, end));
        }
        if let Some(place) = self.function(end) {
            return self.mark(at, place);
        }
        if let Some(inside) = self.bracket(at, end) {
            end = inside;
        }
        self.push(Kind::Word, at, end, end);
        // The dot of an abbreviation: `Ep. 1`, `L.r. 2e-4`.
        if self.byte(end) == b'.' && matches!(self.byte(end + 1), b' ' | b':') {
            self.at += 1;
        }
    }

    fn word_end(&self, at: usize) -> usize {
        let mut end = at;
        loop {
            let byte = self.byte(end);
            let is_part = byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80 && self.is_letter(end);
            if is_part {
                end += if byte >= 0x80 { self.char_len(end) } else { 1 };
            } else if is_joiner(byte, self.byte(end + 1)) {
                end += 1;
            } else {
                // The name of a group ends with a slash: `time/`.
                return end + usize::from(byte == b'/' && matches!(self.byte(end + 1), b' ' | b'|' | 0));
            }
        }
    }

    fn is_letter(&self, at: usize) -> bool {
        self.line.get(at..).and_then(|rest| rest.chars().next()).is_some_and(char::is_alphanumeric)
    }

    fn char_len(&self, at: usize) -> usize {
        self.line.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
    }

    /// Whether `word(` opens a type around a number, such as `tensor(2.5)`.
    fn wraps(&self, word: &str, inside: usize) -> bool {
        let name = word.rsplit('.').next().unwrap_or(word);
        let at = inside + usize::from(self.byte(inside) == b'[');
        let at = at + usize::from(matches!(self.byte(at), b'+' | b'-'));
        lines::WRAPPERS.contains(&name) && (self.byte(at).is_ascii_digit() || self.spelled(at).is_some())
    }

    /// End of the logger's name after a level that ends at `end`: `INFO:root:`.
    fn logger(&self, end: usize) -> usize {
        if self.byte(end) != b':' || self.byte(end + 1) == b' ' {
            return end;
        }
        let name = self.word_end(end + 1);
        if name > end + 1 && self.byte(name) == b':' { name } else { end }
    }

    /// End of `module:function:42`, of which the first word ends at `end`.
    fn function(&self, end: usize) -> Option<usize> {
        (self.byte(end) == b':'
            && (self.byte(end + 1).is_ascii_alphabetic() || matches!(self.byte(end + 1), b'_' | b'<')))
        .then_some(())?;
        let rest = self.bytes.get(end + 1..)?;
        let name = rest
            .iter()
            .take(64)
            .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'<' | b'>'))
            .count();
        (rest.get(name) == Some(&b':')).then_some(())?;
        let number = rest.get(name + 1..)?.iter().take(7).take_while(|byte| byte.is_ascii_digit()).count();
        let behind = end + name + 2 + number;
        (number > 0
            && matches!(self.byte(behind), b' ' | b']' | b')')
            && self.list.iter().all(|token| !matches!(token.kind, Kind::Word | Kind::Number(_))))
        .then_some(behind)
    }

    /// End of a bracket that is part of the word before it: `mAP50(B)`, `D(G(z))`.
    fn bracket(&self, start: usize, end: usize) -> Option<usize> {
        const WIDTH: usize = 24;
        if self.byte(end) != b'(' || super::counter_words::is_counter(self.line.get(start..end)?) {
            return None;
        }
        let rest = self.bytes.get(end..)?;
        let mut depth = 0_u32;
        for (offset, byte) in rest.iter().take(WIDTH).enumerate() {
            match byte {
                b'(' => depth += 1,
                b')' => depth -= 1,
                byte if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'@') => {}
                _ => return None,
            }
            if depth == 0 {
                let is_name = rest.get(1).is_some_and(u8::is_ascii_alphabetic) && offset > 1;
                return is_name.then_some(end + offset + 1);
            }
        }
        None
    }
}

/// Whether `byte`, followed by `next`, joins two parts of a word.
fn is_joiner(byte: u8, next: u8) -> bool {
    // `step#10` is a counter and its number.
    let joins = next.is_ascii_alphabetic() || next.is_ascii_digit() && byte != b'#' || next == b'_' || next >= 0x80;
    matches!(byte, b'/' | b'.' | b'-' | b'@' | b'#' | b'&') && joins
}

#[cfg(test)]
mod tests;
