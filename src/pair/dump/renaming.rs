//! Rules that translate names of the candidate into those of the baseline: prefixes, modules, layers and operations
//! (`docs/dump.md`, Renamed modules).

use std::borrow::Cow;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::read::dump::name::{Direction, OpName};

/// Names of the candidate and the names of the baseline that stand for them, in the order they were given.
pub type NameTranslations = Vec<(String, String)>;

/// Class of the children at the top of a model, as msprobe's layer mapping names it.
const TOP: &str = "TopLayer";

/// MindSpore's interfaces that are called as PyTorch's are.
const MINT: [(&str, &str); 3] =
    [("Mint.", "Torch."), ("MintFunctional.", "Functional."), ("MintDistributed.", "Distributed.")];

/// Rules that translate names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Renaming {
    /// Prefixes of module paths and what replaces them, on both sides.
    pub prefixes: NameTranslations,
    /// Modules: `path.Class`, or any part of it.
    pub modules: NameTranslations,
    /// Children of the modules of a class.
    pub layers: Vec<(String, NameTranslations)>,
    /// Operations: an interface (`Functional.gelu`), or one call (`Functional.gelu.0.forward`).
    pub operations: Vec<RenamedOperation>,
}

/// An operation and the one that stands for it in the baseline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenamedOperation {
    /// The candidate's name.
    pub from: String,
    /// The baseline's name.
    pub to: String,
    /// Places of inputs, results and parameters, by the first part of a row below its operation (`input`); empty where they are
    /// the same on both sides.
    pub places: Vec<(String, NameTranslations)>,
}

impl Renaming {
    /// Whether it holds no rule.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The rule for a forward call of the candidate, which places of its values are listed for.
    pub(crate) fn forward_call(&self, name: &str) -> Option<&RenamedOperation> {
        if self.operations.is_empty() {
            return None;
        }
        let parts = OpName::parse(name);
        let is_forward = parts.direction == Some(Direction::Forward);
        self.operations.iter().find(|rule| is_forward && (rule.from == name || rule.from == parts.base))
    }
}

impl RenamedOperation {
    /// The place in the baseline's call of a value at `place` in the candidate's (`input.0`); `None` for one that the
    /// rule leaves out.
    pub(super) fn place(&self, place: &str) -> Option<String> {
        let (part, rest) = place.split_once('.').unwrap_or((place, ""));
        let Some((_, places)) = self.places.iter().find(|(known, _)| known == part) else {
            return Some(place.to_owned());
        };
        let (index, below) = rest.split_once('.').map_or((rest, ""), |(index, below)| (index, below));
        // Arguments that have a name are called by it.
        let is_listed = part == "parameters" || index.bytes().all(|byte| byte.is_ascii_digit());
        let Some((_, to)) = places.iter().find(|(from, _)| from == index) else {
            return (!is_listed).then(|| place.to_owned());
        };
        Some(if below.is_empty() { format!("{part}.{to}") } else { format!("{part}.{to}.{below}") })
    }
}

/// The name of a module's call, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ModuleName<'a> {
    /// `Module` or `Cell`.
    pub(super) kind: &'a str,
    /// Path in the model.
    pub(super) path: &'a str,
    /// Class; empty where the name has none.
    pub(super) class: &'a str,
}

impl<'a> ModuleName<'a> {
    /// Takes the base of an operation's name apart; `None` for one that is no module's.
    pub(super) fn parse(base: &'a str) -> Option<Self> {
        let (kind, module) = base.split_once('.').filter(|(kind, _)| matches!(*kind, "Module" | "Cell"))?;
        let (path, class) = module.rsplit_once('.').unwrap_or(("", module));
        Some(Self { kind, path, class })
    }
}

/// Applies a module mapping to `path.Class`, as msprobe does: an exact name comes first, otherwise every known part is replaced
/// once, in the order given.
pub(crate) fn rename_module(module: &str, modules: &[(String, String)]) -> String {
    let exact = modules.iter().find(|(from, _)| from == module).map(|(_, to)| to.clone());
    exact.unwrap_or_else(|| {
        let parts = modules.iter().filter(|(from, _)| !from.is_empty());
        parts.fold(module.to_owned(), |text, (from, to)| text.replacen(from.as_str(), to, 1))
    })
}

/// Translates the names of one side by explicit rules.
pub(super) struct Explicit<'a> {
    pub(super) renaming: &'a Renaming,
    /// Whether names are the candidate's; a baseline's only lose their prefixes.
    pub(super) is_candidate: bool,
    /// Whether one side's modules are called `Cell` and the other's `Module`.
    pub(super) is_across_frameworks: bool,
    /// Class of each module of this side, by path.
    pub(super) classes: HashMap<String, String>,
}

