//! `env-too-late`: a variable is set after it was read.

use std::cell::OnceCell;

use super::environment::set_variables;
use super::file::File;
use super::hit::Hit;
use super::rule::{Family, SourceRule};
use super::{python_hash, set_order};
use crate::read::{Kind, NodeId};
use precision_gate_result::verdict::Severity;

pub(super) const RULE: SourceRule = SourceRule::new("env-too-late", Severity::Warn, Family::Comparability);

/// Variables that are read when torch is imported.
const OF_TORCH: &[&str] = &["TORCHINDUCTOR_NPU_BACKEND", "TORCH_DEVICE_BACKEND_AUTOLOAD"];
/// Read when Python starts.
const OF_PYTHON: &str = "PYTHONHASHSEED";

pub(super) fn find(file: &File<'_>, hits: &mut Vec<Hit>) {
    let late = OnceCell::new();
    let is_late_for_hashes = || *late.get_or_init(|| depends_on_hashes(file) && !starts_processes(file));
    let imports = imports_of_torch(file);
    for variable in set_variables(file) {
        let is_late = if OF_TORCH.contains(&variable.name) {
            let function = file.function(variable.at);
            let mut before = imports.iter().take_while(|(id, _)| *id < variable.at);
            before.any(|(_, scope)| *scope == NodeId::ROOT || *scope == function)
        } else {
            variable.name == OF_PYTHON && is_late_for_hashes()
        };
        if is_late {
            hits.push(Hit::new(&RULE, variable.at).with("variable", variable.name));
        }
    }
}

/// Imports of torch, each with its function.
fn imports_of_torch(file: &File<'_>) -> Vec<(NodeId, NodeId)> {
    let is_torch = |full: &str| full == "torch" || full.starts_with("torch.") || full.starts_with("torch_npu");
    let is_import = |id: &NodeId| matches!(file.tree.kind(*id), Kind::Import(names) if names.iter().any(|name| is_torch(&name.full)));
    file.tree.ids().filter(is_import).map(|id| (id, file.function(id))).collect()
}

/// Whether the file hashes texts or lets the order of a set count.
fn depends_on_hashes(file: &File<'_>) -> bool {
    let mut hits = Vec::new();
    python_hash::find(file, &mut hits);
    set_order::find(file, &mut hits);
    !hits.is_empty()
}

/// Whether the file starts processes, which read the variable anew.
fn starts_processes(file: &File<'_>) -> bool {
    const STARTING: &[&str] =
        &["subprocess.", "multiprocessing.", "torch.multiprocessing.", "os.exec", "os.spawn", "os.posix_spawn"];
    file.calls().any(|(_, function, _)| {
        let full = file.full_name(function).unwrap_or_default();
        full == "os.system" || full == "os.fork" || STARTING.iter().any(|start| full.starts_with(start))
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::lines;

    #[test]
    fn variables_set_after_they_are_read_are_found() {
        let code = "\
import os, torch
os.environ['TORCHINDUCTOR_NPU_BACKEND'] = 'mlir'
os.environ.setdefault('TORCH_DEVICE_BACKEND_AUTOLOAD', '0')
os.environ['HCCL_DETERMINISTIC'] = 'true'
os.environ['PYTHONHASHSEED'] = '0'
x = hash(t) % 7
";
        assert_eq!(lines("env-too-late", code), [2, 3, 5]);
    }

    #[test]
    fn variables_set_in_time_are_silent() {
        for code in [
            "import os\nos.environ['TORCHINDUCTOR_NPU_BACKEND'] = 'mlir'\nimport torch\n",
            "import os, torch\nos.environ['PYTHONHASHSEED'] = '0'\n",
            "import os, subprocess\nos.environ['PYTHONHASHSEED'] = '0'\nx = hash(t) % 7\nsubprocess.run(['a'])\n",
            "import os\ndef f():\n    import torch\ndef g():\n    os.environ['TORCHINDUCTOR_NPU_BACKEND'] = 'mlir'\n",
        ] {
            assert!(lines("env-too-late", code).is_empty(), "{code}");
        }
    }
}
