//! Lines of `operations.jsonl`: whatever a dump recorded comes back.

use std::borrow::Cow;

use precision_gate::kind::TensorKind;
use precision_gate::result::number::Number;
use precision_gate::result::operation::{
    DIFFERENCES, FromReference, OffSide, OperationLine, Recorded, RecordedValue, State,
};
use proptest::prelude::*;

fn text() -> impl Strategy<Value = Cow<'static, str>> {
    prop_oneof![Just(""), Just("."), Just("a"), Just(".input.0"), Just("a.input.0"), Just("a.b"), Just("\"\\é\n")]
        .prop_map(Cow::Borrowed)
}

fn value() -> impl Strategy<Value = RecordedValue<'static>> {
    prop_oneof![
        Just(RecordedValue::Null),
        any::<bool>().prop_map(RecordedValue::Bool),
        any::<i64>().prop_map(RecordedValue::Int),
        any::<f64>().prop_map(|value| RecordedValue::Number(Number(value))),
        text().prop_map(RecordedValue::Text),
    ]
}

fn recorded() -> impl Strategy<Value = Option<Recorded<'static>>> {
    let shape = prop_oneof![Just(vec![]), Just(vec![2, 3])].prop_map(Cow::Owned);
    let values = proptest::collection::vec(value(), 0..6);
    let parts = (proptest::option::of(text()), text(), shape, values);
    proptest::option::of(parts.prop_map(|(tensor, dtype, shape, values)| Recorded { tensor, dtype, shape, values }))
}

prop_compose! {
    fn line()(
        op in text(), module in text(), tensor in text(), baseline in recorded(), candidate in recorded(),
        numbers in any::<[f64; 4]>(), kept in 0_usize..6, reason in text(), is_judged in any::<[bool; 3]>(),
    ) -> OperationLine<'static> {
        let mut names: Vec<(&str, f64)> = DIFFERENCES.into_iter().zip(numbers).take(kept).collect();
        if names.len() < DIFFERENCES.len() {
            names.sort_by_key(|(name, _)| *name);
        }
        let own = |side: Recorded<'static>| Recorded { tensor: side.tensor.filter(|own| *own != tensor), ..side };
        OperationLine {
            step: 1, rank: None, order: 7, op, module, kind: TensorKind::Input, state: State::Agrees,
            reason, error: is_judged[0].then_some(Number(numbers[0])), limit: is_judged[1].then_some(Number(numbers[1])),
            reference: is_judged[2].then_some(FromReference {
                baseline: Number(numbers[2]), candidate: Number(numbers[3]), off_side: OffSide::Both,
            }),
            metrics: names.into_iter().map(|(name, value)| (Cow::Borrowed(name), Number(value))).collect(),
            baseline: baseline.map(own), candidate: candidate.map(own), tensor: tensor.clone(),
        }
    }
}

proptest! {
    #[test]
    fn a_line_comes_back_as_it_was(line in line()) {
        let mut text = Vec::new();
        line.write(&mut text).expect("written");
        let back: OperationLine<'_> = serde_json::from_slice(&text).expect("read");
        prop_assert_eq!(&back, &line, "{}", String::from_utf8_lossy(&text));
    }
}
