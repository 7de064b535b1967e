//! Runs that cut one model differently: the baseline is one rank, the candidate many stages of it.

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

use super::torch::state_dict;
use super::{create, statistics, tensor, value};

fn is_candidate(folder: &Path) -> bool {
    folder.ends_with("npu")
}

/// Layers of each rank of a side.
fn layers_of_ranks(folder: &Path, layers: usize, stages: usize) -> Vec<std::ops::Range<usize>> {
    let stages = if is_candidate(folder) { stages.clamp(1, layers.max(1)) } else { 1 };
    (0..stages).map(|stage| stage * layers / stages..(stage + 1) * layers / stages).collect()
}

fn dumps(folder: &Path, layers: usize, stages: usize, drift: bool) {
    for (rank, own) in layers_of_ranks(folder, layers, stages).into_iter().enumerate() {
        let mut out = create(&folder.join(format!("step0/rank{rank}/dump.json")));
        write!(
            out,
            r#"{{"task": "statistics", "level": "L0", "framework": "pytorch", "dump_data_dir": null, "data": {{"#
        )
        .expect("written");
        let mut operation = |name: &str, numbers: &str, comma: &str| {
            let value = tensor(numbers);
            write!(out, "{comma}\n\"Module.{name}.forward.0\": {{\"input_args\": [{value}], \"input_kwargs\": {{}}, \"output\": [{value}]}}")
                .expect("written");
        };
        if rank == 0 {
            operation("embedding.Dropout", &statistics(0, false), "");
        }
        for (local, layer) in own.enumerate() {
            let comma = if rank == 0 || local > 0 { "," } else { "" };
            operation(&format!("decoder.layers.{local}.input_layernorm.RMSNorm"), &statistics(layer, drift), comma);
        }
        write!(out, "}}}}").expect("written");
    }
}

/// Two stages of many layers.
pub(super) fn layout_layers(folder: &Path, n: usize, drift: bool) {
    dumps(folder, n, 2, drift);
}

/// A stage for each layer.
pub(super) fn layout_ranks(folder: &Path, n: usize, drift: bool) {
    dumps(folder, n, n, drift);
}

pub(super) fn two_stages(_n: usize) -> String {
    stages(2)
}

pub(super) fn stages(n: usize) -> String {
    format!("layout:\n  baseline: {{tp: 1}}\n  candidate: {{pp: {n}}}\n")
}

/// Norms of layers in Megatron's folders, which two stages of the candidate share.
pub(super) fn megatron_layers(folder: &Path, n: usize, drift: bool) {
    let ranks = layers_of_ranks(folder, n, 2);
    for (rank, own) in ranks.iter().enumerate() {
        let stage = if ranks.len() > 1 { format!("_{rank:03}") } else { String::new() };
        let name = |local: usize| format!("decoder.layers.{local}.input_layernorm.weight");
        let number = |local: usize| value(own.start + local, drift);
        state_dict(
            &folder.join(format!("iter_0000010/mp_rank_00{stage}/model_optim_rng.pt")),
            own.len(),
            &name,
            &number,
        );
    }
}

/// Training monitors of many ranks.
pub(super) fn monitor_ranks(folder: &Path, n: usize, drift: bool) {
    for rank in 0..n {
        let mut out = create(&folder.join(format!("rank_{rank}/weight_grad_step0-2.csv")));
        let mut text = "vpp_stage,step,module_name,scope,micro_step,norm,min,max,mean\n".to_owned();
        for step in 0..3 {
            let norm = value(rank + step, drift);
            let _ = writeln!(
                text,
                "-1,{step},layers.0.weight,reduced,1,{norm},-{},{},{}",
                norm / 9.0,
                norm / 8.0,
                norm / 99.0
            );
        }
        out.write_all(text.as_bytes()).expect("written");
    }
}
