//! One Python file: its text, its tree, its names and its comments.

use super::comments::{Comment, Ignore};
use super::lines::Lines;
use super::names::Names;
use super::tree::{Argument, Kind, NodeId, Tree};
use super::{build, depth, encoding};

/// A file that was read.
#[derive(Debug)]
pub struct Module {
    /// Path below the folder that is judged, `/`-separated.
    pub path: String,
    /// Its text.
    pub text: String,
    /// Its lines.
    pub lines: Lines,
    /// Its nodes.
    pub tree: Tree,
    /// Its comments.
    pub comments: Vec<Comment>,
    names: Names,
}

/// The part of a full name in front of its last name, where that is `name`.
fn in_front_of<'f>(full: &'f str, name: &str) -> Option<&'f str> {
    full.strip_suffix(name)?.strip_suffix('.')
}

/// A file that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// Line of the error, from 1.
    pub line: u64,
    /// Column of the error, from 1.
    pub column: u64,
    /// The reason.
    pub reason: UnreadReason,
}

/// Reason why a file could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnreadReason {
    /// No Python, as the parser says.
    Syntax(String),
    /// A byte that is not of the file's encoding.
    Encoding(String),
    /// An encoding that is not read.
    UnknownEncoding(String),
    /// A NUL byte.
    Nul,
    /// Nested too deep.
    Deep,
    /// Too large.
    Large(u64),
    /// A link that leaves the folder.
    Outside,
    /// The system refused it.
    Refused(String),
}

impl Unread {
    /// A file of which nothing could be read, at its first line.
    pub fn whole_file(reason: UnreadReason) -> Self {
        Self { line: 1, column: 1, reason }
    }
}

impl Module {
    /// Reads the text of a file. The calling thread needs a stack for the nesting that `depth` allows.
    ///
    /// # Errors
    /// The line and the reason where it is no Python text.
    pub fn parse(path: &str, bytes: Vec<u8>) -> Result<Self, Unread> {
        let at = |line, column, reason| Unread { line, column, reason };
        let text = encoding::decode(bytes).map_err(|error| {
            let reason = if error.is_unknown { UnreadReason::UnknownEncoding } else { UnreadReason::Encoding };
            at(error.line, 1, reason(error.encoding))
        })?;
        let lines = Lines::from_text(&text);
        let place = |offset: u32| (lines.line(offset), lines.column(&text, offset));
        if let Some(nul) = memchr::memchr(0, text.as_bytes()) {
            let (line, column) = place(u32::try_from(nul).unwrap_or(u32::MAX));
            return Err(at(line, column, UnreadReason::Nul));
        }
        if let Some(line) = depth::too_deep(&text) {
            return Err(at(line, 1, UnreadReason::Deep));
        }
        let built = build::build(&text);
        if let Some((offset, reason)) = built.error {
            let (line, column) = place(offset);
            return Err(at(line, column, UnreadReason::Syntax(reason)));
        }
        let comments = built.comments.iter().map(|(start, end)| comment(&text, &lines, *start, *end)).collect();
        let names = Names::from_tree(&built.tree);
        Ok(Self { path: path.to_owned(), lines, tree: built.tree, comments, names, text })
    }

    /// Whether a name, attribute or chain of them is `full`: `torch.backends.cudnn.benchmark`, through the file's imports.
    pub fn is_named(&self, id: NodeId, full: &str) -> bool {
        let (mut id, mut rest) = (id, full);
        loop {
            match self.tree.kind(id) {
                Kind::Attribute { value, name } => {
                    let Some(before) = in_front_of(rest, name) else { return false };
                    (id, rest) = (*value, before);
                }
                Kind::Name(name) => {
                    let of_all = || in_front_of(rest, name).is_some_and(|module| self.names.is_all_of(module));
                    return self.names.is_imported(id, rest) || self.names.is_unbound(id) && of_all();
                }
                _ => return false,
            }
        }
    }

