//! Files that trainers and trackers leave, and the values that come out of them.

use super::lines::Case;

/// A file with a name that its reader may need, and its format.
pub(crate) struct File {
    pub(crate) name: &'static str,
    pub(crate) format: &'static str,
    pub(crate) case: Case,
}

type Series = &'static [(&'static str, &'static [(u64, f64)])];

const fn file(
    writer: &'static str,
    format: &'static str,
    name: &'static str,
    lines: &'static str,
    series: Series,
    none: &'static [&'static str],
) -> File {
    File { name, format, case: Case { writer, lines, series, none } }
}

pub(crate) const FILES: &[File] = &[
    file(
        "transformers Trainer",
        "HF trainer_state.json",
        "trainer_state.json",
        "{\"global_step\": 20, \"log_history\": [{\"epoch\": 0.1, \"grad_norm\": 1.25, \"learning_rate\": 1e-05, \"loss\": 2.5, \"step\": 10},\n {\"epoch\": 0.2, \"grad_norm\": 1.0, \"learning_rate\": 9e-06, \"loss\": 2.25, \"step\": 20},\n {\"epoch\": 0.2, \"eval_loss\": 2.3, \"step\": 20}, {\"train_loss\": 2.4, \"train_runtime\": 12.5, \"step\": 20}], \"logging_steps\": 10}\n",
        &[("loss", &[(10, 2.5), (20, 2.25)]), ("eval_loss", &[(20, 2.3)])],
        &["train_runtime"],
    ),
    file(
        "JSON lines",
        "JSON lines",
        "metrics.jsonl",
        "{\"step\": 1, \"train\": {\"loss\": 2.5, \"grad_norm\": \"nan\"}}\n{\"step\": 2, \"train\": {\"loss\": 2.25, \"grad_norm\": 1.0}}\n",
        &[("loss", &[(1, 2.5), (2, 2.25)]), ("grad_norm", &[(1, f64::NAN), (2, 1.0)])],
        &["step"],
    ),
    file(
        "verl's file logger",
        "JSON lines",
        "metrics.jsonl",
        "{\"step\": 1, \"data\": {\"actor/pg_loss\": 0.008, \"critic/score/mean\": 0.2}}\n{\"step\": 2, \"data\": {\"actor/pg_loss\": 0.007, \"critic/score/mean\": 0.25}}\n",
        &[("actor/pg_loss", &[(1, 0.008), (2, 0.007)])],
        &["data/actor/pg_loss"],
    ),
    file(
        "mmcv 1.x",
        "JSON lines",
        "20260102_030405.log.json",
        "{\"env_info\": \"sys.platform: linux\", \"seed\": 0, \"exp_name\": \"a.py\"}\n{\"mode\": \"train\", \"epoch\": 1, \"iter\": 10, \"lr\": 0.0001, \"memory\": 4021, \"data_time\": 0.01, \"loss_cls\": 0.3, \"loss\": 1.2, \"time\": 0.5}\n{\"mode\": \"train\", \"epoch\": 1, \"iter\": 20, \"lr\": 0.0001, \"memory\": 4021, \"data_time\": 0.01, \"loss_cls\": 0.25, \"loss\": 1.1, \"time\": 0.5}\n{\"mode\": \"val\", \"epoch\": 1, \"iter\": 30, \"lr\": 0.0001, \"loss\": 1.3}\n",
        &[("loss", &[(10, 1.2), (20, 1.1)]), ("val/loss", &[(30, 1.3)]), ("loss_cls", &[(10, 0.3), (20, 0.25)])],
        &["time", "seed"],
    ),
    file(
        "JSON array",
        "JSON records",
        "history.json",
        "[{\"iteration\": 1, \"lm loss\": 2.5},\n {\"iteration\": 2, \"lm loss\": 2.25}]\n",
        &[("loss", &[(1, 2.5), (2, 2.25)])],
        &[],
    ),
    file(
        "JSON object of steps",
        "JSON by step",
        "history.json",
        "{\"1\": {\"lm loss\": 2.5, \"grad norm\": 1.25},\n \"2\": {\"lm loss\": 2.25, \"grad norm\": 1.0}}\n",
        &[("loss", &[(1, 2.5), (2, 2.25)]), ("grad_norm", &[(1, 1.25), (2, 1.0)])],
        &[],
    ),
    file(
        "TensorBoard's page",
        "TensorBoard JSON",
        "run_7-tag-train_loss.json",
        "[[1767322445.5, 1, 2.5], [1767322446.5, 2, 2.25]]\n",
        &[("loss", &[(1, 2.5), (2, 2.25)])],
        &[],
    ),
    file(
        "Megatron-LM's functional tests",
        "Megatron golden JSON",
        "golden_values.json",
        "{\"lm loss\": {\"start_step\": 1, \"end_step\": 2, \"step_interval\": 1, \"values\": {\"1\": 2.5, \"2\": 2.25}}}\n",
        &[("loss", &[(1, 2.5), (2, 2.25)])],
        &[],
    ),
    file(
        "MindSpeed's tests",
        "MindSpeed baseline JSON",
        "baseline.json",
        "{\"lm loss\": [2.5, 2.25], \"grad norm\": [1.25, 1.0], \"lm loss margin\": [0.02]}\n",
        &[("loss", &[(1, 2.5), (2, 2.25)]), ("grad_norm", &[(1, 1.25), (2, 1.0)])],
        &["lm_loss_margin"],
    ),
    file(
        "torchtitan's tests",
        "torchtitan loss list",
        "llama3_cuda.txt",
        "1 8.0483\n2 7.5001\n",
        &[("loss", &[(1, 8.0483), (2, 7.5001)])],
        &[],
    ),
    file(
        "Lightning, Keras, any table",
        "CSV table",
        "metrics.csv",
        "epoch,step,train_loss,val_loss\n0,9,2.5,\n0,19,2.25,\n0,19,,2.3\n",
        &[("loss", &[(9, 2.5), (19, 2.25)]), ("eval_loss", &[(19, 2.3)])],
        &["epoch"],
    ),
    file(
        "a table of a German or French locale",
        "CSV table",
        "metrics.csv",
        "step;loss;lr\n1;2,5;0,0001\n2;1,234;0,0001\n",
        &[("loss", &[(1, 2.5), (2, 1.234)])],
        &[],
    ),
    file(
        "TensorBoard's page, CSV",
        "CSV table",
        "run_7-tag-train_loss.csv",
        "Wall time,Step,Value\n1767322445.5,1,2.5\n1767322446.5,2,2.25\n",
        &[("loss", &[(1, 2.5), (2, 2.25)])],
        &["wall_time"],
    ),
    file(
        "W&B chart export",
        "CSV table",
        "wandb_export.csv",
        "\"Step\",\"llama-npu - train/loss\",\"llama-npu - train/loss__MIN\",\"llama-npu - train/loss__MAX\"\n\"1\",\"2.5\",\"2.5\",\"2.5\"\n\"2\",\"2.25\",\"2.25\",\"2.25\"\n",
        &[("loss", &[(1, 2.5), (2, 2.25)])],
        &["train/loss__min", "loss__max"],
    ),
    file(
        "SwanLab chart export",
        "CSV table",
        "swanlab.csv",
        "step,llama-npu-train/loss,llama-npu-train/loss_timestamp\n1,2.5,1767322445\n2,2.25,1767322446\n",
        &[("loss", &[(1, 2.5), (2, 2.25)])],
        &["loss_timestamp"],
    ),
    file(
        "ClearML export",
        "CSV table",
        "clearml.csv",
        "iter,loss/train,lr/group 0\n1,2.5,0.0001\n2,2.25,0.0001\n",
        &[("loss", &[(1, 2.5), (2, 2.25)])],
        &[],
    ),
    file(
        "AIM, Comet, MLflow search",
        "CSV table",
        "export.csv",
        "run_id,key,value,timestamp,step\nab12,train/loss,2.5,1767322445,1\nab12,grad_norm,1.25,1767322445,1\nab12,train/loss,2.25,1767322446,2\nab12,grad_norm,1.0,1767322446,2\n",
        &[("loss", &[(1, 2.5), (2, 2.25)]), ("grad_norm", &[(1, 1.25), (2, 1.0)])],
        &["value"],
    ),
    file(
        "DVCLive",
        "CSV table",
        "dvclive/plots/metrics/train/loss.tsv",
        "timestamp\tstep\tloss\n1767322445000\t1\t2.5\n1767322446000\t2\t2.25\n",
        &[("train/loss", &[(1, 2.5), (2, 2.25)])],
        &["timestamp"],
    ),
    file(
        "MLflow file store",
        "MLflow metric",
        "mlruns/0/3904a1851df64f00a6dff71285a6c1dd/metrics/train/loss",
        "1795350304556 2.5 1\n1795350304562 2.25 2\n",
        &[("train/loss", &[(1, 2.5), (2, 2.25)])],
        &[],
    ),
];

