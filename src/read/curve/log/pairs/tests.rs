use super::*;

fn read(line: &str) -> Vec<(String, f64)> {
    let (mut reader, mut names) = (Reader::default(), Names::default());
    let plain = super::super::words::plain(line);
    let pairs = reader.read(&plain, &mut names).pairs.clone();
    pairs.iter().map(|pair| (names.get(pair.name).expect("known").text.clone(), pair.value)).collect()
}

#[test]
fn values_are_found_by_their_names() {
    for (line, expected) in [
        ("step: 10 loss: 1.2", vec![("loss", 1.2)]),
        ("10 | loss 4.1 | lr 2.0e-02 | 8060.78ms | mfu 0.21%", vec![("loss", 4.1), ("lr", 0.02), ("mfu", 0.21)]),
        ("step 80: train loss 2.4, val loss 2.6", vec![("train loss", 2.4), ("val loss", 2.6)]),
        (
            "Test set: Average loss: 2.8, Accuracy: 5055/10000 (51%)",
            vec![("val/Average loss", 2.8), ("val/Accuracy", 0.5055)],
        ),
        (
            "Epoch 1 | iter 8 step 2 | loss train: 9.7, val: 6.6 | iter time: 312.45 ms",
            vec![("loss train", 9.7), ("loss val", 6.6), ("iter time", 312.45)],
        ),
        (" 1: 10.8, 10.7 avg loss, 0.02 rate, 1.2 seconds", vec![("avg loss", 10.7), ("learning_rate", 0.02)]),
        ("Loss 6.9e+00 (7.0e+00)\tAcc@1     0.67 (  0.50)", vec![("Loss", 6.9), ("Acc@1", 0.67)]),
        (
            "elapsed time per iteration (ms): 2557.6 | lm loss: 1.2E+00 | number of nan iterations:   0 |",
            vec![("elapsed time per iteration", 2557.6), ("lm loss", 1.2), ("number nan iterations", 0.0)],
        ),
        (
            "loss[loss=4.1, simple_loss=3.7, over 25836.00 frames. ], tot_loss[loss=4.2, ",
            vec![("loss", 4.1), ("loss/simple_loss", 3.7), ("tot_loss/loss", 4.2)],
        ),
        ("epoch: 1 step: 32, loss is 2.3", vec![("loss", 2.3)]),
        (
            "loss: 5.3, global_norm: [1.9], throughput: 2.8T",
            vec![("loss", 5.3), ("global_norm", 1.9), ("throughput", 2.8)],
        ),
        ("'train/loss': np.float32(6.8)  'valid CER': 77.81", vec![("train/loss", 6.8), ("valid CER", 77.81)]),
        ("第 3 步，损失：0.53", vec![("loss", 0.53)]),
        ("Pseudo dice [np.float32(0.1718)]", vec![("Pseudo dice", 0.1718)]),
        ("|    loss       | 4.12   |", vec![("loss", 4.12)]),
        ("Epoch(val) [3/30]  loss: 2.5", vec![("val/loss", 2.5)]),
        ("postfix:loss=6.97", vec![("loss", 6.97)]),
        ("lr=[0.1], loss nan grad_norm inf", vec![("lr", 0.1), ("loss", f64::NAN), ("grad_norm", f64::INFINITY)]),
        ("tgs (tokens/gpu/second)=4269.67,lr=9.8e-05", vec![("tgs", 4269.67), ("lr", 9.8e-05)]),
        ("metrics/mAP50(B): 0.6", vec![("metrics/mAP50(B)", 0.6)]),
    ] {
        let found = read(line);
        let same = found.len() == expected.len()
            && found
                .iter()
                .zip(&expected)
                .all(|(a, b)| a.0 == b.0 && (a.1.to_bits() == b.1.to_bits() || a.1.is_nan() && b.1.is_nan()));
        assert!(same, "{line}: {found:?}");
    }
}