    /// Whether it is one of `full`.
    pub fn is_any(&self, id: NodeId, full: &[&str]) -> bool {
        full.iter().any(|full| self.is_named(id, full))
    }

    /// Whether it is a function of Python itself.
    pub fn is_builtin(&self, id: NodeId, builtin: &str) -> bool {
        matches!(self.tree.kind(id), Kind::Name(name) if &**name == builtin) && self.names.is_unbound(id)
    }

    /// Full name, where imports give one.
    pub fn full_name(&self, id: NodeId) -> Option<String> {
        let mut parts = Vec::new();
        let mut id = id;
        loop {
            match self.tree.kind(id) {
                Kind::Attribute { value, name } => {
                    parts.push(&**name);
                    id = *value;
                }
                Kind::Name(_) => {
                    parts.push(self.names.imported(id)?);
                    parts.reverse();
                    return Some(parts.join("."));
                }
                _ => return None,
            }
        }
    }

    /// The function, class, lambda, comprehension or module whose names a node sees first.
    pub fn scope(&self, id: NodeId) -> NodeId {
        self.names.scope(id)
    }

    /// Whether a scope binds a name itself.
    pub fn binds(&self, scope: NodeId, name: &str) -> bool {
        self.names.binds(scope, name)
    }

    /// The function or module that a node runs in: the nearest scope that is no class, lambda or comprehension.
    pub fn function(&self, id: NodeId) -> NodeId {
        let mut scope = self.scope(id);
        while scope != NodeId::ROOT && !matches!(self.tree.kind(scope), Kind::Function { .. }) {
            scope = self.scope(scope);
        }
        scope
    }

    /// Names of all functions and classes around a node, the nearest first.
    pub fn enclosing_names(&self, id: NodeId) -> impl Iterator<Item = &str> {
        self.tree.enclosing(id).filter_map(|(outer, _)| match self.tree.kind(outer) {
            Kind::Function { name, .. } | Kind::Class { name, .. } => Some(&**name),
            _ => None,
        })
    }

    /// The class around a node, whatever functions are between.
    pub fn class(&self, id: NodeId) -> Option<NodeId> {
        self.tree
            .enclosing(id)
            .map(|(outer, _)| outer)
            .find(|outer| matches!(self.tree.kind(*outer), Kind::Class { .. }))
    }

    /// Function and arguments of a call.
    pub fn call(&self, id: NodeId) -> Option<(NodeId, &[Argument])> {
        match self.tree.kind(id) {
            Kind::Call { function, arguments } => Some((*function, arguments)),
            _ => None,
        }
    }

    /// All calls, in the order of the text.
    pub fn calls(&self) -> impl Iterator<Item = (NodeId, NodeId, &[Argument])> {
        self.tree.ids().filter_map(|id| self.call(id).map(|(function, arguments)| (id, function, arguments)))
    }

    /// Text of a node, as it stands in the file.
    pub fn source(&self, id: NodeId) -> &str {
        let node = self.tree.node(id);
        self.text.get(node.start as usize..node.end as usize).unwrap_or_default()
    }

    /// Line of a node, from 1.
    pub fn line(&self, id: NodeId) -> u64 {
        self.lines.line(self.tree.node(id).start)
    }

    /// The text that a text or f-string begins with.
    pub fn text_of(&self, id: NodeId) -> Option<&str> {
        match self.tree.kind(id) {
            Kind::Text(text) | Kind::Format(text) => Some(text),
            _ => None,
        }
    }
}

fn comment(text: &str, lines: &Lines, start: u32, end: u32) -> Comment {
    let line = lines.line(start);
    let whole = lines.text(text, line);
    let body = text.get(start as usize..end as usize).unwrap_or_default();
    Comment {
        line,
        column: lines.column(text, start),
        is_alone: whole.trim_start_matches('\u{feff}').trim_start().starts_with('#'),
        ignore: Ignore::from_comment(body),
    }
}
