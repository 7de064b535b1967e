//! Findings about what was recorded: each by one change of a healthy run.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{cases, column, copied, has, judge};

/// A run of each version of the monitor, judged against a changed copy of itself.
const FIRST: &str = "loss-scale-half-v1/gpu";
const SECOND: &str = "stale-rank2-v2/gpu";

/// Cells of a row, by the titles of their columns.
struct Row<'a>(&'a [String], &'a mut Vec<String>);

impl Row<'_> {
    fn cell(&mut self, title: &str) -> &mut String {
        &mut self.1[column(self.0, title)]
    }

    fn is(&mut self, title: &str, value: &str) -> bool {
        self.0.iter().any(|column| column == title) && self.cell(title) == value
    }

    fn numbers(&mut self, change: impl Fn(f64) -> String) {
        for statistic in ["norm", "min", "max", "mean"] {
            let cell = self.cell(statistic);
            *cell = change(cell.parse().expect("a number"));
        }
    }
}

/// A change of the copy: of its rows, then of its files.
struct Change {
    code: &'static str,
    run: &'static str,
    rows: fn(&mut Row<'_>),
    files: fn(&Path),
    policy: &'static str,
}

const NOTHING: Change = Change { code: "", run: FIRST, rows: |_| {}, files: |_| {}, policy: "" };

const CHANGES: [Change; 9] = [
    Change {
        code: "monitor-dtype-differs",
        rows: |row| {
            if row.is("name", "emb.weight") && row.is("dtype", "torch.float32") {
                *row.cell("dtype") = "torch.float16".to_owned();
            }
        },
        ..NOTHING
    },
    Change {
        code: "monitor-shape-differs",
        rows: |row| {
            if row.is("name", "emb.weight") && row.is("shape", "[50, 16]") {
                *row.cell("shape") = "[50, 8]".to_owned();
            }
        },
        ..NOTHING
    },
    Change {
        code: "monitor-names-missing",
        run: SECOND,
        rows: |row| {
            if row.is("module_name", "fc1.weight") {
                *row.cell("module_name") = "fc9.weight".to_owned();
            }
        },
        ..NOTHING
    },
    Change {
        code: "monitor-steps-missing",
        run: SECOND,
        rows: |row| {
            if row.is("step", "3") {
                *row.cell("step") = "9".to_owned();
            }
        },
        ..NOTHING
    },
    Change { code: "monitor-rounding-differs", rows: |row| row.numbers(|number| format!("{number:.4}")), ..NOTHING },
    Change {
        code: "monitor-noise-horizon",
        run: SECOND,
        rows: |row| {
            if row.is("scope", "reduced") {
                row.numbers(|number| (number * 1.02).to_string());
            }
        },
        policy: "monitor: {limits: [{name: '*', noise: 0.05, wrong: 0.1}]}",
        ..NOTHING
    },
    Change {
        code: "monitor-rank-twice",
        files: |side| {
            let later = side.join("Nov22_21-16-32-rank0-2e678bcf");
            copied(&start(side), &later, &|_, _, _| {});
        },
        ..NOTHING
    },
    Change {
        code: "monitor-anomalies",
        files: |side| {
            let folder = side.join("anomaly_detected/rank0");
            fs::create_dir_all(&folder).expect("a folder");
            let alert = r#"{"a": {"tag_name": "fc1.weight/0/norm", "step": 2, "message": "Rule AnomalyTurbulence reports", "group_mates": [0]}}"#;
            fs::write(folder.join("anomaly.json"), alert).expect("written");
        },
        ..NOTHING
    },
    Change {
        code: "monitor-no-statistics",
        files: |side| {
            let folder = start(side);
            for table in fs::read_dir(&folder).expect("a folder").flatten() {
                fs::remove_file(table.path()).expect("removed");
            }
            let text = "vpp_stage,name,step,nans,shape,dtype\n0,emb.weight,0,0,\"[50, 16]\",torch.float32\n";
            fs::write(folder.join("param_origin_0-4.csv"), text).expect("written");
        },
        ..NOTHING
    },
];

/// The folder of the only start of a run of version 1.
fn start(side: &Path) -> PathBuf {
    let mut entries = fs::read_dir(side).expect("a folder").flatten().map(|entry| entry.path());
    entries.find(|path| path.is_dir()).expect("a start")
}

#[test]
fn each_change_of_a_healthy_run_has_its_finding() {
    let mut wrong = Vec::new();
    for change in CHANGES {
        let run = cases().join(change.run);
        let judged = |change: &Change| {
            let folder = TempDir::new().expect("a folder");
            let side = folder.path().join("npu");
            copied(&run, &side, &|_, header, cells| (change.rows)(&mut Row(header, cells)));
            (change.files)(&side);
            judge(&run, &side, change.policy)
        };
        let untouched = judged(&Change { run: change.run, policy: change.policy, ..NOTHING });
        assert!(!has(&untouched, change.code), "{} without a change", change.code);
        let changed = judged(&change);
        if !has(&changed, change.code) {
            wrong.push(format!("{}: {:?}", change.code, changed.findings));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn two_versions_of_the_monitor_are_told() {
    let case = cases().join("v1-against-v2");
    assert!(has(&judge(&case.join("gpu"), &case.join("npu"), ""), "monitor-versions-differ"));
    assert!(!has(&judge(&case.join("gpu"), &case.join("gpu"), ""), "monitor-versions-differ"));
}
