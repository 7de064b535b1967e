//! Names and values of a line.

use std::ops::Range;

use super::counters::{CounterTokens, Finder};
use super::names::{Data, Name, Names, Prefix};
use super::tokens::{ARROW, Gap, Kind, Token, Tokens, text};
use crate::kind::Role;

/// A value with its name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pair {
    /// Place of its name in the names of the file.
    pub(super) name: usize,
    pub(super) value: f64,
    /// Whether a sign such as `:` or `=` joins name and value, rather than blanks alone.
    pub(super) is_joined: bool,
    /// Whether it is a zero with two to six decimals, which may be a rounded small number.
    pub(super) is_rounded: bool,
    /// Number of decimals that it is printed with; `None` where it has an exponent.
    pub(super) decimals: Option<u8>,
}

impl Pair {
    /// A value that is joined to its name and not rounded.
    pub(super) fn new(name: usize, value: f64) -> Self {
        Self { name, value, is_joined: true, is_rounded: false, decimals: None }
    }

    /// The same name with a value that is printed in the same way.
    pub(super) fn with_value(self, value: f64) -> Self {
        let is_rounded = value == 0.0 && self.decimals.is_some_and(|decimals| (2..7).contains(&decimals));
        Self { value, is_rounded, ..self }
    }
}

/// Content of a line, by its tokens.
#[derive(Debug, Default)]
pub(super) struct ParsedLine {
    pub(super) counters: CounterTokens,
    pub(super) pairs: Vec<Pair>,
    /// The token of each pair's value; `None` where it may be a ratio of two.
    pub(super) value_tokens: Vec<Option<usize>>,
    /// Tokens of the numbers that have no name.
    pub(super) unnamed: Vec<usize>,
    /// Token ranges of words without a value.
    pub(super) valueless_words: Vec<Range<usize>>,
}

impl ParsedLine {
    /// Tokens of the numbers without a name that may belong to `names`, which have no value; none where there is no such name.
    pub(super) fn unnamed_beside(&self, names: &[usize]) -> &[usize] {
        if names.is_empty() { &[] } else { &self.unnamed }
    }
}

/// Names that a line holds.
#[derive(Debug, Default)]
struct Seen {
    line: u64,
    /// Number of the last line that held each name.
    last: Vec<u64>,
}

impl Seen {
    /// Notes a name and returns whether this is its first time in the line.
    fn insert(&mut self, name: usize) -> bool {
        if name >= self.last.len() {
            self.last.resize(name + 1, 0);
        }
        self.last.get_mut(name).is_some_and(|last| std::mem::replace(last, self.line) != self.line)
    }
}

/// Reader of single lines; its memory is reused from line to line.
#[derive(Debug, Default)]
pub(super) struct Reader {
    pub(super) tokens: Tokens,
    taken: Vec<bool>,
    /// Names that have a value in the line.
    seen: Seen,
    pub(super) found: ParsedLine,
}

impl Reader {
    /// Reads a line in plain text.
    pub(super) fn read(&mut self, line: &str, names: &mut Names) -> &ParsedLine {
        self.tokens.scan(line);
        self.found.counters = Finder::find(line, &self.tokens.list, &mut self.taken);
        self.found.pairs.clear();
        self.found.value_tokens.clear();
        self.found.unnamed.clear();
        self.found.valueless_words.clear();
        self.seen.line += 1;
        let lead = self.found.counters.lead();
        let mut walk = Walk {
            line,
            tokens: &self.tokens.list,
            taken: &self.taken,
            names,
            seen: &mut self.seen,
            found: &mut self.found,
            run: None,
            is_parted: false,
            is_joined: false,
            group: None,
            label: None,
            last: None,
            before: None,
        };
        walk.all(lead);
        &self.found
    }

    /// The places of key metrics in the last line that have no value.
    pub(super) fn names_without_value(&self, line: &str, names: &mut Names) -> Vec<usize> {
        let text = self.found.valueless_words.iter().filter_map(|run| self.tokens.text(line, run));
        let told: Vec<usize> = text.map(|raw| names.place(raw)).collect();
        told.into_iter().filter(|place| names.get(*place).is_some_and(Name::is_key_metric)).collect()
    }
}

