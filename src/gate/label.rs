//! Names of the two runs for people: the policy's labels, else the device that their packs or locations show.

use super::discover::Inventory;
use crate::judge::config::device_of;
use crate::policy::Policy;
use crate::read::pack::Pack;

/// Names of devices that folders and files are commonly named after.
const DEVICES: [&str; 19] = [
    "gpu", "npu", "cpu", "cuda", "ascend", "v100", "a10", "a100", "a800", "h20", "h100", "h200", "h800", "b200",
    "l40s", "910a", "910b", "910c", "950",
];

/// The labels of the baseline and the candidate; their roles where nothing tells them apart.
pub(super) fn labels(baseline: &Inventory, candidate: &Inventory, policy: &Policy) -> [String; 2] {
    let declared = [&policy.baseline.label, &policy.candidate.label];
    let found = [baseline, candidate].map(|side| of_packs(side).or_else(|| of_location(side.location())));
    let tells_apart = found[0] != found[1] || declared.iter().all(|label| !label.is_empty());
    let label = |declared: &str, found: Option<String>, role: &str| match declared {
        "" => found.filter(|_| tells_apart).unwrap_or_else(|| role.to_owned()),
        declared => declared.to_owned(),
    };
    let [of_baseline, of_candidate] = found;
    [label(declared[0], of_baseline, "baseline"), label(declared[1], of_candidate, "candidate")]
}

/// The device of all packs of a side; `None` where they differ or show none.
fn of_packs(side: &Inventory) -> Option<String> {
    let packs = side.artifacts::<Pack>();
    let device = device_of(packs.first()?)?;
    packs.iter().all(|pack| device_of(pack) == Some(device)).then(|| device.as_str().to_uppercase())
}

/// The device that a folder or file is named after: `runs/npu`, `gpu.zip`.
fn of_location(location: &str) -> Option<String> {
    let path = location.split(['#', '?']).next().unwrap_or(location);
    let name = path.trim_end_matches(['/', '\\']).rsplit(['/', '\\', ':']).next()?;
    let stem = name.split('.').next()?.to_ascii_lowercase();
    DEVICES.contains(&stem.as_str()).then(|| match stem.as_str() {
        "ascend" => "Ascend".to_owned(),
        _ => stem.to_uppercase(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_called_after_a_device_names_its_run() {
        for (location, label) in [
            ("runs/gpu", Some("GPU")),
            ("runs/npu/", Some("NPU")),
            ("C:\\runs\\A100", Some("A100")),
            ("s3://bucket/910b.tar.gz#sha256=0", Some("910B")),
            ("runs/npu-fixed", None),
            ("gpu/run7", None),
            ("", None),
        ] {
            assert_eq!(of_location(location).as_deref(), label, "{location}");
        }
    }
}
