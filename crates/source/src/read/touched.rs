//! Lines of a file that a change touches.

use imara_diff::{Algorithm, Diff, InternedInput};

use super::{encoding, lines};

/// Extent of a change in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Touched {
    /// The file is as it was.
    Nothing,
    /// These lines.
    Lines(ChangedLines),
    /// All of it, because nobody knows which lines.
    Whole,
}

impl Touched {
    /// Whether anything from line `first` to line `last` was added, altered or taken out.
    pub fn touches(&self, (first, last): (u64, u64)) -> bool {
        match self {
            Self::Nothing => false,
            Self::Lines(lines) => lines.has(first, last),
            Self::Whole => true,
        }
    }

    /// The lines of `new` that are not those of `old`, as both were stored. A few seconds for a few million lines are the most
    /// that it takes: the search for what both have in common is given up early where it is long.
    pub fn between(old: &[u8], new: &[u8]) -> Self {
        if old == new {
            return Self::Nothing;
        }
        // The same bytes are another text.
        if encoding::declared(old) != encoding::declared(new) {
            return Self::Whole;
        }
        let (before, after): (Vec<&[u8]>, Vec<&[u8]>) = (lines::split(old).collect(), lines::split(new).collect());
        let start = before.iter().zip(&after).take_while(|(one, other)| one == other).count();
        let left = before.len().min(after.len()) - start;
        let pairs = before.iter().rev().zip(after.iter().rev()).take(left);
        let end = pairs.take_while(|(one, other)| one == other).count();
        let middle = |lines: &[&[u8]]| lines.len() - start - end;
        if middle(&before).max(middle(&after)) > MOST_LINES {
            return Self::Whole;
        }
        let mut input = InternedInput::default();
        input.update_before(before.iter().copied().skip(start).take(middle(&before)));
        input.update_after(after.iter().copied().skip(start).take(middle(&after)));
        let mut changed = ChangedLines::default();
        for hunk in Diff::compute(Algorithm::Myers, &input).hunks() {
            // Lines of a text are far fewer than a number holds.
            let [first, behind] = [hunk.after.start, hunk.after.end].map(|line| u64::from(line) + start as u64 + 1);
            if !hunk.before.is_empty() {
                changed.add_gap(first - 1);
            }
            (first..behind).for_each(|line| changed.add(line));
        }
        Self::Lines(changed.sorted())
    }
}

/// Lines between the first and the last difference of a file beyond which no more is looked for: a change of all of it.
const MOST_LINES: usize = 200_000;

/// Lines that were added or altered, and places where lines were taken out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedLines {
    /// First and last places that touch, in order: 2 n is line n, 2 n + 1 is between it and the next one.
    spans: Vec<(u64, u64)>,
}

impl ChangedLines {
    /// Adds a line, from 1.
    pub(super) fn add(&mut self, line: u64) {
        self.span(line.saturating_mul(2));
    }

    /// Adds a place where lines were taken out, behind `line`; 0 is the start of the file.
    pub(super) fn add_gap(&mut self, line: u64) {
        self.span(line.saturating_mul(2).saturating_add(1));
    }

    fn span(&mut self, place: u64) {
        match self.spans.last_mut() {
            Some((first, last)) if *first <= place && place <= last.saturating_add(1) => *last = place.max(*last),
            _ => self.spans.push((place, place)),
        }
    }

    /// The same in order, as [`has`](Self::has) expects.
    pub(super) fn sorted(mut self) -> Self {
        self.spans.sort_unstable();
        let mut spans: Vec<(u64, u64)> = Vec::with_capacity(self.spans.len());
        for (first, last) in self.spans {
            match spans.last_mut() {
                Some((_, end)) if first <= end.saturating_add(1) => *end = last.max(*end),
                _ => spans.push((first, last)),
            }
        }
        Self { spans }
    }

    /// Whether anything from line `first` to line `last` was added, altered or taken out.
    fn has(&self, first: u64, last: u64) -> bool {
        let (start, end) = (first.saturating_mul(2), last.saturating_mul(2));
        let next = self.spans.partition_point(|(_, last)| *last < start);
        self.spans.get(next).is_some_and(|(first, _)| *first <= end)
    }

    /// The lines, without places where lines were taken out.
    #[cfg(test)]
    pub(super) fn lines(&self) -> Vec<u64> {
        let places = self.spans.iter().flat_map(|(first, last)| *first..=*last);
        places.filter(|place| place % 2 == 0).map(|place| place / 2).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(old: &str, new: &str) -> Option<Vec<u64>> {
        match Touched::between(old.as_bytes(), new.as_bytes()) {
            Touched::Nothing => Some(Vec::new()),
            Touched::Lines(lines) => Some(lines.lines()),
            Touched::Whole => None,
        }
    }

    #[test]
    fn lines_are_counted_by_every_kind_of_end() {
        assert_eq!(lines("a\nb\nc\n", "a\nB\nc\n"), Some(vec![2]));
        assert_eq!(lines("a\rb\rc", "a\rb\rx\rc"), Some(vec![3]));
        assert_eq!(lines("a\r\nb\r\n", "a\nb\n"), Some(vec![]), "the same lines with other ends");
        assert_eq!(lines("a\nb", "a\nb\n"), Some(vec![]));
        assert_eq!(lines("", "a\n"), Some(vec![1]));
    }

    #[test]
    fn a_line_taken_out_touches_what_stood_around_it() {
        let touched = Touched::between(b"f(\n  a,\n  b,\n)\ng()\n", b"f(\n  a,\n)\ng()\n");
        assert!(
            touched.touches((1, 3)) && !touched.touches((4, 4)) && !touched.touches((1, 2)) && !touched.touches((3, 3))
        );
    }

    #[test]
    fn another_encoding_makes_another_text_of_the_same_bytes() {
        assert_eq!(lines("# coding: latin-1\nx\n", "# coding: gbk\nx\n"), None);
        assert_eq!(lines("x\n", "\u{feff}x\n"), Some(vec![1]));
    }

    #[test]
    fn a_long_file_of_all_other_lines_is_changed_as_a_whole() {
        let start = std::time::Instant::now();
        let text = |odd: &str| (0..300_000).map(|place| format!("{odd}{}\n", place % 7)).collect::<String>();
        assert_eq!(lines(&text("a"), &text("b")), None);
        let (mut old, new) = (text("a"), text("a") + "z\n");
        assert_eq!(lines(&old, &new), Some(vec![300_001]));
        old.insert(0, 'z');
        assert_eq!(lines(&old, &new), None);
        assert!(start.elapsed().as_secs() < 20);
    }

    proptest! {
        #[test]
        fn untouched_lines_stand_in_the_old_file_in_the_same_order(old in "[ab\n\r]{0,40}", new in "[ab\n\r]{0,40}") {
            let touched = Touched::between(old.as_bytes(), new.as_bytes());
            let kept: Vec<&[u8]> = lines::split(new.as_bytes())
                .enumerate()
                .filter(|(place, _)| !touched.touches((*place as u64 + 1, *place as u64 + 1)))
                .map(|(_, line)| line)
                .collect();
            let mut before = lines::split(old.as_bytes());
            prop_assert!(kept.iter().all(|line| before.any(|other| other == *line)));
        }
    }
}
