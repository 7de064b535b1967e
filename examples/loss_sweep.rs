//! How small a defect do the rules see, and how often do they cry wolf?
//!
//! Healthy runs of four kinds get defects of growing size; every run is judged by the gate's defaults and by each
//! published rule. Prints the tables of `docs/loss.md` and draws `docs/loss-sweep.png`.
//!
//! ```text
//! cargo run --release --example loss_sweep -- docs/loss-sweep.png
//! ```
#![allow(clippy::print_stdout, reason = "an example that prints tables")]

use plotters::prelude::{
    BitMapBackend, ChartBuilder, Circle, IntoDrawingArea, IntoLogRange, LineSeries, PathElement, RGBColor, WHITE,
};
use plotters::style::Color;
use precision_gate::error::{Error, ErrorKind, Result};
use precision_gate::gate::loss;
use precision_gate::gate::selftest::synthetic::{Defect, Noise, Run};
use precision_gate::policy::Policy;
use precision_gate::policy::loss::Mode;
use precision_gate::policy::loss::preset::Preset;
use precision_gate::verdict::Verdict;

const STEPS: u64 = 200;
const SEEDS: u64 = 20;
const SIZES: [f64; 9] = [0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.02, 0.05, 0.1];
const KINDS: [&str; 5] = ["scale", "bias", "drift", "spike", "delay"];

/// What judges: the gate's defaults, mode inferred or declared, or a published rule in its place.
#[derive(Clone, Copy)]
struct Judge {
    name: &'static str,
    mode: Mode,
    preset: Option<Preset>,
    colour: RGBColor,
}

fn judges() -> Vec<Judge> {
    let ours = RGBColor(185, 28, 28);
    let mut judges = vec![
        Judge { name: "ours, inferred", mode: Mode::Auto, preset: None, colour: ours },
        Judge { name: "ours, same-weights", mode: Mode::SameWeights, preset: None, colour: RGBColor(234, 88, 12) },
    ];
    let greys = (0_u8..).map(|index| RGBColor(60 + 18 * index, 90 + 15 * index, 140 + 10 * index));
    judges.extend(Preset::ALL.into_iter().zip(greys).map(|(preset, colour)| Judge {
        name: preset.as_str(),
        mode: Mode::Auto,
        preset: Some(preset),
        colour,
    }));
    judges
}

fn defect(kind: &str, size: f64) -> Defect {
    match kind {
        "scale" => Defect::Scale { size, from: 2 },
        "bias" => Defect::Bias { size },
        "drift" => Defect::Drift { size },
        "spike" => Defect::Spike { size, at: 100 },
        // Every step behind costs about the slope of the curve; sizes stand for 1 to 9 steps.
        _ => Defect::Delay { steps: 1 + SIZES.iter().take_while(|known| **known < size).count() as u64 },
    }
}

fn verdict(judge: Judge, noise: Noise, defect: Option<Defect>, seed: u64) -> Result<Verdict> {
    let mut policy = Policy::default();
    (policy.loss.mode, policy.loss.preset) = (judge.mode, judge.preset);
    let baseline = Run::healthy(STEPS, seed);
    let mut candidate = baseline.clone().with_noise(noise, seed + 1000);
    if let Some(defect) = defect {
        candidate = candidate.with_defect(defect, seed + 2000);
    }
    Ok(loss::check(&[baseline.file("b")], &[candidate.file("c")], &policy)?.check.verdict)
}

/// Share of seeds for which `hit` holds.
fn rate(judge: Judge, noise: Noise, defect: Option<Defect>, hit: fn(Verdict) -> bool) -> Result<f64> {
    let mut hits = 0;
    for seed in 0..SEEDS {
        hits += u32::from(hit(verdict(judge, noise, defect, seed)?));
    }
    Ok(f64::from(hits) / f64::from(u32::try_from(SEEDS).unwrap_or(1)))
}

fn blocks(verdict: Verdict) -> bool {
    verdict >= Verdict::Incomplete
}

fn speaks(verdict: Verdict) -> bool {
    verdict >= Verdict::Warn
}

fn percent(rate: f64) -> String {
    format!("{:.0} %", rate * 100.0)
}

