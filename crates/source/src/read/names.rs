//! Full names behind the names of a module: what its imports bound them to, by Python's rules of scope.

use std::collections::{HashMap, HashSet};

use super::tree::{Imported, Kind, NodeId, Tree};

/// A name of this file.
const LOCAL: u32 = u32::MAX;
/// A name that nothing in the file binds: built in, or of `from x import *`.
const UNBOUND: u32 = u32::MAX - 1;

/// Scopes of a module, and what its names stand for.
#[derive(Debug)]
pub(super) struct Names {
    /// Per node, its scope.
    scope_of: Vec<u32>,
    scopes: Vec<Scope>,
    /// Places in `scopes`, by their nodes.
    by_node: HashMap<NodeId, u32>,
    /// Per node that is a name, a place in `imports`, or one of the constants above.
    meaning: Vec<u32>,
    /// Full names that imports give a name, by place.
    imports: Vec<Imports>,
    /// Modules all names of which are imported.
    all_of: HashSet<Box<str>>,
}

/// Full names that imports give a name.
#[derive(Debug)]
struct Imports {
    first: Box<str>,
    all: HashSet<Box<str>>,
}

#[derive(Debug)]
struct Scope {
    node: NodeId,
    outer: Option<u32>,
    /// Whether functions in it do not see its names.
    is_class: bool,
    bound: HashMap<Box<str>, u32>,
}

impl Names {
    pub(super) fn from_tree(tree: &Tree) -> Self {
        let module = Scope { node: NodeId::ROOT, outer: None, is_class: false, bound: HashMap::new() };
        let nodes = tree.nodes.len();
        let mut names = Self {
            scope_of: Vec::with_capacity(nodes),
            scopes: vec![module],
            by_node: HashMap::from([(NodeId::ROOT, 0)]),
            meaning: vec![LOCAL; nodes],
            imports: Vec::new(),
            all_of: HashSet::new(),
        };
        names.collect(tree);
        names.resolve(tree);
        names
    }

    /// The function, class, lambda, comprehension or module whose names a node sees first.
    pub(super) fn scope(&self, id: NodeId) -> NodeId {
        let scope = self.scope_of.get(id.0 as usize).and_then(|scope| self.scopes.get(*scope as usize));
        scope.map_or(NodeId::ROOT, |scope| scope.node)
    }

    fn imports(&self, id: NodeId) -> Option<&Imports> {
        let place = self.meaning.get(id.0 as usize).copied().unwrap_or(LOCAL);
        self.imports.get(place as usize)
    }

    /// Whether `full` is a full name that a name stands for.
    pub(super) fn is_imported(&self, id: NodeId, full: &str) -> bool {
        // Nearly every name has one meaning, and is asked about by every rule.
        let is_other = |imports: &Imports| imports.all.len() > 1 && imports.all.contains(full);
        self.imports(id).is_some_and(|imports| &*imports.first == full || is_other(imports))
    }

    /// The first full name that a name stands for; `None` for names of this file.
    pub(super) fn imported(&self, id: NodeId) -> Option<&str> {
        self.imports(id).map(|imports| &*imports.first)
    }

    /// Whether nothing in the file binds a name.
    pub(super) fn is_unbound(&self, id: NodeId) -> bool {
        self.meaning.get(id.0 as usize) == Some(&UNBOUND)
    }

    /// Whether a scope binds a name itself.
    pub(super) fn binds(&self, scope: NodeId, name: &str) -> bool {
        let scope = self.by_node.get(&scope).and_then(|place| self.scopes.get(*place as usize));
        scope.is_some_and(|scope| scope.bound.contains_key(name))
    }

    /// Whether all names of a module are imported.
    pub(super) fn is_all_of(&self, module: &str) -> bool {
        self.all_of.contains(module)
    }

