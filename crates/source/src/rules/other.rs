//! Files that are not Python: configurations, shell scripts, requirements and images say on which device a program runs, too.
//!
//! They are read line by line, by what a line sets, calls or installs. A file that names NPU, Ascend or HCCL, or whose path says that it
//! is for GPUs, is meant for one device and is silent; so are comments.

use super::collect::Looked;
use super::file::is_of_vendor;
use super::flags::Flags;
use super::hit::Placed;
use super::rule::SourceRule;
use super::words::{GPU, HCCL, NPU};
use super::{cuda_hard_coded, gpu_only_import, nccl_hard_coded, visible_devices};
use crate::read::files::Kind;
use crate::read::words::has_word;
use crate::read::{Comment, Ignore};

/// Packages to install, by the names that a registry has.
const PACKAGES: &[&str] = &[
    "flash-attn",
    "flash-attn-3",
    "flashinfer",
    "flashinfer-python",
    "xformers",
    "bitsandbytes",
    "apex",
    "transformer-engine",
    "causal-conv1d",
    "mamba-ssm",
    "deep-ep",
    "deep-gemm",
    "grouped-gemm",
    "megablocks",
    "cuml",
    "cudf",
    "tensorrt",
    "tensorrt-llm",
    "torch-tensorrt",
    "pycuda",
    "pynvml",
    "nvidia-ml-py",
];
/// Beginnings of packages that are CUDA itself.
const BEGINNINGS: &[&str] = &["cupy-cuda", "nvidia-cu", "nvidia-nccl", "nvidia-dali", "cuml-cu", "cudf-cu"];

/// Looks at a file that is not Python.
pub(super) fn look_at_file(path: &str, kind: Kind, text: &str) -> Looked {
    let (mut hits, mut ignores) = (Vec::new(), Vec::new());
    let is_meant = path.split('/').any(|part| is_of_vendor(part) || has_word(part, GPU));
    let says = |words: &[&str]| text.lines().any(|line| has_word(line, words));
    if !is_meant && !says(NPU) && !says(HCCL) {
        for (number, line) in (1_u64..).zip(text.lines()) {
            ignores.extend(comment(line, number));
            let code = without_comment(line, kind);
            for rule in broken(code, kind) {
                let column = line.chars().take_while(|letter| letter.is_whitespace()).count() as u64 + 1;
                let hit = Placed::of_line(rule.rule, number, column, code.trim());
                let hit = if rule.is_mapped { hit.unless(Flags::TRANSFER) } else { hit };
                hits.push(match rule.package {
                    Some(package) => hit.with("package", package),
                    None => hit,
                });
            }
        }
    }
    Looked::of_lines(hits, ignores)
}

/// A rule that a line breaks.
struct Broken {
    rule: &'static SourceRule,
    /// Whether `transfer_to_npu` maps what it names.
    is_mapped: bool,
    package: Option<String>,
}

impl Broken {
    fn mapped(rule: &'static SourceRule) -> Self {
        Self { rule, is_mapped: true, package: None }
    }

    fn own(rule: &'static SourceRule) -> Self {
        Self { rule, is_mapped: false, package: None }
    }

    fn package(name: &str) -> Self {
        Self { rule: &gpu_only_import::RULE, is_mapped: false, package: Some(name.to_owned()) }
    }
}

fn comment(line: &str, number: u64) -> Option<Comment> {
    let start = line.find('#')?;
    let ignore = Some(Ignore::from_comment(line.get(start..)?)?);
    let before = line.get(..start)?;
    Some(Comment {
        line: number,
        column: before.chars().count() as u64 + 1,
        is_alone: before.trim().is_empty(),
        ignore,
    })
}

/// A line up to its comment.
fn without_comment(line: &str, kind: Kind) -> &str {
    if kind == Kind::Json {
        return line;
    }
    if line.trim_start().starts_with('#') {
        return "";
    }
    line.find(" #").and_then(|end| line.get(..end)).unwrap_or(line)
}

fn broken(line: &str, kind: Kind) -> Vec<Broken> {
    if line.trim().is_empty() {
        return Vec::new();
    }
    match kind {
        Kind::Yaml | Kind::Json => line.split(", ").filter_map(setting).filter_map(of_setting).take(1).collect(),
        Kind::Requirements => installed(line.trim()).into_iter().collect(),
        Kind::Shell => of_command(line),
        Kind::Image => of_image(line),
        Kind::Python | Kind::Notebook => Vec::new(),
    }
}

