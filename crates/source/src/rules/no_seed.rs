//! `no-seed`: a script that trains and never seeds: the first loss differs.

use super::file::File;
use super::flags::Flags;
use super::hit::Hit;
use super::rule::{Family, SourceRule};
use precision_gate_result::verdict::Severity;

pub(super) const RULE: SourceRule = SourceRule::new("no-seed", Severity::Warn, Family::Comparability);

/// Arguments of trainers that seed by themselves.
const SEEDING: &[&str] = &["TrainingArguments", "Seq2SeqTrainingArguments"];

pub(super) fn find(file: &File<'_>, hits: &mut Vec<Hit>) {
    if !file.trains() {
        return;
    }
    let is_script = file.has_main_guard();
    let is_seeded = file.has_part("seed") || file.has_part("deterministic");
    let trainer = file.tree.ids().any(|id| file.tree.last_name(id).is_some_and(|name| SEEDING.contains(&name)));
    if is_seeded || trainer {
        return;
    }
    let first = file.tree.ids().find(|id| file.method(*id).is_some_and(|(_, name, _)| name == "backward"));
    let hit = first.map(|id| Hit::new(&RULE, id));
    // The loop of a program whose main stands in another file: no file of the tree seeds.
    hits.extend(hit.map(|hit| if is_script { hit } else { hit.needs(Flags::SCRIPT).unless(Flags::SEEDED) }));
}

#[cfg(test)]
mod tests {
    use super::super::testing::lines;

    const LOOP: &str = "\
def main():
    for x in data:
        loss = model(x)
        loss.backward()
        optimizer.step()
";
    const GUARD: &str = "if __name__ == '__main__':\n    main()\n";

    #[test]
    fn only_scripts_that_never_seed_are_found() {
        assert_eq!(lines("no-seed", &format!("{LOOP}{GUARD}")), [4]);
        assert!(lines("no-seed", LOOP).is_empty());
        for seed in [
            "set_seed(1)\n",
            "parser.add_argument('--seed')\n",
            "f(random_seed=1)\n",
            "from transformers import TrainingArguments\nTrainingArguments()\n",
        ] {
            assert!(lines("no-seed", &format!("{seed}{LOOP}{GUARD}")).is_empty(), "{seed}");
        }
    }
}
