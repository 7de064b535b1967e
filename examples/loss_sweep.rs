//! Smallest defects that the rules see, and their false-alarm rate.
//!
//! Healthy runs of four kinds get defects of growing size; every run is judged by the gate's defaults and by each
//! published rule. Prints the tables of `docs/loss-sweep.md` and draws `docs/loss-sweep.png`.
//!
//! ```text
//! cargo run --release --example loss_sweep -- docs/loss-sweep.png
//! ```
#![allow(clippy::print_stdout, reason = "an example that prints tables")]
#![allow(clippy::cast_precision_loss, reason = "counts of seeds and steps")]

#[path = "loss_sweep/scale.rs"]
mod scale;

use plotters::prelude::{ChartBuilder, IntoLogRange, LineSeries, PathElement, RGBColor, Text, WHITE};
use plotters::style::Color;
use precision_gate::error::{Error, ErrorKind, Result};
use precision_gate::fetch::Fetcher;
use precision_gate::gate::loss;
use precision_gate::gate::recognisers;
use precision_gate::gate::repeats::RepeatOpener;
use precision_gate::gate::selftest::synthetic::{Defect, Noise, SyntheticRun};
use precision_gate::policy::Policy;
use precision_gate::policy::loss::Mode;
use precision_gate::policy::loss::preset::Preset;
use precision_gate::report::plot;
use precision_gate::verdict::Verdict;

const STEPS: u64 = 200;
const SEEDS: u64 = 20;
const SIZES: [f64; 9] = [0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.02, 0.05, 0.1];
const KINDS: [&str; 5] = ["scale", "bias", "drift", "spike", "delay"];

/// Rules that judge: the gate's defaults, mode inferred or declared, or a published rule in their place.
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
    let colours = [(37, 99, 235), (8, 145, 178), (22, 163, 74), (107, 114, 128), (147, 51, 234), (202, 138, 4)];
    let colours = colours.into_iter().chain([(219, 39, 119), (68, 64, 60)]).map(|(r, g, b)| RGBColor(r, g, b));
    judges.extend(Preset::ALL.into_iter().zip(colours).map(|(preset, colour)| Judge {
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
    let baseline = SyntheticRun::healthy(STEPS, seed);
    let mut candidate = baseline.clone().with_noise(noise, seed + 1000);
    if let Some(defect) = defect {
        candidate = candidate.with_defect(defect, seed + 2000);
    }
    let curves = ([baseline.curve_file("b")], [candidate.curve_file("c")]);
    let fetcher = Fetcher::default();
    let repeats = RepeatOpener { fetcher: &fetcher, recognisers: recognisers() };
    let mut outcome = loss::check(&curves.0, &curves.1, &policy, repeats, None)?;
    outcome.settle(&policy);
    Ok(outcome.check.verdict)
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
    scale::tables();
    match std::env::args().nth(1) {
        Some(path) => draw(&path, &lines),
        None => Ok(()),
    }
}

fn percent_of(kind: &str, size: f64) -> String {
    match defect(kind, size) {
        Defect::Delay { steps: 1 } => "1 step".to_owned(),
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

/// Detection against size, for a level that is off from the second step on; the legend stands beside it.
fn draw(path: &str, lines: &[(Judge, Vec<(f64, f64)>)]) -> Result<()> {
    let bytes = plot::picture(1600, 800, |root| paint(root, lines))?;
    std::fs::write(path, bytes).map_err(|error| Error::io(path, &error))
}

fn paint(root: &plot::Area<'_>, lines: &[(Judge, Vec<(f64, f64)>)]) -> Result<()> {
    root.fill(&WHITE).map_err(picture)?;
    let (left, legend) = root.split_horizontally(1230);
    let mut chart = ChartBuilder::on(&left)
        .margin(24)
        .margin_right(40)
        .caption("share of runs blocked, level off from step 2 on (dense model)", ("sans-serif", 36))
        .x_label_area_size(80)
        .y_label_area_size(110)
        .build_cartesian_2d((0.00045..0.11).log_scale(), -0.03..1.06)
        .map_err(picture)?;
    chart
        .configure_mesh()
        .x_label_formatter(&|size| format!("{} %", precision_gate::report::messages::short_number(size * 100.0)))
        .y_label_formatter(&|rate| if (0.0..=1.01).contains(rate) { percent(*rate) } else { String::new() })
        .x_desc("size of the defect")
        .label_style(("sans-serif", 26))
        .light_line_style(WHITE)
        .draw()
        .map_err(picture)?;
    // Later lines are drawn over earlier ones, ours last; rules that coincide stay visible by their width.
    for (index, (judge, points)) in lines.iter().enumerate().rev() {
        let width = u32::try_from(3 + 2 * index).unwrap_or(3);
        let style = judge.colour.stroke_width(if judge.preset.is_none() { 6 } else { width });
        chart.draw_series(LineSeries::new(points.iter().copied(), style)).map_err(picture)?;
    }
    for (row, (judge, _)) in (0_i32..).zip(lines) {
        let y = 120 + row * 48;
        legend.draw(&PathElement::new([(0, y), (44, y)], judge.colour.stroke_width(8))).map_err(picture)?;
        legend.draw(&Text::new(judge.name, (60, y - 14), ("sans-serif", 28))).map_err(picture)?;
    }
    Ok(())
}

fn picture(error: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Internal, "picture", error)
}
