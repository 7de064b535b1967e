//! Environment variables.
//!
//! Variables that mean the same on an NPU and on a GPU are compared in pairs, with their documented default where one is unset and
//! without regard to spelling. Variables that only one platform reads are shown, and judged only if the policy requires a value.
//! Variables on a watch list, which change numbers, must be equal as well.

mod tables;

use super::context::PackContext;
use super::rules::{
    COLLECTIVES, CUBLAS_WORKSPACE, ENV_DEVICE_COUNT, ENV_DEVICE_LIST, ENV_PAIR_DIFFERS, ENV_PLATFORM_ONLY,
    ENV_REQUIRED_VALUE, ENV_WATCHED_DIFFERS, HASH_SEED, INF_NAN_MODE, NOT_IN_PACK,
};
use crate::judge::rule::Rule;
use crate::policy::config::{ConfigPolicy, Device, RequiredValue};
use crate::read::pack::Pack;
use crate::result::finding::Finding;
use crate::verdict::Side;
use tables::{Kind, PAIRS, Pair, WATCHED};

/// Text instead of a variable that is not set.
const UNSET: &str = "unset";

pub(super) fn judge(context: &PackContext<'_>) -> Vec<Finding> {
    let readable = |pack: &Pack| matches!(pack.env, Some(Ok(_)));
    if !readable(context.baseline) || !readable(context.candidate) {
        return Vec::new();
    }
    let mut findings: Vec<Finding> = PAIRS.iter().filter_map(|pair| judge_pair(context, pair)).collect();
    findings.extend(watched(context));
    findings.extend(required(context));
    findings.extend(determinism(context));
    findings
}

fn judge_pair(context: &PackContext<'_>, pair: &Pair) -> Option<Finding> {
    let name = |side| match context.device(side) {
        Some(Device::Npu) => Some(pair.npu),
        Some(Device::Gpu) => pair.gpu,
        None => [Some(pair.npu), pair.gpu]
            .into_iter()
            .flatten()
            .find(|name| pack_of(context, side).variable(name).is_some()),
    };
    let (baseline, candidate) = (name(Side::Baseline), name(Side::Candidate));
    let value = |pack: &Pack, name: Option<&str>| name.and_then(|name| pack.variable(name)).map(str::to_owned);
    let (a, b) = (value(context.baseline, baseline), value(context.candidate, candidate));
    let show = |name: Option<&str>, value: &Option<String>| shown(context, name.unwrap_or(pair.npu), value.as_deref());
    let finding = |rule: &Rule| {
        Finding::new(rule, pair.title()).with("baseline", show(baseline, &a)).with("candidate", show(candidate, &b))
    };
    let meaning = |value: &Option<String>| value.as_deref().map_or_else(|| pair.default.to_owned(), normalised);
    let same_names = baseline.is_none() || candidate.is_none() || baseline == candidate;
    match pair.kind {
        Kind::Devices => judge_devices(a.as_deref(), b.as_deref()).map(finding),
        // Each platform has its own names of algorithms, so that there is nothing to compare.
        Kind::OwnNames if !same_names => (a.is_some() || b.is_some()).then(|| finding(&ENV_PLATFORM_ONLY)),
        Kind::NpuOnly if baseline.is_none() || candidate.is_none() => {
            (meaning(&a) != meaning(&b)).then(|| finding(&ENV_PLATFORM_ONLY))
        }
        Kind::Value | Kind::OwnNames | Kind::NpuOnly => {
            (meaning(&a) != meaning(&b)).then(|| finding(&ENV_PAIR_DIFFERS))
        }
    }
}

fn pack_of<'a>(context: &PackContext<'a>, side: Side) -> &'a Pack {
    match side {
        Side::Baseline => context.baseline,
        Side::Candidate => context.candidate,
    }
}

/// The rule that two lists of devices break. They are compared by their number, because the scheduler chooses the devices. An unset
/// list means all devices of a machine, whose number is unknown.
fn judge_devices(a: Option<&str>, b: Option<&str>) -> Option<&'static Rule> {
    let list = |text: &str| -> Vec<String> {
        text.split(',').map(|device| device.trim().to_owned()).filter(|device| !device.is_empty()).collect()
    };
    let (a, b) = (list(a?), list(b?));
    if a.len() != b.len() {
        return Some(&ENV_DEVICE_COUNT);
    }
    (a != b).then_some(&ENV_DEVICE_LIST)
}

/// A value in one spelling: words for yes and no as `true` and `false`, integers without leading zeros or plus sign.
fn normalised(value: &str) -> String {
    let value = value.trim();
    let lower = value.to_ascii_lowercase();
    match lower.as_str() {
        "1" | "true" | "on" | "yes" | "enable" | "enabled" => "true".into(),
        "0" | "false" | "off" | "no" | "disable" | "disabled" | "" => "false".into(),
        _ => lower.parse::<i128>().map_or_else(|_| value.to_owned(), |number| number.to_string()),
    }
}

fn shown(context: &PackContext<'_>, name: &str, value: Option<&str>) -> String {
    value.map_or_else(|| UNSET.to_owned(), |value| context.redactor.setting(name, value))
}

