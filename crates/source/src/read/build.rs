//! A module's tree from its text, by the parser of Ruff.
//!
//! The parser's tree is taken apart node by node as it is read: long chains (`a + b + …`, `a.b.c…`, `f()()…`) are as
//! deep in it as they are long, and freeing them as a whole would recurse. Other nesting is bounded by [`depth`](super::depth).

use ruff_python_ast as ast;
use ruff_python_ast::token::TokenKind;
use ruff_python_parser::{Mode, ParseOptions, parse_unchecked};
use ruff_text_size::{Ranged, TextRange};

use super::tree::{Argument, Branch, Comparison, Imported, Kind, Node, NodeId, Operator, Tree};

/// A parsed text.
pub(super) struct Built {
    pub(super) tree: Tree,
    /// Ranges of comments, in order.
    pub(super) comments: Vec<(u32, u32)>,
    /// The first syntax error: its first byte and what is wrong.
    pub(super) error: Option<(u32, String)>,
}

/// Parses `text`, whose depth has been bounded.
pub(super) fn build(text: &str) -> Built {
    let parsed = parse_unchecked(text, ParseOptions::from(Mode::Module));
    let error = parsed.errors().iter().min_by_key(|error| error.location.start());
    let error = error.map(|error| (error.location.start().to_u32(), error.error.to_string()));
    let comments = parsed.tokens().iter().filter(|token| token.kind() == TokenKind::Comment);
    let comments = comments.map(|token| (token.range().start().to_u32(), token.range().end().to_u32())).collect();
    let body = match parsed.into_syntax() {
        ast::Mod::Module(module) => module.body,
        ast::Mod::Expression(_) => thin_suite(),
    };
    let mut builder = Builder { nodes: Vec::new() };
    let root = builder.begin(TextRange::up_to(ruff_text_size::TextSize::of(text)), NodeId::ROOT);
    let body = builder.suite(body, root);
    builder.end(root, Kind::Module { body });
    Built { tree: Tree { nodes: builder.nodes }, comments, error }
}

fn thin_suite() -> ast::Suite {
    ast::Suite::new()
}

struct Builder {
    nodes: Vec<Node>,
}

/// Part of a chain: an expression whose first operand is a chain again, without that operand.
enum Link {
    Binary(Operator, ast::Expr),
    Attribute(ast::name::Name),
    Call(ast::Arguments),
    Subscript(ast::Expr),
}

impl Builder {
    fn begin(&mut self, range: TextRange, parent: NodeId) -> NodeId {
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        let (start, end) = (range.start().to_u32(), range.end().to_u32());
        self.nodes.push(Node { kind: Kind::Other, start, end, parent, behind: id, chain: id });
        id
    }

    fn end(&mut self, id: NodeId, kind: Kind) -> NodeId {
        let behind = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        if let Some(node) = self.nodes.get_mut(id.0 as usize) {
            node.kind = kind;
            node.behind = behind;
        }
        id
    }

    fn leaf(&mut self, range: TextRange, parent: NodeId, kind: Kind) -> NodeId {
        let id = self.begin(range, parent);
        self.end(id, kind)
    }

    fn suite(&mut self, body: ast::Suite, parent: NodeId) -> Vec<NodeId> {
        body.into_iter().map(|statement| self.statement(statement, parent)).collect()
    }

    fn expressions(&mut self, list: impl IntoIterator<Item = ast::Expr>, parent: NodeId) -> Vec<NodeId> {
        list.into_iter().map(|expression| self.expression(expression, parent)).collect()
    }

    fn boxed(&mut self, expression: Option<Box<ast::Expr>>, parent: NodeId) -> Option<NodeId> {
        expression.map(|expression| self.expression(*expression, parent))
    }

    fn decorators(&mut self, list: impl IntoIterator<Item = ast::Decorator>, parent: NodeId) -> Vec<NodeId> {
        let mut decorators = Vec::new();
        for decorator in list {
            let id = self.begin(decorator.range, parent);
            let expression = self.expression(decorator.expression, id);
            decorators.push(self.end(id, Kind::Decorator(expression)));
        }
        decorators
    }

