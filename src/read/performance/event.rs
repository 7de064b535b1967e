//! One event of a trace.

use super::number::{nanoseconds, parse_whole};
use super::scanner::{for_each_entry, unquoted};

/// Longest name that is kept, in characters; names of templates can have some thousand.
const MOST_NAME: usize = 1024;

/// Parts of an event that readers need, as bytes of the file.
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
    /// Splits an event into its parts; `None` if it is not an object.
    pub(super) fn parse(object: &'a [u8]) -> Option<Self> {
        let mut event = Self::default();
        for_each_entry(object, |key, value| match key {
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

    /// Whether the event has one of these categories, in the spelling of any release.
    pub(super) fn has_category(&self, categories: &[&str]) -> bool {
        categories.iter().any(|category| self.category.eq_ignore_ascii_case(category.as_bytes()))
    }

    /// Bytes of the name between its quotes.
    pub(super) fn raw_name(&self) -> &'a [u8] {
        unquoted(self.name)
    }

    /// Name as text.
    pub(super) fn name(&self) -> String {
        let name = serde_json::from_slice::<String>(self.name);
        let name = name.unwrap_or_else(|_| String::from_utf8_lossy(self.raw_name()).into_owned());
        name.chars().take(MOST_NAME).collect()
    }

    /// Start in nanoseconds.
    pub(super) fn start(&self) -> Option<i64> {
        nanoseconds(self.start)
    }

    /// Duration in nanoseconds.
    pub(super) fn duration(&self) -> Option<i64> {
        nanoseconds(self.duration)
    }

    /// Start and end in nanoseconds.
    pub(super) fn span(&self) -> Option<(i64, i64)> {
        let start = self.start()?;
        Some((start, start.saturating_add(self.duration()?.max(0))))
    }

    /// Calls `take` with each argument's key and value.
    pub(super) fn arguments(&self, take: impl FnMut(&'a [u8], &'a [u8])) {
        for_each_entry(self.arguments, take);
    }

    /// Value of an argument that is a whole number.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        let mut found = None;
        self.arguments(|key, value| {
            if key == name.as_bytes() {
                found = parse_whole(unquoted(value));
            }
        });
        found
    }
}

/// Number of a step, from the name of its span: `ProfilerStep#12`.
pub(super) fn step_number(name: &[u8]) -> Option<u64> {
    parse_whole(name.strip_prefix(b"ProfilerStep#")?)
}
