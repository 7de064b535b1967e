//! `nccl-compared`: the backend of a running group is asked for `nccl`, and answers `hccl` under `transfer_to_npu`.

use super::file::File;
use super::flags::Flags;
use super::guard::asks;
use super::hit::Hit;
use super::rule::{Family, SourceRule};
use super::words::HCCL;
use crate::read::{Kind, NodeId};
use precision_gate_result::verdict::Severity;

pub(super) const RULE: SourceRule = SourceRule::new("nccl-compared", Severity::Warn, Family::Portability);

const GET_BACKEND: &[&str] = &["torch.distributed.get_backend", "torch.distributed.distributed_c10d.get_backend"];

pub(super) fn find(file: &File<'_>, hits: &mut Vec<Hit>) {
    for id in file.tree.ids() {
        let Kind::Compare { operands, .. } = file.tree.kind(id) else { continue };
        let is_nccl = |id: NodeId| file.text_of(id) == Some("nccl");
        let names_nccl = operands.iter().any(|operand| {
            is_nccl(*operand)
                || matches!(file.tree.kind(*operand), Kind::Tuple(parts) | Kind::List(parts) | Kind::Set(parts) if parts.iter().any(|part| is_nccl(*part)))
        });
        let is_backend = || operands.iter().any(|operand| is_backend(file, *operand, MOST_STEPS));
        if names_nccl && is_backend() && !asks(file, id, HCCL) && !file.is_vendor_place(id) {
            hits.push(Hit::new(&RULE, id).needs(Flags::TRANSFER));
        }
    }
}

/// Names and calls that are followed to the backend.
const MOST_STEPS: usize = 4;
/// Values of one name that are looked at.
const MOST_VALUES: usize = 20;

/// Whether a value is the backend of a running group.
fn is_backend(file: &File<'_>, id: NodeId, steps: usize) -> bool {
    let Some(steps) = steps.checked_sub(1) else { return false };
    if let Some((function, arguments)) = file.call(id) {
        if file.is_any(function, GET_BACKEND) {
            return true;
        }
        if file.is_builtin(function, "str") {
            return file.positional(arguments, 0).is_some_and(|value| is_backend(file, value, steps));
        }
        return match file.method(id) {
            Some((value, "lower" | "upper", _)) => is_backend(file, value, steps),
            // `name()` of a process group takes nothing.
            Some((_, "name", arguments)) => arguments.is_empty(),
            _ => false,
        };
    }
    let by_name = matches!(file.tree.kind(id), Kind::Name(_) | Kind::Attribute { .. });
    let mut values = file.values(id).iter().take(MOST_VALUES);
    by_name && values.any(|(_, value)| file.call(*value).is_some() && is_backend(file, *value, steps))
}

#[cfg(test)]
mod tests {
    use super::super::testing::lines;

    const TRANSFER: &str = "import torch.distributed as dist\nfrom torch_npu.contrib import transfer_to_npu\n";

    #[test]
    fn the_backend_of_a_group_is_followed_through_names() {
        let code = "\
b = dist.get_backend()
if b == 'nccl': pass
if dist.get_backend(group) != 'nccl': pass
if 'nccl' in dist.get_backend(): pass
x = 1 if group.name() == 'nccl' else 2
if dist.get_backend() in ('nccl', 'gloo'): pass
";
        assert_eq!(lines("nccl-compared", &format!("{TRANSFER}{code}")), [4, 5, 6, 7, 8]);
    }

    #[test]
    fn both_backends_plain_variables_and_gpu_projects_are_silent() {
        for code in [
            "if dist.get_backend() in ('nccl', 'hccl'): pass\n",
            "backend = 'nccl'\nif backend == 'nccl': pass\n",
            "b = dist.get_backend()\nif b == 'nccl':\n    pass\nelif b == 'hccl':\n    pass\n",
        ] {
            assert!(lines("nccl-compared", &format!("{TRANSFER}{code}")).is_empty(), "{code}");
        }
        let without = "import torch.distributed as dist\nif dist.get_backend() == 'nccl': pass\n";
        assert!(lines("nccl-compared", without).is_empty());
    }
}
