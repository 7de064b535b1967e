//! Every finding about a profile, each given by one change of a healthy one.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use precision_gate::verdict::Severity;
use serde_json::Value;
use tempfile::TempDir;

use super::{cases, copy, has, judge, stretched};

/// The tables of a side with one profile.
fn output(side: &Path) -> PathBuf {
    let profile = fs::read_dir(side).expect("a side").flatten().next().expect("a profile").path();
    profile.join("ASCEND_PROFILER_OUTPUT")
}

/// Changes every row of a table; `edit` finds a cell by the title of its column.
fn edited(table: &Path, mut edit: impl FnMut(&dyn Fn(&str) -> usize, &mut Vec<String>) -> bool) {
    let bytes = fs::read(table).expect("a table");
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(bytes.as_slice());
    let mut writer = csv::Writer::from_path(table).expect("a table");
    let mut titles: Vec<String> = Vec::new();
    for record in reader.records() {
        let mut cells: Vec<String> = record.expect("a row").iter().map(str::to_owned).collect();
        if titles.is_empty() {
            titles.clone_from(&cells);
        } else {
            let column = |title: &str| titles.iter().position(|other| other == title).expect("a column");
            if !edit(&column, &mut cells) {
                continue;
            }
        }
        writer.write_record(&cells).expect("written");
    }
    writer.flush().expect("written");
}

fn kernels(side: &Path, edit: impl FnMut(&dyn Fn(&str) -> usize, &mut Vec<String>) -> bool) {
    edited(&output(side).join("kernel_details.csv"), edit);
}

/// Begins the kernels of each step later, by so many microseconds.
pub(super) fn delayed(side: &Path, delay: impl Fn(u32) -> f64) {
    kernels(side, |column, cells| {
        let step: u32 = cells[column("Step Id")].parse().expect("a step");
        let start = column("Start Time(us)");
        let time: f64 = cells[start].trim().parse().expect("a time");
        cells[start] = format!("{:.3}\t", time + delay(step));
        true
    });
}

/// Gives the kernels of one type another type or core.
fn renamed(side: &Path, kind: &str, title: &str, name: &str) {
    kernels(side, |column, cells| {
        if cells[column("Type")] == kind {
            cells[column(title)] = name.to_owned();
        }
        true
    });
}

fn trace(side: &Path, events: &[String]) {
    fs::write(output(side).join("trace_view.json"), format!("[{}]", events.join(","))).expect("written");
}

