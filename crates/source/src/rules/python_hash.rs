//! `python-hash`: `hash()` of a text, which differs from process to process.

use super::file::File;
use super::hit::Hit;
use super::random::{is_seed_name, target_name};
use super::rule::{Family, SourceRule};
use crate::read::tree::Operator;
use crate::read::{Kind, NodeId};
use precision_gate_result::verdict::Severity;

pub(super) const RULE: SourceRule = SourceRule::new("python-hash", Severity::Warn, Family::Comparability);

pub(super) fn find(file: &File<'_>, hits: &mut Vec<Hit>) {
    for (id, function, arguments) in file.calls() {
        let is_number = file.positional(arguments, 0).is_some_and(|value| is_number(file, value));
        if !file.is_builtin(function, "hash") || is_number || file.enclosing_names(id).any(|name| name == "__hash__") {
            continue;
        }
        hits.extend(used_as_number(file, id).map(|place| Hit::new(&RULE, place)));
    }
}

/// Whether a value is a number, whose hash is itself.
fn is_number(file: &File<'_>, id: NodeId) -> bool {
    let is_int = |function: NodeId| file.is_builtin(function, "int") || file.is_builtin(function, "len");
    file.number(id).is_some() || file.call(id).is_some_and(|(function, _)| is_int(function))
}

/// Operations and calls around a hash that are looked at.
const MOST_STEPS: usize = 20;

/// The operation that takes a hash as a number, or the seed that it becomes.
fn used_as_number(file: &File<'_>, id: NodeId) -> Option<NodeId> {
    let mut is_direct = true;
    for (outer, inner) in file.tree.around(id).take(MOST_STEPS) {
        match file.tree.kind(outer) {
            Kind::Binary { left, operator: Operator::Modulo | Operator::And, .. } if is_direct && *left == inner => {
                return Some(outer);
            }
            Kind::Binary { operator: Operator::And, .. } if is_direct => return Some(outer),
            Kind::Call { function, arguments } if *function != inner => {
                let is_seed = arguments.iter().any(|argument| {
                    argument.value == inner
                        && argument
                            .name
                            .as_deref()
                            .map_or_else(|| file.tree.last_name(*function).is_some_and(is_seed_name), is_seed_name)
                });
                if is_seed {
                    // The value of a keyword; of a call that seeds, the call.
                    let seeds = file.tree.last_name(*function).is_some_and(is_seed_name);
                    return Some(if seeds { outer } else { inner });
                }
                is_direct &= file.is_builtin(*function, "abs") || file.is_builtin(*function, "int");
            }
            Kind::Assign { targets, .. } => {
                let is_seed = targets.iter().any(|target| target_name(file, *target).is_some_and(is_seed_name));
                return is_seed.then_some(outer);
            }
            Kind::Binary { .. } | Kind::Conditional { .. } | Kind::Unary(_) | Kind::Negative(_) => is_direct = false,
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::testing::lines;

    #[test]
    fn hashes_that_become_numbers_are_found() {
        let code = "\
a = hash(text) % 8
b = abs(hash(text)) % n
c = hash((x, y)) & 0xff
d = int(abs(hash(text))) % n
seed = hash(name)
torch.manual_seed(hash(name))
f(seed=base + hash(name))
";
        assert_eq!(lines("python-hash", code), [1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn keys_numbers_and_other_hashes_are_silent() {
        for code in [
            "class A:\n    def __hash__(self):\n        return hash(self.x) % 8\n",
            "cache[hash(x)] = 1\n",
            "key = hash(x)\n",
            "a = hash(3) % 2\n",
            "hash = lambda x: 3\na = hash(x) % 2\n",
            "from zlib import crc32 as hash\na = hash(x) % 2\n",
            "a = 7 % hash(x)\n",
        ] {
            assert!(lines("python-hash", code).is_empty(), "{code}");
        }
    }
}
