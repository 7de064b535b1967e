//! Calls of random functions: the first entry of the other side whose stack is alike frame by frame.

use super::exception::Exception;
use super::sheet::{Sheet, level_of_booleans, whole_cell};
use crate::msprobe::table::Cell;
use crate::pair::similarity;
use crate::read::pack::{Checker, Pack, RandomCall, RandomCalls};
use crate::redact::Redactor;

/// Least similarity of two frames that match, from 0 to 1.
const THRESHOLD: f64 = 0.8;
/// Cell where nothing matched.
const NO_MATCH: &str = "no match stack";

pub(super) fn compare(bench: &Pack, cmp: &Pack, redactor: &Redactor) -> Result<Sheet, Exception> {
    if [bench, cmp].iter().any(|pack| pack.misplaced.iter().any(bad_rank)) {
        return Err(Exception::Value);
    }
    let empty = Ok(RandomCalls::new());
    let mut ranks: Vec<u64> = bench.random.keys().chain(cmp.random.keys()).copied().collect();
    ranks.sort_unstable();
    ranks.dedup();
    let mut rows = Vec::new();
    for rank in ranks {
        let bench = bench.random.get(&rank).unwrap_or(&empty).as_ref().map_err(Exception::from)?;
        let cmp = cmp.random.get(&rank).unwrap_or(&empty).as_ref().map_err(Exception::from)?;
        let added = cmp.iter().filter(|(op, _)| bench.iter().all(|(known, _)| known != op));
        for (op, _) in bench.iter().chain(added) {
            Comparison { op, rank, redactor, rows: &mut rows }.run(entries(bench, op), entries(cmp, op))?;
        }
    }
    let level = level_of_booleans(&rows, 6);
    Ok(Sheet { rows, level })
}

/// A file `rank….json` whose rank is not a number.
fn bad_rank((checker, path): &(Checker, String)) -> bool {
    let file = path.strip_prefix("random/").filter(|file| !file.contains('/'));
    *checker == Checker::Random && file.is_some_and(|file| file.starts_with("rank") && file.ends_with(".json"))
}

fn entries<'a>(calls: &'a RandomCalls, op: &str) -> &'a [RandomCall] {
    calls.iter().find(|(known, _)| known == op).map_or(&[], |(_, entries)| entries)
}

/// The comparison of one function on one rank.
struct Comparison<'a> {
    op: &'a str,
    rank: u64,
    redactor: &'a Redactor,
    rows: &'a mut Vec<Vec<Cell<'static>>>,
}

impl Comparison<'_> {
    fn run(&mut self, bench: &[RandomCall], cmp: &[RandomCall]) -> Result<(), Exception> {
        for entry in bench {
            let (baseline, count) = (stack(entry)?, count(entry)?);
            match first_match(baseline, cmp)? {
                Some(other) => self.row(Some(baseline), Some(stack(other)?), [count, self::count(other)?]),
                None => self.row(Some(baseline), None, [count, 0]),
            }
        }
        for entry in cmp {
            let candidate = stack(entry)?;
            let mut matched = false;
            for other in bench {
                matched = matched || stacks_match(stack(other)?, candidate);
            }
            if !matched {
                self.row(None, Some(candidate), [0, count(entry)?]);
            }
        }
        Ok(())
    }

    fn row(&mut self, bench: Option<&[String]>, cmp: Option<&[String]>, [bench_count, cmp_count]: [i64; 2]) {
        let shown = |stack: Option<&[String]>| match stack {
            Some(frames) => Cell::from(self.redactor.text(&frames.join("\n"))),
            None => Cell::from(NO_MATCH),
        };
        let check = bench.is_some() && cmp.is_some() && bench_count == cmp_count;
        self.rows.push(vec![
            Cell::from(self.op),
            whole_cell(self.rank),
            shown(bench),
            shown(cmp),
            Cell::Int(bench_count),
            Cell::Int(cmp_count),
            Cell::Bool(check),
        ]);
    }
}

fn stack(entry: &RandomCall) -> Result<&[String], Exception> {
    entry.stack.as_deref().ok_or(Exception::Key)
}

fn count(entry: &RandomCall) -> Result<i64, Exception> {
    entry.count.ok_or(Exception::Key)
}

fn first_match<'a>(bench: &[String], cmp: &'a [RandomCall]) -> Result<Option<&'a RandomCall>, Exception> {
    for entry in cmp {
        if stacks_match(stack(entry)?, bench) {
            return Ok(Some(entry));
        }
    }
    Ok(None)
}

fn stacks_match(a: &[String], b: &[String]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| frames_match(a, b))
}

/// Base name, function and source line, a third each; the double arithmetic is Python's, so that a similarity
/// of exactly 0.4 falls short.
fn frames_match(a: &str, b: &str) -> bool {
    let (a, b) = (Frame::parse(a), Frame::parse(b));
    let path = if !a.path.is_empty() && !b.path.is_empty() && base(a.path) == base(b.path) { 1.0 } else { 0.0 };
    let function = if a.function == b.function { 1.0 } else { 0.0 };
    if path + function < 2.0 {
        return false;
    }
    let score: f64 = (path + function + similarity::ratio(&a.code, &b.code)) / 3.0;
    score >= THRESHOLD
}

/// A frame, `File {path}, line {line}, in {function}, {code}`, cut at single spaces; a path with a space shifts
/// the pieces, as it does in msprobe.
#[derive(Default)]
struct Frame<'a> {
    path: &'a str,
    function: &'a str,
    code: String,
}

impl<'a> Frame<'a> {
    fn parse(text: &'a str) -> Self {
        let pieces: Vec<&str> = text.split(' ').collect();
        let [_, path, _, _, _, function, code @ ..] = pieces.as_slice() else { return Self::default() };
        if code.is_empty() {
            return Self::default();
        }
        Self { path: but_last(path), function: but_last(function), code: code.join(" ") }
    }
}

fn but_last(text: &str) -> &str {
    let mut characters = text.chars();
    characters.next_back();
    characters.as_str()
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
