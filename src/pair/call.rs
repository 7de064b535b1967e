//! One-to-one pairing of calls of random functions.
//!
//! Calls of the same function from the same file and function belong together; folder and line number do not
//! count. Within such a group the order of lines is kept, and the pairing is the one with the greatest likeness
//! of source lines and of the frames around them, counted from the call outwards, so that another launcher
//! changes nothing.

use std::collections::BTreeMap;

use super::similarity::PreparedText;
use crate::read::pack::RandomCall;

/// Groups larger than this are paired in order of lines without comparing every pair.
const MAX_GROUP: usize = 512;

/// Calls of one function on one rank, paired.
#[derive(Debug, Default)]
pub(crate) struct PairedCalls<'a> {
    /// Baseline, candidate, and how alike their source lines are (0 to 1).
    pub matched: Vec<(&'a RandomCall, &'a RandomCall, f64)>,
    /// Calls that only the baseline makes.
    pub only_baseline: Vec<&'a RandomCall>,
    /// Calls that only the candidate makes.
    pub only_candidate: Vec<&'a RandomCall>,
}

/// Pairs the calls of one function.
pub(crate) fn pair_calls<'a>(baseline: &'a [RandomCall], candidate: &'a [RandomCall]) -> PairedCalls<'a> {
    let (baseline_groups, mut candidate_groups) = (grouped(baseline), grouped(candidate));
    let mut paired = PairedCalls::default();
    for (key, group) in baseline_groups {
        let partners = candidate_groups.remove(&key).unwrap_or_default();
        paired.add_group(group, partners);
    }
    paired.only_candidate.extend(candidate_groups.into_values().flatten().map(|call| call.entry));
    paired
}

/// A call with its frames taken apart.
struct Call<'a> {
    entry: &'a RandomCall,
    /// Frames from the call outwards.
    frames: Vec<CallFrame<'a>>,
}

/// One frame of a stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallFrame<'a> {
    /// Path of the source file.
    pub path: &'a str,
    /// Line number.
    pub line: u64,
    /// The function.
    pub function: &'a str,
    /// The source line.
    pub code: &'a str,
}

impl<'a> CallFrame<'a> {
    /// Parses `File {path}, line {line}, in {function}, {code}`; any other text becomes code without a place.
    pub(crate) fn parse(text: &'a str) -> Self {
        let parts = || {
            let (path, rest) = text.strip_prefix("File ")?.split_once(", line ")?;
            let (line, rest) = rest.split_once(", in ")?;
            let (function, code) = rest.split_once(", ").unwrap_or((rest.trim_end_matches(','), ""));
            Some(Self { path, line: line.parse().ok()?, function, code })
        };
        parts().unwrap_or(Self { code: text, ..Self::default() })
    }

    /// File name without folders.
    pub(crate) fn file_name(&self) -> &'a str {
        self.path.rsplit(['/', '\\']).next().unwrap_or(self.path)
    }

    fn same_place(&self, other: &Self) -> bool {
        self.file_name() == other.file_name() && self.function == other.function
    }
}

type Groups<'a> = BTreeMap<(&'a str, &'a str), Vec<Call<'a>>>;

/// Calls grouped by the file and function that they stand in, each group in order of lines.
fn grouped(entries: &[RandomCall]) -> Groups<'_> {
    let mut groups: Groups<'_> = BTreeMap::new();
    for entry in entries {
        let stack = entry.stack.as_deref().unwrap_or_default();
        let frames: Vec<CallFrame<'_>> = stack.iter().rev().map(|frame| CallFrame::parse(frame)).collect();
        let place = frames.first().map_or(("", ""), |frame| (frame.file_name(), frame.function));
        groups.entry(place).or_default().push(Call { entry, frames });
    }
    for group in groups.values_mut() {
        group.sort_by_key(|call| call.frames.iter().map(|frame| frame.line).collect::<Vec<_>>());
    }
    groups
}

impl<'a> PairedCalls<'a> {
    fn add_group(&mut self, baseline: Vec<Call<'a>>, candidate: Vec<Call<'a>>) {
        let likeness = likeness_table(&baseline, &candidate);
        let partners = aligned(&likeness, baseline.len(), candidate.len());
        let mut unpaired: Vec<Option<&Call<'a>>> = candidate.iter().map(Some).collect();
        for (row, call) in baseline.iter().enumerate() {
            let partner = partners.get(row).copied().flatten();
            match partner.and_then(|column| unpaired.get_mut(column)?.take()) {
                Some(other) => self.matched.push((call.entry, other.entry, code_likeness(call, other))),
                None => self.only_baseline.push(call.entry),
            }
        }
        self.only_candidate.extend(unpaired.into_iter().flatten().map(|call| call.entry));
    }
}

fn code_likeness(a: &Call<'_>, b: &Call<'_>) -> f64 {
    let code = |call: &Call<'_>| call.frames.first().map_or(String::new(), |frame| frame.code.to_owned());
    super::similarity::ratio(&code(a), &code(b))
}

