//! The grammar of operation names (`docs/formats/msprobe-dump.md`, Operation names).
//!
//! ```text
//! api       Functional.linear.0.forward             prefix . name . call . direction
//! module    Module.layers.0.fc.Linear.forward.0     Module . path . class . direction . call
//! gradient  Module.layers.0.fc.Linear.parameters_grad.0      (old files: no call)
//! debug     hidden.0.debug
//! ptdbg     Functional_linear_0_forward             very old files join with `_`
//! ```
//!
//! Reading a name never fails: a name that does not follow the grammar has no direction, and its base is the whole name.

/// Direction in which an operation ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// A forward call.
    Forward,
    /// A backward call.
    Backward,
    /// Gradients of a module's parameters.
    ParametersGradient,
    /// A value saved by hand.
    Debug,
}

/// Parts of an operation's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct OpName<'a> {
    /// The name without call number and direction: `Functional.linear`, `Module.layers.0.fc.Linear`.
    pub base: &'a str,
    /// Number of the call, counted from 0 per name and step; `None` if the name has none.
    pub call: Option<u64>,
    /// Direction in which it ran; `None` if the name does not follow the grammar.
    pub direction: Option<Direction>,
}

/// Whether an operation is a module, whose record repeats those of the operations inside.
pub(crate) fn is_module(name: &str) -> bool {
    ["Module.", "Cell.", "Module_", "Cell_"].iter().any(|start| name.starts_with(start))
}

impl<'a> OpName<'a> {
    /// Name of the called function or class: `linear` for `Functional.linear`, the class for a module.
    pub(crate) fn api(&self) -> &'a str {
        // The last part is short, so that a step for every byte takes less time than a search.
        let dot = self.base.bytes().rposition(|byte| byte == b'.');
        dot.and_then(|dot| self.base.get(dot + 1..)).unwrap_or(self.base)
    }

    /// Name of the called function, of a base whose parts are joined by dots or underscores: `linear` for `Functional_linear` too.
    pub(crate) fn function(&self) -> &'a str {
        match self.base.rsplit_once('.') {
            Some((_, function)) => function,
            None => self.base.split_once('_').map_or(self.base, |(_, function)| function),
        }
    }

    /// The path of a module, such as `layers.2.mlp` for `Module.layers.2.mlp.MLP.forward.0`; `None` for a name of another form.
    pub(crate) fn module_path(&self) -> Option<&'a str> {
        // Behind the path stands the class.
        Some(self.base.split_once('.')?.1.rsplit_once('.')?.0)
    }

    /// The names that the forward call of this call can have: of a function, of a module, and of an old dump.
    pub(crate) fn forward_names(&self) -> [String; 3] {
        let (base, call) = (self.base, self.call.unwrap_or(0));
        [format!("{base}.{call}.forward"), format!("{base}.forward.{call}"), format!("{base}_{call}_forward")]
    }

    /// Splits `name` into its parts.
    pub(crate) fn parse(name: &'a str) -> Self {
        let parsed = Self::parse_joined(name, '.').or_else(|| Self::parse_joined(name, '_'));
        parsed.unwrap_or(Self { base: name, call: None, direction: None })
    }

    fn parse_joined(name: &'a str, separator: char) -> Option<Self> {
        let (head, last) = name.rsplit_once(separator)?;
        if let Some((base, direction)) = last_call(last).and_then(|_| direction_at_end(head, separator)) {
            return Some(Self { base, call: last_call(last), direction: Some(direction) });
        }
        let (before, direction) = direction_at_end(name, separator)?;
        let (base, call) = match before.rsplit_once(separator) {
            Some((base, call)) if direction != Direction::ParametersGradient && last_call(call).is_some() => {
                (base, last_call(call))
            }
            _ => (before, None),
        };
        Some(Self { base, call, direction: Some(direction) })
    }
}

/// Number of a call; `None` if the text is not only digits.
fn last_call(text: &str) -> Option<u64> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

/// Splits a direction off the end of a name.
fn direction_at_end(name: &str, separator: char) -> Option<(&str, Direction)> {
    const WORDS: [(&str, Direction); 4] = [
        ("forward", Direction::Forward),
        ("backward", Direction::Backward),
        ("parameters_grad", Direction::ParametersGradient),
        ("debug", Direction::Debug),
    ];
    WORDS.iter().find_map(|(word, direction)| {
        let base = name.strip_suffix(word)?.strip_suffix(separator)?;
        (!base.is_empty()).then_some((base, *direction))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_every_producer_are_taken_apart() {
        use Direction::{Backward, Debug, Forward, ParametersGradient};
        for (name, base, call, direction) in [
            ("Functional.linear.0.forward", "Functional.linear", Some(0), Some(Forward)),
            ("Tensor.__add__.12.backward", "Tensor.__add__", Some(12), Some(Backward)),
            ("Module.layers.0.fc.Linear.forward.3", "Module.layers.0.fc.Linear", Some(3), Some(Forward)),
            ("Cell.fc.Dense.backward.0", "Cell.fc.Dense", Some(0), Some(Backward)),
            ("Module.fc.Linear.parameters_grad.1", "Module.fc.Linear", Some(1), Some(ParametersGradient)),
            ("Module.layers.0.parameters_grad", "Module.layers.0", None, Some(ParametersGradient)),
            ("hidden_grad.0.debug", "hidden_grad", Some(0), Some(Debug)),
            ("Functional_linear_0_forward", "Functional_linear", Some(0), Some(Forward)),
            ("Tensor___getitem___1_backward", "Tensor___getitem__", Some(1), Some(Backward)),
            ("Module.forward.0", "Module", Some(0), Some(Forward)),
            ("optimizer", "optimizer", None, None),
            (".forward", ".forward", None, None),
            ("", "", None, None),
        ] {
            let parsed = OpName::parse(name);
            assert_eq!((parsed.base, parsed.call, parsed.direction), (base, call, direction), "{name}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_a_name(name in "\\PC*") {
            let _parsed = OpName::parse(&name);
        }
    }
}
