//! Installed packages: each one is judged by the first rule that fits.

use std::collections::BTreeMap;

use super::context::PackContext;
use super::listed::first_names;
use super::packages::installed_packages;
use super::rules::{
    PIP_EXPECTED, PIP_OTHERS_DIFFER, PIP_OTHERS_ONE_SIDED, PIP_PACKAGE_MISSING, PIP_REPEATED, PIP_RULE_BROKEN,
    PIP_TORCH_NPU, PIP_VERSION_DIFFERS,
};
use crate::compare::config::version;
use crate::policy::config::{Comparison, Device, PipRule, Requirement};
use crate::read::pack::Pack;
use crate::result::finding::Finding;
use crate::verdict::Side;

/// Packages whose version changes numbers: the eight msprobe looks at, and the name Megatron is published under.
const KEY: [&str; 9] =
    ["transformers", "deepspeed", "megatron", "megatron-core", "numpy", "datasets", "peft", "mindspore", "torch"];

/// Packages that belong to one kind of device.
const OF_DEVICE: [(Device, &[&str]); 2] = [
    (
        Device::Gpu,
        &[
            "nvidia-",
            "triton",
            "flash-attn",
            "apex",
            "transformer-engine",
            "xformers",
            "bitsandbytes",
            "cupy",
            "pynvml",
            "cuda-",
        ],
    ),
    (
        Device::Npu,
        &[
            "torch-npu",
            "mindspeed",
            "mindspore",
            "ascend",
            "te",
            "hccl",
            "auto-tune",
            "opc-tool",
            "op-compile-tool",
            "schedule-search",
            "triton-ascend",
            "npu-",
        ],
    ),
];

pub(super) fn judge(context: &PackContext<'_>) -> Vec<Finding> {
    let readable = |pack: &Pack| matches!(pack.pip, Some(Ok(_)));
    if !readable(context.baseline) || !readable(context.candidate) {
        return Vec::new();
    }
    let sides = [installed_packages(context.baseline), installed_packages(context.candidate)];
    let mut judge = Judge { context, findings: Vec::new(), differ: vec![], one_sided: vec![], expected: vec![] };
    let [baseline, candidate] = &sides;
    let names: std::collections::BTreeSet<&String> = baseline.keys().chain(candidate.keys()).collect();
    for name in names {
        let version =
            |side: &BTreeMap<String, Vec<String>>| side.get(name).and_then(|versions| versions.last()).cloned();
        judge.package(name, version(baseline), version(candidate));
    }
    for (side, packages) in [Side::Baseline, Side::Candidate].into_iter().zip(&sides) {
        judge.repeated(side, packages);
        judge.torch_npu(side, packages);
    }
    judge.finish()
}

/// Collects findings about single packages, and notes about groups of packages.
struct Judge<'a> {
    context: &'a PackContext<'a>,
    findings: Vec<Finding>,
    differ: Vec<String>,
    one_sided: Vec<String>,
    expected: Vec<String>,
}