/// The walk over the tokens of a line.
struct Walk<'l> {
    line: &'l str,
    tokens: &'l [Token],
    taken: &'l [bool],
    names: &'l mut Names,
    seen: &'l mut Seen,
    found: &'l mut ParsedLine,
    /// Tokens of the words that may name the next number.
    run: Option<Range<usize>>,
    /// Whether a sign or the word `is` stands after these words.
    is_parted: bool,
    /// Whether that sign joins a name to its value.
    is_joined: bool,
    /// Name before an open bracket: `loss[loss=`.
    group: Option<usize>,
    label: Option<Data>,
    /// Name of the previous value.
    last: Option<usize>,
    /// A number without a name, which the words after it may name.
    before: Option<usize>,
}

impl<'l> Walk<'l> {
    fn all(&mut self, lead: Option<usize>) {
        let mut at = 0;
        while let Some(token) = self.tokens.get(at).copied() {
            if self.taken.get(at) == Some(&true) {
                // `Train Epoch: 1`, `Epoch(val)`, `Iter(val)`: the words of a counter may name the data of the line.
                self.label_at_end();
                self.label_of_counter(token);
                self.end_run();
                at += 1;
                continue;
            }
            at = match token.kind {
                _ if lead == Some(at) => {
                    self.end_run();
                    self.before = None;
                    self.behind_count(at)
                }
                Kind::Word => self.word(at, token),
                Kind::Number(value) => self.number(at, token, value),
                Kind::Spelled(value) if self.is_value(at) => self.number(at, token, value),
                Kind::Spelled(_) => self.word(at, token),
                Kind::Sign(sign) => self.sign(at, sign),
                Kind::Mark => {
                    self.end_run();
                    at + 1
                }
            };
        }
        self.end_run();
        if lead.is_some() && self.found.pairs.is_empty() {
            self.second_column();
        }
    }

    /// Names the second of two columns of numbers, the first of which rises: a step and its loss.
    fn second_column(&mut self) {
        if let [_, value] = self.tokens
            && let Some(value) = value.value()
        {
            let pair = Pair::new(self.names.place("loss"), value);
            self.add(pair, Some(1));
        }
    }

    fn token(&self, at: usize) -> Option<Token> {
        self.tokens.get(at).copied()
    }

    fn is_sign(&self, at: usize, sign: u8) -> bool {
        self.token(at).is_some_and(|token| token.is_sign(sign))
    }

    fn label_of_counter(&mut self, token: Token) {
        if token.kind == Kind::Word
            && let Some(data) = super::names::data_of_word(token.text(self.line))
        {
            self.label = Some(data);
        }
    }

    /// Index of the first token after the count at `at` and its total, as in `3/60`.
    fn behind_count(&self, at: usize) -> usize {
        let is_whole = self.is_sign(at + 1, b'/') && self.token(at + 2).is_some_and(|token| token.number().is_some());
        at + if is_whole { 3 } else { 1 }
    }

    /// Whether `nan` or `inf` is a value here, not a word of a name (`number of nan iterations`).
    fn is_value(&mut self, at: usize) -> bool {
        if self.is_parted || self.run.is_none() {
            return true;
        }
        let Some(run) = self.run.clone() else { return true };
        let Some(raw) = self.raw(&run) else { return true };
        let known = self.names.place(raw);
        let is_known = self.names.get(known).is_some_and(|name| name.is_key_metric() || name.role.is_performance());
        is_known
            && !self
                .token(at + 1)
                .is_some_and(|next| next.kind == Kind::Word && next.text(self.line).starts_with("iteration"))
    }

