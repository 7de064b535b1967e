//! `cudnn-benchmark`: algorithms are chosen by timing, so the baseline does not repeat itself.

use super::file::File;
use super::hit::Hit;
use super::rule::{Family, SourceRule};
use precision_gate_result::verdict::Severity;

pub(super) const RULE: SourceRule = SourceRule::new("cudnn-benchmark", Severity::Warn, Family::Comparability);

pub(super) fn find(file: &File<'_>, hits: &mut Vec<Hit>) {
    for (id, target, value) in file.assignments() {
        if file.is_named(target, "torch.backends.cudnn.benchmark") && file.is_true(value) {
            hits.push(Hit::new(&RULE, id).replaced(value, "False"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::lines;

    #[test]
    fn only_the_constant_true_of_torch_counts() {
        let code = "\
import torch
import torch.backends.cudnn as cudnn
cudnn.benchmark = True
torch.backends.cudnn.benchmark = cudnn.deterministic = True
cudnn.benchmark, cudnn.deterministic = False, True
cudnn.benchmark = args.benchmark
other.cudnn.benchmark = True
def f(cudnn):
    cudnn.benchmark = True
";
        assert_eq!(lines("cudnn-benchmark", code), [3, 4]);
    }
}
