//! Lines that trainers write, and the values that come out of them.

/// A writer's lines and what is read from them.
pub(crate) struct Case {
    /// Writers of such lines.
    pub(crate) writer: &'static str,
    /// Some lines, as one of them prints.
    pub(crate) lines: &'static str,
    /// Series by canonical name, with steps and values; a step of 0 for all where positions count.
    pub(crate) series: &'static [(&'static str, &'static [(u64, f64)])],
    /// Metrics that none of these lines holds, whatever they look like.
    pub(crate) none: &'static [&'static str],
}

const fn case(
    writer: &'static str,
    lines: &'static str,
    series: &'static [(&'static str, &'static [(u64, f64)])],
    none: &'static [&'static str],
) -> Case {
    Case { writer, lines, series, none }
}

pub(crate) const LINES: &[Case] = &[
    case(
        "Megatron-LM, MindSpeed, FlagScale",
        " [2026-01-02 03:04:05] iteration       10/      60 | consumed samples:          80 | elapsed time per iteration (ms): 512.5 | learning rate: 1.000000E-05 | lm loss: 1.200000E+00 | loss scale: 1.0 | grad norm: 1.100 | number of skipped iterations:   0 |\n validation loss at iteration 10 | lm loss value: 2.300000E+00 | lm loss PPL: 9.974182E+00 |\n [2026-01-02 03:05:05] iteration       20/      60 | consumed samples:         160 | elapsed time per iteration (ms): 512.5 | learning rate: 9.000000E-06 | lm loss: 1.100000E+00 | loss scale: 1.0 | grad norm: 1.000 | number of skipped iterations:   0 |\n",
        &[
            ("loss", &[(10, 1.2), (20, 1.1)]),
            ("grad_norm", &[(10, 1.1), (20, 1.0)]),
            ("learning_rate", &[(10, 1e-5), (20, 9e-6)]),
            ("eval_loss", &[(10, 2.3)]),
        ],
        &["consumed_samples", "number_of_skipped_iterations"],
    ),
    case(
        "MindSpore Transformers, old",
        "2026-01-02 03:04:05,123 - mindformers[mindformers/core/callback/callback.py:564] - INFO - { Epoch:[  1/  2], step:[    3/   30], loss: 5.323, per_step_time: 1033ms, lr: 1e-05, overflow cond: False, loss_scale: 1.0, global_norm: [1.9], train_throughput_per_npu: 2.8T\n2026-01-02 03:04:06,123 - mindformers[mindformers/core/callback/callback.py:564] - INFO - { Epoch:[  1/  2], step:[    4/   30], loss: 5.301, per_step_time: 1031ms, lr: 1.1e-05, overflow cond: False, loss_scale: 1.0, global_norm: [1.8], train_throughput_per_npu: 2.8T\n",
        &[
            ("loss", &[(3, 5.323), (4, 5.301)]),
            ("grad_norm", &[(3, 1.9), (4, 1.8)]),
            ("learning_rate", &[(3, 1e-5), (4, 1.1e-5)]),
            ("per_step_time", &[(3, 1033.0), (4, 1031.0)]),
        ],
        &["epoch"],
    ),
    case(
        "MindSpore Transformers, new",
        "2026-01-02 03:04:05,123 - mindformers/output/log[mindformers/core/callback/callback.py:564] - INFO - { step:[    3/   60], loss:  11.813965, per_step_time: 710ms, load_balancing_loss: 1.25e-02, lr: 1.0e-05, grad_norm: 13.8, throughput: 1.36T }\n2026-01-02 03:04:06,123 - mindformers/output/log[mindformers/core/callback/callback.py:564] - INFO - { step:[    4/   60], loss:  11.701121, per_step_time: 709ms, load_balancing_loss: 1.20e-02, lr: 1.1e-05, grad_norm: 13.1, throughput: 1.36T }\n",
        &[
            ("loss", &[(3, 11.813_965), (4, 11.701_121)]),
            ("load_balancing_loss", &[(3, 0.0125), (4, 0.012)]),
            ("grad_norm", &[(3, 13.8), (4, 13.1)]),
            ("learning_rate", &[(3, 1e-5), (4, 1.1e-5)]),
        ],
        &[],
    ),
    case(
        "MindSpore LossMonitor",
        "epoch: 1 step: 31, loss is 2.3018966\nepoch: 1 step: 32, loss is 2.2998966\n",
        &[("loss", &[(31, 2.301_896_6), (32, 2.299_896_6)])],
        &["epoch"],
    ),
    case(
        "MindSpore LossMonitor, with a comma",
        "epoch: 0, step: 0, loss is 2.3018966\nepoch: 0, step: 1, loss is nan\n",
        &[("loss", &[(0, 2.301_896_6), (1, f64::NAN)])],
        &["epoch"],
    ),
    case(
        "torchtitan",
        "[titan] 2026-01-02 03:04:05,123 - root - INFO - \x1b[31mstep: 10  \x1b[32mloss:  8.0412  \x1b[38;2;180;60;0mgrad_norm:  1.7021  \x1b[33mmemory: 87.87GiB(62.89%)  \x1b[34mtps: 3,000  \x1b[36mtflops: 12.30\x1b[39m\n[titan] 2026-01-02 03:04:06,123 - root - INFO - \x1b[31mstep: 20  \x1b[32mloss:  7.5100  \x1b[38;2;180;60;0mgrad_norm:  1.6011  \x1b[33mmemory: 87.87GiB(62.89%)  \x1b[34mtps: 3,100  \x1b[36mtflops: 12.40\x1b[39m\n",
        &[
            ("loss", &[(10, 8.0412), (20, 7.51)]),
            ("grad_norm", &[(10, 1.7021), (20, 1.6011)]),
            ("tps", &[(10, 3000.0), (20, 3100.0)]),
        ],
        &[],
    ),
    case(
        "torchtune",
        "Step 3 | loss:2.1 lr:2e-05 tokens_per_second_per_gpu:512 peak_memory_active:12.5\nStep 4 | loss:2.0 lr:1.9e-05 tokens_per_second_per_gpu:513 peak_memory_active:12.5\n",
        &[("loss", &[(3, 2.1), (4, 2.0)]), ("learning_rate", &[(3, 2e-5), (4, 1.9e-5)])],
        &[],
    ),
    case(
        "DeepSpeed pipeline",
        "steps: 10 loss: 5.5508 iter time (s): 0.936 samples/sec: 136.7\n[2026-01-02 03:04:05,123] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=0, lr=[1e-05], mom=[(0.9, 0.999)]\nsteps: 20 loss: 5.4508 iter time (s): 0.935 samples/sec: 136.9\n[2026-01-02 03:04:06,123] [INFO] [logging.py:96:log_dist] [Rank 0] step=20, skipped=0, lr=[9e-06], mom=[(0.9, 0.999)]\n",
        &[("loss", &[(10, 5.5508), (20, 5.4508)]), ("learning_rate", &[(10, 1e-5), (20, 9e-6)])],
        &["s"],
    ),
    case(
        "verl, EasyR1",
        "(TaskRunner pid=4021, ip=10.0.0.1) step:3 - actor/pg_loss:np.float64(0.008) - actor/grad_norm:np.float64(0.3) - critic/score/mean:0.2 - perf/total_num_tokens:4021\n(TaskRunner pid=4021, ip=10.0.0.1) step:4 - actor/pg_loss:np.float64(-0.007) - actor/grad_norm:np.float64(0.25) - critic/score/mean:0.25 - perf/total_num_tokens:4100 [repeated 3x across cluster]\n",
        &[
            ("actor/pg_loss", &[(3, 0.008), (4, -0.007)]),
            ("actor/grad_norm", &[(3, 0.3), (4, 0.25)]),
            ("critic/score/mean", &[(3, 0.2), (4, 0.25)]),
        ],
        &["pid", "ip"],
    ),
    case(
        "slime, miles",
        "step 3: {'train/loss': 0.0125, 'train/grad_norm': 0.25, 'train/lr-pg_0': 1e-06}\nrollout 3: {'rollout/raw_reward': 0.5, 'rollout/response_lengths': 120.5}\nperf 3: {'perf/train_time': 12.5, 'perf/rollout_time': 3.5}\nstep 4: {'train/loss': 0.0115, 'train/grad_norm': 0.2, 'train/lr-pg_0': 1e-06}\nrollout 4: {'rollout/raw_reward': 0.55, 'rollout/response_lengths': 121.5}\nperf 4: {'perf/train_time': 12.5, 'perf/rollout_time': 3.5}\n",
        &[
            ("loss", &[(3, 0.0125), (4, 0.0115)]),
            ("grad_norm", &[(3, 0.25), (4, 0.2)]),
            ("rollout/raw_reward", &[(3, 0.5), (4, 0.55)]),
        ],
        &[],
    ),
    case(
        "ROLL",
        "[2026-11-21 10:00:00] [tracking.py (121)] [INFO] [DRIVER 0 / 8][PID 1346] metrics_tag: {\"step\": 3, \"metrics\": {\"actor/pg_loss\": 0.008, \"actor_train/grad_norm\": 0.25, \"critic/score/mean\": 0.5, \"actor/train_infer_diff_mean\": 0.00016}}\n[2026-11-21 10:00:00] [rlvr_pipeline.py (933)] [INFO] [DRIVER 0 / 8][PID 1346] pipeline step 3 finished\n[2026-11-21 10:00:31] [tracking.py (121)] [INFO] [DRIVER 0 / 8][PID 1346] metrics_tag: {\"step\": 4, \"metrics\": {\"actor/pg_loss\": -0.007, \"actor_train/grad_norm\": 0.5, \"critic/score/mean\": 0.625, \"actor/train_infer_diff_mean\": 0.00018}}\n[2026-11-21 10:00:31] [rlvr_pipeline.py (933)] [INFO] [DRIVER 0 / 8][PID 1346] pipeline step 4 finished\n",
        &[
            ("actor/pg_loss", &[(3, 0.008), (4, -0.007)]),
            ("actor_train/grad_norm", &[(3, 0.25), (4, 0.5)]),
            ("critic/score/mean", &[(3, 0.5), (4, 0.625)]),
        ],
        &["driver", "tracking.py", "pid"],
    ),
    case(
        "MindSpeed-RL",
        "[INFO] 2026-11-21 10:00:00,120 [loggers.py:88] iteration: 3 / 120 | timing/all : 31.2000 | grpo/lr : 4.000e-03 | grpo/score/mean : 0.0625 | grpo/rewards/mean : 0.0625 | response_length/mean : 8.3750 | actor/entropy : 2.5781 | grad_norm : 0.4746 | e2e_tps : 1021.3000 |\n[INFO] 2026-11-21 10:00:31,120 [loggers.py:88] iteration: 4 / 120 | timing/all : 32.2000 | grpo/lr : 4.000e-03 | grpo/score/mean : 0.0750 | grpo/rewards/mean : 0.0750 | response_length/mean : 8.0000 | actor/entropy : 2.5625 | grad_norm : 0.2555 | e2e_tps : 1021.3000 |\n",
        &[
            ("grpo/score/mean", &[(3, 0.0625), (4, 0.075)]),
            ("actor/entropy", &[(3, 2.5781), (4, 2.5625)]),
            ("grad_norm", &[(3, 0.4746), (4, 0.2555)]),
        ],
        &["loggers.py", "loggers"],
    ),
    case(
        "MindSpeed-RL behind Ray's prefix",
        "(RayGRPOTrainer pid=1234) [INFO][2026-11-21 10:00:00][loggers.py line 88] iteration: 3 / 120 | grpo/score/mean : 0.0625 | response_length/mean : 8.3750 | grad_norm : 0.4746 |\n(RayGRPOTrainer pid=1234) [INFO][2026-11-21 10:00:31][loggers.py line 88] iteration: 4 / 120 | grpo/score/mean : 0.0750 | response_length/mean : 8.0000 | grad_norm : 0.2555 |\n",
        &[("grpo/score/mean", &[(3, 0.0625), (4, 0.075)]), ("grad_norm", &[(3, 0.4746), (4, 0.2555)])],
        &["line", "loggers.py", "pid"],
    ),
    case(
        "HF Trainer, TRL, OpenRLHF",
        "{'loss': 2.5, 'grad_norm': 1.25, 'learning_rate': 1e-05, 'epoch': 0.1}\n{'loss': '2.25', 'grad_norm': 'nan', 'learning_rate': '9e-06', 'epoch': '0.2'}\n{'train_runtime': 12.5, 'train_samples_per_second': 8.0, 'train_loss': 2.4, 'epoch': 0.2}\n",
        &[("loss", &[(1, 2.5), (2, 2.25)]), ("grad_norm", &[(1, 1.25), (2, f64::NAN)])],
        &["epoch", "train_runtime"],
    ),
    case(
        "HF Trainer with a step in the record",
        "{'policy_loss': 0.5, 'act_grad_norm': 1.25, 'actor_lr': 1e-06, 'global_step': 3}\n{'policy_loss': 0.25, 'act_grad_norm': 1.5, 'actor_lr': 1e-06, 'global_step': 4}\n",
        &[("policy_loss", &[(3, 0.5), (4, 0.25)]), ("act_grad_norm", &[(3, 1.25), (4, 1.5)])],
        &["global_step"],
    ),
    case(
        "mmcv 1.x",
        "2026-01-02 03:04:05,123 - mmdet - INFO - Epoch [1][3/30]\tlr: 1.000e-04, eta: 0:10:00, time: 0.512, data_time: 0.012, memory: 4021, loss_cls: 0.3000, loss_bbox: 0.9000, loss: 1.2000, grad_norm: 12.5\n2026-01-02 03:04:06,123 - mmdet - INFO - Epoch [1][4/30]\tlr: 1.000e-04, eta: 0:09:59, time: 0.511, data_time: 0.011, memory: 4021, loss_cls: 0.2900, loss_bbox: 0.8100, loss: 1.1000, grad_norm: 12.1\n",
        &[
            ("loss_cls", &[(3, 0.3), (4, 0.29)]),
            ("loss", &[(3, 1.2), (4, 1.1)]),
            ("grad_norm", &[(3, 12.5), (4, 12.1)]),
        ],
        &["eta", "time"],
    ),
    case(
        "mmengine, XTuner",
        "01/02 03:04:05 - mmengine - INFO - Iter(train) [  3/60]  lr: 1.0000e-05  eta: 18 days, 16:18:38  time: 1.2034  data_time: 0.0100  memory: 4021  loss: 1.2000  grad_norm: 0.5000\n01/02 03:04:06 - mmengine - INFO - Iter(train) [  4/60]  lr: 1.1000e-05  eta: 18 days, 16:18:38  time: 1.2034  data_time: 0.0100  memory: 4021  loss: 1.1000  grad_norm: 0.4000\n01/02 03:04:07 - mmengine - INFO - Iter(val) [  4/60]  loss: 1.3000\n",
        &[
            ("loss", &[(3, 1.2), (4, 1.1)]),
            ("grad_norm", &[(3, 0.5), (4, 0.4)]),
            ("learning_rate", &[(3, 1e-5), (4, 1.1e-5)]),
            ("val/loss", &[(4, 1.3)]),
        ],
        &["eta", "time"],
    ),
    case(
        "mmengine by epoch",
        "01/02 03:04:05 - mmengine - INFO - Epoch(train) [1][ 3/30]  lr: 1.0000e-05  eta: 0:16:38  time: 1.2034  loss: 1.2000\n01/02 03:04:06 - mmengine - INFO - Epoch(train) [1][ 4/30]  lr: 1.0000e-05  eta: 0:16:38  time: 1.2034  loss: 1.1000\n01/02 03:04:07 - mmengine - INFO - Epoch(val) [1][ 5/5]  coco/bbox_mAP: 0.3000  loss: 1.4000\n",
        &[("loss", &[(3, 1.2), (4, 1.1)])],
        &["eta", "time"],
    ),
    case(
        "fairseq, JSON",
        "2026-01-02 03:04:05 | INFO | train_inner | {\"epoch\": 1, \"update\": 0.1, \"loss\": \"9.3\", \"ppl\": \"630.35\", \"num_updates\": \"3\", \"lr\": \"2e-05\", \"gnorm\": \"1.7\"}\n2026-01-02 03:04:06 | INFO | train_inner | {\"epoch\": 1, \"update\": 0.133, \"loss\": \"9.1\", \"ppl\": \"548.75\", \"num_updates\": \"4\", \"lr\": \"2e-05\", \"gnorm\": \"1.6\"}\n",
        &[
            ("loss", &[(3, 9.3), (4, 9.1)]),
            ("grad_norm", &[(3, 1.7), (4, 1.6)]),
            ("learning_rate", &[(3, 2e-5), (4, 2e-5)]),
        ],
        &["num_updates"],
    ),
    case(
        "fairseq, simple",
        "epoch 001:    3 / 30 loss=9.3, ppl=630.35, wps=0, num_updates=3, lr=2e-05, gnorm=1.7\nepoch 001:    4 / 30 loss=9.1, ppl=548.75, wps=12000, num_updates=4, lr=2e-05, gnorm=1.6\n",
        &[("loss", &[(3, 9.3), (4, 9.1)]), ("grad_norm", &[(3, 1.7), (4, 1.6)])],
        &["num_updates"],
    ),
    case(
        "ImageNet examples of PyTorch",
        "Epoch: [0][  10/300]\tTime  0.400 ( 0.500)\tData  0.010 ( 0.020)\tLoss 6.9012e+00 (7.0011e+00)\tAcc@1   1.20 (  1.10)\tAcc@5   4.50 (  4.40)\nEpoch: [0][  20/300]\tTime  0.400 ( 0.450)\tData  0.010 ( 0.020)\tLoss 6.8012e+00 (6.9511e+00)\tAcc@1   1.30 (  1.20)\tAcc@5   4.60 (  4.50)\nTest: [  0/100]\tTime  0.500 ( 0.500)\tLoss 6.7000e+00 (6.7000e+00)\tAcc@1   1.00 (  1.00)\n",
        &[("loss", &[(10, 6.9012), (20, 6.8012)])],
        &["time"],
    ),
    case(
        "timm",
        "Train: 0 [  50/300 ( 17%)]  Loss: 6.91 (7.02)  Time: 0.412s,  310.68/s  (0.512s,  250.00/s)  LR: 1.0e-04  Data: 0.010 (0.020)\nTrain: 0 [ 100/300 ( 33%)]  Loss: 6.85 (6.95)  Time: 0.411s,  311.44/s  (0.461s,  277.66/s)  LR: 1.1e-04  Data: 0.010 (0.015)\n",
        &[("loss", &[(50, 6.91), (100, 6.85)]), ("learning_rate", &[(50, 1e-4), (100, 1.1e-4)])],
        &["time"],
    ),
    case(
        "PyTorch tutorials, NPU porting guides",
        "Train Epoch: 0 [6400/60000 (11%)]\tLoss: 0.530000\nTrain Epoch: 0 [12800/60000 (21%)]\tLoss: 0.410000\n\nTest set: Average loss: 0.0521, Accuracy: 9826/10000 (98%)\n",
        &[("loss", &[(6400, 0.53), (12_800, 0.41)])],
        &["average_loss"],
    ),
    case(
        "PyTorch tutorials, without a percentage",
        "Train Epoch: 0 [6400/60000]\tLoss: 0.530000\nTrain Epoch: 0 [12800/60000]\tLoss: 0.410000\n",
        &[("loss", &[(6400, 0.53), (12_800, 0.41)])],
        &[],
    ),
    case(
        "own loop, by epoch",
        "Epoch [3/60], Loss: 0.53\nEpoch [4/60], Loss: 0.51\n",
        &[("loss", &[(3, 0.53), (4, 0.51)])],
        &[],
    ),
    case(
        "nanoGPT",
        "step 0: train loss 4.3012, val loss 4.2912\niter 0: loss 4.1021, time 1200.52ms, mfu -100.00%\niter 10: loss 3.9021, time 12.52ms, mfu 30.21%\nstep 10: train loss 3.9512, val loss 4.0012\n",
        &[("loss", &[(0, 4.1021), (10, 3.9021)]), ("eval_loss", &[(0, 4.2912), (10, 4.0012)])],
        &["time"],
    ),
    case(
        "own loop, with steps",
        "step=1 loss=0.5 lr=1e-4\nstep=2 loss=0.25 lr=9e-5\n",
        &[("loss", &[(1, 0.5), (2, 0.25)]), ("learning_rate", &[(1, 1e-4), (2, 9e-5)])],
        &[],
    ),
    case(
        "own loop, without steps",
        "loss=0.5 lr=1e-4\nloss=0.25 lr=9e-5\nloss=0.2 lr=8e-5\n",
        &[("loss", &[(1, 0.5), (2, 0.25), (3, 0.2)]), ("learning_rate", &[(1, 1e-4), (2, 9e-5), (3, 8e-5)])],
        &[],
    ),
    case(
        "own loop, in Chinese",
        "第 3 步，损失：0.53，学习率：1e-4\n第 4 步，损失：0.51，学习率：9e-5\n",
        &[("loss", &[(3, 0.53), (4, 0.51)]), ("learning_rate", &[(3, 1e-4), (4, 9e-5)])],
        &[],
    ),
    case(
        "own loop, epochs in Chinese",
        "第3轮 损失: 0.53\n第4轮 损失: 0.51\n",
        &[("loss", &[(3, 0.53), (4, 0.51)])],
        &[],
    ),
    case(
        "own loop, tensors",
        "step: 1, loss: tensor(0.5312, device='npu:0', grad_fn=<NllLossBackward0>)\nstep: 2, loss: tensor(0.5012, device='npu:0', grad_fn=<NllLossBackward0>)\n",
        &[("loss", &[(1, 0.5312), (2, 0.5012)])],
        &[],
    ),
    case(
        "own loop, NumPy",
        "step: 1, loss: np.float32(0.5312), grad_norm: [1.5], lr: \"1e-4\"\nstep: 2, loss: np.float32(inf), grad_norm: [1.25], lr: \"1e-4\"\n",
        &[("loss", &[(1, 0.5312), (2, f64::INFINITY)]), ("grad_norm", &[(1, 1.5), (2, 1.25)])],
        &[],
    ),
    case(
        "InternEvo",
        "2026-01-02 03:04:05,123\tINFO train.py:310 in record_current_batch_training_metrics -- tflops=188.8,step=3,loss=2.1,tgs (tokens/gpu/second)=4269.67,lr=1e-05,loss_scale=65536.0,grad_norm=0.9\n2026-01-02 03:04:06,123\tINFO train.py:310 in record_current_batch_training_metrics -- tflops=188.9,step=4,loss=2.0,tgs (tokens/gpu/second)=4270.67,lr=1.1e-05,loss_scale=65536.0,grad_norm=0.8\n",
        &[
            ("loss", &[(3, 2.1), (4, 2.0)]),
            ("grad_norm", &[(3, 0.9), (4, 0.8)]),
            ("learning_rate", &[(3, 1e-5), (4, 1.1e-5)]),
        ],
        &[],
    ),
    case(
        "detectron2",
        "[01/02 03:04:05 d2.utils.events]:  eta: 0:10:12  iter: 19  total_loss: 1.2  loss_cls: 0.7  loss_box_reg: 0.5  time: 0.2512  data_time: 0.0125  lr: 0.001  max_mem: 4021M\n[01/02 03:04:06 d2.utils.events]:  eta: 0:10:11  iter: 39  total_loss: 1.1  loss_cls: 0.65  loss_box_reg: 0.45  time: 0.2512  data_time: 0.0125  lr: 0.001  max_mem: 4021M\n",
        &[
            ("loss", &[(19, 1.2), (39, 1.1)]),
            ("loss_cls", &[(19, 0.7), (39, 0.65)]),
            ("learning_rate", &[(19, 0.001), (39, 0.001)]),
        ],
        &["eta", "time"],
    ),
    case(
        "detectron2, metrics.json",
        "{\"data_time\": 0.0125, \"iteration\": 19, \"loss_cls\": 0.7, \"lr\": 0.001, \"total_loss\": 1.2}\n{\"data_time\": 0.0125, \"iteration\": 39, \"loss_cls\": 0.65, \"lr\": 0.001, \"total_loss\": 1.1}\n",
        &[("loss", &[(19, 1.2), (39, 1.1)]), ("loss_cls", &[(19, 0.7), (39, 0.65)])],
        &["iteration"],
    ),
    case(
        "diffusers",
        "Steps:   3%|▎         | 2/60 [00:10<05:02,  5.21s/it, lr=1e-5, step_loss=0.2]\rSteps:   5%|▌         | 3/60 [00:15<04:57,  5.21s/it, lr=1e-5, step_loss=0.25]\r\n",
        &[("loss", &[(2, 0.2), (3, 0.25)]), ("learning_rate", &[(2, 1e-5), (3, 1e-5)])],
        &["steps"],
    ),
    case(
        "sd-scripts",
        "steps:   3%|▎         | 2/60 [00:10<05:02,  5.21s/it, avr_loss=0.2]\rsteps:   5%|▌         | 3/60 [00:15<04:57,  5.21s/it, avr_loss=0.25]\r\n",
        &[("loss", &[(2, 0.2), (3, 0.25)])],
        &["steps"],
    ),
    case(
        "ColossalAI",
        "Epoch 0:  40%|████      | 12/30 [00:10<00:15,  1.20it/s, loss=0.4]\rEpoch 0:  43%|████▎     | 13/30 [00:11<00:14,  1.20it/s, loss=0.35]\r\n",
        &[("loss", &[(12, 0.4), (13, 0.35)])],
        &["epoch"],
    ),
    case(
        "MLPerf",
        ":::MLLOG {\"namespace\": \"\", \"time_ms\": 1767322445123, \"event_type\": \"POINT_IN_TIME\", \"key\": \"train_loss\", \"value\": 11.8, \"metadata\": {\"file\": \"train.py\", \"lineno\": 210, \"samples_count\": 32, \"lr\": 1e-05}}\n:::MLLOG {\"namespace\": \"\", \"time_ms\": 1767322446123, \"event_type\": \"INTERVAL_START\", \"key\": \"block_start\", \"value\": null, \"metadata\": {\"file\": \"train.py\", \"lineno\": 99, \"samples_count\": 32}}\n:::MLLOG {\"namespace\": \"\", \"time_ms\": 1767322447123, \"event_type\": \"POINT_IN_TIME\", \"key\": \"train_loss\", \"value\": 11.2, \"metadata\": {\"file\": \"train.py\", \"lineno\": 210, \"samples_count\": 64, \"lr\": 2e-05}}\n",
        &[("loss", &[(32, 11.8), (64, 11.2)])],
        &["time_ms", "lineno"],
    ),
    case(
        "PaddleNLP",
        "[2026-01-02 03:04:05,123] [    INFO] - loss: 2.5, learning_rate: 1e-05, global_step: 3, interval_runtime: 1.25, interval_samples_per_second: 6.4, progress_or_epoch: 0.05\n[2026-01-02 03:04:06,123] [    INFO] - loss: 2.25, learning_rate: 2e-05, global_step: 4, interval_runtime: 1.25, interval_samples_per_second: 6.4, progress_or_epoch: 0.067\n",
        &[("loss", &[(3, 2.5), (4, 2.25)]), ("learning_rate", &[(3, 1e-5), (4, 2e-5)])],
        &["global_step"],
    ),
    case(
        "PaddleOCR",
        "[2026/01/02 03:04:05] ppocr INFO: epoch: [1/2], global_step: 3, lr: 0.001000, loss: 2.500000, avg_reader_cost: 0.01250 s, avg_batch_cost: 0.25000 s, avg_samples: 8.0, ips: 32.00000 samples/s, eta: 0:01:00\n[2026/01/02 03:04:06] ppocr INFO: epoch: [1/2], global_step: 4, lr: 0.001000, loss: 2.250000, avg_reader_cost: 0.01250 s, avg_batch_cost: 0.25000 s, avg_samples: 8.0, ips: 32.00000 samples/s, eta: 0:00:59\n",
        &[("loss", &[(3, 2.5), (4, 2.25)]), ("learning_rate", &[(3, 0.001), (4, 0.001)])],
        &["eta", "global_step"],
    ),
    case(
        "NeMo 2",
        "Training epoch 0, iteration 3/59 | lr: 1e-05 | global_batch_size: 8 | global_step: 3 | reduced_train_loss: 2.06 | train_step_timing in s: 1.25 | consumed_samples: 32\nTraining epoch 0, iteration 4/59 | lr: 2e-05 | global_batch_size: 8 | global_step: 4 | reduced_train_loss: 2.01 | train_step_timing in s: 1.25 | consumed_samples: 40\n",
        &[("loss", &[(3, 2.06), (4, 2.01)]), ("learning_rate", &[(3, 1e-5), (4, 2e-5)])],
        &["global_step", "consumed_samples", "global_batch_size"],
    ),
];

