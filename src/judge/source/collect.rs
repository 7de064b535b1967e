//! Places that break rules to findings: what holds in the whole tree, what comments accept, and which lines count.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::context::{Context, flags_of};
use super::file::File;
use super::flags::Flags;
use super::hit::{Hit, Placed, placed};
use super::reading::{NOT_READ, WITHOUT_REASON};
use super::rule::SourceRule;
use crate::policy::source::SourcePolicy;
use crate::read::source::{Comment, Module, Touched, Unread, UnreadReason};
use crate::result::finding::{Fact, Finding};
use crate::result::place::{Accepted, LinePlace, SourcePlace};
use crate::verdict::Severity;

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
    pub(super) fn told(&self) -> Vec<String> {
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
pub(super) fn look(read: &Result<Module, Unread>, is_judged: bool, finders: &[Finder]) -> Looked {
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

/// Findings of one file.
#[derive(Debug, Default)]
pub struct Judged {
    /// Findings, in the order of lines.
    pub findings: Vec<Finding>,
    /// Comments of the change that accept findings.
    pub accepted: Vec<Accepted>,
}

/// Findings of a file in its tree; without a change that touches some of it, everything counts.
pub fn findings(
    path: &str,
    looked: Looked,
    context: &Context,
    policy: &SourcePolicy,
    touched: Option<&Touched>,
) -> Judged {
    let placing = Placing { path, policy, touched };
    let mut judged = Judged::default();
    if let Some(unread) = &looked.unread {
        judged.findings.extend(placing.unread(unread));
        return judged;
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
            Some(true) => judged.findings.extend(placing.merged(hits)),
            _ => judged.findings.extend(hits.into_iter().filter_map(|hit| placing.finding(hit))),
        }
    }
    for comment in &looked.ignores {
        let Some(ignore) = &comment.ignore else { continue };
        if ignore.reason.is_empty() {
            judged.findings.extend(placing.without_reason(comment, &ignore.codes));
        } else if placing.is_touched((comment.line, comment.line)) == Some(true) {
            let (codes, reason) = (ignore.codes.clone(), ignore.reason.clone());
            judged.accepted.push(Accepted { file: path.to_owned(), line: comment.line, codes, reason });
        }
    }
    let line = |finding: &Finding| finding.source.as_ref().map(|place| (place.at.line, place.at.column));
    judged.findings.sort_by(|a, b| (line(a), &a.code).cmp(&(line(b), &b.code)));
    judged
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
    path: &'a str,
    policy: &'a SourcePolicy,
    touched: Option<&'a Touched>,
}

impl Placing<'_> {
    /// Whether the change touches any of these lines; `None` without one.
    fn is_touched(&self, lines: (u64, u64)) -> Option<bool> {
        self.touched.map(|touched| touched.has(lines))
    }

    fn is_changed(&self, hit: &Placed) -> Option<bool> {
        self.touched.map(|touched| hit.lines.iter().any(|lines| touched.has(*lines)))
    }

    /// A finding of `rule`; `None` where the policy has switched the rule off.
    fn place(&self, rule: &'static SourceRule, line: u64, column: u64, changed: Option<bool>) -> Option<Finding> {
        let severity = match self.policy.severity(rule.rule.code) {
            Some(setting) => setting.severity()?,
            None if rule.is_off => return None,
            None => rule.rule.severity,
        };
        let place = SourcePlace {
            at: LinePlace { file: self.path.to_owned(), line, column },
            family: rule.family,
            changed,
            counts: changed != Some(false) || !self.policy.changed_only.0,
            fix: None,
        };
        Some(Finding::new(&rule.rule, "").with_severity(severity).at(place).with("unit", self.path))
    }

    fn finding(&self, hit: Placed) -> Option<Finding> {
        let changed = self.is_changed(&hit);
        let mut finding = self.place(hit.rule, hit.line, hit.column, changed)?;
        if hit.is_milder && self.policy.severity(hit.rule.rule.code).is_none() {
            finding.severity = Severity::Warn;
        }
        if let (Some(place), Some(fix)) = (&mut finding.source, hit.fix) {
            place.fix = Some(fix);
        }
        finding.facts.extend(hit.facts.into_iter().map(|(name, fact)| (name.to_owned(), fact)));
        Some(finding)
    }

    /// One finding for all hits of a rule, on the first line that the change touches, else on the first.
    fn merged(&self, mut hits: Vec<Placed>) -> Option<Finding> {
        let lines: Vec<String> = hits.iter().map(|hit| hit.line.to_string()).collect();
        let first = hits.iter().position(|hit| self.is_changed(hit) == Some(true)).unwrap_or(0);
        let hit = hits.drain(..).nth(first)?;
        Some(self.finding(hit)?.with("count", lines.len()).with("lines", lines))
    }

    fn without_reason(&self, comment: &Comment, codes: &[String]) -> Option<Finding> {
        let changed = self.is_touched((comment.line, comment.line));
        Some(self.place(&WITHOUT_REASON, comment.line, comment.column, changed)?.with("codes", codes.to_vec()))
    }

    /// A file that could not be read is changed if the change touches it at all.
    fn unread(&self, unread: &Unread) -> Option<Finding> {
        let changed = self.touched.map(|touched| *touched != Touched::Nothing);
        let finding = self.place(&NOT_READ, unread.line, unread.column, changed)?;
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
        Some(finding.with("reason", reason).with("detail", Fact::Text(detail.to_owned())))
    }
}
