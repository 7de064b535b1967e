//! One file as rules see it: its module, with what several of them ask.

use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::ops::Deref;

use super::flags::{self, Flags};
use super::words::VENDOR;
use crate::read::tree::{Argument, Branch};
use crate::read::words::{contains_ignoring_case, has_word};
use crate::read::{Kind, Module, NodeId};

/// Values that a name was assigned, in order, with the statements that did.
type Assigned = HashMap<(NodeId, String), Vec<(NodeId, NodeId)>>;

/// Statements that change what a name holds, with the value or the call.
pub(super) type Casts = HashMap<(NodeId, String), Vec<(NodeId, NodeId)>>;

#[derive(Debug)]
pub(super) struct File<'a> {
    module: &'a Module,
    /// Whether it names NPU, Ascend or HCCL.
    pub(super) npu_flags: Flags,
    is_of_vendor: bool,
    assigned: OnceCell<Assigned>,
    uses: OnceCell<HashMap<(NodeId, String), Vec<NodeId>>>,
    /// Tests that leave a function, by function.
    leaving: OnceCell<HashMap<NodeId, Vec<NodeId>>>,
    casts: OnceCell<Casts>,
    /// Functions and classes that are meant for one vendor's device.
    of_vendor: OnceCell<HashSet<NodeId>>,
    /// The first test of a node that has some words, by the node and these: many places may stand behind it.
    asking: RefCell<HashMap<(NodeId, u64), Option<NodeId>>>,
    /// Hashes words.
    state: RandomState,
}

impl Deref for File<'_> {
    type Target = Module;

    fn deref(&self) -> &Module {
        self.module
    }
}

impl<'a> File<'a> {
    /// The file of a module.
    pub(super) fn new(module: &'a Module) -> Self {
        let is_of_vendor = module.path.split('/').any(is_of_vendor);
        Self {
            module,
            npu_flags: flags::npu_flags(&module.tree),
            is_of_vendor,
            assigned: OnceCell::new(),
            uses: OnceCell::new(),
            leaving: OnceCell::new(),
            casts: OnceCell::new(),
            of_vendor: OnceCell::new(),
            asking: RefCell::default(),
            state: RandomState::new(),
        }
    }

    /// Whether it names NPU, Ascend or HCCL.
    pub(super) fn is_of_npu(&self) -> bool {
        self.npu_flags.has_any(Flags::NPU_FILE)
    }

    /// Whether a place is meant for one vendor's device: its path, class or function says so.
    pub(super) fn is_vendor_place(&self, id: NodeId) -> bool {
        let of_vendor = self.of_vendor.get_or_init(|| {
            let is_meant = |id: &NodeId| match self.tree.kind(*id) {
                Kind::Function { name, .. } | Kind::Class { name, .. } => is_of_vendor(name),
                _ => false,
            };
            self.tree.ids().filter(is_meant).collect()
        });
        self.is_of_vendor || self.tree.enclosing(id).any(|(outer, _)| of_vendor.contains(&outer))
    }

    /// The first test of a node that has one of `words`, as `find` finds it, which is asked once.
    pub(super) fn first_asking(
        &self,
        id: NodeId,
        words: &[&str],
        find: impl FnOnce(NodeId) -> Option<NodeId>,
    ) -> Option<NodeId> {
        let key = (id, self.state.hash_one(words));
        if let Some(known) = self.asking.borrow().get(&key) {
            return *known;
        }
        let found = find(id);
        self.asking.borrow_mut().insert(key, found);
        found
    }

    /// Whether it trains: calls some `backward` and some `step`.
    pub(super) fn trains(&self) -> bool {
        let calls = |wanted: &str| {
            self.calls().any(|(_, function, _)| {
                matches!(self.tree.kind(function), Kind::Attribute { name, .. } if &**name == wanted)
            })
        };
        calls("backward") && calls("step")
    }

