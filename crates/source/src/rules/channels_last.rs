//! `channels-last`: a memory format that automatic migration does not support.

use super::file::File;
use super::flags::Flags;
use super::guard::is_guarded;
use super::hit::Hit;
use super::rule::{Family, SourceRule};
use super::words::DEVICE;
use precision_gate_result::verdict::Severity;

pub(super) const RULE: SourceRule = SourceRule::new("channels-last", Severity::Warn, Family::Portability);

const FORMATS: &[&str] = &["torch.channels_last", "torch.channels_last_3d"];

pub(super) fn find(file: &File<'_>, hits: &mut Vec<Hit>) {
    for (_, _, arguments) in file.calls() {
        let Some(value) = file.keyword(arguments, "memory_format") else { continue };
        if file.is_any(value, FORMATS) && !is_guarded(file, value, DEVICE) && !file.is_vendor_place(value) {
            hits.push(Hit::new(&RULE, value).needs(Flags::NPU_PROJECT));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::lines;

    #[test]
    fn the_format_is_found_in_projects_for_npus() {
        let code = "\
import torch, torch_npu
x = x.to(memory_format=torch.channels_last)
x = x.contiguous(
    memory_format=torch.channels_last_3d)
x = x.contiguous(memory_format=torch.contiguous_format)
if not is_npu:
    x = x.to(memory_format=torch.channels_last)
";
        assert_eq!(lines("channels-last", code), [2, 4]);
        assert!(lines("channels-last", &code.replace(", torch_npu", "")).is_empty());
    }
}