/// A binary file of a fixture: its path below `tests/fixtures`, its writer and format, a metric with its number of values.
pub(crate) struct Binary {
    pub(crate) writer: &'static str,
    pub(crate) format: &'static str,
    pub(crate) name: &'static str,
    pub(crate) path: &'static str,
    /// Mark by which it is recognised.
    pub(crate) mark: &'static str,
    pub(crate) runs: usize,
    pub(crate) points: usize,
    pub(crate) last: (u64, f64),
}

pub(crate) const BINARIES: &[Binary] = &[
    Binary {
        writer: "TensorBoard, torch, Lightning",
        format: "TensorBoard events",
        name: "events.out.tfevents.*",
        path: "../../fuzz/seeds/event_file/head.tfevents",
        mark: "a record whose length has a masked CRC-32C",
        runs: 1,
        points: 13,
        last: (13, 3.668_962_955_474_853_5),
    },
    Binary {
        writer: "W&B, offline",
        format: "W&B log",
        name: "offline-run-*/run-*.wandb",
        path: "curve-sources/run-step-metric.wandb",
        mark: "`:W&B`, 0xBEE1",
        runs: 1,
        points: 13,
        last: (120, 6.5),
    },
    Binary {
        writer: "SwanLab, offline",
        format: "SwanLab log",
        name: "run-*/run-*.swanlab",
        path: "curve-sources/run-abcd1234.swanlab",
        mark: "`:SWL`, 0xE1D6",
        runs: 1,
        points: 60,
        last: (60, 2.115_937_662_694_142_4),
    },
    Binary {
        writer: "Trackio",
        format: "Trackio database",
        name: "*.db",
        path: "curve-sources/trackio-small-pages.db",
        mark: "SQLite with a table `metrics(run_name, step, metrics)`",
        runs: 2,
        points: 40,
        last: (40, 7.5),
    },
    Binary {
        writer: "MLflow 3",
        format: "MLflow database",
        name: "mlflow.db",
        path: "curve-sources/mlflow.db",
        mark: "SQLite with a table `metrics(key, value, step, run_uuid)`",
        runs: 2,
        points: 5,
        last: (5, 8.25),
    },
];
