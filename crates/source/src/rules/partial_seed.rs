//! `partial-seed`: one generator is seeded, another is drawn from.

use std::collections::BTreeSet;

use super::file::File;
use super::hit::Hit;
use super::random::{Generator, drawn, is_seed_name, seeded, target_name};
use super::rule::{Family, SourceRule};
use crate::read::{Kind, NodeId};
use precision_gate_result::verdict::Severity;

pub(super) const RULE: SourceRule = SourceRule::new("partial-seed", Severity::Warn, Family::Comparability);

pub(super) fn find(file: &File<'_>, hits: &mut Vec<Hit>) {
    let seeds: Vec<(NodeId, Generator)> =
        file.calls().filter_map(|(id, function, _)| Some((id, seeded(file, function)?))).collect();
    if seeds.is_empty() || seeds_all(file) {
        return;
    }
    let all: BTreeSet<Generator> = seeds.iter().map(|(_, generator)| *generator).collect();
    let is_whole = file.has_main_guard() || seeds.iter().any(|(id, _)| file.function(*id) == NodeId::ROOT);
    let functions: BTreeSet<NodeId> = seeds.iter().map(|(id, _)| file.function(*id)).collect();
    for generator in Generator::ALL.into_iter().filter(|generator| !all.contains(generator)) {
        let draws = |id: &NodeId| {
            drawn(file, *id) == Some(generator)
                && (is_whole || functions.contains(&file.function(*id)))
                && !makes_seed(file, *id)
        };
        let first = file.tree.ids().find(draws);
        hits.extend(first.map(|id| {
            let names: Vec<&str> = all.iter().map(|generator| generator.name()).collect();
            Hit::new(&RULE, id)
                .with("seeded", names.join(", "))
                .with("unseeded", generator.name())
                .with("seeding", generator.seeding())
        }));
    }
}

/// Whether the file calls a function that seeds several generators: `set_seed`, `seed_everything`.
fn seeds_all(file: &File<'_>) -> bool {
    file.calls().any(|(_, function, _)| {
        let is_named = file.tree.last_name(function).is_some_and(|name| {
            is_seed_name(name) && !matches!(name, "seed" | "manual_seed" | "manual_seed_all" | "initial_seed")
        });
        is_named && seeded(file, function).is_none() && !is_defined_here(file, function)
    })
}

/// Whether a name is a function of this file: what it seeds, the file shows.
fn is_defined_here(file: &File<'_>, function: NodeId) -> bool {
    let Kind::Name(wanted) = file.tree.kind(function) else { return false };
    file.tree.ids().any(|id| matches!(file.tree.kind(id), Kind::Function { name, .. } if name == wanted))
}

/// Whether a draw is of a seed itself: `seed = seed or random.randint(…)`.
fn makes_seed(file: &File<'_>, id: NodeId) -> bool {
    file.tree.enclosing(id).any(|(outer, inner)| match file.tree.kind(outer) {
        Kind::Assign { targets, value } => {
            *value == inner && targets.iter().any(|target| target_name(file, *target).is_some_and(is_seed_name))
        }
        Kind::Named { target, value } => *value == inner && target_name(file, *target).is_some_and(is_seed_name),
        Kind::Call { function, arguments } => {
            let is_keyword = arguments
                .iter()
                .any(|argument| argument.value == inner && argument.name.as_deref().is_some_and(is_seed_name));
            is_keyword || file.tree.last_name(*function).is_some_and(is_seed_name) && *function != inner
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::lines;

    #[test]
    fn draws_of_an_unseeded_generator_are_found() {
        let head = "import random, torch\nimport numpy as np\nfrom random import shuffle\n";
        for (body, expected) in [
            ("torch.manual_seed(1)\nnp.random.rand()\nnp.random.rand()\n", vec![5]),
            ("torch.manual_seed(1)\ndef f():\n    shuffle(x)\n", vec![6]),
            ("def f():\n    random.seed(1)\n    torch.randn(2)\n", vec![6]),
            ("def f():\n    random.seed(1)\ndef g():\n    torch.randn(2)\n", vec![]),
            (
                "def f():\n    random.seed(1)\ndef g():\n    torch.randn(2)\nif __name__ == '__main__':\n    g()\n",
                vec![7],
            ),
            ("torch.manual_seed(1)\nnp.random.seed(1)\nnp.random.rand()\nrandom.random()\n", vec![7]),
        ] {
            assert_eq!(lines("partial-seed", &format!("{head}{body}")), expected, "{body}");
        }
    }

    #[test]
    fn full_seeds_and_own_generators_are_silent() {
        let head = "import random, torch\nimport numpy as np\nfrom accelerate.utils import set_seed\n";
        for body in [
            "torch.manual_seed(1)\nrng = np.random.default_rng(1)\nrng.random()\nr = random.Random(1)\nr.random()\n",
            "set_seed(1)\ntorch.manual_seed(1)\nnp.random.rand()\n",
            "seed = args.seed or random.randint(0, 9)\ntorch.manual_seed(seed)\n",
            "torch.manual_seed(random.randint(0, 9))\n",
            "np.random.rand()\n",
            "random.seed(1)\ntorch.randn(2, generator=g)\n",
        ] {
            assert!(lines("partial-seed", &format!("{head}{body}")).is_empty(), "{body}");
        }
    }
}
