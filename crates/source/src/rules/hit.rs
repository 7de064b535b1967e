//! Places that break a rule, before the rest of the tree is known.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::context::Context;
use super::file::File;
use super::flags::Flags;
use super::rule::SourceRule;
use crate::read::{Kind, NodeId};
use precision_gate_result::finding::Fact;
use precision_gate_result::place::Replacement;

/// Characters of a line of code that a finding quotes.
const MOST_QUOTED: usize = 120;

/// Bytes of code that a repair puts anew.
const MOST_REPAIRED: usize = 2_000;

/// A place that breaks a rule, if the rest of the tree is as the rule demands.
#[derive(Debug)]
pub(super) struct Hit {
    /// The rule.
    pub rule: &'static SourceRule,
    /// The place.
    at: NodeId,
    /// Other places that make it one.
    about: Vec<NodeId>,
    /// Facts for its message.
    facts: BTreeMap<&'static str, Fact>,
    /// Weighs less than its rule.
    is_milder: bool,
    /// A node, and the text in its place that repairs it.
    fix: Option<(NodeId, String)>,
    /// Demands on the rest of the tree.
    demands: Demands,
}

/// Demands on the rest of a tree for a place to break a rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Demands {
    /// Facts of the tree that have to hold.
    needs: Flags,
    /// Facts of the tree under which it is none.
    unless: Flags,
    /// Package that has to be another's: one of this name in the tree is its own.
    foreign: Option<String>,
}

impl Hit {
    /// A hit at a node.
    pub(super) fn new(rule: &'static SourceRule, at: NodeId) -> Self {
        let (about, facts, demands) = (Vec::new(), BTreeMap::new(), Demands::default());
        Self { rule, at, about, facts, is_milder: false, fix: None, demands }
    }

    /// Another place that makes it one: a change there is a change of the finding.
    #[must_use]
    pub(super) fn about(mut self, nodes: impl IntoIterator<Item = NodeId>) -> Self {
        self.about.extend(nodes);
        self
    }

    #[must_use]
    pub(super) fn with(mut self, name: &'static str, fact: impl Into<Fact>) -> Self {
        self.facts.insert(name, fact.into());
        self
    }

    #[must_use]
    pub(super) fn needs(mut self, flag: Flags) -> Self {
        self.demands.needs = self.demands.needs.with(flag);
        self
    }

    #[must_use]
    pub(super) fn unless(mut self, flag: Flags) -> Self {
        self.demands.unless = self.demands.unless.with(flag);
        self
    }

    #[must_use]
    pub(super) fn foreign(mut self, package: &str) -> Self {
        self.demands.foreign = Some(package.to_owned());
        self
    }

    #[must_use]
    pub(super) fn milder(mut self, is_milder: bool) -> Self {
        self.is_milder = is_milder;
        self
    }

    /// Offers to put `before` and `after` around a node, unless it is very long.
    #[must_use]
    pub(super) fn wrapped(self, file: &File<'_>, id: NodeId, before: &str, after: &str) -> Self {
        let code = file.source(id);
        if code.len() > MOST_REPAIRED { self } else { self.replaced(id, &format!("{before}{code}{after}")) }
    }

    /// Offers to put `text` in place of a node.
    #[must_use]
    pub(super) fn replaced(mut self, id: NodeId, text: &str) -> Self {
        self.fix = Some((id, text.to_owned()));
        self
    }

    fn placed(self, file: &File<'_>, line: u64) -> Placed {
        let place = |offset: u32| (file.lines.line(offset), file.lines.column(&file.text, offset));
        let fix = self.fix.map(|(id, text)| {
            let node = file.tree.node(id);
            let [(line, column), (end_line, end_column)] = [node.start, node.end].map(place);
            Replacement { line, column, end_line, end_column, text }
        });
        let (_, column) = place(start(file, self.at));
        let facts = facts(file, self.at).into_iter().chain(self.facts).collect();
        let (is_milder, demands) = (self.is_milder, self.demands);
        Placed { rule: self.rule, line, column, lines: Vec::new(), facts, is_milder, fix, demands }
    }
}

/// A line that breaks a rule, if the rest of the tree is as the rule demands.
#[derive(Debug)]
pub(super) struct Placed {
    /// The rule.
    pub rule: &'static SourceRule,
    /// Line, from 1.
    pub line: u64,
    /// Column, from 1, in code points.
    pub column: u64,
    /// First and last lines of what it is about.
    pub lines: Vec<(u64, u64)>,
    /// Facts for its message.
    pub facts: BTreeMap<&'static str, Fact>,
    /// Weighs less than its rule.
    pub is_milder: bool,
    /// Replacement that repairs it.
    pub fix: Option<Replacement>,
    demands: Demands,
}

impl Placed {
    /// A line of a file that is not Python.
    pub(super) fn of_line(rule: &'static SourceRule, line: u64, column: u64, code: &str) -> Self {
        let facts = BTreeMap::from([("code", Fact::Text(quoted(code)))]);
        let lines = vec![(line, line)];
        Self { rule, line, column, lines, facts, is_milder: false, fix: None, demands: Demands::default() }
    }

    #[must_use]
    pub(super) fn unless(mut self, flag: Flags) -> Self {
        self.demands.unless = self.demands.unless.with(flag);
        self
    }

    #[must_use]
    pub(super) fn with(mut self, name: &'static str, fact: impl Into<Fact>) -> Self {
        self.facts.insert(name, fact.into());
        self
    }

