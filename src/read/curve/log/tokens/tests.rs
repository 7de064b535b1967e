use super::*;

fn scanned(line: &str) -> Vec<String> {
    let mut tokens = Tokens::default();
    tokens.scan(line);
    let text = |token: &Token| match token.kind {
        Kind::Number(value) => format!("{value}{}", token.unit(line)),
        Kind::Spelled(value) => format!("~{value}"),
        Kind::Word => token.text(line).to_owned(),
        Kind::Sign(sign) => format!("<{}>", char::from(sign)),
        Kind::Mark => "MARK".to_owned(),
    };
    tokens.list.iter().map(text).collect()
}

#[test]
fn lines_are_cut_into_numbers_words_and_signs() {
    for (line, expected) in [
        ("loss: -0.5, lr=1e-05", "loss <:> -0.5 <,> lr <=> 0.00001"),
        ("step 3 | loss nan", "step 3 <|> loss ~NaN"),
        ("tps: 1,234.5 mem 28.1GiB 71 %", "tps <:> 1234.5 mem 28.1GiB 71 <%>"),
        ("loss np.float32(6.94) acc", "loss 6.94 acc"),
        ("loss: tensor(2.5, device='npu:0')", "loss <:> 2.5"),
        ("2026-05-01 10:11:00,123 - trainer - INFO - 100/20000", "MARK <-> trainer <-> MARK <-> 100 </> 20000"),
        ("I0501 10:11:00.123456 140234567 train.py:42] loss", "I0501 MARK 140234567 MARK <]> loss"),
        ("__main__:train:42 - Epoch 1", "MARK <-> Epoch 1"),
        ("3epoch:train:1-90batch: loss=1", "3epoch <:> train <:> 1 <-> 90batch <:> loss <=> 1"),
        ("metrics/mAP50-95(B) 0.5 D(G(z)): 0.4", "metrics/mAP50-95(B) 0.5 D(G(z)) <:> 0.4"),
        ("Epoch(val) [3/30]", "Epoch <(> val <)> <[> 3 </> 30 <]>"),
        ("Ep. 1 : Up. 100 : L.r. 2.0e-04", "Ep 1 <:> Up 100 <:> L.r 0.0002"),
        ("a // 0.2 -> 3 ---- x", "a <D> 0.2 <A> 3 <R> x"),
        ("saved ckpt/step12-loss2.31.pt", "saved MARK"),
        ("valid_0's l2: 0.5", "valid_0 l2 <:> 0.5"),
        ("INFO:root:10: loss", "MARK <:> 10 <:> loss"),
        ("<134>May 1 10:11:10 h7", "MARK MARK h7"),
        ("step#10", "step <#> 10"),
        ("loss 2. next", "loss 2 next"),
    ] {
        assert_eq!(scanned(line).join(" "), expected, "{line}");
    }
}

proptest::proptest! {
    #[test]
    fn any_line_is_cut_into_tokens_in_order(line in "\\PC{0,60}") {
        let mut tokens = Tokens::default();
        tokens.scan(&line);
        let starts: Vec<usize> = tokens.list.iter().map(|token| token.start).collect();
        proptest::prop_assert!(starts.is_sorted());
        for token in &tokens.list {
            proptest::prop_assert!(line.get(token.start..token.unit_end).is_some());
        }
    }
}