    /// Names of parameters; defaults and annotations become nodes.
    fn parameters(&mut self, parameters: ast::Parameters, parent: NodeId) -> Vec<Box<str>> {
        let ast::Parameters { posonlyargs, args, vararg, kwonlyargs, kwarg, .. } = parameters;
        let mut names = Vec::new();
        let mut take = |parameter: ast::Parameter, builder: &mut Self| {
            names.push(parameter.name.id.as_str().into());
            builder.boxed(parameter.annotation, parent);
        };
        for ast::ParameterWithDefault { parameter, default, range, .. } in
            posonlyargs.into_iter().chain(args).chain(kwonlyargs)
        {
            let name: Box<str> = parameter.name.id.as_str().into();
            take(parameter, self);
            if let Some(default) = default {
                // A default is what the parameter is assigned where a call gives none.
                let id = self.begin(range, parent);
                let target = self.leaf(range, id, Kind::Name(name));
                let value = self.expression(*default, id);
                self.end(id, Kind::Named { target, value });
            }
        }
        for parameter in vararg.into_iter().chain(kwarg) {
            take(*parameter, self);
        }
        names
    }

    fn arguments(&mut self, arguments: ast::Arguments, parent: NodeId) -> Vec<Argument> {
        let ast::Arguments { args, keywords, .. } = arguments;
        let mut list = Vec::new();
        for value in args {
            let is_unpacked = matches!(value, ast::Expr::Starred(_));
            list.push(Argument { name: None, is_unpacked, value: self.expression(value, parent) });
        }
        for ast::Keyword { arg, value, .. } in keywords {
            let name = arg.map(|name| name.id.as_str().into());
            list.push(Argument { is_unpacked: name.is_none(), name, value: self.expression(value, parent) });
        }
        list
    }

    fn statement(&mut self, statement: ast::Stmt, parent: NodeId) -> NodeId {
        use ast::Stmt;
        let id = self.begin(statement.range(), parent);
        let kind = match statement {
            Stmt::FunctionDef(function) => self.function(function, id),
            Stmt::ClassDef(class) => self.class(class, id),
            Stmt::Return(node) => Kind::Return(self.boxed(node.value, id)),
            Stmt::Delete(node) => {
                self.expressions(node.targets, id);
                Kind::Other
            }
            Stmt::Assign(node) => {
                Kind::Assign { targets: self.expressions(node.targets, id), value: self.expression(*node.value, id) }
            }
            Stmt::AugAssign(node) => Kind::AugmentedAssign {
                target: self.expression(*node.target, id),
                operator: operator(node.op),
                value: self.expression(*node.value, id),
            },
            Stmt::AnnAssign(node) => {
                let target = self.expression(*node.target, id);
                self.expression(*node.annotation, id);
                match self.boxed(node.value, id) {
                    Some(value) => Kind::Assign { targets: vec![target], value },
                    None => Kind::Other,
                }
            }
            Stmt::For(node) => {
                let target = self.expression(*node.target, id);
                let iterable = self.expression(*node.iter, id);
                let mut body = self.suite(node.body, id);
                body.extend(self.suite(node.orelse, id));
                Kind::For { target, iterable, body }
            }
            Stmt::While(node) => {
                let test = self.expression(*node.test, id);
                let mut body = self.suite(node.body, id);
                body.extend(self.suite(node.orelse, id));
                Kind::While { test, body }
            }
            Stmt::If(node) => self.branches(node, id),
            Stmt::With(node) => self.with(node, id),
            Stmt::Match(node) => self.cases(node, id),
            Stmt::Raise(node) => {
                self.boxed(node.exc, id);
                self.boxed(node.cause, id);
                Kind::Raise
            }
            Stmt::Try(node) => self.guarded(node, id),
            Stmt::Assert(node) => {
                self.expression(*node.test, id);
                self.boxed(node.msg, id);
                Kind::Assert
            }
            Stmt::Import(node) => Kind::Import(node.names.iter().map(imported).collect()),
            Stmt::ImportFrom(node) => Kind::Import(imported_from(&node)),
            Stmt::Expr(node) => Kind::Expression(self.expression(*node.value, id)),
            Stmt::TypeAlias(node) => {
                self.expression(*node.value, id);
                Kind::Other
            }
            Stmt::Global(_)
            | Stmt::Nonlocal(_)
            | Stmt::Pass(_)
            | Stmt::Break(_)
            | Stmt::Continue(_)
            | Stmt::IpyEscapeCommand(_) => Kind::Other,
        };
        self.end(id, kind)
    }