/// Key and value of a line: `- key: "value",`.
fn setting(part: &str) -> Option<(&str, &str)> {
    let (key, value) = part.trim().trim_start_matches(['-', '{', ' ']).split_once(':')?;
    let value = value.trim().trim_end_matches([',', '}']).trim();
    Some((key.trim().trim_matches(['"', '\'']), value.trim_matches(['"', '\''])))
}

fn of_setting((key, value): (&str, &str)) -> Option<Broken> {
    let is_cuda = value == "cuda" || value.strip_prefix("cuda:").is_some_and(|rest| !rest.is_empty());
    let last = key.rsplit('.').next().unwrap_or(key);
    if (has_word(last, &["device", "devices"]) || last == "map_location") && is_cuda {
        return Some(Broken::mapped(&cuda_hard_coded::RULE));
    }
    if last == "accelerator" && matches!(value, "gpu" | "cuda") {
        return Some(Broken::own(&cuda_hard_coded::RULE));
    }
    if (last == "runtime" || last == "driver") && value == "nvidia" || last == "image" && is_nvidia_image(value) {
        return Some(Broken::own(&cuda_hard_coded::RULE));
    }
    if last.ends_with("backend") && has_word(value, &["nccl"]) {
        return Some(Broken::mapped(&nccl_hard_coded::RULE));
    }
    if last == "CUDA_VISIBLE_DEVICES" && !value.is_empty() {
        return Some(Broken::own(&visible_devices::RULE));
    }
    gpu_only_import::package_of(last, value).map(Broken::package)
}

fn of_command(line: &str) -> Vec<Broken> {
    let mut found = Vec::new();
    let words: Vec<&str> =
        line.split([' ', '\t', ';', '(', ')', '`', '|', '&']).filter(|word| !word.is_empty()).collect();
    let is_asked = words.iter().any(|word| matches!(*word, "if" | "command" | "which" | "elif")) || line.contains("||");
    let is_told = matches!(words.first(), Some(&"echo" | &"printf"));
    if is_told {
        return found;
    }
    for (word, next) in words.iter().zip(words.iter().skip(1).map(|word| Some(*word)).chain([None])) {
        if let Some(value) = word.strip_prefix("CUDA_VISIBLE_DEVICES=")
            && !matches!(value.trim_matches(['"', '\'']), "" | "-1")
        {
            found.push(Broken::own(&visible_devices::RULE));
        }
        if (*word == "nvidia-smi" || word.ends_with("$(nvidia-smi")) && !is_asked {
            found.push(Broken::own(&cuda_hard_coded::RULE));
        }
        let option = word.trim_start_matches("++").trim_start_matches('+');
        let dashed = option.strip_prefix("--");
        let (name, value) = match (option.split_once('='), dashed, next) {
            (Some((name, value)), ..) => (name.trim_start_matches('-'), value),
            (None, Some(name), Some(value)) => (name, value),
            _ => continue,
        };
        let value = value.trim_matches(['"', '\'', '\\']);
        let name = name.replace('-', "_");
        found.extend(
            of_setting((&name, value)).filter(|broken| broken.rule.rule.code != visible_devices::RULE.rule.code),
        );
    }
    if let Some(at) =
        words.windows(2).position(|pair| matches!(pair, ["pip" | "pip3" | "uv", "install"] | ["uv", "pip"]))
    {
        found.extend(words.iter().skip(at + 2).find_map(|word| installed(word.trim_matches(['"', '\'']))));
    }
    found.truncate(1);
    found
}

fn of_image(line: &str) -> Vec<Broken> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.as_slice() {
        [first, rest @ ..] if first.eq_ignore_ascii_case("from") => {
            let image = rest.iter().find(|word| !word.starts_with("--"));
            let is_nvidia = image.is_some_and(|image| is_nvidia_image(image));
            if is_nvidia { vec![Broken::own(&cuda_hard_coded::RULE)] } else { Vec::new() }
        }
        [first, rest @ ..] if first.eq_ignore_ascii_case("env") => {
            let sets = rest.iter().any(|word| word.starts_with("CUDA_VISIBLE_DEVICES"));
            if sets { vec![Broken::own(&visible_devices::RULE)] } else { Vec::new() }
        }
        _ => of_command(line),
    }
}

/// Whether an image holds CUDA: NVIDIA's own, or one whose tag says so.
fn is_nvidia_image(image: &str) -> bool {
    let tag = image.rsplit_once(':').map_or("", |(_, tag)| tag);
    image.starts_with("nvidia/")
        || image.starts_with("nvcr.io/")
        || has_word(tag, &["cuda"])
        || tag.split(['-', '_', '.']).any(is_cuda_version)
}

