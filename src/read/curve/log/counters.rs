//! Counters of a line, in any form: `step: 3`, `Epoch [1][3/30]`, `3epoch`, `200/ 4000 batches`, `3%|..| 2/60 [`.

use super::counter_words::{CounterKind, counter_of_word};
use super::tokens::{ARROW, Gap, Kind, RULER, Token};
use crate::read::curve::lines;

/// Words before a counter's word that give it another meaning: `total steps`, `save every step`.
const OTHERS: [&str; 20] = [
    "skipped",
    "nan",
    "total",
    "max",
    "num",
    "per",
    "every",
    "of",
    "warmup",
    "last",
    "best",
    "save",
    "log",
    "elapsed",
    "each",
    "for",
    "from",
    "all",
    "remaining",
    "time",
];

/// A leading number: a whole number before everything else in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lead {
    pub(super) count: u64,
    pub(super) total: Option<u64>,
    /// Form in which it is written: the sign before it, and the one after it.
    pub(super) dress: (u8, u8),
}

/// Counters of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Counters {
    /// The best step counter: its rank and its value. `step_of` is its total.
    pub(super) step: Option<(u8, u64)>,
    pub(super) step_of: Option<u64>,
    /// Number of the batch within the epoch. `batch_of` is its total.
    pub(super) batch: Option<u64>,
    pub(super) batch_of: Option<u64>,
    pub(super) epoch: Option<u64>,
    /// An epoch that is not written as a whole number.
    pub(super) share: Option<f64>,
    pub(super) rank: Option<u64>,
    /// Kind of the progress bar that the line draws.
    pub(super) bar: Option<Bar>,
    pub(super) lead: Option<Lead>,
    /// Whether the leading number is all that the line holds.
    pub(super) is_alone: bool,
    /// Hash of the form in which the counters are written.
    pub(super) dress: u64,
}

/// A progress bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bar {
    /// `3%|..| 2/60 [`, as `tqdm` draws it: each drawing has the values of its own step.
    Percent,
    /// `2/60 [====]`, as Keras draws it: the last drawing has the values of the epoch.
    Keras,
}

impl Counters {
    /// Whether there is a counter other than the leading number.
    pub(super) fn has_counter(&self) -> bool {
        self.step.is_some() || self.batch.is_some() || self.epoch.is_some()
    }
}

/// The tokens of a line that hold its counters. Which of them there are follows from how the line is written, whatever its figures are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CounterTokens {
    /// The best step counter: its rank and its token.
    step: Option<(u8, usize)>,
    step_of: Option<usize>,
    batch: Option<usize>,
    batch_of: Option<usize>,
    epoch: Option<usize>,
    share: Option<usize>,
    rank: Option<usize>,
    bar: Option<Bar>,
    lead: Option<LeadTokens>,
    dress: u64,
}

/// The tokens of a leading number and of its total, and the form in which it is written.
#[derive(Clone, Copy, Debug)]
struct LeadTokens {
    count: usize,
    total: Option<usize>,
    dress: (u8, u8),
}

impl CounterTokens {
    fn has_counter(&self) -> bool {
        self.step.is_some() || self.batch.is_some() || self.epoch.is_some()
    }

    /// The token of the leading number.
    pub(super) fn lead(&self) -> Option<usize> {
        self.lead.map(|lead| lead.count)
    }

    /// The counters of a line that is written in this way.
    pub(super) fn read(&self, line: &str, tokens: &[Token]) -> Counters {
        let token = |at: usize| tokens.get(at).copied();
        let count = |at: Option<usize>| {
            let token = token(at?)?;
            token.count(line).or_else(|| lines::whole_number(lines::parse_number(token.text(line))?))
        };
        Counters {
            step: self.step.and_then(|(rank, at)| Some((rank, count(Some(at))?))),
            step_of: count(self.step_of),
            batch: count(self.batch),
            batch_of: count(self.batch_of),
            epoch: count(self.epoch),
            share: self.share.and_then(token).and_then(|token| lines::parse_number(token.text(line))),
            rank: self.rank.and_then(token).and_then(|token| rank_in(token.text(line)).or_else(|| token.count(line))),
            bar: self.bar,
            lead: self.lead.and_then(|lead| {
                let (at, total) = (count(Some(lead.count))?, count(lead.total));
                Some(Lead { count: at, total, dress: lead.dress })
            }),
            is_alone: false,
            dress: self.dress,
        }
    }
}

/// The rank in a word such as `rank0`.
fn rank_in(word: &str) -> Option<u64> {
    word.strip_prefix("rank").or_else(|| word.strip_prefix("default"))?.parse().ok()
}

/// Search for the counters of a line.
pub(super) struct Finder<'l> {
    line: &'l str,
    tokens: &'l [Token],
    /// Whether each token belongs to a counter, or to the name of the process that wrote the line.
    taken: &'l mut Vec<bool>,
    found: CounterTokens,
}

