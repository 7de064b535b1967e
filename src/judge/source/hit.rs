//! Places that break a rule, before the rest of the tree is known.

use std::collections::BTreeMap;

use super::context::Context;
use super::file::File;
use super::flags::Flags;
use super::rule::SourceRule;
use crate::read::source::{Kind, NodeId};
use crate::result::finding::Fact;
use crate::result::place::Replacement;

/// Characters of a line of code that a finding quotes.
const MOST_QUOTED: usize = 120;

/// A place that breaks a rule, if the rest of the tree is as the rule demands.
#[derive(Debug)]
pub(super) struct Hit {
    /// The rule.
    pub rule: &'static SourceRule,
    /// Line, from 1.
    pub line: u64,
    /// Column, from 1, in code points.
    pub column: u64,
    /// Facts for its message.
    pub facts: BTreeMap<&'static str, Fact>,
    /// Weighs less than its rule.
    pub is_milder: bool,
    /// Replacement that repairs it.
    pub fix: Option<Replacement>,
    /// Facts of the tree that have to hold.
    needs: Flags,
    /// Facts of the tree under which it is none.
    unless: Flags,
    /// Package that has to be another's: one of this name in the tree is its own.
    foreign: Option<String>,
}

impl Hit {
    /// A hit at a node.
    pub(super) fn new(rule: &'static SourceRule, file: &File<'_>, id: NodeId) -> Self {
        let start = file.tree.node(id).start;
        Self {
            rule,
            line: file.lines.line(start),
            column: file.lines.column(&file.text, start),
            facts: facts(file, id),
            is_milder: false,
            fix: None,
            needs: Flags::default(),
            unless: Flags::default(),
            foreign: None,
        }
    }

    #[must_use]
    pub(super) fn with(mut self, name: &'static str, fact: impl Into<Fact>) -> Self {
        self.facts.insert(name, fact.into());
        self
    }

    #[must_use]
    pub(super) fn needs(mut self, flag: Flags) -> Self {
        self.needs = self.needs.with(flag);
        self
    }

    #[must_use]
    pub(super) fn unless(mut self, flag: Flags) -> Self {
        self.unless = self.unless.with(flag);
        self
    }

    #[must_use]
    pub(super) fn foreign(mut self, package: &str) -> Self {
        self.foreign = Some(package.to_owned());
        self
    }

    #[must_use]
    pub(super) fn milder(mut self, is_milder: bool) -> Self {
        self.is_milder = is_milder;
        self
    }

    /// Offers to put `before` and `after` around a node.
    #[must_use]
    pub(super) fn wrapped(self, file: &File<'_>, id: NodeId, before: &str, after: &str) -> Self {
        let text = format!("{before}{}{after}", file.source(id));
        self.replaced(file, id, &text)
    }

    /// Offers to put `text` in place of a node.
    #[must_use]
    pub(super) fn replaced(mut self, file: &File<'_>, id: NodeId, text: &str) -> Self {
        let node = file.tree.node(id);
        let [(line, column), (end_line, end_column)] =
            [node.start, node.end].map(|place| (file.lines.line(place), file.lines.column(&file.text, place)));
        self.fix = Some(Replacement { line, column, end_line, end_column, text: text.to_owned() });
        self
    }

    /// Whether it holds in a tree.
    pub(super) fn holds(&self, context: &Context) -> bool {
        context.flags.has_all(self.needs)
            && !context.flags.has_any(self.unless)
            && self.foreign.as_ref().is_none_or(|package| !context.packages.contains(package))
    }
}

/// The code of a place, and the function that it stands in.
fn facts(file: &File<'_>, id: NodeId) -> BTreeMap<&'static str, Fact> {
    let mut facts = BTreeMap::from([("code", Fact::Text(quoted(file.source(id))))]);
    if let Kind::Function { name, .. } = file.tree.kind(file.function(id)) {
        facts.insert("function", Fact::Text(name.to_string()));
    }
    facts
}

/// One line of code, cut short.
fn quoted(code: &str) -> String {
    let line: String = code.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= MOST_QUOTED {
        return line;
    }
    let kept: String = line.chars().take(MOST_QUOTED).collect();
    format!("{kept}…")
}
