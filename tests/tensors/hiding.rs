//! Taking parameters, files or bytes from the candidate's checkpoint never buys a pass.

use precision_gate::result::GateResult;
use precision_gate::result::unit::{Evidence, Unit};
use precision_gate::verdict::Verdict;
use serde_json::Value;

use super::checkpoints::{judged, root};
use super::tree::files;

/// The header of a safetensors file and the data behind it.
fn parts(bytes: &[u8]) -> Option<(Value, &[u8])> {
    let (len, rest) = bytes.split_first_chunk::<8>()?;
    let (header, data) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?)?;
    Some((serde_json::from_slice(header).ok()?, data))
}

fn joined(header: &Value, data: &[u8]) -> Vec<u8> {
    let header = header.to_string();
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), data].concat()
}

/// Bytes of a file where something of it is hidden; `None` is a file that is gone.
fn hidden(bytes: &[u8]) -> Vec<(String, Option<Vec<u8>>)> {
    let mut found = vec![("gone".to_owned(), None), ("cut".to_owned(), Some(bytes[..bytes.len() / 2].to_vec()))];
    found.push(("empty".to_owned(), Some(Vec::new())));
    let Some((header, data)) = parts(bytes) else { return found };
    for name in header.as_object().into_iter().flatten().map(|(name, _)| name.as_str()) {
        let mut without = header.clone();
        without.as_object_mut().expect("an object").remove(name);
        found.push((format!("without {name}"), Some(joined(&without, data))));
        let mut unknown = header.clone();
        unknown[name]["dtype"] = "F4".into();
        found.push((format!("{name} of an unknown type"), Some(joined(&unknown, data))));
    }
    found
}

fn evidence(result: &GateResult) -> Vec<Evidence> {
    let all = result.checks.iter().flat_map(|check| &check.units);
    all.filter_map(|unit| if let Unit::Checkpoint(unit) = unit { Some(unit.evidence.clone()) } else { None }).collect()
}

#[test]
fn hiding_what_the_candidate_saved_never_buys_a_pass() {
    let mut made = 0;
    for case in std::fs::read_dir(root()).expect("fixtures").flatten().map(|case| case.path()) {
        let Ok(truth) = std::fs::read(case.join("case.json")) else { continue };
        let truth: Value = serde_json::from_slice(&truth).expect("JSON");
        let policy = truth["policy"].as_str().unwrap_or_default();
        let untouched = judged(&case.join("gpu"), &case.join("npu"), policy).verdict;
        for file in files(&case.join("npu")) {
            for (what, bytes) in hidden(&std::fs::read(&file).expect("readable")) {
                let copied = tempfile::tempdir().expect("a folder");
                for other in files(&case.join("npu")) {
                    let target = copied.path().join(other.strip_prefix(case.join("npu")).expect("below"));
                    std::fs::create_dir_all(target.parent().expect("a folder")).expect("made");
                    let bytes =
                        if other == file { bytes.clone() } else { Some(std::fs::read(&other).expect("readable")) };
                    if let Some(bytes) = bytes {
                        std::fs::write(target, bytes).expect("written");
                    }
                }
                let result = judged(&case.join("gpu"), copied.path(), policy);
                let whole = evidence(&result).iter().all(|evidence| evidence.unseen() == 0 && evidence.compared > 0);
                let unexplained = result.verdict == Verdict::Pass && (untouched > Verdict::Pass || !whole);
                assert!(!unexplained, "{} {}: {what}", case.display(), file.display());
                made += 1;
            }
        }
    }
    assert!(made > 100, "only {made} changes");
}

/// A checkpoint of float32 tensors.
pub(super) fn checkpoint<N: AsRef<str>>(tensors: &[(N, &[f32])]) -> Vec<u8> {
    let (mut header, mut data) = (serde_json::json!({}), Vec::new());
    for (name, values) in tensors {
        let start = data.len();
        values.iter().for_each(|value| data.extend(value.to_le_bytes()));
        let place = [start, data.len()];
        header[name.as_ref()] = serde_json::json!({"dtype": "F32", "shape": [values.len()], "data_offsets": place});
    }
    joined(&header, &data)
}

/// Verdict and account of these tensors on both sides.
fn of_both(tensors: &[(&str, &[f32])]) -> (Verdict, Evidence) {
    let folder = tempfile::tempdir().expect("a folder");
    for side in ["gpu", "npu"] {
        std::fs::create_dir(folder.path().join(side)).expect("made");
        std::fs::write(folder.path().join(side).join("model.safetensors"), checkpoint(tensors)).expect("written");
    }
    let result = judged(&folder.path().join("gpu"), &folder.path().join("npu"), "");
    (result.verdict, evidence(&result).first().expect("one checkpoint").clone())
}

#[test]
fn parameters_that_say_nothing_carry_no_verdict() {
    const REAL: &[f32] = &[0.25, -3.5, 1.0];
    const NAN: &[f32] = &[f32::NAN; 3];
    let three = |first: &[f32], second: &[f32], third: &[f32]| of_both(&[("a", first), ("b", second), ("c", third)]);
    let (verdict, healthy) = three(REAL, REAL, &[f32::NAN, 2.0, 5.0]);
    assert_eq!((healthy.offered, healthy.compared, healthy.equal_trivially), (3, 3, 0), "partly finite is compared");
    assert!(!verdict.blocks());
    for nothing in [&[][..], NAN] {
        let (verdict, one) = three(REAL, REAL, nothing);
        assert_eq!((one.offered, one.compared, one.not_compared), (3, 2, 1));
        assert_eq!((verdict, three(nothing, nothing, nothing).0), (Verdict::Incomplete, Verdict::Incomplete));
    }
    for trivial in [&[0.0; 3][..], &[1.0; 3]] {
        let (verdict, one) = three(REAL, REAL, trivial);
        assert_eq!((one.compared, one.equal_trivially, verdict), (3, 1, Verdict::Pass));
        assert_eq!(three(trivial, trivial, trivial).0, Verdict::Incomplete);
    }
    assert_eq!(of_both(&[("scale", &[0.5])]).1.equal_trivially, 0, "one element that is not zero is a value");
}

#[test]
fn the_evidence_of_a_checkpoint_adds_up() {
    let case = root().join("random_state");
    let result = judged(&case.join("gpu"), &case.join("npu"), "");
    let all = evidence(&result);
    let [evidence] = &all[..] else { panic!("one checkpoint") };
    // NumPy's, torch's and the device's generators, and the one of the tensor-parallel group.
    assert_eq!((evidence.shown_only, evidence.unseen()), (4, 0));
    assert_eq!(evidence.total(), evidence.compared + 4);
    let ignored = judged(&case.join("gpu"), &case.join("npu"), "checkpoint: {ignore: ['*rng*']}");
    let all = self::evidence(&ignored);
    let [without] = &all[..] else { panic!("one checkpoint") };
    assert_eq!((without.left_out, without.total()), (4, evidence.total()));
}
