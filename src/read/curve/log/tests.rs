use super::*;
use crate::fetch::MemorySource;

fn log(text: &str) -> CurveFile {
    let source = MemorySource::new("train.log", text.as_bytes().to_vec());
    assert!(recognise(&source), "{text}");
    read(&source, &Room::unlimited()).expect("a log")
}

fn points(file: &CurveFile, name: &str) -> Vec<(u64, f64)> {
    file.loaded().into_iter().find(|series| series.name == name).expect(name).points().collect()
}

#[test]
fn megatron_lines() {
    let file = log(concat!(
        "building GPT model ...\n",
        " [2026-01-02 03:04:05] iteration        1/    5000 | consumed samples:            8 | elapsed time per ",
        "iteration (ms): 2557.6 | learning rate: 1.250000E-06 | global batch size:     8 | lm loss: 1.221668E+00 | ",
        "loss scale: 1.0 | grad norm: 8.123 | number of skipped iterations:   0 | number of nan iterations:   0 |\n",
        " iteration        2/    5000 | lm loss: nan | grad norm: inf |\n"
    ));
    assert_eq!(points(&file, "lm loss")[0], (1, 1.221_668));
    assert!(points(&file, "lm loss")[1].1.is_nan());
    assert_eq!(points(&file, "grad norm"), [(1, 8.123), (2, f64::INFINITY)]);
    assert_eq!(points(&file, "elapsed time per iteration"), [(1, 2557.6)]);
    assert!(file.series.iter().all(|series| !series.name().contains("samples") && !series.name().contains("number")));
}

#[test]
fn trainer_lines_have_no_step() {
    let file = log(concat!(
        "{'loss': 2.5, 'grad_norm': 1.25, 'learning_rate': 1e-05, 'epoch': 0.1}\r  1%| | 10/500\n",
        "{'loss': '2.25', 'grad_norm': nan, 'learning_rate': 2e-05, 'epoch': 0.2}\n",
        "{'train_runtime': 12.5, 'train_loss': 2.4, 'epoch': 1.0}\n"
    ));
    assert_eq!(points(&file, "loss"), [(1, 2.5), (2, 2.25)]);
    assert!(!file.loaded()[0].steps.is_numbered());
    assert!(file.series.iter().all(|series| !series.name().contains("train")));
}

#[test]
fn names_with_values_and_colours() {
    let file = log(concat!(
        "[titan] - root - INFO - \x1b[31mstep:  1  \x1b[32mloss:  8.0483  \x1b[33mgrad_norm:  1.7  tps: 3,000\n",
        "[titan] - root - INFO - \x1b[31mstep:  2  \x1b[32mloss:  7.5  \x1b[33mgrad_norm:  1.6  tps: 3,100\n"
    ));
    assert_eq!(points(&file, "loss"), [(1, 8.0483), (2, 7.5)]);
    assert_eq!(points(&file, "tps"), [(1, 3000.0), (2, 3100.0)]);
}

#[test]
fn a_validation_may_print_its_score_alone() {
    let file = log(concat!(
        "step:0 - val-core/openai/gsm8k/acc/mean@1:np.float64(0.24) - val-aux/num_turns/min:np.int64(2)\n",
        "step:1 - actor/pg_loss:0.1 - critic/score/mean:0.5\n",
        "step:2 - actor/pg_loss:0.2 - critic/score/mean:0.6\n"
    ));
    assert_eq!(points(&file, "val-core/openai/gsm8k/acc/mean@1"), [(0, 0.24)]);
    let source = MemorySource::new("notes.txt", b"step 3: 80 accounts\nstep: 4 value: 2\n".to_vec());
    assert!(!recognise(&source));
}

#[test]
fn of_a_bar_that_is_drawn_again_the_last_text_counts() {
    let file = log(concat!(
        "Steps:  1%|1 | 1/60 [00:10<00:20, step_loss=0.9]\rSteps:  3%|2 | 2/60 [00:10<00:20, step_loss=0.9]\r",
        "Steps:  3%|2 | 2/60 [00:10<00:20, step_loss=0.7]\rSteps:  5%|3 | 3/60 [00:10<00:20, step_loss=0.6]\n"
    ));
    assert_eq!(points(&file, "step_loss"), [(1, 0.9), (2, 0.7), (3, 0.6)]);
    assert_eq!(file.loaded()[0].contradictions(), 0);
}

#[test]
fn skipped_updates_are_read_beside_the_curves() {
    let megatron = concat!(
        " iteration       10/    60 | lm loss: 1.2E+00 | loss scale: 512.0 | number of skipped iterations:   3 | number of nan iterations:   1 |\n",
        " iteration       20/    60 | lm loss: 1.1E+00 | loss scale: 512.0 | number of skipped iterations:   0 | number of nan iterations:   2 |\n"
    );
    let deepspeed = concat!(
        "{'loss': 8.8, 'grad_norm': 1.7, 'epoch': 0.01}\n",
        "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768\n",
        "{'loss': 8.6, 'grad_norm': 1.6, 'epoch': 0.02}\n"
    );
    for (text, expected) in [(megatron, [3, 2]), (deepspeed, [0, 1])] {
        let updates = log(text).updates.expect(text);
        assert_eq!(updates.records.iter().map(|record| record.skipped).collect::<Vec<_>>(), expected);
    }
    assert_eq!(log("step: 1 loss: 2.5\nstep: 2 loss: 2.4\n").updates, None);
}

