//! Sentences and pictures about where in a tensor an error lies, for made pairs of an attention and a linear layer.

use std::fmt::Write as _;
use std::path::Path;

use precision_gate::check::Command;
use precision_gate::gate::{Quiet, Request, run};
use precision_gate::msprobe::dump::Matching;
use precision_gate::policy::Policy;
use precision_gate::policy::location::TrustedLocation;
use precision_gate::report::error_place;
use precision_gate::report::escape::TextTarget;
use precision_gate::report::messages::Language;
use precision_gate::report::plot::error_map::error_map_png;
use precision_gate::report::writer;
use precision_gate::report::writer::Writer;
use precision_gate::result::GateResult;

use crate::dumps::build::{Op, Tensor, dump};

/// Two batches, four heads, eight tokens, sixteen channels.
const SHAPE: [u64; 4] = [2, 4, 8, 16];

/// Places of the tensor, in row-major order.
fn places() -> impl Iterator<Item = [usize; 4]> {
    let [batches, heads, tokens, channels] = SHAPE.map(|len| usize::try_from(len).expect("small"));
    (0..batches).flat_map(move |batch| {
        (0..heads).flat_map(move |head| {
            (0..tokens).flat_map(move |token| (0..channels).map(move |channel| [batch, head, token, channel]))
        })
    })
}

fn value([batch, head, token, channel]: [usize; 4]) -> f32 {
    let place = ((batch * 4 + head) * 8 + token) * 16 + channel;
    let size = 1.0 + head as f32 / 3.0 + token as f32 / 17.0 + channel as f32 / 91.0;
    ((place * 7919 % 1009) as f32 / 504.5 - 1.0) * size
}

/// The result where the candidate's attention differs as `change` says.
fn judged(change: impl Fn([usize; 4]) -> f32) -> GateResult {
    let folder = tempfile::tempdir().expect("a folder");
    let input = Tensor::f32(&SHAPE, &places().map(|place| 0.5 * value(place)).collect::<Vec<_>>());
    let write = |side: &str, values: Vec<f32>| {
        let op = Op::output("Functional.scaled_dot_product_attention.0.forward", Tensor::f32(&SHAPE, &values));
        let rank = folder.path().join(side).join("step0/rank0");
        dump(&rank, "tensor", &[op.input(input.clone())]);
        for name in ["stack.json", "construct.json"] {
            std::fs::write(rank.join(name), "{}").expect("written");
        }
    };
    write("gpu", places().map(value).collect());
    write("npu", places().map(change).collect());
    result(folder.path())
}

fn result(folder: &Path) -> GateResult {
    let request = Request {
        baseline: TrustedLocation::own(folder.join("gpu").display().to_string()),
        several: Default::default(),
        candidate: folder.join("npu").display().to_string(),
        checks: Command::Compare.checks(),
        policy: Policy::default(),
        matching: Matching::default(),
    };
    let mut result = run(&request, &Quiet).expect("judged").result;
    let words = Writer::from_result(&result, Language::En, TextTarget::Plain);
    writer::write_finding_texts(&mut result.findings, &words).expect("texts");
    result
}

#[test]
fn the_sentence_names_axis_and_places() {
    let cases: [(&str, GateResult); 7] = [
        ("head", judged(|place| if place[1] == 2 { 1.2 * value(place) } else { value(place) })),
        (
            "tile",
            judged(|place| {
                let is_tile = place[2] >= 4 && (8..12).contains(&place[3]);
                if is_tile { value(place) + 1.0 } else { value(place) }
            }),
        ),
        ("last token", judged(|place| if place[2] == 7 { 0.0 } else { value(place) })),
        ("roll", judged(|[batch, head, token, channel]| value([batch, head, token, (channel + 15) % 16]))),
        ("scaled", judged(|place| 8.0 * value(place))),
        ("odd channels", judged(|place| if place[3] % 2 == 1 { -value(place) } else { value(place) })),
        (
            "spread",
            judged(|place| {
                let [batch, head, token, channel] = place;
                value(place) + 0.3 * ((batch * 977 + head * 131 + token * 17 + channel * 7) as f32).sin()
            }),
        ),
    ];
    let mut text = String::new();
    for (name, result) in &cases {
        let location = result.culprit.as_ref().and_then(|culprit| culprit.location.as_ref()).expect(name);
        for language in [Language::En, Language::Zh] {
            let words = Writer::from_result(result, language, TextTarget::Plain);
            let sentence = error_place::sentence(location, &words).expect("a sentence");
            writeln!(text, "{name}: {sentence}").expect("text");
            let png = error_map_png(result, language).expect("drawn").expect("a map");
            assert!(png.len() > 1000, "{name}");
            if let Ok(folder) = std::env::var("ERROR_MAPS") {
                std::fs::write(Path::new(&folder).join(format!("{name}-{}.png", language.tag())), png)
                    .expect("written");
            }
        }
    }
    insta::assert_snapshot!(text);
}

#[test]
fn statistics_tell_no_place() {
    let fixture = crate::dumps::support::fixtures().join("glm_stats_mix_inv_freq");
    let result = result(&fixture);
    assert!(result.culprit.expect("a culprit").location.is_none());
}
