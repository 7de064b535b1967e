//! `visible-devices`: devices are chosen by the variable that only CUDA reads.

use super::environment::{SetVariable, set_variables};
use super::file::File;
use super::hit::Hit;
use super::rule::{Family, SourceRule};
use precision_gate_result::verdict::Severity;

pub(super) const RULE: SourceRule = SourceRule::new("visible-devices", Severity::Info, Family::Portability);

pub(super) fn find(file: &File<'_>, hits: &mut Vec<Hit>) {
    let is_told =
        file.tree.ids().any(|id| file.text_of(id).is_some_and(|text| text.contains("ASCEND_RT_VISIBLE_DEVICES")));
    if is_told {
        return;
    }
    for SetVariable { at, name, assigned } in set_variables(file) {
        // No device at all is no choice of one.
        let chooses = assigned.is_some_and(|value| !matches!(file.text_of(value), Some("" | "-1")));
        if name == "CUDA_VISIBLE_DEVICES" && chooses && !file.is_vendor_place(at) {
            hits.push(Hit::new(&RULE, at));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::lines;

    #[test]
    fn the_variable_is_found_unless_the_other_is_set_too() {
        let code = "import os\nfrom os import environ as env\nos.environ['CUDA_VISIBLE_DEVICES'] = '0'\nenv['CUDA_VISIBLE_DEVICES'] = '1'\n";
        assert_eq!(lines("visible-devices", code), [3, 4]);
        assert!(lines("visible-devices", &format!("{code}os.environ['ASCEND_RT_VISIBLE_DEVICES'] = '0'\n")).is_empty());
        assert!(lines("visible-devices", "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = ''\n").is_empty());
        assert!(lines("visible-devices", "import os\nx = os.environ['CUDA_VISIBLE_DEVICES']\n").is_empty());
    }
}
