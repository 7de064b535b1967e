//! Findings that no recorded pair gives: each by one change of a pack, and not by the pack as it was.

use std::fs::File;
use std::io::{Cursor, Read as _, Write as _};
use std::path::Path;

use half::bf16;
use serde_json::{Map, Value, json};
use zip::write::SimpleFileOptions;

use crate::config::common::{codes, folder, run_paths};

/// The members of a pack that is to be changed.
type Members = Vec<(String, Vec<u8>)>;

fn members(pack: &Path) -> Members {
    let mut archive = zip::ZipArchive::new(File::open(pack).expect("a pack")).expect("a zip");
    let mut members = Members::new();
    for index in 0..archive.len() {
        let mut member = archive.by_index(index).expect("a member");
        let mut bytes = Vec::new();
        member.read_to_end(&mut bytes).expect("readable");
        members.push((member.name().expect("a name").into_owned(), bytes));
    }
    members
}

fn packed(members: &Members) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        writer.start_file(name, SimpleFileOptions::default()).expect("started");
        writer.write_all(bytes).expect("written");
    }
    writer.finish().expect("finished").into_inner()
}

/// Changes the JSON of a member.
fn edit(members: &mut Members, name: &str, change: impl FnOnce(&mut Value)) {
    let (_, bytes) = members.iter_mut().find(|(member, _)| member == name).expect(name);
    let mut value = serde_json::from_slice(bytes).expect("JSON");
    change(&mut value);
    *bytes = value.to_string().into_bytes();
}

fn add(members: &mut Members, name: &str, bytes: &[u8]) {
    members.push((name.to_owned(), bytes.to_vec()));
}

fn scale(value: &mut Value, factor: f64) {
    *value = json!(value.as_f64().expect("a number") * factor);
}

/// `digests.json`, as `config-pack` writes it.
fn digests(files: &[&str]) -> String {
    let digest = format!("sha256:{}", "0".repeat(64));
    let files: Map<String, Value> = files.iter().map(|file| ((*file).to_owned(), json!(digest))).collect();
    json!({ "files": files }).to_string()
}

const WEIGHTS: &str = "weights/step0/rank0/weight.json";
const SETTINGS: &str = "hyperparameters/hyperparameters_static.json";

/// A code, the packs it comes from, the policy, and the change of the two packs that gives it.
type Change = (&'static str, &'static str, &'static str, fn(&mut Members, &mut Members));

const CHANGES: [Change; 16] = [
    ("dataset-within-tolerance", "identical-gpu-vs-npu", "", |_, npu| {
        edit(npu, "dataset/step0/rank0/dataset.json", |data| scale(&mut data["args"]["0"]["norm"], 1.0 + 1e-7));
    }),
    ("weights-within-tolerance", "identical-gpu-vs-npu", "", |_, npu| {
        edit(npu, WEIGHTS, |weights| {
            for parameter in weights.as_object_mut().expect("parameters").values_mut() {
                scale(&mut parameter["norm"], 1.0 + 1e-7);
            }
        });
    }),
    ("weights-nearly-equal", "identical-checkpoint-job", "", |_, npu| {
        edit(npu, WEIGHTS, |weights| scale(&mut weights["embeddings.weight"]["norm"], 1.0 + 1e-7));
    }),
    ("weights-precision-differs", "identical-gpu-vs-npu", "", |_, npu| {
        edit(npu, WEIGHTS, |weights| {
            for statistic in ["max", "min", "mean", "norm"] {
                let value = &mut weights["fc1.weight"][statistic];
                *value = json!(bf16::from_f64(value.as_f64().expect("a number")).to_f64());
            }
        });
    }),
    ("pack-record-malformed", "identical-gpu-vs-npu", "", |_, npu| {
        edit(npu, WEIGHTS, |weights| weights["fc1.weight"]["norm"] = json!("large"));
    }),
    ("pack-member-unknown", "identical-gpu-vs-npu", "", |_, npu| add(npu, "notes.txt", b"mine")),
    ("pack-no-first-step", "identical-gpu-vs-npu", "", |_, npu| {
        npu.retain(|(name, _)| name != "dataset/step0/rank0/dataset.json");
    }),
    ("seed-call-not-seen", "identical-gpu-vs-npu", "", |_, npu| {
        edit(npu, "random/rank0.json", |calls| {
            calls.as_object_mut().expect("calls").retain(|function, _| !function.ends_with("manual_seed"));
        });
    }),
    ("digest-one-sided", "identical-gpu-vs-npu", "", |gpu, npu| {
        add(gpu, "digests.json", digests(&["data/a.txt", "data/b.txt"]).as_bytes());
        add(npu, "digests.json", digests(&["data/a.txt"]).as_bytes());
    }),
    ("env-device-list-differs", "identical-gpu-vs-npu", "", |_, npu| {
        edit(npu, "env", |variables| variables["ASCEND_RT_VISIBLE_DEVICES"] = json!("1"));
    }),
    (
        "env-required-value",
        "identical-gpu-vs-npu",
        "config: {env: {required: [{name: OMP_NUM_THREADS, value: '2'}]}}",
        |_, npu| edit(npu, "env", |variables| variables["OMP_NUM_THREADS"] = json!("3")),
    ),
    (
        "pip-rule-broken",
        "identical-gpu-vs-npu",
        "config: {pip: {rules: [{package: numpy, require: equal}]}}",
        |_, npu| {
            let (_, packages) = npu.iter_mut().find(|(name, _)| name == "pip").expect("packages");
            *packages = String::from_utf8_lossy(packages).replace("numpy=2.2.6", "numpy=2.1.0").into_bytes();
        },
    ),
    ("pip-torch-npu-mismatch", "identical-gpu-vs-npu", "", |_, npu| {
        let (_, packages) = npu.iter_mut().find(|(name, _)| name == "pip").expect("packages");
        packages.extend_from_slice(b"torch-npu=2.6.0\n");
    }),
    ("hyperparameter-path-differs", "hyper-shell-differs", "", |_, npu| {
        edit(npu, SETTINGS, |settings| settings["data-path"] = json!("/mnt/other"));
    }),
    ("hyperparameter-machine-differs", "hyper-shell-differs", "", |_, npu| {
        edit(npu, SETTINGS, |settings| settings["master_port"] = json!("6001"));
    }),
    ("layout-differs", "hyper-shell-differs", "", |gpu, npu| {
        edit(gpu, SETTINGS, |settings| settings["tensor-model-parallel-size"] = json!("1"));
        edit(npu, SETTINGS, |settings| settings["tensor-model-parallel-size"] = json!("2"));
    }),
];

#[test]
fn each_change_of_a_pack_has_its_finding() {
    let mut wrong = Vec::new();
    for (code, case, policy, change) in CHANGES {
        let place = tempfile::tempdir().expect("a folder");
        let mut sides = ["gpu", "npu"].map(|side| members(&folder().join(case).join(format!("{side}.zip"))));
        let judged = |sides: &[Members; 2]| {
            let paths = ["gpu.zip", "npu.zip"].map(|name| place.path().join(name));
            for (path, side) in paths.iter().zip(sides) {
                std::fs::write(path, packed(side)).expect("written");
            }
            let [gpu, npu] = paths.map(|path| path.display().to_string());
            codes(&run_paths(&gpu, &npu, policy).expect("read"))
        };
        let before = judged(&sides);
        assert!(!before.iter().any(|found| found == code), "{code} without a change");
        let [gpu, npu] = &mut sides;
        change(gpu, npu);
        let after = judged(&sides);
        if !after.iter().any(|found| found == code) {
            wrong.push(format!("{code}: {after:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