fn main() -> Result<()> {
    false_alarms()?;
    let mut lines = Vec::new();
    for (noise, name) in [(Noise::Dense, "dense"), (Noise::MixtureOfExperts, "mixture of experts")] {
        for kind in KINDS {
            println!("\n{kind}, {name}: blocked (blocked or warned)\n");
            let sizes: Vec<String> = SIZES.iter().map(|size| percent_of(kind, *size)).collect();
            println!("| judge | {} |\n|---|{}", sizes.join(" | "), "---|".repeat(sizes.len()));
            for judge in judges() {
                let mut row = Vec::new();
                let mut points = Vec::new();
                for size in SIZES {
                    let blocked = rate(judge, noise, Some(defect(kind, size)), blocks)?;
                    let spoken = rate(judge, noise, Some(defect(kind, size)), speaks)?;
                    row.push(format!("{} ({})", percent(blocked), percent(spoken)));
                    points.push((size, blocked));
                }
                println!("| {} | {} |", judge.name, row.join(" | "));
                if (kind, noise) == ("scale", Noise::Dense) {
                    lines.push((judge, points));
                }
            }
        }
    }
    match std::env::args().nth(1) {
        Some(path) => draw(&path, &lines),
        None => Ok(()),
    }
}

fn percent_of(kind: &str, size: f64) -> String {
    match defect(kind, size) {
        Defect::Delay { steps } => format!("{steps} steps"),
        _ => format!("{} %", size * 100.0),
    }
}

fn false_alarms() -> Result<()> {
    let kinds = [
        ("dense", Noise::Dense),
        ("mixture of experts", Noise::MixtureOfExperts),
        ("dropout", Noise::Dropout),
        ("own weights", Noise::OwnWeights),
    ];
    println!("healthy runs blocked (blocked or warned)\n");
    println!("| judge | {} |\n|---|{}", kinds.map(|(name, _)| name).join(" | "), "---|".repeat(kinds.len()));
    for judge in judges() {
        let mut row = Vec::new();
        for (_, noise) in kinds {
            let (blocked, spoken) = (rate(judge, noise, None, blocks)?, rate(judge, noise, None, speaks)?);
            row.push(format!("{} ({})", percent(blocked), percent(spoken)));
        }
        println!("| {} | {} |", judge.name, row.join(" | "));
    }
    Ok(())
}

/// Detection against size, for a level that is off from the second step on.
fn draw(path: &str, lines: &[(Judge, Vec<(f64, f64)>)]) -> Result<()> {
    let internal = |error: String| Error::new(ErrorKind::Internal, "picture", error);
    let text = |error: &dyn std::fmt::Display| internal(error.to_string());
    precision_gate::report::plot::prepare_font();
    let root = BitMapBackend::new(path, (1600, 900)).into_drawing_area();
    root.fill(&WHITE).map_err(|error| text(&error))?;
    let mut chart = ChartBuilder::on(&root)
        .margin(24)
        .margin_right(64)
        .caption("share of runs blocked, level off from step 2 on (dense model)", ("sans-serif", 36))
        .x_label_area_size(80)
        .y_label_area_size(110)
        .build_cartesian_2d((0.0005..0.1).log_scale(), -0.02..1.05)
        .map_err(|error| text(&error))?;
    chart
        .configure_mesh()
        .x_label_formatter(&|size| format!("{} %", precision_gate::report::messages::short(size * 100.0)))
        .y_label_formatter(&|rate| if *rate > 1.01 || *rate < 0.0 { String::new() } else { percent(*rate) })
        .x_desc("size of the defect")
        .label_style(("sans-serif", 26))
        .light_line_style(WHITE)
        .draw()
        .map_err(|error| text(&error))?;
    for (index, (judge, points)) in lines.iter().enumerate() {
        let colour = judge.colour;
        let width = if judge.preset.is_none() { 7 } else { 3 };
        // Curves that coincide would hide each other.
        let nudged: Vec<(f64, f64)> = points.iter().map(|(size, rate)| (*size, rate + 0.004 * index as f64)).collect();
        chart
            .draw_series(LineSeries::new(nudged.iter().copied(), colour.stroke_width(width)))
            .map_err(|error| text(&error))?
            .label(judge.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 36, y)], colour.stroke_width(width)));
        chart
            .draw_series(nudged.iter().map(|point| Circle::new(*point, 5, colour.filled())))
            .map_err(|error| text(&error))?;
    }
    chart
        .configure_series_labels()
        .position(plotters::chart::SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.9))
        .border_style(RGBColor(229, 231, 235))
        .label_font(("sans-serif", 26))
        .draw()
        .map_err(|error| text(&error))?;
    root.present().map_err(|error| text(&error))
}
