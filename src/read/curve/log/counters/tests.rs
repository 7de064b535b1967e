use super::super::tokens::Tokens;
use super::*;

fn found(line: &str) -> Counters {
    let mut tokens = Tokens::default();
    tokens.scan(line);
    Finder::find(line, &tokens.list, &mut Vec::new()).read(line, &tokens.list)
}

#[test]
fn counters_are_found_in_every_dress() {
    for (line, epoch, step, batch) in [
        ("step: 10", None, Some(10), None),
        ("Epoch [1][3/30]\tlr: 1e-4", Some(1), None, Some((3, 30))),
        ("Epoch: [0][  10/300]\tTime 0.4", Some(0), None, Some((10, 300))),
        ("{ Epoch:[  1/  2], step:[    3/   30], loss: 5", Some(1), Some(3), None),
        ("Iter(train) [  3/60]  lr: 1e-4", None, Some(3), None),
        ("Train: 0 [  50/300 ( 17%)]  Loss: 6.91", Some(0), None, Some((50, 300))),
        ("Train: [0/300][10/1251]\teta", Some(0), None, Some((10, 1251))),
        ("Train Epoch: 2 [6400/60000 (11%)]\tLoss: 0.53", Some(2), None, Some((6400, 60000))),
        ("Steps:   3%|2 | 2/60 [00:10<00:20, lr=1e-5]", None, None, Some((2, 60))),
        ("1875/1875 [====] - 5s", None, None, Some((1875, 1875))),
        ("10/10 ━━━━ 2s 315ms/step - loss: 0.6", None, None, Some((10, 10))),
        ("epoch: 1 step: 32, loss is 2.3", Some(1), Some(32), None),
        ("epoch 001:   3 / 30 loss=2", Some(1), None, Some((3, 30))),
        ("Epoch:[1/2](100/6000), loss: 10", Some(1), None, Some((100, 6000))),
        ("| epoch   1 |   200/ 2000 batches | lr", Some(1), None, Some((200, 2000))),
        ("1epoch:train:91-180batch: iter_time=0.003", Some(1), None, Some((180, 0))),
        ("Progress on:train 1.0it/40.0it rate:2.1it/s", None, Some(1), None),
        ("--> STEP: 0/126 -- GLOBAL_STEP: 24900", None, Some(24900), None),
        ("Ep. 1 : Up. 100 : Sen. 12,800", Some(1), Some(100), None),
        ("elapsed time per iteration (ms): 512", None, None, None),
        ("Epoch time: 240.5 s", None, None, None),
        ("iter 4 step 1 | loss train: 10.7", None, Some(1), None),
        ("epoch: 0.25, loss: 2", None, None, None),
        ("max steps: 500", None, None, None),
    ] {
        let counters = found(line);
        let batch_of = counters.batch.map(|at| (at, counters.batch_of.unwrap_or_default()));
        assert_eq!((counters.epoch, counters.step.map(|(_, at)| at), batch_of), (epoch, step, batch), "{line}");
    }
}

#[test]
fn a_number_in_front_is_found() {
    for (line, lead) in [
        ("10 | loss 4.1", Some((10, None))),
        ("2026-05-01 10:11:00,123 - trainer - INFO - 100/20000 | Loss 6.9", Some((100, Some(20000)))),
        ("[0]\ttrain-logloss:10.7", Some((0, None))),
        ("(0/8) Epoch 1, batch 0, loss[", Some((0, Some(8)))),
        ("node17: 10 | loss 2", Some((10, None))),
        ("May 01 10:11:00 gpu01 python[12345]: 10 | loss 2", Some((10, None))),
        ("[0] 10/900 | loss 2", Some((10, Some(900)))),
        ("[0] (10/900), loss 2", Some((10, Some(900)))),
        ("[0] 10/900 | loss 2", Some((10, Some(900)))),
        ("[0] (10/900), loss 2", Some((10, Some(900)))),
        ("loss: 5, lr 0.1", None),
        ("loss 5", None),
        ("5.5 | loss", None),
    ] {
        assert_eq!(found(line).lead.map(|lead| (lead.count, lead.total)), lead, "{line}");
    }
    assert_eq!(found("[rank3]: step: 1").rank, Some(3));
    assert_eq!(found("[olmo.train:816, rank=2] [step=1/739328]").rank, Some(2));
}
