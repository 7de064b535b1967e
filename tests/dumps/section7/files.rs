//! 7.1 and 7.5: what is read and written.

use std::fs;

use precision_gate::msprobe::dump::Matching;
use precision_gate::msprobe::table::MsprobeTable;
use precision_gate::read::dump::DumpFolder;

use super::{CHECKSUM, NO_CHECKSUM};
use crate::dumps::build::{Compared, Item, Op, Tensor, dump, x};
use crate::dumps::support::{look, tables};

/// The only table of two dumps of `records`, one per side, written as `name`.
fn table_of(name: &str, gpu: &str, npu: &str) -> Option<MsprobeTable> {
    let folder = tempfile::tempdir().expect("a folder");
    for (side, text) in [("gpu", gpu), ("npu", npu)] {
        let path = folder.path().join(side).join("step2/rank");
        fs::create_dir_all(&path).expect("a folder");
        fs::write(path.join(name), text).expect("written");
    }
    tables(&folder.path().join("gpu"), &folder.path().join("npu"), &Matching::default()).pop()
}

#[test]
fn r4_rank_folders_and_files_are_recognised() {
    let folder = tempfile::tempdir().expect("a folder");
    let op = x(Tensor::f32(&[2], &[1., 2.]));
    for place in ["a/step3/rank7", "a/step3/rank", "a/step12/proc123", "b/graph/step1/rank0"] {
        dump(&folder.path().join(place), "statistics", &op);
    }
    let dumps = look(&folder.path().join("a")).artifacts::<DumpFolder>().to_vec();
    let mut places: Vec<_> = dumps.iter().map(|dump| (dump.step, dump.rank)).collect();
    places.sort_unstable();
    assert_eq!(places, [(3, None), (3, Some(7)), (12, None)]);
    let alone = look(&folder.path().join("a/step3/rank7/dump.json")).artifacts::<DumpFolder>().to_vec();
    assert_eq!(alone.iter().map(|dump| (dump.step, dump.rank)).collect::<Vec<_>>(), [(3, Some(7))]);
    let tables = tables(&folder.path().join("b"), &folder.path().join("b"), &Matching::default());
    assert_eq!(tables[0].name, "compare_result_graph_step1_rank0");
}

#[test]
fn r5_a_file_given_alone_finds_its_tensors() {
    let folder = tempfile::tempdir().expect("a folder");
    let (gpu, npu) = (folder.path().join("gpu"), folder.path().join("npu"));
    let op = |value: f32| {
        vec![
            Op::output("Torch.X.0.forward", Tensor::f32(&[2], &[value, 1.]))
                .kwarg("scale", Item::Raw(r#"{"type": "float", "value": 1.0}"#))
                .kwarg("a", Tensor::f32(&[2], &[1., 1.])),
        ]
    };
    dump(&gpu, "tensor", &op(1.));
    dump(&npu, "tensor", &op(2.));
    let table = tables(&gpu.join("dump.json"), &npu.join("dump.json"), &Matching::default()).pop();
    let table = Compared(table.expect("a table"));
    let names: Vec<String> = (0..3).map(|row| table.cell(row, "NPU Name")).collect();
    assert_eq!(names, ["Torch.X.0.forward.input.scale", "Torch.X.0.forward.kwargs.a", "Torch.X.0.forward.output.0"]);
    assert_eq!(table.cell(2, "MaxAbsErr"), "1.0");
    let statistics = Compared::of("statistics", &op(1.), &op(2.));
    assert_eq!(statistics.cell(1, "NPU Name"), "Torch.X.0.forward.input.a");
}

#[test]
fn a_data_name_cannot_lead_out_of_its_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    dump(folder.path(), "tensor", &x(Tensor::f32(&[2], &[1., 2.])));
    let dumps = look(&folder.path().join("dump.json")).artifacts::<DumpFolder>().to_vec();
    for name in ["../dump.json", "/etc/hostname", "..", "", "a/b.pt"] {
        assert!(dumps[0].open_tensor(name).is_err(), "{name}");
    }
    assert!(dumps[0].open_tensor("Torch.X.0.forward.output.0.pt").is_ok());
}

#[test]
fn m1_checksums_are_equal_different_or_missing() {
    let tensor = |checksum: &str| Tensor::f32(&[2], &[1., 2.]).with_checksum(checksum);
    let npu = [
        Op::output("Torch.A.0.forward", tensor("aaaaaaaa")),
        Op::output("Torch.B.0.forward", tensor("bbbbbbbb")),
        Op::output("Torch.C.0.forward", tensor("cccccccc")),
        Op::output("Torch.D.0.forward", tensor("dddddddd")),
    ];
    let bench = [
        Op::output("Torch.A.0.forward", tensor("aaaaaaaa")),
        Op::output("Torch.B.0.forward", tensor("beefbeef")),
        Op::output("Torch.D.0.forward", Tensor::i64(&[2], &[1, 2]).with_checksum("dddddddd")),
    ];
    let table = Compared::of("statistics", &npu, &bench);
    table.verdict(0, &[]);
    table.verdict(1, &[CHECKSUM]);
    table.verdict(2, &[NO_CHECKSUM]);
    table.verdict(3, &[NO_CHECKSUM]);
    assert_eq!(table.cells(2, ["NPU MD5", "BENCH MD5"]), ["cccccccc", "N/A"]);
}

#[test]
fn m2_m3_checksums_of_values() {
    let op = Op::output("Torch.X.0.forward", Tensor::bool(&[10], &[true; 10]).with_checksum("0x0101010101010000"))
        .input(Item::Raw(r#"{"type": "int", "value": 3}"#))
        .input(Item::Raw(r#"{"type": "torch.Size", "value": [3, 2]}"#));
    let table = Compared::of("statistics", std::slice::from_ref(&op), std::slice::from_ref(&op));
    assert_eq!(table.cell(0, "NPU MD5"), "6dd28e9b", "M2");
    assert_eq!(table.cell(2, "BENCH MD5"), "0x0101010101010000", "M3");
}

#[test]
fn f1_f2_columns_and_names_of_files() {
    let debug = r#"{"task": "statistics", "level": "debug", "data": {"h.0.debug": {"type": "int", "value": 1}}}"#;
    let table = table_of("debug.json", debug, debug).expect("a table");
    assert_eq!(table.name, "debug_compare_result_step2", "F1");
    assert!(!table.columns.iter().any(|title| title == "NPU_Stack_Info"), "F1, F2");
    let plain = Compared::of("statistics", &x(Item::Raw("null")), &x(Item::Raw("null")));
    assert!(!plain.0.columns.iter().any(|title| title == "NPU_Stack_Info"), "F2");
}

#[test]
fn mindspore_names_and_types_are_read() {
    let op = r#"{"Cell.fc.Dense.forward.0": {"input_args": [], "input_kwargs": {}, "output": [{"type": "mindspore.Tensor",
        "dtype": "Float32", "shape": [2], "Max": 2.0, "Min": 1.0, "Mean": 1.5, "Norm": 2.23}]}}"#;
    let text = format!(r#"{{"task": "statistics", "level": "L0", "data": {op}}}"#);
    let table = Compared(table_of("dump.json", &text.replace("Float32", "BFloat16"), &text).expect("a table"));
    let columns = ["NPU Dtype", "Bench Dtype", "NPU Requires_grad", "Max diff"];
    assert_eq!(table.cells(0, columns), ["Float32", "BFloat16", "N/A", "0"]);
}