    /// Finds scopes and the names that they bind.
    fn collect(&mut self, tree: &Tree) {
        // Open scopes: from which node on, and the node behind.
        let mut open: Vec<(u32, NodeId, NodeId)> = vec![(0, NodeId::ROOT, tree.node(NodeId::ROOT).behind)];
        for id in tree.ids() {
            while open.len() > 1 && open.last().is_some_and(|(_, _, behind)| id >= *behind) {
                open.pop();
            }
            // Decorators, defaults and bases stand in a definition, and are of the scope around it.
            let inner = open.iter().rev().find(|(_, from, _)| id >= *from);
            let scope = inner.map_or(0, |(scope, _, _)| *scope);
            self.scope_of.push(scope);
            self.bind_all(tree, id, scope);
            let from = match tree.kind(id) {
                Kind::Function { body, .. } | Kind::Class { body, .. } => body.first().copied(),
                Kind::Lambda { body, .. } => Some(*body),
                Kind::Comprehension { .. } => Some(NodeId(id.0 + 1)),
                _ => None,
            };
            let Some(from) = from else { continue };
            let is_class = matches!(tree.kind(id), Kind::Class { .. });
            let inner = u32::try_from(self.scopes.len()).unwrap_or(0);
            self.by_node.insert(id, inner);
            self.scopes.push(Scope { node: id, outer: Some(scope), is_class, bound: HashMap::new() });
            open.push((inner, from, tree.node(id).behind));
            if let Kind::Function { parameters, .. } | Kind::Lambda { parameters, .. } = tree.kind(id) {
                parameters.iter().for_each(|name| self.bind(inner, name, None));
            }
            if let Kind::Comprehension { loops, .. } = tree.kind(id) {
                loops.iter().for_each(|(target, _)| self.bind_target(tree, *target, inner));
            }
        }
    }

    fn bind_all(&mut self, tree: &Tree, id: NodeId, scope: u32) {
        match tree.kind(id) {
            Kind::Function { name, .. } | Kind::Class { name, .. } => self.bind(scope, name, None),
            Kind::Assign { targets, .. } => targets.iter().for_each(|target| self.bind_target(tree, *target, scope)),
            Kind::AugmentedAssign { target, .. } | Kind::For { target, .. } => self.bind_target(tree, *target, scope),
            Kind::Named { target, .. } => {
                let parent = tree.kind(tree.node(id).parent);
                if !matches!(parent, Kind::Function { .. } | Kind::Lambda { .. }) {
                    self.bind_target(tree, *target, scope);
                }
            }
            Kind::With { contexts, body } => {
                let first = body.first().copied().unwrap_or(tree.node(id).behind);
                let parts =
                    tree.within(id).take_while(|part| *part < first).filter(|part| tree.node(*part).parent == id);
                let is_variable = |part: &NodeId| *part != id && contexts.binary_search(part).is_err();
                let variables: Vec<NodeId> = parts.filter(is_variable).collect();
                variables.into_iter().for_each(|target| self.bind_target(tree, target, scope));
            }
            Kind::Import(names) => names.iter().for_each(|name| self.bind_import(name, scope)),
            _ => {}
        }
    }

    fn bind_import(&mut self, name: &Imported, scope: u32) {
        if &*name.bound == "*" {
            self.all_of.extend(name.full.strip_suffix(".*").map(Into::into));
        } else {
            self.bind(scope, &name.bound, Some(&name.stands_for));
        }
    }

    fn bind_target(&mut self, tree: &Tree, target: NodeId, scope: u32) {
        let mut skip = target;
        for id in tree.within(target) {
            match tree.kind(id) {
                _ if id < skip => {}
                Kind::Attribute { .. } | Kind::Subscript { .. } | Kind::Call { .. } => skip = tree.node(id).behind,
                Kind::Name(name) => self.bind(scope, name, None),
                _ => {}
            }
        }
    }

    fn bind(&mut self, scope: u32, name: &str, full: Option<&str>) {
        let Some(scope) = self.scopes.get_mut(scope as usize) else { return };
        let place = scope.bound.get(name).copied();
        match (full, place) {
            (None, Some(_)) => {}
            (None, None) => {
                scope.bound.insert(name.into(), LOCAL);
            }
            (Some(full), Some(place)) if place != LOCAL => {
                let imports = self.imports.get_mut(place as usize);
                imports.into_iter().for_each(|imports| imports.all.extend([Box::from(full)]));
            }
            // A fallback beside an import (`apex = None`) leaves the name the import's.
            (Some(full), _) => {
                scope.bound.insert(name.into(), u32::try_from(self.imports.len()).unwrap_or(LOCAL));
                self.imports.push(Imports { first: full.into(), all: HashSet::from([full.into()]) });
            }
        }
    }

    fn resolve(&mut self, tree: &Tree) {
        for id in tree.ids() {
            let Kind::Name(name) = tree.kind(id) else { continue };
            let first = self.scope_of.get(id.0 as usize).copied().unwrap_or(0);
            let mut scope = Some(first);
            let mut meaning = UNBOUND;
            while let Some((place, here)) = scope.and_then(|place| Some((place, self.scopes.get(place as usize)?))) {
                if let Some(found) = here.bound.get(&**name).filter(|_| place == first || !here.is_class) {
                    meaning = *found;
                    break;
                }
                scope = here.outer;
            }
            if let Some(slot) = self.meaning.get_mut(id.0 as usize) {
                *slot = meaning;
            }
        }
    }
}
