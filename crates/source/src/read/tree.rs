//! A module as one flat list of nodes.
//!
//! Nodes stand in the order of their text, a node before everything in it, so that what is in a node is the range of
//! nodes behind it, and nothing here recurses, however long a chain is.

use super::words::has_word;

/// Place of a node in its tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(super) u32);

impl NodeId {
    /// The module itself.
    pub const ROOT: Self = Self(0);

    fn index(self) -> usize {
        self.0 as usize
    }
}

/// One node.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its kind, with its parts.
    pub kind: Kind,
    /// First byte.
    pub start: u32,
    /// Byte behind the last one.
    pub end: u32,
    /// The node that it is a part of; of the module, itself.
    pub parent: NodeId,
    /// The node behind everything in it.
    pub(super) behind: NodeId,
    /// The whole of the chain that it is a link of (`a + b + …`, `a.b().c`); of any other node, itself.
    pub chain: NodeId,
}

/// Binary operators that rules know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `/`
    Divide,
    /// `**`
    Power,
    /// `%`
    Modulo,
    /// `&`
    And,
    /// `|`
    Or,
    /// `^`
    Xor,
    /// Any other.
    Other,
}

/// Comparisons that rules know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `==` or `!=`
    Equal,
    /// `in` or `not in`
    In,
    /// Any other.
    Other,
}

/// One argument of a call or class.
#[derive(Clone, Debug)]
pub struct Argument {
    /// Name of a keyword; `None` by position and for `**`.
    pub name: Option<Box<str>>,
    /// Whether it is `*x` or `**x`.
    pub is_unpacked: bool,
    /// Its value.
    pub value: NodeId,
}

/// One branch of an `if` statement.
#[derive(Clone, Debug)]
pub struct Branch {
    /// Its condition; `None` for `else`.
    pub test: Option<NodeId>,
    /// Its statements.
    pub body: Vec<NodeId>,
}

/// One name that an import binds.
#[derive(Clone, Debug)]
pub struct Imported {
    /// Full name of what is imported: `torch.nn.functional`, `.local` for a relative one; `torch.*` for all names of a module.
    pub full: Box<str>,
    /// Name that it is bound to; `*` for all names of a module.
    pub bound: Box<str>,
    /// Full name of what the bound name stands for: `torch` for `import torch.nn`.
    pub stands_for: Box<str>,
}

/// Kind of a node.
#[derive(Clone, Debug)]
pub enum Kind {
    /// The whole file.
    Module {
        /// Statements.
        body: Vec<NodeId>,
    },
    /// `def`
    Function {
        /// Name.
        name: Box<str>,
        /// Decorators.
        decorators: Vec<NodeId>,
        /// Names of parameters.
        parameters: Vec<Box<str>>,
        /// Statements.
        body: Vec<NodeId>,
    },
    /// `class`
    Class {
        /// Name.
        name: Box<str>,
        /// Decorators.
        decorators: Vec<NodeId>,
        /// Bases and keywords.
        arguments: Vec<Argument>,
        /// Statements.
        body: Vec<NodeId>,
    },
    /// `@x`
    Decorator(NodeId),
    /// `return`
    Return(Option<NodeId>),
    /// `x = y = value`, also with an annotation
    Assign {
        /// Targets.
        targets: Vec<NodeId>,
        /// Value.
        value: NodeId,
    },
    /// `x += value`
    AugmentedAssign {
        /// Target.
        target: NodeId,
        /// Operator.
        operator: Operator,
        /// Value.
        value: NodeId,
    },
    /// `for`
    For {
        /// Loop variable.
        target: NodeId,
        /// Value that is looped over.
        iterable: NodeId,
        /// Statements, of `else` too.
        body: Vec<NodeId>,
    },
    /// `while`
    While {
        /// Condition.
        test: NodeId,
        /// Statements, of `else` too.
        body: Vec<NodeId>,
    },
    /// `if`
    If(Vec<Branch>),
    /// `with`
    With {
        /// Contexts.
        contexts: Vec<NodeId>,
        /// Statements.
        body: Vec<NodeId>,
    },
    /// `match`
    Match {
        /// Value that is matched.
        subject: NodeId,
        /// Patterns, guards and statements.
        cases: Vec<NodeId>,
    },
    /// `raise`
    Raise,
    /// `try`
    Try {
        /// Whether it handles any exception.
        has_handlers: bool,
        /// All its statements.
        body: Vec<NodeId>,
    },
    /// `assert`
    Assert,
    /// `import x` and `from x import y`
    Import(Vec<Imported>),
    /// `x` as a statement
    Expression(NodeId),
    /// `a and b`, `a or b`
    Logic(Vec<NodeId>),
    /// `x := value`
    Named {
        /// Target.
        target: NodeId,
        /// Value.
        value: NodeId,
    },
    /// `a + b`
    Binary {
        /// Left operand.
        left: NodeId,
        /// Operator.
        operator: Operator,
        /// Right operand.
        right: NodeId,
    },
    /// `-x`
    Negative(NodeId),
    /// `not x`, `~x`, `+x`
    Unary(NodeId),
    /// `lambda`
    Lambda {
        /// Names of parameters.
        parameters: Vec<Box<str>>,
        /// Its value.
        body: NodeId,
    },
    /// `a if test else b`
    Conditional {
        /// Condition.
        test: NodeId,
        /// Value where it holds.
        body: NodeId,
        /// Value where it does not.
        otherwise: NodeId,
    },
    /// `{key: value}`
    Dict(Vec<(Option<NodeId>, NodeId)>),
    /// `{a, b}`
    Set(Vec<NodeId>),
    /// `[a, b]`
    List(Vec<NodeId>),
    /// `a, b`
    Tuple(Vec<NodeId>),
    /// `[x for x in y]` and the like
    Comprehension {
        /// Whether it makes a set.
        is_set: bool,
        /// Results of each step.
        elements: Vec<NodeId>,
        /// Loop variables and what they loop over.
        loops: Vec<(NodeId, NodeId)>,
    },
    /// `a == b`
    Compare {
        /// Operands.
        operands: Vec<NodeId>,
        /// Comparisons between them.
        comparisons: Vec<Comparison>,
    },
    /// `f(x)`
    Call {
        /// The function.
        function: NodeId,
        /// Arguments.
        arguments: Vec<Argument>,
    },
    /// `x.name`
    Attribute {
        /// The object.
        value: NodeId,
        /// Name of the attribute.
        name: Box<str>,
    },
    /// `x[index]`
    Subscript {
        /// The object.
        value: NodeId,
        /// Index or slice.
        index: NodeId,
    },
    /// `a:b`
    Slice,
    /// A name.
    Name(Box<str>),
    /// A text.
    Text(Box<str>),
    /// An f-string; the text that it begins with.
    Format(Box<str>),
    /// A number without a sign.
    Number(f64),
    /// `True` and `False`
    Boolean(bool),
    /// `None`
    None,
    /// Anything else.
    Other,
}

