//! Runs of a chosen number of items, one case for each reader or rule: tasks, lines, tensors, packages.

mod arrays;
mod layouts;
mod tokens;
mod torch;
mod traces;

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use precision_gate::history::record::Record;
use serde_json::json;

/// Writes one side of `n` items below a folder; every item of a drifted side differs from that of one without drift.
pub(crate) type Side = fn(&Path, usize, bool);

/// Command that the gate is asked by.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Command {
    /// Both sides are compared.
    Compare,
    /// The candidate is judged alone.
    Alone,
    /// The candidate is a tree of Python source.
    Source,
    /// Two short logs are compared in the light of earlier runs, which are what the case writes.
    History,
}

/// A case: its name, what a run is made of, and how it is judged.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    /// Its name.
    pub(crate) name: &'static str,
    /// Writes one side.
    pub(crate) side: Side,
    /// Command that judges it.
    pub(crate) command: Command,
    /// A policy for `n` items, where it needs one.
    pub(crate) policy: Option<fn(usize) -> String>,
    /// Most items that make sense: files of a folder, for one.
    pub(crate) most: usize,
}

const fn pair(name: &'static str, side: Side) -> Case {
    Case { name, side, command: Command::Compare, policy: None, most: usize::MAX }
}

/// Curves of a run are bounded; a case of many has at most this number.
const MOST_CURVES: usize = 4000;
/// Files in a folder, of which a small one is made in reasonable time.
const MOST_FILES: usize = 100_000;

const fn curves(name: &'static str, side: Side) -> Case {
    Case { most: MOST_CURVES, ..pair(name, side) }
}

const fn alone(name: &'static str, side: Side) -> Case {
    Case { command: Command::Alone, ..pair(name, side) }
}

const fn source(name: &'static str, side: Side) -> Case {
    Case { command: Command::Source, ..pair(name, side) }
}

/// Every case.
pub(crate) const CASES: &[Case] = &[
    pair("evaluation-tasks", evaluation_tasks),
    pair("evaluation-metrics", evaluation_metrics),
    pair("evaluation-answers", evaluation_answers),
    pair("generation-answers", generation_answers),
    pair("generation-tokens", generation_tokens),
    Case { policy: Some(waivers), ..pair("waivers", evaluation_tasks) },
    Case { policy: Some(waivers_of_operators), ..pair("waivers-operators", operators) },
    Case { policy: Some(waivers_of_curves), ..curves("waivers-curves", jsonl_series) },
    pair("log-lines", log_lines),
    curves("log-series", log_series),
    pair("log-unknown", log_unknown),
    pair("jsonl-lines", jsonl_lines),
    curves("jsonl-series", jsonl_series),
    pair("csv-rows", csv_rows),
    curves("csv-series", csv_series),
    pair("tensorboard-events", tensorboard_events),
    curves("tensorboard-tags", tensorboard_tags),
    pair("dump-operations", dump_operations),
    pair("dump-renamed", dump_renamed),
    pair("dump-stacks", dump_stacks),
    Case { most: 10_000, ..pair("dump-ranks", dump_ranks) },
    Case { most: 10_000, ..pair("dump-steps", dump_steps) },
    Case { most: MOST_FILES, ..pair("dump-files", dump_files) },
    alone("health-findings", dump_not_finite),
    Case { policy: Some(layouts::two_stages), ..pair("layout-layers", layouts::layout_layers) },
    Case { most: 10_000, policy: Some(layouts::stages), ..pair("layout-ranks", layouts::layout_ranks) },
    pair("monitor-steps", monitor_steps),
    pair("monitor-parameters", monitor_parameters),
    Case { most: 10_000, ..pair("monitor-ranks", layouts::monitor_ranks) },
    // Of a table at most half a million rows are read, of which an operator has two.
    Case { most: 200_000, ..pair("operators", operators) },
    pair("performance-steps", performance_steps),
    pair("performance-kernels", performance_kernels),
    pair("performance-kinds", performance_kinds),
    Case { most: 10_000, ..pair("performance-ranks", performance_ranks) },
    pair("trace-kernels", traces::trace_kernels),
    pair("trace-kinds", traces::trace_kinds),
    pair("pack-pip", pack_pip),
    pair("pack-environment", pack_environment),
    Case { most: MOST_FILES, ..pair("pack-batches", pack_batches) },
    pair("pack-weights", pack_weights),
    pair("safetensors-tensors", safetensors_tensors),
    pair("torch-tensors", torch::torch_tensors),
    pair("megatron-layers", layouts::megatron_layers),
    // Each chunk is an archive of its own.
    Case { most: MOST_FILES, ..pair("distributed-chunks", torch::distributed_chunks) },
    pair("token-answers", tokens::token_answers),
    pair("token-lengths", tokens::token_lengths),
    alone("sync-tensors", tokens::sync_tensors),
    alone("sync-pointers", tokens::sync_pointers),
    Case { most: MOST_FILES, ..pair("array-files", arrays::array_files) },
    pair("array-rows", arrays::array_rows),
    Case { most: MOST_FILES, ..pair("folder-files", folder_files) },
    source("source-findings", source_findings),
    // A file of more than 10 MiB is not read.
    Case { most: 400_000, ..source("source-with", source_with) },
    source("source-calls", source_calls),
    Case { most: MOST_FILES, ..source("source-files", source_files) },
    Case { most: MOST_FILES, policy: Some(all_runs), ..history("history-runs", history_runs) },
    // A record holds at most 20 000 values.
    Case { most: 20_000, ..history("history-measures", history_measures) },
];

