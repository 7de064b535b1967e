//! 7.2: which rows are compared.

use precision_gate::msprobe::dump::Matching;
use precision_gate::pair::unit;

use super::{DTYPE, SIX};
use crate::dumps::build::{Compared, Op, Tensor, dump, x};
use crate::dumps::support::{look, tables};

fn op(name: &str, value: f32) -> Op {
    Op::output(name, Tensor::f32(&[2], &[value, 1.]))
}

/// Names of both sides of every row.
fn names(table: &Compared) -> Vec<[String; 2]> {
    (0..table.0.rows.len()).map(|row| table.cells(row, ["NPU Name", "Bench Name"])).collect()
}

#[test]
fn p1_backward_calls_pair_in_order_of_appearance() {
    let npu = [op("Functional.relu.1.backward", 1.), op("Functional.relu.0.backward", 2.)];
    let bench = [op("Functional.relu.0.backward", 1.), op("Functional.relu.1.backward", 2.)];
    for task in ["tensor", "statistics"] {
        let table = Compared::of(task, &npu, &bench);
        assert_eq!(
            names(&table),
            [
                ["Functional.relu.1.backward.output.0", "Functional.relu.0.backward.output.0"],
                ["Functional.relu.0.backward.output.0", "Functional.relu.1.backward.output.0"],
            ]
        );
        table.verdict(0, &[]);
    }
}

#[test]
fn p2_p3_p11_operations_of_one_side_only() {
    let table = Compared::of("statistics", &x(Tensor::f32(&[1], &[1.])), &[op("Torch.Y.0.forward", 1.)]);
    assert_eq!(table.0.rows.len(), 1, "P3, P11");
    let columns = ["Bench Name", "Bench Dtype", "Bench Tensor Shape", "Bench Requires_grad", "Bench max", "Max diff"];
    assert_eq!(table.cells(0, columns), ["N/A"; 6], "P2");
    assert_eq!(table.cell(0, "Requires_grad Consistent"), "False", "P2");
    table.verdict(0, &[]);
}

#[test]
fn p4_other_types_are_not_compared() {
    let pairs = [
        (Tensor::i32(&[2], &[1, 2]), Tensor::i64(&[2], &[1, 2])),
        (Tensor::i64(&[2], &[1, 2]), Tensor::f32(&[2], &[1., 2.])),
    ];
    for (npu, bench) in pairs {
        let table = Compared::of("tensor", &x(npu), &x(bench));
        assert_eq!(table.cells(0, ["Bench Name", "Bench Dtype"]), ["N/A"; 2]);
        assert_eq!(table.cells(0, SIX), ["unsupported"; 6]);
        assert_eq!(table.cell(0, "Data_name"), "['Torch.X.0.forward.output.0.pt', 'N/A']");
        table.verdict(0, &[]);
    }
}

#[test]
fn p6_p7_ranks_pair_in_order_where_their_numbers_differ() {
    let folder = tempfile::tempdir().expect("a folder");
    for (side, ranks) in [("npu", [0, 1, 2]), ("gpu", [4, 5, 10])] {
        for rank in ranks {
            dump(&folder.path().join(format!("{side}/step0/rank{rank}")), "statistics", &[op("Torch.X.0.forward", 1.)]);
        }
    }
    let (gpu, npu) = (folder.path().join("gpu"), folder.path().join("npu"));
    let found: Vec<String> = tables(&gpu, &npu, &Matching::default()).into_iter().map(|table| table.name).collect();
    assert_eq!(found, ["compare_result_step0_rank0", "compare_result_step0_rank1", "compare_result_step0_rank2"]);
    std::fs::remove_dir_all(gpu.join("step0/rank10")).expect("removed");
    let (gpu, npu) = (look(&gpu), look(&npu));
    let (pairs, missing) = unit::pair_units(gpu.artifacts(), npu.artifacts());
    assert!(pairs.is_empty() && missing.len() == 5, "P7: nothing pairs by position where the counts differ");
}

#[test]
fn p8_dumps_of_different_kinds_have_no_table() {
    let plain = x(Tensor::f32(&[2], &[1., 2.]));
    let summed = x(Tensor::f32(&[2], &[1., 2.]).with_checksum("12345678"));
    let none = |npu: (&str, &[Op]), bench: (&str, &[Op])| {
        assert!(Compared::try_of(npu, bench, &Matching::default()).is_none());
    };
    none(("tensor", &plain), ("statistics", &plain));
    none(("statistics", &plain), ("statistics", &summed));
    none(("structure", &[]), ("structure", &[]));
    none(("statistics", &plain), ("statistics", &[]));
}

