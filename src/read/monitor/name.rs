//! Names of tensors that are the same for both versions of the monitor, and the number of decimals of printed numbers.

use std::borrow::Cow;

use super::version::MonitorVersion;
use crate::kind::MonitorKind;

/// Parts of names that come from wrappers: data parallelism, compilation, recomputation, sharding.
const WRAPPERS: [&str; 5] =
    ["module", "_orig_mod", "_checkpoint_wrapped_module", "_fsdp_wrapped_module", "_forward_module"];

/// Name without the parts that come from wrappers. The name of the wrapped model itself becomes empty, like that of any root.
fn unwrapped(name: &str, kind: MonitorKind) -> Cow<'_, str> {
    let is_wrapper = |part: &&str| WRAPPERS.contains(part);
    if !name.split('.').any(|part| is_wrapper(&part)) {
        return Cow::Borrowed(name);
    }
    let left: Vec<&str> = name.split('.').filter(|part| !is_wrapper(part)).collect();
    let is_port =
        |part: &&str| ["input", "output", "grad_input", "grad_output"].iter().any(|port| part.starts_with(port));
    let is_root = kind.is_activation() && left.first().is_some_and(is_port);
    Cow::Owned(if is_root { format!(".{}", left.join(".")) } else { left.join(".") })
}

/// Name without wrappers and without the differences between versions: V1 writes `X.input` and `X.input_1`, V2 writes `X.input.0`,
/// `X.grad_input.1` and `X.weight.exp_avg`.
pub(super) fn canonical_name(name: &str, kind: MonitorKind, version: MonitorVersion) -> String {
    let name = &*unwrapped(name, kind);
    match kind {
        MonitorKind::ExpAvg | MonitorKind::ExpAvgSq if version == MonitorVersion::V2 => {
            let suffix = format!(".{}", kind.as_str());
            name.strip_suffix(suffix.as_str()).unwrap_or(name).to_owned()
        }
        MonitorKind::Actv | MonitorKind::ActvGrad => port(name, version).unwrap_or_else(|| name.to_owned()),
        _ => name.to_owned(),
    }
}

/// Name of an input or output of a module in the form `module.input.0`; `None` for any other name.
fn port(name: &str, version: MonitorVersion) -> Option<String> {
    let (rest, number) = match version {
        MonitorVersion::V2 => name.rsplit_once('.').filter(|(_, number)| is_number(number))?,
        MonitorVersion::V1 => match name.rsplit_once('_') {
            Some((rest, number)) if is_number(number) => (rest, number),
            _ => (name, "0"),
        },
    };
    let (module, port) = rest.rsplit_once('.')?;
    let port = match port {
        "input" | "grad_input" => "input",
        "output" | "grad_output" => "output",
        _ => return None,
    };
    Some(format!("{module}.{port}.{number}"))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Number of decimals of a written number, taking the exponent into account: 10 for `1.5e-09`.
pub fn decimals(text: &str) -> Option<u32> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let after = mantissa.split_once('.').map_or("", |(_, after)| after);
    let written = if after == "0" { 0 } else { i64::try_from(after.len()).ok()? };
    let exponent: i64 = exponent.parse().ok()?;
    text.parse::<f64>().ok().filter(|value| value.is_finite())?;
    u32::try_from(written.checked_sub(exponent)?.max(0)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_give_one_name() {
        for (name, kind, version, expected) in [
            ("fc1.input", MonitorKind::Actv, MonitorVersion::V1, "fc1.input.0"),
            ("fc1.input_1", MonitorKind::Actv, MonitorVersion::V1, "fc1.input.1"),
            (".input", MonitorKind::Actv, MonitorVersion::V1, ".input.0"),
            ("fc1.input.1", MonitorKind::Actv, MonitorVersion::V2, "fc1.input.1"),
            ("fc1.grad_output.0", MonitorKind::ActvGrad, MonitorVersion::V2, "fc1.output.0"),
            ("fc1.weight.exp_avg", MonitorKind::ExpAvg, MonitorVersion::V2, "fc1.weight"),
            ("fc1.weight", MonitorKind::ExpAvg, MonitorVersion::V1, "fc1.weight"),
            ("block_1", MonitorKind::Actv, MonitorVersion::V1, "block_1"),
            ("module.fc1.weight", MonitorKind::ParamOrigin, MonitorVersion::V1, "fc1.weight"),
            (
                "_orig_mod.module.blk.0._checkpoint_wrapped_module.fc.input_1",
                MonitorKind::Actv,
                MonitorVersion::V1,
                "blk.0.fc.input.1",
            ),
            ("module.input", MonitorKind::Actv, MonitorVersion::V1, ".input.0"),
            ("module.module.grad_output.0", MonitorKind::ActvGrad, MonitorVersion::V2, ".output.0"),
            ("module.fc1.weight.exp_avg", MonitorKind::ExpAvg, MonitorVersion::V2, "fc1.weight"),
            ("modules.0.weight", MonitorKind::ParamOrigin, MonitorVersion::V2, "modules.0.weight"),
        ] {
            assert_eq!(canonical_name(name, kind, version), expected, "{name}");
        }
    }

    #[test]
    fn decimals_are_those_that_were_written() {
        for (text, expected) in [
            ("214.3851673974", Some(10)),
            ("1.0", Some(0)),
            ("-1.5e-09", Some(10)),
            ("1e-06", Some(6)),
            ("nan", None),
            ("inf", None),
            ("", None),
            ("1e30", Some(0)),
        ] {
            assert_eq!(decimals(text), expected, "{text}");
        }
    }
}
