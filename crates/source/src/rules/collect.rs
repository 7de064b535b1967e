//! Places that break rules: what holds in the whole tree, what comments accept, and which lines a change touches.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use precision_gate_result::finding::Fact;
use precision_gate_result::place::{Accepted, Replacement};

use super::context::{Context, flags_of};
use super::file::File;
use super::flags::Flags;
use super::hit::{Hit, Placed, placed};
use super::reading::{NOT_READ, WITHOUT_REASON};
use super::rule::SourceRule;
use crate::read::{Comment, Module, Touched, Unread, UnreadReason};

/// Outcome of looking at one file by itself.
#[derive(Debug)]
pub struct Looked {
    /// Facts that it states for its tree.
    pub flags: Flags,
    /// Whether it is judged, and not only context for others.
    pub is_judged: bool,
    hits: Vec<Placed>,
    ignores: Vec<Comment>,
    unread: Option<Unread>,
}

impl Looked {
    /// Lines of a file that is not Python.
    pub(super) fn of_lines(hits: Vec<Placed>, ignores: Vec<Comment>) -> Self {
        Self { flags: Flags::default(), is_judged: true, hits, ignores, unread: None }
    }

    /// Whether there is anything to tell about the file.
    pub fn is_told(&self) -> bool {
        !self.hits.is_empty() || !self.ignores.is_empty() || self.unread.is_some()
    }

    /// Lines and codes, for tests.
    #[cfg(test)]
    pub(super) fn codes_and_lines(&self) -> Vec<String> {
        self.hits.iter().map(|hit| format!("{} {}", hit.line, hit.rule.rule.code)).collect()
    }

    /// Number of comments that accept findings, for tests.
    #[cfg(test)]
    pub(super) fn ignored(&self) -> usize {
        self.ignores.len()
    }

    /// Whether the file could be read.
    pub fn is_read(&self) -> bool {
        self.unread.is_none()
    }
}

/// Finds the places of a file that break a rule.
pub(super) type Finder = fn(&File<'_>, &mut Vec<Hit>);

/// Looks at a file by `finders`, if it is judged.
pub(super) fn run_finders(read: &Result<Module, Unread>, is_judged: bool, finders: &[Finder]) -> Looked {
    let module = match read {
        Ok(module) => module,
        Err(unread) => {
            let unread = Some(unread.clone());
            let (hits, ignores) = (Vec::new(), Vec::new());
            return Looked { flags: Flags::default(), is_judged, hits, ignores, unread };
        }
    };
    let file = File::new(module);
    let mut hits = Vec::new();
    if is_judged {
        for find in finders {
            let mut found = Vec::new();
            find(&file, &mut found);
            hits.extend(placed(&file, found));
        }
    }
    let ignores = module.comments.iter().filter(|comment| comment.ignore.is_some() && is_judged).cloned().collect();
    Looked { flags: flags_of(&file), is_judged, hits, ignores, unread: None }
}

/// A rule that is broken on a line of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Breach {
    /// The rule.
    pub rule: &'static SourceRule,
    /// Line, from 1.
    pub line: u64,
    /// Column, from 1, in code points.
    pub column: u64,
    /// Whether the change touches it; `None` where no change was given.
    pub changed: Option<bool>,
    /// Whether it weighs less than its rule.
    pub is_milder: bool,
    /// Names and numbers of its message.
    pub facts: BTreeMap<&'static str, Fact>,
    /// Replacement that repairs it and is safe to make.
    pub fix: Option<Replacement>,
}

impl Breach {
    fn with(mut self, name: &'static str, fact: impl Into<Fact>) -> Self {
        self.facts.insert(name, fact.into());
        self
    }
}

/// Rules that a file breaks.
#[derive(Debug, Default)]
pub struct Broken {
    /// Each with its place, in the order of lines.
    pub breaches: Vec<Breach>,
    /// Comments of the change that accept some.
    pub accepted: Vec<Accepted>,
}