fn clock(megahertz: u32) -> String {
    format!(r#"{{"ph": "C", "name": "AI Core Freq", "pid": 9, "tid": 0, "ts": "1", "args": {{"MHz": {megahertz}}}}}"#)
}

/// 15 ms for the next batch in each of the seven steps.
fn loading() -> Vec<String> {
    let event = |step: u32| {
        let name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
        format!(
            r#"{{"ph": "X", "name": "{name}", "pid": 1, "tid": 1, "ts": "{step}", "dur": "15000.0", "args": {{}}}}"#
        )
    };
    (0..7).map(event).collect()
}

fn replaced(file: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(file).expect("text");
    assert!(text.contains(from), "{} holds {from}", file.display());
    fs::write(file, text.replace(from, to)).expect("written");
}

fn twice(side: &Path) {
    let profile = fs::read_dir(side).expect("a side").flatten().next().expect("a profile").path();
    copy(&profile, &side.join("node01_4242_20261121120000000_ascend_pt"));
}

/// A code, and the change of the two sides that gives it. Both sides are the same healthy profile before it.
type Change = (&'static str, fn(&Path, &Path));

const CHANGES: [Change; 21] = [
    ("performance-spike", |_, npu| delayed(npu, |step| if step > 15 { 15_000.0 } else { 0.0 })),
    ("performance-jitter", |_, npu| delayed(npu, |step| f64::from((step - 12) / 2) * 15_000.0)),
    ("performance-drift", |_, npu| delayed(npu, |step| f64::from((step - 12) * (step - 12)) * 2_000.0)),
    ("performance-dtype-differs", |_, npu| {
        kernels(npu, |column, cells| {
            if cells[column("Type")] == "Gelu" {
                cells[column("Input Data Types")] = "FLOAT".to_owned();
            }
            true
        });
    }),
    ("performance-operator-calls", |_, npu| {
        delayed(npu, |step| f64::from(step - 12) * 15_000.0);
        renamed(npu, "LogSoftmaxGrad", "Type", "FlashAttentionScoreGrad");
    }),
    ("performance-host-bound", |_, npu| delayed(npu, |step| f64::from(step - 12) * 15_000.0)),
    ("performance-dataloading", |_, npu| {
        delayed(npu, |step| f64::from(step - 12) * 15_000.0);
        trace(npu, &loading());
    }),
    ("performance-faster", |gpu, _| delayed(gpu, |step| f64::from(step - 12) * 15_000.0)),
    ("performance-few-steps", |_, npu| {
        kernels(npu, |column, cells| cells[column("Step Id")].parse::<u32>().expect("a step") < 15);
    }),
    ("performance-frequency", |gpu, npu| {
        trace(gpu, &[clock(1800)]);
        trace(npu, &[clock(1400)]);
    }),
    ("performance-memory-peak", |_, npu| {
        edited(&output(npu).join("memory_record.csv"), |column, cells| {
            for title in ["Total Allocated(MB)", "Total Reserved(MB)", "Total Active(MB)"] {
                let cell = &mut cells[column(title)];
                *cell = (cell.parse::<f64>().expect("a number") * 1.5).to_string();
            }
            true
        });
    }),
    ("performance-aicpu", |_, npu| renamed(npu, "Gelu", "Accelerator Core", "AI_CPU")),
    ("performance-conversions", |_, npu| renamed(npu, "LogSoftmaxV2", "Type", "TransData")),
    ("performance-operator-new", |_, npu| renamed(npu, "GeluGrad", "Type", "GeluGradV9")),
    ("performance-operator-lost", |_, npu| renamed(npu, "GeluGrad", "Type", "GeluGradV9")),
    ("performance-settings-differ", |_, npu| {
        let info = output(npu).with_file_name("profiler_info.json");
        replaced(&info, "\"_profiler_level\": \"Level1\"", "\"_profiler_level\": \"Level2\"");
    }),
    ("performance-steps-twice", |_, npu| twice(npu)),
    ("performance-kernels-missing", |_, npu| {
        fs::remove_file(output(npu).join("kernel_details.csv")).expect("removed");
    }),
    ("performance-times-contradict", |_, npu| {
        let mut row = 0;
        kernels(npu, |_, _| {
            row += 1;
            row % 3 == 0
        });
    }),
    ("too-good", |gpu, _| delayed(gpu, |step| f64::from(step - 12) * 500_000.0)),
    ("performance-file-damaged", |_, npu| {
        let table = output(npu).join("kernel_details.csv");
        let bytes = fs::read(&table).expect("a table");
        fs::write(&table, &bytes[..bytes.len() / 2]).expect("written");
    }),
];

#[test]
fn each_change_of_a_healthy_profile_has_its_finding() {
    let healthy = cases().join("fusion-lost/gpu");
    let changed = |change: fn(&Path, &Path)| {
        let sides = [TempDir::new().expect("a folder"), TempDir::new().expect("a folder")];
        sides.iter().for_each(|side| copy(&healthy, side.path()));
        change(sides[0].path(), sides[1].path());
        judge(sides[0].path(), sides[1].path(), "")
    };
    let untouched = changed(|gpu, _| trace(gpu, &[clock(1800)]));
    for (code, change) in CHANGES {
        let result = changed(change);
        assert!(has(&result, code), "{code}: {:?}", result.findings);
        assert!(!has(&untouched, code), "{code} without a change");
    }
}

#[test]
fn what_only_the_baseline_recorded_is_told() {
    let (healthy, npu) = (cases().join("fusion-lost/gpu"), TempDir::new().expect("a folder"));
    copy(&healthy, npu.path());
    assert!(!has(&judge(&healthy, npu.path(), ""), "performance-part-lost"));
    fs::remove_file(output(npu.path()).join("memory_record.csv")).expect("removed");
    let severity = |policy: &str| {
        let result = judge(&healthy, npu.path(), policy);
        result.findings.iter().find(|finding| finding.code == "performance-part-lost").map(|finding| finding.severity)
    };
    assert_eq!(severity(""), Some(Severity::Warn));
    assert_eq!(severity("performance: {memory-peak: {fail: 1.5}}"), Some(Severity::Incomplete), "a limit that fails");
    let result = judge(npu.path(), &healthy, "");
    assert!(!has(&result, "performance-part-lost"), "the candidate may record more");
}

#[test]
fn a_rank_of_one_side_is_told() {
    let (baseline, folder) = (cases().join("communication-not-overlapped/gpu"), TempDir::new().expect("a folder"));
    copy(&baseline, folder.path());
    assert!(!has(&judge(&baseline, folder.path(), ""), "performance-ranks-differ"));
    fs::remove_dir_all(folder.path().join("node01_4243_20261121110000000_ascend_pt")).expect("removed");
    assert!(has(&judge(&baseline, folder.path(), ""), "performance-ranks-differ"));
}

/// Collectives that take longer: because a link moves the same data more slowly, or because ranks wait.
#[test]
fn a_slow_link_is_told_from_waiting() {
    let baseline = cases().join("communication-not-overlapped/gpu");
    for (key, is_link) in [("Transit Time(ms)", true), ("Wait Time(ms)", false)] {
        let folder = TempDir::new().expect("a folder");
        copy(&baseline, folder.path());
        let profiles: Vec<PathBuf> =
            fs::read_dir(folder.path()).expect("profiles").flatten().map(|entry| entry.path()).collect();
        stretched(&profiles, Path::new("none"));
        for profile in &profiles {
            let path = profile.join("ASCEND_PROFILER_OUTPUT/communication.json");
            let mut steps: Value = serde_json::from_slice(&fs::read(&path).expect("a file")).expect("JSON");
            let calls = steps.as_object_mut().expect("steps").values_mut();
            for call in calls.flat_map(|step| step["collective"].as_object_mut().expect("calls").values_mut()) {
                let times = &mut call["Communication Time Info"];
                times[key] = (times["Elapse Time(ms)"].as_f64().expect("a time") * 20.0).into();
            }
            fs::write(&path, steps.to_string()).expect("written");
        }
        let result = judge(&baseline, folder.path(), "");
        assert_eq!(has(&result, "performance-slow-link"), is_link, "{key}: {:?}", result.findings);
    }
}

#[test]
fn a_trace_without_the_device_is_told() {
    let case = cases().join("gpu-to-npu-limit");
    let packed = fs::read_dir(case.join("gpu")).expect("a side").flatten().next().expect("a trace").path();
    let mut text = String::new();
    flate2::read::GzDecoder::new(File::open(packed).expect("a trace")).read_to_string(&mut text).expect("unpacked");
    let mut trace: Value = serde_json::from_str(&text).expect("JSON");
    let folder = TempDir::new().expect("a folder");
    let judged = |trace: &Value| {
        fs::write(folder.path().join("node01_7001.1763700000000000.pt.trace.json"), trace.to_string())
            .expect("written");
        judge(folder.path(), &case.join("npu"), "")
    };
    assert!(!has(&judged(&trace), "performance-no-device"));
    trace["traceEvents"].as_array_mut().expect("events").retain(|event| event["cat"] != "kernel");
    assert!(has(&judged(&trace), "performance-no-device"));
}
