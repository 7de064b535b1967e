//! Runs of a chosen number of items, one case for each reader or rule: tasks, lines, tensors, packages.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

/// Writes one side of `n` items below a folder; every item of a drifted side differs from that of one without drift.
pub(crate) type Side = fn(&Path, usize, bool);

/// A case: its name, what a run is made of, and the arguments beside both sides.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    /// Its name.
    pub(crate) name: &'static str,
    /// Writes one side.
    pub(crate) side: Side,
    /// Whether the candidate is judged alone.
    pub(crate) is_alone: bool,
    /// A policy for `n` items, where it needs one.
    pub(crate) policy: Option<fn(usize) -> String>,
    /// Most items that make sense: files of a folder, for one.
    pub(crate) most: usize,
}

const fn pair(name: &'static str, side: Side) -> Case {
    Case { name, side, is_alone: false, policy: None, most: usize::MAX }
}

/// Every case.
pub(crate) const CASES: [Case; 32] = [
    pair("evaluation-tasks", evaluation_tasks),
    pair("evaluation-metrics", evaluation_metrics),
    pair("evaluation-answers", evaluation_answers),
    Case { policy: Some(waivers), ..pair("waivers", evaluation_tasks) },
    pair("log-lines", log_lines),
    pair("log-series", log_series),
    pair("log-unknown", log_unknown),
    pair("jsonl-lines", jsonl_lines),
    pair("jsonl-series", jsonl_series),
    pair("csv-rows", csv_rows),
    pair("csv-series", csv_series),
    pair("tensorboard-events", tensorboard_events),
    pair("tensorboard-tags", tensorboard_tags),
    pair("dump-operations", dump_operations),
    pair("dump-renamed", dump_renamed),
    pair("dump-stacks", dump_stacks),
    Case { most: 10_000, ..pair("dump-ranks", dump_ranks) },
    Case { most: 10_000, ..pair("dump-steps", dump_steps) },
    Case { is_alone: true, ..pair("health-findings", dump_not_finite) },
    pair("monitor-steps", monitor_steps),
    pair("monitor-parameters", monitor_parameters),
    pair("operators", operators),
    pair("performance-steps", performance_steps),
    pair("performance-kernels", performance_kernels),
    Case { most: 10_000, ..pair("performance-ranks", performance_ranks) },
    pair("pack-pip", pack_pip),
    pair("pack-environment", pack_environment),
    Case { most: 100_000, ..pair("pack-batches", pack_batches) },
    pair("pack-weights", pack_weights),
    pair("safetensors-tensors", safetensors_tensors),
    pair("torch-tensors", torch_tensors),
    Case { most: 100_000, ..pair("folder-files", folder_files) },
];

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
    let is_right = |index: usize| index.is_multiple_of(3) != drift;
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

