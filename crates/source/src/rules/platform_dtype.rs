//! `platform-dtype`: the number format depends on the platform, so the two runs compute in different precision.

use super::dtype::{Format, format_or_text};
use super::file::File;
use super::hit::Hit;
use super::platform::choices;
use super::rule::{Family, SourceRule};
use precision_gate_result::verdict::Severity;

pub(super) const RULE: SourceRule = SourceRule::new("platform-dtype", Severity::Fail, Family::Numerics);

pub(super) fn find(file: &File<'_>, hits: &mut Vec<Hit>) {
    for choice in choices(file) {
        let formats = format_or_text(file, choice.on_npu).zip(format_or_text(file, choice.elsewhere));
        let Some((on_npu, elsewhere)) = formats.filter(|(ours, theirs)| ours != theirs) else { continue };
        let is_wide = |format| matches!(format, Format::Float32 | Format::Float64);
        hits.push(
            Hit::new(&RULE, choice.place)
                .about(choice.parts())
                .with("on_npu", on_npu.name())
                .with("elsewhere", elsewhere.name())
                .milder(is_wide(on_npu) && is_wide(elsewhere)),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::lines;

    #[test]
    fn formats_by_platform_are_found_by_every_spelling() {
        let code = "\
import torch
a = torch.float16 if is_npu else torch.bfloat16
b = 'fp16' if device == 'npu' else 'bf16'
f(dtype=torch.half if torch.npu.is_available() else torch.bfloat16)
if is_npu():
    c = torch.float16
else:
    c = torch.bfloat16
def g():
    if on_ascend:
        return torch.float16
    return torch.bfloat16
d = torch.bfloat16
if is_npu:
    d = torch.float16
if use_npu:
    model.to(dtype=torch.float16)
else:
    model.to(dtype=torch.bfloat16)
if cuda:
    e = torch.bfloat16
elif npu:
    e = torch.float16
else:
    e = torch.float32
";
        assert_eq!(lines("platform-dtype", code), [2, 3, 4, 6, 11, 15, 17, 21]);
    }

    #[test]
    fn equal_formats_and_other_choices_are_silent() {
        let code = "\
import torch
a = torch.bfloat16 if is_npu else torch.bfloat16
b = torch.half if is_npu else torch.float16
c = torch.bfloat16 if torch.cuda.is_available() else torch.float32
d = 'npu' if is_npu else 'cuda'
if is_npu:
    e = torch.float16
f = torch.int32 if is_npu else torch.int64
g = torch.bfloat16 if is_npu else torch.float32 if device == 'cpu' else torch.bfloat16
";
        assert!(lines("platform-dtype", code).is_empty());
    }
}
