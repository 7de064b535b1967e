//! `transfer-too-late`: names of CUDA were taken before `transfer_to_npu` patched them.

use super::file::File;
use super::hit::Hit;
use super::rule::{Family, SourceRule};
use crate::read::{Kind, NodeId};
use precision_gate_result::verdict::Severity;

pub(super) const RULE: SourceRule = SourceRule::new("transfer-too-late", Severity::Warn, Family::Portability);

const TRANSFER: &str = "torch_npu.contrib.transfer_to_npu";
/// Names that keep their first meaning.
const PATCHED: &[&str] = &["torch.distributed.init_process_group", "torch.jit.script"];

pub(super) fn find(file: &File<'_>, hits: &mut Vec<Hit>) {
    let imports = |id: NodeId| match file.tree.kind(id) {
        Kind::Import(names) => names.as_slice(),
        _ => &[],
    };
    let is_transfer = |id: &NodeId| {
        imports(*id)
            .iter()
            .any(|name| &*name.full == TRANSFER || name.full.starts_with("torch_npu.contrib.transfer_to_npu."))
    };
    let Some(transfer) = file.tree.ids().find(|id| is_transfer(id) && file.function(*id) == NodeId::ROOT) else {
        return;
    };
    if file.is_vendor_place(transfer) {
        return;
    }
    let early = file.tree.ids().take_while(|id| *id < transfer).filter(|id| file.function(*id) == NodeId::ROOT);
    let first = early.into_iter().find(|id| takes_early(file, *id));
    if let Some(first) = first {
        let hit = Hit::new(&RULE, transfer).about([first]);
        hits.push(hit.with("early", file.source(first)).with("early_line", file.line(first)));
    }
}

/// Whether a statement or call takes a name of CUDA.
fn takes_early(file: &File<'_>, id: NodeId) -> bool {
    match file.tree.kind(id) {
        Kind::Import(names) => names.iter().any(|name| {
            // `import torch.cuda` binds `torch`, which is patched in place.
            let is_taken = name.full.starts_with("torch.cuda.") && *name.stands_for == *name.full;
            let is_from = file.source(id).trim_start().starts_with("from");
            is_from && (is_taken || PATCHED.contains(&&*name.full))
        }),
        Kind::Call { function, .. } => {
            let is_of_cuda = || file.full_name(*function).is_some_and(|name| name.starts_with("torch.cuda."));
            let scope = file.scope(id);
            let runs =
                matches!(file.tree.kind(scope), Kind::Module { .. } | Kind::Comprehension { .. } | Kind::Class { .. });
            runs && (is_of_cuda()
                || file.method(id).is_some_and(|(_, name, arguments)| name == "cuda" && arguments.is_empty()))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::lines;

    #[test]
    fn names_taken_above_are_early() {
        for early in [
            "from torch.cuda import amp",
            "from torch.cuda.amp import autocast",
            "from torch.distributed import init_process_group as init",
            "from torch.jit import script",
            "torch.cuda.set_device(0)",
            "model = Net().cuda()",
        ] {
            let code = format!("import torch\n{early}\nimport torch_npu.contrib.transfer_to_npu\n");
            assert_eq!(lines("transfer-too-late", &code), [3], "{early}");
        }
    }

    #[test]
    fn what_comes_later_or_binds_nothing_is_silent() {
        for code in [
            "import torch\nimport torch.cuda\nfrom torch_npu.contrib import transfer_to_npu\nfrom torch.cuda import amp\n",
            "import torch\nfrom torch.distributed import get_rank\nfrom torch_npu.contrib import transfer_to_npu\n",
            "import torch\ndef f():\n    torch.cuda.synchronize()\nfrom torch_npu.contrib import transfer_to_npu\n",
        ] {
            assert!(lines("transfer-too-late", code).is_empty(), "{code}");
        }
    }
}
