//! The six tensor cells of msprobe 26.2.0's result tables, from our numbers, over every tensor dump among the fixtures.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use precision_gate::compare::tensor::{PairStats, ScalarPair, compare, scalar_pair};
use precision_gate::fetch::local::LocalFile;
use precision_gate::read::tensor::TensorData;
use precision_gate::read::tensor_file::open;
use serde_json::Value;

/// `EucDist` sums in an order msprobe does not fix: four units in the last place.
const DISTANCE_TOLERANCE: f64 = 4.0 * f64::EPSILON;

const METRICS: [&str; 6] =
    ["Cosine", "EucDist", "MaxAbsErr", "MaxRelativeErr", "One Thousandth Err Ratio", "Five Thousandths Err Ratio"];

#[test]
fn cells_agree_with_every_recorded_table() {
    let mut checked = 0;
    for table in tables(&crate::data::fixture("dumps")) {
        checked += check_table(&table);
    }
    assert!(checked > 500, "only {checked} rows");
}

/// Result tables of directory comparisons in tensor mode.
fn tables(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for case in std::fs::read_dir(root).expect("fixtures").flatten() {
        for file in std::fs::read_dir(case.path().join("expected")).into_iter().flatten().flatten() {
            let name = file.file_name().to_string_lossy().into_owned();
            if name.starts_with("dir_") && name.contains("compare_result") && name.ends_with(".json") {
                found.push(file.path());
            }
        }
    }
    found.sort();
    found
}

fn check_table(path: &Path) -> usize {
    let table: Value = serde_json::from_slice(&std::fs::read(path).expect("table")).expect("JSON");
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().expect("list").iter().map(|text| text.as_str().expect("text").to_owned()).collect()
    };
    let columns = texts(&table["columns"]);
    if !columns.iter().any(|column| column == "Data_name") {
        return 0;
    }
    let name = path.file_name().expect("name").to_string_lossy().into_owned();
    let step = name.strip_prefix("dir_").and_then(|rest| rest.split('.').next()).expect("step").to_owned();
    let rank = name.rsplit('_').next().and_then(|rest| rest.split('.').next()).expect("rank").to_owned();
    let case = path.parent().and_then(Path::parent).expect("case");
    let folder = |side: &str| data_folder(&case.join(side).join(&step), &rank);
    let (candidate, baseline) = (folder("npu"), folder("gpu"));
    let mut checked = 0;
    for row in table["rows"].as_array().expect("rows") {
        let row: BTreeMap<String, String> = columns.iter().cloned().zip(texts(row)).collect();
        let files: Vec<&str> = row["Data_name"].split('\'').skip(1).step_by(2).collect();
        let opened = (open_file(&candidate.join(files[0])), open_file(&baseline.join(files[1])));
        let expected: Vec<&str> = METRICS.iter().map(|metric| row[*metric].as_str()).collect();
        let (Some(c), Some(b)) = opened else {
            assert!(expected.iter().all(|cell| *cell == "unsupported"), "{files:?} of {}", path.display());
            continue;
        };
        assert_cells(&format!("{} of {}", row["NPU Name"], path.display()), &expected, &cells(&b, &c));
        checked += 1;
    }
    checked
}

fn data_folder(step: &Path, rank: &str) -> PathBuf {
    let ranks = std::fs::read_dir(step).expect("step folder").flatten();
    let folder = ranks.map(|entry| entry.path()).find(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy() == rank || name.to_string_lossy().starts_with(rank))
    });
    folder.expect("rank folder").join("dump_tensor_data")
}

fn open_file(path: &Path) -> Option<TensorData> {
    let file = LocalFile::open(path, &path.display().to_string()).ok()?;
    open(Arc::new(file)).ok()
}

fn assert_cells(place: &str, expected: &[&str], ours: &[String]) {
    for ((metric, expected), ours) in METRICS.iter().zip(expected).zip(ours) {
        let close = || match (expected.parse::<f64>(), ours.parse::<f64>()) {
            (Ok(a), Ok(b)) => *metric == "EucDist" && (a - b).abs() <= DISTANCE_TOLERANCE * a.abs(),
            _ => false,
        };
        assert!(expected == ours || close(), "{metric} of {place}: expected {expected}, got {ours}");
    }
}

fn cells(b: &TensorData, c: &TensorData) -> [String; 6] {
    let squeezed = |tensor: &TensorData| -> Vec<u64> { tensor.shape.iter().copied().filter(|len| *len != 1).collect() };
    if c.elements() == 0 {
        return [const { String::new() }; 6].map(|_| "unsupported".to_owned());
    }
    if squeezed(b) != squeezed(c) {
        return [const { String::new() }; 6].map(|_| "shape unmatched".to_owned());
    }
    if squeezed(b).is_empty() {
        let pair = scalar_pair(b, c).expect("readable").expect("not empty");
        return scalar_cells(pair);
    }
    let stats = compare(b, c).expect("readable");
    if stats.msprobe.nonfinite_positions_differ {
        return [const { String::new() }; 6].map(|_| "N/A".to_owned());
    }
    tensor_cells(&stats)
}

fn scalar_cells(pair: ScalarPair) -> [String; 6] {
    let no = || "unsupported".to_owned();
    [no(), no(), rounded(pair.max_abs_diff), rounded(pair.max_relative), no(), no()]
}

fn tensor_cells(stats: &PairStats) -> [String; 6] {
    let m = &stats.msprobe;
    let ratio = |count: u64| rounded(count as f64 / stats.elements as f64);
    [
        cosine(m.dot, m.sum_sq_baseline.sqrt(), m.sum_sq_candidate.sqrt()),
        python(m.sum_sq_diff.sqrt()),
        rounded(m.max_abs_diff),
        rounded(m.max_relative),
        ratio(m.below_thousandth),
        ratio(m.below_five_thousandths),
    ]
}

fn cosine(dot: f64, b: f64, c: f64) -> String {
    match (b <= f64::EPSILON, c <= f64::EPSILON) {
        (true, true) => return "1.0".into(),
        (false, false) => {}
        _ => return "Nan".into(),
    }
    let value: f64 = format!("{:.12}", dot / (b * c)).parse().expect("number");
    if value > 0.9999 { python(format!("{value:.6}").parse().expect("number")) } else { python(value) }
}

fn rounded(value: f64) -> String {
    if value.is_nan() {
        return "Nan".into();
    }
    if value.is_infinite() {
        return " inf".into();
    }
    python(format!("{value:.12}").parse().expect("number"))
}

/// A float as Python's `repr` writes it.
fn python(value: f64) -> String {
    let exponent = format!("{value:e}").split_once('e').and_then(|(_, e)| e.parse::<i32>().ok()).unwrap_or(0);
    if value != 0.0 && !(-4..16).contains(&exponent) {
        let text = format!("{value:e}");
        let (mantissa, _) = text.split_once('e').expect("exponent");
        return format!("{mantissa}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs());
    }
    format!("{value:?}")
}