fn waivers(n: usize) -> String {
    let mut text = "waivers:\n".to_owned();
    // A policy holds at most 16 MiB.
    for index in 0..n.min(100_000) {
        let _ = writeln!(
            text,
            "- {{code: evaluation-*, where: task_{index}, reason: known, owner: a, expires: 2026-12-31}}"
        );
    }
    text
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
    writeln!(out, "step,{}", joined(n, ",", |index| format!("loss_{index}"))).expect("written");
    for step in 1..=3 {
        writeln!(out, "{step},{}", joined(n, ",", |index| value(index + step, drift).to_string())).expect("written");
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

fn profile(folder: &Path, rank: usize, steps: usize, kernels: usize, drift: bool) {
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
    for step in 0..steps {
        let computing = 1e4 * value(step, drift);
        writeln!(times, "{rank},{step},{computing},0,0,0,300.0,{},0,0,320.0", computing + 300.0).expect("written");
    }
    let mut out = create(&output.join("kernel_details.csv"));
    writeln!(
        out,
        "Step Id,Device_id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim,Mix Block Dim,HF32 Eligible,Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats,Context ID"
    )
    .expect("written");
    for step in 0..steps {
        for kernel in 0..kernels {
            let duration = 10.0 * value(kernel, drift);
            writeln!(
                out,
                "{step},{rank},4294967295,1,2,aclnn_{kernel},Kind{kernel},dynamic,AI_CORE,1763700013000351.661\t,{duration},0.9,48,0,NO,\"\"\"{kernel},8\"\"\",DT_BF16,ND,\"\"\"8,8\"\"\",DT_BF16,ND,N/A"
            )
            .expect("written");
        }
    }
}

fn performance_steps(folder: &Path, n: usize, drift: bool) {
    profile(folder, 0, n, 1, drift);
}

fn performance_kernels(folder: &Path, n: usize, drift: bool) {
    profile(folder, 0, 5, n, drift);
}

fn performance_ranks(folder: &Path, n: usize, drift: bool) {
    for rank in 0..n {
        profile(folder, rank, 5, 2, drift);
    }
}

fn pack(folder: &Path, pip: usize, environment: usize, batches: usize, weights: usize, drift: bool) {
    let own = if drift { 2 } else { 1 };
    write(&folder.join("pip"), joined(pip, "\n", |index| format!("package-{index}={own}.0.{index}")));
    write(
        &folder.join("env"),
        format!("{{{}}}", joined(environment, ",\n", |index| format!(r#""VARIABLE_{index}": "{own}""#))),
    );
    let numbers = |index: usize| {
        let largest = value(index, drift);
        format!(r#"{{"max": {largest}, "min": -1.5, "mean": 0.1, "norm": {}}}"#, largest * 3.0)
    };
    for step in 0..batches {
        write(
            &folder.join(format!("dataset/step{step}/rank0/dataset.json")),
            format!(r#"{{"args": {{"0": {}}}, "kwargs": {{}}}}"#, numbers(step)),
        );
    }
    let weights = joined(weights, ",\n", |index| format!(r#""layers.{index}.weight": {}"#, numbers(index)));
    write(&folder.join("weights/step0/rank0/weight.json"), format!("{{{weights}}}"));
    write(&folder.join("random/rank0.json"), "{}");
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

/// Every second tensor is empty: a header costs its writer nothing but names.
fn safetensors_tensors(folder: &Path, n: usize, drift: bool) {
    let mut header = "{".to_owned();
    for index in 0..n {
        let (start, end) = (index.div_ceil(2) * 4, (index + 1).div_ceil(2) * 4);
        let comma = if index > 0 { "," } else { "" };
        let _ = write!(
            header,
            r#"{comma}"w.{index}":{{"dtype":"F32","shape":[{}],"data_offsets":[{start},{end}]}}"#,
            (end - start) / 4
        );
    }
    header.push('}');
    let mut out = create(&folder.join("model.safetensors"));
    out.write_all(&(header.len() as u64).to_le_bytes()).expect("written");
    out.write_all(header.as_bytes()).expect("written");
    for index in (0..n).step_by(2) {
        #[allow(clippy::cast_possible_truncation, reason = "a float32 is written")]
        let number = value(index, drift) as f32;
        out.write_all(&number.to_le_bytes()).expect("written");
    }
}

/// A state dict of tensors of one element, as `torch.save` writes it.
fn torch_tensors(folder: &Path, n: usize, drift: bool) {
    fs::create_dir_all(folder).expect("a folder");
    let mut archive = zip::ZipWriter::new(File::create(folder.join("model.pt")).expect("a file"));
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    let text = |text: &str| {
        let length = u32::try_from(text.len()).expect("short").to_le_bytes();
        [b"X".as_slice(), &length, text.as_bytes()].concat()
    };
    let mut pickle = b"\x80\x02}(".to_vec();
    for index in 0..n {
        pickle.extend(text(&format!("layers.{index}.weight")));
        pickle.extend(b"ctorch._utils\n_rebuild_tensor_v2\n((");
        pickle.extend(text("storage"));
        pickle.extend(b"ctorch\nFloatStorage\n");
        pickle.extend(text(&index.to_string()));
        pickle.extend(text("cpu"));
        pickle.extend(b"K\x01tQK\x00K\x01\x85K\x01\x85\x89ccollections\nOrderedDict\n)RtR");
    }
    pickle.extend(b"u.");
    archive.start_file("archive/data.pkl", options).expect("a member");
    archive.write_all(&pickle).expect("written");
    archive.start_file("archive/byteorder", options).expect("a member");
    archive.write_all(b"little").expect("written");
    for index in 0..n {
        #[allow(clippy::cast_possible_truncation, reason = "a float32 is written")]
        let number = value(index, drift) as f32;
        archive.start_file(format!("archive/data/{index}"), options).expect("a member");
        archive.write_all(&number.to_le_bytes()).expect("written");
    }
    archive.start_file("archive/version", options).expect("a member");
    archive.write_all(b"3\n").expect("written");
    archive.finish().expect("an archive");
}

/// Files that no check reads, beside one that a check does.
fn folder_files(folder: &Path, n: usize, drift: bool) {
    log_lines(folder, 20, drift);
    for index in 0..n {
        write(&folder.join(format!("notes/{}/note-{index}.txt", index / 1000)), "nothing to compare\n");
    }
}
