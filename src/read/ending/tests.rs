use proptest::prelude::*;

use super::*;

/// The end of a log of these lines, in which `record` stands for a training record.
fn ending(text: &str) -> Ending {
    let mut lines = EndingLines::default();
    for line in text.lines().map(str::trim) {
        if line == "record" {
            lines.note_record()
        } else {
            let _is_part = lines.take_line(line);
        }
    }
    lines.finish()
}

fn error(text: &str) -> RunError {
    ending(text).error.expect(text)
}

const RANK_14: &str = "record
[rank14]: Traceback (most recent call last):
[rank14]:   File \"/work/sft.py\", line 7, in <module>
[rank14]:     main()
[rank14]:   File \"/work/buffer.py\", line 160, in check_grads
[rank14]:     validate(
[rank14]: RuntimeError: Rank 3, node a, iteration 7: Unexpected result nan";

#[test]
fn a_traceback_gives_rank_frame_and_step() {
    let found = error(RANK_14);
    assert_eq!((found.kind, found.rank, found.step), (EndKind::PythonError, Some(14), Some(7)));
    assert_eq!((found.file.as_deref(), found.line), (Some("/work/buffer.py"), Some(160)));
    assert_eq!(found.message, "RuntimeError: Rank 3, node a, iteration 7: Unexpected result nan");
}

#[test]
fn an_error_of_the_device_names_its_kernel() {
    let found = error(
        "record\nTraceback (most recent call last):\n  File \"/work/model.py\", line 1082, in train\nRuntimeError: Sync stream failed
EE9999: Inner Error!\n        [FINAL]Task run failed, device_id=0, fault kernel_name=MatMul_op7, program id=0",
    );
    assert_eq!((found.code.as_deref(), found.kernel.as_deref()), (Some("EE9999"), Some("MatMul_op7")));
}

#[test]
fn an_error_that_was_caught_or_is_of_closing_down_ended_nothing() {
    for text in [
        &format!("{RANK_14}\nrecord"),
        &format!("{RANK_14}\nTraining completed."),
        &format!("record\nTraining completed. Saving model.\n{RANK_14}").replacen("\nrecord", "", 1),
        &format!("record\n[exiting program at iteration 45] datetime: x\n{}", RANK_14.replacen("record\n", "", 1)),
        "record\nException ignored in: <function f>\nTraceback (most recent call last):\n File \"a.py\", line 1, in f\nOSError: x",
        "record\nwandb: WARNING Retrying: Traceback (most recent call last):\n File \"a.py\", line 1, in f\n x()\nConnectionError: x",
        "record\n[WARNING] CUDA error would be hidden",
        "record\ndone",
    ] {
        assert_eq!(ending(text).error, None, "{text}");
    }
    assert!(ending("record\ntraining is finished").is_complete && !ending("record").is_complete);
    assert!(!ending("training is finished\nrecord").is_complete);
}

#[test]
fn the_first_kind_that_applies_is_told_with_its_code() {
    use EndKind::{CollectiveTimeout, DeviceError, Killed, OutOfMemory, PythonError};
    for (text, kind, code, rank) in [
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate", OutOfMemory, None, None),
        ("RuntimeError: NPU out of memory. EZ9999: Inner", OutOfMemory, Some("EZ9999"), None),
        (
            "  traceback : Signal 9 (SIGKILL) received by PID 2302\n  rank      : 2 (local_rank: 2)",
            Killed,
            None,
            Some(2),
        ),
        ("failed (exitcode: -9) local_rank: 5 (pid: 2302) of binary: python", Killed, None, Some(5)),
        ("EI0002: The wait execution of the Notify register times out.", CollectiveTimeout, Some("EI0002"), None),
        ("[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1)", CollectiveTimeout, None, Some(3)),
        (
            "RuntimeError: ACL failed, error code:507015\n[ERROR] (PID:1, Device:3, RankID:3) ERR00100 PTA\nEZ9999: Inner Error!",
            DeviceError,
            Some("EZ9999"),
            Some(3),
        ),
        ("RuntimeError: CUDA error: an illegal memory access was encountered", DeviceError, None, None),
        ("ValueError: too many values", PythonError, None, None),
    ] {
        let found = error(text);
        assert_eq!((found.kind, found.code.as_deref(), found.rank), (kind, code, rank), "{text}");
    }
}

#[test]
fn ranks_are_kept_apart_and_a_launcher_says_nothing_of_the_frame() {
    let both = "[rank0]: Traceback (most recent call last):
[rank3]: Traceback (most recent call last):
[rank0]:   File \"a.py\", line 1, in f
[rank3]:   File \"b.py\", line 2, in g
[rank3]: RuntimeError: NPU out of memory
[rank0]: RuntimeError: NCCL communicator timed out
Traceback (most recent call last):
  File \"/usr/bin/torchrun\", line 8, in <module>
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:";
    let found = error(both);
    assert_eq!((found.kind, found.rank, found.file.as_deref()), (EndKind::OutOfMemory, Some(3), Some("b.py")));
    let launcher = "Traceback (most recent call last):
  File \"/usr/bin/torchrun\", line 8, in <module>
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
  rank      : 2 (local_rank: 2)
  exitcode  : -9 (pid: 2302)";
    let found = error(launcher);
    assert_eq!((found.kind, found.rank, found.file), (EndKind::Killed, Some(2), None));
    let spawned = "Traceback (most recent call last):
  File \"spawn.py\", line 8, in join
torch.multiprocessing.spawn.ProcessRaisedException:
-- Process 1 terminated with the following error:
Traceback (most recent call last):
  File \"train.py\", line 88, in worker
KeyError: 'x'";
    let found = error(spawned);
    assert_eq!((found.rank, found.line, found.message.as_str()), (Some(1), Some(88), "KeyError: 'x'"));
}

#[test]
fn of_chained_errors_the_cause_is_told_and_what_was_handled_is_not() {
    let chain = |between: &str| {
        format!(
            "Traceback (most recent call last):\n File \"a.py\", line 1, in f\nKeyError: 1\n\n{between}\n\nTraceback (most recent call last):\n File \"b.py\", line 2, in g\nRuntimeError: 2"
        )
    };
    let cause = "The above exception was the direct cause of the following exception:";
    let handled = "During handling of the above exception, another exception occurred:";
    assert_eq!(error(&chain(cause)).file.as_deref(), Some("a.py"));
    assert_eq!(error(&chain(handled)).file.as_deref(), Some("b.py"));
}

#[test]
fn lines_behind_a_frame_do_not_swallow_what_follows() {
    let mut lines = EndingLines::default();
    assert!(lines.take_line("Traceback (most recent call last):") && lines.take_line("File \"a.py\", line 1, in f"));
    let parts = (0..20).filter(|_| lines.take_line("step 3 loss 2.5")).count();
    assert_eq!(parts, BEHIND_FRAME);
}

proptest::proptest! {
    #[test]
    fn the_search_for_words_misses_no_line_about_an_end(
        parts in proptest::collection::vec(
            proptest::prop_oneof![
                1 => "[a-zA-Z0-9 :-]{0,8}",
                2 => proptest::sample::select(&[
                    "Traceback", "Error", "Exception", "Interrupt", "EI0002", "E39999", "exitcode", "exit code", "SIGKILL",
                    "Signal 9", "Killed", "timeout", "Time out", "timed out", "times out", "out of memory", "OutOfMemory",
                    "Completed", "FINISHED", "exiting", "early stop", "Early-stopping", "train_runtime", "Done",
                    "end of training", "succeeded", "训练完成",
                ][..]).prop_map(str::to_owned),
            ],
            0..4,
        ),
    ) {
        let line = parts.join(" ");
        proptest::prop_assert_eq!(EndingLines::may_show_end(&line), HINT.is_match(&line), "{}", line);
    }
}