impl<'l> Finder<'l> {
    /// The tokens of a line's counters; they are marked in `taken`.
    pub(super) fn find(line: &'l str, tokens: &'l [Token], taken: &'l mut Vec<bool>) -> CounterTokens {
        taken.clear();
        taken.resize(tokens.len(), false);
        let mut finder = Self { line, tokens, taken, found: CounterTokens::default() };
        let mut at = 0;
        while at < tokens.len() {
            at = finder.at(at).unwrap_or(at).max(at) + 1;
        }
        finder.found.lead = finder.lead();
        finder.found
    }

    fn token(&self, at: usize) -> Option<Token> {
        self.tokens.get(at).copied()
    }

    fn is_sign(&self, at: usize, signs: &[u8]) -> bool {
        matches!(self.token(at).map(|token| token.kind), Some(Kind::Sign(sign)) if signs.contains(&sign))
    }

    /// The whole number at token `at`; `None` where it has a unit or belongs to another counter.
    fn count(&self, at: usize) -> Option<u64> {
        let token = self.token(at)?;
        (token.unit(self.line).is_empty() && self.taken.get(at) == Some(&false))
            .then(|| token.count(self.line))
            .flatten()
    }

    fn word(&self, at: usize) -> Option<&'l str> {
        let token = self.token(at)?;
        matches!(token.kind, Kind::Word | Kind::Spelled(_)).then(|| token.text(self.line))
    }

    fn take(&mut self, range: std::ops::RangeInclusive<usize>) {
        self.taken.get_mut(range).into_iter().flatten().for_each(|taken| *taken = true);
    }

    /// Notes the counter in token `at`, and its total in token `of`.
    fn note(&mut self, counts: CounterKind, at: usize, of: Option<usize>) {
        self.found.dress = self.found.dress.wrapping_mul(31).wrapping_add(match counts {
            CounterKind::Step(rank) => u64::from(rank) + 10,
            CounterKind::Batch => 2,
            CounterKind::Epoch => 3,
        });
        match counts {
            CounterKind::Step(rank) if self.found.step.is_none_or(|(known, _)| rank < known) => {
                (self.found.step, self.found.step_of) = (Some((rank, at)), of);
            }
            CounterKind::Batch if self.found.batch.is_none() => {
                (self.found.batch, self.found.batch_of) = (Some(at), of)
            }
            CounterKind::Epoch if self.found.epoch.is_none() => self.found.epoch = Some(at),
            _ => {}
        }
    }

    /// Takes a counter that begins at token `at`. Returns the index of its last token.
    fn at(&mut self, at: usize) -> Option<usize> {
        match self.token(at)?.kind {
            Kind::Word => self
                .named(at)
                .or_else(|| self.rank(at))
                .or_else(|| self.part(at))
                .or_else(|| self.thread(at))
                .or_else(|| self.process(at)),
            Kind::Number(_) => self.glued(at).or_else(|| self.ratio(at)),
            Kind::Sign(b'[') => self.pair_of_ratios(at),
            _ => None,
        }
    }

    /// `step: 10`, `Epoch [1/40]`, `Iter(train) [ 3/60]`, `# Epoch: 3`.
    fn named(&mut self, at: usize) -> Option<usize> {
        let word = self.word(at)?;
        let counts = counter_of_word(word)?;
        let joins = self.token(at)?.gap <= Gap::Blank;
        let before = at.checked_sub(1).and_then(|before| self.word(before)).filter(|_| joins);
        if before.is_some_and(|before| OTHERS.iter().any(|other| other.eq_ignore_ascii_case(before))) {
            return None;
        }
        let mut next = at + 1;
        // The data it counts: `Iter(train)`.
        if self.is_sign(next, b"(") && self.word(next + 1).is_some() && self.is_sign(next + 2, b")") {
            next += 3;
        }
        let is_row = at == 1 && self.is_sign(0, b"|");
        let signs: &[u8] = if is_row { b":=#[(|" } else { b":=#[(" };
        let first = next;
        while next < first + 3 && self.is_sign(next, signs) {
            next += 1;
        }
        // Words with many meanings count only where a colon follows: `rollout 3: {`.
        if counts == CounterKind::Step(4) && !self.is_sign(next + 1, b":") {
            return None;
        }
        if self.count(next).is_none() {
            let share = self.token(next).filter(|token| token.unit(self.line).is_empty())?;
            (counts == CounterKind::Epoch && next > at && share.number().is_some()).then_some(())?;
            self.found.share = Some(next);
            self.take(at..=next);
            return Some(next);
        }
        let (end, of) = self.whole(next);
        // A number with decimals after the slash is a value and no total: `step: 3/0.5`.
        self.take(at..=end);
        self.note(counts, next, of);
        if counts == CounterKind::Epoch { self.finer(end).or(Some(end)) } else { Some(end) }
    }

    /// Finds the total of a count and skips its share in percent. Returns the indices of the last token and of the total.
    fn whole(&self, at: usize) -> (usize, Option<usize>) {
        let is_of = self.is_sign(at + 1, b"/") || self.word(at + 1) == Some("of");
        let is_count = |at: usize| self.token(at).is_some_and(|token| token.count(self.line).is_some());
        let of = Some(at + 2).filter(|of| is_of && is_count(*of));
        let mut end = of.unwrap_or(at);
        if self.is_sign(end + 1, b"(") {
            let percent =
                self.token(end + 2).is_some_and(|token| token.unit(self.line) == "%") || self.is_sign(end + 3, b"%");
            let close = (end + 3..=end + 4).find(|at| self.is_sign(*at, b")"));
            if let (true, Some(close)) = (percent, close) {
                end = close;
            }
        }
        (end, of)
    }

    /// The batch `n/m` right after an epoch.
    fn finer(&mut self, end: usize) -> Option<usize> {
        let mut next = end + 1;
        while next < end + 4 && self.is_sign(next, b"])[(:,") {
            next += 1;
        }
        self.count(next)?;
        let (last, of) = self.whole(next);
        of?;
        self.take(next..=last);
        self.note(CounterKind::Batch, next, of);
        Some(last)
    }

    /// `[0/300][10/1251]`: an epoch and its batch.
    fn pair_of_ratios(&mut self, at: usize) -> Option<usize> {
        self.count(at + 1)?;
        let (end, of) = self.whole(at + 1);
        of?;
        (self.is_sign(end + 1, b"]") && self.is_sign(end + 2, b"[")).then_some(())?;
        self.count(end + 3)?;
        let (last, of) = self.whole(end + 3);
        of?;
        Some(self.epoch_and_batch(at + 1..=last, (end + 3, of)))
    }

    /// `Train: 0 [50/300 (17%)]`.
    fn part(&mut self, at: usize) -> Option<usize> {
        let word = self.word(at)?;
        (super::names::data_of_word(word).is_some() && self.is_sign(at + 1, b":") && self.is_sign(at + 3, b"["))
            .then_some(())?;
        self.count(at + 2).and_then(|_| self.count(at + 4))?;
        let (last, of) = self.whole(at + 4);
        of?;
        Some(self.epoch_and_batch(at + 2..=last, (at + 4, of)))
    }

    /// Takes the tokens of an epoch, the first of them, and of its batch. Returns the index of the last one.
    fn epoch_and_batch(
        &mut self,
        tokens: std::ops::RangeInclusive<usize>,
        (batch, of): (usize, Option<usize>),
    ) -> usize {
        let (epoch, last) = tokens.clone().into_inner();
        self.take(tokens);
        self.note(CounterKind::Epoch, epoch, None);
        self.note(CounterKind::Batch, batch, of);
        last
    }

    /// `rank: 0`, `[rank0]`, `Rank 0`.
    fn rank(&mut self, at: usize) -> Option<usize> {
        let word = self.word(at)?;
        if word.eq_ignore_ascii_case("rank") {
            let next = at + 1 + usize::from(self.is_sign(at + 1, b":="));
            self.count(next)?;
            self.found.rank = self.found.rank.or(Some(next));
            self.take(at..=next);
            return Some(next);
        }
        rank_in(word).filter(|_| self.is_sign(at + 1, b"]"))?;
        self.found.rank = self.found.rank.or(Some(at));
        self.take(at..=at);
        Some(at)
    }

    /// The thread at the beginning of lines by absl and glog: `I0501 10:11:00.1 140234567 train.py:42]`.
    fn thread(&mut self, at: usize) -> Option<usize> {
        let word = self.word(at).filter(|_| at == 0)?;
        let is_level = word.len() == 5 && word.starts_with(['I', 'W', 'E', 'F', 'D']);
        let is_date = word.bytes().skip(1).all(|byte| byte.is_ascii_digit());
        let is_mark = |at: usize| self.token(at).is_some_and(|token| token.kind == Kind::Mark);
        (is_level && is_date && is_mark(1) && is_mark(3)).then_some(())?;
        self.count(2)?;
        self.take(0..=3);
        Some(3)
    }

    /// The process or the place in the source that wrote the line: `python[12345]:`, `[olmo.train:816,`.
    fn process(&mut self, at: usize) -> Option<usize> {
        let is_front = !self.taken.iter().take(at).any(|taken| *taken);
        let joins = |at: usize| self.token(at).is_some_and(|token| token.gap == Gap::None);
        (is_front && joins(at + 1) && joins(at + 2)).then_some(())?;
        let is_process = self.is_sign(at + 1, b"[") && self.is_sign(at + 3, b"]") && self.is_sign(at + 4, b":");
        let is_place = self.is_sign(at + 1, b":") && self.is_sign(at + 3, b",]") && self.word(at)?.contains('.');
        self.count(at + 2).filter(|_| is_process || is_place)?;
        self.take(at..=at + 2 + usize::from(is_process));
        Some(at + 2)
    }

    /// `3epoch`, `91-180batch`, `1.0it/40.0it`.
    fn glued(&mut self, at: usize) -> Option<usize> {
        let token = self.token(at)?;
        let counts = counter_of_word(token.unit(self.line))?;
        token.number().and_then(lines::whole_number)?;
        let other = self.token(at + 2).filter(|other| other.unit(self.line) == token.unit(self.line));
        let is_of = self.is_sign(at + 1, b"/") && other.and_then(Token::number).is_some();
        let of = is_of.then_some(at + 2);
        let end = of.unwrap_or(at);
        let is_range = at >= 2 && self.is_sign(at - 1, b"-") && self.count(at - 2).is_some();
        self.take(if is_range { at - 2 } else { at }..=end);
        self.note(counts, at, of);
        Some(end)
    }

    /// A counter of a progress bar, or one that stands before its word: `2/60 [`, `200/ 4000 batches`.
    fn ratio(&mut self, at: usize) -> Option<usize> {
        self.count(at)?;
        let (end, of) = self.whole(at);
        of?;
        if let Some(counts) = self.word(end + 1).and_then(counter_of_word) {
            self.take(at..=end + 1);
            self.note(counts, at, of);
            return Some(end + 1);
        }
        // Keras 3 draws its bar in heavy lines.
        let is_heavy = self.is_sign(end + 1, b"?") && self.is_sign(end + 2, b"?");
        if !self.is_sign(end + 1, b"[") && !is_heavy {
            return None;
        }
        let before = self.tokens.get(..at).unwrap_or_default();
        let percent =
            before.iter().any(|token| token.unit(self.line) == "%") && before.iter().any(|token| token.is_sign(b'|'));
        let is_keras = is_heavy || self.is_sign(end + 2, &[RULER, ARROW, b'=', b'.', b'>']);
        let bar = if percent {
            Bar::Percent
        } else if is_keras {
            Bar::Keras
        } else {
            return None;
        };
        self.found.bar = Some(bar);
        self.take(at..=end);
        if percent {
            // The share in percent before the bar.
            let share = before.iter().position(|token| token.unit(self.line) == "%");
            share.into_iter().for_each(|share| self.take(share..=share));
        }
        self.note(CounterKind::Batch, at, of);
        Some(end)
    }

    /// The leading number of the line.
    fn lead(&self) -> Option<LeadTokens> {
        let first = self.lead_from(0)?;
        // Of two leading numbers, a first one in brackets names the process that wrote the line: `[0] 10/900`.
        let is_writer = matches!(first.dress.0, b'[' | b'(') && first.total.is_none();
        let second = || self.lead_from(first.count + 1).filter(|second| second.count <= first.count + 3);
        Some(if is_writer { second().unwrap_or(first) } else { first })
    }

    /// The first free number from token `from` on, where nothing that gives it another meaning stands before it.
    fn lead_from(&self, from: usize) -> Option<LeadTokens> {
        let token = self
            .tokens
            .iter()
            .enumerate()
            .skip(from)
            .find(|(at, token)| matches!(token.kind, Kind::Number(_)) && self.taken.get(*at) == Some(&false));
        let (token, _) = token?;
        // After a counter, a number has another meaning.
        if self.found.has_counter() && self.taken.iter().take(token).any(|taken| *taken) {
            return None;
        }
        self.count(token)?;
        let before = token.checked_sub(1).and_then(|before| self.token(before));
        let sign = match before.map(|before| before.kind) {
            None | Some(Kind::Mark) => b' ',
            Some(Kind::Sign(sign)) => sign,
            _ => return None,
        };
        // After a name and a colon it is a value, unless the name is that of a machine: `node17: 10 |`.
        let is_machine = |word: &str| word.ends_with(|sign: char| sign.is_ascii_digit()) && token == 2;
        let named = token.checked_sub(2).and_then(|before| self.word(before));
        if matches!(sign, b':' | b'=') && named.is_some_and(|word| !is_machine(word)) {
            return None;
        }
        let (end, of) = self.whole(token);
        let behind = match self.token(end + 1).map(|behind| behind.kind) {
            Some(Kind::Sign(b'/')) => return None,
            Some(Kind::Sign(sign)) => sign,
            Some(Kind::Word) => b'w',
            Some(Kind::Number(_) | Kind::Spelled(_)) => b'#',
            _ => b' ',
        };
        Some(LeadTokens { count: token, total: of, dress: (sign, behind) })
    }
}

#[cfg(test)]
mod tests;