/// Nodes of a test that are looked at: many places may stand behind one.
const MOST_OF_TEST: usize = 2_000;

/// The nodes of a module.
#[derive(Debug)]
pub struct Tree {
    pub(super) nodes: Vec<Node>,
}

impl Tree {
    /// A node.
    ///
    /// # Panics
    /// Never: ids come from this tree alone, and its root is always there.
    pub fn node(&self, id: NodeId) -> &Node {
        let root = self.nodes.first();
        self.nodes.get(id.index()).or(root).expect("invariant: a tree has a root")
    }

    /// Kind of a node.
    pub fn kind(&self, id: NodeId) -> &Kind {
        &self.node(id).kind
    }

    /// All nodes in the order of the text.
    pub fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)).map(NodeId)
    }

    /// A node and all nodes in it.
    pub fn within(&self, id: NodeId) -> impl Iterator<Item = NodeId> + use<> {
        (id.0..self.node(id).behind.0).map(NodeId)
    }

    /// Whether `part` is `whole` or in it.
    pub fn contains(&self, whole: NodeId, part: NodeId) -> bool {
        whole <= part && part < self.node(whole).behind
    }

    /// The nodes around a node, the nearest first, each with the part of it that holds the node.
    pub fn around(&self, id: NodeId) -> impl Iterator<Item = (NodeId, NodeId)> + '_ {
        let mut inner = id;
        std::iter::from_fn(move || {
            if inner == NodeId::ROOT {
                return None;
            }
            let outer = self.node(inner).parent;
            let step = (outer, inner);
            inner = outer;
            Some(step)
        })
    }

    /// As [`around`](Self::around), with each chain in one step: as many steps as there are blocks and brackets.
    pub fn enclosing(&self, id: NodeId) -> impl Iterator<Item = (NodeId, NodeId)> + '_ {
        let mut inner = id;
        std::iter::from_fn(move || {
            let whole = self.node(inner).chain;
            if whole == NodeId::ROOT {
                return None;
            }
            let step = (self.node(whole).parent, whole);
            inner = step.0;
            Some(step)
        })
    }

    /// Last part of a name: `c` of `a.b.c`.
    pub fn last_name(&self, id: NodeId) -> Option<&str> {
        match self.kind(id) {
            Kind::Name(name) | Kind::Attribute { name, .. } => Some(name),
            _ => None,
        }
    }

    /// Whether an identifier, keyword or text in a test has one of `words`; of a longer one its beginning is looked at.
    pub fn mentions(&self, id: NodeId, words: &[&str]) -> bool {
        self.within(id).take(MOST_OF_TEST).any(|id| self.says(id, words))
    }

    /// Whether the node itself, and not what is in it, has one of `words`.
    pub fn says(&self, id: NodeId, words: &[&str]) -> bool {
        match self.kind(id) {
            Kind::Name(text) | Kind::Text(text) | Kind::Format(text) => has_word(text, words),
            Kind::Attribute { name, .. } => has_word(name, words),
            Kind::Call { arguments, .. } => {
                arguments.iter().filter_map(|argument| argument.name.as_deref()).any(|name| has_word(name, words))
            }
            _ => false,
        }
    }

    /// Whether a node is a statement, or a decorator of one.
    pub fn is_statement(&self, id: NodeId) -> bool {
        matches!(
            self.kind(id),
            Kind::Module { .. }
                | Kind::Function { .. }
                | Kind::Class { .. }
                | Kind::Decorator(_)
                | Kind::Return(_)
                | Kind::Assign { .. }
                | Kind::AugmentedAssign { .. }
                | Kind::For { .. }
                | Kind::While { .. }
                | Kind::If(_)
                | Kind::With { .. }
                | Kind::Match { .. }
                | Kind::Raise
                | Kind::Try { .. }
                | Kind::Assert
                | Kind::Import(_)
                | Kind::Expression(_)
        )
    }

    /// Statements of a function, class or module.
    pub fn body(&self, id: NodeId) -> &[NodeId] {
        match self.kind(id) {
            Kind::Module { body }
            | Kind::Function { body, .. }
            | Kind::Class { body, .. }
            | Kind::For { body, .. }
            | Kind::While { body, .. }
            | Kind::With { body, .. }
            | Kind::Try { body, .. } => body,
            _ => &[],
        }
    }
}