/// Prefixes in front of a line, which are no part of it.
pub(crate) const PREFIXES: &[(&str, &str)] = &[
    ("colour", "\x1b[36m"),
    ("Ray", "(TaskRunner pid=4021) "),
    ("Ray on another node", "\x1b[36m(WorkerDict pid=4021, ip=10.0.0.1)\x1b[0m "),
    ("torchrun", "[rank0]:"),
    ("torchrun, by role", "[default7]:"),
    ("MPI, srun", "0: "),
    ("launcher", "worker-3/0 "),
    ("launcher, in brackets", "[trainer0/0]:"),
    ("container runtime", "2026-11-22T10:11:12.000000001Z stdout F "),
    ("logger", "2026-01-02 03:04:05,123 - trainer - INFO - "),
    ("torchrun and logger", "[rank3]:2026-01-02 03:04:05,123 - root - INFO - "),
    ("container runtime and Ray", "2026-11-22T10:11:12.000000001Z stderr F (TaskRunner pid=4021) "),
];

/// A line behind each of them.
pub(crate) const PREFIXED: [(&str, u64, f64); 3] = [
    ("step: 7 loss: 2.5 lr: 1e-5", 7, 2.5),
    ("step: 8 loss: 2.25 lr: 1e-5", 8, 2.25),
    ("step: 9 loss: 2 lr: 1e-5", 9, 2.0),
];

/// Lines that hold no training loss, though they speak of one.
pub(crate) const NO_LOSS: &[&str] = &[
    "Train epoch time: 12.5",
    "loss function: CrossEntropyLoss, label smoothing 0.1",
    "loading weights 3/12 at 2026-01-02 03:04:05, 41 % done",
    "Estimated loss of precision: 1e-5",
];