const fn history(name: &'static str, side: Side) -> Case {
    Case { command: Command::History, ..pair(name, side) }
}

/// Two short logs, for cases whose items lie beside both sides.
pub(crate) fn short_log(folder: &Path) {
    log_lines(folder, 20, false);
}

const STORED: zip::write::SimpleFileOptions =
    zip::write::SimpleFileOptions::DEFAULT.compression_method(zip::CompressionMethod::Stored);

fn create(path: &Path) -> BufWriter<File> {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    BufWriter::new(File::create(path).expect("a file"))
}

fn write(path: &Path, text: impl AsRef<[u8]>) {
    create(path).write_all(text.as_ref()).expect("written");
}

fn joined(count: usize, separator: &str, one: impl Fn(usize) -> String) -> String {
    (0..count).map(one).collect::<Vec<_>>().join(separator)
}

fn results(folder: &Path, tasks: usize, metrics: usize, samples: usize, score: &dyn Fn(usize) -> f64) {
    let task = |task: usize| {
        let scores = joined(metrics, ",", |metric| format!(r#""m{metric},none": {}"#, score(task * metrics + metric)));
        format!(r#""task_{task}": {{"alias": "task_{task}", {scores}}}"#)
    };
    let named = |value: &str| joined(tasks, ",", |task| format!(r#""task_{task}": {value}"#));
    let better = format!("{{{}}}", joined(metrics, ",", |metric| format!(r#""m{metric}": true"#)));
    let mut out = create(&folder.join("model/results_2026-11-22T12-29-39.821141.json"));
    let (results, better) = (joined(tasks, ",", task), named(&better));
    let configs = named(r#"{"output_type": "generate_until", "num_fewshot": 0}"#);
    let counts = named(&format!(r#"{{"original": {samples}, "effective": {samples}}}"#));
    let (versions, shots) = (named("1.0"), named("0"));
    write!(out, r#"{{"results": {{{results}}}, "group_subtasks": {{}}, "configs": {{{configs}}}, "#).expect("written");
    write!(out, r#""versions": {{{versions}}}, "n-shot": {{{shots}}}, "higher_is_better": {{{better}}}, "#)
        .expect("written");
    write!(out, r#""n-samples": {{{counts}}}, "config": {{"model": "hf"}}}}"#).expect("written");
}

fn evaluation_tasks(folder: &Path, n: usize, drift: bool) {
    results(folder, n, 1, 1000, &|_| if drift { 0.4 } else { 0.7 });
}

fn evaluation_metrics(folder: &Path, n: usize, drift: bool) {
    results(folder, 1, n, 1000, &|_| if drift { 0.4 } else { 0.7 });
}

fn evaluation_answers(folder: &Path, n: usize, drift: bool) {
    let is_right = |index: usize| index.is_multiple_of(3) == drift;
    let mut out = create(&folder.join("model/samples_task_0_2026-11-22T12-29-39.821141.jsonl"));
    for index in 0..n {
        let right = is_right(index);
        let answer = index + if right { 1 } else { 2 };
        writeln!(
            out,
            r#"{{"doc_id": {index}, "doc": {{"question": "{index}+1"}}, "target": "{}", "arguments": {{"gen_args_0": {{"arg_0": "Q: {index}+1", "arg_1": {{"until": ["\n"]}}}}}}, "resps": [["{answer}"]], "filtered_resps": ["{answer}"], "filter": "none", "metrics": ["m0"], "doc_hash": "{index:064x}", "prompt_hash": "{index:064x}", "target_hash": "{index:064x}", "m0": {}}}"#,
            index + 1,
            f64::from(u8::from(right))
        )
        .expect("written");
    }
    drop(out);
    let right = (0..n).filter(|index| is_right(*index)).count();
    #[allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    results(folder, 1, 1, n, &|_| right as f64 / n as f64);
}

fn generation_answers(folder: &Path, n: usize, drift: bool) {
    let mut out = create(&folder.join("generations.jsonl"));
    let answer = if drift { "b" } else { "a" };
    for index in 0..n {
        writeln!(
            out,
            r#"{{"id": "{index}", "prompt": "Q: {index}", "temperature": 0, "choices": [{{"index": 0, "text": "{answer}", "finish_reason": "stop"}}]}}"#
        )
        .expect("written");
    }
}

/// Ten answers of many tokens, which part at the last one.
fn generation_tokens(folder: &Path, n: usize, drift: bool) {
    let mut out = create(&folder.join("generations.jsonl"));
    let end = if drift { "b" } else { "a" };
    let text = "a".repeat(n.div_ceil(10)) + end;
    for index in 0..10 {
        writeln!(
            out,
            r#"{{"id": "{index}", "prompt": "Q: {index}", "temperature": 0, "choices": [{{"index": 0, "text": "{text}", "finish_reason": "stop"}}]}}"#
        )
        .expect("written");
    }
}

fn waivers_at(n: usize, code: &str, place: impl Fn(usize) -> String) -> String {
    let waiver =
        |index| format!("- {{code: {code}, where: '{}', reason: known, owner: a, expires: 2026-12-31}}", place(index));
    // What the last item breaks stays. A policy holds at most 16 MiB.
    let waivers = n.saturating_sub(1).clamp(1, 100_000);
    format!("waivers:\n{}\n", joined(waivers, "\n", waiver))
}

fn waivers(n: usize) -> String {
    waivers_at(n, "evaluation-*", |index| format!("task_{index} m0 (none)"))
}

fn waivers_of_operators(n: usize) -> String {
    waivers_at(n, "operators-*", |index| format!("Functional.gelu.{index}.forward.output.0"))
}

fn waivers_of_curves(n: usize) -> String {
    waivers_at(n, "curve-*", |index| format!("loss_{index}"))
}

fn value(index: usize, drift: bool) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "small numbers")]
    let base = 2.0 + ((index * 7919) % 1009) as f64 / 5000.0;
    if drift { base * 1.2 } else { base }
}

fn log_lines(folder: &Path, n: usize, drift: bool) {
    let mut out = create(&folder.join("train.log"));
    for step in 1..=n {
        let loss = value(step, drift);
        writeln!(
            out,
            " [2026-01-01 10:00:00] iteration {step:8}/ {n} | lm loss: {loss:.6E} | grad norm: {:.3} |",
            1.0 + loss / 10.0
        )
        .expect("written");
    }
}

/// As many names as lines: every series is met twice.
fn log_series(folder: &Path, n: usize, drift: bool) {
    let mut out = create(&folder.join("train.log"));
    for step in 1..=2 {
        for index in 0..n {
            writeln!(out, "step: {step} loss_{}: {:.6}", letters(index), value(index + step, drift)).expect("written");
        }
    }
}

/// A name of letters alone: digits are no part of a line's shape.
fn letters(mut index: usize) -> String {
    let mut text = String::new();
    loop {
        text.push(char::from(b'a' + u8::try_from(index % 26).expect("a letter")));
        index /= 26;
        if index == 0 {
            return text;
        }
    }
}

/// Lines of a shape each, of which none can be read.
fn log_unknown(folder: &Path, n: usize, drift: bool) {
    let mut out = create(&folder.join("train.log"));
    for step in 1..=10 {
        writeln!(out, "step: {step} loss: {:.6}", value(step, false)).expect("written");
    }
    for index in 0..n {
        writeln!(out, "validation loss {} was\n{:.4}", letters(index), value(index, drift)).expect("written");
    }
}

fn jsonl_lines(folder: &Path, n: usize, drift: bool) {
    let mut out = create(&folder.join("metrics.jsonl"));
    for step in 1..=n {
        writeln!(out, r#"{{"step": {step}, "loss": {}, "grad_norm": 1.5}}"#, value(step, drift)).expect("written");
    }
}

fn jsonl_series(folder: &Path, n: usize, drift: bool) {
    let mut out = create(&folder.join("metrics.jsonl"));
    for step in 1..=20 {
        let most = if step <= 2 { n } else { 0 };
        let rest = joined(most, "", |index| format!(r#", "loss_{index}": {}"#, value(index + step, drift)));
        writeln!(out, r#"{{"step": {step}, "loss": {}{rest}}}"#, value(step, drift)).expect("written");
    }
}

fn csv_rows(folder: &Path, n: usize, drift: bool) {
    let mut out = create(&folder.join("metrics.csv"));
    writeln!(out, "step,loss,grad_norm").expect("written");
    for step in 1..=n {
        writeln!(out, "{step},{},1.5", value(step, drift)).expect("written");
    }
}

fn csv_series(folder: &Path, n: usize, drift: bool) {
    let mut out = create(&folder.join("metrics.csv"));
    // A table is recognised by its first 64 KiB, which hold the titles and a row of up to 4000 short numbers.
    writeln!(out, "step,{}", joined(n, ",", |index| format!("loss_{}", letters(index)))).expect("written");
    for step in 1..=3 {
        let row = joined(n, ",", |index| format!("{:.3}", value(index + step, drift)));
        writeln!(out, "{step},{row}").expect("written");
    }
}

fn varint(mut number: usize, out: &mut Vec<u8>) {
    while number > 127 {
        out.push(u8::try_from(number & 127).expect("seven bits") | 128);
        number >>= 7;
    }
    out.push(u8::try_from(number).expect("seven bits"));
}

fn field(number: usize, data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    varint(number << 3 | 2, &mut out);
    varint(data.len(), &mut out);
    out.extend(data);
    out
}

fn masked(data: &[u8]) -> [u8; 4] {
    (crc32c::crc32c(data).rotate_right(15)).wrapping_add(0xA282_EAD8).to_le_bytes()
}

fn event(out: &mut impl Write, rest: &[u8]) {
    let event = [[0x09].as_slice(), &1.7e9_f64.to_le_bytes(), rest].concat();
    let length = (event.len() as u64).to_le_bytes();
    for part in [length.as_slice(), &masked(&length), &event, &masked(&event)] {
        out.write_all(part).expect("written");
    }
}

fn events(folder: &Path, steps: usize, tags: usize, drift: bool) {
    let mut out = create(&folder.join("events.out.tfevents.1700000000.host"));
    event(&mut out, &field(3, b"brain.Event:2"));
    for step in 1..=steps {
        for tag in 0..tags {
            #[allow(clippy::cast_possible_truncation, reason = "a float32 is written")]
            let number = value(tag + step, drift) as f32;
            let name = if tag == 0 { "loss".to_owned() } else { format!("loss/{tag}") };
            let summary = [field(1, name.as_bytes()), [[0x15].as_slice(), &number.to_le_bytes()].concat()].concat();
            let mut rest = vec![0x10];
            varint(step, &mut rest);
            rest.extend(field(5, &field(1, &summary)));
            event(&mut out, &rest);
        }
    }
}

fn tensorboard_events(folder: &Path, n: usize, drift: bool) {
    events(folder, n, 1, drift);
}

fn tensorboard_tags(folder: &Path, n: usize, drift: bool) {
    events(folder, 3, n, drift);
}

fn tensor(numbers: &str) -> String {
    format!(
        r#"{{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [8, 128], {numbers}, "requires_grad": true}}"#
    )
}

/// Operations of `name`, whose outputs have the `numbers` of their place; all inputs have the same.
fn dump(folder: &Path, n: usize, name: &dyn Fn(usize) -> String, numbers: &dyn Fn(usize) -> String) {
    let mut out = create(&folder.join("dump.json"));
    write!(out, r#"{{"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": null, "data": {{"#)
        .expect("written");
    for index in 0..n {
        let comma = if index > 0 { "," } else { "" };
        let (input, output) = (tensor(&numbers(0)), tensor(&numbers(index)));
        write!(
            out,
            "{comma}\n\"{}\": {{\"input_args\": [{input}], \"input_kwargs\": {{}}, \"output\": [{output}]}}",
            name(index)
        )
        .expect("written");
    }
    write!(out, "}}}}").expect("written");
}

fn statistics(index: usize, drift: bool) -> String {
    let norm = value(index, drift);
    format!(r#""Max": {norm}, "Min": -{norm}, "Mean": {}, "Norm": {}"#, norm / 50.0, norm * 20.0)
}

fn dump_operations(folder: &Path, n: usize, drift: bool) {
    dump(&folder.join("step0/rank0"), n, &|index| format!("Torch.add.{index}.forward"), &|index| {
        statistics(index, drift)
    });
}

fn dump_renamed(folder: &Path, n: usize, drift: bool) {
    let own = if drift { "npu" } else { "gpu" };
    dump(&folder.join("step0/rank0"), n, &|index| format!("Torch.add_{own}_{index}.0.forward"), &|index| {
        statistics(index, false)
    });
}

/// Every operation has a stack of its own.
fn dump_stacks(folder: &Path, n: usize, drift: bool) {
    let place = folder.join("step0/rank0");
    dump_operations(folder, n, drift);
    let stacks = joined(n, ",\n", |index| {
        format!(
            r#""{index}": [["Torch.add.{index}.forward"], ["File model.py, line {index}, in forward, \n y = f(x)"]]"#
        )
    });
    write(&place.join("stack.json"), format!("{{{stacks}}}"));
    let modules =
        joined(n, ",\n", |index| format!(r#""Torch.add.{index}.forward": "Module.layers.{index}.Block.forward.0""#));
    write(&place.join("construct.json"), format!("{{{modules}}}"));
}

fn dump_ranks(folder: &Path, n: usize, drift: bool) {
    for rank in 0..n {
        dump(&folder.join(format!("step0/rank{rank}")), 4, &|index| format!("Torch.add.{index}.forward"), &|index| {
            statistics(index, drift)
        });
    }
}

fn dump_steps(folder: &Path, n: usize, drift: bool) {
    for step in 0..n {
        dump(&folder.join(format!("step{step}/rank0")), 4, &|index| format!("Torch.add.{index}.forward"), &|index| {
            statistics(index, drift)
        });
    }
}

fn dump_not_finite(folder: &Path, n: usize, drift: bool) {
    let numbers = |index: usize| {
        let nan = r#""Max": NaN, "Min": NaN, "Mean": NaN, "Norm": NaN"#.to_owned();
        if drift && index > 0 { nan } else { statistics(index, false) }
    };
    dump(&folder.join("step0/rank0"), n, &|index| format!("Torch.add.{index}.forward"), &numbers);
}

fn monitor(folder: &Path, parameters: usize, steps: usize, drift: bool) {
    let mut out = create(&folder.join(format!("rank_0/weight_grad_step0-{}.csv", steps - 1)));
    writeln!(out, "vpp_stage,step,module_name,scope,micro_step,norm,min,max,mean").expect("written");
    for step in 0..steps {
        for index in 0..parameters {
            let norm = value(index + step, drift);
            writeln!(
                out,
                "-1,{step},layers.{index}.weight,reduced,1,{norm},-{},{},{}",
                norm / 9.0,
                norm / 8.0,
                norm / 99.0
            )
            .expect("written");
        }
    }
}

fn monitor_steps(folder: &Path, n: usize, drift: bool) {
    monitor(folder, 1, n, drift);
}

fn monitor_parameters(folder: &Path, n: usize, drift: bool) {
    monitor(folder, n, 3, drift);
}

fn operators(folder: &Path, n: usize, drift: bool) {
    let mut results = create(&folder.join("accuracy_checking_result_20261122123045.csv"));
    let mut details = create(&folder.join("accuracy_checking_details_20261122123045.csv"));
    writeln!(results, "\u{feff}API name,Forward Test Success,Backward Test Success,Message").expect("written");
    writeln!(
        details,
        "\u{feff}API Name,Bench Dtype,DEVICE Dtype,Shape,余弦相似度,最大绝对误差,双百指标,双千指标,双万指标,二进制一致错误率,误差均衡性,均方根误差,小值域错误占比,相对误差最大值,相对误差平均值,inf/nan错误率,相对误差错误率,绝对误差错误率,ULP误差最大值,ULP误差平均值,ULP误差大于阈值占比,Status,Message"
    )
    .expect("written");
    let error = if drift { "0.2" } else { "0.00000023841858" };
    for index in 0..n {
        writeln!(results, "Functional.gelu.{index},pass,pass,").expect("written");
        for direction in ["forward", "backward"] {
            writeln!(
                details,
                "Functional.gelu.{index}.{direction}.output.0,torch.float64,torch.float32,\"(2, 9, 16)\",1.0,{error}, , , , ,0.03,{error},0,{error},{error}, , , , , , ,pass,"
            )
            .expect("written");
        }
    }
}

/// The profile of a rank; `kind` numbers the kind of a kernel of a step.
fn profile(
    folder: &Path,
    rank: usize,
    (steps, kernels): (usize, usize),
    drift: bool,
    kind: &dyn Fn(usize, usize) -> usize,
) {
    let home = folder.join(format!("node01_{}_20261121100000000_ascend_pt", 4242 + rank));
    write(
        &home.join(format!("profiler_info_{rank}.json")),
        r#"{"config": {"common_config": {"record_shapes": true}, "experimental_config": {"_profiler_level": "Level1"}}}"#,
    );
    let output = home.join("ASCEND_PROFILER_OUTPUT");
    let mut times = create(&output.join("step_trace_time.csv"));
    writeln!(
        times,
        "Device_id,Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,Communication(Not Overlapped and Exclude Receive),Preparing"
    )
    .expect("written");
    let mut out = create(&output.join("kernel_details.csv"));
    writeln!(
        out,
        "Step Id,Device_id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim,Mix Block Dim,HF32 Eligible,Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats,Context ID"
    )
    .expect("written");
    let mut now = 1_763_700_013_000_351.0;
    for step in 0..steps {
        let mut computing = 0.0;
        for kernel in 0..kernels {
            let duration = (1000.0 * value(kernel + step, drift)).round();
            let kind = kind(step, kernel);
            writeln!(
                out,
                "{step},{rank},4294967295,1,2,aclnn_{kind},Kind{kind},dynamic,AI_CORE,{now:.3}\t,{duration},0.9,48,0,NO,\"\"\"{kind},8\"\"\",DT_BF16,ND,\"\"\"8,8\"\"\",DT_BF16,ND,N/A"
            )
            .expect("written");
            now += duration;
            computing += duration;
        }
        now += 300.0;
        writeln!(times, "{rank},{step},{computing},0,0,0,300.0,{},0,0,0", computing + 300.0).expect("written");
    }
}

fn performance_steps(folder: &Path, n: usize, drift: bool) {
    profile(folder, 0, (n, 1), drift, &|_, kernel| kernel);
}

fn performance_kernels(folder: &Path, n: usize, drift: bool) {
    profile(folder, 0, (8, n), drift, &|_, kernel| kernel);
}

/// Every step has a kind of kernel of its own.
fn performance_kinds(folder: &Path, n: usize, drift: bool) {
    profile(folder, 0, (n, 2), drift, &|step, kernel| kernel * (step + 1));
}

fn performance_ranks(folder: &Path, n: usize, drift: bool) {
    for rank in 0..n {
        profile(folder, rank, (8, 2), drift, &|_, kernel| kernel);
    }
}

fn pack(folder: &Path, pip: usize, environment: usize, batches: usize, weights: usize, drift: bool) {
    fs::create_dir_all(folder).expect("a folder");
    let mut archive = zip::ZipWriter::new(File::create(folder.join("pack.zip")).expect("a file"));
    let mut member = |name: &str, text: String| {
        archive.start_file(name, STORED).expect("a member");
        archive.write_all(text.as_bytes()).expect("written");
    };
    let own = if drift { 2 } else { 1 };
    member("pip", joined(pip, "\n", |index| format!("package-{index}={own}.0.{index}")));
    let variables = joined(environment, ",\n", |index| format!(r#""VARIABLE_{index}": "{own}""#));
    member("env", format!("{{{variables}}}"));
    let numbers = |index: usize| {
        let largest = value(index, drift);
        format!(r#"{{"max": {largest}, "min": -1.5, "mean": 0.1, "norm": {}}}"#, largest * 3.0)
    };
    for step in 0..batches {
        let batch = format!(r#"{{"args": {{"0": {}}}, "kwargs": {{}}}}"#, numbers(step));
        member(&format!("dataset/step{step}/rank0/dataset.json"), batch);
    }
    let weights = joined(weights, ",\n", |index| format!(r#""layers.{index}.weight": {}"#, numbers(index)));
    member("weights/step0/rank0/weight.json", format!("{{{weights}}}"));
    archive.finish().expect("an archive");
}

fn pack_pip(folder: &Path, n: usize, drift: bool) {
    pack(folder, n, 1, 1, 1, drift);
}

fn pack_environment(folder: &Path, n: usize, drift: bool) {
    pack(folder, 1, n, 1, 1, drift);
}

fn pack_batches(folder: &Path, n: usize, drift: bool) {
    pack(folder, 1, 1, n, 1, drift);
}

fn pack_weights(folder: &Path, n: usize, drift: bool) {
    pack(folder, 1, 1, 1, n, drift);
}

fn safetensors_tensors(folder: &Path, n: usize, drift: bool) {
    let mut header = "{".to_owned();
    for index in 0..n {
        let comma = if index > 0 { "," } else { "" };
        let (start, end) = (index * 4, index * 4 + 4);
        let _ = write!(header, r#"{comma}"w.{index}":{{"dtype":"F32","shape":[1],"data_offsets":[{start},{end}]}}"#);
    }
    header.push('}');
    let mut out = create(&folder.join("model.safetensors"));
    out.write_all(&(header.len() as u64).to_le_bytes()).expect("written");
    out.write_all(header.as_bytes()).expect("written");
    for index in 0..n {
        #[allow(clippy::cast_possible_truncation, reason = "a float32 is written")]
        let number = value(index, drift) as f32;
        out.write_all(&number.to_le_bytes()).expect("written");
    }
}

/// Files that no check reads, beside one that a check does.
fn folder_files(folder: &Path, n: usize, drift: bool) {
    log_lines(folder, 20, drift);
    for index in 0..n {
        write(&folder.join(format!("notes/{}/note-{index}.txt", index / 1000)), "nothing to compare\n");
    }
}

/// Operations whose tensors lie in files of their own.
fn dump_files(folder: &Path, n: usize, drift: bool) {
    let place = folder.join("step0/rank0");
    let mut out = create(&place.join("dump.json"));
    write!(out, r#"{{"task": "tensor", "level": "L1", "framework": "pytorch", "dump_data_dir": null, "data": {{"#)
        .expect("written");
    let head = "{'descr': '<f4', 'fortran_order': False, 'shape': (8, 128), }";
    let head = [b"\x93NUMPY\x01\x00\x76\x00", format!("{head:117}\n").as_bytes()].concat();
    for index in 0..n {
        let name = format!("Torch.add.{index}.forward");
        let file = |kind: &str, drift: bool| {
            let path = format!("{name}.{kind}.0.npy");
            #[allow(clippy::cast_possible_truncation, reason = "a float32 is written")]
            let most = value(index, drift) as f32;
            let data = [most, -most].map(f32::to_le_bytes).concat().repeat(512);
            write(&place.join("dump_tensor_data").join(&path), [head.as_slice(), &data].concat());
            let norm = most * 32.0;
            tensor(&format!(r#""Max": {most}, "Min": -{most}, "Mean": 0, "Norm": {norm}, "data_name": "{path}""#))
        };
        let comma = if index > 0 { "," } else { "" };
        let (input, output) = (file("input", false), file("output", drift));
        write!(
            out,
            "{comma}\n\"{name}\": {{\"input_args\": [{input}], \"input_kwargs\": {{}}, \"output\": [{output}]}}"
        )
        .expect("written");
    }
    write!(out, "}}}}").expect("written");
}

fn python(folder: &Path, text: &str) {
    write(&folder.join("train.py"), format!("import torch\n{text}"));
}

/// A line that a rule may fit, as often as there are items.
fn source_findings(folder: &Path, n: usize, drift: bool) {
    let is_chosen = if drift { "True" } else { "False" };
    python(folder, &format!("torch.backends.cudnn.benchmark = {is_chosen}\n").repeat(n));
}

fn source_with(folder: &Path, n: usize, drift: bool) {
    let call = if drift { "x.cuda()" } else { "x" };
    python(folder, &format!("with {}: pass\n", joined(n, ", ", |index| format!("{call} as b{index}"))));
}

fn source_calls(folder: &Path, n: usize, drift: bool) {
    let call = if drift { ".cuda()" } else { ".call()" };
    python(folder, &format!("x{}\n", call.repeat(n)));
}

fn source_files(folder: &Path, n: usize, drift: bool) {
    let call = if drift { "cuda" } else { "call" };
    for index in 0..n {
        write(&folder.join(format!("part{}/m{index}.py", index / 1000)), format!("import torch\nx.{call}()\n"));
    }
}

fn all_runs(n: usize) -> String {
    format!("history: {{last: {}}}\n", n + 1)
}

/// Records of runs a minute apart; those of a drifted side fail.
fn records(folder: &Path, runs: usize, measures: usize, drift: bool) {
    let verdict = if drift { "fail" } else { "pass" };
    for run in 0..runs {
        let measure = |index: usize| {
            json!({
                "check": "loss", "unit": format!("loss_{index}"), "rule": "mean",
                "value": value(run + index, drift) / 1000.0, "warn": 0.01, "fail": 0.02, "verdict": verdict,
            })
        };
        let failing = json!([{"check": "loss", "unit": "loss", "rule": "mean"}]);
        let time = 1_700_000_000 + 60 * i64::try_from(run).expect("a small number");
        let record = json!({
            "schema_version": 1, "suite": "default",
            "time": jiff::Timestamp::from_second(time).expect("a time").to_string(),
            "commit": format!("{run:040x}"), "repository": "", "run": "", "verdict": verdict, "profile": "default",
            "tool": "0.1.0", "baseline": {"label": "gpu", "digest": ""}, "candidate": "npu", "versions": {},
            "environment": {}, "digests": {}, "policy": "", "culprit": null,
            "failing": if drift { failing } else { json!([]) },
            "measures": (0..measures).map(measure).collect::<Vec<_>>(), "findings": {},
        });
        let record: Record = serde_json::from_value(record).expect("a record");
        let (path, bytes) = record.encode().expect("a small record");
        write(&folder.join(path), bytes);
    }
}

fn history_runs(folder: &Path, n: usize, drift: bool) {
    records(folder, n, 1, drift);
}

fn history_measures(folder: &Path, n: usize, drift: bool) {
    records(folder, 10, n, drift);
}
