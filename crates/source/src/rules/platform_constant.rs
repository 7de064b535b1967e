//! `platform-constant`: a constant of the algorithm depends on the platform.

use super::file::File;
use super::hit::Hit;
use super::platform::choices;
use super::rule::{Family, SourceRule};
use crate::read::words::has_word;
use precision_gate_result::verdict::Severity;

pub(super) const RULE: SourceRule = SourceRule::new("platform-constant", Severity::Fail, Family::Numerics);

/// Parts of names of constants that change what is computed.
const NAMES: &[&str] = &[
    "eps",
    "epsilon",
    "lr",
    "learning_rate",
    "weight_decay",
    "momentum",
    "beta",
    "temperature",
    "scale",
    "clip",
    "max_norm",
    "max_grad_norm",
    "label_smoothing",
    "dropout",
    "warmup_steps",
    "loss_scale",
];

pub(super) fn find(file: &File<'_>, hits: &mut Vec<Hit>) {
    for choice in choices(file) {
        let numbers = file.number(choice.on_npu).zip(file.number(choice.elsewhere));
        let is_other = numbers.is_some_and(|(ours, theirs)| ours.to_bits() != theirs.to_bits());
        if is_other && has_word(&choice.name, NAMES) {
            hits.push(
                Hit::new(&RULE, choice.place)
                    .about(choice.parts())
                    .with("name", choice.name.as_str())
                    .with("on_npu", file.source(choice.on_npu))
                    .with("elsewhere", file.source(choice.elsewhere)),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::lines;

    #[test]
    fn constants_by_platform_are_found() {
        let code = "\
eps = 1e-5 if is_npu else 1e-6
self.lr = 1e-4 if npu else 3e-4
f(weight_decay=0.1 if device == 'npu' else 0.01)
c = {'max_grad_norm': 1.0 if npu else 0.5}
if npu:
    beta1 = 0.9
else:
    beta1 = 0.95
";
        assert_eq!(lines("platform-constant", code), [1, 2, 3, 4, 6]);
    }

    #[test]
    fn equal_numbers_and_other_names_are_silent() {
        let code = "\
eps = 1e-5 if is_npu else 0.00001
workers = 4 if is_npu else 8
batch_size = 4 if is_npu else 8
lr = base if is_npu else 1e-4
lr = 1e-4 if large else 3e-4
";
        assert!(lines("platform-constant", code).is_empty());
    }
}