impl Judge<'_> {
    fn package(&mut self, name: &str, a: Option<String>, b: Option<String>) {
        let rules = &self.context.policy.pip.rules;
        if let Some(rule) = rules.iter().find(|rule| rule.package.matches(name)) {
            return self.by_rule(rule, name, a.as_deref(), b.as_deref());
        }
        let text = |version: &Option<String>| {
            version.as_deref().map_or("absent", |text| if text.is_empty() { "unknown" } else { text }).to_owned()
        };
        let note = format!("{name} {} → {}", text(&a), text(&b));
        let finding = |rule| Finding::new(rule, name).with("baseline", text(&a)).with("candidate", text(&b));
        let key = KEY.contains(&name);
        match (&a, &b) {
            (Some(a), Some(b)) if version::equal(a, b) => {}
            (Some(a), Some(b)) if name == "torch" && version::equal_without_local_label(a, b) => {
                self.expected.push(note)
            }
            (Some(_), Some(_)) if key => self.findings.push(finding(&PIP_VERSION_DIFFERS)),
            (Some(_), Some(_)) if name.starts_with("nvidia-") => self.expected.push(note),
            (Some(_), Some(_)) => self.differ.push(note),
            (None, Some(_)) if self.belongs(name, Side::Candidate) => self.expected.push(note),
            (Some(_), None) if self.belongs(name, Side::Baseline) => self.expected.push(note),
            _ if key => self.findings.push(finding(&PIP_PACKAGE_MISSING)),
            _ => self.one_sided.push(note),
        }
    }

    /// Whether a package that only `side` has belongs to its kind of device.
    fn belongs(&self, name: &str, side: Side) -> bool {
        let on = self.context.device(side);
        let fits = |prefix: &&str| {
            if prefix.ends_with('-') {
                name.starts_with(prefix)
            } else {
                name == *prefix || name.starts_with(&format!("{prefix}-"))
            }
        };
        OF_DEVICE.iter().any(|(device, prefixes)| on == Some(*device) && prefixes.iter().any(fits))
    }

    fn by_rule(&mut self, rule: &PipRule, name: &str, a: Option<&str>, b: Option<&str>) {
        let fulfilled = match (&rule.require, a, b) {
            (Requirement::Ignore, ..) => true,
            (Requirement::Range(bounds), ..) => [a, b]
                .iter()
                .all(|version| version.is_some_and(|version| bounds.iter().all(|bound| within(version, bound)))),
            (Requirement::Equal, Some(a), Some(b)) => version::equal(a, b),
            (Requirement::SameMinor, Some(a), Some(b)) => version::same_minor(a, b),
            (Requirement::EqualWithoutLocalLabel, Some(a), Some(b)) => version::equal_without_local_label(a, b),
            _ => false,
        };
        if !fulfilled {
            let text = |version: Option<&str>| version.unwrap_or("absent").to_owned();
            let finding = Finding::new(&PIP_RULE_BROKEN, name)
                .with_severity(rule.severity.unwrap_or(PIP_RULE_BROKEN.severity))
                .with("rule", format!("{}: {}", rule.package.as_str(), rule.require))
                .with("baseline", text(a))
                .with("candidate", text(b));
            self.findings.push(finding);
        }
    }

    fn repeated(&mut self, side: Side, packages: &BTreeMap<String, Vec<String>>) {
        for (name, versions) in packages.iter().filter(|(_, versions)| versions.len() > 1) {
            let finding = Finding::new(&PIP_REPEATED, name).with("side", side.as_str());
            self.findings.push(finding.with("versions", first_names(versions.iter().cloned())));
        }
    }

    /// `torch_npu` follows the version of `torch`.
    fn torch_npu(&mut self, side: Side, packages: &BTreeMap<String, Vec<String>>) {
        let version = |name: &str| packages.get(name).and_then(|versions| versions.last());
        let (Some(torch_npu), Some(torch)) = (version("torch-npu"), version("torch")) else { return };
        let ruled = self.context.policy.pip.rules.iter().any(|rule| rule.package.matches("torch-npu"));
        if !ruled && !version::same_minor(torch_npu, torch) {
            let finding = Finding::new(&PIP_TORCH_NPU, "torch-npu").with("side", side.as_str());
            self.findings.push(finding.with("torch_npu", torch_npu.as_str()).with("torch", torch.as_str()));
        }
    }

    fn finish(mut self) -> Vec<Finding> {
        let groups = [
            (&PIP_OTHERS_DIFFER, self.differ),
            (&PIP_OTHERS_ONE_SIDED, self.one_sided),
            (&PIP_EXPECTED, self.expected),
        ];
        for (rule, notes) in groups {
            if !notes.is_empty() {
                let finding = Finding::new(rule, "pip").with("count", notes.len());
                self.findings.push(finding.with("packages", first_names(notes)));
            }
        }
        self.findings
    }
}

fn within(version: &str, (comparison, bound): &(Comparison, String)) -> bool {
    version::order(version, bound).is_some_and(|order| match comparison {
        Comparison::AtLeast => order.is_ge(),
        Comparison::Above => order.is_gt(),
        Comparison::AtMost => order.is_le(),
        Comparison::Below => order.is_lt(),
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
    })
}