    /// Whether it has `if __name__ == "__main__"`.
    pub(super) fn has_main_guard(&self) -> bool {
        self.tree.body(NodeId::ROOT).iter().any(|id| match self.tree.kind(*id) {
            Kind::If(branches) => branches.iter().filter_map(|branch| branch.test).any(|test| {
                let names = |id: NodeId| matches!(self.tree.kind(id), Kind::Name(name) if &**name == "__name__");
                let texts = |id: NodeId| matches!(self.tree.kind(id), Kind::Text(text) if &**text == "__main__");
                self.tree.within(test).any(names) && self.tree.within(test).any(texts)
            }),
            _ => false,
        })
    }

    /// Whether an identifier, keyword or text of the file has `part`, which is in lower case, anywhere in it.
    pub(super) fn has_part(&self, part: &str) -> bool {
        let has = |text: &str| contains_ignoring_case(text, part);
        self.tree.ids().any(|id| match self.tree.kind(id) {
            Kind::Name(text) | Kind::Attribute { name: text, .. } | Kind::Text(text) | Kind::Format(text) => has(text),
            Kind::Import(names) => names.iter().any(|name| has(&name.full) || has(&name.bound)),
            Kind::Function { name, parameters, .. } => has(name) || parameters.iter().any(|name| has(name)),
            Kind::Class { name, .. } => has(name),
            Kind::Call { arguments, .. } => arguments.iter().filter_map(|one| one.name.as_deref()).any(has),
            _ => false,
        })
    }

