use proptest::prelude::*;

use super::*;

/// Lines of many programs, with counters, dates, units, ratios and messages in all places.
const LINES: [&str; 31] = [
    "step 10 | loss 1.200000 | lr 1.000e-04 | grad_norm 1.0100",
    "2026-05-01 10:11:00,123 - trainer - INFO - 100/20000 | Loss 6.9",
    " [2026-05-01 10:11:12] iteration  10/ 600 | consumed samples: 2560 | elapsed time per iteration (ms): 512.3 | lm loss: 1.1E+01 |",
    "{'loss': 2.3125, 'grad_norm': 1.25, 'learning_rate': 1.2e-05, 'epoch': 0.25}",
    "Epoch [1][3/30]\tlr: 1e-4\tloss: 0.5 (0.7)",
    "Train: 0 [  50/300 ( 17%)]  Loss: 6.91 (6.9)  Time: 0.4s, 80.5/s",
    "Steps:   3%|2 | 2/60 [00:10<00:20, lr=1e-5, loss=0.25]",
    "1875/1875 [====] - 5s 3ms/step - loss: 0.6 - acc: 0.81",
    "1epoch:train:91-180batch: iter_time=0.003, loss=5.5",
    "Progress on:train 1.0it/40.0it rate:2.1it/s loss:2.5",
    "Test set: Average loss: 2.8, Accuracy: 5055/10000 (51%)",
    "Epoch 1 | iter 8 step 2 | loss train: 9.7, val: 6.6 | iter time: 312.45 ms",
    "May 01 10:11:00 gpu01 python[12345]: 10 | loss 2.5",
    "I0501 10:11:00.1 140234567 train.py:42] step 3 loss = 2.5",
    "[rank3]: step: 1 loss: tensor(2.5, device='npu:0')",
    "(trainer:793) INFO 0x7f3a loss 2.5 at 0x1 and 1x1",
    "loss: 2.5 after signal 8",
    "loss 2.5 exit code 3 E12345",
    "epoch: 1.5 loss: nan grad_norm: -inf",
    " 1: 10.8, 10.7 avg loss, 0.02 rate, 1.2 seconds",
    "10.0.0.1:8080 step=3, loss=0.00, version 2.7.1",
    "| epoch   1 |   200/ 2000 batches | lr 0.10 | loss  5.50 |",
    "top5 acc 12.5 f1 0.5 mAP50(B) 0.4 loss_1 2.5",
    "step: 3/0.5 loss: 1,234.5 tokens 12,800",
    "10 2.5000",
    "[0] 10/900",
    "1.5, 2.5, 0.25",
    "  4.5000",
    "validation loss at step 10 was",
    "iteration 12 of 100",
    "saved model_10.pt after 2.5 s",
];

fn known(line: &str, reader: &mut Reader, names: &mut Names) -> LineFacts {
    LineFacts::with_values(line, reader, names, false)
}

/// A line of which some bytes are replaced: figures by figures, and a few by signs that change what it says.
fn changed(line: &str, figures: &[u8], others: &[(usize, u8)]) -> String {
    let mut next = figures.iter().cycle();
    let mut bytes: Vec<u8> = line
        .bytes()
        .map(|byte| if byte.is_ascii_digit() { b'0' + next.next().copied().unwrap_or_default() } else { byte })
        .collect();
    for (place, sign) in others {
        let place = place % bytes.len();
        bytes.get_mut(place).into_iter().for_each(|byte| *byte = *sign);
    }
    String::from_utf8(bytes).expect("ASCII")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]
    #[test]
    fn a_line_that_has_a_form_holds_what_its_own_tokens_say(
        line in proptest::sample::select(&LINES[..]),
        first in proptest::collection::vec(0_u8..10, 1..40),
        second in proptest::collection::vec(0_u8..10, 1..40),
        both in proptest::collection::vec((any::<usize>(), proptest::sample::select(&b" .,:/=x-e0%|[]()s"[..])), 0..3),
        one in proptest::collection::vec((any::<usize>(), proptest::sample::select(&b"0123456789 .,x-e"[..])), 0..2),
    ) {
        let (mut reader, mut names, mut forms) = (Reader::default(), Names::default(), Forms::default());
        let line = changed(line, &first, &both);
        let line = line.trim();
        let of_first = known(line, &mut reader, &mut names);
        forms.learn(line, &of_first, &reader);
        let second = changed(line, &second, &one);
        if let Some(read) = forms.read(second.as_bytes()) {
            let expected = known(&second, &mut reader, &mut names);
            prop_assert_eq!(format!("{:?}", read), format!("{:?}", expected), "{}\n{}", line, second);
        }
    }
}

#[test]
fn lines_of_one_statement_have_one_form() {
    let (mut reader, mut names, mut forms) = (Reader::default(), Names::default(), Forms::default());
    for line in &LINES[..4] {
        let facts = known(line, &mut reader, &mut names);
        forms.learn(line, &facts, &reader);
        assert!(forms.read(changed(line, &[7, 3, 9], &[]).as_bytes()).is_some(), "{line}");
        assert!(forms.read(line.replace("oss", "ess").as_bytes()).is_none(), "{line}");
    }
    assert_eq!(forms.by_length.len(), 4);
}

#[test]
fn figures_that_have_a_meaning_make_no_form() {
    let (mut reader, mut names, mut forms) = (Reader::default(), Names::default(), Forms::default());
    for line in ["Accuracy: 5055/10000", "1.0it/40.0it loss:2.5", "loss: 2.5 after signal 8", "loss 2.5 at 1x1"] {
        let facts = known(line, &mut reader, &mut names);
        assert!(matches!(facts.looked, LineContent::Values(_)), "{line}");
        forms.learn(line, &facts, &reader);
        assert_eq!(forms.bytes, 0, "{line}");
    }
}
