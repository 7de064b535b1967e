//! `deterministic-one-sided`: cuDNN alone is made deterministic, which the NPU does not notice.

use super::file::File;
use super::flags::Flags;
use super::hit::Hit;
use super::rule::{Family, SourceRule};
use precision_gate_result::verdict::Severity;

pub(super) const RULE: SourceRule =
    SourceRule::new("deterministic-one-sided", Severity::Warn, Family::Comparability).per_file();

pub(super) fn find(file: &File<'_>, hits: &mut Vec<Hit>) {
    for (id, target, value) in file.assignments() {
        if file.is_named(target, "torch.backends.cudnn.deterministic") && file.is_true(value) {
            hits.push(Hit::new(&RULE, id).needs(Flags::NPU_PROJECT).unless(Flags::DETERMINISTIC));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::lines;

    #[test]
    fn the_switch_of_both_devices_silences_it() {
        let code = "import torch, torch_npu\ntorch.backends.cudnn.deterministic = True\n";
        assert_eq!(lines("deterministic-one-sided", code), [2]);
        assert!(lines("deterministic-one-sided", &code.replace(", torch_npu", "")).is_empty());
        for both in ["torch.use_deterministic_algorithms(True)\n", "seed_all(seed=1, mode=True)\n"] {
            assert!(lines("deterministic-one-sided", &format!("{code}{both}")).is_empty(), "{both}");
        }
    }
}
