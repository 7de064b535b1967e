//! Search for any of several words in a text, four bytes at once.
//!
//! A log may have a million lines between two relevant ones, so this search decides how fast it is read. An automaton takes one
//! step per byte, and each step waits for the one before it. Here four bytes are tested together: for each of the first four
//! positions of a word, a table gives the words that have a certain byte there, one bit per word. Where no bit is set in all four
//! tables, no word begins (R. Baeza-Yates and G. Gonnet, "A New Approach to Text Searching", 1992, applied to the first four
//! positions only). No position waits for another. Where a bit is left, the word is compared in full.

/// Number of leading positions of a word that have a table.
const WIDTH: usize = 4;
/// Number of positions of a text that are tested in one round, before a hit is searched for its exact position.
const AT_ONCE: usize = 8;

/// The words, and tables of their first bytes.
pub(crate) struct WordSearch {
    words: Vec<Vec<Sign>>,
    /// The words that begin with a word boundary, without that boundary: they may also stand at the very start of a text.
    behind: Vec<Vec<Sign>>,
    tables: [[u64; 256]; WIDTH],
}

/// One position of a word.
#[derive(Clone, Copy, Debug)]
enum Sign {
    Byte(u8),
    Digit,
    /// Any byte.
    Any,
    /// A word boundary: a byte that is no part of a word, or the end of the text.
    End,
}

impl Sign {
    fn of(byte: u8) -> Self {
        match byte {
            b'|' => Self::End,
            b'#' => Self::Digit,
            b'?' => Self::Any,
            other => Self::Byte(other),
        }
    }

    fn is_end(self) -> bool {
        matches!(self, Self::End)
    }

    fn is(self, byte: u8) -> bool {
        match self {
            Self::Byte(letter) => letter == byte.to_ascii_lowercase(),
            Self::Digit => byte.is_ascii_digit(),
            Self::Any => true,
            Self::End => !byte.is_ascii_alphanumeric() && byte != b'_',
        }
    }
}

impl WordSearch {
    /// A search for `words`. A letter stands for both cases, `|` for an end of a word, `#` for a digit, `?` for any
    /// byte.
    pub(crate) fn of(words: &[&str]) -> Self {
        let words: Vec<Vec<Sign>> = words.iter().map(|word| word.bytes().map(Sign::of).collect()).collect();
        let mut tables = [[0; 256]; WIDTH];
        for (place, table) in tables.iter_mut().enumerate() {
            for (byte, bits) in (0..=u8::MAX).zip(table) {
                let has = |word: &Vec<Sign>| word.get(place).is_none_or(|sign| sign.is(byte));
                let found = words.iter().enumerate().filter(|(_, word)| has(word));
                *bits = found.fold(0, |bits, (nth, _)| bits | bit(nth));
            }
        }
        let behind = words.iter().filter_map(|word| word.split_first().filter(|(first, _)| first.is_end()));
        let behind = behind.map(|(_, rest)| rest.to_vec()).collect();
        Self { behind, words, tables }
    }

    /// The first place of a text where one of the words begins.
    pub(crate) fn first(&self, text: &[u8]) -> Option<usize> {
        if self.behind.iter().any(|rest| is_at(rest, text)) {
            return Some(0);
        }
        let mut place = 0;
        while let Some(bytes) = text.get(place..).and_then(|rest| rest.first_chunk::<{ AT_ONCE + WIDTH - 1 }>()) {
            let mut found = [0; AT_ONCE];
            for (bits, window) in found.iter_mut().zip(bytes.windows(WIDTH)) {
                *bits = self.may_begin(window);
            }
            if found.iter().fold(0, |all, bits| all | bits) != 0 {
                let begins =
                    |(nth, bits): (usize, &u64)| (*bits != 0 && self.has(*bits, text, place + nth)).then_some(nth);
                if let Some(nth) = found.iter().enumerate().find_map(begins) {
                    return Some(place + nth);
                }
            }
            place += AT_ONCE;
        }
        self.first_at_end(text, place)
    }

    /// The first place where a word begins among the last ones, of which fewer are left than are tested at once.
    fn first_at_end(&self, text: &[u8], from: usize) -> Option<usize> {
        let rest = text.get(from..).unwrap_or_default();
        // A line break is a word's end, as the end of the text is.
        let mut padded = [b'\n'; AT_ONCE + 2 * WIDTH];
        padded.get_mut(..rest.len())?.copy_from_slice(rest);
        let windows = padded.windows(WIDTH).take(rest.len()).enumerate();
        windows
            .map(|(nth, window)| (self.may_begin(window), from + nth))
            .find_map(|(bits, place)| (bits != 0 && self.has(bits, text, place)).then_some(place))
    }

    /// The words, as bits, that may begin with the bytes of `window`.
    #[inline]
    fn may_begin(&self, window: &[u8]) -> u64 {
        let places = self.tables.iter().zip(window);
        let bits = places.map(|(table, byte)| table.get(usize::from(*byte)).copied().unwrap_or_default());
        bits.fold(u64::MAX, |all, bits| all & bits)
    }

    /// Whether one of the words in `bits` stands at `place` in a text.
    fn has(&self, bits: u64, text: &[u8], place: usize) -> bool {
        let rest = text.get(place..).unwrap_or_default();
        self.words.iter().enumerate().any(|(nth, word)| bits & bit(nth) != 0 && is_at(word, rest))
    }
}

/// The bit of the `nth` word. There are more words than bits, so some share one.
fn bit(nth: usize) -> u64 {
    1 << (nth % 64)
}

/// Whether a word stands at the beginning of a text.
fn is_at(word: &[Sign], text: &[u8]) -> bool {
    word.iter().enumerate().all(|(place, sign)| text.get(place).map_or(sign.is_end(), |byte| sign.is(*byte)))
}