/// Rules that a file breaks in its tree; `touched` tells which lines of it a change touches.
pub fn broken(path: &str, looked: Looked, context: &Context, touched: Option<&Touched>) -> Broken {
    let placing = Placing { touched };
    let mut broken = Broken::default();
    if let Some(unread) = &looked.unread {
        broken.breaches.push(placing.unread(unread));
        return broken;
    }
    let mut by_rule: BTreeMap<&'static str, BTreeMap<u64, Placed>> = BTreeMap::new();
    for hit in looked.hits.into_iter().filter(|hit| hit.holds(context)) {
        match by_rule.entry(hit.rule.rule.code).or_default().entry(hit.line) {
            Entry::Occupied(mut slot) => slot.get_mut().join(hit),
            Entry::Vacant(slot) => drop(slot.insert(hit)),
        }
    }
    let ignores = Ignores::of(&looked.ignores);
    by_rule.iter_mut().for_each(|(code, hits)| hits.retain(|line, _| !ignores.cover(code, *line)));
    for hits in by_rule.into_values() {
        let hits: Vec<Placed> = hits.into_values().collect();
        match hits.first().map(|hit| hit.rule.is_per_file) {
            Some(true) => broken.breaches.extend(placing.merged(hits)),
            _ => broken.breaches.extend(hits.into_iter().map(|hit| placing.breach(hit))),
        }
    }
    for comment in &looked.ignores {
        let Some(ignore) = &comment.ignore else { continue };
        if ignore.reason.is_empty() {
            broken.breaches.push(placing.without_reason(comment, &ignore.codes));
        } else if placing.is_touched((comment.line, comment.line)) == Some(true) {
            let (codes, reason) = (ignore.codes.clone(), ignore.reason.clone());
            broken.accepted.push(Accepted { file: path.to_owned(), line: comment.line, codes, reason });
        }
    }
    let place = |breach: &Breach| (breach.line, breach.column, breach.rule.rule.code);
    broken.breaches.sort_by(|a, b| place(a).cmp(&place(b)));
    broken
}

/// Comments that accept findings, by the lines that they accept them on.
struct Ignores<'a> {
    by_line: BTreeMap<u64, Vec<&'a Comment>>,
}

impl<'a> Ignores<'a> {
    fn of(comments: &'a [Comment]) -> Self {
        let mut by_line: BTreeMap<u64, Vec<&Comment>> = BTreeMap::new();
        for comment in comments {
            for line in [comment.line, comment.line + 1] {
                by_line.entry(line).or_default().push(comment);
            }
        }
        Self { by_line }
    }

    fn cover(&self, code: &str, line: u64) -> bool {
        self.by_line.get(&line).is_some_and(|comments| comments.iter().any(|comment| comment.covers(code, line)))
    }
}

struct Placing<'a> {
    touched: Option<&'a Touched>,
}

impl Placing<'_> {
    /// Whether the change touches any of these lines; `None` without one.
    fn is_touched(&self, lines: (u64, u64)) -> Option<bool> {
        self.touched.map(|touched| touched.touches(lines))
    }

    fn is_changed(&self, hit: &Placed) -> Option<bool> {
        self.touched.map(|touched| hit.lines.iter().any(|lines| touched.touches(*lines)))
    }

    fn breach(&self, hit: Placed) -> Breach {
        let changed = self.is_changed(&hit);
        let Placed { rule, line, column, is_milder, facts, fix, .. } = hit;
        Breach { rule, line, column, changed, is_milder, facts, fix }
    }

    /// One breach for all hits of a rule, on the first line that the change touches, else on the first.
    fn merged(&self, mut hits: Vec<Placed>) -> Option<Breach> {
        let lines: Vec<String> = hits.iter().map(|hit| hit.line.to_string()).collect();
        let first = hits.iter().position(|hit| self.is_changed(hit) == Some(true)).unwrap_or(0);
        let hit = hits.drain(..).nth(first)?;
        Some(self.breach(hit).with("count", lines.len()).with("lines", lines))
    }

    fn without_reason(&self, comment: &Comment, codes: &[String]) -> Breach {
        let changed = self.is_touched((comment.line, comment.line));
        of_reading(&WITHOUT_REASON, (comment.line, comment.column), changed).with("codes", codes.to_vec())
    }

    /// A file that could not be read is changed if the change touches it at all.
    fn unread(&self, unread: &Unread) -> Breach {
        let changed = self.touched.map(|touched| *touched != Touched::Nothing);
        let (reason, detail) = match &unread.reason {
            UnreadReason::Syntax(detail) => ("syntax", detail.as_str()),
            UnreadReason::Encoding(name) => ("encoding", name.as_str()),
            UnreadReason::UnknownEncoding(name) => ("unknown-encoding", name.as_str()),
            UnreadReason::Nul => ("nul", ""),
            UnreadReason::Deep => ("deep", ""),
            UnreadReason::Large(most) => ("large", &*most.to_string()),
            UnreadReason::Outside => ("outside", ""),
            UnreadReason::Refused(detail) => ("refused", detail.as_str()),
        };
        let breach = of_reading(&NOT_READ, (unread.line, unread.column), changed);
        breach.with("reason", reason).with("detail", Fact::Text(detail.to_owned()))
    }
}

fn of_reading(rule: &'static SourceRule, (line, column): (u64, u64), changed: Option<bool>) -> Breach {
    Breach { rule, line, column, changed, is_milder: false, facts: BTreeMap::new(), fix: None }
}