    /// Text of a run of words as it stands in the line.
    fn raw(&self, run: &Range<usize>) -> Option<&'l str> {
        text(self.line, self.tokens, run)
    }

    fn word(&mut self, at: usize, token: Token) -> usize {
        if matches!(token.text(self.line), "is" | "are" | "was")
            && self.run.is_some()
            && !self.is_parted
            && token.gap != Gap::None
        {
            (self.is_parted, self.is_joined) = (true, true);
            return at + 1;
        }
        let joins = !self.is_parted && matches!(token.gap, Gap::Blank | Gap::None);
        match &mut self.run {
            Some(run) if joins && run.end == at => run.end = at + 1,
            _ => {
                let before = self.before.filter(|before| before + 1 == at && token.gap != Gap::None);
                self.end_run();
                self.before = before;
                self.run = Some(at..at + 1);
            }
        }
        at + 1
    }

    fn sign(&mut self, at: usize, sign: u8) -> usize {
        let joins = self.is_parted || self.run.as_ref().is_some_and(|run| run.end == at);
        let is_row = self.is_sign(0, b'|');
        match sign {
            b':' | b'=' | ARROW if joins && self.leads_to_number(at + 1) => {
                (self.is_parted, self.is_joined) = (true, true);
                self.before = None;
            }
            b'[' if joins && self.is_list(at) => self.is_parted = true,
            b'|' if joins && is_row && !self.is_parted && self.is_cell(at) => {
                (self.is_parted, self.is_joined) = (true, true);
                self.before = None;
            }
            b'(' if joins && self.run.is_some() && !self.is_parted && self.unit(at).is_some() => {
                self.is_parted = true;
                return self.unit(at).unwrap_or(at + 1);
            }
            b'[' if joins && !self.is_parted && self.token(at).is_some_and(|token| token.gap == Gap::None) => {
                let group = self.run.take().and_then(|run| self.raw(&run));
                self.group = group.map(|raw| self.names.place(raw)).filter(|_| self.leads_to_pair(at + 1));
                self.end_run();
            }
            b']' => {
                self.label_at_end();
                self.group = None;
                self.end_run();
            }
            _ => {
                self.label_at_end();
                self.end_run();
            }
        }
        at + 1
    }

    /// Whether only joining signs stand between token `at` and a number.
    fn leads_to_number(&self, mut at: usize) -> bool {
        while let Some(Kind::Sign(b':' | b'=' | ARROW | b'[' | b'T')) = self.token(at).map(|token| token.kind) {
            at += 1;
        }
        let is_free = self.taken.get(at) == Some(&false);
        is_free && self.token(at).is_some_and(|token| token.value().is_some())
    }

    /// Whether a bracket opens a list of one number: `[0.17]`.
    fn is_list(&self, at: usize) -> bool {
        self.token(at + 1).is_some_and(|token| token.value().is_some())
            && self.taken.get(at + 1) == Some(&false)
            && self.is_sign(at + 2, b']')
    }

    /// Whether the cell after the sign `|` at `at` is a number, in a row of two cells: `| loss | 2.1 |`.
    fn is_cell(&self, at: usize) -> bool {
        let is_number = self.token(at + 1).is_some_and(|token| token.value().is_some());
        let strokes = self.tokens.iter().filter(|token| token.is_sign(b'|')).count();
        is_number && strokes == 3 && self.token(at + 2).is_none_or(|token| token.is_sign(b'|'))
    }

    /// Index of the first token after a unit in brackets: `time (ms): 2.5`.
    fn unit(&self, at: usize) -> Option<usize> {
        const WORDS: usize = 4;
        let end = (at + 1..at + 2 + 2 * WORDS).find(|end| self.is_sign(*end, b')'))?;
        let inside = self.tokens.get(at + 1..end)?;
        let is_text = !inside.is_empty() && inside.iter().all(|token| !matches!(token.kind, Kind::Number(_)));
        (is_text && (self.leads_to_number(end + 1) && !self.is_sign(end + 1, b'['))).then_some(end + 1)
    }

    /// Whether a name and a joining sign stand at token `at`.
    fn leads_to_pair(&self, at: usize) -> bool {
        let is_word = self.token(at).is_some_and(|token| token.kind == Kind::Word);
        is_word && (self.is_sign(at + 1, b'=') || self.is_sign(at + 1, b':'))
    }

    /// Takes the data from words that end at a sign without a number: `Test set:`, `[valid]`. It applies to the values that follow.
    fn label_at_end(&mut self) {
        let Some(run) = self.run.clone().filter(|_| !self.is_parted) else { return };
        let words = self.tokens.get(run).unwrap_or_default();
        let told = words.iter().filter_map(|word| super::names::data_of_word(word.text(self.line))).next_back();
        self.label = told.or(self.label);
    }

    fn number(&mut self, at: usize, token: Token, value: f64) -> usize {
        let named = self.run.take().filter(|run| self.is_parted || run.end == at);
        let is_joined = std::mem::take(&mut self.is_joined);
        self.is_parted = false;
        let end = self.behind_value(at);
        let raw = named.as_ref().and_then(|run| self.raw(run));
        let is_name = raw.is_some_and(|raw| !self.is_filler(raw));
        let Some(raw) = raw.filter(|_| is_name) else {
            self.name_before();
            self.found.unnamed.push(at);
            // The words after it may name it.
            let is_decimal = !value.is_finite() || token.count(self.line).is_none();
            self.before = (is_decimal && token.unit(self.line).is_empty()).then_some(at);
            return at + 1;
        };
        let place = self.names.place(raw);
        let place = self.names.place_after(place, self.last);
        let place = match self.group {
            Some(group) => self.names.place_below(Prefix::Group(group), place),
            None => self.names.place_with_label(self.label, place),
        };
        let parts = self.ratio_parts(at, place);
        #[allow(clippy::cast_precision_loss, reason = "counts of answers lie far below 2^53")]
        let ratio = parts.filter(|(_, whole)| *whole > 0).map(|(part, whole)| part as f64 / whole as f64);
        let figure = token.text(self.line).as_bytes();
        let decimals = figure.iter().rev().position(|byte| *byte == b'.').unwrap_or_default();
        let decimals = u8::try_from(decimals).ok().filter(|_| !figure.iter().any(|byte| matches!(byte, b'e' | b'E')));
        let pair = Pair { name: place, value, is_joined, is_rounded: false, decimals }.with_value(value);
        self.add(Pair { value: ratio.unwrap_or(value), ..pair }, parts.is_none().then_some(at));
        self.before = None;
        if ratio.is_some() { self.behind_value(at + 2) } else { end }
    }

    /// Whether the words before a number are only fillers and name nothing: `over 25836 frames`.
    fn is_filler(&mut self, raw: &str) -> bool {
        let place = self.names.place(raw);
        self.names.get(place).is_some_and(|name| name.is_filler)
    }

    fn add(&mut self, pair: Pair, token: Option<usize>) {
        self.last = Some(pair.name);
        let first = self.names.get(pair.name).map_or(pair.name, |name| name.first);
        if self.seen.insert(first) {
            self.found.pairs.push(pair);
            self.found.value_tokens.push(token);
        }
    }

    /// Index of the first token after a value, its mean so far in brackets and its percent sign.
    fn behind_value(&self, at: usize) -> usize {
        let mut end = at + 1;
        while self.is_sign(end, b'%') || self.is_sign(end, b']') && self.is_sign(at.wrapping_sub(1), b'[') {
            end += 1;
        }
        let is_mean = self.is_sign(end, b'(') && self.token(end + 1).is_some_and(|token| token.value().is_some());
        if !is_mean {
            return end;
        }
        match (end + 2..=end + 3).find(|at| self.is_sign(*at, b')')) {
            Some(close) => close + 1,
            None => end,
        }
    }

    /// The two counts of a ratio after the name of a score: `8022/10000`.
    fn ratio_parts(&self, at: usize, name: usize) -> Option<(u64, u64)> {
        let is_score = self.names.get(name).is_some_and(|name| name.role == Role::EvalScore);
        let (part, whole) = (self.token(at)?, self.token(at + 2).filter(|_| is_score && self.is_sign(at + 1, b'/'))?);
        part.count(self.line).zip(whole.count(self.line))
    }

    /// Ends a run of words that no value follows.
    fn end_run(&mut self) {
        self.name_before();
        if let Some(run) = self.run.take() {
            self.found.valueless_words.push(run);
        }
        (self.is_parted, self.is_joined) = (false, false);
    }

    /// Names a number by the words after it: `9.2 avg loss,`.
    fn name_before(&mut self) {
        let Some(before) = self.before.take() else { return };
        let Some(run) = self.run.clone().filter(|run| run.start == before + 1) else { return };
        let Some(raw) = self.raw(&run) else { return };
        let place = self.names.place(raw);
        let roles =
            [Role::Loss, Role::EvalLoss, Role::AuxiliaryLoss, Role::EvalScore, Role::GradNorm, Role::LearningRate];
        let is_named = self.names.get(place).is_some_and(|name| roles.contains(&name.role) || name.canonical == "rate");
        let value = self.token(before).and_then(Token::value);
        if let (true, Some(value)) = (is_named, value) {
            // The number was counted as unnamed; it is the last of those.
            self.found.unnamed.pop_if(|token| *token == before);
            self.run = None;
            let place = if self.names.get(place).is_some_and(|name| name.canonical == "rate") {
                self.names.place("learning_rate")
            } else {
                self.names.place_with_label(self.label, place)
            };
            self.add(Pair::new(place, value), Some(before));
        }
    }
}

#[cfg(test)]
mod tests;
