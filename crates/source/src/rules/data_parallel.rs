//! `data-parallel`: `DataParallel`, which NPUs do not support.

use super::file::File;
use super::hit::Hit;
use super::rule::{Family, SourceRule};
use precision_gate_result::verdict::Severity;

pub(super) const RULE: SourceRule = SourceRule::new("data-parallel", Severity::Warn, Family::Portability);

const NAMES: &[&str] =
    &["torch.nn.DataParallel", "torch.nn.parallel.DataParallel", "torch.nn.parallel.data_parallel.DataParallel"];

pub(super) fn find(file: &File<'_>, hits: &mut Vec<Hit>) {
    for (id, function, _) in file.calls() {
        if file.is_any(function, NAMES) && !file.is_vendor_place(id) {
            hits.push(Hit::new(&RULE, id));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::lines;

    #[test]
    fn the_class_is_found_by_its_names() {
        let code = "\
import torch
from torch import nn
from torch.nn import DataParallel as DP
torch.nn.DataParallel(m)
nn.parallel.DataParallel(m)
DP(m)
nn.parallel.DistributedDataParallel(m)
isinstance(m, nn.DataParallel)
";
        assert_eq!(lines("data-parallel", code), [4, 5, 6]);
    }
}