/// Variables that change numbers: those of the tables, and those the policy adds. Lists of devices are left out, because the
/// scheduler chooses them.
pub(crate) fn watched_names(policy: &ConfigPolicy) -> impl Iterator<Item = &str> {
    let pairs =
        PAIRS.iter().filter(|pair| pair.kind != Kind::Devices).flat_map(|pair| [Some(pair.npu), pair.gpu]).flatten();
    pairs.chain(WATCHED.iter().map(|watched| watched.name)).chain(policy.env.watch.iter().map(String::as_str))
}

fn watched(context: &PackContext<'_>) -> Vec<Finding> {
    let extra = context.policy.env.watch.iter().map(|name| (name.as_str(), None, None));
    let built_in = WATCHED.iter().map(|watched| (watched.name, watched.device, watched.default));
    let devices = [Side::Baseline, Side::Candidate].map(|side| context.device(side));
    let judged = built_in.chain(extra).filter_map(|(name, device, default): (&str, Option<Device>, Option<&str>)| {
        let (a, b) = (context.baseline.variable(name), context.candidate.variable(name));
        let meaning = |value: Option<&str>| value.map(normalised).or_else(|| default.map(str::to_owned));
        if meaning(a) == meaning(b) {
            return None;
        }
        // A variable that only one platform reads may differ between platforms.
        let crossed = device.is_some() && devices.iter().any(|of_side| *of_side != device);
        let rule = if crossed { &ENV_PLATFORM_ONLY } else { &ENV_WATCHED_DIFFERS };
        let finding = Finding::new(rule, name).with("baseline", shown(context, name, a));
        Some(finding.with("candidate", shown(context, name, b)))
    });
    judged.collect()
}

fn required(context: &PackContext<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in &context.policy.env.required {
        for (side, pack) in context.sides() {
            let device = rule.device.or_else(|| device_of(&rule.name));
            let elsewhere = device.is_some() && context.device(side).is_some_and(|on| Some(on) != device);
            let value = pack.variable(&rule.name);
            if elsewhere || value.is_some_and(|value| normalised(value) == normalised(&rule.value)) {
                continue;
            }
            findings.push(broken_requirement(context, rule, side, value));
        }
    }
    findings
}

fn broken_requirement(context: &PackContext<'_>, rule: &RequiredValue, side: Side, value: Option<&str>) -> Finding {
    Finding::new(&ENV_REQUIRED_VALUE, &rule.name)
        .with_severity(rule.severity.unwrap_or(ENV_REQUIRED_VALUE.severity))
        .with("side", side.as_str())
        .with("required", context.redactor.setting(&rule.name, &rule.value))
        .with("value", shown(context, &rule.name, value))
}

/// The only platform that reads a variable, by its name; `None` if both may.
fn device_of(name: &str) -> Option<Device> {
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    if starts(&["HCCL_", "ASCEND_", "INF_NAN_", "LCCL_"]) {
        Some(Device::Npu)
    } else if starts(&["NCCL_", "CUDA_", "CUBLAS_", "NVIDIA_", "CUDNN_"]) {
        Some(Device::Gpu)
    } else {
        None
    }
}

/// Findings about missing variables of a reproducible run, for both sides.
fn determinism(context: &PackContext<'_>) -> Vec<Finding> {
    let lacking = |rule: &Rule, device: Option<Device>, name: &str, good: &dyn Fn(&str) -> bool| {
        let lacks = |(side, pack): &(Side, &Pack)| {
            let concerned = device.is_none() || context.device(*side) == device;
            concerned && !pack.variable(name).is_some_and(good)
        };
        let sides: Vec<&str> =
            context.sides().iter().filter(|side| lacks(side)).map(|(side, _)| side.as_str()).collect();
        (!sides.is_empty()).then(|| Finding::new(rule, name).with("sides", sides.join(", ")))
    };
    let number = |value: &str| value.trim().parse::<u64>().is_ok();
    let on = |value: &str| matches!(normalised(value).to_ascii_lowercase().as_str(), "true" | "strict");
    let set = |value: &str| !value.trim().is_empty();
    [
        lacking(&HASH_SEED, None, "PYTHONHASHSEED", &number),
        lacking(&COLLECTIVES, Some(Device::Npu), "HCCL_DETERMINISTIC", &on),
        lacking(&INF_NAN_MODE, Some(Device::Npu), "INF_NAN_MODE_ENABLE", &on),
        lacking(&CUBLAS_WORKSPACE, Some(Device::Gpu), "CUBLAS_WORKSPACE_CONFIG", &set),
        Some(Finding::new(&NOT_IN_PACK, "torch")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spelling_carries_no_meaning() {
        for (a, b) in [("True", "1"), ("off", "0"), (" 07", "7"), ("", "false"), ("YES", "on")] {
            assert_eq!(normalised(a), normalised(b), "{a} {b}");
        }
        assert_ne!(normalised("strict"), normalised("true"));
        assert_ne!(normalised("Ring"), normalised("ring"));
    }

    #[test]
    fn devices_are_counted() {
        assert_eq!(judge_devices(Some("0,1"), Some("0, 1")), None);
        assert_eq!(judge_devices(Some("0,1"), Some("2,3")).map(|rule| rule.code), Some(ENV_DEVICE_LIST.code));
        assert_eq!(judge_devices(Some("0"), Some("0,1")).map(|rule| rule.code), Some(ENV_DEVICE_COUNT.code));
        assert_eq!(judge_devices(None, Some("0")), None);
    }
}