    /// Pairs of target and value that assignments make, with the assignment; tuples are taken apart.
    pub(super) fn assignments(&self) -> impl Iterator<Item = (NodeId, NodeId, NodeId)> + '_ {
        self.tree.ids().flat_map(|id| self.pairs(id).into_iter().map(move |(target, value)| (id, target, value)))
    }

    /// Pairs of target and value of one assignment; none for any other node. A tuple's parent is its assignment's.
    pub(super) fn assignments_of(&self, id: NodeId) -> Vec<(NodeId, NodeId, NodeId)> {
        let id = match self.tree.kind(id) {
            Kind::Tuple(_) | Kind::List(_) => self.tree.node(id).parent,
            _ => id,
        };
        self.pairs(id).into_iter().map(|(target, value)| (id, target, value)).collect()
    }

    fn pairs(&self, id: NodeId) -> Vec<(NodeId, NodeId)> {
        match self.tree.kind(id) {
            Kind::Assign { targets, value } => targets.iter().flat_map(|target| self.paired(*target, *value)).collect(),
            Kind::Named { target, value } => vec![(*target, *value)],
            _ => Vec::new(),
        }
    }

    fn paired(&self, target: NodeId, value: NodeId) -> Vec<(NodeId, NodeId)> {
        let parts = |id| match self.tree.kind(id) {
            Kind::Tuple(parts) | Kind::List(parts) => Some(parts),
            _ => None,
        };
        match (parts(target), parts(value)) {
            (Some(targets), Some(values)) if targets.len() == values.len() => {
                targets.iter().copied().zip(values.iter().copied()).collect()
            }
            _ => vec![(target, value)],
        }
    }

    /// Key of a name or `self.x`: the scope that holds it, and its text.
    pub(super) fn key(&self, id: NodeId) -> Option<(NodeId, String)> {
        match self.tree.kind(id) {
            Kind::Name(name) => Some((self.scope(id), name.to_string())),
            Kind::Attribute { value, name } => match self.tree.kind(*value) {
                Kind::Name(object) if &**object == "self" => {
                    Some((self.class(id).unwrap_or(NodeId::ROOT), format!("self.{name}")))
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn assigned(&self) -> &Assigned {
        self.assigned.get_or_init(|| {
            let mut assigned = Assigned::new();
            for (id, target, value) in self.assignments() {
                if let Some(key) = self.key(target) {
                    assigned.entry(key).or_default().push((id, value));
                }
            }
            assigned
        })
    }

    /// Uses of a name or `self.x`, by the scope or class that holds it; those that assign it too.
    pub(super) fn uses(&self, key: &(NodeId, String)) -> &[NodeId] {
        let all = self.uses.get_or_init(|| {
            let mut uses: HashMap<(NodeId, String), Vec<NodeId>> = HashMap::new();
            for id in self.tree.ids() {
                let key = match self.tree.kind(id) {
                    Kind::Name(name) => Some((self.holder(id, name), name.to_string())),
                    Kind::Attribute { .. } => self.key(id),
                    _ => None,
                };
                if let Some(key) = key {
                    uses.entry(key).or_default().push(id);
                }
            }
            uses
        });
        all.get(key).map_or(&[], Vec::as_slice)
    }

    /// The scope that binds the name at a place.
    fn holder(&self, id: NodeId, name: &str) -> NodeId {
        let mut scope = self.scope(id);
        while scope != NodeId::ROOT && !self.binds(scope, name) {
            scope = self.scope(scope);
        }
        scope
    }

    /// Tests of a function whose branch leaves it, in the order of the text.
    pub(super) fn leaving_tests(&self, function: NodeId) -> &[NodeId] {
        let all = self.leaving.get_or_init(|| {
            let functions = self.tree.ids().filter(|id| matches!(self.tree.kind(*id), Kind::Function { .. }));
            functions.map(|id| (id, self.find_leaving(id))).filter(|(_, tests)| !tests.is_empty()).collect()
        });
        all.get(&function).map_or(&[], Vec::as_slice)
    }

    fn find_leaving(&self, function: NodeId) -> Vec<NodeId> {
        let statements = self.tree.body(function).iter();
        let branches = statements.filter_map(|statement| match self.tree.kind(*statement) {
            Kind::If(branches) => Some(branches),
            _ => None,
        });
        let leaves = |branch: &&Branch| {
            let last = branch.body.last().map(|last| self.tree.kind(*last));
            matches!(last, Some(Kind::Return(_) | Kind::Raise))
        };
        branches.flatten().filter(leaves).filter_map(|branch| branch.test).collect()
    }

    /// Statements that may change the number format of a name or `self.x`, in order: an assignment, or a method called as a statement.
    pub(super) fn casts(&self) -> &Casts {
        self.casts.get_or_init(|| {
            let mut casts = Casts::new();
            for id in self.tree.ids() {
                let changed = match self.tree.kind(id) {
                    Kind::Assign { .. } => self.pairs(id),
                    Kind::Expression(call) => {
                        self.method(*call).map(|(object, _, _)| (object, *call)).into_iter().collect()
                    }
                    _ => continue,
                };
                for (target, value) in changed {
                    if let Some(key) = self.key(target) {
                        casts.entry(key).or_default().push((id, value));
                    }
                }
            }
            casts
        })
    }

    /// Values that a name or `self.x` is assigned where its use sees it, in order, with their assignments.
    pub(super) fn values(&self, id: NodeId) -> &[(NodeId, NodeId)] {
        let Some((mut scope, name)) = self.key(id) else { return &[] };
        loop {
            if let Some(values) = self.assigned().get(&(scope, name.clone())) {
                return values;
            }
            let outer = self.scope(scope);
            if scope == NodeId::ROOT || outer == scope || self.binds(scope, &name) {
                return &[];
            }
            scope = outer;
        }
    }

    /// The only value of a name; `None` where it has several, or none that the file shows.
    pub(super) fn only_value(&self, id: NodeId) -> Option<NodeId> {
        match self.values(id) {
            [(_, value)] => Some(*value),
            _ => None,
        }
    }

    /// The first argument by position, unless it is unpacked.
    pub(super) fn positional(&self, arguments: &[Argument], place: usize) -> Option<NodeId> {
        let by_place = arguments.iter().take_while(|argument| argument.name.is_none() && !argument.is_unpacked);
        by_place.map(|argument| argument.value).nth(place)
    }

    pub(super) fn keyword(&self, arguments: &[Argument], name: &str) -> Option<NodeId> {
        arguments.iter().find(|argument| argument.name.as_deref() == Some(name)).map(|argument| argument.value)
    }

    /// The argument of a name or a place.
    pub(super) fn argument(&self, arguments: &[Argument], name: &str, place: usize) -> Option<NodeId> {
        self.keyword(arguments, name).or_else(|| self.positional(arguments, place))
    }

    /// A number, also with a sign.
    pub(super) fn number(&self, id: NodeId) -> Option<f64> {
        match self.tree.kind(id) {
            Kind::Number(value) => Some(*value),
            Kind::Negative(operand) => match self.tree.kind(*operand) {
                Kind::Number(value) => Some(-value),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether it is the constant `True`.
    pub(super) fn is_true(&self, id: NodeId) -> bool {
        matches!(self.tree.kind(id), Kind::Boolean(true))
    }

    /// Whether it is the constant `False`.
    pub(super) fn is_false(&self, id: NodeId) -> bool {
        matches!(self.tree.kind(id), Kind::Boolean(false))
    }

    /// Whether it names a device: the text `cuda`, `cuda:0`, one that begins so, or a device made of it.
    pub(super) fn is_device(&self, id: NodeId, device: &str) -> bool {
        if let Some(text) = self.text_of(id) {
            let rest = text.strip_prefix(device);
            return rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'));
        }
        match self.tree.kind(id) {
            Kind::Call { function, arguments } if self.is_named(*function, "torch.device") => {
                self.argument(arguments, "type", 0).is_some_and(|argument| self.is_device(argument, device))
            }
            // `"cuda:%d" % n`, `"cuda:" + str(n)`, `"cuda:{}".format(n)`
            Kind::Binary { left, .. } => self.text_of(*left).is_some() && self.is_device(*left, device),
            Kind::Call { function, .. } => match self.tree.kind(*function) {
                Kind::Attribute { value, name } if &**name == "format" => {
                    self.text_of(*value).is_some() && self.is_device(*value, device)
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// Object and name of a method call.
    pub(super) fn method(&self, id: NodeId) -> Option<(NodeId, &str, &[Argument])> {
        let (function, arguments) = self.call(id)?;
        match self.tree.kind(function) {
            Kind::Attribute { value, name } => Some((*value, name, arguments)),
            _ => None,
        }
    }

    /// The decorator that a node is or is called in, where it is one.
    pub(super) fn decorators(&self) -> impl Iterator<Item = (NodeId, NodeId)> + '_ {
        self.tree.ids().filter_map(|id| match self.tree.kind(id) {
            Kind::Decorator(expression) => match self.tree.kind(*expression) {
                Kind::Call { function, .. } => Some((id, *function)),
                _ => Some((id, *expression)),
            },
            _ => None,
        })
    }

    /// Whether a class holds data by index: a `…Dataset` or `…DataPipe`, or any class with `__getitem__`.
    pub(super) fn is_dataset(&self, class: NodeId) -> bool {
        let Kind::Class { arguments, body, .. } = self.tree.kind(class) else { return false };
        let is_base = |argument: &Argument| {
            let base = match self.tree.kind(argument.value) {
                Kind::Subscript { value, .. } => *value,
                _ => argument.value,
            };
            self.tree.last_name(base).is_some_and(|name| name.ends_with("Dataset") || name.ends_with("DataPipe"))
        };
        let has_items =
            |id: &NodeId| matches!(self.tree.kind(*id), Kind::Function { name, .. } if &**name == "__getitem__");
        arguments.iter().any(is_base) || body.iter().any(has_items)
    }
}

/// Whether a name says that something is meant for one vendor's device.
pub(super) fn is_of_vendor(name: &str) -> bool {
    let is_architecture = |name: &str| {
        name.split(|character: char| !character.is_ascii_alphanumeric()).any(|part| {
            let rest = part.strip_prefix("sm").or_else(|| part.strip_prefix("SM"));
            rest.is_some_and(|rest| rest.len() >= 2 && rest.bytes().take(2).all(|byte| byte.is_ascii_digit()))
        })
    };
    has_word(name, VENDOR) || is_architecture(name)
}
