//! Places that break rules to findings: what holds in the whole tree, what comments accept, and which lines count.

use std::collections::{BTreeMap, BTreeSet};

use super::context::{Context, flags_of};
use super::file::File;
use super::flags::Flags;
use super::hit::Hit;
use super::reading::{NOT_READ, WITHOUT_REASON};
use super::rule::SourceRule;
use crate::policy::source::SourcePolicy;
use crate::read::source::{Comment, Lines, Module, Unread, UnreadReason};
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
    hits: Vec<Hit>,
    ignores: Vec<Comment>,
    unread: Option<Unread>,
    ends_by_line_feeds: bool,
}

impl Looked {
    /// Whether the file could be read.
    pub fn is_read(&self) -> bool {
        self.unread.is_none()
    }

    /// Whether its lines are those that a diff counts, which know no end but LF.
    pub fn ends_by_line_feeds(&self) -> bool {
        self.ends_by_line_feeds
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
            return Looked { flags: Flags::default(), is_judged, hits, ignores, unread, ends_by_line_feeds: true };
        }
    };
    let file = File::new(module);
    let mut hits = Vec::new();
    if is_judged {
        finders.iter().for_each(|find| find(&file, &mut hits));
    }
    let ignores = module.comments.iter().filter(|comment| comment.ignore.is_some() && is_judged).cloned().collect();
    let ends_by_line_feeds = Lines::end_by_line_feeds(&module.text);
    Looked { flags: flags_of(&file), is_judged, hits, ignores, unread: None, ends_by_line_feeds }
}

/// Lines that a change touches in one file.
#[derive(Clone, Copy, Debug)]
pub enum Changes<'a> {
    /// No change was given: everything counts.
    Unknown,
    /// All of the file, because nobody knows which lines.
    Whole,
    /// These lines.
    Lines(&'a BTreeSet<u64>),
    /// The file is not part of the change.
    Untouched,
}

impl Changes<'_> {
    fn has(self, line: u64) -> Option<bool> {
        match self {
            Self::Unknown => None,
            Self::Whole => Some(true),
            Self::Lines(lines) => Some(lines.contains(&line)),
            Self::Untouched => Some(false),
        }
    }
}

/// Findings of one file.
#[derive(Debug, Default)]
pub struct Judged {
    /// Findings, in the order of lines.
    pub findings: Vec<Finding>,
    /// Comments of the change that accept findings.
    pub accepted: Vec<Accepted>,
}

/// Findings of a file in its tree.
pub fn findings(path: &str, looked: Looked, context: &Context, policy: &SourcePolicy, changes: Changes<'_>) -> Judged {
    let placing = Placing { path, policy, changes };
    let mut judged = Judged::default();
    if let Some(unread) = &looked.unread {
        judged.findings.extend(placing.unread(unread));
        return judged;
    }
    let accepts = |hit: &Hit| looked.ignores.iter().any(|comment| comment.covers(hit.rule.rule.code, hit.line));
    let mut by_rule: BTreeMap<&'static str, Vec<Hit>> = BTreeMap::new();
    for hit in looked.hits {
        if hit.holds(context) && !accepts(&hit) {
            let hits = by_rule.entry(hit.rule.rule.code).or_default();
            if !hits.iter().any(|other| other.line == hit.line) {
                hits.push(hit);
            }
        }
    }
    for hits in by_rule.into_values() {
        match hits.first().map(|hit| hit.rule.is_per_file) {
            Some(true) => judged.findings.extend(placing.merged(hits)),
            _ => judged.findings.extend(hits.into_iter().filter_map(|hit| placing.finding(hit))),
        }
    }
    for comment in &looked.ignores {
        let Some(ignore) = &comment.ignore else { continue };
        if ignore.reason.is_empty() {
            judged.findings.extend(placing.without_reason(comment, &ignore.codes));
        } else if changes.has(comment.line) == Some(true) {
            let (codes, reason) = (ignore.codes.clone(), ignore.reason.clone());
            judged.accepted.push(Accepted { file: path.to_owned(), line: comment.line, codes, reason });
        }
    }
    let line = |finding: &Finding| finding.source.as_ref().map(|place| (place.at.line, place.at.column));
    judged.findings.sort_by(|a, b| (line(a), &a.code).cmp(&(line(b), &b.code)));
    judged
}

struct Placing<'a> {
    path: &'a str,
    policy: &'a SourcePolicy,
    changes: Changes<'a>,
}

impl Placing<'_> {
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

    fn finding(&self, hit: Hit) -> Option<Finding> {
        let changed = self.changes.has(hit.line);
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
    fn merged(&self, hits: Vec<Hit>) -> Option<Finding> {
        let mut lines: Vec<u64> = hits.iter().map(|hit| hit.line).collect();
        lines.sort_unstable();
        let first = hits
            .iter()
            .map(|hit| hit.line)
            .find(|line| self.changes.has(*line) == Some(true))
            .or(lines.first().copied())?;
        let hit = hits.into_iter().find(|hit| hit.line == first)?;
        let listed: Vec<String> = lines.iter().map(ToString::to_string).collect();
        Some(self.finding(hit)?.with("count", lines.len()).with("lines", listed))
    }

    fn without_reason(&self, comment: &Comment, codes: &[String]) -> Option<Finding> {
        let changed = self.changes.has(comment.line);
        Some(self.place(&WITHOUT_REASON, comment.line, comment.column, changed)?.with("codes", codes.to_vec()))
    }

    /// A file that could not be read is changed if the change touches it at all.
    fn unread(&self, unread: &Unread) -> Option<Finding> {
        let changed = match self.changes {
            Changes::Unknown => None,
            Changes::Whole | Changes::Lines(_) => Some(true),
            Changes::Untouched => Some(false),
        };
        let finding = self.place(&NOT_READ, unread.line, unread.column, changed)?;
        let (reason, detail) = match &unread.reason {
            UnreadReason::Syntax(detail) => ("syntax", detail.as_str()),
            UnreadReason::Encoding(name) => ("encoding", name.as_str()),
            UnreadReason::UnknownEncoding(name) => ("unknown-encoding", name.as_str()),
            UnreadReason::Nul => ("nul", ""),
            UnreadReason::Deep => ("deep", ""),
            UnreadReason::Large => ("large", ""),
            UnreadReason::Outside => ("outside", ""),
            UnreadReason::Refused(detail) => ("refused", detail.as_str()),
        };
        Some(finding.with("reason", reason).with("detail", Fact::Text(detail.to_owned())))
    }
}
