//! `cuda-extension`: an operator written in CUDA, which nothing can map.

use std::cell::OnceCell;

use super::file::File;
use super::guard::is_guarded;
use super::hit::Hit;
use super::rule::{Family, SourceRule};
use super::words::NPU;
use crate::read::NodeId;
use precision_gate_result::verdict::Severity;

pub(super) const RULE: SourceRule = SourceRule::new("cuda-extension", Severity::Warn, Family::Portability).per_file();

const EXTENSION: &str = "torch.utils.cpp_extension.CUDAExtension";
const LOAD: &[&str] = &["torch.utils.cpp_extension.load", "torch.utils.cpp_extension.load_inline"];

pub(super) fn find(file: &File<'_>, hits: &mut Vec<Hit>) {
    let counterpart = OnceCell::new();
    let has_counterpart = || *counterpart.get_or_init(|| file.has_part("npuextension"));
    for (id, function, arguments) in file.calls() {
        let is_source =
            |id: NodeId| file.text_of(id).is_some_and(|text| text.ends_with(".cu") || text.ends_with(".cuh"));
        let loads_cuda = || {
            let names_cuda = |name: &str| file.keyword(arguments, name).is_some_and(|value| !file.is_false(value));
            let holds_source = |id: NodeId| file.tree.within(id).any(is_source);
            ["cuda_sources", "extra_cuda_cflags", "with_cuda"].into_iter().any(names_cuda)
                || arguments.iter().any(|argument| {
                    let by_name = || file.only_value(argument.value).is_some_and(holds_source);
                    holds_source(argument.value) || by_name()
                })
        };
        let is_extension = file.is_named(function, EXTENSION) || file.is_any(function, LOAD) && loads_cuda();
        if is_extension && !file.is_vendor_place(id) && !is_guarded(file, id, NPU) && !has_counterpart() {
            hits.push(Hit::new(&RULE, id));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::lines;

    #[test]
    fn kernels_are_found_where_they_are_built() {
        let code = "\
from torch.utils.cpp_extension import CUDAExtension as Ext, load, load_inline
from torch.utils import cpp_extension
Ext('a', ['a.cu'])
load(name='a', sources=['a.cpp', 'a.cu'])
load_inline('a', cpp_sources=s, cuda_sources=c)
cpp_extension.CUDAExtension('a', sources)
load(name='a', sources=['a.cpp'])
files = ['a.cpp', 'kernel.cu']
load(name='a', sources=files)
load(name='a', sources=listed, extra_cuda_cflags=['-O3'])
load(name='a', sources=listed, with_cuda=False)
";
        assert_eq!(lines("cuda-extension", code), [3, 4, 5, 6, 9, 10]);
    }

    #[test]
    fn a_counterpart_or_a_guard_is_silent() {
        for code in [
            "from torch.utils.cpp_extension import CUDAExtension\nif not use_npu:\n    CUDAExtension('a', [])\n",
            "from torch.utils.cpp_extension import CUDAExtension\nfrom torch_npu.utils.cpp_extension import NpuExtension\nCUDAExtension('a', [])\n",
            "def load_inline(x): pass\nload_inline('kernel.cu')\n",
        ] {
            assert!(lines("cuda-extension", code).is_empty(), "{code}");
        }
    }
}