    fn function(&mut self, function: ast::StmtFunctionDef, id: NodeId) -> Kind {
        let decorators = self.decorators(function.decorator_list, id);
        let parameters = self.parameters(*function.parameters, id);
        self.boxed(function.returns, id);
        let body = self.suite(function.body, id);
        Kind::Function { name: function.name.id.as_str().into(), decorators, parameters, body }
    }

    fn class(&mut self, class: ast::StmtClassDef, id: NodeId) -> Kind {
        let decorators = self.decorators(class.decorator_list, id);
        let arguments = class.arguments.map(|arguments| self.arguments(*arguments, id)).unwrap_or_default();
        let body = self.suite(class.body, id);
        Kind::Class { name: class.name.id.as_str().into(), decorators, arguments, body }
    }

    fn branches(&mut self, node: ast::StmtIf, id: NodeId) -> Kind {
        let test = self.expression(*node.test, id);
        let mut branches = vec![Branch { test: Some(test), body: self.suite(node.body, id) }];
        for clause in node.elif_else_clauses {
            let test = clause.test.map(|test| self.expression(test, id));
            branches.push(Branch { test, body: self.suite(clause.body, id) });
        }
        Kind::If(branches)
    }

    fn with(&mut self, node: ast::StmtWith, id: NodeId) -> Kind {
        let mut contexts = Vec::new();
        for item in node.items {
            let context = self.expression(item.context_expr, id);
            contexts.push(context);
            self.boxed(item.optional_vars, id);
        }
        Kind::With { contexts, body: self.suite(node.body, id) }
    }

    fn cases(&mut self, node: ast::StmtMatch, id: NodeId) -> Kind {
        let subject = self.expression(*node.subject, id);
        let mut cases = Vec::new();
        for case in node.cases {
            self.pattern(case.pattern, id, &mut cases);
            cases.extend(self.boxed(case.guard, id));
            cases.extend(self.suite(case.body, id));
        }
        Kind::Match { subject, cases }
    }

    /// Values that a pattern compares with; the rest of it is no rule's matter.
    fn pattern(&mut self, pattern: ast::Pattern, parent: NodeId, into: &mut Vec<NodeId>) {
        use ast::Pattern;
        match pattern {
            Pattern::MatchValue(node) => into.push(self.expression(*node.value, parent)),
            Pattern::MatchSequence(node) => {
                node.patterns.into_iter().for_each(|pattern| self.pattern(pattern, parent, into));
            }
            Pattern::MatchMapping(node) => {
                into.extend(self.expressions(node.keys, parent));
                node.patterns.into_iter().for_each(|pattern| self.pattern(pattern, parent, into));
            }
            Pattern::MatchClass(node) => {
                into.push(self.expression(*node.cls, parent));
                node.arguments.patterns.into_iter().for_each(|pattern| self.pattern(pattern, parent, into));
                let keywords = node.arguments.keywords.into_iter();
                keywords.for_each(|keyword| self.pattern(keyword.pattern, parent, into));
            }
            Pattern::MatchAs(node) => {
                node.pattern.into_iter().for_each(|pattern| self.pattern(*pattern, parent, into));
            }
            Pattern::MatchOr(node) => {
                node.patterns.into_iter().for_each(|pattern| self.pattern(pattern, parent, into));
            }
            Pattern::MatchSingleton(_) | Pattern::MatchStar(_) => {}
        }
    }

    fn guarded(&mut self, node: ast::StmtTry, id: NodeId) -> Kind {
        let has_handlers = !node.handlers.is_empty();
        let mut body = self.suite(node.body, id);
        for ast::ExceptHandler::ExceptHandler(handler) in node.handlers {
            self.boxed(handler.type_, id);
            body.extend(self.suite(handler.body, id));
        }
        body.extend(self.suite(node.orelse, id));
        body.extend(self.suite(node.finalbody, id));
        Kind::Try { has_handlers, body }
    }