/// `cu121`
fn is_cuda_version(word: &str) -> bool {
    word.strip_prefix("cu").is_some_and(|rest| rest.len() >= 2 && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The package of GPUs alone that a requirement installs.
fn installed(requirement: &str) -> Option<Broken> {
    let requirement = requirement.trim();
    if requirement.contains("://") || requirement.starts_with('-') {
        let is_cuda = requirement.split(['/', '-', '%', '+', ' ']).any(is_cuda_version);
        return is_cuda.then(|| Broken::package(requirement));
    }
    let end = requirement.find(|letter: char| !(letter.is_ascii_alphanumeric() || "-_.".contains(letter)));
    let name = requirement.get(..end.unwrap_or(requirement.len()))?.to_ascii_lowercase().replace(['_', '.'], "-");
    let is_known = PACKAGES.contains(&name.as_str()) || BEGINNINGS.iter().any(|begin| name.starts_with(begin));
    let version = requirement.split(';').next().unwrap_or_default();
    let is_built =
        version.rsplit_once('+').is_some_and(|(_, local)| is_cuda_version(local.trim_matches(['"', '\'', ' ', '\\'])));
    (is_known || is_built).then(|| Broken::package(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Codes and lines that are found in a file.
    fn found(path: &str, kind: Kind, text: &str) -> Vec<String> {
        look_at_file(path, kind, text).codes_and_lines()
    }

    #[test]
    fn lines_of_other_files_are_found_by_what_they_set_call_or_install() {
        let yaml = "train:\n  device: cuda\n  dist_backend: \"nccl\"\n  name: cuda\n  # device: cuda\n  attn_implementation: flash_attention_2\n  optim: paged_adamw_8bit\n  devices: 4\n";
        let expected = ["2 cuda-hard-coded", "3 nccl-hard-coded", "6 gpu-only-import", "7 gpu-only-import"];
        assert_eq!(found("conf/a.yaml", Kind::Yaml, yaml), expected);
        let json = "{\n  \"device\": \"cuda:0\",\n  \"communication_backend\": \"nccl\"\n}\n";
        assert_eq!(found("a.json", Kind::Json, json), ["2 cuda-hard-coded", "3 nccl-hard-coded"]);
        let shell = "#!/bin/bash\nexport CUDA_VISIBLE_DEVICES=0,1\nGPUS=$(nvidia-smi -L | wc -l)\npython train.py --device cuda --x 1\ntorchrun t.py --dist-backend=nccl\necho nvidia-smi\npip install flash-attn\nif command -v nvidia-smi; then x; fi\npython t.py --device cpu\n";
        let expected =
            ["2 visible-devices", "3 cuda-hard-coded", "4 cuda-hard-coded", "5 nccl-hard-coded", "7 gpu-only-import"];
        assert_eq!(found("run.sh", Kind::Shell, shell), expected);
        let requirements = "torch==2.5.1+cu121\nflash_attn>=2.5 ; python_version > '3.8'\nnumpy\n--extra-index-url https://download.pytorch.org/whl/cu121\ncupy-cuda12x\n# xformers\n";
        let expected = ["1 gpu-only-import", "2 gpu-only-import", "4 gpu-only-import", "5 gpu-only-import"];
        assert_eq!(found("requirements.txt", Kind::Requirements, requirements), expected);
        let image = "FROM nvidia/cuda:12.1.0-devel-ubuntu22.04 AS base\nFROM pytorch/pytorch:2.5.1-cuda12.1-cudnn9-devel\nFROM python:3.11\nRUN pip install xformers\n";
        assert_eq!(
            found("Dockerfile", Kind::Image, image),
            ["1 cuda-hard-coded", "2 cuda-hard-coded", "4 gpu-only-import"]
        );
    }

    #[test]
    fn files_for_one_device_are_silent() {
        assert!(found("docker/Dockerfile.cuda", Kind::Image, "FROM nvidia/cuda:12\n").is_empty());
        assert!(found("requirements-gpu.txt", Kind::Requirements, "flash-attn\n").is_empty());
        let both = "export CUDA_VISIBLE_DEVICES=0\nexport ASCEND_RT_VISIBLE_DEVICES=0\n";
        assert!(found("run.sh", Kind::Shell, both).is_empty());
        let accepted = "device: cuda  # precision-gate: ignore[cuda-hard-coded] the job of the baseline\n";
        assert_eq!(look_at_file("a.yaml", Kind::Yaml, accepted).ignored(), 1);
    }
}