impl Explicit<'_> {
    /// The base of a name (`Module.fc.Linear`, `Functional.linear`), translated.
    pub(super) fn base<'b>(&self, base: &'b str) -> Cow<'b, str> {
        match ModuleName::parse(base) {
            Some(name) => self.module(name, base),
            None if self.is_candidate => self.interface(base),
            None => Cow::Borrowed(base),
        }
    }

    fn module<'b>(&self, name: ModuleName<'b>, base: &'b str) -> Cow<'b, str> {
        let kind = if self.is_across_frameworks { "Module" } else { name.kind };
        let mut module = match name.path {
            "" => name.class.to_owned(),
            path => format!("{path}.{}", name.class),
        };
        if self.is_candidate {
            module = self.by_layers(name).unwrap_or(module);
            module = rename_module(&module, &self.renaming.modules);
        }
        let longest = self.renaming.prefixes.iter().filter(|(from, _)| module.starts_with(from.as_str()));
        if let Some((from, to)) = longest.max_by_key(|(from, _)| from.len())
            && let Some(rest) = module.strip_prefix(from.as_str())
        {
            module = format!("{to}{rest}");
        }
        let translated = format!("{kind}.{module}");
        if translated == base { Cow::Borrowed(base) } else { Cow::Owned(translated) }
    }

    /// Follows a path from the top of the model, and renames the children of known classes.
    fn by_layers(&self, name: ModuleName<'_>) -> Option<String> {
        if self.renaming.layers.is_empty() || name.path.is_empty() {
            return None;
        }
        let parts: Vec<&str> = name.path.split('.').collect();
        let (mut at, mut class, mut path) = (0, TOP, Vec::new());
        while let Some(rest) = parts.get(at..).filter(|rest| !rest.is_empty()) {
            let rules =
                self.renaming.layers.iter().filter(|(known, _)| known == class).flat_map(|(_, children)| children);
            let fitting = rules.filter_map(|(from, to)| {
                let from: Vec<&str> = from.split('.').collect();
                rest.starts_with(&from).then_some((from.len(), to.as_str()))
            });
            let (taken, to) = fitting.max_by_key(|(len, _)| *len).unwrap_or((1, rest.first().copied()?));
            path.push(to);
            at += taken;
            let so_far = parts.get(..at).unwrap_or_default().join(".");
            class = self.classes.get(&so_far).map_or("", String::as_str);
        }
        Some(format!("{}.{}", path.join("."), name.class))
    }

    fn interface<'b>(&self, base: &'b str) -> Cow<'b, str> {
        if let Some(rule) = self.renaming.operations.iter().find(|rule| rule.from == base) {
            return Cow::Owned(rule.to.clone());
        }
        let mut mint = MINT.iter().filter(|_| self.is_across_frameworks && !self.renaming.operations.is_empty());
        let known = mint.find_map(|(from, to)| Some(format!("{to}{}", base.strip_prefix(from)?)));
        known.map_or(Cow::Borrowed(base), Cow::Owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> NameTranslations {
        pairs.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect()
    }

    fn explicit(renaming: &Renaming, classes: &[(&str, &str)]) -> impl Fn(&str) -> String {
        let explicit = Explicit {
            renaming: Box::leak(Box::new(renaming.clone())),
            is_candidate: true,
            is_across_frameworks: true,
            classes: classes.iter().map(|(path, class)| ((*path).into(), (*class).into())).collect(),
        };
        move |base| explicit.base(base).into_owned()
    }

    #[test]
    fn layers_rename_the_children_of_a_class() {
        let layers = vec![
            ("TopLayer".into(), pairs(&[("network", "module")])),
            ("Layer".into(), pairs(&[("attention", "self_attention"), ("mlp.mapping", "mlp.fc1")])),
        ];
        let renaming = Renaming { layers, ..Renaming::default() };
        let of = explicit(&renaming, &[("network.layers.0", "Layer"), ("network.layers.0.attention", "Attention")]);
        assert_eq!(
            of("Cell.network.layers.0.attention.dense.Dense"),
            "Module.module.layers.0.self_attention.dense.Dense"
        );
        assert_eq!(of("Cell.network.layers.0.mlp.mapping.Dense"), "Module.module.layers.0.mlp.fc1.Dense");
        assert_eq!(of("Cell.attention.Dense"), "Module.attention.Dense");
    }

    #[test]
    fn interfaces_are_renamed_by_name_and_modules_by_parts() {
        let operation = RenamedOperation { from: "NPU.npu_gelu".into(), to: "Functional.gelu".into(), places: vec![] };
        let modules = pairs(&[("fc1", "up"), ("block.act.Gelu", "mlp.act.GELU")]);
        let renaming = Renaming { operations: vec![operation], modules, ..Renaming::default() };
        let of = explicit(&renaming, &[]);
        assert_eq!(of("NPU.npu_gelu"), "Functional.gelu");
        assert_eq!(of("Mint.add"), "Torch.add");
        assert_eq!(of("Cell.mlp.fc1.Dense"), "Module.mlp.up.Dense");
        assert_eq!(of("Cell.block.act.Gelu"), "Module.mlp.act.GELU");
    }

    #[test]
    fn places_of_a_renamed_call_follow_its_lists() {
        let rule = RenamedOperation {
            places: vec![("input".into(), pairs(&[("0", "1"), ("1", "0")]))],
            ..RenamedOperation::default()
        };
        assert_eq!(rule.place("input.0").as_deref(), Some("input.1"));
        assert_eq!(rule.place("input.1.2").as_deref(), Some("input.0.2"));
        assert_eq!(rule.place("input.2"), None, "left out by the lists");
        assert_eq!(rule.place("input.dim").as_deref(), Some("input.dim"));
        assert_eq!(rule.place("output.0").as_deref(), Some("output.0"));
    }
}