    /// An expression: the chain it is, from the outside to its first operand, and back.
    fn expression(&mut self, expression: ast::Expr, parent: NodeId) -> NodeId {
        use ast::Expr;
        let mut links: Vec<(NodeId, Link)> = Vec::new();
        let (mut rest, mut parent) = (expression, parent);
        let mut inner = loop {
            let range = rest.range();
            let (operand, link) = match rest {
                Expr::BinOp(node) if node.op != ast::Operator::Pow => {
                    (node.left, Link::Binary(operator(node.op), *node.right))
                }
                Expr::Attribute(node) => (node.value, Link::Attribute(node.attr.id)),
                Expr::Call(node) => (node.func, Link::Call(node.arguments)),
                Expr::Subscript(node) => (node.value, Link::Subscript(*node.slice)),
                other => break self.single(other, parent),
            };
            let id = self.begin(range, parent);
            links.push((id, link));
            let whole = links.first().map_or(id, |(whole, _)| *whole);
            if let Some(node) = self.nodes.get_mut(id.0 as usize) {
                node.chain = whole;
            }
            (rest, parent) = (*operand, id);
        };
        while let Some((id, link)) = links.pop() {
            let kind = match link {
                Link::Binary(operator, right) => {
                    Kind::Binary { left: inner, operator, right: self.expression(right, id) }
                }
                Link::Attribute(name) => Kind::Attribute { value: inner, name: name.as_str().into() },
                Link::Call(arguments) => Kind::Call { function: inner, arguments: self.arguments(arguments, id) },
                Link::Subscript(index) => Kind::Subscript { value: inner, index: self.expression(index, id) },
            };
            inner = self.end(id, kind);
        }
        inner
    }

    /// An expression that is no chain.
    fn single(&mut self, expression: ast::Expr, parent: NodeId) -> NodeId {
        use ast::Expr;
        let id = self.begin(expression.range(), parent);
        let kind = match expression {
            Expr::BoolOp(node) => Kind::Logic(self.expressions(node.values, id)),
            Expr::Named(node) => {
                Kind::Named { target: self.expression(*node.target, id), value: self.expression(*node.value, id) }
            }
            Expr::BinOp(node) => {
                let left = self.expression(*node.left, id);
                Kind::Binary { left, operator: operator(node.op), right: self.expression(*node.right, id) }
            }
            Expr::UnaryOp(node) => {
                let operand = self.expression(*node.operand, id);
                if node.op == ast::UnaryOp::USub { Kind::Negative(operand) } else { Kind::Unary(operand) }
            }
            Expr::Lambda(node) => {
                let parameters = node.parameters.map(|parameters| self.parameters(*parameters, id));
                Kind::Lambda { parameters: parameters.unwrap_or_default(), body: self.expression(*node.body, id) }
            }
            Expr::If(node) => {
                // In the order of the text.
                let body = self.expression(*node.body, id);
                let test = self.expression(*node.test, id);
                Kind::Conditional { test, body, otherwise: self.expression(*node.orelse, id) }
            }
            Expr::Dict(node) => Kind::Dict(self.items(node, id)),
            Expr::Set(node) => Kind::Set(self.expressions(node.elts, id)),
            Expr::List(node) => Kind::List(self.expressions(node.elts, id)),
            Expr::Tuple(node) => Kind::Tuple(self.expressions(node.elts, id)),
            Expr::ListComp(node) => self.comprehension([Some(node.elt), None], node.generators, false, id),
            Expr::SetComp(node) => self.comprehension([Some(node.elt), None], node.generators, true, id),
            Expr::Generator(node) => self.comprehension([Some(node.elt), None], node.generators, false, id),
            Expr::DictComp(node) => self.comprehension([node.key, Some(node.value)], node.generators, false, id),
            Expr::Compare(node) => {
                let mut operands = vec![self.expression(*node.left, id)];
                operands.extend(self.expressions(node.comparators, id));
                Kind::Compare { operands, comparisons: node.ops.iter().map(comparison).collect() }
            }
            Expr::Await(node) => self.other(Some(node.value), id),
            Expr::Yield(node) => self.other(node.value, id),
            Expr::YieldFrom(node) => self.other(Some(node.value), id),
            Expr::Starred(node) => self.other(Some(node.value), id),
            Expr::Slice(node) => {
                for part in [node.lower, node.upper, node.step] {
                    self.boxed(part, id);
                }
                Kind::Slice
            }
            Expr::FString(node) => self.format(node.value.elements().cloned().collect(), leading(&node.value), id),
            Expr::TString(node) => self.format(node.value.elements().cloned().collect(), String::new(), id),
            Expr::StringLiteral(node) => Kind::Text(node.value.to_str().into()),
            Expr::NumberLiteral(node) => match node.value {
                ast::Number::Float(value) => Kind::Number(value),
                ast::Number::Int(value) => value.to_string().parse().map_or(Kind::Other, Kind::Number),
                ast::Number::Complex { .. } => Kind::Other,
            },
            Expr::BooleanLiteral(node) => Kind::Boolean(node.value),
            Expr::NoneLiteral(_) => Kind::None,
            Expr::Name(node) => Kind::Name(node.id.as_str().into()),
            _ => Kind::Other,
        };
        self.end(id, kind)
    }