#[test]
fn p9_a_data_mapping_pairs_rows_by_name() {
    let npu = [op("NPU.npu_gelu.0.forward", 1.), op("Torch.X.0.forward", 2.), op("Torch.X.1.backward", 3.)];
    let bench = [op("Torch.X.0.backward", 3.), op("Torch.X.0.forward", 2.), op("Functional.gelu.0.forward", 1.)];
    let rows = vec![("NPU.npu_gelu.0.forward.output.0".into(), "Functional.gelu.0.forward.output.0".into())];
    let matching = Matching { rows, ..Matching::default() };
    for task in ["tensor", "statistics"] {
        let table = Compared::matching(task, &npu, &bench, &matching);
        assert_eq!(
            names(&table),
            [
                ["NPU.npu_gelu.0.forward.output.0", "Functional.gelu.0.forward.output.0"],
                ["Torch.X.0.forward.output.0", "Torch.X.0.forward.output.0"],
                ["Torch.X.1.backward.output.0", "Torch.X.0.backward.output.0"],
            ]
        );
    }
    let narrow = [Op::output("NPU.npu_gelu.0.forward", Tensor::i64(&[2], &[1, 1]))];
    let table = Compared::matching("statistics", &narrow, &bench, &matching);
    table.verdict(0, &[DTYPE]);
}

#[test]
fn p10_a_cell_mapping_pairs_modules() {
    let npu = [
        op("Cell.a.fc1.Linear.forward.0", 1.),
        op("Cell.layers.0.norm.Norm.forward.0", 2.),
        op("Cell.layers.0.norm.Norm.backward.1", 3.),
        op("Cell.layers.0.norm.Norm.backward.0", 4.),
        Op::output("Cell.same.Same.forward.0", Tensor::f32(&[2], &[5., 1.])),
    ];
    let bench = [
        op("Module.b.fc2.Linear.forward.0", 1.),
        op("Module.h.0.norm.Norm.forward.0", 2.),
        op("Module.h.0.norm.Norm.backward.0", 3.),
        op("Module.h.0.norm.Norm.backward.1", 4.),
        op("Module.same.Same.forward.0", 5.),
    ];
    let modules = Some(vec![("a.fc1.Linear".into(), "b.fc2.Linear".into()), ("layers".into(), "h".into())]);
    let matching = Matching { modules, ..Matching::default() };
    for task in ["tensor", "statistics"] {
        let table = Compared::matching(task, &npu, &bench, &matching);
        let partners: Vec<String> = names(&table).into_iter().map(|[_, bench]| bench).collect();
        assert_eq!(
            partners,
            [
                "Module.b.fc2.Linear.forward.0.output.0",
                "Module.h.0.norm.Norm.forward.0.output.0",
                "Module.h.0.norm.Norm.backward.0.output.0",
                "Module.h.0.norm.Norm.backward.1.output.0",
                "Module.same.Same.forward.0.output.0",
            ]
        );
        (0..npu.len()).for_each(|row| table.verdict(row, &[]));
    }
}

#[test]
fn fuzzy_matching_pairs_calls_in_order_in_every_mode() {
    let sum = |op: &str, value: f32| {
        let tensor = Tensor::f32(&[2], &[value, 1.]).with_checksum(&format!("{value:08}"));
        Op::output(op, tensor)
    };
    let npu = [
        sum("Functional.relu.3.forward", 1.),
        sum("Torch.extra.0.forward", 9.),
        sum("Functional.relu.4.forward", 2.),
        sum("Functional.relu.4.backward", 3.),
        sum("Functional.relu.3.backward", 4.),
    ];
    let bench = [
        sum("Functional.relu.0.forward", 1.),
        sum("Functional.relu.1.forward", 2.),
        sum("Functional.relu.1.backward", 3.),
        sum("Functional.relu.0.backward", 4.),
    ];
    let matching = Matching { fuzzy: true, ..Matching::default() };
    for task in ["tensor", "statistics"] {
        let table = Compared::matching(task, &npu, &bench, &matching);
        let partners: Vec<String> = names(&table).into_iter().map(|[_, bench]| bench).collect();
        assert_eq!(
            partners,
            [
                "Functional.relu.0.forward.output.0",
                "N/A",
                "Functional.relu.1.forward.output.0",
                "Functional.relu.1.backward.output.0",
                "Functional.relu.0.backward.output.0",
            ]
        );
    }
}