    /// Whether it holds in a tree.
    pub(super) fn holds(&self, context: &Context) -> bool {
        let Demands { needs, unless, foreign } = &self.demands;
        context.flags.has_all(*needs)
            && !context.flags.has_any(*unless)
            && foreign.as_ref().is_none_or(|package| !context.packages.contains(package))
    }

    /// Makes one of two on the same line: the weightier stands for both.
    pub(super) fn join(&mut self, mut other: Self) {
        let lines = std::mem::take(&mut self.lines);
        if self.is_milder && !other.is_milder {
            std::mem::swap(self, &mut other);
            self.lines.extend(lines);
        } else {
            self.lines = lines;
            self.lines.extend(other.lines);
        }
    }
}

/// The lines that hits are on, each once.
pub(super) fn placed(file: &File<'_>, hits: Vec<Hit>) -> Vec<Placed> {
    let mut placed: BTreeMap<(u64, &str, Demands), Placed> = BTreeMap::new();
    for hit in hits {
        let line = file.lines.line(start(file, hit.at));
        let lines: Vec<(u64, u64)> =
            std::iter::once(hit.at).chain(hit.about.clone()).map(|id| extent(file, id)).collect();
        let (key, is_milder) = ((line, hit.rule.rule.code, hit.demands.clone()), hit.is_milder);
        // Columns and code of a line are told once: a line may have many hits.
        let slot = placed.entry(key);
        match slot {
            Entry::Occupied(mut slot) if !slot.get().is_milder || is_milder => {
                add_lines(&mut slot.get_mut().lines, lines)
            }
            Entry::Occupied(mut slot) => {
                add_lines(&mut slot.get_mut().lines, lines);
                slot.get_mut().join(hit.placed(file, line));
            }
            Entry::Vacant(slot) => slot.insert(hit.placed(file, line)).lines = lines,
        }
    }
    placed.into_values().collect()
}

/// Adds lines; those that begin where the last ones did are one.
fn add_lines(lines: &mut Vec<(u64, u64)>, added: Vec<(u64, u64)>) {
    for (first, last) in added {
        match lines.last_mut() {
            Some((start, end)) if *start <= first && first <= *end => *end = last.max(*end),
            _ => lines.push((first, last)),
        }
    }
}

/// Start of a place. A method that is called further down its chain has the place of its name: the chain may begin many lines
/// before.
fn start(file: &File<'_>, id: NodeId) -> u32 {
    let node = file.tree.node(id);
    let Kind::Call { function, .. } = &node.kind else { return node.start };
    let Kind::Attribute { name, .. } = file.tree.kind(*function) else { return node.start };
    let length = u32::try_from(name.len()).unwrap_or_default();
    let of_name = file.tree.node(*function).end.saturating_sub(length).max(node.start);
    if file.lines.line(of_name) == file.lines.line(node.start) { node.start } else { of_name }
}

/// First and last line of what a finding at a node is about: its whole statement, of one with a body its head; the whole chain
/// of calls that an expression is part of; of an argument, the call that it is given to.
fn extent(file: &File<'_>, id: NodeId) -> (u64, u64) {
    let node = file.tree.node(subject(file, id));
    let body = match &node.kind {
        Kind::If(branches) => branches.first().and_then(|branch| branch.body.first()),
        Kind::Match { cases, .. } => cases.first(),
        Kind::Function { body, .. }
        | Kind::Class { body, .. }
        | Kind::For { body, .. }
        | Kind::While { body, .. }
        | Kind::With { body, .. }
        | Kind::Try { body, .. } => body.first(),
        _ => None,
    };
    let behind = body.map_or(node.end, |body| file.tree.node(*body).start);
    let code = file.text.get(node.start as usize..behind as usize).unwrap_or_default().trim_end();
    let last = node.start.saturating_add(u32::try_from(code.len()).unwrap_or(u32::MAX));
    (file.lines.line(node.start), file.lines.line(last.saturating_sub(1).max(node.start)))
}

/// The node that a finding at `id` is about.
fn subject(file: &File<'_>, id: NodeId) -> NodeId {
    let is_operand = |kind: &Kind| {
        matches!(
            kind,
            Kind::Conditional { .. }
                | Kind::Logic(_)
                | Kind::Compare { .. }
                | Kind::Unary(_)
                | Kind::Negative(_)
                | Kind::Other
        )
    };
    let is_call = |id: NodeId| matches!(file.tree.kind(id), Kind::Call { .. });
    let mut whole = file.tree.node(id).chain;
    if is_call(id) || is_call(whole) || file.tree.is_statement(whole) {
        return whole;
    }
    for (outer, _) in file.tree.enclosing(id) {
        match file.tree.kind(outer) {
            Kind::Call { .. } => return file.tree.node(outer).chain,
            kind if is_operand(kind) && !file.tree.is_statement(outer) => whole = outer,
            _ => break,
        }
    }
    whole
}

/// The code of a place, and the function that it stands in.
fn facts(file: &File<'_>, id: NodeId) -> BTreeMap<&'static str, Fact> {
    let mut facts = BTreeMap::from([("code", Fact::Text(quoted(file.source(id))))]);
    if let Kind::Function { name, .. } = file.tree.kind(file.function(id)) {
        facts.insert("function", Fact::Text(name.to_string()));
    }
    facts
}

/// One line of code, cut short. The code of a chain is as long as the chain, at each of its links.
fn quoted(code: &str) -> String {
    let mut line = String::new();
    let mut left = MOST_QUOTED;
    for word in code.split_whitespace() {
        let gap = if line.is_empty() { "" } else { " " };
        for letter in gap.chars().chain(word.chars()) {
            if left == 0 {
                return line + "…";
            }
            left -= 1;
            line.push(letter);
        }
    }
    line
}