/// Likeness of every pair, row by row; empty where the group is too large to look at every pair.
fn likeness_table(baseline: &[Call<'_>], candidate: &[Call<'_>]) -> Vec<Vec<f64>> {
    if baseline.len().max(candidate.len()) > MAX_GROUP {
        return Vec::new();
    }
    let code = |call: &Call<'_>| call.frames.first().map_or("", |frame| frame.code).to_owned();
    let sequences: Vec<PreparedText> = candidate.iter().map(|call| PreparedText::new(&code(call))).collect();
    let row = |call: &Call<'_>| {
        let line = code(call);
        candidate
            .iter()
            .zip(&sequences)
            .map(|(other, sequence)| 2.0 * sequence.ratio(&line) + frames_alike(call, other))
            .collect()
    };
    baseline.iter().map(row).collect()
}

/// The share of frames that stand in the same file and function with the same source line, from the call
/// outwards, over the shorter stack.
fn frames_alike(a: &Call<'_>, b: &Call<'_>) -> f64 {
    let pairs = a.frames.iter().zip(&b.frames);
    let (mut alike, mut all) = (0.0, 0.0);
    for (a, b) in pairs {
        all += 2.0;
        alike += if a.same_place(b) { 1.0 } else { 0.0 };
        alike += if a.code == b.code { 1.0 } else { 0.0 };
    }
    if all == 0.0 { 0.0 } else { alike / all }
}

/// The order-preserving pairing with the greatest sum of likeness, as the partner of each row.
///
/// Every pair gets a small bonus, so that as many calls as possible are paired.
fn aligned(likeness: &[Vec<f64>], rows: usize, columns: usize) -> Vec<Option<usize>> {
    const PAIRED: f64 = 0.1;
    if likeness.is_empty() {
        return (0..rows).map(|row| (row < columns).then_some(row)).collect();
    }
    let mut best = vec![vec![0.0_f64; columns + 1]; rows + 1];
    let at = |table: &[Vec<f64>], row: usize, column: usize| {
        table.get(row).and_then(|row| row.get(column)).copied().unwrap_or(0.0)
    };
    for row in (0..rows).rev() {
        for column in (0..columns).rev() {
            let paired = at(likeness, row, column) + PAIRED + at(&best, row + 1, column + 1);
            let value = paired.max(at(&best, row + 1, column)).max(at(&best, row, column + 1));
            if let Some(cell) = best.get_mut(row).and_then(|row| row.get_mut(column)) {
                *cell = value;
            }
        }
    }
    let mut partners = vec![None; rows];
    let (mut row, mut column) = (0, 0);
    while row < rows && column < columns {
        let paired = at(likeness, row, column) + PAIRED + at(&best, row + 1, column + 1);
        if paired >= at(&best, row + 1, column).max(at(&best, row, column + 1)) {
            if let Some(partner) = partners.get_mut(row) {
                *partner = Some(column);
            }
            (row, column) = (row + 1, column + 1);
        } else if at(&best, row + 1, column) >= at(&best, row, column + 1) {
            row += 1;
        } else {
            column += 1;
        }
    }
    partners
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(lines: &[(u64, &str, i64)]) -> Vec<RandomCall> {
        let entry = |(line, code, count): &(u64, &str, i64)| RandomCall {
            count: Some(*count),
            stack: Some(vec![format!("File /x/a.py, line {line}, in draw, {code}")]),
        };
        lines.iter().map(entry).collect()
    }

    fn counts(baseline: &[(u64, &str, i64)], candidate: &[(u64, &str, i64)]) -> (Vec<(i64, i64)>, usize, usize) {
        let (a, b) = (calls(baseline), calls(candidate));
        let paired = pair_calls(&a, &b);
        let count = |entry: &RandomCall| entry.count.expect("set");
        let matched = paired.matched.iter().map(|(a, b, _)| (count(a), count(b))).collect();
        (matched, paired.only_baseline.len(), paired.only_candidate.len())
    }

    #[test]
    fn similar_lines_keep_their_own_partners() {
        let two = [(15, "a = torch.rand(2)", 3), (17, "b = torch.rand(3)", 1)];
        assert_eq!(counts(&two, &two), (vec![(3, 3), (1, 1)], 0, 0));
        let three = [(15, "a = torch.rand(2)", 3), (17, "b = torch.rand(3)", 1), (20, "c = torch.rand(4)", 2)];
        assert_eq!(counts(&two, &three), (vec![(3, 3), (1, 1)], 0, 1));
    }

    #[test]
    fn equal_lines_that_moved_are_paired_in_order() {
        let here = [(15, "x = torch.rand(2)", 1), (17, "x = torch.rand(2)", 2)];
        let moved = [(17, "x = torch.rand(2)", 1), (19, "x = torch.rand(2)", 2)];
        assert_eq!(counts(&here, &moved), (vec![(1, 1), (2, 2)], 0, 0));
    }

    #[test]
    fn a_rewritten_line_in_the_same_function_is_still_its_partner() {
        assert_eq!(counts(&[(1, "np.random.choice([1])", 1)], &[(9, "_ = draw(POOL)", 1)]), (vec![(1, 1)], 0, 0));
    }

    #[test]
    fn frames_are_taken_apart() {
        let frame = CallFrame::parse("File /a b/c.py, line 7, in <module>, f(1, in 2)");
        assert_eq!((frame.file_name(), frame.line, frame.function, frame.code), ("c.py", 7, "<module>", "f(1, in 2)"));
        assert_eq!(CallFrame::parse("odd").code, "odd");
    }
}