    fn other(&mut self, value: Option<Box<ast::Expr>>, id: NodeId) -> Kind {
        self.boxed(value, id);
        Kind::Other
    }

    fn items(&mut self, node: ast::ExprDict, id: NodeId) -> Vec<(Option<NodeId>, NodeId)> {
        let mut items = Vec::new();
        for item in node.items {
            let key = item.key.map(|key| self.expression(key, id));
            items.push((key, self.expression(item.value, id)));
        }
        items
    }

    fn comprehension(
        &mut self,
        elements: [Option<Box<ast::Expr>>; 2],
        generators: Vec<ast::Comprehension>,
        is_set: bool,
        id: NodeId,
    ) -> Kind {
        let elements = elements.into_iter().flatten().map(|element| self.expression(*element, id)).collect();
        let mut loops = Vec::new();
        for generator in generators {
            let target = self.expression(generator.target, id);
            loops.push((target, self.expression(generator.iter, id)));
            self.expressions(generator.ifs, id);
        }
        Kind::Comprehension { is_set, elements, loops }
    }

    /// An f-string: its values become nodes. Its expressions nest as its brackets do.
    fn format(&mut self, elements: Vec<ast::InterpolatedStringElement>, leading: String, id: NodeId) -> Kind {
        for element in elements {
            if let ast::InterpolatedStringElement::Interpolation(value) = element {
                self.expression(*value.expression, id);
                let inner = value.format_spec.map(|spec| spec.elements.iter().cloned().collect()).unwrap_or_default();
                self.format(inner, String::new(), id);
            }
        }
        Kind::Format(leading.into())
    }
}

/// The text that an f-string begins with.
fn leading(value: &ast::FStringValue) -> String {
    let mut text = String::new();
    for part in value {
        match part {
            ast::FStringPart::Literal(literal) => text.push_str(&literal.value),
            ast::FStringPart::FString(format) => {
                for element in &*format.elements {
                    match element {
                        ast::InterpolatedStringElement::Literal(literal) => text.push_str(&literal.value),
                        ast::InterpolatedStringElement::Interpolation(_) => return text,
                    }
                }
            }
        }
    }
    text
}

fn operator(operator: ast::Operator) -> Operator {
    match operator {
        ast::Operator::Add => Operator::Add,
        ast::Operator::Sub => Operator::Subtract,
        ast::Operator::Div => Operator::Divide,
        ast::Operator::Pow => Operator::Power,
        ast::Operator::Mod => Operator::Modulo,
        ast::Operator::BitAnd => Operator::And,
        ast::Operator::BitOr => Operator::Or,
        ast::Operator::BitXor => Operator::Xor,
        _ => Operator::Other,
    }
}

fn comparison(operator: &ast::CmpOp) -> Comparison {
    match operator {
        ast::CmpOp::Eq | ast::CmpOp::NotEq => Comparison::Equal,
        ast::CmpOp::In | ast::CmpOp::NotIn => Comparison::In,
        _ => Comparison::Other,
    }
}

/// `import a.b` binds `a`, `import a.b as c` binds the whole.
fn imported(alias: &ast::Alias) -> Imported {
    let full = alias.name.id.as_str();
    let first = full.split('.').next().unwrap_or(full);
    match &alias.asname {
        Some(name) => Imported { full: full.into(), bound: name.id.as_str().into(), stands_for: full.into() },
        None => Imported { full: full.into(), bound: first.into(), stands_for: first.into() },
    }
}

fn imported_from(node: &ast::StmtImportFrom) -> Vec<Imported> {
    let dots = ".".repeat(usize::try_from(node.level).unwrap_or(0).min(100));
    let module = node.module.as_ref().map_or("", |module| module.id.as_str());
    let dot = if module.is_empty() { "" } else { "." };
    let name = |alias: &ast::Alias| {
        let full: Box<str> = format!("{dots}{module}{dot}{}", alias.name.id.as_str()).into();
        let bound = alias.asname.as_ref().unwrap_or(&alias.name).id.as_str();
        Imported { bound: bound.into(), stands_for: full.clone(), full }
    };
    node.names.iter().map(name).collect()
}
