//! One event of a trace.

use super::number::{nanoseconds, whole};
use super::scanner::{entries, unquoted};

/// Bytes of a name that are kept; names of templates have some thousand.
const MOST_NAME: usize = 1024;

/// The parts of an event that readers ask for, as they stand in the file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Event<'a> {
    /// Phase: `X` for a span of time, `C` for a counter.
    pub(super) phase: &'a [u8],
    /// Category.
    pub(super) category: &'a [u8],
    name: &'a [u8],
    start: &'a [u8],
    duration: &'a [u8],
    arguments: &'a [u8],
}

impl<'a> Event<'a> {
    /// Takes an event apart; `None` for what is no object.
    pub(super) fn parse(object: &'a [u8]) -> Option<Self> {
        let mut event = Self::default();
        entries(object, |key, value| match key {
            b"ph" => event.phase = unquoted(value),
            b"cat" => event.category = unquoted(value),
            b"name" => event.name = value,
            b"ts" => event.start = unquoted(value),
            b"dur" => event.duration = unquoted(value),
            b"args" => event.arguments = value,
            _ => {}
        })?;
        Some(event)
    }

    /// Whether its category is one of these, in the spelling of any release.
    pub(super) fn is_of(&self, categories: &[&str]) -> bool {
        categories.iter().any(|category| self.category.eq_ignore_ascii_case(category.as_bytes()))
    }

    /// The name as it stands between its quotes.
    pub(super) fn raw_name(&self) -> &'a [u8] {
        unquoted(self.name)
    }

    /// The name as text.
    pub(super) fn name(&self) -> String {
        let name = serde_json::from_slice::<String>(self.name);
        let name = name.unwrap_or_else(|_| String::from_utf8_lossy(self.raw_name()).into_owned());
        name.chars().take(MOST_NAME).collect()
    }

    /// The start in nanoseconds.
    pub(super) fn start(&self) -> Option<i64> {
        nanoseconds(self.start)
    }

    /// The duration in nanoseconds.
    pub(super) fn duration(&self) -> Option<i64> {
        nanoseconds(self.duration)
    }

    /// Start and end in nanoseconds.
    pub(super) fn span(&self) -> Option<(i64, i64)> {
        let start = self.start()?;
        Some((start, start.saturating_add(self.duration()?.max(0))))
    }

    /// Hands the arguments on.
    pub(super) fn arguments(&self, take: impl FnMut(&'a [u8], &'a [u8])) {
        entries(self.arguments, take);
    }

    /// A whole number among its arguments.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        let mut found = None;
        self.arguments(|key, value| {
            if key == name.as_bytes() {
                found = whole(unquoted(value));
            }
        });
        found
    }
}

/// The number of a step in the name of its span: `ProfilerStep#12`.
pub(super) fn step_number(name: &[u8]) -> Option<u64> {
    whole(name.strip_prefix(b"ProfilerStep#")?)
}