#[test]
fn prose_that_quotes_one_line_is_no_log() {
    let source = MemorySource::new("README.md", b"It prints {'loss': 2.5, 'epoch': 0.1} as it goes.\nEnd.\n".to_vec());
    assert!(!recognise(&source));
}

#[test]
fn a_counter_that_lines_below_it_cannot_use_is_noted() {
    let uses = |text: &str| !log(text).notes.contains(&CurveNote::UnusedCounter);
    let several: String =
        (1..=3).map(|epoch| format!("Epoch {epoch}/3\n{}", "loss: 2.5\nloss: 2.4\n".repeat(4))).collect();
    let one: String = (1..=3).map(|epoch| format!("Epoch {epoch}/3\nloss: {epoch}.5\n")).collect();
    assert!(!uses(&several) && uses(&one) && uses("loss: 2.5 acc: 0.1\nloss: 2.4 acc: 0.2\nloss: 2.3 acc: 0.2\n"));
}

#[test]
fn the_users_pattern_names_its_metrics() {
    let pattern = LogPattern::parse(r"^it=(?<step>\d+) L=(?<loss>\S+)").expect("sound");
    let source = MemorySource::new("my.log", b"noise\nit=1 L=2.5\nit=2 L=nan\n".to_vec());
    assert!(matches_pattern(&source, &pattern));
    let file = read_with_pattern(&source, &Room::unlimited(), &pattern).expect("a log");
    assert_eq!(points(&file, "loss")[0], (1, 2.5));
    assert!(LogPattern::parse(r"(?<step>\d+)").is_err());
    assert!(LogPattern::parse(r"(").is_err());
}

#[test]
fn a_line_that_ends_rows_without_a_ruler_is_read_as_well() {
    let rows = |step: u64| format!("-----------------\n| loss | {step}.5 |\n| step | {step} |\n");
    let file = log(&(1..=3).map(|step| rows(step) + &format!("step {step} acc: 0.{step}\n")).collect::<String>());
    assert_eq!(points(&file, "loss"), [(1, 1.5), (2, 2.5), (3, 3.5)]);
    assert_eq!(points(&file, "acc"), [(1, 0.1), (2, 0.2), (3, 0.3)]);
}

/// The log as it is read line by line, each looked at when it is taken.
fn line_by_line(source: &MemorySource, surveyed_bytes: u64) -> CurveFile {
    let room = Room::unlimited();
    let so_far = SoFar::new(surveyed(source, None, surveyed_bytes).expect("in memory"), None);
    let mut run = Run::new(source, &room, so_far);
    let mut lines = Lines::cutting(source);
    loop {
        if !run.so_far.is_open() {
            lines.skip_until(telling::first_match, kinds::is_numeric).expect("in memory");
        }
        let Some((line, has_end)) = lines.next_with_end().expect("in memory") else { break };
        run.take(line, has_end, None).expect("in memory");
    }
    run.finish(source, CurveFormat::Log).expect("in memory")
}

proptest::proptest! {
    /// Few bytes are surveyed, so that most names are new to the lines that bring them.
    #[test]
    fn lines_that_are_looked_at_ahead_are_what_they_are_one_by_one(
        chosen in proptest::collection::vec(proptest::sample::select(vec![
            " iteration #/ 900 | lm loss: #.5E+00 | grad norm: #.25 | loss scale: 1.0 |",
            "step # loss #.5 lr 1e-4",
            "step # | new # loss: #.5 | other#: 2",
            "{'loss': #.5, 'grad_norm': nan, 'epoch': 0.#}",
            "epoch | loss | accuracy",
            "# | 0.# | 0.#",
            "------------------------",
            "| loss | #.5 |",
            "| step | # |",
            "epoch #:",
            "val loss: #.5",
            "Traceback (most recent call last):",
            "  File \"train.py\", line #, in step",
            "ValueError: loss is #",
            "overflow on rank #, skipping step, reducing loss scale to #.0",
            "num_train_steps: 90",
            " 3%|#| #/60 [00:01<00:02, loss=#.5]",
            "第 # 步，损失：0.#",
            "loss of the run",
            "#.5",
            "layers.#.mlp.weight grad norm: #.5",
            "{'train_runtime': #.5, 'train_loss': nan}",
            "loading shard # of the data",
            "",
        ]), 1..60),
        size in 64_usize..2000, surveyed_bytes in 1_u64..600, has_end in proptest::bool::ANY,
    ) {
        let lines = (1..).zip(&chosen).map(|(nth, line)| line.replace('#', &nth.to_string()));
        let text = lines.collect::<Vec<_>>().join("\n") + if has_end { "\n" } else { "" };
        let source = MemorySource::new("train.log", text.into_bytes());
        let room = Room::unlimited();
        let so_far = SoFar::new(surveyed(&source, None, surveyed_bytes).expect("in memory"), None);
        let run = Run::new(&source, &room, so_far).lines(Lines::cutting(&source), Some(size)).expect("in memory");
        let ahead = run.finish(&source, CurveFormat::Log).expect("in memory");
        let all = |file: &CurveFile| {
            // Shapes are found by a hash of theirs, whose order is no part of what was read.
            let account = format!("{:?}", file.account);
            let account = account.split(", known: ").next().unwrap_or_default().to_owned();
            let curves = format!("{:?} {:?}", file.loaded(), file.notes);
            (curves, format!("{:?} {:?}", file.updates, file.told), account)
        };
        proptest::prop_assert_eq!(all(&ahead), all(&line_by_line(&source, surveyed_bytes)));
    }
}
